#include "quant/numeric/parameters.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "lib/kernels/array/array.h"

dq_parameters dq_parameters_for(float low, float high, int type, bool symmetric) {
  double rmin = low < 0 ? (double)low : 0, rmax = high > 0 ? (double)high : 0;
  int qmin = (int)dq_dtype_low(type), qmax = (int)dq_dtype_high(type);
  if (symmetric) {
    rmax = rmax > -rmin ? rmax : -rmin;
    rmin = -rmax;
    if (qmin < 0) qmin = -qmax;
  }
  const int middle = (qmin + qmax + 1) / 2;
  double scale = (rmax - rmin) / (qmax - qmin);
  if (scale < (double)FLT_MIN) return (dq_parameters){1, symmetric ? middle : 0, type};
  double zero = symmetric ? middle : nearbyint(qmin - rmin / scale);
  return (dq_parameters){(float)scale, (int)zero, type};
}

int dq_quantize_number(float x, const dq_parameters *parameters) {
  double q = nearbyint((double)(x / parameters->scale)) + parameters->zero_point;
  int low = (int)dq_dtype_low(parameters->type), high = (int)dq_dtype_high(parameters->type);
  if (q < low) return low;
  return q > high ? high : (int)q;
}

void dq_round_numbers(const dq_parameters *parameters, unsigned cpu, const float *from, float *to, int64_t count) {
  enum { TOGETHER = 4096 }; // bytes that stay in the first cache
  const float scale = parameters->scale;
  const int zero_point = parameters->zero_point;
  int8_t bytes[TOGETHER];
  for (int64_t at = 0; at < count; at += TOGETHER) {
    int64_t some = count - at < TOGETHER ? count - at : TOGETHER;
    if (parameters->type == DQ_U8) {
      dq_quantize_u8(cpu, from + at, scale, zero_point, (uint8_t *)bytes, some);
      dq_dequantize_u8(cpu, (const uint8_t *)bytes, scale, zero_point, to + at, some);
    } else {
      dq_quantize_s8(cpu, from + at, scale, zero_point, bytes, some);
      dq_dequantize_s8(cpu, bytes, scale, zero_point, to + at, some);
    }
  }
}

const dq_weight_type dq_weight_type_int8 = {DQ_I8, -INT8_MAX, INT8_MAX};

// The elements of each slice of an axis: outer x slices x inner.
typedef struct slices {
  int64_t outer, count, inner;
} slices;

static slices slices_of(const dq_tensor *tensor, int axis) {
  if (axis < 0) return (slices){1, 1, dq_tensor_count(tensor)};
  return (slices){dq_tensor_product(tensor, 0, axis), tensor->dims[axis],
                  dq_tensor_product(tensor, axis + 1, tensor->rank)};
}

