#include "quant/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "lib/eval/cost.h"
#include "quant/int8_internal.h"

// One row: the values it stands for, by index.
typedef struct site {
  int product; // the product's own output; -1: no weights
  int result;  // what is quantized; -1: nothing
} site;

typedef struct study {
  dq_int8_job job; // with parameters, on a folded copy of the graph
  dq_int8_report report;
  dq_sensitivity *result;
  site *sites;
  const char **names;  // float outputs
  int *outputs;        // their values by index
  int output_count;
  dq_tensor **kept;    // [picture * output_count + output] of the network as it is
  int64_t *labels;     // by picture; NULL: none
  int64_t *seen;       // pictures so far, by output
  dq_sensitivity_effect *effect; // what is being measured; NULL: the network as it is
  dq_context quiet;    // without the progress of each variant
  int64_t done, total;
} study;

static dq_status no_memory(const study *it) { return dq_fail_memory(it->job.error, 0); }

// ---- What is seen ----

static bool is_right(const study *it, const dq_tensor *scores, int64_t picture) {
  int64_t best = 0, count = dq_tensor_count(scores);
  for (int64_t i = 1; i < count; i++)
    if (dq_tensor_get(scores, i) > dq_tensor_get(scores, best)) best = i;
  return best == it->labels[picture];
}

static bool is_scores(const dq_tensor *tensor) {
  return dq_tensor_count(tensor) > 1 && (tensor->rank <= 2 || dq_tensor_product(tensor, 2, tensor->rank) == 1);
}

static dq_status keep(study *it, int slot, int64_t picture, const dq_tensor *tensor) {
  dq_tensor *own = dq_tensor_new(it->job.arena, tensor->type, tensor->rank, tensor->dims);
  if (!own) return no_memory(it);
  memcpy(own->data, tensor->data, dq_tensor_bytes(tensor));
  it->kept[picture * it->output_count + slot] = own;
  if (slot == 0) it->result->scores = is_scores(tensor);
  if (slot == 0 && it->labels) it->result->right += is_right(it, tensor, picture);
  return DQ_OK;
}

static dq_status see(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  study *it = user;
  int64_t picture = it->seen[slot]++;
  if (!it->effect) return keep(it, slot, picture, tensor);
  const dq_tensor *reference = it->kept[picture * it->output_count + slot];
  dq_comparison other = {0};
  dq_comparison *to = slot ? &other : &it->effect->outputs;
  DQ_TRY(dq_comparison_add(to, reference, tensor, -1, error));
  if (slot) { // adds to the noise, but has no say in agreement
    it->effect->outputs.signal += other.signal;
    it->effect->outputs.noise += other.noise;
  } else if (it->labels) {
    it->effect->right += is_right(it, tensor, picture);
  }
  return DQ_OK;
}

static dq_status observe(study *it, const dq_graph *graph) {
  for (int o = 0; o < it->output_count; o++) {
    it->names[o] = graph->outputs[it->outputs[o]]->name;
    it->seen[o] = 0;
  }
  dq_observation what = {.graph = graph, .shapes = &it->job.options->shapes, .names = it->names,
                         .count = it->output_count, .data = it->job.data, .pictures = it->job.pictures};
  return dq_observe(&what, see, it, &it->quiet, it->job.error);
}

// ---- Variants ----

static dq_status quantize_weights(study *it, dq_graph *copy, int product) {
  dq_node *node = copy->values[product]->producer;
  const dq_value *weight = node->inputs[1];
  dq_quantized_weight quantized;
  DQ_TRY(dq_quantize_weight(weight->constant, dq_int8_weight_axis(&it->job, node), NULL, copy->arena, &quantized,
                            it->job.error));
  dq_tensor *back = dq_dequantize_weight(&quantized, copy->arena);
  dq_value *value = back ? dq_graph_add_constant(copy, weight->name, back) : NULL;
  if (!value) return no_memory(it);
  node->inputs[1] = value;
  return DQ_OK;
}

