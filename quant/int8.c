// INT8 quantization from a graph and pictures to a quantized graph.
#include "quant/int8.h"

#include <math.h>
#include <string.h>

#include "lib/passes/fold_affine.h"
#include "lib/passes/passes_internal.h"
#include "lib/passes/raise_opset.h"
#include "quant/focus.h"
#include "quant/head.h"
#include "quant/int8_internal.h"
#include "quant/last_product.h"

enum { OPSET_PER_CHANNEL = 13 }; // DequantizeLinear with an axis

dq_int8_options dq_int8_defaults(void) {
  return (dq_int8_options){.method = dq_observer_find("percentile"), .method_open = true, .percentile = 99.999,
                          .activation_type = DQ_U8};
}

bool dq_int8_is_quantized(const dq_graph *graph) {
  static const char *const names[] = {"QuantizeLinear", "DequantizeLinear", "QLinearConv",
                                      "QLinearMatMul", "ConvInteger", "MatMulInteger"};
  for (int n = 0; n < graph->node_count; n++)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (!strcmp(graph->nodes[n]->op_type, names[i])) return true;
  return false;
}

static dq_status fold_affine(dq_graph *graph, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *convolution = dq_affine_convolution(graph->nodes[n]);
    if (convolution) DQ_TRY(dq_affine_fold(graph, convolution, graph->nodes[n], error));
  }
  return dq_graph_index(graph, false, error);
}

// Whether a value is computed from constants alone, in a few steps.
static bool is_computed_constant(const dq_value *value, int depth) {
  if (!value || value->constant) return true;
  if (!value->producer || depth == 0) return false;
  for (int i = 0; i < value->producer->input_count; i++)
    if (!is_computed_constant(value->producer->inputs[i], depth - 1)) return false;
  return true;
}

// Whether the node is quantized and an operand is computed from initializers, as old exporters reshape weights.
static bool has_computed_constant(const dq_node *node) {
  enum { LONGEST_CHAIN = 8 };
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || row->quantization == DQ_QUANTIZE_NOT || row->quantization == DQ_QUANTIZE_SHARE) return false;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *value = dq_node_input(node, i);
    if (value && !value->constant && is_computed_constant(value, LONGEST_CHAIN)) return true;
  }
  return false;
}

// Such operands become initializers.
static dq_status fold_operands(dq_graph *graph, const dq_context *context, dq_error *error) {
  bool any = false;
  for (int n = 0; n < graph->node_count; n++) any |= has_computed_constant(graph->nodes[n]);
  if (!any) return DQ_OK;
  DQ_TRY(dq_pass_fold_constants(graph, NULL, context, error));
  return dq_graph_index(graph, false, error);
}

// What is written in float before anything is observed.
static dq_status fold(dq_int8_job *job) {
  DQ_TRY(fold_operands(job->graph, job->context, job->error));
  DQ_TRY(fold_affine(job->graph, job->error));
  return dq_focus_fold(job->graph, &job->options->shapes, job->context, job->error);
}

static dq_status open_tables(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  job->value_count = graph->value_count;
  job->choices = DQ_NEW_ARRAY(job->arena, graph->value_count, dq_choice);
  job->report->layers = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_int8_layer);
  if (!job->choices || !job->report->layers) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < graph->value_count; v++)
    job->choices[v] = (dq_choice){.shares = v, .slot = -1, .original = graph->values[v]->name};
  for (int n = 0; n < graph->node_count; n++) graph->nodes[n]->mark = 0;
  return dq_infer(graph, &job->options->shapes, DQ_INFER_TOLERANT, job->context, job->arena, &job->tensors, job->error);
}

static bool is_observed(const dq_int8_job *job, int v) {
  const dq_choice *choice = &job->choices[v];
  return choice->quantized && choice->shares == v && !choice->constant;
}

static dq_range_pair range_of_constant(const dq_tensor *tensor) {
  const float *elements = tensor->data;
  dq_range_pair range = {0, 0};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    if (elements[i] < range.low) range.low = elements[i];
    if (elements[i] > range.high) range.high = elements[i];
  }
  return range;
}

// Tables of scales do not say on which side of 0 values lie; a Relu does.
static bool is_never_negative(const dq_value *value) {
  const dq_node *node = value->producer;
  if (!node) return false;
  const dq_value *low = dq_node_is(node, "Clip") ? dq_node_input(node, 1) : NULL;
  bool clipped = low && low->constant && low->constant->data && dq_tensor_get(low->constant, 0) >= 0;
  return dq_node_is(node, "Relu") || dq_node_is(node, "Sigmoid") || clipped;
}

