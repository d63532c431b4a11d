// Affine quantization of numbers: q = clamp(round_half_even(x / scale) + zero_point), x = scale (q - zero_point).
#ifndef DQ_QUANT_PARAMETERS_H
#define DQ_QUANT_PARAMETERS_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_parameters {
  float scale;    // > 0
  int zero_point; // within the type
  int type;       // DQ_U8 or DQ_I8
} dq_parameters;

// Parameters for values in [low, high] (low <= high, finite), widened to hold 0:
//   asymmetric: scale = (high - low) / 255, zero_point = round_half_even(qmin - low / scale)
//   symmetric:  scale = 2 max(|low|, |high|) / (127 + 127 or 255), zero_point 0 (int8) or 128 (uint8)
// computed in double, the scale stored in float32 and the zero point from the scale before it is stored,
// as ONNX Runtime does. A range without width, or whose scale would be below 2^-126, gives scale 1 and zero
// point 0 (symmetric uint8: 128).
dq_parameters dq_parameters_for(float low, float high, int type, bool symmetric);

// One number quantized.
int dq_quantize_number(float x, const dq_parameters *parameters);

// A weight quantized to int8 in -127...127 with zero point 0, one scale per slice of `axis` (-1: one
// scale for all): scale = max|w| / 127 in double, stored float32; a slice of zeros, or whose
// scale would be below 2^-126, has scale 1.
// `least` (one per slice, or NULL) raises scales that would be lower.
typedef struct dq_quantized_weight {
  dq_tensor *elements; // int8, shape of the weight
  dq_tensor *scales;   // float32, one per slice (rank 1), or a scalar
  int axis;
} dq_quantized_weight;

// A weight in steps of its scale: the nearest of -127...127, halves to even.
static inline int8_t dq_nearest_weight(float steps) {
  const float magic = 0x1.8p23f; // adding it leaves no bits below 1
  steps = steps < -127 ? -127 : steps > 127 ? 127 : steps;
  return (int8_t)(steps + magic - magic);
}

// `weight` is float32 and finite. All tensors go into the arena.
dq_status dq_quantize_weight(const dq_tensor *weight, int axis, const float *least, dq_arena *arena,
                             dq_quantized_weight *result, dq_error *error);

// The numbers that a quantized weight stands for, float32, in the arena; NULL: no memory.
dq_tensor *dq_dequantize_weight(const dq_quantized_weight *weight, dq_arena *arena);

// The least scale of each slice with which the bias fits an int32 accumulator with room to spare:
// |bias| / (sx sw) <= 2^30.
void dq_bias_scale_floor(const float *bias, int64_t count, float input_scale, float *least);

// bias / (sx sw), rounded half to even, as int32 (rank 1), with its scales sx sw (float32, rank 1).
dq_status dq_quantize_bias(const dq_tensor *bias, float input_scale, const dq_tensor *weight_scales, dq_arena *arena,
                           dq_tensor **elements, dq_tensor **scales, dq_error *error);

// DQ_BAD_INPUT naming `name` when an element is NaN or infinite.
dq_status dq_check_finite(const dq_tensor *tensor, const char *name, dq_error *error);

#endif
