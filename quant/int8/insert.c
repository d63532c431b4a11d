// Writes QuantizeLinear/DequantizeLinear pairs, int8 weights and int32 biases into the graph.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "quant/int8/stages.h"
#include "quant/numeric/product_weight.h"
#include "quant/rewrite/divisors.h"
#include "quant/rewrite/private_constant.h"

static dq_status no_memory(const dq_int8_job *job) { return dq_fail_memory(job->error, 0); }

static dq_value *add_constant(dq_graph *graph, const char *base, const char *suffix, dq_tensor *tensor) {
  char *name = dq_arena_printf(graph->arena, "%s%s", base, suffix);
  return name && tensor ? dq_graph_add_constant(graph, name, tensor) : NULL;
}

static dq_value *fresh_value(dq_graph *graph, const char *base, const char *suffix) {
  char *name = dq_arena_printf(graph->arena, "%s%s", base, suffix);
  return name ? dq_graph_fresh_value(graph, name) : NULL;
}

typedef struct place {
  dq_node *anchor; // NULL: in front of all nodes
  bool behind;
} place;

// Scale and zero point of a value as initializers.
typedef struct parameter_values {
  dq_value *scale, *zero_point; // NULL: it is 0
} parameter_values;

// One conversion node (QuantizeLinear or DequantizeLinear); it stands at its place once the graph is indexed.
static dq_node *add_conversion(dq_graph *graph, place at, const char *op_type, const char *base, dq_value *input,
                               const parameter_values *by, dq_value *output) {
  dq_value *inputs[] = {input, by->scale, by->zero_point};
  char *wanted = dq_arena_printf(graph->arena, "%s_%s", base, op_type);
  const char *name = wanted ? dq_graph_fresh_name(graph, wanted) : NULL;
  const dq_ports ports = {by->zero_point ? 3 : 2, 1, inputs, &output};
  return name ? dq_graph_add_node_beside(graph, at.anchor, at.behind, op_type, name, &ports) : NULL;
}

static dq_status add_parameters(dq_int8_job *job, const char *base, const dq_parameters *parameters,
                                parameter_values *values) {
  dq_arena *arena = job->graph->arena;
  values->scale = add_constant(job->graph, base, "_scale", dq_tensor_scalar_f32(arena, parameters->scale));
  values->zero_point = add_constant(job->graph, base, "_zero_point",
                                    dq_tensor_scalar_i8(arena, parameters->type, parameters->zero_point));
  return values->scale && values->zero_point ? DQ_OK : no_memory(job);
}

// ---- Weights and biases ----

int dq_int8_weight_axis(const dq_int8_options *options, const dq_node *node) {
  dq_product product;
  if (options->per_tensor || !dq_float_product(node, &product)) return -1;
  return dq_product_channel_axis(&product);
}

// The bias of a product when it can be an int32 in steps of sx sw; NULL otherwise.
static dq_value *integer_bias(const dq_node *node) {
  dq_product product;
  if (!dq_product_of(node, &product) || product.alpha != 1 || product.beta != 1) return NULL;
  dq_value *bias = dq_node_input(node, product.at.bias);
  return dq_is_float_constant(bias) && bias->constant->rank == 1 ? bias : NULL;
}

// A constant in 8 bits, or a bias in 32.
typedef struct stored_constant {
  dq_value *quantized;
  parameter_values by;
} stored_constant;

// NULL of zero points: there are none. stored->quantized is NULL where there is no memory.
static stored_constant store(dq_graph *graph, const char *base, dq_tensor *elements, dq_tensor *scales,
                             dq_tensor *zero_points) {
  stored_constant stored = {.quantized = add_constant(graph, base, "_quantized", elements)};
  stored.by.scale = add_constant(graph, base, "_quantized_scale", scales);
  stored.by.zero_point = zero_points ? add_constant(graph, base, "_quantized_zero_point", zero_points) : NULL;
  if (!stored.by.scale || (zero_points && !stored.by.zero_point)) stored.quantized = NULL;
  return stored;
}

static dq_value *dequantized(dq_int8_job *job, const char *base, dq_node *before, const stored_constant *stored,
                             int axis) {
  dq_graph *graph = job->graph;
  dq_value *output = fresh_value(graph, base, "_DequantizeLinear_Output");
  if (!stored->quantized || !output) return NULL;
  dq_node *node =
      add_conversion(graph, (place){before, false}, "DequantizeLinear", base, stored->quantized, &stored->by, output);
  if (!node || (axis > 0 && !dq_node_set_int(graph, node, "axis", axis))) return NULL;
  // Axis 0 is not the default (1).
  if (axis == 0 && !dq_node_set_int(graph, node, "axis", 0)) return NULL;
  return output;
}

