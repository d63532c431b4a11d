#include "lib/train/quantizers.h"

#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/integer/stored_type.h"
#include "lib/ops/table/operator.h"

typedef struct walk {
  dq_training_graph *made;
  dq_training *training;
  const dq_training_options *options;
  dq_error *error;
  bool *kept; // by value: a scale that stays as it is
} walk;

static dq_status unsupported(const walk *w, const dq_node *node, const char *reason) {
  dq_fail(w->error, DQ_UNSUPPORTED, "training needs %s", reason);
  return dq_with_label(node, DQ_UNSUPPORTED, w->error);
}

static bool is_operator(const dq_node *node, const char *name) {
  return node && dq_operator_find(node->domain, node->op_type) == dq_operator_find("", name);
}

static bool is_dequantize(const dq_node *node) { return is_operator(node, "DequantizeLinear"); }

static dq_value *scale_of(const dq_value *value) {
  const dq_node *node = value ? value->producer : NULL;
  return node && (node->mark == DQ_MARK_QUANTIZER || is_dequantize(node)) ? node->inputs[1] : NULL;
}

// ---- Nodes ----

// Levels of a value and their real numbers lie along the same axis.
static int axis_of(const dq_node *node, int rank) {
  const int64_t axis = dq_node_int(node, "axis", 1);
  return (int)(axis < 0 ? axis + rank : axis);
}

static dq_status become_fake(const walk *w, dq_node *node, int type, int axis, bool batched) {
  dq_graph *graph = w->made->graph;
  node->mark = DQ_MARK_QUANTIZER;
  node->op_type = "FakeQuantize";
  node->domain = "dq";
  node->attribute_count = 0;
  const bool done =
      dq_node_set_int(graph, node, "axis", axis) && dq_node_set_int(graph, node, "low", dq_dtype_low(type)) &&
      dq_node_set_int(graph, node, "high", dq_dtype_high(type)) && dq_node_set_int(graph, node, "batched", batched) &&
      dq_node_set_int(graph, node, "learned", type != DQ_I32);
  return done ? DQ_OK : dq_fail_memory(w->error, 0);
}

// ---- Weights and biases ----

static double at_channel(const dq_tensor *parameters, const dq_tensor *values, int axis, int64_t i) {
  const int64_t count = parameters ? dq_tensor_count(parameters) : 0;
  if (count < 2) return count ? dq_tensor_get(parameters, 0) : 0;
  return dq_tensor_get(parameters, i / dq_tensor_product(values, axis + 1, values->rank) % count);
}

// The real numbers of the levels, and the units of Adam's steps: for weights half of the range that their scale gives,
// for biases the product of those of data and weight.
static dq_status make_shadow(const walk *w, const dq_node *node, dq_tensor **shadow, float **units) {
  const dq_tensor *levels = node->inputs[0]->constant, *scale = node->inputs[1]->constant;
  const dq_tensor *zero = dq_constant_of(dq_node_input(node, 2));
  const int axis = axis_of(node, levels->rank);
  const double half = levels->type == DQ_I32
                          ? 128 * 128
                          : ((double)dq_dtype_high(levels->type) + 1 - (double)dq_dtype_low(levels->type)) / 2;
  *shadow = dq_tensor_new(w->made->arena, DQ_F32, levels->rank, levels->dims);
  *units = DQ_NEW_ARRAY(w->made->arena, dq_tensor_count(levels), float);
  if (!*shadow || !*units) return dq_fail_memory(w->error, 0);
  for (int64_t i = 0; i < dq_tensor_count(levels); i++) {
    const double s = at_channel(scale, levels, axis, i);
    dq_tensor_set(*shadow, i, (dq_tensor_get(levels, i) - at_channel(zero, levels, axis, i)) * s);
    (*units)[i] = (float)(half * s);
  }
  return DQ_OK;
}

