#include "lib/draw/canvas_beside.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/draw/canvas_text.h"

// Copies a canvas into another one, where all of it has a place.
static void put(dq_canvas *canvas, const dq_canvas *part, int64_t left, int64_t top) {
  const size_t row = 3 * (size_t)part->width;
  for (int y = 0; y < part->height; y++)
    memcpy(canvas->pixels + 3 * ((size_t)(top + y) * (size_t)canvas->width + (size_t)left),
           part->pixels + (size_t)y * row, row);
}

dq_status dq_canvas_beside(dq_canvas *both, const dq_canvas *left, const dq_canvas *right,
                           const char *const captions[2], dq_error *error) {
  const dq_colour white = {255, 255, 255}, black = {0, 0, 0};
  const int scale = dq_draw_sizes_for(left->width, left->height).text;
  const int64_t margin = 2 * (int64_t)scale, line = dq_canvas_text_height(scale) + margin, gap = 3 * margin;
  const int64_t second = left->width + gap;
  DQ_TRY(dq_canvas_init(both, second + right->width, line + dq_max_i64(left->height, right->height), white,
                        left->budget, error));
  dq_canvas_text_within(both, (dq_point){0, (double)margin}, captions[0], left->width, scale, black);
  dq_canvas_text_within(both, (dq_point){(double)second, (double)margin}, captions[1], right->width, scale, black);
  put(both, left, 0, line);
  put(both, right, second, line);
  return DQ_OK;
}
