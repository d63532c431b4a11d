// The INT8 transform of the public interface, and the search for the layers that stay in float.
#include <math.h>

#include "lib/api/api_internal.h"
#include "quant/search/int8_task.h"

_Static_assert(DQ_CHOICE_ON == (int)DQ_CHOOSE_ON && DQ_CHOICE_OFF == (int)DQ_CHOOSE_OFF, "choices are the same");
_Static_assert(DQ_SUMS_INT32 == (int)DQ_ACCUMULATE_INT32 && DQ_SUMS_INT16 == (int)DQ_ACCUMULATE_INT16,
               "accumulators are the same");
_Static_assert(DQ_FORM_OPERATOR == (int)DQ_INT8_FORM_QOPERATOR, "forms are the same");

static const dq_model_int8_options int8_defaults = {
    .max_drop = -1, .min_sqnr = -INFINITY, .min_agreement = -1, .max_float = -1};

void dq_model_int8_defaults(dq_model_int8_options *options, size_t size) {
  dq_api_set_defaults(options, size, &int8_defaults, sizeof *options);
}

// What one call works with.
typedef struct work {
  dq_model *model;
  dq_model_int8_options given;
  dq_int8_task task;
} work;

static const dq_int8_words words = {
    .max_float = "max_float",
    .search_hint = "range_search of DQ_CHOICE_OFF leaves it out",
    .source = "neither data nor use_table is given, expected one of them",
    .percentile = "percentile is of the methods 'percentile' and 'auto', not of",
    .quote = "'",
};

static dq_int8_options settings_of(const dq_model_int8_options *given) {
  return (dq_int8_options){.percentile = given->percentile,
                           .equalize = (dq_choose)given->equalize,
                           .bias_absorption = (dq_choose)given->bias_absorption,
                           .bias_correction = (dq_choose)given->bias_correction,
                           .range_search = (dq_choose)given->range_search,
                           .accumulator = (dq_accumulator)given->sums,
                           .time_limit = given->time_limit,
                           .per_tensor = given->per_tensor != 0,
                           .symmetric = given->symmetric != 0,
                           .exclude = given->exclude,
                           .exclude_count = dq_api_count(given->exclude),
                           .only = given->only,
                           .only_count = dq_api_count(given->only),
                           .operators = given->operators,
                           .operator_count = dq_api_count(given->operators),
                           .decode = given->decode,
                           .batch = given->batch};
}

static dq_int8_request asked_of(const dq_model_int8_options *given) {
  return (dq_int8_request){.words = &words,
                           .int8 = settings_of(given),
                           .files = {.use_table = given->use_table,
                                     .force = given->force != 0,
                                     .table = given->save_table,
                                     .precision = given->save_precision},
                           .method = given->method,
                           .rounding = given->rounding,
                           .table_format = given->table_format,
                           .precision = given->precision,
                           .activations = given->signed_activations ? DQ_INT8_ACTIVATIONS_S8 : DQ_INT8_ACTIVATIONS_U8,
                           .form = (dq_int8_form)given->form,
                           .shapes = given->shapes,
                           .shape_count = dq_api_count(given->shapes),
                           .task = given->task,
                           .max_drop = given->max_drop,
                           .bounds = {given->min_sqnr, given->min_agreement, "min_sqnr", "min_agreement"},
                           .max_float = given->max_float,
                           .all_int8 = given->all_int8 != 0};
}

// The pictures that max_drop is measured on; where those of the dataset have no labels, answers are compared.
static dq_status set_labelled(dq_int8_task *task, dq_error *error) {
  dq_data *pictures = task->eval ? task->eval : task->data;
  if (task->asked.max_drop < 0) return DQ_OK;
  const bool labelled = dq_data_labelled(pictures) != DQ_LABEL_NONE;
  if (task->eval && !labelled) return dq_fail(error, DQ_BAD_INPUT, "the pictures of eval have no labels");
  task->check.asked = true;
  task->check.data = labelled ? pictures : NULL;
  return DQ_OK;
}

// Quantizes w->task.graph, and writes the files that options name. *answer is NULL after a failure.
static dq_status convert(work *w, dq_graph **answer, dq_error *error) {
  dq_int8_report *report = &w->model->int8;
  DQ_TRY(dq_int8_task_read(&w->task, error));
  DQ_TRY(dq_int8_task_convert(answer, report, &w->task, error));
  dq_status status = dq_int8_files_write(&w->task.files, report, w->task.arena, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*answer);
  *answer = NULL;
  return status;
}