static dq_status quantize_result(study *it, dq_graph *copy, int result) {
  const dq_choice *choice = &it->job.choices[it->job.choices[result].shares];
  dq_value *value = copy->values[result];
  dq_tensor *scale = dq_tensor_scalar_f32(copy->arena, choice->parameters.scale);
  dq_tensor *zero = dq_tensor_scalar_i8(copy->arena, choice->parameters.type, choice->parameters.zero_point);
  dq_value *inputs[3] = {value, scale ? dq_graph_add_constant(copy, "scale", scale) : NULL,
                         zero ? dq_graph_add_constant(copy, "zero_point", zero) : NULL};
  dq_value *quantized = dq_graph_fresh_value(copy, value->name), *back = dq_graph_fresh_value(copy, value->name);
  if (!inputs[1] || !inputs[2] || !quantized || !back) return no_memory(it);
  dq_graph_replace_uses(copy, value, back, true);
  if (!dq_graph_add_node(copy, copy->node_count, "QuantizeLinear", "", 3, inputs, 1, &quantized)) return no_memory(it);
  inputs[0] = quantized;
  return dq_graph_add_node(copy, copy->node_count, "DequantizeLinear", "", 3, inputs, 1, &back) ? DQ_OK
                                                                                                  : no_memory(it);
}

// The rows first to last with weights, results or both in 8 bits.
static dq_status change(study *it, dq_graph *copy, int first, int last, bool weights, bool results) {
  for (int s = first; s <= last; s++) {
    if (weights && it->sites[s].product >= 0) DQ_TRY(quantize_weights(it, copy, it->sites[s].product));
    if (results && it->sites[s].result >= 0) DQ_TRY(quantize_result(it, copy, it->sites[s].result));
  }
  return dq_graph_index(copy, true, it->job.error);
}

static dq_status try_variant(study *it, int first, int last, bool weights, bool results, dq_sensitivity_effect *effect) {
  dq_graph *copy = dq_graph_copy(it->job.graph);
  if (!copy) return no_memory(it);
  it->effect = effect;
  dq_status status = change(it, copy, first, last, weights, results);
  if (status == DQ_OK) status = observe(it, copy);
  dq_graph_free(copy);
  if (status == DQ_OK) dq_progress(it->job.context, "sensitivity", ++it->done, it->total);
  return status;
}

static dq_status try_all(study *it, bool both_only) {
  dq_sensitivity *result = it->result;
  it->total = 1;
  for (int s = 0; s < result->count; s++) it->total += result->layers[s].has_weights && !both_only ? 3 : 1;
  for (int s = 0; s < result->count; s++) {
    dq_sensitivity_layer *layer = &result->layers[s];
    DQ_TRY(try_variant(it, s, s, true, true, &layer->both));
    layer->activations = layer->both;
    if (!layer->has_weights || both_only) continue;
    layer->activations = (dq_sensitivity_effect){0};
    DQ_TRY(try_variant(it, s, s, true, false, &layer->weights));
    DQ_TRY(try_variant(it, s, s, false, true, &layer->activations));
  }
  return try_variant(it, 0, result->count - 1, true, true, &result->all);
}

// ---- Rows ----

static bool is_own(const study *it, const dq_value *value) {
  const dq_choice *choice = &it->job.choices[value->index];
  return choice->quantized && choice->shares == value->index && !choice->constant;
}

// What stands behind an operator: its output, or that of the Relu or Clip which took its place; -1: nothing.
static int result_of(const study *it, const dq_value *output) {
  if (is_own(it, output)) return output->index;
  const dq_node *next = output->user_count == 1 ? output->users[0] : NULL;
  const dq_operator *row = next ? dq_operator_find(next->domain, next->op_type) : NULL;
  bool absorbed = row && row->quantization == DQ_QUANTIZE_ABSORB && it->job.choices[next->outputs[0]->index].quantized;
  return absorbed ? next->outputs[0]->index : -1;
}

static bool is_taken(const study *it, int result) {
  for (int s = 0; s < it->result->count; s++)
    if (it->sites[s].result == result) return true;
  return false;
}

static void add_row(study *it, const char *label, const char *op_type, int product, int result, const dq_cost_node *cost) {
  dq_sensitivity_layer *layer = &it->result->layers[it->result->count];
  it->sites[it->result->count++] = (site){product, result};
  *layer = (dq_sensitivity_layer){.label = label, .op_type = op_type, .is_input = product < 0 && !it->job.graph->values[result]->producer,
                                  .has_weights = product >= 0,
                                  .macs = cost ? cost->macs : 0};
  if (product < 0) return;
  const dq_value *weight = it->job.graph->values[product]->producer->inputs[1];
  layer->weight_bytes = (int64_t)dq_tensor_bytes(weight->constant);
}

static void find_rows(study *it, const dq_cost *cost) {
  const dq_graph *graph = it->job.graph;
  for (int i = 0; i < graph->input_count; i++)
    if (is_own(it, graph->inputs[i])) add_row(it, graph->inputs[i]->name, "Input", -1, graph->inputs[i]->index, NULL);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    if (!node->mark || !row || row->quantization == DQ_QUANTIZE_SHARE) continue;
    bool weights = row->quantization == DQ_QUANTIZE_COMPUTE && dq_int8_is_weight(&it->job, node, 1);
    int result = result_of(it, node->outputs[0]);
    if ((result >= 0 && is_taken(it, result)) || (result < 0 && !weights)) continue;
    add_row(it, dq_layer_label(node), node->op_type, weights ? node->outputs[0]->index : -1, result, &cost->nodes[n]);
  }
}