static void record_weight(dq_int8_layer *layer, const dq_tensor *scales, const dq_weight_sums *sums) {
  const float *scale = scales->data;
  layer->pairs_safe = sums->pairs_safe;
  layer->int16_block = sums->int16_block;
  layer->block_noise = sums->block_noise;
  layer->weight_scale_low = layer->weight_scale_high = scale[0];
  for (int64_t s = 1; s < dq_tensor_count(scales); s++) {
    if (scale[s] < layer->weight_scale_low) layer->weight_scale_low = scale[s];
    if (scale[s] > layer->weight_scale_high) layer->weight_scale_high = scale[s];
  }
}

// The bias with the mean taken back by which rounding the weights shifts the output; the bias itself
// where nothing is known of the input; NULL: no memory.
static const dq_tensor *corrected_bias(dq_int8_job *job, const dq_node *node, const dq_tensor *bias,
                                       const dq_quantized_weight *weight) {
  const dq_channel_means *means = job->choices[node->inputs[0]->index].means;
  int64_t count = dq_tensor_count(bias);
  if (!means || node->inputs[1]->constant->dims[0] != count) return bias;
  double *shift = DQ_NEW_ARRAY(job->arena, count, double);
  dq_tensor *corrected = dq_tensor_new(job->arena, DQ_F32, 1, &count);
  if (!shift || !corrected) return NULL;
  if (!dq_bias_shift(node, means, weight->elements->data, weight->scales->data, dq_tensor_count(weight->scales), shift))
    return bias;
  for (int64_t o = 0; o < count; o++)
    ((float *)corrected->data)[o] = (float)((double)((const float *)bias->data)[o] + shift[o]);
  return corrected;
}

static dq_status quantize_bias(dq_int8_job *job, dq_node *node, const dq_tensor *bias, float input_scale,
                               const dq_quantized_weight *weight, const char *base) {
  dq_tensor *elements, *scales;
  DQ_TRY(dq_quantize_bias(bias, input_scale, weight->scales, job->graph->arena, &elements, &scales, job->error));
  const stored_constant stored = store(job->graph, base, elements, scales, NULL);
  node->inputs[2] = dequantized(job, base, node, &stored, 0);
  return node->inputs[2] ? DQ_OK : no_memory(job);
}

static bool are_equal(const dq_tensor *a, const dq_tensor *b) {
  return dq_tensor_same_shape(a, b) && a->type == b->type && !memcmp(a->data, b->data, dq_tensor_bytes(a));
}

// Widely shared weights as they stand in the file, by a hash of their integers; `size` is above the number of products
// that read them.
typedef struct stored_weights {
  stored_constant *places;
  uint64_t size;
} stored_weights;

static dq_status open_weights(dq_int8_job *job, stored_weights *weights) {
  weights->size = 1;
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = job->graph->nodes[n];
    weights->size += dq_int8_is_weight(job, node, 1) && dq_is_widely_shared(node->inputs[1]);
  }
  weights->places = DQ_NEW_ARRAY(job->arena, weights->size, stored_constant);
  return weights->places ? DQ_OK : no_memory(job);
}

// The place of a weight that has these integers and scales, or a free one.
static stored_constant *find_weight(const stored_weights *all, const dq_quantized_weight *result) {
  uint64_t at = XXH64(result->elements->data, dq_tensor_bytes(result->elements), 0) % all->size;
  while (all->places[at].quantized && !(are_equal(all->places[at].quantized->constant, result->elements) &&
                                        are_equal(all->places[at].by.scale->constant, result->scales)))
    at = (at + 1) % all->size;
  return &all->places[at];
}

// The weight of a node. One that many nodes share in float stands in the file once, where what is known of their biases
// gives the same integers. Adaptive rounding changes the integers of each node by itself.
static dq_status store_weight(dq_int8_job *job, const dq_value *weight, const dq_quantized_weight *result,
                              const stored_weights *all, stored_constant *stored) {
  const bool once = dq_is_widely_shared(weight) && !job->setting.adaptive;
  stored_constant *entry = once ? find_weight(all, result) : stored;
  if (!once || !entry->quantized) {
    dq_tensor *zeros =
        dq_tensor_new(job->graph->arena, result->elements->type, result->scales->rank, result->scales->dims);
    if (!zeros) return no_memory(job);
    *entry = store(job->graph, weight->name, result->elements, result->scales, zeros);
  }
  *stored = *entry;
  return stored->quantized ? DQ_OK : no_memory(job);
}

