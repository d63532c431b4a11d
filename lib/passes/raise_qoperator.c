// Operators of domain com.microsoft on 8-bit operands become DequantizeLinear, the float operator and
// QuantizeLinear, the one form that the passes after this one know: a file in the operator form runs
// through the same integer steps as one in the explicit form.
#include <string.h>

#include "lib/ops/integer/qlinear.h"
#include "lib/passes/passes_internal.h"

static dq_node *add_linear(dq_graph *copy, int at, const char *op_type, dq_value *numbers, dq_value *const *step,
                           dq_value *output) {
  dq_value *inputs[] = {numbers, step[0], step[1]};
  return dq_graph_add_node(copy, at, op_type, "", 3, inputs, 1, &output);
}

// One operand dequantized in front of the node; NULL: no memory.
static dq_value *dequantized(dq_graph *copy, const dq_node *node, int at) {
  dq_value *output = dq_graph_fresh_value(copy, node->inputs[at]->name);
  bool added =
      output && add_linear(copy, node->index, "DequantizeLinear", node->inputs[at], &node->inputs[at + 1], output);
  return added ? output : NULL;
}

// Zero points that are left out, other versions of the operator and other orders of the axes stay as
// they are, for the operator's own row.
static bool can_be_raised(const dq_graph *copy, const dq_node *node, const dq_qlinear *form, int operands) {
  for (int i = 0; i < operands; i++)
    if (!dq_node_input(node, form->operand + 3 * i + 2)) return false;
  const dq_operator *row = dq_operator_find("", form->of);
  int64_t opset = dq_graph_opset(copy, "");
  return dq_node_input(node, form->result + 1) && !dq_node_int(node, "channels_last", 0) &&
         dq_operator_version(row, dq_node_int(node, "opset", opset)) == dq_operator_version(row, opset);
}

static dq_status raise_node(dq_graph *copy, dq_node *node, const dq_qlinear *form, int operands, dq_error *error) {
  dq_value **inputs = DQ_NEW_ARRAY(copy->arena, operands, dq_value *);
  dq_value *result = dq_graph_fresh_value(copy, node->outputs[0]->name);
  if (!inputs || !result) return dq_fail_memory(error, 0);
  for (int i = 0; i < operands; i++)
    if (!(inputs[i] = dequantized(copy, node, form->operand + 3 * i))) return dq_fail_memory(error, 0);
  if (!add_linear(copy, node->index + 1, "QuantizeLinear", result, &node->inputs[form->result], node->outputs[0]))
    return dq_fail_memory(error, 0);
  node->op_type = form->of;
  node->domain = "";
  node->inputs = inputs;
  node->input_count = operands;
  dq_node_set_output(node, result);
  dq_node_remove_attribute(node, "channels_last");
  dq_node_remove_attribute(node, "opset");
  return DQ_OK;
}

dq_status dq_pass_raise_qoperator(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                  dq_error *error) {
  (void)shapes, (void)context;
  dq_node **nodes = dq_arena_copy(copy->arena, copy->nodes, (size_t)copy->node_count * sizeof *nodes);
  if (!nodes) return dq_fail_memory(error, 0);
  for (int n = 0, count = copy->node_count; n < count; n++) {
    const dq_qlinear *form = nodes[n]->domain[0] ? dq_qlinear_find(nodes[n]->domain, nodes[n]->op_type) : NULL;
    if (!form || form->bias >= 0) continue; // products have integer rows of their own
    int operands = dq_qlinear_operands(form, nodes[n]);
    if (!can_be_raised(copy, nodes[n], form, operands)) continue;
    DQ_TRY(raise_node(copy, nodes[n], form, operands, error));
  }
  return DQ_OK;
}