dq_range_pair dq_int8_narrow_range(const dq_int8_job *job, const dq_value *value, const dq_histogram *histogram,
                                   dq_range_pair range) {
  for (int u = 0; u < value->user_count; u++)
    if (!value->users[u]->mark) return range;
  range = dq_narrow_range(range, dq_follower_of(value));
  return job->options->symmetric ? range : dq_rectified_range(histogram, range, dq_slope_below(value, -1));
}

// What was taken from data before; NULL: nothing.
static const dq_calibration_table *given(const dq_int8_job *job) {
  return job->options->table ? job->options->table : job->options->start;
}

static const dq_calibration_table_range *given_range(const dq_int8_job *job, int v) {
  const dq_calibration_table *table = given(job);
  return table ? dq_calibration_table_find(table, job->graph->values[v]->name) : NULL;
}

// From what is given, else from the histogram.
static dq_status choose_range(const dq_int8_job *job, dq_choice *choice, const dq_value *value,
                              const dq_calibration *calibration) {
  const dq_range_options options = {job->options->percentile, job->options->symmetric};
  const dq_calibration_table_range *entry = given_range(job, value->index);
  if (entry) {
    choice->range = entry->range;
    choice->clipped = entry->clipped;
    choice->searched = entry->searched;
    if (given(job)->symmetric && is_never_negative(value)) choice->range.low = 0;
    return DQ_OK;
  }
  if (!calibration) return dq_fail(job->error, DQ_BAD_INPUT, "the table has no value '%s'", value->name);
  const dq_histogram *histogram = &calibration->histograms[choice->slot];
  bool levelled = job->levelled && !strcmp(job->levelled, value->name);
  choice->range = levelled ? job->levels.range : job->setting.method->range(histogram, &options);
  if (!levelled) choice->range = dq_int8_narrow_range(job, value, histogram, choice->range);
  choice->clipped = dq_histogram_clipped(histogram, choice->range);
  return DQ_OK;
}

static dq_status choose_ranges(dq_int8_job *job, const dq_calibration *calibration) {
  for (int v = 0; v < job->value_count; v++) {
    dq_choice *choice = &job->choices[v];
    if (!choice->quantized || choice->shares != v) continue;
    if (choice->constant) {
      const dq_value *value = job->graph->values[v];
      DQ_TRY(dq_check_finite(value->constant, value->name, job->error));
      choice->range = range_of_constant(value->constant);
    } else {
      DQ_TRY(choose_range(job, choice, job->graph->values[v], calibration));
    }
  }
  if (calibration && job->setting.range_search) DQ_TRY(dq_int8_search_ranges(job, calibration));
  return calibration && job->setting.exact_sums ? dq_int8_join_sums(job, calibration) : DQ_OK;
}

static void fit_softmax(const dq_int8_job *job, const dq_value *value, dq_range_pair *range) {
  int64_t length = dq_softmax_length(value->producer, &job->tensors[value->index], dq_graph_opset(job->graph, ""));
  if (length > 1) range->high = dq_softmax_high(range->high, length);
}

static dq_status choose_parameters(dq_int8_job *job, const dq_calibration *calibration) {
  const dq_int8_options *options = job->options;
  DQ_TRY(choose_ranges(job, calibration));
  for (int v = 0; v < job->value_count; v++) {
    dq_choice *choice = &job->choices[v];
    if (!choice->quantized || choice->shares != v) continue;
    fit_softmax(job, job->graph->values[v], &choice->range);
    choice->parameters = dq_parameters_for(choice->range.low, choice->range.high, options->activation_type,
                                           options->symmetric);
  }
  job->report->exact_sums = dq_int8_exact_sums(job);
  return DQ_OK;
}

static dq_observation observation(const dq_int8_job *job, const char *doing) {
  return (dq_observation){.graph = job->graph, .shapes = &job->options->shapes, .data = job->data,
                          .pictures = job->pictures, .doing = doing};
}

