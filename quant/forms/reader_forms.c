#include "quant/forms/reader_forms.h"

#include "lib/ops/table/product.h"

static const char *const quantize[] = {"QuantizeLinear", NULL}, *const dequantize[] = {"DequantizeLinear", NULL};

static bool has_rule(const dq_node *node, dq_quantization rule) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->quantization == rule;
}

// ---- What may stand between a node and a pair ----

// What may stand between a pair and the product behind it: moves.
static bool only_moves(const dq_node *node) { return has_rule(node, DQ_QUANTIZE_SHARE); }

// What may stand between a product and the pair behind it: moves, Relu and Clip.
static bool moves_or_clamps(const dq_node *node) { return only_moves(node) || has_rule(node, DQ_QUANTIZE_ABSORB); }

// Functions of one value, beside a Softmax.
static bool is_function(const dq_node *node) {
  int values = 0;
  for (int i = 0; i < node->input_count; i++) values += node->inputs[i] && !node->inputs[i]->constant;
  return values == 1 && !has_rule(node, DQ_QUANTIZE_COMPUTE);
}

// Whether a DequantizeLinear writes what such nodes make the value of.
static bool comes_from_pair(const dq_value *value, bool (*passes)(const dq_node *)) {
  const dq_node *node = value ? value->producer : NULL;
  while (node && !dq_node_is_any(node, dequantize) && passes(node))
    node = node->inputs[0] ? node->inputs[0]->producer : NULL;
  return node && dq_node_is_any(node, dequantize);
}

// Whether the value, or what such nodes make of it, goes to one QuantizeLinear alone.
static bool goes_to_pair(const dq_value *value, bool (*passes)(const dq_node *)) {
  const dq_node *node = value->user_count == 1 ? value->users[0] : NULL;
  while (node && !dq_node_is_any(node, quantize) && passes(node))
    node = node->outputs[0]->user_count == 1 ? node->outputs[0]->users[0] : NULL;
  return node && dq_node_is_any(node, quantize);
}

// ---- Identity between pairs ----

// The QuantizeLinear behind an Identity that quantizes as the DequantizeLinear in front of it; NULL: the node is no
// Identity, or stands otherwise, or an output is made of the pair.
static dq_node *second_pair(const dq_node *node) {
  static const char *const names[] = {"Identity", NULL};
  const dq_node *front = dq_node_is_any(node, names) ? node->inputs[0]->producer : NULL;
  dq_node *next = front && dq_node_is_any(front, dequantize) ? dq_only_user(node->outputs[0]) : NULL;
  if (!next || !dq_node_is_any(next, quantize) || dq_value_must_stay(next->outputs[0])) return NULL;
  const dq_value *quantized = next->outputs[0];
  for (int u = 0; u < quantized->user_count; u++)
    if (!dq_node_is_any(quantized->users[u], dequantize) || dq_value_must_stay(quantized->users[u]->outputs[0]))
      return NULL;
  bool same = next->inputs[1] == front->inputs[1] && dq_node_input(next, 2) == dq_node_input(front, 2);
  return same ? next : NULL;
}

static void leave_out(dq_graph *graph, dq_node *node, dq_node *second, dq_origin *origin) {
  const dq_value *quantized = second->outputs[0];
  for (int u = 0; u < quantized->user_count; u++) {
    dq_value *result = quantized->users[u]->outputs[0];
    dq_graph_replace_uses(graph, result, node->inputs[0], false);
    dq_graph_remove_node(graph, quantized->users[u]);
    dq_origin_forget(origin, result->name);
  }
  dq_origin_forget(origin, quantized->name);
  dq_graph_remove_node(graph, second);
  dq_graph_remove_node(graph, node);
}

static dq_status leave_out_identities(dq_graph *graph, dq_origin *origin, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n], *second = second_pair(node);
    if (second) leave_out(graph, node, second, origin);
  }
  return dq_graph_index(graph, false, error);
}

// ---- Pads between pairs ----

