// The transforms of Winograd's minimal filtering in integers in plain C, one tile after another: words of two int16 of
// neighbouring channels in, int32 sums modulo 2^32 out (conv_winograd_int8.c).
#include "lib/kernels/reference/reference.h"

enum { SIDE = 6 }; // values along one side of a tile, at most: size + 2

// y = B^T x of size + 2 values
static void transform_input(const int *x, int *y, int size) {
  if (size == 2) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[1] - x[3];
    return;
  }
  y[0] = 4 * x[0] - 5 * x[2] + x[4];
  y[1] = -4 * (x[1] + x[2]) + x[3] + x[4];
  y[2] = 4 * (x[1] - x[2]) - x[3] + x[4];
  y[3] = 2 * (x[3] - x[1]) - x[2] + x[4];
  y[4] = 2 * (x[1] - x[3]) - x[2] + x[4];
  y[5] = 4 * x[1] - 5 * x[3] + x[5];
}

// y = A^T x: size values of size + 2, times 2 (size 2) or times 24, 12, 6 and 6
static void transform_output(const uint32_t *x, uint32_t *y, int size) {
  uint32_t sum = x[1] + x[2], difference = x[1] - x[2];
  if (size == 2) {
    y[0] = x[0] + sum;
    y[1] = difference - x[3];
    return;
  }
  y[0] = 2 * x[0] + 4 * sum + x[3] + x[4];
  y[1] = 2 * difference + x[3] - x[4];
  y[2] = sum + x[3] + x[4];
  y[3] = difference + 2 * (x[3] - x[4] + x[5]);
}

// One of the two channels of a tile at `from` to place p of to[p * place_stride].
static void transform_channel(const dq_winograd_input *w, const uint32_t *from, uint32_t *to, int shift) {
  const int side = w->size + 2;
  int half[SIDE][SIDE], x[SIDE], y[SIDE] = {0}; // half: transformed down the columns
  for (int j = 0; j < side; j++) {
    for (int i = 0; i < side; i++) x[i] = (int16_t)(from[i * w->plane_width + j] >> shift);
    transform_input(x, y, w->size);
    for (int i = 0; i < side; i++) half[i][j] = y[i];
  }
  for (int i = 0; i < side; i++) {
    transform_input(half[i], y, w->size);
    for (int j = 0; j < side; j++) to[(i * side + j) * w->place_stride] |= ((uint32_t)y[j] & 0xffffu) << shift;
  }
}

void dq_i16_winograd_input_c(const dq_winograd_input *w) {
  const uint32_t *plane = (const uint32_t *)(const void *)w->plane;
  const int places = (w->size + 2) * (w->size + 2);
  for (int64_t t = 0; t < w->tiles_high * w->tiles_wide; t++) {
    const uint32_t *from = plane + (t / w->tiles_wide * w->plane_width + t % w->tiles_wide) * w->size;
    uint32_t *to = (uint32_t *)(void *)w->to + t / w->panel * w->panel_stride + t % w->panel;
    for (int p = 0; p < places; p++) to[p * w->place_stride] = 0;
    transform_channel(w, from, to, 0);
    transform_channel(w, from, to, 16);
  }
}

// y = G x, three values to size + 2, with scaled rows
static void transform_kernel(const int *x, int *y, int size) {
  int sum = x[0] + x[2], far = x[0] + 4 * x[2];
  if (size == 2) {
    y[0] = 2 * x[0];
    y[1] = sum + x[1];
    y[2] = sum - x[1];
    y[3] = 2 * x[2];
    return;
  }
  y[0] = 3 * x[0];
  y[1] = -sum - x[1];
  y[2] = x[1] - sum;
  y[3] = far + 2 * x[1];
  y[4] = far - 2 * x[1];
  y[5] = 3 * x[2];
}

void dq_i16_winograd_weights_c(const dq_winograd_weights *w) {
  const int side = w->size + 2;
  for (int64_t i = 0; i < w->count; i++) {
    int half[SIDE][3], x[3], y[SIDE] = {0}; // half: transformed down the columns
    for (int j = 0; j < 3; j++) {
      for (int k = 0; k < 3; k++) {
        int64_t at = (3 * k + j) * w->count + i;
        x[k] = w->int16 ? ((const int16_t *)w->from)[at] : ((const int8_t *)w->from)[at];
      }
      transform_kernel(x, y, w->size);
      for (int k = 0; k < side; k++) half[k][j] = y[k];
    }
    for (int k = 0; k < side; k++) {
      transform_kernel(half[k], y, w->size);
      for (int j = 0; j < side; j++) w->to[(k * side + j) * w->place_stride + i] = (int16_t)y[j];
    }
  }
}

// An output without the scale of the transform: the odd part, 9, is taken back by its inverse modulo 2^32, the rest by
// a division, which is exact.
static int32_t unscaled(uint32_t y, int size, int i, int k) {
  static const int powers[] = {8, 4, 2, 2};
  return size == 2 ? (int32_t)y / 4 : (int32_t)(y * DQ_INVERSE_OF_9) / (powers[i] * powers[k]);
}

void dq_i32_winograd_output_c(const dq_winograd_output *w) {
  const int side = w->size + 2;
  const uint32_t *sums = (const uint32_t *)(const void *)w->from;
  int32_t *to = (int32_t *)(void *)w->to;
  for (int64_t t = 0; t < w->tiles_high * w->tiles_wide; t++) {
    const int64_t top = t / w->tiles_wide * w->size, left = t % w->tiles_wide * w->size;
    uint32_t half[SIDE][SIDE], x[SIDE], y[SIDE] = {0};
    for (int j = 0; j < side; j++) {
      for (int i = 0; i < side; i++) x[i] = sums[(i * side + j) * w->place_stride + t];
      transform_output(x, y, w->size);
      for (int i = 0; i < w->size; i++) half[i][j] = y[i];
    }
    for (int i = 0; i < w->size && top + i < w->rows; i++) {
      transform_output(half[i], y, w->size);
      for (int k = 0; k < w->size && left + k < w->width; k++)
        to[(top + i) * w->width + left + k] = unscaled(y[k], w->size, i, k);
    }
  }
}
