#include "quant/forms/qoperator.h"

#include <math.h>
#include <string.h>

#include "lib/ops/integer/qlinear.h"
#include "quant/numeric/parameters.h"

typedef struct lowering {
  dq_graph *graph;
  dq_origin *origin;
  bool microsoft; // an operator of com.microsoft was written
  dq_error *error;
} lowering;

static dq_status no_memory(const lowering *l) { return dq_fail_memory(l->error, 0); }

// ---- The pattern ----

// The DequantizeLinear behind a value: numbers, scale and zero point, all as initializers but the first;
// NULL: it is none.
static dq_node *dequantize_of(const dq_value *value, bool bias) {
  dq_node *node = value ? value->producer : NULL;
  if (!node || !dq_node_is(node, "DequantizeLinear") || !dq_constant_of(node->inputs[1])) return NULL;
  if (bias) return dq_constant_of(node->inputs[0]) ? node : NULL;
  return dq_constant_of(dq_node_input(node, 2)) ? node : NULL;
}

// What follows the operator: perhaps a Relu or Clip, then the QuantizeLinear.
typedef struct ending {
  dq_node *activation, *quantize; // activation NULL: none
  float low, high;
} ending;

static bool read_bounds(dq_node *node, ending *to) {
  to->activation = node;
  return dq_clamp_of(node, &to->low, &to->high);
}

static bool read_ending(const dq_value *value, ending *to) {
  *to = (ending){.low = -INFINITY, .high = INFINITY};
  dq_node *next = dq_only_user(value);
  if (next && !dq_node_is(next, "QuantizeLinear")) next = read_bounds(next, to) ? dq_only_user(next->outputs[0]) : NULL;
  if (!next || !dq_node_is(next, "QuantizeLinear")) return false;
  const dq_tensor *scale = dq_constant_of(next->inputs[1]), *zero = dq_constant_of(dq_node_input(next, 2));
  to->quantize = next;
  return scale && zero && dq_tensor_count(scale) == 1;
}

static bool same_parameters(const dq_node *a, const dq_node *b) {
  for (int i = 1; i <= 2; i++) {
    const dq_tensor *x = dq_constant_of(a->inputs[i]), *y = dq_constant_of(b->inputs[i]);
    if (!x || !y || x->type != y->type || dq_tensor_count(x) != 1 || dq_tensor_count(y) != 1 ||
        dq_tensor_get(x, 0) != dq_tensor_get(y, 0))
      return false;
  }
  return true;
}

// Attributes with which the form on integers means the same.
static bool attributes_fit(const dq_node *node) {
  int count;
  const int64_t *dilations = dq_node_ints(node, "dilations", &count);
  for (int i = 0; dq_node_is(node, "AveragePool") && i < count; i++)
    if (dilations[i] != 1) return false;
  dq_product product;
  return !dq_product_of(node, &product) || dq_product_is_plain(&product);
}

// ---- Writing ----

// The bound of a Relu or Clip as an 8-bit number of the result.
static int64_t bound_of(float bound, const dq_node *quantize) {
  const dq_tensor *zero = quantize->inputs[2]->constant;
  dq_parameters parameters = {.scale = (float)dq_tensor_get(quantize->inputs[1]->constant, 0),
                              .zero_point = (int)dq_tensor_get_i64(zero, 0),
                              .type = zero->type};
  return dq_quantize_number(bound, &parameters);
}

static dq_value *add_bound(lowering *l, const char *base, int type, int64_t bound) {
  dq_graph *graph = l->graph;
  char *name = dq_arena_printf(graph->arena, "%s_bound", base);
  dq_tensor *tensor = dq_tensor_scalar_i8(graph->arena, type, (int)bound);
  return name && tensor ? dq_graph_add_constant(graph, name, tensor) : NULL;
}

// The node writes what the QuantizeLinear wrote, through a Clip of integers where the bounds cut.
static dq_status write_result(lowering *l, dq_node *node, const ending *end) {
  dq_graph *graph = l->graph;
  dq_value *result = end->quantize->outputs[0];
  int type = end->quantize->inputs[2]->constant->type;
  int64_t low = bound_of(end->low, end->quantize), high = bound_of(end->high, end->quantize);
  bool cuts = low > dq_dtype_low(type) || high < dq_dtype_high(type);
  if (end->activation) dq_graph_remove_node(graph, end->activation);
  dq_graph_remove_node(graph, end->quantize);
  if (!cuts) {
    dq_node_set_output(node, result);
    return DQ_OK;
  }
  char *wanted = dq_arena_printf(graph->arena, "%s_unclipped", result->name);
  dq_value *whole = wanted ? dq_graph_fresh_value(graph, wanted) : NULL;
  dq_value *bounds[] = {whole, add_bound(l, result->name, type, low), add_bound(l, result->name, type, high)};
  if (!whole || !bounds[1] || !bounds[2]) return no_memory(l);
  dq_node_set_output(node, whole);
  if (!dq_graph_add_node(graph, node->index + 1, "Clip", end->activation->name, 3, bounds, 1, &result))
    return no_memory(l);
  return dq_origin_add(l->origin, whole->name, NULL, l->error);
}

