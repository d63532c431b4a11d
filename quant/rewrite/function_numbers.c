#include "quant/rewrite/function_numbers.h"

bool dq_read_number(const dq_value *value, double *number) {
  if (!dq_is_float_constant(value) || dq_tensor_count(value->constant) != 1 || value->constant->rank > 1) return false;
  *number = dq_tensor_get(value->constant, 0);
  return true;
}

bool dq_applies_number(const dq_node *node) {
  double number;
  return node && node->input_count == 2 && dq_integer_form_of(node) == DQ_FORM_PAIR &&
         dq_read_number(node->inputs[1], &number);
}

enum { MOST_NUMBERS = 8 }; // between a node and a function that it belongs to: a chain of thousands is not searched

const dq_node *dq_before_numbers(const dq_node *node) {
  int numbers = 0;
  do {
    const dq_value *value = dq_node_input(node, 0);
    node = value && dq_is_private(value) ? value->producer : NULL;
  } while (dq_applies_number(node) && numbers++ < MOST_NUMBERS);
  return node;
}

const dq_node *dq_behind_numbers(const dq_node *node) {
  int numbers = 0;
  do {
    const dq_value *value = dq_node_output(node, 0);
    node = value ? dq_only_user(value) : NULL;
  } while (dq_applies_number(node) && numbers++ < MOST_NUMBERS);
  return node;
}

static bool is_function(const dq_node *node) {
  const dq_operator *row = node ? dq_operator_find(node->domain, node->op_type) : NULL;
  return row && row->quantization == DQ_QUANTIZE_TABLE;
}

bool dq_is_in_function(const dq_node *node) {
  if (!node || is_function(node)) return node != NULL;
  if (dq_integer_form_of(node) != DQ_FORM_PAIR || !dq_is_float_constant(node->inputs[1]) ||
      !(dq_applies_number(node) || dq_tensor_count(node->inputs[1]->constant) > 1))
    return false;
  return is_function(dq_before_numbers(node)) || is_function(dq_behind_numbers(node));
}

static const dq_node *part_before(const dq_node *node) {
  const dq_node *before = dq_is_private(node->inputs[0]) ? node->inputs[0]->producer : NULL;
  return dq_is_in_function(before) ? before : NULL;
}

static const dq_node *part_behind(const dq_node *node) {
  const dq_node *behind = dq_only_user(node->outputs[0]);
  return dq_is_in_function(behind) ? behind : NULL;
}

int dq_function_parts(const dq_node *node, const dq_node **parts) {
  int count = 0;
  const dq_node *before = part_before(node);
  for (int i = 1; before && i < DQ_FUNCTION_PARTS / 2; i++) node = before, before = part_before(node);
  for (; node && count < DQ_FUNCTION_PARTS; node = part_behind(node)) parts[count++] = node;
  return count;
}

void dq_swap_numbers(dq_graph *graph) {
  static const char *const commutative[] = {"Add", "Mul", NULL};
  double number;
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    if (!dq_node_is_any(node, commutative) || node->input_count != 2 || !dq_read_number(node->inputs[0], &number) ||
        dq_read_number(node->inputs[1], &number))
      continue;
    dq_value *first = node->inputs[0];
    node->inputs[0] = node->inputs[1];
    node->inputs[1] = first;
  }
}