// NULL: the model has no such value, as of a zero point that it leaves out.
static const char *name_in_model(const walk *w, const dq_value *value) {
  const dq_value *own = value ? dq_graph_find(w->made->model, value->name) : NULL;
  return own ? own->name : NULL;
}

// Whether the scale of a bias is that of the sums that it is added to, a few roundings in float32 apart.
static bool is_product_scale(const dq_tensor *scale, const dq_tensor *x, const dq_tensor *w) {
  const int64_t count = dq_tensor_count(scale), weights = dq_tensor_count(w);
  if (dq_tensor_count(x) != 1 || (weights != 1 && weights != count)) return false;
  for (int64_t i = 0; i < count; i++) {
    const double product = dq_tensor_get(x, 0) * dq_tensor_get(w, weights == 1 ? 0 : i);
    if (!(fabs(dq_tensor_get(scale, i) - product) <= 1e-5 * product)) return false; // NaN too
  }
  return true;
}

static dq_status set_bias_scale(const walk *w, dq_node *node, const dq_node *reader, dq_stored_grid *grid) {
  dq_value *factors[2] = {scale_of(dq_node_input(reader, 0)), scale_of(dq_node_input(reader, 1))};
  if (!factors[0] || !factors[1] || dq_node_input(reader, 2) != node->outputs[0] || !factors[0]->constant ||
      !factors[1]->constant || !is_product_scale(node->inputs[1]->constant, factors[0]->constant, factors[1]->constant))
    return unsupported(w, node, "a bias whose scale is the product of those of data and weight");
  dq_value *product = dq_training_node(w->made, "Mul", 2, factors, NULL);
  if (!product) return dq_fail_memory(w->error, 0);
  for (int k = 0; k < 2; k++) grid->factors[k] = name_in_model(w, factors[k]);
  node->inputs[1] = product;
  return DQ_OK;
}

static const dq_tensor *zero_of_data(const dq_node *reader) {
  const dq_value *data = reader->inputs[0];
  return scale_of(data) ? dq_constant_of(dq_node_input(data->producer, 2)) : NULL;
}

// Frozen ones become constants.
static dq_status train_constant(const walk *w, dq_node *node, bool frozen) {
  const dq_tensor *levels = node->inputs[0]->constant;
  const dq_node *reader = dq_only_user(node->outputs[0]);
  const int type = levels->type, rank = levels->rank, axis = axis_of(node, rank);
  dq_stored_grid *grid = DQ_NEW(w->made->arena, dq_stored_grid);
  dq_tensor *shadow;
  float *units;
  if (!grid) return dq_fail_memory(w->error, 0);
  if (!reader || node->inputs[0]->user_count != 1) return unsupported(w, node, "weights that one node reads");
  *grid = (dq_stored_grid){
      .scale = name_in_model(w, node->inputs[1]), .zero_point = name_in_model(w, dq_node_input(node, 2)), .axis = axis};
  DQ_TRY(make_shadow(w, node, &shadow, &units));
  if (frozen) {
    node->inputs[0] = dq_graph_add_constant(w->made->graph, node->inputs[0]->name, shadow);
    return node->inputs[0] ? become_fake(w, node, type, axis, false) : dq_fail_memory(w->error, 0);
  }
  if (type == DQ_I32) DQ_TRY(set_bias_scale(w, node, reader, grid));
  else if (dq_node_input(reader, 1) == node->outputs[0])
    dq_find_safe_sums(&grid->safe, reader, levels, zero_of_data(reader));
  DQ_TRY(dq_train_value(w->made, w->training, node->inputs[0], shadow, reader, w->error));
  dq_trained *trained = &w->training->trained[w->training->trained_count - 1];
  trained->grid = grid;
  trained->units = units;
  return become_fake(w, node, type, axis, false);
}

// ---- Values ----

static bool are_equal(const dq_tensor *a, const dq_tensor *b) {
  return a && b && a->type == b->type && dq_tensor_count(a) == 1 && dq_tensor_count(b) == 1 &&
         dq_tensor_get_i64(a, 0) == dq_tensor_get_i64(b, 0);
}

