// The operator table and lookup in it.
#include <string.h>

#include "lib/ops/table/operator.h"

#define DQ_OPERATOR(symbol) extern const dq_operator dq_op_##symbol;
#include "lib/ops/table/operators.def"
#undef DQ_OPERATOR

static const dq_operator *const table[] = {
#define DQ_OPERATOR(symbol) &dq_op_##symbol,
#include "lib/ops/table/operators.def"
#undef DQ_OPERATOR
    NULL};

unsigned dq_node_flags(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row ? row->flags : 0;
}

dq_quantization dq_quantization_of(const dq_node *node) {
  const dq_operator *row = node ? dq_operator_find(node->domain, node->op_type) : NULL;
  return row ? row->quantization : DQ_QUANTIZE_NOT;
}

static const dq_operator *onnx_row(const dq_node *node) {
  const dq_operator *row = node ? dq_operator_find(node->domain, node->op_type) : NULL;
  return row && !row->domain ? row : NULL;
}

dq_integer_form dq_integer_form_of(const dq_node *node) {
  static const dq_integer_form by_rule[] = {
      [DQ_QUANTIZE_NOT] = DQ_FORM_NONE,       [DQ_QUANTIZE_COMPUTE] = DQ_FORM_PRODUCT,
      [DQ_QUANTIZE_SHARE] = DQ_FORM_MOVE,     [DQ_QUANTIZE_ABSORB] = DQ_FORM_FUNCTION,
      [DQ_QUANTIZE_TABLE] = DQ_FORM_FUNCTION, [DQ_QUANTIZE_COMBINE] = DQ_FORM_NONE,
  };
  const dq_operator *row = onnx_row(node);
  if (!row) return DQ_FORM_NONE;
  return row->integer_form ? row->integer_form : by_rule[row->quantization];
}

bool dq_clamp_of(const dq_node *node, float *low, float *high) {
  const dq_operator *row = onnx_row(node);
  float least, most;
  if (!row || !row->clamp || !row->clamp(node, &least, &most)) return false;
  *low = least, *high = most;
  return true;
}

bool dq_slope_of(const dq_node *node, dq_slope *slope) {
  const dq_operator *row = onnx_row(node);
  if (!row || !row->slope) return false;
  *slope = row->slope(node);
  return true;
}

const dq_operator *dq_operator_at(int index) { return table[index]; }

const dq_operator *dq_operator_find(const char *domain, const char *op_type) {
  if (!strcmp(domain, "ai.onnx")) domain = "";
  for (int i = 0; table[i]; i++)
    if (!strcmp(table[i]->name, op_type) && !strcmp(table[i]->domain ? table[i]->domain : "", domain)) return table[i];
  return NULL;
}

int dq_operator_version(const dq_operator *row, int64_t opset) {
  int version = 0;
  for (int i = 0; i < DQ_MAX_VERSIONS && row->since[i] && row->since[i] <= opset; i++) version = row->since[i];
  return version;
}

dq_status dq_with_label(const dq_node *node, dq_status status, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  if (status == DQ_OK || status == DQ_CANCELLED) return status;
  return dq_error_prefix(error, status, "%s", dq_node_label(node, label, sizeof label));
}
