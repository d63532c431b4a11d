#include "quant/rewrite/written_functions.h"

#include <math.h>

#include "lib/document/raise_opset.h"
#include "lib/ops/table/operator.h"
#include "quant/rewrite/function_numbers.h"

enum { OPSET_HARD_SWISH = 14, DEEPEST = 4, MOST_NODES = 8 };

// number * x^linear * (min(max(x + 3, 0), 6) / 6)^gates, where the exponents are 0 or 1.
typedef struct product {
  const dq_value *x; // NULL: not known yet
  double number;
  int linear, gates;
  dq_node *nodes[MOST_NODES]; // all that compute it
  int count;
} product;

static bool near(double number, double expected) { return fabs(number - expected) <= 1e-6 * fabs(expected); }

static bool list(product *all, dq_node *node) {
  if (all->count == MOST_NODES) return false;
  all->nodes[all->count++] = node;
  return true;
}

static bool is_of(product *all, const dq_value *x) {
  if (!all->x) all->x = x;
  return all->x == x;
}

// x of `value` = x + 3; NULL: it is something else.
static const dq_value *read_shifted(const dq_value *value) {
  const dq_node *node = value->producer;
  double number;
  for (int i = 0; node && dq_node_is(node, "Add") && dq_is_private(value) && i < 2; i++)
    if (dq_read_number(node->inputs[1 - i], &number) && near(number, 3)) return node->inputs[i];
  return NULL;
}

// A gate: Clip(x + 3, 0, 6), or HardSigmoid(x) with the same slope.
static bool read_gate(product *all, dq_node *node) {
  float low, high;
  if (all->gates) return false;
  if (dq_node_is(node, "HardSigmoid")) {
    bool same = near((double)dq_node_float(node, "alpha", 0.2F), 1.0 / 6) &&
                near((double)dq_node_float(node, "beta", 0.5F), 0.5);
    all->gates = same;
    return same && is_of(all, node->inputs[0]) && list(all, node);
  }
  const dq_value *x = dq_clamp_of(node, &low, &high) && low == 0 && high == 6 ? read_shifted(node->inputs[0]) : NULL;
  if (!x) return false;
  all->gates = 1;
  all->number *= 6;
  return is_of(all, x) && list(all, node->inputs[0]->producer) && list(all, node);
}

static bool read_factor(product *all, const dq_value *value, int depth);

static bool read_operands(product *all, dq_node *node, int depth) {
  double divisor;
  if (dq_node_is(node, "Mul"))
    return read_factor(all, node->inputs[0], depth) && read_factor(all, node->inputs[1], depth);
  if (!dq_node_is(node, "Div") || !dq_read_number(node->inputs[1], &divisor)) return false;
  all->number /= divisor;
  return read_factor(all, node->inputs[0], depth);
}

// Multiplies the product by a value: a number, a gate, a product of these, or x.
static bool read_factor(product *all, const dq_value *value, int depth) {
  double number;
  if (dq_read_number(value, &number)) return all->number *= number, true;
  dq_node *node = value->producer;
  product before = *all;
  if (node && depth < DEEPEST && dq_is_private(value)) {
    if (read_gate(all, node) || (read_operands(all, node, depth + 1) && list(all, node))) return true;
    *all = before;
  }
  all->linear++;
  return is_of(all, value) && all->linear == 1;
}

// The operator that equals the result of a node and of what is listed in front of it; NULL: there is none.
static const char *find_function(product *all, dq_node *node) {
  *all = (product){.number = 1};
  if (!read_operands(all, node, 0) || !list(all, node) || !near(all->number, 1) || all->gates != 1) return NULL;
  return all->linear ? "HardSwish" : "HardSigmoid";
}

// The last node becomes the function; the others are removed when the graph is indexed again.
static dq_status replace(dq_graph *graph, const product *all, const char *op_type, dq_error *error) {
  dq_node *last = all->nodes[all->count - 1];
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  if (!inputs) return dq_fail_memory(error, sizeof *inputs);
  inputs[0] = graph->values[all->x->index];
  last->op_type = op_type;
  last->inputs = inputs, last->input_count = 1;
  last->attribute_count = 0;
  for (int i = 0; i < all->count - 1; i++) dq_graph_remove_node(graph, all->nodes[i]);
  bool set = all->linear ||
             (dq_node_set_float(graph, last, "alpha", 1.0F / 6) && dq_node_set_float(graph, last, "beta", 0.5F));
  return set ? DQ_OK : dq_fail_memory(error, 0);
}

// Looks from the last node backwards, so that the longest form is found first.
dq_status dq_written_functions_fuse(dq_graph *graph, const dq_context *context, dq_error *error) {
  bool any = false, swish = false;
  for (int n = graph->node_count - 1; n >= 0; n--) {
    product all;
    const char *op_type = graph->nodes[n]->removed ? NULL : find_function(&all, graph->nodes[n]);
    if (!op_type) continue;
    any = true;
    swish |= all.linear > 0;
    DQ_TRY(replace(graph, &all, op_type, error));
  }
  if (!any) return DQ_OK;
  DQ_TRY(dq_graph_index(graph, false, error));
  if (swish && dq_graph_opset(graph, "") < OPSET_HARD_SWISH)
    DQ_TRY(dq_raise_opset(graph, OPSET_HARD_SWISH, context, error));
  return dq_graph_drop_constants(graph, error);
}
