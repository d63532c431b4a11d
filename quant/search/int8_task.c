#include "quant/search/int8_task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/decode.h"
#include "lib/session/batch.h"
#include "quant/search/agreement.h"

static const double DEFAULT_PERCENTILE = 99.999, DEFAULT_MAX_FLOAT = 10;

// ---- Checks ----

static dq_status check_ranges(const dq_int8_request *asked, dq_error *error) {
  const dq_int8_options *int8 = &asked->int8;
  if (int8->percentile != 0 && !(int8->percentile >= 50 && int8->percentile <= 100))
    return dq_fail(error, DQ_USAGE, "percentile is %g, expected 50 to 100", int8->percentile);
  if (!(asked->max_drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100, or less than 0 for no bound", asked->max_drop);
  if (isnan(asked->bounds.sqnr)) return dq_fail(error, DQ_USAGE, "min_sqnr is NaN, expected dB or -INFINITY");
  if (!(asked->bounds.agreement <= 100))
    return dq_fail(error, DQ_USAGE, "min_agreement is %g, expected 0 to 100, or less than 0 for no bound",
                   asked->bounds.agreement);
  if (!(asked->max_float <= 100))
    return dq_fail(error, DQ_USAGE, "max_float is %g, expected 0 to 100, or less than 0 for 10", asked->max_float);
  if (!(int8->time_limit >= 0 && int8->time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", int8->time_limit);
  if (int8->batch < 0 || int8->batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %lld, expected 0 to 65536", (long long)int8->batch);
  return DQ_OK;
}

static dq_status check_choices(const dq_int8_request *asked, dq_error *error) {
  const struct {
    const char *name;
    int value, last;
  } choices[] = {
      {"equalize", (int)asked->int8.equalize, DQ_CHOOSE_OFF},
      {"bias_correction", (int)asked->int8.bias_correction, DQ_CHOOSE_OFF},
      {"bias_absorption", (int)asked->int8.bias_absorption, DQ_CHOOSE_OFF},
      {"range_search", (int)asked->int8.range_search, DQ_CHOOSE_OFF},
      {"sums", (int)asked->int8.accumulator, DQ_ACCUMULATE_INT16},
      {"form", (int)asked->form, DQ_INT8_FORM_QOPERATOR},
  };
  for (int i = 0; i < DQ_COUNT(choices); i++)
    if (choices[i].value < 0 || choices[i].value > choices[i].last)
      return dq_fail(error, DQ_USAGE, "%s is %d, expected 0 to %d", choices[i].name, choices[i].value, choices[i].last);
  return DQ_OK;
}

// A table replays what these options decide.
static dq_status check_table(const dq_int8_request *asked, dq_error *error) {
  const struct {
    const char *name;
    bool given;
  } decided[] = {
      {"method", asked->method != NULL},
      {"percentile", asked->int8.percentile != 0},
      {"equalize", asked->int8.equalize != DQ_CHOOSE_AUTO},
      {"bias_correction", asked->int8.bias_correction != DQ_CHOOSE_AUTO},
      {"bias_absorption", asked->int8.bias_absorption != DQ_CHOOSE_AUTO},
      {"range_search", asked->int8.range_search != DQ_CHOOSE_AUTO},
      {"rounding", asked->rounding != NULL},
  };
  for (int i = 0; i < DQ_COUNT(decided); i++)
    if (decided[i].given)
      return dq_fail(error, DQ_USAGE, "use_table is given with %s, which the table decides", decided[i].name);
  return DQ_OK;
}

// Options that do not go together.
static dq_status check_pairs(const dq_int8_request *asked, dq_error *error) {
  const dq_int8_words *words = asked->words;
  int sources = (asked->max_drop >= 0) + !!asked->precision + !!asked->files.use_table;
  if (sources > 1)
    return dq_fail(error, DQ_USAGE, "%d of max_drop, precision and use_table are given, expected at most one", sources);
  if (asked->table_format && !asked->files.table)
    return dq_fail(error, DQ_USAGE, "table_format is given without save_table, the file that has it");
  if (asked->files.use_table) DQ_TRY(check_table(asked, error));
  const char *method = asked->method ? asked->method : "percentile";
  if (asked->int8.percentile != 0 && strcmp(method, "percentile") != 0 && strcmp(method, "auto") != 0)
    return dq_fail(error, DQ_USAGE, "%s %s%s%s", words->percentile, words->quote, method, words->quote);
  return DQ_OK;
}

// ---- Names of tables ----

static const char *format_name(int i) {
  const dq_calibration_table_format *format = dq_calibration_table_format_at(i);
  return format ? format->name : NULL;
}
static const char *observer_name(int i) { return dq_observer_at(i) ? dq_observer_at(i)->name : NULL; }
static const char *rounding_name(int i) { return dq_rounding_method_at(i) ? dq_rounding_method_at(i)->name : NULL; }

// The row of `value`; -1: there is none of that name.
static int row_of(const char *value, const char *(*name)(int)) {
  for (int i = 0; name(i); i++)
    if (!strcmp(name(i), value)) return i;
  return -1;
}

// DQ_USAGE for an option whose value is none of the names. `value` may be NULL.
static dq_status check_name(const char *option, const char *value, const char *(*name)(int), dq_error *error) {
  char names[160] = "";
  if (!value || row_of(value, name) >= 0) return DQ_OK;
  for (int i = 0; name(i); i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name(i));
  }
  return dq_fail(error, DQ_USAGE, "unknown %s '%.100s', expected one of %s", option, value, names);
}

dq_status dq_int8_task_check(const dq_int8_request *asked, bool has_data, dq_error *error) {
  DQ_TRY(check_ranges(asked, error));
  DQ_TRY(check_choices(asked, error));
  DQ_TRY(check_pairs(asked, error));
  if (!has_data && !asked->files.use_table) return dq_fail(error, DQ_USAGE, "%s", asked->words->source);
  DQ_TRY(check_name("method", asked->method, observer_name, error));
  DQ_TRY(check_name("rounding", asked->rounding, rounding_name, error));
  DQ_TRY(dq_task_check(asked->task, error));
  DQ_TRY(dq_decoder_check(asked->int8.decode, error));
  return check_name("table_format", asked->table_format, format_name, error);
}

// ---- Settings ----

static dq_int8_options make_settings(const dq_int8_request *asked) {
  dq_int8_options settings = asked->int8;
  const bool percentile = settings.percentile != 0;
  if (!percentile) settings.percentile = DEFAULT_PERCENTILE;
  settings.method = dq_observer_find(asked->method ? asked->method : percentile ? "percentile" : "auto");
  settings.rounding = asked->rounding ? dq_rounding_method_find(asked->rounding) : NULL;
  settings.activation_type = asked->activations == DQ_INT8_ACTIVATIONS_S8 ? DQ_I8 : DQ_U8;
  settings.qoperator = asked->form == DQ_INT8_FORM_QOPERATOR;
  settings.search_hint = asked->words->search_hint;
  return settings;
}

static dq_convert_options make_conversion(const dq_int8_task *task) {
  const dq_int8_request *asked = &task->asked;
  dq_verdict_bounds bounds = asked->bounds;
  if (bounds.agreement < 0) bounds.agreement = -INFINITY;
  return (dq_convert_options){.int8 = &task->settings,
                              .data = task->data,
                              .eval = task->eval,
                              .bounds = bounds,
                              .all_int8 = asked->all_int8,
                              .max_float = (asked->max_float < 0 ? DEFAULT_MAX_FLOAT : asked->max_float) / 100,
                              .max_float_given = asked->max_float >= 0,
                              .max_float_option = asked->words->max_float,
                              .max_drop = asked->max_drop >= 0 ? &task->drop : NULL,
                              .time_limit = asked->int8.time_limit};
}

static dq_status read_settings(dq_int8_task *task, dq_error *error) {
  const dq_int8_request *asked = &task->asked;
  const dq_graph *graph = task->graph;
  dq_int8_options *settings = &task->settings;
  *settings = make_settings(asked);
  task->files = asked->files;
  if (asked->table_format)
    task->files.format = dq_calibration_table_format_at(row_of(asked->table_format, format_name));
  settings->shapes = (dq_shape_request){.batch = 1};
  DQ_TRY(dq_input_shapes_read(&settings->shapes, asked->shapes, asked->shape_count, &graph, 1, task->arena, error));
  DQ_TRY(dq_complete_shapes(&settings->shapes, graph, task->data, task->arena, error));
  DQ_TRY(dq_int8_files_read(&task->files, graph, task->data, settings, task->arena, error));
  DQ_TRY(dq_settle_batch(&settings->batch, graph, &settings->shapes, task->data ? task->data : task->eval,
                         task->context, error));
  task->check.options = (dq_accuracy_options){asked->task, settings->decode, settings->batch, settings->shapes};
  task->conversion = make_conversion(task);
  if (!asked->precision) return DQ_OK;
  settings->precision = &task->precision;
  return dq_precision_load(&task->precision, asked->precision, graph, task->arena, error);
}

dq_status dq_int8_task_read(dq_int8_task *task, dq_error *error) {
  return dq_processes_agree(task->context->processes, read_settings(task, error), error);
}

// ---- The conversion ----

// The bound of max_drop: on the figures that were measured, else on answers that stay those of the network.
static void set_drop(dq_int8_task *task) {
  dq_accuracy_change *check = &task->check;
  const bool labelled = check->before.count > 0;
  task->drop = (dq_max_drop_options){.drop = task->asked.max_drop,
                                     .eval = labelled ? check->data : NULL,
                                     .accuracy = check->options,
                                     .before = &check->before,
                                     .time_limit = task->asked.int8.time_limit};
  if (labelled) return;
  check->before = dq_agreement_whole(dq_verdict_pictures(task->eval ? task->eval : task->data));
  if (task->asked.words->no_labels) dq_message(task->context, DQ_NOTE, "%s", task->asked.words->no_labels);
}

dq_status dq_int8_task_convert(dq_graph **answer, dq_int8_report *report, dq_int8_task *task, dq_error *error) {
  *answer = NULL;
  DQ_TRY(dq_accuracy_before(&task->check, task->graph, task->context, error));
  if (task->conversion.max_drop) set_drop(task);
  DQ_TRY(dq_convert_int8(answer, task->graph, report, &task->found, &task->conversion, task->context, error));
  if (task->conversion.max_drop) task->check.after = task->found.after;
  return DQ_OK;
}

bool dq_int8_is_changed(const dq_int8_report *report) { return report->quantized || report->halves; }

dq_status dq_int8_task_conclude(const dq_int8_task *task, const dq_int8_report *report, const char *path,
                                dq_error *error) {
  if (!dq_int8_is_changed(report) && !report->verdict.count) return DQ_OK;
  return dq_convert_int8_check(&report->verdict, &task->conversion, path, error);
}
