// A common description of all operators that sum products of a data operand and a weight: convolutions and matrix
// products in float and on integers. It says which input is which operand and where each weight lies, so that other
// modules need not compare names of operators.
#ifndef DQ_OPS_PRODUCT_H
#define DQ_OPS_PRODUCT_H

#include "lib/graph/graph.h"

// An input with this position is left out by the operator's definition.
enum { DQ_NO_INPUT = -1 };

// A DQ_CONVOLUTION is computed as Conv is, with attributes of Conv only: execution copies make dq FusedConv and dq
// QConv of it. Where its row allows a weight of 2 dimensions, outputs x inputs, the kernel is 1 at each place of the
// input, whatever number of spatial axes the input has.
typedef enum dq_product_kind { DQ_CONVOLUTION, DQ_TRANSPOSED_CONVOLUTION, DQ_MATRIX_PRODUCT } dq_product_kind;

// Positions among the inputs of the node. Only operators on integers have scales and zero points.
typedef struct dq_product_operands {
  int data, weight, bias;
  int data_scale, weight_scale, result_scale;
  int data_zero_point, weight_zero_point, result_zero_point;
} dq_product_operands;

// The float operators have the data as input 0, the weight as input 1, and then the bias.
#define DQ_FLOAT_OPERANDS(bias_input)                                                                                  \
  ((dq_product_operands){0, 1, (bias_input), DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT,          \
                         DQ_NO_INPUT})

// result[o] = alpha * sum over inputs i and taps t of weight[o][i][t] data[i, place of t] + beta * bias.
typedef struct dq_product {
  dq_product_kind kind;
  dq_product_operands at;
  bool integer;         // operands of 8 bits and sums of int32
  float alpha, beta;    // 1 where the operator has none
  int64_t groups;       // attribute of a convolution; 1 otherwise
  int data_axis;        // of the data, along which the inputs lie; below 0: counted from the end
  int result_axis;      // of the result, along which the outputs lie; likewise
  bool computed_weight; // the operator on integers takes a weight that is no constant
  bool outputs_first;   // of the two axes of the weight that hold channels: the first two, of matrices the last two
  int ranks[2];         // least and most dimensions of the weight
  // The operator of domain dq that computes the float operator on 8 bits, from its attributes; NULL: there is none, and
  // the operator runs in float between its conversions.
  const char *integer_step;

  // The layout, after dq_product_lay_out.
  int output_axis, input_axis;   // of the weight
  bool stacked;                  // the weight is a stack of `matrices` matrices
  int64_t matrices;              // 1 otherwise
  int64_t outputs, inputs, taps; // of one group; taps are places of the kernel, 1 of a matrix
  int64_t by_matrix, by_group, by_output, by_input, by_tap; // elements of the weight between neighbours
} dq_product;

// Fills *product with operands, axes and attributes of the node; the layout is 0. Where one operand of a matrix product
// is constant, that operand is the weight; otherwise, and where both are constant, the second is. False: the operator
// of the node is no product.
bool dq_product_of(const dq_node *node, dq_product *product);

// Adds the layout of a weight of this shape, whose elements are not read, to what dq_product_of filled. False, and the
// layout is 0: the shape does not fit the operator (number of dimensions, a dimension of 0, groups that are below 1 or
// do not divide dimension 0 of the weight). The shape of the data is not checked.
bool dq_product_lay_out(dq_product *product, const dq_tensor *weight);

// Calls dq_product_of and dq_product_lay_out for a node whose weight is a constant with elements. False: the node is no
// such product.
bool dq_product_read(const dq_node *node, dq_product *product);

// Calls dq_product_read for a node of a float operator whose second operand is the weight, in float32: the products
// whose weights transforms change. False for all other nodes.
bool dq_float_product(const dq_node *node, dq_product *product);

// ---- For products with a layout ----

// The number of output channels, and of input channels, of all groups together.
static inline int64_t dq_product_outputs(const dq_product *product) { return product->groups * product->outputs; }
static inline int64_t dq_product_inputs(const dq_product *product) { return product->groups * product->inputs; }

// Products in one sum.
static inline int64_t dq_product_depth(const dq_product *product) { return product->inputs * product->taps; }

// The index of an element in the weight (of a stack: in its first matrix). `output` counts channels of all groups,
// `input` those of the group of that output.
static inline int64_t dq_product_at(const dq_product *product, int64_t output, int64_t input, int64_t tap) {
  return output / product->outputs * product->by_group + output % product->outputs * product->by_output +
         input * product->by_input + tap * product->by_tap;
}

// The axis of the weight along which the output channels of all groups lie, so that each can have a scale; -1: there is
// none, as for transposed convolutions with groups and stacks of matrices.
int dq_product_channel_axis(const dq_product *product);

// Dimensions of the data, which are those of the result; 0: they do not follow from the weight.
static inline int dq_product_data_rank(const dq_product *product, const dq_tensor *weight) {
  return product->kind != DQ_MATRIX_PRODUCT && weight->rank > 2 ? weight->rank : 0;
}

// ---- For all products ----

// Whether alpha and beta are 1 and inputs and outputs of a matrix product lie along the last axis.
bool dq_product_is_plain(const dq_product *product);

// ---- For operator files ----

// These functions fill *product for dq_operator.product, except the layout. dq_describe_convolution: for a convolution
// or transposed convolution with the attribute "group".
void dq_describe_convolution(const dq_node *node, dq_product_kind kind, dq_product_operands at, dq_product *product);
// dq_describe_matmul: for a product of stacks of matrices (MatMul); dq_describe_gemm: for a product of two matrices
// with the attributes of Gemm. Where only the first operand is constant, it becomes the weight and the second the data.
void dq_describe_matmul(const dq_node *node, dq_product_operands at, dq_product *product);
void dq_describe_gemm(const dq_node *node, dq_product_operands at, dq_product *product);

#endif
