// Concat of quantized operands: on 8 bits, each operand brought to the result's scale and zero point by a
// table unless it has them.
#include "lib/integer/quantized_pattern.h"

static bool is_unbounded(const dq_quantized_end *end) {
  int type = dq_quantized_type(&end->y);
  return end->low == dq_dtype_low(type) && end->high == dq_dtype_high(type);
}

dq_status dq_form_concat(dq_graph *copy, const dq_quantized_end *end, dq_error *error) {
  const dq_node *node = end->node;
  int count = node->input_count;
  dq_value **parts = DQ_NEW_ARRAY(copy->arena, count, dq_value *);
  if (!parts) return dq_fail_memory(error, (size_t)count * sizeof *parts);
  dq_quantized x;
  for (int i = 0; i < count; i++)
    if (!dq_read_dequantize(node->inputs[i], false, &x)) return DQ_OK;
  for (int i = 0; i < count; i++) {
    dq_read_dequantize(node->inputs[i], false, &x);
    parts[i] = x.value;
    if (!dq_same_parameters(&x, &end->y) || !is_unbounded(end))
      DQ_TRY(dq_requantize_by_table(copy, &x, end, node, &parts[i], error));
  }
  int64_t axis = dq_node_int(node, "axis", 1);
  DQ_TRY(dq_become(copy, end->quantize, "Concat", parts, count, error));
  end->quantize->domain = "";
  return dq_node_set_int(copy, end->quantize, "axis", axis) ? DQ_OK : dq_fail_memory(error, 0);
}
