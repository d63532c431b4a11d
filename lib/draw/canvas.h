// Pictures of RGB bytes to draw on: memory and shapes. Nothing here knows what a shape stands for.
//
// Coordinates are in pixels: x grows to the right, y downwards, and pixel (column, row) covers [column, column + 1) x
// [row, row + 1), so that the canvas covers [0, width) x [0, height). Every double is allowed as a coordinate,
// thickness or alpha: what lies outside of the canvas is not drawn, coordinates beyond DQ_DRAW_FARTHEST are moved to
// it, and a shape with a NaN is not drawn. Alpha is the share of the colour in the result, limited to 0...1; channels
// are mixed as they are stored (sRGB) and rounded half up. Shapes take time in proportion to the pixels that they
// cover, lines to the pixels of their thickness. The pixels are the same on every machine.
#ifndef DQ_DRAW_CANVAS_H
#define DQ_DRAW_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

enum {
  DQ_CANVAS_LARGEST_SIDE = 100000,   // pixels
  DQ_CANVAS_LARGEST_BYTES = 1 << 29, // so that the sizes of a PNG of it fit int
  DQ_DRAW_FARTHEST = 10000000,       // of a coordinate from 0, and of a thickness; a double of this size has 29 binary
                                     // digits behind the point
};

typedef struct dq_colour {
  uint8_t red, green, blue; // sRGB
} dq_colour;

typedef struct dq_canvas {
  int width, height; // pixels, at least 1
  uint8_t *pixels;   // height x width x 3 (red, green, blue), owned
  dq_budget *budget; // the budget that the pixels count against; NULL: none
} dq_canvas;

typedef struct dq_point {
  double x, y;
} dq_point;

typedef struct dq_draw_box { // two opposite corners, in any order
  double left, top, right, bottom;
} dq_draw_box;

// Makes a canvas of one colour; the caller calls dq_canvas_deinit after success. DQ_BAD_INPUT: a side is below 1 or
// above DQ_CANVAS_LARGEST_SIDE, or the pixels take more than DQ_CANVAS_LARGEST_BYTES; DQ_SYSTEM: there is no memory.
dq_status dq_canvas_init(dq_canvas *canvas, int64_t width, int64_t height, dq_colour background, dq_budget *budget,
                         dq_error *error);
// Makes a canvas with a copy of `rgb`, height x width x 3 bytes. Statuses as dq_canvas_init.
dq_status dq_canvas_copy(dq_canvas *canvas, const uint8_t *rgb, int64_t width, int64_t height, dq_budget *budget,
                         dq_error *error);
// Frees the pixels and zeroes the struct; a zeroed struct is allowed.
void dq_canvas_deinit(dq_canvas *canvas);

// Boxes have whole pixels: their sides are rounded to the nearest boundary between pixels, and are at least a pixel
// long. The outline lies inside of the box; its thickness, above 0, is rounded to whole pixels, at least 1.
void dq_canvas_fill(dq_canvas *canvas, dq_draw_box box, dq_colour colour, double alpha);
void dq_canvas_outline(dq_canvas *canvas, dq_draw_box box, dq_colour colour, double thickness);

// Lines have round ends. Pixels at their edges are mixed by how far their centres are from the line: the colour's share
// falls from 1 to 0 between half a pixel inside of the edge and half a pixel outside.
void dq_canvas_line(dq_canvas *canvas, dq_point from, dq_point to, dq_colour colour, double thickness);
// Draws lines between the `count` corners in turn and from the last to the first one; nothing for 0 corners.
void dq_canvas_polygon(dq_canvas *canvas, const dq_point *corners, size_t count, dq_colour colour, double thickness);
// Draws a disc of `radius` pixels, > 0, with an edge as that of lines.
void dq_canvas_disc(dq_canvas *canvas, dq_point centre, double radius, dq_colour colour);

#endif
