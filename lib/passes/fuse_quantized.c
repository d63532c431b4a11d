// Operators between DequantizeLinear and QuantizeLinear become steps on 8 bits, each by the form that
// the row of its operator gives it. Files written by anybody in the QDQ form run this way; what does not fit a
// form runs in float between its conversions, to the same result.
#include "lib/integer/quantized_pattern.h"
#include "lib/ops/integer/stored_type.h"

static dq_status fuse_end(dq_graph *copy, dq_node *quantize, const dq_context *context, dq_error *error) {
  dq_quantized_end end;
  bool done;
  if (!dq_read_end(quantize, &end)) return DQ_OK;
  DQ_TRY(dq_form_table(copy, &end, context, &done, error));
  if (done || !end.node) return DQ_OK;
  switch (dq_integer_form_of(end.node)) {
  case DQ_FORM_PAIR: return dq_form_pair(copy, &end, error);
  case DQ_FORM_CONCAT: return dq_form_concat(copy, &end, error);
  case DQ_FORM_AVERAGE: return dq_form_average(copy, &end, error);
  case DQ_FORM_PRODUCT: return dq_form_product(copy, &end, error);
  default: return DQ_OK;
  }
}

dq_status dq_pass_state_zero_points(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                    dq_error *error) {
  (void)shapes, (void)context;
  return dq_state_zero_points(copy, error);
}

dq_status dq_pass_fuse_quantized(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                 dq_error *error) {
  (void)shapes;
  int count = copy->node_count; // forms add nodes
  dq_node **order = DQ_NEW_ARRAY(copy->arena, count, dq_node *);
  if (!order) return dq_fail_memory(error, (size_t)count * sizeof *order);
  DQ_TRY(dq_graph_order(copy, order, error));
  for (int n = 0; n < count; n++) {
    if (order[n]->removed) continue;
    if (dq_node_is(order[n], "QuantizeLinear")) DQ_TRY(fuse_end(copy, order[n], context, error));
    else if (dq_integer_form_of(order[n]) == DQ_FORM_MOVE) DQ_TRY(dq_form_move(copy, order[n], error));
  }
  for (int n = 0; n < count; n++)
    if (!order[n]->removed && dq_integer_form_of(order[n]) == DQ_FORM_PRODUCT)
      DQ_TRY(dq_form_float_product(copy, order[n], error));
  return DQ_OK;
}
