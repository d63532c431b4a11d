#include "quant/rewrite/divisors.h"

#include "lib/ops/table/operator.h"

static bool has_negative_exponent(const dq_node *node) {
  const dq_tensor *exponent = dq_known_elements(dq_node_input(node, 1));
  return exponent && dq_tensor_count(exponent) == 1 && dq_tensor_get(exponent, 0) < 0;
}

bool dq_divides_by(const dq_node *node, const dq_value *value) {
  static const char *const quotients[] = {"Div", "Mod", NULL}, *const inverses[] = {"Reciprocal", "Log", NULL},
                           *const powers[] = {"Pow", NULL};
  if (dq_node_is_any(node, quotients)) return dq_node_input(node, 1) == value;
  if (dq_node_input(node, 0) != value) return false;
  return dq_node_is_any(node, inverses) || (dq_node_is_any(node, powers) && has_negative_exponent(node));
}

static bool passes_on(const dq_node *node) {
  static const char *const sums[] = {"ReduceMean",        "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2",
                                     "GlobalAveragePool", "Sum",       "Expand",          NULL};
  const dq_integer_form form = dq_integer_form_of(node);
  return form == DQ_FORM_FUNCTION || form == DQ_FORM_PAIR || form == DQ_FORM_MOVE || dq_node_is_any(node, sums);
}

static bool only_divides(const dq_value *value, const bool *divides) {
  if (dq_value_must_stay(value) || !value->user_count) return false;
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *node = value->users[u];
    const dq_value *result = dq_node_output(node, 0);
    if (!dq_divides_by(node, value) && !(passes_on(node) && result && divides[result->index])) return false;
  }
  return true;
}

dq_status dq_divisor_values(const dq_graph *graph, bool **divides, dq_arena *arena, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(arena, graph->node_count, dq_node *);
  bool *all = *divides = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  if (!order || !all) return dq_fail_memory(error, (size_t)graph->value_count);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = graph->node_count - 1; n >= 0; n--)
    for (int o = 0; o < order[n]->output_count; o++)
      if (order[n]->outputs[o]) all[order[n]->outputs[o]->index] = only_divides(order[n]->outputs[o], all);
  return DQ_OK;
}
