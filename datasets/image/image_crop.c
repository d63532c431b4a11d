// A quadrilateral of a picture as a picture of its own.
#include <math.h>

#include "datasets/image/image.h"
#include "datasets/image/image_header.h"

enum { TAPS = 4 };

// The map of the unit square to a quadrilateral: (u, v) goes to ((a u + b v + c) / w, (d u + e v + f) / w) with
// w = g u + h v + 1.
typedef struct projection {
  double a, b, c, d, e, f, g, h;
} projection;

// Heckbert, "Fundamentals of Texture Mapping and Image Warping", 1989, section 2.2.3. Where three corners lie on one
// line, the fourth one is taken to complete a parallelogram.
static projection find_projection(const double corners[4][2]) {
  const double *p0 = corners[0], *p1 = corners[1], *p2 = corners[2], *p3 = corners[3];
  const double x1 = p1[0] - p2[0], x2 = p3[0] - p2[0], x3 = p0[0] - p1[0] + p2[0] - p3[0];
  const double y1 = p1[1] - p2[1], y2 = p3[1] - p2[1], y3 = p0[1] - p1[1] + p2[1] - p3[1];
  const double area = x1 * y2 - x2 * y1;
  const double g = area != 0 ? (x3 * y2 - x2 * y3) / area : 0, h = area != 0 ? (x1 * y3 - x3 * y1) / area : 0;
  return (projection){.a = p1[0] - p0[0] + g * p1[0],
                      .b = p3[0] - p0[0] + h * p3[0],
                      .c = p0[0],
                      .d = p1[1] - p0[1] + g * p1[1],
                      .e = p3[1] - p0[1] + h * p3[1],
                      .f = p0[1],
                      .g = g,
                      .h = h};
}

// Keys' cubic convolution with a = -0.75: weights of the samples at floor(position) - 1 to floor(position) + 2.
// Returns the first of these. Positions beyond the samples count as two samples outside, where all are the outermost
// one.
static int find_weights(double position, int samples, double weights[TAPS]) {
  const double a = -0.75;
  position = fmin(fmax(position, -2), samples + 1.0);
  const double first = floor(position), t = position - first, near = 1 - t;
  weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weights[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
  weights[3] = 1 - weights[0] - weights[1] - weights[2];
  return (int)first - 1;
}

static int inside(int index, int count) { return index < 0 ? 0 : index >= count ? count - 1 : index; }

static void interpolate(const dq_image *source, double x, double y, uint8_t *pixel) {
  double across[TAPS], down[TAPS];
  const int left = find_weights(x, source->width, across), top = find_weights(y, source->height, down);
  for (int c = 0; c < source->channels; c++) {
    double sum = 0;
    for (int i = 0; i < TAPS; i++) {
      const size_t row = (size_t)inside(top + i, source->height) * (size_t)source->width;
      double part = 0;
      for (int k = 0; k < TAPS; k++) {
        const size_t at = (row + (size_t)inside(left + k, source->width)) * (size_t)source->channels;
        part += across[k] * source->pixels[at + (size_t)c];
      }
      sum += down[i] * part;
    }
    pixel[c] = (uint8_t)fmin(fmax(floor(sum + 0.5), 0), 255);
  }
}

// The longer one of two opposite sides in whole pixels, rounded down; -1: a corner is no number, or the side is longer
// than a picture may be.
static int longer_side(const double corners[4][2], const int ends[4]) {
  double longest = 0;
  for (int i = 0; i < 4; i += 2) {
    const double *from = corners[ends[i]], *to = corners[ends[i + 1]];
    const double length = hypot(to[0] - from[0], to[1] - from[1]);
    if (!(length <= DQ_LARGEST_SIDE)) return -1;
    longest = fmax(longest, length);
  }
  return (int)longest;
}

dq_status dq_image_crop(dq_image *crop, const dq_image *source, const double corners[4][2], dq_error *error) {
  const int width = longer_side(corners, (int[]){0, 1, 2, 3}), height = longer_side(corners, (int[]){0, 3, 1, 2});
  *crop = (dq_image){0};
  if (width < 1 || height < 1)
    return dq_fail(error, DQ_BAD_INPUT, "a part of a picture whose sides are not 1 to %d pixels long", DQ_LARGEST_SIDE);
  const bool turned = 2 * (int64_t)height >= 3 * (int64_t)width;
  DQ_TRY(
      dq_image_init(crop, turned ? height : width, turned ? width : height, source->channels, source->budget, error));
  const projection p = find_projection(corners);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double u = (double)x / width, v = (double)y / height, w = p.g * u + p.h * v + 1;
      const size_t row = (size_t)(turned ? width - 1 - x : y), column = (size_t)(turned ? y : x);
      uint8_t *pixel = crop->pixels + (row * (size_t)crop->width + column) * (size_t)crop->channels;
      interpolate(source, (p.a * u + p.b * v + p.c) / w, (p.d * u + p.e * v + p.f) / w, pixel);
    }
  return DQ_OK;
}
