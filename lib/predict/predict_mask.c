// Masks of instances: a sum of planes that all instances share, weighted by the coefficients of each (Bolya et al.
// 2019, YOLACT).
#include <math.h>
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/predict/predictor.h"

// The sum of the planes of a picture at all of their points; the caller frees it. NULL: there is no memory.
static double *sum_planes(const dq_decoder *decoder, const double *planes, const double *weights) {
  const int64_t points = decoder->mask_height * decoder->mask_width;
  double *sums = calloc((size_t)points + 1, sizeof *sums);
  for (int64_t c = 0; sums && c < decoder->coefficients; c++)
    for (int64_t p = 0; p < points; p++) sums[p] += weights[c] * planes[c * points + p];
  return sums;
}

// The index of the point in front of a position in points, and in *share how far the position is towards the next one.
static int64_t point_before(double position, int64_t points, double *share) {
  if (!(position > 0)) position = 0;
  if (position > (double)(points - 1)) position = (double)(points - 1);
  int64_t index = (int64_t)position;
  if (index > points - 2) index = points > 1 ? points - 2 : 0;
  *share = position - (double)index;
  return index;
}

// The value at a point of the input, from 0 to 1, between the four points around it.
static double value_at(const dq_decoder *decoder, const double *sums, double x, double y) {
  const int64_t width = decoder->mask_width, height = decoder->mask_height;
  double right, down;
  const int64_t column = point_before(x * (double)width - 0.5, width, &right);
  const int64_t row = point_before(y * (double)height - 0.5, height, &down);
  const double *at = sums + row * width + column;
  const int64_t beside = width > 1, below = height > 1 ? width : 0;
  const double upper = at[0] * (1 - right) + at[beside] * right;
  const double lower = at[below] * (1 - right) + at[below + beside] * right;
  return upper * (1 - down) + lower * down;
}

dq_status dq_fill_mask(const dq_predictor *predictor, const double *planes, const dq_detection *found,
                       const dq_predictions *predictions, dq_prediction *object, dq_error *error) {
  const dq_decoder *decoder = &predictor->detector.decoder;
  const double *extras = predictor->detector.candidates.extras + found->candidate * decoder->extras;
  const double *weights = extras + decoder->extras - decoder->coefficients;
  int64_t *box = object->mask_box;
  box[0] = (int64_t)ceil(object->box.x1), box[1] = (int64_t)ceil(object->box.y1);
  box[2] = (int64_t)ceil(object->box.x2) - box[0], box[3] = (int64_t)ceil(object->box.y2) - box[1];
  size_t pixels;
  if (!dq_mul_size((size_t)box[2], (size_t)box[3], &pixels)) return dq_fail_memory(error, SIZE_MAX);
  double *sums = sum_planes(decoder, planes, weights);
  if (!sums) return dq_fail_memory(error, (size_t)(decoder->mask_height * decoder->mask_width) * sizeof *sums);
  uint8_t *mask = dq_context_alloc(predictor->context, pixels + 1);
  for (int64_t y = 0; mask && y < box[3]; y++)
    for (int64_t x = 0; x < box[2]; x++) {
      const double across = ((double)(box[0] + x) + 0.5) / (double)predictions->width;
      const double down = ((double)(box[1] + y) + 0.5) / (double)predictions->height;
      mask[y * box[2] + x] = value_at(decoder, sums, across / predictions->view.scale_x + predictions->view.offset_x,
                                      down / predictions->view.scale_y + predictions->view.offset_y) > 0;
    }
  free(sums);
  object->mask = mask;
  return mask ? DQ_OK : dq_fail_memory(error, pixels);
}
