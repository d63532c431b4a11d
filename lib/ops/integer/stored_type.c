#include "lib/ops/integer/stored_type.h"

#include "lib/ops/integer/qlinear.h"
#include "lib/ops/table/operator.h"

enum { STATED = DQ_TYPES_8_BIT | 1 << DQ_U16 | 1 << DQ_I16, LONGEST_WALK = 1 << 16 };

// Results of nodes that move elements have the type of input 0; indices (of MaxPool) are no such results.
static bool is_moved(const dq_value *value) {
  const dq_node *node = value->producer;
  const dq_integer_form form = dq_integer_form_of(node);
  if (form == DQ_FORM_CONCAT || dq_node_is(node, "Identity")) return true;
  return form == DQ_FORM_MOVE && (node->outputs[0] == value || dq_node_is(node, "Split"));
}

// A value of the same type that is closer to where it is told; NULL: there is none.
static const dq_value *same_type(const dq_value *value) {
  const dq_node *node = value->producer;
  if (!node || value->constant) return NULL;
  if (is_moved(value)) return dq_node_input(node, 0);
  if (dq_node_is(node, "QuantizeLinear")) return dq_node_input(node, 2);
  const dq_qlinear *form = dq_qlinear_find(node->domain, node->op_type);
  if (!form) return NULL;
  const dq_value *zero = dq_node_input(node, form->result + 1);
  return zero ? zero : dq_node_input(node, form->operand);
}

static int type_numbered(int64_t number) {
  return number > 0 && number <= INT32_MAX && dq_dtype_known((int)number) ? (int)number : 0;
}

// Returns the type of the integers of a QuantizeLinear without a zero point.
static int type_asked(const dq_node *node) {
  const int64_t asked = dq_node_int(node, "output_dtype", 0);
  return asked ? type_numbered(asked) : DQ_U8;
}

// Where no other value has the same type.
static int type_told(const dq_value *value) {
  const dq_tensor *constant = dq_known_tensor(value);
  if (constant) return constant->type;
  const dq_node *node = value->producer;
  if (!node) return value->is_input ? value->type : 0;
  if (dq_node_is(node, "QuantizeLinear")) return type_asked(node);
  if (dq_node_is(node, "DynamicQuantizeLinear")) return value == dq_node_output(node, 1) ? DQ_F32 : DQ_U8;
  const int64_t to = dq_node_is(node, "Cast") ? dq_node_int(node, "to", 0) : 0;
  return type_numbered(to);
}

int dq_stored_type(const dq_value *value) {
  if (!value) return 0;
  for (int i = 0; i < LONGEST_WALK; i++) {
    const dq_value *next = same_type(value);
    if (!next) return type_told(value);
    value = next;
  }
  return 0;
}

// Inputs 0 to 2 are there, the last of them a new constant of zeros, one for each scale.
static dq_status state(dq_graph *graph, dq_node *node, int type, dq_error *error) {
  const dq_tensor *scale = dq_constant_of(node->inputs[1]);
  dq_tensor *zeros = dq_tensor_new(graph->arena, type, scale->rank, scale->dims);
  dq_value *inputs[] = {node->inputs[0], node->inputs[1], dq_graph_add_constant(graph, "zero_point", zeros)};
  dq_value **kept = dq_arena_copy(graph->arena, inputs, sizeof inputs);
  if (!zeros || !inputs[2] || !kept) return dq_fail_memory(error, sizeof inputs);
  node->inputs = kept;
  node->input_count = 3;
  return DQ_OK;
}

dq_status dq_state_zero_points(dq_graph *graph, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    const bool quantize = dq_node_is(node, "QuantizeLinear");
    if ((!quantize && !dq_node_is(node, "DequantizeLinear")) || dq_node_input(node, 2)) continue;
    const dq_tensor *scale = dq_constant_of(dq_node_input(node, 1));
    if (!scale || dq_node_int(node, "block_size", 0)) continue;
    const int type = quantize ? type_asked(node) : dq_stored_type(dq_node_input(node, 0));
    if (type && (STATED & DQ_BIT(type))) DQ_TRY(state(graph, node, type, error));
  }
  return DQ_OK;
}
