#include "lib/draw/overlay.h"

#include "lib/base/sizes.h"
#include "lib/draw/draw_internal.h"
#include "lib/draw/palette.h"

typedef struct overlay overlay;
struct overlay {
  int64_t width, height;
  const void *values;
  bool (*colour_of)(const overlay *plane, int64_t at, dq_colour *colour); // false: the pixel is left clear
  dq_colour colour;
  int clear;
  dq_scale scale;
};

// The element of `count` along a side that is nearest to the centre of pixel `at`.
static int64_t nearest(int64_t at, double low, double high, int64_t count) {
  const double place = ((double)at + 0.5 - low) / (high - low) * (double)count;
  return place < 1 ? 0 : place >= (double)(count - 1) ? count - 1 : (int64_t)place;
}

static void draw(dq_canvas *canvas, const overlay *plane, dq_draw_box box, double alpha) {
  if (!(alpha > 0) || !dq_draw_box_sorted(&box) || box.left >= box.right || box.top >= box.bottom) return;
  // A pixel whose centre lies on a side belongs to the box that begins there.
  const dq_pixel_box pixels =
      dq_pixel_box_on(canvas, (dq_pixel_box){(int64_t)ceil(box.left - 0.5), (int64_t)ceil(box.top - 0.5),
                                             (int64_t)ceil(box.right - 0.5), (int64_t)ceil(box.bottom - 0.5)});
  alpha = alpha < 1 ? alpha : 1;
  for (int64_t y = pixels.top; y < pixels.bottom; y++) {
    const int64_t row = nearest(y, box.top, box.bottom, plane->height) * plane->width;
    for (int64_t x = pixels.left; x < pixels.right; x++) {
      dq_colour colour;
      if (plane->colour_of(plane, row + nearest(x, box.left, box.right, plane->width), &colour))
        dq_canvas_mix(canvas, x, y, colour, alpha);
    }
  }
}

static bool colour_of_mask(const overlay *plane, int64_t at, dq_colour *colour) {
  *colour = plane->colour;
  return ((const uint8_t *)plane->values)[at] != 0;
}

void dq_canvas_mask(dq_canvas *canvas, const dq_byte_plane *mask, dq_draw_box box, dq_colour colour, double alpha) {
  const overlay plane = {mask->width, mask->height, mask->values, colour_of_mask, .colour = colour};
  draw(canvas, &plane, box, alpha);
}

static bool colour_of_class(const overlay *plane, int64_t at, dq_colour *colour) {
  const int class = ((const uint8_t *)plane->values)[at];
  *colour = dq_palette_colour(class);
  return class != plane->clear;
}

void dq_canvas_classes(dq_canvas *canvas, const dq_byte_plane *classes, dq_draw_box box, int clear, double alpha) {
  const overlay plane = {classes->width, classes->height, classes->values, colour_of_class, .clear = clear};
  draw(canvas, &plane, box, alpha);
}

dq_scale dq_scale_of(const dq_float_plane *map) {
  dq_scale scale = {INFINITY, -INFINITY};
  for (int64_t i = 0; i < map->width * map->height; i++) {
    const double value = map->values[i];
    if (!isfinite(value)) continue;
    if (value < scale.low) scale.low = value;
    if (value > scale.high) scale.high = value;
  }
  return scale.low <= scale.high ? scale : (dq_scale){0, 0};
}

static bool colour_of_number(const overlay *plane, int64_t at, dq_colour *colour) {
  const double value = ((const float *)plane->values)[at], low = plane->scale.low, high = plane->scale.high;
  if (isnan(value)) return false;
  *colour = dq_scale_colour(!(high > low) || value <= low ? 0 : value >= high ? 1 : (value - low) / (high - low));
  return true;
}

void dq_canvas_map(dq_canvas *canvas, const dq_float_plane *map, dq_draw_box box, dq_scale scale, double alpha) {
  const overlay plane = {map->width, map->height, map->values, colour_of_number, .scale = scale};
  draw(canvas, &plane, box, alpha);
}
