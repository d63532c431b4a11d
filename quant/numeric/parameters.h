// Affine quantization of numbers: q = clamp(round(x / scale) + zero_point), with ties of the rounding to even, stands
// for x = scale (q - zero_point).
#ifndef DQ_QUANT_PARAMETERS_H
#define DQ_QUANT_PARAMETERS_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"
#include "lib/kernels/reference/scalar.h"

typedef struct dq_parameters {
  float scale;    // > 0
  int zero_point; // within the type
  int type;       // DQ_U8 or DQ_I8
} dq_parameters;

// Parameters for elements in [low, high] (low <= high, finite), widened to contain 0:
//   asymmetric: scale = (high - low) / 255, zero_point = round_half_even(qmin - low / scale)
//   symmetric:  scale = 2 max(|low|, |high|) / (127 + 127 or 255), zero_point 0 (int8) or 128 (uint8)
// computed in double, the scale stored in float32 and the zero point from the scale before it is stored,
// as ONNX Runtime does. A range without width, or whose scale would be below 2^-126, gives scale 1 and zero
// point 0 (symmetric uint8: 128).
dq_parameters dq_parameters_for(float low, float high, int type, bool symmetric);

// The integer that stands for x, within the range of parameters->type.
int dq_quantize_number(float x, const dq_parameters *parameters);
// Stores in to[count], which may be `from`, what QuantizeLinear and DequantizeLinear make of from[count]; a NaN becomes
// the lowest number. `cpu`: features of the processor (dq_context.cpu), which do not change the result.
void dq_round_numbers(const dq_parameters *parameters, unsigned cpu, const float *from, float *to, int64_t count);

// The integers that a weight is quantized to. Their zero point is 0.
typedef struct dq_weight_type {
  int type;      // of the elements: DQ_I8; what computes with quantized weights reads them as int8_t
  int low, high; // the smallest and the largest integer; low = -high, within the type
} dq_weight_type;
extern const dq_weight_type dq_weight_type_int8; // -127 to 127

// A quantized weight.
typedef struct dq_quantized_weight {
  dq_tensor *elements; // as the dq_weight_type says, in the shape of the weight
  dq_tensor *scales;   // float32: rank 1 with one scale for each slice along `axis`, or a scalar
  int axis;            // -1: one scale for the whole weight
  const dq_weight_type *type;
} dq_quantized_weight;

// The integer of the type that is nearest to `steps`, a weight divided by its scale; ties go to even. The type is
// passed by value, so that a loop that stores int8_t, which may alias it, does not read it again for each element.
static inline int8_t dq_nearest_weight(float steps, dq_weight_type type) {
  const float low = (float)type.low, high = (float)type.high;
  steps = steps < low ? low : steps > high ? high : steps;
  return (int8_t)dq_round_even(steps);
}

// Quantizes a float32 weight of finite elements: to each element w the integer of `type` that is nearest to w / scale,
// a quotient that is rounded to float32; ties go to even. The scale of a slice along `axis` (0 to rank - 1; -1: the
// whole weight) is max|w| / type->high, computed in double and stored in float32, and at least least[slice] (NULL or 0:
// no lower bound; one element for each slice). For a slice of zeros, or where it would be below 2^-126, it is that
// bound, or 1 where there is none. The tensors are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_quantize_weight(const dq_tensor *weight, const dq_weight_type *type, int axis, const float *least,
                             dq_arena *arena, dq_quantized_weight *result, dq_error *error);

// The float32 numbers that a quantized weight stands for, in the arena; NULL: there is no memory.
dq_tensor *dq_dequantize_weight(const dq_quantized_weight *weight, dq_arena *arena);

// Stores in least[count] the lowest scale of each slice of the weight with which the quantized bias stays within a half
// of int32: |bias| / (input_scale * scale) <= 2^30.
void dq_bias_scale_floor(const float *bias, int64_t count, float input_scale, float *least);

// Quantizes a bias to int32. The scale of an element is input_scale times the scale of its slice of the weight; the
// quotient is rounded to the nearest, ties to even. *elements (int32) and *scales (float32) have rank 1 and are in the
// arena. DQ_SYSTEM: there is no memory.
dq_status dq_quantize_bias(const dq_tensor *bias, float input_scale, const dq_tensor *weight_scales, dq_arena *arena,
                           dq_tensor **elements, dq_tensor **scales, dq_error *error);

// DQ_BAD_INPUT, with `name` in the message, when an element is NaN or infinite.
dq_status dq_check_finite(const dq_tensor *tensor, const char *name, dq_error *error);

#endif
