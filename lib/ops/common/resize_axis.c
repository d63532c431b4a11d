// Coordinates and weights of Resize as the ONNX specification of the operator and its reference
// implementation give them.
#include "lib/ops/common/resize_axis.h"

#include <math.h>

// Length of the output that align_corners and tf_crop_and_resize map onto: the specification takes
// the unrounded one when the scale is given.
static float output_length(const dq_resize_axis *axis) {
  return axis->scale_given ? (float)axis->scale * (float)axis->input : (float)axis->output;
}

static float symmetric_coordinate(const dq_resize_axis *axis, float o) {
  float adjustment = (float)axis->output / ((float)axis->scale * (float)axis->input);
  float offset = (float)axis->input / 2 * (1 - adjustment);
  return offset + (o + 0.5f) / (float)axis->scale - 0.5f;
}

static float crop_coordinate(const dq_resize_axis *axis, float o) {
  float start = (float)axis->roi_start, end = (float)axis->roi_end;
  float last = (float)(axis->input - 1), length = output_length(axis);
  if (length == 1) return 0.5f * (start + end) * last;
  return start * last + o * (end - start) * last / (length - 1);
}

// Position in the input that output position `o` shows. In float32, as ONNX Runtime computes it:
// where the result is near a whole number, the last digit decides which element is taken.
static float coordinate(const dq_resize_rules *rules, const dq_resize_axis *axis, int64_t o) {
  float x = (float)o, length = output_length(axis), scale = (float)axis->scale;
  switch (rules->coordinates) {
  case DQ_ALIGN_CORNERS: return length == 1 ? 0 : x * (float)(axis->input - 1) / (length - 1);
  case DQ_ASYMMETRIC: return x / scale;
  case DQ_TF_HALF_PIXEL_FOR_NN: return (x + 0.5f) / scale;
  case DQ_TF_CROP_AND_RESIZE: return crop_coordinate(axis, x);
  case DQ_HALF_PIXEL_SYMMETRIC: return symmetric_coordinate(axis, x);
  case DQ_PYTORCH_HALF_PIXEL:
    if (axis->output == 1) return 0;
    __attribute__((fallthrough));
  default: return (x + 0.5f) / scale - 0.5f;
  }
}

// The whole number next to x >= 0; halves go up or down. A position counts as a half when it is less than 1e-6 away
// from one, so that the rounding of float32 does not decide; ONNX Runtime 1.32 has this bound (docs/NUMERICS.md).
static double round_half(double x, bool up) {
  double down = floor(x), above = x - down - 0.5;
  return (fabs(above) < 1e-6 ? up : above > 0) ? down + 1 : down;
}

static double round_coordinate(const dq_resize_rules *rules, const dq_resize_axis *axis, double x) {
  switch (rules->nearest) {
  case DQ_ROUND_PREFER_FLOOR: return round_half(x, false);
  case DQ_ROUND_PREFER_CEIL: return round_half(x, true);
  case DQ_ROUND_FLOOR: return floor(x);
  case DQ_ROUND_CEIL: return ceil(x);
  default: return axis->scale < 1 ? ceil(x) : floor(x);
  }
}

static int32_t clamped(double x, int64_t size) {
  return !(x > 0) ? 0 : x >= (double)(size - 1) ? (int32_t)(size - 1) : (int32_t)x;
}

// The cubic convolution kernel (Keys 1981) or the linear one at distance x.
static double kernel(const dq_resize_rules *rules, double x) {
  double a = rules->cubic_coefficient;
  x = fabs(x);
  if (rules->mode == DQ_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Weights of one output position around x. `start`: the first tap relative to the element at the
// left of x, which is the one strictly below x where x is whole.
static void weigh(const dq_resize_rules *rules, const dq_resize_axis *axis, double x, double stretch, int start,
                  int32_t *index, double *weight) {
  double left = ceil(x) - 1, ratio = x - left, sum = 0;
  for (int i = 0; i < axis->taps; i++) {
    double position = left + start + i;
    bool outside = position < 0 || position > (double)(axis->input - 1);
    index[i] = clamped(position, axis->input);
    weight[i] = kernel(rules, stretch * (start + i - ratio));
    if (outside && rules->exclude_outside) weight[i] = 0;
    sum += weight[i];
  }
  if ((rules->antialias || rules->exclude_outside) && sum != 0)
    for (int i = 0; i < axis->taps; i++) weight[i] /= sum;
}

dq_status dq_resize_axis_table(const dq_resize_rules *rules, dq_resize_axis *axis, dq_arena *arena, dq_error *error) {
  bool crop = rules->coordinates == DQ_TF_CROP_AND_RESIZE, nearest = rules->mode == DQ_RESIZE_NEAREST;
  axis->same = axis->scale == 1 && axis->output == axis->input &&
               !(crop && (axis->roi_start != 0 || axis->roi_end != 1)) && rules->coordinates != DQ_TF_HALF_PIXEL_FOR_NN;
  if (axis->same) return DQ_OK;
  double stretch = rules->antialias && !nearest ? fmin(axis->scale, 1) : 1;
  double reach = floor(-(rules->mode == DQ_RESIZE_CUBIC ? 2 : 1) / stretch) + 1;
  // Weights further out than a few times the input all fall on its edges.
  if (reach < -1e6) return dq_fail(error, DQ_UNSUPPORTED, "a scale of %g is too small for antialiasing", axis->scale);
  int start = (int)reach;
  axis->taps = nearest ? 1 : 2 - 2 * start;
  size_t count = (size_t)axis->output * (size_t)axis->taps;
  axis->index = DQ_NEW_ARRAY(arena, count, int32_t);
  axis->weight_f64 = nearest ? NULL : DQ_NEW_ARRAY(arena, count, double);
  axis->weight_f32 = nearest ? NULL : DQ_NEW_ARRAY(arena, count, float);
  if (!axis->index || (!nearest && (!axis->weight_f64 || !axis->weight_f32))) return dq_fail_memory(error, count * 16);
  axis->doubled = nearest && axis->output == 2 * axis->input;
  for (int64_t o = 0; o < axis->output; o++) {
    double x = (double)coordinate(rules, axis, o);
    int32_t *index = axis->index + o * axis->taps;
    if (nearest) *index = clamped(round_coordinate(rules, axis, x), axis->input);
    else weigh(rules, axis, x, stretch, start, index, axis->weight_f64 + o * axis->taps);
    if (crop && !(x >= 0 && x <= (double)(axis->input - 1))) *index = -1, axis->extrapolated = true;
    axis->doubled = axis->doubled && *index == o / 2;
  }
  for (size_t i = 0; !nearest && i < count; i++) axis->weight_f32[i] = (float)axis->weight_f64[i];
  return DQ_OK;
}