// ---- All of it ----

static dq_status allocate(study *it) {
  dq_arena *arena = it->job.arena;
  const dq_graph *graph = it->job.graph;
  int rows = graph->node_count + graph->input_count;
  it->sites = DQ_NEW_ARRAY(arena, rows, site);
  it->names = DQ_NEW_ARRAY(arena, graph->output_count, const char *);
  it->outputs = DQ_NEW_ARRAY(arena, graph->output_count, int);
  it->seen = DQ_NEW_ARRAY(arena, graph->output_count, int64_t);
  it->kept = DQ_NEW_ARRAY(arena, it->job.pictures * graph->output_count, dq_tensor *);
  if (!it->sites || !it->names || !it->outputs || !it->seen || !it->kept) return no_memory(it);
  for (int o = 0; o < graph->output_count; o++)
    if (graph->outputs[o]->producer && it->job.tensors[graph->outputs[o]->index].type == DQ_F32)
      it->outputs[it->output_count++] = o;
  return DQ_OK;
}

static dq_status read_labels(study *it) {
  if (dq_data_labelled(it->job.data) != DQ_LABEL_CLASS) return DQ_OK;
  it->labels = DQ_NEW_ARRAY(it->job.arena, it->job.pictures, int64_t);
  if (!it->labels) return no_memory(it);
  for (int64_t i = 0; i < it->job.pictures; i++) {
    dq_sample_info info;
    DQ_TRY(dq_data_read(it->job.data, i, NULL, &info, it->job.error));
    it->labels[i] = info.label;
  }
  return DQ_OK;
}

static dq_status run_study(study *it, bool both_only, dq_arena *arena) {
  dq_int8_job *job = &it->job;
  dq_cost cost;
  DQ_TRY(dq_int8_parameters(job));
  if (!it->report.quantized) return dq_fail(job->error, DQ_UNSUPPORTED, "no operator can be quantized");
  DQ_TRY(allocate(it));
  it->result->layers = DQ_NEW_ARRAY(arena, job->graph->node_count + job->graph->input_count, dq_sensitivity_layer);
  if (!it->result->layers) return no_memory(it);
  DQ_TRY(dq_cost_count(&cost, job->graph, job->options->shapes.input_count ? &job->options->shapes : NULL,
                         job->context, job->arena, job->error));
  find_rows(it, &cost);
  DQ_TRY(read_labels(it));
  DQ_TRY(observe(it, job->graph));
  if (!it->result->scores) it->labels = NULL;
  it->result->labelled = it->labels != NULL;
  return try_all(it, both_only);
}

// Labels of the rows in the arena of the caller: the copies they point into go.
static dq_status own_labels(dq_sensitivity *result, dq_arena *arena, dq_error *error) {
  for (int i = 0; i < result->count; i++) {
    dq_sensitivity_layer *layer = &result->layers[i];
    layer->label = dq_arena_strdup(arena, layer->label);
    layer->op_type = dq_arena_strdup(arena, layer->op_type);
    if (!layer->label || !layer->op_type) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

dq_status dq_sensitivity_measure(dq_sensitivity *result, const dq_graph *graph, dq_data *data,
                                 const dq_sensitivity_options *options, const dq_context *context, dq_arena *arena,
                                 dq_error *error) {
  if (dq_int8_is_quantized(graph)) return dq_fail(error, DQ_UNSUPPORTED, "the model is quantized already");
  study it = {.result = result, .quiet = *context};
  it.quiet.progress = NULL;
  int64_t pictures = dq_data_count(data);
  if (options->pictures && options->pictures < pictures) pictures = options->pictures;
  *result = (dq_sensitivity){.pictures = pictures};
  it.job = (dq_int8_job){.graph = dq_graph_copy(graph), .options = options->int8, .context = context, .error = error,
                         .arena = dq_arena_new(0), .report = &it.report, .data = data,
                         .pictures = pictures, .setting = {.method = options->int8->method}};
  dq_status status = it.job.graph && it.job.arena ? run_study(&it, options->both_only, arena) : no_memory(&it);
  if (status == DQ_OK) status = own_labels(result, arena, error);
  dq_arena_free(it.job.arena);
  dq_graph_free(it.job.graph);
  return status;
}