// The lowest scales with which the weight may be quantized so that its bias, if any, is far from the ends of int32, one
// for each slice of the axis. NULL: there is no memory.
static float *least_scales(const dq_int8_job *job, const dq_tensor *weight, const dq_value *bias, int axis,
                           float input_scale) {
  int64_t slices = axis < 0 ? 1 : weight->dims[axis], count = bias ? dq_tensor_count(bias->constant) : 0;
  float *least = DQ_NEW_ARRAY(job->arena, count > slices ? count : slices, float);
  if (!least || !bias) return least;
  dq_bias_scale_floor(bias->constant->data, count, input_scale, least);
  for (int64_t i = 1; axis < 0 && i < count; i++) // one scale must hold all
    if (least[i] > least[0]) least[0] = least[i];
  return least;
}

// Decides the scales of a weight and its integers; they stand in the graph's arena, but not yet in the graph.
static dq_status quantize_weight(dq_int8_job *job, const dq_node *node, const dq_value *bias, int axis,
                                 const dq_parameters *input, dq_quantized_weight *result) {
  const dq_value *weight = node->inputs[1];
  dq_int8_layer *layer = dq_int8_layer_of(job, node->outputs[0]->name);
  dq_weight_sums sums;
  DQ_TRY(dq_check_finite(weight->constant, weight->name, job->error));
  if (bias) DQ_TRY(dq_check_finite(bias->constant, bias->name, job->error));
  const dq_product_weight wanted = {.node = node,
                                    .type = job->in->weight_type,
                                    .axis = axis,
                                    .least = least_scales(job, weight->constant, bias, axis, input->scale),
                                    .input = *input,
                                    .accumulator = job->setting.accumulator};
  if (!wanted.least) return no_memory(job);
  DQ_TRY(dq_quantize_product_weight(&wanted, result, &sums, job->graph->arena, job->error));
  if (layer) record_weight(layer, result->scales, &sums);
  return DQ_OK;
}

// Puts the weight and the bias of a product into the graph as integers.
static dq_status quantize_weights(dq_int8_job *job, dq_node *node, const dq_parameters *input,
                                  const stored_weights *all) {
  dq_value *weight = node->inputs[1], *bias = integer_bias(node);
  int axis = dq_int8_weight_axis(job->in->options, node);
  dq_quantized_weight result;
  DQ_TRY(quantize_weight(job, node, bias, axis, input, &result));
  const dq_tensor *corrected = bias ? corrected_bias(job, node, bias->constant, &result) : NULL;
  if (bias && !corrected) return no_memory(job);
  stored_constant stored;
  DQ_TRY(store_weight(job, weight, &result, all, &stored));
  node->inputs[1] = dequantized(job, weight->name, node, &stored, axis);
  if (!node->inputs[1]) return no_memory(job);
  if (!job->setting.adaptive) dq_private_constant_release(job->graph, weight); // else dq_int8_round reads the weight
  return bias ? quantize_bias(job, node, corrected, input->scale, &result, bias->name) : DQ_OK;
}

static dq_status quantize_products(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  int count = graph->node_count;
  dq_node **nodes = dq_arena_copy(job->arena, graph->nodes, (size_t)count * sizeof *nodes);
  stored_weights all;
  if (!nodes) return no_memory(job);
  DQ_TRY(open_weights(job, &all));
  for (int n = 0; n < count; n++) {
    const dq_operator *row = dq_operator_find(nodes[n]->domain, nodes[n]->op_type);
    if (!nodes[n]->mark || row->quantization != DQ_QUANTIZE_COMPUTE || !dq_int8_is_weight(job, nodes[n], 1)) continue;
    int root = job->choices[nodes[n]->inputs[0]->index].shares;
    DQ_TRY(quantize_weights(job, nodes[n], &job->choices[root].parameters, &all));
  }
  return DQ_OK;
}

// ---- Activations ----

// Which users read the value after the pair: quantized ones, and all when its producer is quantized, so
// that nothing reads the sum in float and keeps the producer from running in integers.
static bool reads_pair(const dq_value *value, const dq_node *user) {
  if (!user->mark && dq_divides_by(user, value)) return false; // 8 bits round it to 0
  return (value->producer && value->producer->mark) || user->mark;
}

static void redirect(dq_node *user, const dq_value *from, dq_value *to) {
  for (int i = 0; i < user->input_count; i++)
    if (user->inputs[i] == from) user->inputs[i] = to;
}