static dq_status set_attributes(lowering *l, dq_node *node) {
  dq_graph *graph = l->graph;
  dq_node_remove_attribute(node, "beta");
  if (!strcmp(node->op_type, "QLinearAveragePool")) dq_node_remove_attribute(node, "dilations");
  if (strcmp(node->op_type, "QLinearSoftmax")) return DQ_OK;
  int64_t opset = dq_graph_opset(graph, "");
  bool set = dq_node_set_int(graph, node, "axis", dq_node_int(node, "axis", -1)) &&
             dq_node_set_int(graph, node, "opset", opset);
  return set ? DQ_OK : no_memory(l);
}

static dq_status write_form(lowering *l, dq_node *node, const dq_qlinear *form, int operands, const ending *end) {
  int count = form->operand + 3 * operands;
  if (count < form->result + 2) count = form->result + 2;
  const dq_node *bias = form->bias >= 0 ? dequantize_of(dq_node_input(node, 2), true) : NULL;
  if (bias && count < form->bias + 1) count = form->bias + 1;
  dq_value **inputs = DQ_NEW_ARRAY(l->graph->arena, count, dq_value *);
  if (!inputs) return no_memory(l);
  for (int i = 0; i < operands; i++)
    memcpy(&inputs[form->operand + 3 * i], node->inputs[i]->producer->inputs, 3 * sizeof *inputs);
  inputs[form->result] = end->quantize->inputs[1];
  inputs[form->result + 1] = end->quantize->inputs[2];
  if (bias) inputs[form->bias] = bias->inputs[0];
  node->inputs = inputs;
  node->input_count = count;
  node->op_type = form->name;
  node->domain = form->domain;
  l->microsoft |= form->domain[0] != 0;
  DQ_TRY(set_attributes(l, node));
  return write_result(l, node, end);
}

static dq_status lower_node(lowering *l, dq_node *node, bool *done) {
  const dq_qlinear *form = node->domain[0] ? NULL : dq_qlinear_of(node->op_type);
  ending end;
  if (!form || !attributes_fit(node) || !read_ending(node->outputs[0], &end)) return DQ_OK;
  int operands = form->operands ? form->operands : node->input_count;
  for (int i = 0; i < operands; i++)
    if (!dequantize_of(dq_node_input(node, i), false)) return DQ_OK;
  const dq_value *bias = form->bias >= 0 ? dq_node_input(node, 2) : NULL;
  if (bias && !dequantize_of(bias, true)) return DQ_OK;
  *done = true;
  return write_form(l, node, form, operands, &end);
}

// ---- Operators that only move elements ----

static bool interpolates(const dq_node *node) {
  const char *mode = dq_node_string(node, "mode", "");
  return !strcmp(mode, "linear") || !strcmp(mode, "cubic");
}

static bool moves(const dq_node *node) {
  return dq_integer_form_of(node) == DQ_FORM_MOVE && (dq_node_flags(node) & DQ_OP_MOVES_8_BIT) &&
         node->output_count == 1 && !interpolates(node);
}

static void lower_move(lowering *l, dq_node *node, bool *done) {
  ending end;
  if (!moves(node) || !read_ending(node->outputs[0], &end) || end.activation) return;
  const dq_node *from = dequantize_of(node->inputs[0], false);
  if (!from || !same_parameters(from, end.quantize)) return;
  node->inputs[0] = from->inputs[0];
  dq_node_set_output(node, end.quantize->outputs[0]);
  dq_graph_remove_node(l->graph, end.quantize);
  *done = true;
}

// DequantizeLinear nodes whose results nobody reads any more.
static void drop_unread(dq_graph *graph) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    const dq_value *output = node->outputs[0];
    if (dq_node_is(node, "DequantizeLinear") && !dq_value_is_read(output)) dq_graph_remove_node(graph, node);
  }
}

dq_status dq_qoperator_lower(dq_graph *graph, dq_origin *origin, int *lowered, dq_error *error) {
  lowering l = {.graph = graph, .origin = origin, .error = error};
  int count = graph->node_count;
  dq_node **nodes = dq_arena_copy(graph->arena, graph->nodes, (size_t)count * sizeof *nodes);
  if (!nodes) return no_memory(&l);
  *lowered = 0;
  for (int n = 0; n < count; n++) {
    bool done = false;
    if (nodes[n]->removed) continue;
    DQ_TRY(lower_node(&l, nodes[n], &done));
    if (!done) lower_move(&l, nodes[n], &done);
    *lowered += done;
  }
  if (l.microsoft) DQ_TRY(dq_graph_set_opset(graph, "com.microsoft", 1, error));
  DQ_TRY(dq_graph_index(graph, true, error));
  drop_unread(graph);
  return dq_graph_drop_constants(graph, error);
}
