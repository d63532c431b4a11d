// Planes of values over a box of a canvas: masks, maps of classes, maps of numbers.
//
// A plane is stretched over the box, whatever its size: a pixel whose centre lies in the box gets the nearest value. A
// box with a NaN or without an area is not drawn; an alpha that is not above 0 draws nothing.
#ifndef DQ_DRAW_OVERLAY_H
#define DQ_DRAW_OVERLAY_H

#include "lib/draw/canvas.h"

typedef struct dq_byte_plane {
  int64_t width, height; // at least 1
  const uint8_t *values; // height x width
} dq_byte_plane;

typedef struct dq_float_plane {
  int64_t width, height; // at least 1
  const float *values;   // height x width
} dq_float_plane;

// Mixes `colour` into the pixels whose value is not 0.
void dq_canvas_mask(dq_canvas *canvas, const dq_byte_plane *mask, dq_draw_box box, dq_colour colour, double alpha);
// Mixes the colour of its class (dq_palette_colour) into each pixel, but for class `clear`; -1: no class is left clear.
void dq_canvas_classes(dq_canvas *canvas, const dq_byte_plane *classes, dq_draw_box box, int clear, double alpha);

typedef struct dq_scale {
  double low, high; // the numbers with the first and the last colour
} dq_scale;

// The least and the greatest of the finite numbers; both 0 where there are none.
dq_scale dq_scale_of(const dq_float_plane *map);
// Mixes the colour of each number (dq_scale_colour) into its pixels. Numbers outside of the scale, infinite ones as
// well, have the colours of its ends; all have the first one where `high` is not above `low`. NaN is left clear.
void dq_canvas_map(dq_canvas *canvas, const dq_float_plane *map, dq_draw_box box, dq_scale scale, double alpha);

#endif
