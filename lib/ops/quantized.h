// What operators on 8-bit operands share: zero points, scales, and the step from int32 sums to the
// output's 8 bits.
#ifndef DQ_OPS_QUANTIZED_H
#define DQ_OPS_QUANTIZED_H

#include "lib/kernels/reference/forms.h"
#include "lib/ops/operator.h"

// Numbers that go with one operand: one for all, or one for each of its rows or channels.
typedef struct dq_zero_points {
  int32_t *values;
  int64_t count; // 0: left out, which means 0
} dq_zero_points;

typedef struct dq_scales {
  const float *values;
  int64_t count;
} dq_scales;

// Input i is there and has one of the types in `types` (DQ_BIT masks), or DQ_BAD_INPUT.
dq_status dq_check_input_type(const dq_op *op, int i, unsigned types);

// Zero points of input i (one or `channels`, or `stacked` times `channels` in all; type `type`) as
// int32 in the arena; more than one are repeated to fill stacked * channels.
dq_status dq_read_zero_points(const dq_op *op, int i, int type, int64_t channels, int64_t stacked, dq_arena *arena,
                              dq_zero_points *zero_points);
// Reads the elements again, for an input whose elements are not known before it is run (until then
// the numbers are 0).
void dq_fill_zero_points(const dq_op *op, int i, const dq_zero_points *zero_points);
// Scales in the same form (float32; float16 arrives widened); the elements must be known.
dq_status dq_read_scales(const dq_op *op, int i, int64_t channels, int64_t stacked, dq_arena *arena, dq_scales *scales);

// Positions of the inputs that say how sums become 8 bits; rows of domain dq may leave out y_scale and
// y_zero_point, then the result is float32.
typedef struct dq_requantization_inputs {
  int x_scale, w_scale, y_scale, y_zero_point;
  int bias; // int32; DQ_NO_INPUT or left out: none
} dq_requantization_inputs;

// Operands of a product on integers that gives int32 sums (requantization NULL) or requantizes them.
dq_product_operands dq_integer_operands(int data, int data_zero_point, int weight, int weight_zero_point,
                                        const dq_requantization_inputs *requantization);

bool dq_result_is_float(const dq_op *op, const dq_requantization_inputs *inputs);
// The type of the result; DQ_BAD_INPUT when it does not fit.
dq_status dq_result_type(const dq_op *op, const dq_requantization_inputs *inputs, int *type);

// Reads them for an output of `channels` channels: multipliers (x_scale * w_scale[c]) / y_scale in
// float32, in ONNX Runtime's order; bounds of the output's type, narrowed by the attributes
// clamp_low and clamp_high of rows of domain dq. A bias of one element is repeated. All of x_scale,
// y_scale, y_zero_point must be single. A float result: multipliers x_scale * w_scale[c] and the bias alone.
dq_status dq_read_requantization(const dq_op *op, const dq_requantization_inputs *inputs, int64_t channels,
                                 dq_arena *arena, dq_requantization *requantization);

// Bounds of an output of 8 bits: those of its type, narrowed by the attributes clamp_low and clamp_high of
// rows of domain dq.
dq_status dq_read_bounds(const dq_op *op, bool is_signed, int32_t *lower, int32_t *upper);

// All inputs but `except` that are given have known elements.
bool dq_op_known_but(const dq_op *op, int except);

// QLinearConv, whose calls serve dq QConv too. The calls are those of dq_operator (lib/ops/operator.h), with the inputs
// in ONNX's order. Infer gives output 0 the shape N x M x spatial, and the type of y_zero_point, or float32 where dq
// QConv leaves out y_scale. Infer needs shapes and types of the inputs, not elements. DQ_BAD_INPUT: x, w or
// y_zero_point is not uint8 or int8, the bias is not int32, or a size does not fit; also statuses of
// dq_convolution_read.
dq_status dq_qlinear_conv_infer(dq_op *op);
dq_status dq_qlinear_conv_prepare(dq_op *op, dq_arena *arena);
dq_status dq_qlinear_conv_run(dq_op *op);
int64_t dq_qlinear_conv_macs(const dq_op *op);
void dq_qlinear_conv_product(const dq_node *node, dq_product *to);

// QLinearMatMul. dq QGemm is the same with one matrix each, a bias and attribute transB.
dq_status dq_qlinear_matmul_infer(dq_op *op);
dq_status dq_qlinear_matmul_prepare(dq_op *op, dq_arena *arena);
dq_status dq_qlinear_matmul_run(dq_op *op);
int64_t dq_qlinear_matmul_macs(const dq_op *op);
void dq_qlinear_matmul_product(const dq_node *node, dq_product *to);
void dq_qlinear_gemm_product(const dq_node *node, dq_product *to);

#endif
