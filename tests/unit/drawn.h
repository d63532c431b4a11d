// Small canvases whose pixels a test reads as characters.
#ifndef TESTS_UNIT_DRAWN_H
#define TESTS_UNIT_DRAWN_H

#include <stdbool.h>
#include <string.h>

#include "lib/draw/canvas.h"

#define PAPER ((dq_colour){255, 255, 255})
#define INK ((dq_colour){0, 0, 0})

static inline dq_canvas new_canvas(int width, int height) {
  dq_canvas canvas;
  assert_int_equal(dq_canvas_init(&canvas, width, height, PAPER, NULL, NULL), DQ_OK);
  return canvas;
}

static inline void clear(dq_canvas *canvas) {
  memset(canvas->pixels, 255, 3 * (size_t)canvas->width * (size_t)canvas->height);
}

// 0xRRGGBB.
static inline int pixel(const dq_canvas *canvas, int x, int y) {
  const uint8_t *at = canvas->pixels + 3 * (y * canvas->width + x);
  return at[0] << 16 | at[1] << 8 | at[2];
}

// Compares the canvas with its rows one after the other: '.' is paper, '#' ink, '+' any other colour.
static inline void check_drawn(const dq_canvas *canvas, const char *expected) {
  char found[10000] = {0};
  const int count = canvas->width * canvas->height;
  for (int i = 0; i < count; i++) {
    const int colour = pixel(canvas, i % canvas->width, i / canvas->width);
    found[i] = colour == 0xffffff ? '.' : colour == 0 ? '#' : '+';
  }
  assert_string_equal(found, expected);
}

#endif