static float largest_size(const float *from, int64_t count, float largest) {
  for (int64_t i = 0; i < count; i++) {
    float size = fabsf(from[i]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

// Scales of the largest magnitudes, at least `least` (NULL: 0). Where the weights are nothing, a scale of 1 would round
// the bias away. Goes through memory in its order.
static void slice_scales(const dq_tensor *weight, const dq_weight_type *type, const slices *shape, const float *least,
                         float *scales) {
  const float *from = weight->data;
  for (int64_t s = 0; s < shape->count; s++) scales[s] = 0;
  for (int64_t o = 0; o < shape->outer; o++)
    for (int64_t s = 0; s < shape->count; s++, from += shape->inner)
      scales[s] = largest_size(from, shape->inner, scales[s]);
  for (int64_t s = 0; s < shape->count; s++) {
    double scale = (double)scales[s] / type->high;
    const bool nothing = scale < (double)FLT_MIN, bounded = least && least[s] > 0;
    scales[s] = !nothing ? (float)scale : bounded ? least[s] : 1;
    if (bounded && scales[s] < least[s]) scales[s] = least[s];
  }
}

static void quantize_span(const float *from, dq_weight_type type, float scale, int64_t count, int8_t *to) {
  for (int64_t i = 0; i < count; i++) to[i] = dq_nearest_weight(from[i] / scale, type);
}

static void quantize_row(const float *from, dq_weight_type type, const float *scales, int64_t count, int8_t *to) {
  for (int64_t i = 0; i < count; i++) to[i] = dq_nearest_weight(from[i] / scales[i], type);
}

dq_status dq_quantize_weight(const dq_tensor *weight, const dq_weight_type *type, int axis, const float *least,
                             dq_arena *arena, dq_quantized_weight *result, dq_error *error) {
  slices shape = slices_of(weight, axis);
  result->axis = axis, result->type = type;
  result->elements = dq_tensor_new(arena, type->type, weight->rank, weight->dims);
  result->scales = dq_tensor_new(arena, DQ_F32, axis < 0 ? 0 : 1, &shape.count);
  if (!result->elements || !result->scales) return dq_fail_memory(error, dq_tensor_bytes(weight));
  float *scales = result->scales->data;
  slice_scales(weight, type, &shape, least, scales);
  const float *from = weight->data;
  int8_t *to = result->elements->data;
  for (int64_t o = 0; o < shape.outer; o++) {
    if (shape.inner == 1) quantize_row(from, *type, scales, shape.count, to);
    for (int64_t s = 0; s < shape.count; s++, from += shape.inner, to += shape.inner)
      if (shape.inner > 1) quantize_span(from, *type, scales[s], shape.inner, to);
  }
  return DQ_OK;
}

void dq_bias_scale_floor(const float *bias, int64_t count, float input_scale, float *least) {
  for (int64_t i = 0; i < count; i++) least[i] = (float)(fabs((double)bias[i]) / (0x1p30 * (double)input_scale));
}

dq_status dq_quantize_bias(const dq_tensor *bias, float input_scale, const dq_tensor *weight_scales, dq_arena *arena,
                           dq_tensor **elements, dq_tensor **scales, dq_error *error) {
  int64_t count = dq_tensor_count(bias);
  bool per_channel = dq_tensor_count(weight_scales) > 1;
  *elements = dq_tensor_new(arena, DQ_I32, 1, &count);
  *scales = dq_tensor_new(arena, DQ_F32, 1, &count);
  if (!*elements || !*scales) return dq_fail_memory(error, (size_t)count * 8);
  const float *sw = weight_scales->data, *from = bias->data;
  for (int64_t i = 0; i < count; i++) {
    float scale = input_scale * sw[per_channel ? i : 0];
    ((float *)(*scales)->data)[i] = scale;
    dq_tensor_set(*elements, i, scale > 0 ? (double)from[i] / (double)scale : 0); // rounds half to even, saturates
  }
  return DQ_OK;
}

dq_status dq_check_finite(const dq_tensor *tensor, const char *name, dq_error *error) {
  int64_t at = dq_tensor_first_not_finite(tensor);
  if (at < 0) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "tensor '%s': element %" PRId64 " is %s", name, at,
                 isnan(dq_tensor_get(tensor, at)) ? "NaN" : "infinite");
}

dq_tensor *dq_dequantize_weight(const dq_quantized_weight *weight, dq_arena *arena) {
  const dq_tensor *from = weight->elements;
  dq_tensor *to = dq_tensor_new(arena, DQ_F32, from->rank, from->dims);
  if (!to) return NULL;
  int64_t inner = weight->axis < 0 ? 1 : dq_tensor_product(from, weight->axis + 1, from->rank);
  const float *scales = weight->scales->data;
  for (int64_t i = 0, count = dq_tensor_count(from); i < count; i++)
    ((float *)to->data)[i] =
        (float)((const int8_t *)from->data)[i] * scales[i / inner % dq_tensor_count(weight->scales)];
  return to;
}