// Of a calibration that is the job's own: its facts are told, and it may serve the next trial.
static dq_status finish_calibration(dq_int8_job *job, dq_calibration *calibration) {
  job->report->calibration_bytes = calibration->bytes;
  job->report->pictures = calibration->pictures;
  dq_status status = choose_parameters(job, calibration);
  if (status == DQ_OK && job->seen) return dq_seen_keep_calibration(job->seen, calibration, job->error);
  dq_calibration_deinit(calibration);
  return status;
}

static dq_status calibrate(dq_int8_job *job) {
  if (job->options->table) return choose_parameters(job, NULL);
  const char **names = DQ_NEW_ARRAY(job->arena, job->value_count, const char *);
  if (!names) return dq_fail_memory(job->error, 0);
  dq_observation what = observation(job, "calibrating");
  what.names = names;
  for (int v = 0; v < job->value_count; v++)
    if (is_observed(job, v) && !given_range(job, v)) {
      job->choices[v].slot = what.count;
      names[what.count++] = job->graph->values[v]->name;
    }
  if (!what.count) return choose_parameters(job, NULL);
  if (job->seen && dq_seen_has_calibration(job->seen, what.names, what.count))
    return choose_parameters(job, &job->seen->calibration);
  dq_calibration calibration;
  DQ_TRY(dq_calibrate(&calibration, &what, job->context, job->error));
  return finish_calibration(job, &calibration);
}

static void report_parameters(dq_int8_job *job) {
  for (int v = 0; v < job->value_count; v++) job->report->searched += is_observed(job, v) && job->choices[v].searched;
  for (int i = 0; i < job->report->count; i++) {
    dq_int8_layer *layer = &job->report->layers[i];
    const dq_choice *choice = &job->choices[dq_graph_find(job->graph, layer->output)->index];
    if (choice->quantized) choice = &job->choices[choice->shares]; // else what follows has the numbers
    layer->parameters = choice->parameters;
    layer->range = choice->range;
    layer->clipped = choice->clipped;
  }
}

// Said before pictures are run, which would only show that some activation is not finite.
static dq_status check_weights(dq_int8_job *job) {
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = job->graph->nodes[n];
    for (int i = 0; node->mark && i < node->input_count; i++) {
      const dq_value *value = node->inputs[i];
      if (value && value->constant && value->constant->data && value->constant->type == DQ_F32)
        DQ_TRY(dq_check_finite(value->constant, value->name, job->error));
    }
  }
  return DQ_OK;
}

// Which order a table's means have depends on the rule it was made with.
static dq_status permute(dq_int8_job *job) {
  const dq_accumulator_choice *made = given(job) ? &given(job)->accumulator : &job->setting.accumulator;
  if (made->rule != DQ_ACCUMULATE_PAIRS) return DQ_OK;
  return dq_permute_for_pairs(job->graph, &job->options->shapes, job->seen ? &job->seen->orders : NULL,
                              &job->permuted, &job->permuted_count, job->arena, job->context, job->error);
}

// What lies behind the products of equalized heads.
static dq_status note_heads(dq_int8_job *job, const dq_equalization *equalization) {
  bool *in_head, *marked = DQ_NEW_ARRAY(job->arena, job->value_count, bool);
  if (!marked) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_head_values(job->graph, &in_head, job->arena, job->error));
  for (int s = 0; s < equalization->count; s++) {
    const dq_value *value = dq_graph_find(job->graph, equalization->sites[s].value);
    if (!value || !in_head[value->index]) continue;
    marked[value->index] = true;
    dq_head_mark_behind(value, marked);
  }
  for (int v = 0; v < job->value_count; v++) job->choices[v].in_head = marked[v];
  return DQ_OK;
}

static dq_status find_equalization(dq_int8_job *job, dq_equalization *equalization) {
  dq_observation what = observation(job, "equalizing");
  if (given(job)) *equalization = given(job)->equalization;
  else if (job->seen && job->seen->equalized) *equalization = job->seen->equalization;
  else {
    DQ_TRY(dq_equalize_measure(equalization, &what, job->setting.equalize, job->setting.heads, job->sites,
                               job->graph->arena, job->context, job->error));
    if (job->seen) DQ_TRY(dq_seen_keep_equalization(job->seen, equalization, job->error));
  }
  return DQ_OK;
}