static dq_status join_pair(const walk *w, dq_node *node) {
  const dq_node *quantize = node->inputs[0]->producer;
  const dq_tensor *zero = dq_constant_of(dq_node_input(node, 2));
  if (!is_operator(quantize, "QuantizeLinear"))
    return unsupported(w, node, "a QuantizeLinear in front of it, as dq-int8 writes it without --format qoperator");
  if (quantize->inputs[1] != node->inputs[1] || !are_equal(dq_constant_of(dq_node_input(quantize, 2)), zero) ||
      dq_tensor_count(node->inputs[1]->constant) != 1)
    return unsupported(w, node, "one scale, which it shares with the QuantizeLinear in front of it");
  node->inputs[0] = quantize->inputs[0];
  return become_fake(w, node, zero->type, 0, true);
}

static bool is_frozen_by_reader(const walk *w, const dq_node *node) {
  for (int u = 0; u < node->outputs[0]->user_count; u++)
    if (dq_is_frozen(node->outputs[0]->users[u], w->options)) return true;
  return false;
}

// Scales of float32, one for all elements or one for each index of an axis, and as many zero points.
static bool parameters_fit(const dq_node *node) {
  const dq_tensor *levels = dq_constant_of(node->inputs[0]), *zero = dq_constant_of(dq_node_input(node, 2));
  if (!dq_is_float_constant(node->inputs[1]) || dq_node_int(node, "block_size", 0)) return false;
  const dq_tensor *scale = node->inputs[1]->constant;
  const int type = levels ? levels->type : zero ? zero->type : 0, axis = levels ? axis_of(node, levels->rank) : 0;
  if (!((DQ_TYPES_8_BIT | DQ_BIT(DQ_I16) | DQ_BIT(DQ_U16) | (levels ? DQ_BIT(DQ_I32) : 0)) & DQ_BIT(type)))
    return false;
  if (dq_node_input(node, 2) && (!zero || zero->type != type || dq_tensor_count(zero) != dq_tensor_count(scale)))
    return false;
  if (dq_tensor_count(scale) == 1) return true;
  return levels && scale->rank == 1 && axis >= 0 && axis < levels->rank && scale->dims[0] == levels->dims[axis] &&
         dq_tensor_count(scale) > 0;
}

static dq_status convert(const walk *w, dq_node *node) {
  const dq_tensor *levels = dq_constant_of(node->inputs[0]);
  if (!dq_value_is_read(node->outputs[0])) return DQ_OK;
  if (!parameters_fit(node))
    return unsupported(w, node, "constant scales of float32, one for a channel or for all, and zero points like them");
  const bool frozen = is_frozen_by_reader(w, node);
  if (frozen) w->kept[node->inputs[1]->index] = true;
  return levels ? train_constant(w, node, frozen) : join_pair(w, node);
}

// ---- Scales ----

static dq_status train_scale(const walk *w, const dq_node *node) {
  dq_value *scale = node->inputs[1];
  const dq_tensor *first = scale->constant;
  if (!first || w->kept[scale->index]) return DQ_OK;
  DQ_TRY(dq_train_value(w->made, w->training, scale, first, node, w->error));
  dq_trained *trained = &w->training->trained[w->training->trained_count - 1];
  float *units = DQ_NEW_ARRAY(w->made->arena, dq_tensor_count(first), float);
  if (!units) return dq_fail_memory(w->error, 0);
  memcpy(units, first->data, dq_tensor_bytes(first));
  trained->units = units;
  trained->is_scale = true;
  return DQ_OK;
}

