// The transforms of Winograd's minimal filtering in plain C, one tile after another: F(2x2, 3x3) and F(4x4, 3x3) with
// the matrices of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4. The
// operations and their order are those of winograd_body.c, so results are the same bits.
#include <math.h>

#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

enum { SIDE = 6 }; // values along one side of a tile, at most: size + 2

// y = B^T x of size + 2 values
static void transform_input(const float *x, float *y, int size) {
  if (size == 2) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[1] - x[3];
    return;
  }
  float a = fmaf(x[2], -4, x[4]), b = fmaf(x[1], -4, x[3]), c = x[4] - x[2], d = x[3] - x[1];
  y[0] = fmaf(x[0], 4, fmaf(x[2], -5, x[4]));
  y[1] = a + b;
  y[2] = a - b;
  y[3] = fmaf(d, 2, c);
  y[4] = fmaf(d, -2, c);
  y[5] = fmaf(x[1], 4, fmaf(x[3], -5, x[5]));
}

// y = A^T x: size values of size + 2
static void transform_output(const float *x, float *y, int size) {
  float sum = x[1] + x[2], difference = x[1] - x[2];
  if (size == 2) {
    y[0] = x[0] + sum;
    y[1] = difference - x[3];
    return;
  }
  float sum_2 = x[3] + x[4], difference_2 = x[3] - x[4];
  y[0] = (x[0] + sum) + sum_2;
  y[1] = fmaf(difference_2, 2, difference);
  y[2] = fmaf(sum_2, 4, sum);
  y[3] = fmaf(difference_2, 8, difference) + x[5];
}

// The input at a line and a column of the padded band.
static float input_at(const dq_winograd_input *w, int64_t line, int64_t column) {
  line -= w->pad_top;
  column -= w->pad_left;
  bool inside = line >= 0 && line < w->lines && column >= 0 && column < w->taken;
  return inside ? w->rows[line * w->width + column] : 0.0f;
}

void dq_winograd_input_c(const dq_winograd_input *w) {
  const int side = w->size + 2;
  for (int64_t t = 0; t < w->tiles_high * w->tiles_wide; t++) {
    const int64_t top = t / w->tiles_wide * w->size, left = t % w->tiles_wide * w->size;
    float half[SIDE][SIDE], x[SIDE], y[SIDE] = {0}; // half: transformed down the columns
    for (int j = 0; j < side; j++) {
      for (int i = 0; i < side; i++) x[i] = input_at(w, top + i, left + j);
      transform_input(x, y, w->size);
      for (int i = 0; i < side; i++) half[i][j] = y[i];
    }
    float *to = w->to + t / w->panel * w->panel_stride + t % w->panel;
    for (int i = 0; i < side; i++) {
      transform_input(half[i], y, w->size);
      for (int j = 0; j < side; j++) to[(i * side + j) * w->place_stride] = y[j];
    }
  }
}

void dq_winograd_output_c(const dq_winograd_output *w) {
  const int side = w->size + 2;
  const dq_bounds bounds = {w->leaky, w->low, w->high, w->alpha};
  for (int64_t t = 0; t < w->tiles_high * w->tiles_wide; t++) {
    const int64_t top = t / w->tiles_wide * w->size, left = t % w->tiles_wide * w->size;
    float half[SIDE][SIDE], x[SIDE], y[SIDE] = {0};
    for (int j = 0; j < side; j++) {
      for (int i = 0; i < side; i++) x[i] = w->from[(i * side + j) * w->place_stride + t];
      transform_output(x, y, w->size);
      for (int i = 0; i < w->size; i++) half[i][j] = y[i];
    }
    for (int i = 0; i < w->size && top + i < w->rows; i++) {
      transform_output(half[i], y, w->size);
      for (int k = 0; k < w->size && left + k < w->width; k++)
        w->to[(top + i) * w->width + left + k] = dq_bounded(w->has_bias ? y[k] + w->bias : y[k], bounds);
    }
  }
}