static dq_status int8(work *w, const dq_model_int8_options *options, dq_error *error) {
  dq_model *model = w->model;
  dq_graph *wide = NULL, *answer = NULL;
  w->given = int8_defaults;
  DQ_TRY(dq_api_read_options(&w->given, sizeof w->given, options, error));
  w->task.asked = asked_of(&w->given);
  w->task.eval = w->given.eval ? w->given.eval->data : NULL;
  DQ_TRY(dq_int8_task_check(&w->task.asked, w->task.data != NULL, error));
  DQ_TRY(set_labelled(&w->task, error));
  DQ_TRY(dq_int8_widen(&wide, model->graph, w->task.context, error));
  w->task.graph = wide;
  dq_status status = convert(w, &answer, error);
  if (status == DQ_OK)
    return dq_api_take(model, DQ_TRANSFORM_INT8, wide, answer, dq_int8_is_changed(&model->int8), error);
  dq_graph_free(wide);
  return status;
}

// What dq-int8 ends with 1 for.
static dq_status check_bounds(const work *w, dq_error *error) {
  const dq_max_drop_report *found = &w->task.found;
  DQ_TRY(dq_int8_task_conclude(&w->task, &w->model->int8, "the converted model", error));
  if (w->given.max_drop < 0 || found->held) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "the loss is %.4g points, more than %.4g (max_drop)", found->drop,
                 w->given.max_drop);
}

static void give_int8(const work *w, bool held, dq_model_int8_facts *facts) {
  const dq_int8_report *report = &w->model->int8;
  dq_model_int8_facts known = {.operators = report->count,
                               .quantized = report->quantized,
                               .activations = report->values,
                               .pictures = report->pictures,
                               .calibration_bytes = report->calibration_bytes,
                               .nothing_to_do = report->nothing_to_do,
                               .method = report->quantized ? report->table.method : NULL,
                               .equalized = report->equalized,
                               .bias_corrected = report->bias_corrected,
                               .rounded = report->rounded,
                               .outputs_sqnr = dq_verdict_sqnr(&report->verdict),
                               .outputs_agreement = dq_verdict_agreement(&report->verdict),
                               .outputs_least_sqnr = dq_verdict_least_sqnr(&report->verdict),
                               .outputs_least_agreement = dq_verdict_least_agreement(&report->verdict),
                               .float_macs = report->float_macs,
                               .float_weights = report->float_weights,
                               .absorbed = report->absorbed,
                               .searched = report->searched,
                               .half_nodes = report->halves,
                               .integer_operators = report->lowered,
                               .held = held,
                               .drop = w->given.max_drop >= 0 ? w->task.found.drop : 0,
                               .left_in_float = w->task.found.left,
                               .trials = w->task.found.trials,
                               .stopped = w->task.found.stopped};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_model_int8_facts *facts, dq_failure *failure) {
  dq_call call;
  work w = {.model = model};
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) w.task.data = dataset ? dataset->data : NULL, w.task.context = &model->engine->context;
  if (status == DQ_OK && !(w.task.arena = dq_context_arena(w.task.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = int8(&w, options, &call.error);
  dq_arena_free(w.task.arena);
  if (status == DQ_OK) {
    status = check_bounds(&w, &call.error);
    give_int8(&w, status == DQ_OK, facts);
  }
  return dq_api_leave(&call, status, failure);
}

int dq_model_int8_at(const dq_model *model, int index, dq_model_int8_row *row) {
  if (!model || model->last != DQ_TRANSFORM_INT8 || index < 0 || index >= model->int8.count) return 0;
  const dq_int8_layer *layer = &model->int8.layers[index];
  dq_model_int8_row known = {.name = layer->name,
                             .op_type = layer->op_type,
                             .reason = layer->reason,
                             .low = (double)layer->range.low,
                             .high = (double)layer->range.high,
                             .scale = (double)layer->parameters.scale,
                             .zero_point = layer->parameters.zero_point,
                             .weight_scale_low = (double)layer->weight_scale_low,
                             .weight_scale_high = (double)layer->weight_scale_high};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
