#include "lib/draw/canvas.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/draw/draw_internal.h"

static dq_status allocate(dq_canvas *canvas, int64_t width, int64_t height, dq_budget *budget, dq_error *error) {
  memset(canvas, 0, sizeof *canvas);
  const bool fits = width >= 1 && height >= 1 && width <= DQ_CANVAS_LARGEST_SIDE && height <= DQ_CANVAS_LARGEST_SIDE &&
                    3 * width * height <= DQ_CANVAS_LARGEST_BYTES;
  if (!fits)
    return dq_fail(error, DQ_BAD_INPUT,
                   "a picture of %" PRId64 "x%" PRId64
                   " pixels cannot be drawn on; sides of 1 to %d pixels and %d bytes are allowed",
                   width, height, DQ_CANVAS_LARGEST_SIDE, DQ_CANVAS_LARGEST_BYTES);
  const size_t bytes = (size_t)(3 * width * height);
  uint8_t *pixels = dq_budget_alloc(budget, bytes);
  if (!pixels) return dq_fail_memory(error, bytes);
  *canvas = (dq_canvas){(int)width, (int)height, pixels, budget};
  return DQ_OK;
}

dq_status dq_canvas_init(dq_canvas *canvas, int64_t width, int64_t height, dq_colour background, dq_budget *budget,
                         dq_error *error) {
  DQ_TRY(allocate(canvas, width, height, budget, error));
  dq_canvas_fill_pixels(canvas, (dq_pixel_box){0, 0, width, height}, background, 1);
  return DQ_OK;
}

dq_status dq_canvas_copy(dq_canvas *canvas, const uint8_t *rgb, int64_t width, int64_t height, dq_budget *budget,
                         dq_error *error) {
  DQ_TRY(allocate(canvas, width, height, budget, error));
  memcpy(canvas->pixels, rgb, (size_t)(3 * width * height));
  return DQ_OK;
}

void dq_canvas_deinit(dq_canvas *canvas) {
  dq_budget_free(canvas->pixels);
  *canvas = (dq_canvas){0};
}

dq_pixel_box dq_pixel_box_on(const dq_canvas *canvas, dq_pixel_box box) {
  return (dq_pixel_box){dq_max_i64(box.left, 0), dq_max_i64(box.top, 0), dq_min_i64(box.right, canvas->width),
                        dq_min_i64(box.bottom, canvas->height)};
}

void dq_canvas_fill_pixels(dq_canvas *canvas, dq_pixel_box box, dq_colour colour, double alpha) {
  box = dq_pixel_box_on(canvas, box);
  for (int64_t y = box.top; y < box.bottom; y++)
    for (int64_t x = box.left; x < box.right; x++) dq_canvas_mix(canvas, x, y, colour, alpha);
}

static void sort_ends(double *low, double *high) {
  const double a = dq_near_coordinate(*low), b = dq_near_coordinate(*high);
  *low = a < b ? a : b;
  *high = a < b ? b : a;
}

bool dq_draw_box_sorted(dq_draw_box *box) {
  if (isnan(box->left) || isnan(box->top) || isnan(box->right) || isnan(box->bottom)) return false;
  sort_ends(&box->left, &box->right);
  sort_ends(&box->top, &box->bottom);
  return true;
}

// The pixels of a box; false: a coordinate is NaN.
static bool round_box(dq_draw_box box, dq_pixel_box *pixels) {
  if (!dq_draw_box_sorted(&box)) return false;
  *pixels = (dq_pixel_box){dq_pixel_boundary(box.left), dq_pixel_boundary(box.top), dq_pixel_boundary(box.right),
                           dq_pixel_boundary(box.bottom)};
  pixels->right = dq_max_i64(pixels->right, pixels->left + 1);
  pixels->bottom = dq_max_i64(pixels->bottom, pixels->top + 1);
  return true;
}

void dq_canvas_fill(dq_canvas *canvas, dq_draw_box box, dq_colour colour, double alpha) {
  dq_pixel_box pixels;
  if (!(alpha > 0) || !round_box(box, &pixels)) return;
  dq_canvas_fill_pixels(canvas, pixels, colour, alpha < 1 ? alpha : 1);
}

void dq_canvas_outline(dq_canvas *canvas, dq_draw_box box, dq_colour colour, double thickness) {
  dq_pixel_box outer;
  if (!(thickness > 0) || !round_box(box, &outer)) return;
  const int64_t width = dq_max_i64(dq_pixel_boundary(dq_near_coordinate(thickness)), 1);
  // A box without an inside is filled: these boundaries then coincide.
  const int64_t top = dq_min_i64(outer.top + width, outer.bottom), bottom = dq_max_i64(outer.bottom - width, top);
  const int64_t left = dq_min_i64(outer.left + width, outer.right), right = dq_max_i64(outer.right - width, left);
  dq_canvas_fill_pixels(canvas, (dq_pixel_box){outer.left, outer.top, outer.right, top}, colour, 1);
  dq_canvas_fill_pixels(canvas, (dq_pixel_box){outer.left, bottom, outer.right, outer.bottom}, colour, 1);
  dq_canvas_fill_pixels(canvas, (dq_pixel_box){outer.left, top, left, bottom}, colour, 1);
  dq_canvas_fill_pixels(canvas, (dq_pixel_box){right, top, outer.right, bottom}, colour, 1);
}