// An initializer where an activation stands (the other operand of an Add): stored in 8 bits.
static dq_status insert_constant(dq_int8_job *job, dq_value *value, const dq_parameters *parameters) {
  dq_graph *graph = job->graph;
  const dq_tensor *from = value->constant;
  dq_tensor *elements = dq_tensor_new(graph->arena, parameters->type, from->rank, from->dims);
  parameter_values values;
  DQ_TRY(add_parameters(job, value->name, parameters, &values));
  dq_value *quantized = add_constant(graph, value->name, "_quantized", elements);
  dq_value *output = fresh_value(graph, value->name, "_DequantizeLinear_Output");
  if (!quantized || !output) return no_memory(job);
  for (int64_t i = 0; i < dq_tensor_count(from); i++)
    dq_tensor_set(elements, i, dq_quantize_number(((const float *)from->data)[i], parameters));
  place first = {graph->nodes[graph->node_count - 1], true};
  for (int u = 0; u < value->user_count; u++) {
    dq_node *user = value->users[u];
    const dq_operator *row = dq_operator_find(user->domain, user->op_type);
    bool operand = row && row->quantization == DQ_QUANTIZE_COMPUTE && user->inputs[0] == value && user->mark;
    if (!row || (row->quantization != DQ_QUANTIZE_COMBINE && !operand)) continue;
    if (first.behind || user->index < first.anchor->index) first = (place){user, false};
    redirect(user, value, output);
  }
  return add_conversion(graph, first, "DequantizeLinear", value->name, quantized, &values, output) ? DQ_OK
                                                                                                   : no_memory(job);
}

// The pair behind a value. A graph output keeps its name behind the pair: its producer writes to a new
// value in front of it.
static dq_status insert_pair(dq_int8_job *job, dq_value *value, const parameter_values *values) {
  dq_graph *graph = job->graph;
  const char *base = value->name;
  dq_value *source = value, *result;
  bool renamed = value->is_output && value->producer && value->producer->mark;
  dq_value *quantized = fresh_value(graph, base, "_QuantizeLinear_Output");
  if (renamed) {
    source = fresh_value(graph, base, "_QuantizeLinear_Input");
    result = value;
  } else {
    result = fresh_value(graph, base, "_DequantizeLinear_Output");
  }
  if (!quantized || !source || !result) return no_memory(job);
  dq_node *producer = value->producer;
  for (int u = 0; u < value->user_count; u++)
    if (!renamed && reads_pair(value, value->users[u])) redirect(value->users[u], value, result);
  for (int i = 0; renamed && i < producer->output_count; i++)
    if (producer->outputs[i] == value) producer->outputs[i] = source;
  DQ_TRY(dq_origin_add(job->origin, quantized->name, NULL, job->error));
  DQ_TRY(dq_origin_add(job->origin, result->name, job->choices[value->index].original, job->error));
  dq_node *first = add_conversion(graph, (place){producer, true}, "QuantizeLinear", base, source, values, quantized);
  bool added =
      first && add_conversion(graph, (place){first, true}, "DequantizeLinear", base, quantized, values, result);
  return added ? DQ_OK : no_memory(job);
}

static bool needs_pair(const dq_value *value) {
  if (value->is_output && value->producer && value->producer->mark) return true;
  for (int u = 0; u < value->user_count; u++)
    if (reads_pair(value, value->users[u])) return true;
  return false;
}

static dq_status quantize_activations(dq_int8_job *job) {
  parameter_values *made = DQ_NEW_ARRAY(job->arena, job->value_count, parameter_values);
  if (!made) return no_memory(job);
  for (int v = 0; v < job->value_count; v++) {
    const dq_value_choice *choice = &job->choices[v];
    dq_value *value = job->graph->values[v];
    if (!choice->quantized || !needs_pair(value)) continue;
    const dq_parameters *parameters = &job->choices[choice->shares].parameters;
    if (choice->constant) {
      DQ_TRY(insert_constant(job, value, parameters));
      continue;
    }
    int root = choice->shares;
    if (!made[root].scale) DQ_TRY(add_parameters(job, job->graph->values[root]->name, parameters, &made[root]));
    DQ_TRY(insert_pair(job, value, &made[root]));
    job->report->values++;
  }
  return DQ_OK;
}

static void find_means(dq_int8_job *job) {
  for (int i = 0; i < job->means.count; i++) {
    const dq_value *value = dq_graph_find(job->graph, job->means.values[i].value);
    if (value && value->index < job->value_count) job->choices[value->index].means = &job->means.values[i];
  }
}

dq_status dq_int8_insert(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  find_means(job);
  DQ_TRY(quantize_products(job)); // first: it looks up the values that activations are then taken from
  DQ_TRY(quantize_activations(job));
  return dq_graph_drop_constants(graph, job->error);
}