// Trains the scales of quantizers that depend on a trained weight. The walk is in the order of the nodes: a value
// depends on a trained weight where an operand of its node does.
static dq_status train_scales(const walk *w) {
  const dq_graph *graph = w->made->graph;
  bool *depends = DQ_NEW_ARRAY(w->made->arena, graph->value_count, bool);
  if (!depends) return dq_fail_memory(w->error, 0);
  for (int i = 0; i < w->training->trained_count; i++)
    depends[dq_graph_find(graph, w->training->trained[i].name)->index] = true;
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    bool any = false;
    for (int i = 0; i < node->input_count; i++) any = any || (node->inputs[i] && depends[node->inputs[i]->index]);
    for (int i = 0; i < node->output_count; i++)
      if (node->outputs[i]) depends[node->outputs[i]->index] = any;
    if (any && node->mark == DQ_MARK_QUANTIZER) DQ_TRY(train_scale(w, node));
  }
  return DQ_OK;
}

dq_status dq_train_quantizers(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                              dq_error *error) {
  walk w = {.made = made, .training = training, .options = options, .error = error};
  dq_graph *graph = made->graph;
  const int nodes = graph->node_count;
  DQ_TRY(dq_state_zero_points(graph, error));
  DQ_TRY(dq_graph_index(graph, true, error));
  w.kept = DQ_NEW_ARRAY(made->arena, graph->value_count, bool);
  if (!w.kept) return dq_fail_memory(error, 0);
  for (int n = 0; n < nodes; n++)
    if (is_dequantize(graph->nodes[n])) DQ_TRY(convert(&w, graph->nodes[n]));
  if (!training->trained_count) {
    dq_fail(error, DQ_BAD_INPUT, "the model has no weight of 8 bits in front of a DequantizeLinear that is trained");
    dq_error_hint(error, "dq-int8 MODEL --data SPEC -o OUT writes such a model, without --format qoperator");
    return DQ_BAD_INPUT;
  }
  DQ_TRY(dq_graph_index(graph, true, error));
  return train_scales(&w);
}

// ---- Storing ----

static dq_status store_bias_scale(const dq_stored_grid *grid, dq_graph *model, dq_error *error) {
  dq_value *scale = dq_graph_find(model, grid->scale);
  const dq_tensor *x = dq_graph_find(model, grid->factors[0])->constant;
  const dq_tensor *w = dq_graph_find(model, grid->factors[1])->constant;
  dq_tensor *to = dq_tensor_new(model->arena, DQ_F32, scale->constant->rank, scale->constant->dims);
  if (!to || !dq_graph_set_constant(model, scale, to)) return dq_fail_memory(error, 0);
  for (int64_t i = 0; i < dq_tensor_count(to); i++)
    ((float *)to->data)[i] = ((const float *)x->data)[0] * ((const float *)w->data)[i % dq_tensor_count(w)];
  return DQ_OK;
}

dq_status dq_store_quantized(const dq_trained *weight, dq_graph *model, dq_error *error) {
  const dq_stored_grid *grid = weight->grid;
  const dq_tensor *from = weight->elements;
  dq_value *value = dq_graph_find(model, weight->name);
  if (grid->factors[0]) DQ_TRY(store_bias_scale(grid, model, error));
  const dq_tensor *scale = dq_graph_find(model, grid->scale)->constant;
  const dq_tensor *zero = grid->zero_point ? dq_graph_find(model, grid->zero_point)->constant : NULL;
  const int type = value->constant->type;
  dq_tensor *to = dq_tensor_new(model->arena, type, from->rank, from->dims);
  if (!to || !dq_graph_set_constant(model, value, to)) return dq_fail_memory(error, 0);
  for (int64_t i = 0; i < dq_tensor_count(to); i++) {
    const float t = ((const float *)from->data)[i] / (float)at_channel(scale, from, grid->axis, i);
    const double level = (double)rintf(t) + at_channel(zero, from, grid->axis, i);
    dq_tensor_set(to, i, fmin(fmax(level, (double)dq_dtype_low(type)), (double)dq_dtype_high(type)));
  }
  return DQ_OK;
}
