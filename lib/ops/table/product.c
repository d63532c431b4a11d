#include "lib/ops/table/product.h"

#include <string.h>

#include "lib/ops/table/operator.h"

// ---- Description ----

void dq_describe_convolution(const dq_node *node, dq_product_kind kind, dq_product_operands at, dq_product *product) {
  bool is_step = !strcmp(node->domain, "dq"); // of an execution copy: of any convolution
  *product = (dq_product){.kind = kind,
                          .at = at,
                          .integer = at.data_zero_point != DQ_NO_INPUT,
                          .alpha = 1,
                          .beta = 1,
                          .groups = dq_node_int(node, "group", 1),
                          .data_axis = 1,
                          .result_axis = 1,
                          .outputs_first = kind == DQ_CONVOLUTION,
                          .ranks = {is_step ? 2 : 3, DQ_MAX_RANK},
                          .integer_step = kind == DQ_CONVOLUTION ? "QConv" : NULL};
}

static void exchange(int *one, int *other) {
  int kept = *one;
  *one = *other;
  *other = kept;
}

// W X in place of X W: the weight has its outputs in front, and data and result have their channels there.
static void exchange_operands(dq_product *product) {
  exchange(&product->at.data, &product->at.weight);
  exchange(&product->at.data_scale, &product->at.weight_scale);
  exchange(&product->at.data_zero_point, &product->at.weight_zero_point);
}

static void describe_matrices(const dq_node *node, dq_product_operands at, bool transposes_first,
                              bool transposes_second, dq_product *product) {
  *product = (dq_product){.kind = DQ_MATRIX_PRODUCT,
                          .at = at,
                          .integer = at.data_zero_point != DQ_NO_INPUT,
                          .alpha = 1,
                          .beta = 1,
                          .groups = 1};
  bool exchanged =
      dq_known_elements(dq_node_input(node, at.data)) && !dq_known_elements(dq_node_input(node, at.weight));
  if (exchanged) exchange_operands(product);
  product->data_axis = (exchanged ? !transposes_second : transposes_first) ? -2 : -1;
  product->result_axis = exchanged ? -2 : -1;
  product->outputs_first = exchanged ? !transposes_first : transposes_second;
}

void dq_describe_matmul(const dq_node *node, dq_product_operands at, dq_product *product) {
  describe_matrices(node, at, false, false, product);
  product->computed_weight = true;
  product->ranks[0] = 2, product->ranks[1] = DQ_MAX_RANK;
  product->integer_step = "QMatMul";
}

void dq_describe_gemm(const dq_node *node, dq_product_operands at, dq_product *product) {
  describe_matrices(node, at, dq_node_int(node, "transA", 0) != 0, dq_node_int(node, "transB", 0) != 0, product);
  product->alpha = dq_node_float(node, "alpha", 1), product->beta = dq_node_float(node, "beta", 1);
  product->ranks[0] = product->ranks[1] = 2;
  product->integer_step = "QGemm";
}

bool dq_product_of(const dq_node *node, dq_product *product) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || !row->product) return false;
  row->product(node, product);
  return true;
}

// ---- Layout ----

static bool has_layout(const dq_product *product, const dq_tensor *weight) {
  if (weight->rank < product->ranks[0] || weight->rank > product->ranks[1] || product->groups < 1) return false;
  for (int i = 0; i < weight->rank; i++)
    if (weight->dims[i] < 1) return false;
  return weight->dims[0] % product->groups == 0;
}

static int64_t step_along(const dq_tensor *weight, int axis) {
  return dq_tensor_product(weight, axis + 1, weight->rank);
}

bool dq_product_lay_out(dq_product *p, const dq_tensor *weight) {
  p->output_axis = p->input_axis = 0;
  p->stacked = false;
  p->matrices = p->outputs = p->inputs = p->taps = 0;
  p->by_matrix = p->by_group = p->by_output = p->by_input = p->by_tap = 0;
  if (!has_layout(p, weight)) return false;
  bool matrices = p->kind == DQ_MATRIX_PRODUCT;
  int first = matrices ? weight->rank - 2 : 0;
  p->output_axis = p->outputs_first ? first : first + 1;
  p->input_axis = p->outputs_first ? first + 1 : first;
  p->by_output = step_along(weight, p->output_axis);
  p->by_input = step_along(weight, p->input_axis);
  p->by_tap = 1;
  p->taps = matrices ? 1 : dq_tensor_product(weight, 2, weight->rank);
  p->outputs = weight->dims[p->output_axis];
  p->inputs = weight->dims[p->input_axis];
  p->stacked = matrices && weight->rank > 2;
  p->matrices = dq_tensor_product(weight, 0, first);
  p->by_matrix = p->outputs * p->inputs * p->taps;
  // Groups divide the first axis, whichever channels it holds.
  if (p->output_axis == 0) p->outputs /= p->groups;
  else if (!matrices) p->inputs /= p->groups;
  p->by_group = p->outputs * p->inputs * p->taps;
  return true;
}

bool dq_product_read(const dq_node *node, dq_product *product) {
  if (!dq_product_of(node, product)) return false;
  const dq_tensor *weight = dq_constant_of(dq_node_input(node, product->at.weight));
  return weight && dq_product_lay_out(product, weight);
}

bool dq_float_product(const dq_node *node, dq_product *product) {
  return dq_product_read(node, product) && !product->integer && product->at.weight == 1 &&
         dq_is_float_constant(node->inputs[1]);
}

int dq_product_channel_axis(const dq_product *product) {
  bool split = product->groups > 1 && product->output_axis != 0;
  return split || product->stacked ? -1 : product->output_axis;
}

bool dq_product_is_plain(const dq_product *product) {
  bool upright = product->kind != DQ_MATRIX_PRODUCT || (product->data_axis == -1 && product->result_axis == -1);
  return upright && product->alpha == 1 && product->beta == 1;
}
