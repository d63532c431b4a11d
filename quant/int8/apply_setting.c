// Quantization with a setting: equalizes, selects values, finds their parameters, writes integers.
#include <math.h>
#include <string.h>

#include "lib/document/raise_opset.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/rewrite/divisors.h"
#include "quant/rewrite/output_head.h"

enum { OPSET_PER_CHANNEL = 13 }; // DequantizeLinear with an axis

// Orders channels for pairs that are safe.
static dq_status permute(dq_int8_job *job) {
  if (dq_int8_order_rule(job)->rule != DQ_ACCUMULATE_PAIRS) return DQ_OK;
  return dq_permute_for_pairs(job->graph, &job->in->options->shapes, job->observed ? &job->observed->orders : NULL,
                              &job->permuted, &job->permuted_count, job->arena, job->in->context, job->error);
}

static dq_status note_places(dq_int8_job *job) {
  bool *behind, *divides;
  DQ_TRY(dq_behind_products(job->graph, &behind, job->arena, job->error));
  DQ_TRY(dq_divisor_values(job->graph, &divides, job->arena, job->error));
  for (int v = 0; v < job->value_count; v++) {
    job->choices[v].behind_products = behind[v];
    job->choices[v].divides = divides[v];
  }
  return DQ_OK;
}

// Where the input is quantized on its input grid, the nodes in front of its readers stay in float.
static void record_levels(dq_int8_job *job) {
  const dq_value *value = job->in->levelled ? dq_graph_find(job->graph, job->in->levelled) : NULL;
  for (; value && value->producer; value = value->producer->inputs[0]) {
    job->choices[value->index].before_levels = true;
    if (strcmp(value->name, job->in->levels.input)) job->choices[value->index].original = NULL;
  }
}

static dq_status restate(dq_int8_job *job, const dq_restated *restated, int count) {
  for (int i = 0; i < count; i++) {
    DQ_TRY(dq_origin_add(job->origin, restated[i].value, restated[i].original, job->error));
    job->choices[dq_graph_find(job->graph, restated[i].value)->index].original = restated[i].original;
  }
  return DQ_OK;
}

// Rewrites the float graph as the setting says, and opens the tables over what comes of it. High biases are absorbed
// after ranges were made alike, which raises some of them.
static dq_status rewrite_graph(dq_int8_job *job) {
  dq_equalization *equalization = &job->report->table.equalization;
  dq_absorption *absorption = &job->report->table.absorption;
  const dq_restated *scaled, *lowered;
  int scaled_count, lowered_count;
  DQ_TRY(dq_int8_equalization(job, equalization));
  DQ_TRY(dq_equalize_apply(job->graph, equalization, &job->in->options->shapes, job->arena, &scaled, &scaled_count,
                           job->in->context, job->error));
  job->report->equalized = equalization->count;
  DQ_TRY(dq_int8_absorption(job, absorption));
  job->report->absorbed = absorption->count;
  DQ_TRY(dq_absorption_apply(job->graph, absorption, job->arena, &lowered, &lowered_count, job->error));
  DQ_TRY(permute(job));
  DQ_TRY(dq_int8_open_tables(job));
  DQ_TRY(note_places(job));
  record_levels(job);
  DQ_TRY(restate(job, lowered, lowered_count));
  return restate(job, scaled, scaled_count);
}

dq_status dq_int8_find_parameters(dq_int8_job *job, bool rewrite) {
  DQ_TRY(rewrite ? rewrite_graph(job) : dq_int8_open_tables(job));
  DQ_TRY(dq_int8_select(job));
  job->report->method = job->setting.method;
  if (!job->report->quantized) return DQ_OK;
  DQ_TRY(dq_int8_check_weights(job->graph, job->error));
  return dq_int8_find_ranges(job);
}

static void report_parameters(dq_int8_job *job) {
  for (int v = 0; v < job->value_count; v++)
    job->report->searched += dq_int8_is_observed(job, v) && job->choices[v].searched;
  for (int i = 0; i < job->report->count; i++) {
    dq_int8_layer *layer = &job->report->layers[i];
    const dq_value_choice *choice = &job->choices[dq_graph_find(job->graph, layer->output)->index];
    if (choice->quantized) choice = &job->choices[choice->shares]; // else what follows has the numbers
    layer->parameters = choice->parameters;
    layer->range = choice->range;
    layer->clipped = choice->clipped;
  }
}

static dq_status fill_table(dq_int8_job *job) {
  dq_calibration_table *table = &job->report->table;
  table->ranges = DQ_NEW_ARRAY(job->graph->arena, job->value_count, dq_calibration_table_range);
  if (!table->ranges) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++)
    if (dq_int8_is_observed(job, v))
      table->ranges[table->count++] = (dq_calibration_table_range){job->graph->values[v]->name, job->choices[v].range,
                                                                   job->choices[v].searched, job->choices[v].clipped};
  table->accumulator = job->setting.accumulator;
  table->levels = job->in->levels;
  table->means = job->means;
  bool foreign = job->in->options->table && job->in->options->table->foreign;
  table->method = foreign ? "another program's table" : job->setting.method->name;
  table->pictures = job->pictures.count;
  return DQ_OK;
}

// The value behind the pair that was put behind `value`; NULL: none was.
static const dq_value *pair_result(const dq_value *value) {
  for (int u = 0; value && u < value->user_count; u++) {
    const dq_value *quantized = value->users[u]->outputs[0];
    if (dq_node_is(value->users[u], "QuantizeLinear") && quantized->user_count) return quantized->users[0]->outputs[0];
  }
  return NULL;
}

// What stands for a value whose channels have moved: the result of its pair, or the value itself.
static dq_status record_permuted(dq_int8_job *job) {
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
  DQ_TRY(record_permuted(job));
  if (dq_graph_opset(job->graph, "") >= OPSET_PER_CHANNEL) return DQ_OK;
  return dq_raise_opset(job->graph, OPSET_PER_CHANNEL, job->in->context, job->error);
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
  DQ_TRY(dq_int8_find_parameters(job, true));
  if (!job->report->quantized) return DQ_OK;
  DQ_TRY(dq_int8_means(job));
  job->report->bias_corrected = job->means.count > 0;
  DQ_TRY(fill_table(job));
  report_parameters(job);
  return write_and_round(job);
}
