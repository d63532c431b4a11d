// Average pools of a quantized value: exact sums, requantized by the number of their elements.
#include "lib/integer/quantized_pattern.h"

enum { MOST_ELEMENTS = 1 << 22 }; // of a window: their sum fits 32 bits with room

static bool fits(const dq_node *node) {
  if (!dq_node_attribute(node, "kernel_shape")) return true; // of whole planes
  int rank;
  const int64_t *kernel = dq_node_ints(node, "kernel_shape", &rank);
  int64_t elements = 1;
  for (int i = 0; i < rank; i++) {
    if (kernel[i] < 1 || kernel[i] > MOST_ELEMENTS / elements) return false;
    elements *= kernel[i];
  }
  return rank > 0;
}

dq_status dq_form_average(dq_graph *copy, const dq_quantized_end *end, dq_error *error) {
  dq_quantized x;
  // A requantized sum is not the float average bit by bit, so nothing else may see what lies between.
  if (!end->alone || !fits(end->node) || !dq_read_dequantize(end->node->inputs[0], false, &x) ||
      !dq_sums_are_usable(&x, NULL, &end->y))
    return DQ_OK;
  char *op_type = dq_arena_printf(copy->arena, "Q%s", end->node->op_type);
  if (!op_type) return dq_fail_memory(error, 0);
  dq_value *inputs[] = {x.value, x.scale, x.zero_point, end->y.scale, end->y.zero_point};
  return dq_apply_end(copy, end, op_type, inputs, 5, error);
}
