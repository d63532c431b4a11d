// One view of every operator that sums products of a data operand and a weight: convolutions and matrix products in
// float and on integers. It says which input is what and where each weight lies, so that nobody else has to decide
// it by the operator's name.
#ifndef DQ_OPS_PRODUCT_H
#define DQ_OPS_PRODUCT_H

#include "lib/graph/graph.h"

// An input with this position is left out by the operator's definition.
enum { DQ_NO_INPUT = -1 };

typedef enum dq_product_kind { DQ_CONVOLUTION, DQ_TRANSPOSED_CONVOLUTION, DQ_MATRIX_PRODUCT } dq_product_kind;

// Positions among the inputs of the node. Scales and zero points belong to the integer forms.
typedef struct dq_product_operands {
  int data, weight, bias;
  int data_scale, weight_scale, result_scale;
  int data_zero_point, weight_zero_point, result_zero_point;
} dq_product_operands;

// In the float operators data and weight come first, then the bias.
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
  bool computed_weight; // the integer form takes a weight that is no constant
  bool outputs_first;   // of the two axes of the weight that hold channels: the first two, of matrices the last two
  int ranks[2];         // least and most dimensions of the weight

  // The layout, after dq_product_lay_out.
  int output_axis, input_axis;   // of the weight
  bool stacked;                  // the weight is a stack of `matrices` matrices
  int64_t matrices;              // 1 otherwise
  int64_t outputs, inputs, taps; // of one group; taps are places of the kernel, 1 of a matrix
  int64_t by_matrix, by_group, by_output, by_input, by_tap; // elements of the weight between neighbours
} dq_product;

// Operands, axes and attributes of the node; false: its operator is no product. Where one operand of a matrix product
// is constant, the weight is that operand; otherwise, and where both are, it is the second. The layout is left 0.
bool dq_product_of(const dq_node *node, dq_product *product);

// The layout of a weight of that shape, whose elements are not read. false, and the layout is 0: the shape is none of
// the operator's (number of dimensions, a dimension of 0, groups that do not divide the channels).
bool dq_product_lay_out(dq_product *product, const dq_tensor *weight);

// Both, of a node whose weight is a constant with elements; false where it is not.
bool dq_product_read(const dq_node *node, dq_product *product);

// The same of a float operator whose second operand is the weight, in float32: what transforms of weights change.
bool dq_float_product(const dq_node *node, dq_product *product);

// ---- For products with a layout ----

// Channels of all groups.
static inline int64_t dq_product_outputs(const dq_product *product) { return product->groups * product->outputs; }
static inline int64_t dq_product_inputs(const dq_product *product) { return product->groups * product->inputs; }

// Products in one sum.
static inline int64_t dq_product_depth(const dq_product *product) { return product->inputs * product->taps; }

// Index of a weight in the first matrix: `output` of all groups, `input` of the output's group.
static inline int64_t dq_product_at(const dq_product *product, int64_t output, int64_t input, int64_t tap) {
  return output / product->outputs * product->by_group + output % product->outputs * product->by_output +
         input * product->by_input + tap * product->by_tap;
}

// The axis of the weight along which every output has its place, for one scale each; -1: there is none, as in a
// transposed convolution in groups and in stacks of matrices.
int dq_product_channel_axis(const dq_product *product);

// ---- For all products ----

// Sums as they are: no factors other than 1, and inputs and outputs along the usual axes.
bool dq_product_is_plain(const dq_product *product);

// ---- For operator files ----

// A convolution or transposed convolution with the attribute group.
void dq_describe_convolution(const dq_node *node, dq_product_kind kind, dq_product_operands at, dq_product *product);
// A product of stacks of matrices (MatMul), and one of two matrices with the attributes of Gemm. Where only the first
// operand is constant, data and weight change places.
void dq_describe_matmul(const dq_node *node, dq_product_operands at, dq_product *product);
void dq_describe_gemm(const dq_node *node, dq_product_operands at, dq_product *product);

#endif