// High biases go where they cost no range; after ranges were made alike, which raises some.
static dq_status absorb_biases(dq_int8_job *job, const dq_restated **restated, int *count) {
  dq_observation what = observation(job, "absorbing biases");
  dq_absorption *absorption = &job->report->table.absorption;
  if (given(job)) *absorption = given(job)->absorption;
  else if (job->seen && job->seen->absorption.count) *absorption = job->seen->absorption;
  else if (job->setting.absorption) {
    DQ_TRY(dq_absorption_measure(absorption, &what, job->graph->arena, job->context, job->error));
    if (job->seen) DQ_TRY(dq_seen_keep_absorption(job->seen, absorption, job->error));
  }
  job->report->absorbed = absorption->count;
  return dq_absorption_apply(job->graph, absorption, job->arena, restated, count, job->error);
}

// The input on its own levels: what is written in front of its readers stays in float.
static void note_levels(dq_int8_job *job) {
  const dq_value *value = job->levelled ? dq_graph_find(job->graph, job->levelled) : NULL;
  for (; value && value->producer; value = value->producer->inputs[0]) {
    job->choices[value->index].before_levels = true;
    if (strcmp(value->name, job->levels.input)) job->choices[value->index].original = NULL;
  }
}

static dq_status restate(dq_int8_job *job, const dq_restated *restated, int count) {
  for (int i = 0; i < count; i++) {
    DQ_TRY(dq_origin_add(job->origin, restated[i].value, restated[i].original, job->error));
    job->choices[dq_graph_find(job->graph, restated[i].value)->index].original = restated[i].original;
  }
  return DQ_OK;
}

// Equalizes, absorbs high biases, permutes, and opens the tables over the graph that comes of it.
static dq_status equalize(dq_int8_job *job) {
  dq_equalization *equalization = &job->report->table.equalization;
  const dq_restated *restated, *lowered;
  int count, lowered_count;
  DQ_TRY(find_equalization(job, equalization));
  DQ_TRY(dq_equalize_apply(job->graph, equalization, &job->options->shapes, job->arena, &restated, &count,
                           job->context, job->error));
  job->report->equalized = equalization->count;
  DQ_TRY(absorb_biases(job, &lowered, &lowered_count));
  DQ_TRY(permute(job));
  DQ_TRY(open_tables(job));
  DQ_TRY(note_heads(job, equalization));
  note_levels(job);
  DQ_TRY(restate(job, lowered, lowered_count));
  return restate(job, restated, count);
}

static dq_status measure_means(dq_int8_job *job) {
  dq_observation what = observation(job, "correcting biases");
  if (given(job))
    job->means = given(job)->means;
  else if (job->setting.bias_correction && job->seen && job->seen->means.count)
    DQ_TRY(dq_seen_permuted_means(job->seen, job->permuted, job->permuted_count, &job->means, job->graph->arena,
                                  job->error));
  else if (job->setting.bias_correction) {
    DQ_TRY(dq_input_means_measure(&job->means, &what, job->graph->arena, job->context, job->error));
    if (job->seen && !job->permuted_count) DQ_TRY(dq_seen_keep_means(job->seen, &job->means, job->error));
  }
  job->report->bias_corrected = job->means.count > 0;
  job->report->table.means = job->means;
  return DQ_OK;
}

static dq_status fill_table(dq_int8_job *job) {
  dq_calibration_table *table = &job->report->table;
  table->ranges = DQ_NEW_ARRAY(job->graph->arena, job->value_count, dq_calibration_table_range);
  if (!table->ranges) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++)
    if (is_observed(job, v))
      table->ranges[table->count++] = (dq_calibration_table_range){job->graph->values[v]->name, job->choices[v].range,
                                                                   job->choices[v].searched, job->choices[v].clipped};
  table->accumulator = job->setting.accumulator;
  table->levels = job->levels;
  bool foreign = job->options->table && job->options->table->foreign;
  table->method = foreign ? "another program's table" : job->setting.method->name;
  table->pictures = job->pictures;
  return DQ_OK;
}

// The value behind the pair that was put behind `value`; NULL: none was.
static const dq_value *pair_result(const dq_value *value) {
  for (int u = 0; value && u < value->user_count; u++) {
    const dq_value *quantized = value->users[u]->outputs[0];
    if (dq_node_is(value->users[u], "QuantizeLinear") && quantized->user_count)
      return quantized->users[0]->outputs[0];
  }
  return NULL;
}

