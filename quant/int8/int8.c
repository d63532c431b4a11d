// INT8 quantization of a graph as a whole: once, or with all layers in 8 bits first and then as a map of precisions
// says; float16 layers, the operator form, and what the model remembers.
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/document/lower_opset.h"
#include "lib/document/widen_half.h"
#include "lib/graph/patterns.h"
#include "lib/ops/table/operator_names.h"
#include "lib/schedule/check_nodes.h"
#include "lib/text/find_row.h"
#include "quant/amp/amp.h"
#include "quant/forms/qoperator.h"
#include "quant/forms/reader_forms.h"
#include "quant/int8/stages.h"

dq_int8_options dq_int8_defaults(void) {
  return (dq_int8_options){.method = dq_observer_find("auto"), .percentile = 99.999, .activation_type = DQ_U8};
}

bool dq_int8_is_quantized(const dq_graph *graph) {
  static const char *const names[] = {"QuantizeLinear", "DequantizeLinear", "QLinearConv",
                                      "QLinearMatMul",  "ConvInteger",      "MatMulInteger"};
  for (int n = 0; n < graph->node_count; n++)
    if (dq_find_row(graph->nodes[n]->op_type, names, sizeof *names, DQ_COUNT(names)) >= 0) return true;
  return false;
}

dq_status dq_int8_widen(dq_graph **wide, const dq_graph *graph, const dq_context *context, dq_error *error) {
  bool widened;
  if (!dq_int8_is_quantized(graph)) return dq_widen_half(wide, &widened, graph, "quantization", context, error);
  *wide = dq_graph_copy(graph);
  return *wide ? DQ_OK : dq_fail_memory(error, 0);
}

// What the model came from, and how pictures were made its input. Constants per patient belong to the
// data, not to the model.
static dq_status remember(dq_int8_job *job) {
  const dq_data *data = job->pictures.data;
  const char *preprocess = data ? dq_data_preprocess_text(data) : job->in->options->table->preprocess;
  dq_calibration_table *table = &job->report->table;
  const dq_status lowered = dq_lower_opset(job->graph, job->in->context, job->error);
  if (lowered != DQ_OK) return dq_origin_discard(job->origin), lowered;
  DQ_TRY(dq_origin_finish(job->origin, job->graph, job->in->context, job->error));
  if (!(table->preprocess = dq_arena_strdup(job->graph->arena, preprocess))) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_origin_set_sizes(job->graph, &job->in->options->shapes, job->in->context, job->error));
  if (!preprocess[0] || strstr(preprocess, "norm=")) return DQ_OK;
  return dq_origin_set_preset(job->graph, preprocess, job->in->context, job->error);
}

// The layers that --precision wants in float16.
static dq_status convert_halves(dq_int8_job *job) {
  dq_amp_options options = {.only = job->halves, .only_count = job->half_count, .shapes = job->in->options->shapes};
  dq_amp_report report;
  if (!job->half_count) return DQ_OK;
  DQ_TRY(dq_amp_convert(job->graph, &options, &report, job->in->context, job->error));
  job->report->halves = report.halves;
  return DQ_OK;
}

// Prepares, chooses, quantizes.
static dq_status run(dq_int8_conversion *conversion) {
  const dq_int8_options *options = conversion->in.options;
  dq_int8_job *job = &conversion->job;
  bool any;
  DQ_TRY(dq_int8_prepare(conversion, &any));
  if (any) DQ_TRY(dq_int8_choose(conversion));
  job->setting.adaptive =
      options->table ? options->table->rounding.count > 0 : !dq_rounds_to_nearest(options->rounding);
  job->report->rounding_gain = NAN;
  return dq_int8_quantize(job);
}

static int64_t pictures_of(const dq_int8_options *options, const dq_data *data) {
  int64_t pictures = data ? dq_data_count(data) : 0;
  return options->pictures && options->pictures < pictures ? options->pictures : pictures;
}

static dq_status apply(dq_graph *graph, dq_data *data, const dq_int8_options *options, dq_int8_report *report,
                       const dq_context *context, dq_error *error) {
  *report = (dq_int8_report){.table.model = dq_origin_hash(graph), .float_macs = NAN, .float_weights = NAN};
  dq_int8_conversion conversion;
  dq_int8_job *job = &conversion.job;
  dq_status status = dq_int8_conversion_open(&conversion, graph, "dq-int8", options, context, error);
  job->report = report;
  job->pictures.data = data, job->pictures.count = pictures_of(options, data);
  if (status == DQ_OK) status = run(&conversion);
  if (status == DQ_OK) status = convert_halves(job);
  if (status == DQ_OK && report->quantized)
    status = dq_write_reader_forms(graph, !options->qoperator, job->origin, error);
  if (status == DQ_OK && report->quantized && options->qoperator)
    status = dq_qoperator_lower(graph, job->origin, &report->lowered, error);
  if (status == DQ_OK && (report->quantized || report->halves)) status = remember(job);
  else dq_origin_discard(job->origin);
  dq_int8_conversion_close(&conversion);
  return status;
}

