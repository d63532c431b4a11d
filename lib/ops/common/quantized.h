// What operators on 8-bit operands share: zero points, scales, and the step from int32 sums to the
// output's 8 bits.
#ifndef DQ_OPS_QUANTIZED_H
#define DQ_OPS_QUANTIZED_H

#include "lib/kernels/reference/forms.h"
#include "lib/ops/table/operator.h"

// Numbers that go with one operand: one for all, or one for each of its rows or channels.
typedef struct dq_zero_points {
  int32_t *values; // [count]
  int64_t count;   // 0: the input is left out, and the zero point is 0
} dq_zero_points;

typedef struct dq_scales {
  const float *values; // [count]
  int64_t count;
} dq_scales;

// DQ_BAD_INPUT: the node has no input `i`, or the input has none of the types in `types` (a set of DQ_BIT).
dq_status dq_check_input_type(const dq_op *op, int i, unsigned types);

// Reads the zero points of input `i`, of element type `type`, as int32 into *zero_points, in the arena. The input has
// one element, `channels`, or stacked * channels; more than one are repeated to stacked * channels. Elements that are
// not known yet are 0 (see dq_fill_zero_points). DQ_BAD_INPUT: another type or number of elements; DQ_SYSTEM: no
// memory.
dq_status dq_read_zero_points(const dq_op *op, int i, int type, int64_t channels, int64_t stacked, dq_arena *arena,
                              dq_zero_points *zero_points);
// Reads the elements again into zero_points->values, at run time, for an input that is computed.
void dq_fill_zero_points(const dq_op *op, int i, const dq_zero_points *zero_points);
// Reads the scales of input `i` (float32; float16 is widened before), with the same numbers of elements and the same
// statuses as dq_read_zero_points; the elements must be known.
dq_status dq_read_scales(const dq_op *op, int i, int64_t channels, int64_t stacked, dq_arena *arena, dq_scales *scales);

// Positions of the inputs that say how sums become 8 bits; rows of domain dq may leave out y_scale and
// y_zero_point, then the result is float32.
typedef struct dq_requantization_inputs {
  int x_scale, w_scale, y_scale, y_zero_point;
  int bias; // int32; DQ_NO_INPUT or left out: none
} dq_requantization_inputs;

// The positions of the operands of a product on integers that requantizes its int32 sums, or, with requantization NULL,
// whose result is the sums.
dq_product_operands dq_integer_operands(int data, int data_zero_point, int weight, int weight_zero_point,
                                        const dq_requantization_inputs *requantization);

// Whether the node leaves out y_scale, so that its result is float32.
bool dq_result_is_float(const dq_op *op, const dq_requantization_inputs *inputs);
// Stores the type of the result in *type. DQ_BAD_INPUT: y_zero_point is neither uint8 nor int8.
dq_status dq_result_type(const dq_op *op, const dq_requantization_inputs *inputs, int *type);

// Reads these inputs for an output of `channels` channels into *requantization, whose arrays are in the arena:
// multipliers (x_scale * w_scale[c]) / y_scale in float32, in the order of ONNX Runtime, and bounds (dq_read_bounds). A
// bias of one element is repeated. x_scale, y_scale and y_zero_point must have one element. For a float result only the
// multipliers x_scale * w_scale[c] and the bias are set. DQ_BAD_INPUT: a type or a number of elements does not fit;
// DQ_SYSTEM: there is no memory.
dq_status dq_read_requantization(const dq_op *op, const dq_requantization_inputs *inputs, int64_t channels,
                                 dq_arena *arena, dq_requantization *requantization);

// Stores the bounds of an 8-bit output: those of its type, narrowed by the attributes clamp_low and clamp_high of
// operators of the domain dq. DQ_BAD_INPUT: these attributes are invalid.
dq_status dq_read_bounds(const dq_op *op, bool is_signed, int32_t *lower, int32_t *upper);

// Whether the elements of all inputs except input `except` are known.
bool dq_op_known_but(const dq_op *op, int except);

// The functions infer, prepare, run, macs and product of dq_operator (lib/ops/table/operator.h) for QLinearConv, whose
// inputs are in the order of ONNX, and for dq QConv. Infer gives output 0 the shape N x M x spatial, and the type of
// y_zero_point, or float32 where dq QConv leaves out y_scale. Infer needs shapes and types of the inputs, not elements.
// DQ_BAD_INPUT: x, w or y_zero_point is not uint8 or int8, the bias is not int32, or a size does not fit; also statuses
// of dq_convolution_read.
dq_status dq_qlinear_conv_infer(dq_op *op);
dq_status dq_qlinear_conv_prepare(dq_op *op, dq_arena *arena);
dq_status dq_qlinear_conv_run(dq_op *op);
int64_t dq_qlinear_conv_macs(const dq_op *op);
void dq_qlinear_conv_product(const dq_node *node, dq_product *to);

// The same functions for QLinearMatMul, and for dq QGemm, whose operands are single matrices and which has a bias and
// the attribute transB. Infer gives output 0 the shape of numpy.matmul. Statuses as above, with those of dq_matmul_read
// in place of dq_convolution_read.
dq_status dq_qlinear_matmul_infer(dq_op *op);
dq_status dq_qlinear_matmul_prepare(dq_op *op, dq_arena *arena);
dq_status dq_qlinear_matmul_run(dq_op *op);
int64_t dq_qlinear_matmul_macs(const dq_op *op);
void dq_qlinear_matmul_product(const dq_node *node, dq_product *to);
void dq_qlinear_gemm_product(const dq_node *node, dq_product *to);

#endif