// The zero point of the DequantizeLinear in front of a Pad becomes an initializer of its own.
static dq_status own_zero_point(dq_graph *graph, const dq_node *pad, dq_error *error) {
  static const char *const names[] = {"Pad", NULL};
  const dq_node *front = dq_node_is_any(pad, names) ? pad->inputs[0]->producer : NULL;
  const dq_value *zero = front && dq_node_is_any(front, dequantize) ? dq_node_input(front, 2) : NULL;
  if (!dq_constant_of(zero) || zero->user_count < 2) return DQ_OK;
  front->inputs[2] = dq_graph_add_constant(graph, zero->name, zero->constant);
  return front->inputs[2] ? DQ_OK : dq_fail_memory(error, 0);
}

// ---- Nodes without effect ----

// Whether runtimes fold the node into the product in front of it.
static bool is_folded(const dq_node *node) {
  static const char *const names[] = {"Add", "Mul", "BatchNormalization", NULL};
  return dq_node_is_any(node, names) && (dq_constant_of(node->inputs[0]) || dq_constant_of(node->inputs[1]));
}

// The result of the product and of what runtimes fold into it; NULL: the node is no product that they round.
static dq_value *product_result(const dq_node *node) {
  dq_product product;
  if (!dq_float_product(node, &product) || !comes_from_pair(node->inputs[product.at.data], only_moves)) return NULL;
  dq_value *result = node->outputs[0];
  for (dq_node *next = dq_only_user(result); next && is_folded(next); next = dq_only_user(result))
    result = next->outputs[0];
  if (product.at.bias == DQ_NO_INPUT && result == node->outputs[0]) return NULL;
  return goes_to_pair(result, moves_or_clamps) ? result : NULL;
}

// The result of a Softmax between pairs; NULL: the node is none.
static dq_value *softmax_result(const dq_node *node) {
  static const char *const names[] = {"Softmax", "LogSoftmax", NULL};
  bool between = dq_node_is_any(node, names) && comes_from_pair(node->inputs[0], is_function) &&
                 goes_to_pair(node->outputs[0], is_function);
  return between ? node->outputs[0] : NULL;
}

// Puts a node of one input, or of one and `constant`, between a value and its only user.
static dq_node *put_behind(dq_graph *graph, dq_value *value, const char *op_type, dq_value *constant, dq_origin *origin,
                           dq_error *error) {
  char *base = dq_arena_printf(graph->arena, "%s_%s", value->name, op_type);
  char *wanted = dq_arena_printf(graph->arena, "%s_%s_Output", value->name, op_type);
  const char *name = base ? dq_graph_fresh_name(graph, base) : NULL;
  dq_value *same = wanted ? dq_graph_fresh_value(graph, wanted) : NULL, *inputs[] = {value, constant};
  const dq_ports ports = {constant ? 2 : 1, 1, inputs, &same};
  dq_node *user = value->users[0];
  if (!name || !same || dq_origin_add(origin, same->name, NULL, error) != DQ_OK) return NULL;
  for (int i = 0; i < user->input_count; i++)
    if (user->inputs[i] == value) user->inputs[i] = same;
  return dq_graph_add_node_beside(graph, value->producer, true, op_type, name, &ports);
}

// A slope of 1 for all elements.
static dq_value *slope_1(dq_graph *graph) {
  int64_t count = 1;
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 1, &count);
  if (tensor) *(float *)tensor->data = 1;
  return tensor ? dq_graph_add_constant(graph, "slope_1", tensor) : NULL;
}

dq_status dq_write_reader_forms(dq_graph *graph, bool stays, dq_origin *origin, dq_error *error) {
  dq_value *one = NULL;
  DQ_TRY(leave_out_identities(graph, origin, error));
  for (int n = 0; n < graph->node_count; n++) {
    if (stays) DQ_TRY(own_zero_point(graph, graph->nodes[n], error));
    dq_value *result = product_result(graph->nodes[n]);
    dq_value *squeezed = stays ? softmax_result(graph->nodes[n]) : NULL;
    dq_node *node = NULL;
    if (result) node = put_behind(graph, result, "LeakyRelu", NULL, origin, error);
    if (result && (!node || !dq_node_set_float(graph, node, "alpha", 1))) return dq_fail_memory(error, 0);
    if (squeezed && !one) one = slope_1(graph);
    if (squeezed && (!one || !put_behind(graph, squeezed, "PRelu", one, origin, error)))
      return dq_fail_memory(error, 0);
  }
  return dq_graph_index(graph, false, error);
}