// What stands for a value whose channels have moved: the result of its pair, or the value itself.
static dq_status note_permuted(dq_int8_job *job) {
  for (int i = 0; i < job->permuted_count; i++) {
    const dq_permuted_value *moved = &job->permuted[i];
    const dq_value *result = pair_result(dq_graph_find(job->graph, moved->value));
    const char *name = result ? result->name : moved->value;
    DQ_TRY(dq_origin_add_channels(job->origin, name, moved->order, moved->channels, job->error));
    if (result) DQ_TRY(dq_origin_add(job->origin, moved->value, NULL, job->error));
  }
  return DQ_OK;
}

static dq_status write_integers(dq_int8_job *job) {
  DQ_TRY(dq_int8_insert(job));
  DQ_TRY(note_permuted(job));
  if (dq_graph_opset(job->graph, "") >= OPSET_PER_CHANNEL) return DQ_OK;
  return dq_raise_opset(job->graph, OPSET_PER_CHANNEL, job->context, job->error);
}

// Writes the integers; rounding that is adaptive compares with the graph as it was before.
static dq_status write_and_round(dq_int8_job *job) {
  if (!job->setting.adaptive) return write_integers(job);
  DQ_TRY(dq_int8_list_rounding(job));
  dq_graph *exact = dq_graph_copy(job->graph);
  dq_status status = exact ? write_integers(job) : dq_fail_memory(job->error, 0);
  if (status == DQ_OK) status = dq_int8_round(job, exact);
  dq_graph_free(exact);
  return status;
}

dq_status dq_int8_quantize(dq_int8_job *job) {
  DQ_TRY(equalize(job));
  DQ_TRY(dq_int8_select(job));
  job->report->method = job->setting.method;
  if (!job->report->quantized) return DQ_OK;
  DQ_TRY(check_weights(job));
  DQ_TRY(calibrate(job));
  DQ_TRY(measure_means(job));
  DQ_TRY(fill_table(job));
  report_parameters(job);
  return write_and_round(job);
}

// Whether there is anything to decide about: trials run the network, which may not be possible when no
// operator can be quantized.
static dq_status any_quantized(const dq_int8_job *job, bool *any) {
  dq_int8_report report = {0};
  dq_int8_job look = *job;
  look.report = &report;
  DQ_TRY(open_tables(&look));
  DQ_TRY(dq_int8_select(&look));
  *any = report.quantized > 0;
  return check_weights(&look);
}

// Brings the input to its own levels when all that reads it is quantized (as any_quantized has marked).
static dq_status level_input(dq_int8_job *job) {
  const dq_int8_options *options = job->options;
  dq_observation what = observation(job, "");
  dq_value *value;
  if (given(job))
    job->levels = given(job)->levels;
  else if (!options->symmetric)
    DQ_TRY(dq_levels_measure(&job->levels, &what, job->graph->arena, job->error));
  if (!job->levels.input) return DQ_OK;
  const dq_value *input = dq_graph_find(job->graph, job->levels.input);
  for (int u = 0; input && u < input->user_count; u++)
    if (!input->users[u]->mark) job->levels.input = NULL;
  DQ_TRY(dq_levels_apply(job->graph, &job->levels, &value, job->error));
  if (!value) return DQ_OK;
  job->levelled = value->name;
  return value == input ? DQ_OK : dq_origin_add(job->origin, value->name, NULL, job->error);
}

// What is written in float, and decided, before anything is equalized.
static dq_status prepare(dq_int8_job *job) {
  bool any;
  DQ_TRY(fold(job));
  DQ_TRY(dq_last_product(job->graph, &job->options->shapes, job->arena, job->context, job->error));
  DQ_TRY(any_quantized(job, &any));
  if (any) DQ_TRY(level_input(job));
  return any ? dq_int8_decide(job) : DQ_OK;
}

dq_status dq_int8_parameters(dq_int8_job *job) {
  if (job->options->start) {
    DQ_TRY(prepare(job));
    DQ_TRY(equalize(job));
  } else {
    DQ_TRY(fold(job));
    DQ_TRY(open_tables(job));
  }
  DQ_TRY(dq_int8_select(job));
  if (!job->report->quantized) return DQ_OK;
  DQ_TRY(check_weights(job));
  return calibrate(job);
}

dq_status dq_int8_run(dq_int8_job *job) {
  DQ_TRY(prepare(job));
  const dq_calibration_table *table = job->options->table;
  job->setting.adaptive = table ? table->rounding.count > 0 : job->options->rounding == DQ_ROUND_ADAPTIVE;
  job->report->rounding_gain = NAN;
  return dq_int8_quantize(job);
}
