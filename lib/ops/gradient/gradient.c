// What gradient functions are written with: nodes, numbers, sums over what broadcasting repeated.
#include "lib/ops/gradient/gradient.h"

#include <stdio.h>
#include <string.h>

dq_node *dq_gradient_node(const dq_gradient *gradient, const char *op_type, int count, dq_value *const *inputs,
                          int outputs) {
  enum { MOST_OUTPUTS = 3 };
  dq_graph *graph = gradient->graph;
  const dq_node *from = gradient->op->node;
  const bool own = !strncmp(op_type, "dq.", 3);
  char base[DQ_LABEL_TEXT];
  snprintf(base, sizeof base, "%.200s/gradient", dq_node_name(from));
  dq_value *results[MOST_OUTPUTS];
  for (int i = 0; i < count; i++)
    if (!inputs[i]) return NULL;
  for (int i = 0; i < outputs; i++)
    if (!(results[i] = dq_graph_fresh_value(graph, base))) return NULL;
  const char *name = dq_graph_fresh_name(graph, base);
  if (!name) return NULL;
  dq_node *node =
      dq_graph_add_node(graph, graph->node_count, op_type + (own ? 3 : 0), name, count, inputs, outputs, results);
  if (node && own) node->domain = "dq";
  return node;
}

dq_value *dq_gradient_result(const dq_node *node) { return node ? node->outputs[0] : NULL; }

dq_value *dq_gradient_of(const dq_gradient *gradient, const char *op_type, dq_value *x) {
  return dq_gradient_result(dq_gradient_node(gradient, op_type, 1, &x, 1));
}

dq_value *dq_gradient_of_two(const dq_gradient *gradient, const char *op_type, dq_value *x, dq_value *y) {
  return dq_gradient_result(dq_gradient_node(gradient, op_type, 2, (dq_value *[]){x, y}, 1));
}

dq_node *dq_gradient_ints(const dq_gradient *gradient, dq_node *node, const char *name, const int64_t *values,
                          int count) {
  return node && dq_node_set_ints(gradient->graph, node, name, values, count) ? node : NULL;
}

dq_node *dq_gradient_int(const dq_gradient *gradient, dq_node *node, const char *name, int64_t value) {
  return node && dq_node_set_int(gradient->graph, node, name, value) ? node : NULL;
}

dq_node *dq_gradient_float(const dq_gradient *gradient, dq_node *node, const char *name, double value) {
  return node && dq_node_set_float(gradient->graph, node, name, (float)value) ? node : NULL;
}

dq_value *dq_gradient_number(const dq_gradient *gradient, double value) {
  dq_tensor *number = dq_tensor_new(gradient->graph->arena, gradient->op->inputs[0]->type, 0, NULL);
  if (!number) return NULL;
  dq_tensor_set(number, 0, value);
  return dq_graph_add_constant(gradient->graph, "gradient/number", number);
}

dq_value *dq_gradient_scaled(const dq_gradient *gradient, dq_value *x, double factor) {
  return factor == 1 ? x : dq_gradient_of_two(gradient, "Mul", x, dq_gradient_number(gradient, factor));
}

dq_value *dq_gradient_sum_to(const dq_gradient *gradient, dq_value *x, int i) {
  const dq_tensor *to = gradient->op->inputs[i];
  if (dq_tensor_same_shape(gradient->op->outputs[0], to)) return x;
  dq_node *sum = dq_gradient_node(gradient, "dq.SumTo", 1, &x, 1);
  return dq_gradient_result(dq_gradient_ints(gradient, sum, "shape", to->dims, to->rank));
}

dq_value *dq_gradient_shaped(const dq_gradient *gradient, dq_value *x, int rank, const int64_t *dims) {
  dq_tensor *shape = dq_tensor_new(gradient->graph->arena, DQ_I64, 1, (int64_t[]){rank});
  if (!shape) return NULL;
  if (rank) memcpy(shape->data, dims, (size_t)rank * sizeof *dims);
  dq_value *constant = dq_graph_add_constant(gradient->graph, "gradient/shape", shape);
  return dq_gradient_of_two(gradient, "Reshape", x, constant);
}

dq_value *dq_gradient_reshaped(const dq_gradient *gradient, dq_value *x, int i) {
  return dq_gradient_shaped(gradient, x, gradient->op->inputs[i]->rank, gradient->op->inputs[i]->dims);
}

dq_status dq_gradient_set(const dq_gradient *gradient, int i, dq_value *value) {
  gradient->inputs[i] = value;
  return value ? DQ_OK : dq_fail_memory(gradient->op->error, 0);
}
