// Text and labels on a canvas, in a font of the project's own (glyphs.def): 5 x 9 pixels a character, of which 2 lie
// below the base line, enlarged by a whole number, the scale (>= 1).
//
// Texts are UTF-8. There are glyphs for ASCII 32 to 126. Letters of Latin-1 with accents are drawn as the letter below
// the accent. Every other character, and every byte that is not UTF-8, is drawn as a hollow box.
#ifndef DQ_DRAW_CANVAS_TEXT_H
#define DQ_DRAW_CANVAS_TEXT_H

#include "lib/draw/canvas.h"

typedef struct dq_draw_sizes {
  int thickness; // of the outlines of boxes and polygons, pixels
  int radius;    // of discs for keypoints, pixels
  int text;      // scale of text
} dq_draw_sizes;

// Sizes that suit a picture by its shorter side s, chosen by looking at pictures of 96 to 1080 pixels: lines of
// s / 220 pixels and text of scale s / 400, each rounded to the nearest whole number, half up, and at least 1; discs of
// a radius of 3/2 lines and a pixel, rounded down.
dq_draw_sizes dq_draw_sizes_for(int width, int height);

// Pixels that a text takes; a character is 6 scale wide with the gap behind it, which the last one does not have.
int64_t dq_canvas_text_width(const char *text, int scale);
int64_t dq_canvas_text_height(int scale);

// Draws a text whose upper left corner is at `at`, rounded to whole pixels; nothing where that is NaN.
void dq_canvas_text(dq_canvas *canvas, dq_point at, const char *text, int scale, dq_colour colour);
// Draws a text of at most `width` pixels: of a longer one as many characters as fit in front of "..".
void dq_canvas_text_within(dq_canvas *canvas, dq_point at, const char *text, int64_t width, int scale,
                           dq_colour colour);

// Draws a text on a background, in black or white (dq_contrast_colour). The label stands on the point, with its left
// side there, as on the upper left corner of a box; where there is no space above, it hangs below. It is moved so that
// it lies on the canvas; a text that is wider than the canvas is shortened as by dq_canvas_text_within. Nothing is
// drawn where a coordinate is NaN.
void dq_canvas_label(dq_canvas *canvas, dq_point at, const char *text, int scale, dq_colour background);

#endif
