// Pixels of a canvas, and coordinates that are safe to compute with.
#ifndef DQ_DRAW_INTERNAL_H
#define DQ_DRAW_INTERNAL_H

#include <math.h>
#include <stdbool.h>

#include "lib/draw/canvas.h"

// A rectangle of whole pixels: columns left...right - 1, rows top...bottom - 1.
typedef struct dq_pixel_box {
  int64_t left, top, right, bottom;
} dq_pixel_box;

// The part of a rectangle that lies on the canvas.
dq_pixel_box dq_pixel_box_on(const dq_canvas *canvas, dq_pixel_box box);
// Mixes a colour into the pixels of the rectangle, which may lie outside of the canvas. `alpha` is in 0...1.
void dq_canvas_fill_pixels(dq_canvas *canvas, dq_pixel_box box, dq_colour colour, double alpha);

// A coordinate moved to DQ_DRAW_FARTHEST where it is beyond; NaN stays NaN.
static inline double dq_near_coordinate(double x) {
  return x > DQ_DRAW_FARTHEST ? DQ_DRAW_FARTHEST : x < -DQ_DRAW_FARTHEST ? -DQ_DRAW_FARTHEST : x;
}
static inline dq_point dq_near_point(dq_point at) {
  return (dq_point){dq_near_coordinate(at.x), dq_near_coordinate(at.y)};
}
static inline bool dq_point_is_nan(dq_point at) { return isnan(at.x) || isnan(at.y); }

// The boundary between pixels that is nearest to a coordinate within DQ_DRAW_FARTHEST, halves rounded up.
static inline int64_t dq_pixel_boundary(double x) { return (int64_t)floor(x + 0.5); }

// Moves the coordinates of a box to DQ_DRAW_FARTHEST and puts its corners in order; false: one is NaN.
bool dq_draw_box_sorted(dq_draw_box *box);

static inline void dq_mix_channel(uint8_t *channel, uint8_t value, double alpha) {
  *channel = (uint8_t)(*channel + (value - *channel) * alpha + 0.5);
}
// Mixes a colour into the pixel at (x, y), which is on the canvas. `alpha` is in 0...1.
static inline void dq_canvas_mix(dq_canvas *canvas, int64_t x, int64_t y, dq_colour colour, double alpha) {
  uint8_t *pixel = canvas->pixels + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x);
  dq_mix_channel(pixel, colour.red, alpha);
  dq_mix_channel(pixel + 1, colour.green, alpha);
  dq_mix_channel(pixel + 2, colour.blue, alpha);
}

#endif