// Copies the gains of trials, and what calibration took, from the report whose decisions the conversion started with.
static void copy_decisions(dq_int8_report *report, const dq_int8_report *from) {
  if (!report->pictures) report->pictures = from->pictures;
  if (report->calibration_bytes < from->calibration_bytes) report->calibration_bytes = from->calibration_bytes;
  report->equalize_gain = from->equalize_gain;
  report->bias_correction_gain = from->bias_correction_gain;
  report->pairs_cost = from->pairs_cost;
  report->absorption_gain = from->absorption_gain;
  report->range_search_gain = from->range_search_gain;
  report->exact_sums_gain = from->exact_sums_gain;
}

dq_status dq_int8_apply_from(dq_graph *graph, dq_data *data, const dq_int8_options *options,
                             const dq_int8_report *first, dq_int8_report *report, const dq_context *context,
                             dq_error *error) {
  dq_int8_options rest = *options;
  dq_calibration_table start; // what becomes part of the report's own table must not go with `first`
  DQ_TRY(dq_calibration_table_copy(&start, &first->table, graph->arena, error));
  rest.start = &start;
  DQ_TRY(apply(graph, data, &rest, report, context, error));
  copy_decisions(report, first);
  return DQ_OK;
}

// First with all layers in 8 bits, on a copy.
static dq_status apply_mixed(dq_graph *graph, dq_data *data, const dq_int8_options *options, dq_int8_report *report,
                             const dq_context *context, dq_error *error) {
  dq_int8_options whole = *options;
  dq_int8_report first;
  whole.precision = NULL, whole.rounding = NULL;
  dq_graph *copy = dq_graph_copy(graph);
  if (!copy) return dq_fail_memory(error, 0);
  dq_status status = apply(copy, data, &whole, &first, context, error);
  if (status == DQ_OK && !first.quantized) status = apply(graph, data, options, report, context, error);
  else if (status == DQ_OK) status = dq_int8_apply_from(graph, data, options, &first, report, context, error);
  if (status == DQ_OK) status = dq_calibration_table_copy(&report->judged, &first.judged, graph->arena, error);
  if (status == DQ_OK) status = dq_calibration_table_copy(&report->swapped, &first.swapped, graph->arena, error);
  dq_graph_free(copy);
  return status;
}

static bool leaves_any(const dq_precision_map *map) {
  for (int i = 0; map && i < map->count; i++)
    if (map->layers[i].precision != DQ_PRECISION_INT8) return true;
  return false;
}

dq_status dq_int8_apply(dq_graph *graph, dq_data *data, const dq_int8_options *options, dq_int8_report *report,
                        const dq_context *context, dq_error *error) {
  *report = (dq_int8_report){.nothing_to_do = dq_int8_is_quantized(graph)};
  DQ_TRY(dq_check_nodes(graph, context, error));
  const dq_graph *const graphs[] = {graph};
  DQ_TRY(dq_patterns_check("exclude", options->exclude, options->exclude_count, graphs, 1, error));
  DQ_TRY(dq_patterns_check("only", options->only, options->only_count, graphs, 1, error));
  DQ_TRY(dq_operators_check("operators", options->operators, options->operator_count, DQ_MATCH_PATTERN, graph, error));
  if (report->nothing_to_do) return DQ_OK;
  if (!data && !options->table)
    return dq_fail(error, DQ_USAGE, "neither data nor a calibration table is given, expected one of them");
  if (!options->table) DQ_TRY(dq_check_all_run(graph, context, error)); // before operators are looked for
  bool mixed = !options->table && leaves_any(options->precision);
  return (mixed ? apply_mixed : apply)(graph, data, options, report, context, error);
}

dq_status dq_int8_precision(const dq_int8_report *report, const dq_graph *graph, dq_arena *arena, dq_precision_map *map,
                            dq_error *error) {
  *map = (dq_precision_map){.layers = DQ_NEW_ARRAY(arena, report->count, dq_layer_precision)};
  dq_name_list names;
  if (!map->layers) return dq_fail_memory(error, 0);
  DQ_TRY(dq_layer_names(&names, graph, arena, error));
  for (int i = 0; i < report->count; i++)
    if (dq_name_list_find(&names, report->layers[i].label) >= 0)
      map->layers[map->count++] = (dq_layer_precision){report->layers[i].label, report->layers[i].precision};
  return DQ_OK;
}
