// Add, Sub or Mul of two quantized operands: dequantized, combined and quantized in one step.
#include "lib/integer/quantized_pattern.h"

dq_status dq_form_pair(dq_graph *copy, const dq_quantized_end *end, dq_error *error) {
  dq_quantized a, b;
  const dq_node *node = end->node;
  if (node->input_count != 2 || !dq_read_dequantize(node->inputs[0], false, &a) ||
      !dq_read_dequantize(node->inputs[1], false, &b))
    return DQ_OK;
  char *op_type = dq_arena_printf(copy->arena, "Q%s", node->op_type);
  if (!op_type) return dq_fail_memory(error, 0);
  dq_value *inputs[] = {a.value, a.scale,      a.zero_point, b.value,
                        b.scale, b.zero_point, end->y.scale, end->y.zero_point};
  DQ_TRY(dq_become(copy, end->quantize, op_type, inputs, 8, error));
  return dq_set_bounds(copy, end->quantize, end, error);
}
