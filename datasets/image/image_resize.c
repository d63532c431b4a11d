// Resampling bit for bit as Pillow (src/libImaging/Resample.c): a separable antialiased filter,
// weights in fixed point with 22 fractional bits, each pass rounded to 8 bits.
#include "datasets/image/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"

enum { PRECISION_BITS = 32 - 8 - 2 };

// Weights of a run of outputs along one axis: output i is the sum over k < length[i] of
// weights[i * taps + k] * input[first[i] + k].
typedef struct resize_axis {
  int taps;
  int *first, *length;
  int32_t *weights;
} resize_axis;

static double triangle(double x) {
  x = fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Keys' cubic convolution with a = -0.5.
static double cubic(double x) {
  const double a = -0.5;
  x = fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

static void axis_deinit(resize_axis *axis) {
  free(axis->first);
  free(axis->length);
  free(axis->weights);
}

static int32_t fixed_point(double weight) {
  double scaled = weight * (1 << PRECISION_BITS);
  return (int32_t)(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

// Outputs from...from + count - 1 of `input` samples resampled to `output`.
static dq_status axis_init(resize_axis *axis, int input, int64_t output, int64_t from, int count, dq_filter filter,
                           dq_error *error) {
  double (*kernel)(double) = filter == DQ_FILTER_BICUBIC ? cubic : triangle;
  double scale = (double)input / (double)output, filter_scale = scale < 1.0 ? 1.0 : scale;
  double support = (filter == DQ_FILTER_BICUBIC ? 2.0 : 1.0) * filter_scale;
  double inverse = 1.0 / filter_scale;
  axis->taps = (int)ceil(support) * 2 + 1;
  size_t entries = (size_t)axis->taps * (size_t)count;
  axis->first = malloc((size_t)count * sizeof *axis->first);
  axis->length = malloc((size_t)count * sizeof *axis->length);
  axis->weights = calloc(entries, sizeof *axis->weights);
  double *weights = malloc((size_t)axis->taps * sizeof *weights);
  if (!axis->first || !axis->length || !axis->weights || !weights) {
    free(weights);
    return dq_fail_memory(error, entries * sizeof *axis->weights);
  }
  for (int i = 0; i < count; i++) {
    double centre = ((double)(from + i) + 0.5) * scale, sum = 0.0;
    int first = (int)(centre - support + 0.5), last = (int)(centre + support + 0.5);
    if (first < 0) first = 0;
    if (last > input) last = input;
    for (int k = 0; k < last - first; k++) sum += weights[k] = kernel((k + first - centre + 0.5) * inverse);
    for (int k = 0; k < last - first; k++) {
      double weight = sum != 0.0 ? weights[k] / sum : weights[k];
      axis->weights[(size_t)i * (size_t)axis->taps + (size_t)k] = fixed_point(weight);
    }
    axis->first[i] = first;
    axis->length[i] = last - first;
  }
  free(weights);
  return DQ_OK;
}

static uint8_t clip(int32_t sum) {
  int32_t value = sum >> PRECISION_BITS;
  return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

// A run of a larger picture: pixels of `origin`... along the axis that is filtered.
static void filter_row(const resize_axis *columns, int count, int channels, const uint8_t *source, int origin,
                       uint8_t *target) {
  for (int i = 0; i < count; i++) {
    const int32_t *weights = columns->weights + (size_t)i * (size_t)columns->taps;
    const uint8_t *first = source + (size_t)(columns->first[i] - origin) * (size_t)channels;
    for (int c = 0; c < channels; c++) {
      int32_t sum = 1 << (PRECISION_BITS - 1);
      for (int k = 0; k < columns->length[i]; k++) sum += first[k * channels + c] * weights[k];
      *target++ = clip(sum);
    }
  }
}

// One output row of `bytes` bytes from rows that are `stride` bytes apart.
static void filter_column(const int32_t *weights, int length, const uint8_t *rows, size_t stride, size_t bytes,
                          uint8_t *target) {
  for (size_t i = 0; i < bytes; i++) {
    int32_t sum = 1 << (PRECISION_BITS - 1);
    for (int k = 0; k < length; k++) sum += rows[(size_t)k * stride + i] * weights[k];
    target[i] = clip(sum);
  }
}

// Filters along rows, then along columns. A pass that keeps the size has a single weight of 1 everywhere, which changes
// nothing.
static dq_status rows_first(const dq_image *source, const resize_axis *columns, const resize_axis *rows,
                            dq_image *target, dq_error *error) {
  size_t row_bytes = (size_t)target->width * (size_t)target->channels;
  size_t source_bytes = (size_t)source->width * (size_t)source->channels;
  int first = rows->first[0];
  int last = rows->first[target->height - 1] + rows->length[target->height - 1];
  uint8_t *middle = dq_budget_alloc(source->budget, (size_t)(last - first) * row_bytes);
  if (!middle) return dq_fail_memory(error, (size_t)(last - first) * row_bytes);
  for (int y = first; y < last; y++)
    filter_row(columns, target->width, target->channels, source->pixels + (size_t)y * source_bytes, 0,
               middle + (size_t)(y - first) * row_bytes);
  for (int y = 0; y < target->height; y++)
    filter_column(rows->weights + (size_t)y * (size_t)rows->taps, rows->length[y],
                  middle + (size_t)(rows->first[y] - first) * row_bytes, row_bytes, row_bytes,
                  target->pixels + (size_t)y * row_bytes);
  dq_budget_free(middle);
  return DQ_OK;
}

// Filters along columns, then along rows, one output row after the other.
static dq_status columns_first(const dq_image *source, const resize_axis *columns, const resize_axis *rows,
                               dq_image *target, dq_error *error) {
  size_t channels = (size_t)source->channels, source_bytes = (size_t)source->width * channels;
  int first = columns->first[0];
  int last = columns->first[target->width - 1] + columns->length[target->width - 1];
  size_t bytes = (size_t)(last - first) * channels;
  uint8_t *middle = dq_budget_alloc(source->budget, bytes);
  if (!middle) return dq_fail_memory(error, bytes);
  const uint8_t *left = source->pixels + (size_t)first * channels;
  for (int y = 0; y < target->height; y++) {
    filter_column(rows->weights + (size_t)y * (size_t)rows->taps, rows->length[y],
                  left + (size_t)rows->first[y] * source_bytes, source_bytes, bytes, middle);
    filter_row(columns, target->width, target->channels, middle, first,
               target->pixels + (size_t)y * (size_t)target->width * channels);
  }
  dq_budget_free(middle);
  return DQ_OK;
}

dq_status dq_image_resample(const dq_image *source, const dq_resampling *to, dq_image *target, dq_error *error) {
  resize_axis columns = {0}, rows = {0};
  dq_status status = axis_init(&columns, source->width, to->width, to->left, target->width, to->filter, error);
  if (status == DQ_OK)
    status = axis_init(&rows, source->height, to->height, to->top, target->height, to->filter, error);
  // Pillow 13 filters along columns first where the height shrinks by more than twice what the width does.
  int64_t shorter = source->height - to->height, narrower = source->width - to->width;
  bool vertical = shorter > 0 && shorter > 2 * narrower;
  if (status == DQ_OK) status = (vertical ? columns_first : rows_first)(source, &columns, &rows, target, error);
  axis_deinit(&columns);
  axis_deinit(&rows);
  return status;
}

// The source index of each target index: the position is summed up, as Pillow does, so that its
// rounding is the same.
static void nearest_indices(int *indices, int input, int output) {
  double step = (double)input / (double)output, position = step * 0.5;
  for (int i = 0; i < output; i++, position += step) {
    indices[i] = (int)position;
    if (indices[i] >= input) indices[i] = input - 1;
  }
}

dq_status dq_resize_nearest(const uint8_t *values, int width, int height, uint8_t *target, int target_width,
                            int target_height, dq_error *error) {
  size_t bytes = ((size_t)target_width + (size_t)target_height) * sizeof(int);
  int *columns = malloc(bytes);
  if (!columns) return dq_fail_memory(error, bytes);
  int *rows = columns + target_width;
  nearest_indices(columns, width, target_width);
  nearest_indices(rows, height, target_height);
  for (int y = 0; y < target_height; y++)
    for (int x = 0; x < target_width; x++) *target++ = values[(size_t)rows[y] * (size_t)width + (size_t)columns[x]];
  free(columns);
  return DQ_OK;
}

static dq_status convert(dq_image *image, int channels, dq_error *error,
                         void (*pixel)(const uint8_t *from, uint8_t *to)) {
  dq_image other;
  if (image->channels == channels) return DQ_OK;
  DQ_TRY(dq_image_init(&other, image->width, image->height, channels, image->budget, error));
  size_t count = (size_t)image->width * (size_t)image->height;
  for (size_t i = 0; i < count; i++)
    pixel(image->pixels + i * (size_t)image->channels, other.pixels + i * (size_t)channels);
  dq_image_deinit(image);
  *image = other;
  return DQ_OK;
}

static void luma(const uint8_t *rgb, uint8_t *grey) {
  *grey = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void replicate(const uint8_t *grey, uint8_t *rgb) { rgb[0] = rgb[1] = rgb[2] = *grey; }

dq_status dq_image_to_grey(dq_image *image, dq_error *error) { return convert(image, 1, error, luma); }

dq_status dq_image_to_rgb(dq_image *image, dq_error *error) { return convert(image, 3, error, replicate); }
