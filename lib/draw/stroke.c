// Lines, polygons and discs: all of them are the points within a radius of a segment.
#include "lib/base/sizes.h"
#include "lib/draw/draw_internal.h"

typedef struct stroke {
  dq_point from;
  double dx, dy, square; // to the other end, and the square of its length
  double radius;
  dq_colour colour;
} stroke;

// The distance of a point from the segment.
static double distance(const stroke *line, double x, double y) {
  x -= line->from.x, y -= line->from.y;
  double along = line->square > 0 ? (x * line->dx + y * line->dy) / line->square : 0;
  along = along < 0 ? 0 : along > 1 ? 1 : along;
  x -= along * line->dx, y -= along * line->dy;
  return sqrt(x * x + y * y);
}

// The pixels from `low` to `high`, both within three times DQ_DRAW_FARTHEST of 0.
static void whole_pixels(double low, double high, int64_t *first, int64_t *end) {
  *first = (int64_t)floor(low);
  *end = (int64_t)ceil(high);
}

// The columns that the line can reach in the row whose centres are at `y`; a row of a steep line has few.
static void columns_of_row(const stroke *line, double y, dq_pixel_box *row) {
  if (fabs(line->dy) < 1) return;
  const double middle = line->from.x + (y - line->from.y) * line->dx / line->dy;
  const double half = (line->radius + 0.5) * sqrt(line->square) / fabs(line->dy);
  if (middle - half > (double)row->left) row->left = (int64_t)fmin(floor(middle - half), (double)row->right);
  if (middle + half < (double)row->right) row->right = (int64_t)fmax(ceil(middle + half), (double)row->left);
}

static void draw(dq_canvas *canvas, dq_point from, dq_point to, double radius, dq_colour colour) {
  if (!(radius > 0) || dq_point_is_nan(from) || dq_point_is_nan(to)) return;
  from = dq_near_point(from), to = dq_near_point(to), radius = dq_near_coordinate(radius);
  stroke line = {from, to.x - from.x, to.y - from.y, 0, radius, colour};
  line.square = line.dx * line.dx + line.dy * line.dy;
  const double reach = radius + 0.5;
  dq_pixel_box box;
  whole_pixels(fmin(from.x, to.x) - reach, fmax(from.x, to.x) + reach, &box.left, &box.right);
  whole_pixels(fmin(from.y, to.y) - reach, fmax(from.y, to.y) + reach, &box.top, &box.bottom);
  box = dq_pixel_box_on(canvas, box);
  for (int64_t y = box.top; y < box.bottom; y++) {
    dq_pixel_box row = box;
    columns_of_row(&line, (double)y + 0.5, &row);
    for (int64_t x = row.left; x < row.right; x++) {
      const double share = reach - distance(&line, (double)x + 0.5, (double)y + 0.5);
      if (share > 0) dq_canvas_mix(canvas, x, y, colour, share < 1 ? share : 1);
    }
  }
}

void dq_canvas_line(dq_canvas *canvas, dq_point from, dq_point to, dq_colour colour, double thickness) {
  draw(canvas, from, to, thickness / 2, colour);
}

void dq_canvas_polygon(dq_canvas *canvas, const dq_point *corners, size_t count, dq_colour colour, double thickness) {
  for (size_t i = 0; i < count; i++)
    draw(canvas, corners[i], corners[i + 1 < count ? i + 1 : 0], thickness / 2, colour);
}

void dq_canvas_disc(dq_canvas *canvas, dq_point centre, double radius, dq_colour colour) {
  draw(canvas, centre, centre, radius, colour);
}
