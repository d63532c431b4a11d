#include "lib/decode/text/rectangle.h"

#include <math.h>
#include <stdlib.h>

static double cross(dq_point a, dq_point b, dq_point c) {
  return (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x);
}

// Adds a point behind those of a chain that begins at hull[from], and drops what then no longer turns clockwise.
static int64_t add(dq_point *hull, int64_t from, int64_t count, dq_point point) {
  if (count > from && hull[count - 1].x == point.x && hull[count - 1].y == point.y) return count;
  while (count > from + 1 && cross(hull[count - 2], hull[count - 1], point) <= 0) count--;
  hull[count] = point;
  return count + 1;
}

int64_t dq_hull_of_rows(const int32_t *first, const int32_t *last, int64_t top, int64_t count, dq_point *hull) {
  int64_t corners = 0;
  for (int64_t i = 0; i < count; i++) corners = add(hull, 0, corners, (dq_point){last[i], (double)(top + i)});
  if (first[count - 1] == last[count - 1]) corners--; // the left side begins with the same point
  const int64_t left = corners;
  for (int64_t i = count; i-- > 0;) corners = add(hull, left, corners, (dq_point){first[i], (double)(top + i)});
  return corners - (corners > 1 && first[0] == last[0]);
}

static double along(dq_point direction, dq_point a) { return direction.x * a.x + direction.y * a.y; }

// The corner from `at` on, clockwise, behind which the polygon no longer goes in the direction.
static int64_t turn(const dq_point *hull, int64_t count, int64_t at, dq_point direction) {
  while (along(direction, hull[(at + 1) % count]) > along(direction, hull[at % count])) at++;
  return at;
}

dq_rectangle dq_least_rectangle(const dq_point *hull, int64_t count) {
  dq_rectangle least = {hull[0].x, hull[0].y, 1, 0, 0, 0};
  double least_area = INFINITY;
  int64_t far = 0, below = 0, back = 0; // the corners that touch the other three sides
  for (int64_t i = 0; i < count && count > 1; i++) {
    const dq_point from = hull[i], to = hull[(i + 1) % count];
    const dq_point edge = {to.x - from.x, to.y - from.y}, inwards = {-edge.y, edge.x};
    far = turn(hull, count, far > i ? far : i + 1, edge);
    below = turn(hull, count, below > far ? below : far, inwards);
    back = turn(hull, count, back > below ? back : below, (dq_point){-edge.x, -edge.y});
    // Whole numbers: each product is the length of the edge times a coordinate in the system of the edge.
    const double left = along(edge, hull[back % count]), right = along(edge, hull[far % count]);
    const double upper = along(inwards, from), lower = along(inwards, hull[below % count]);
    const double square = along(edge, edge), area = (right - left) * (lower - upper) / square;
    if (area >= least_area) continue;
    least_area = area;
    const double length = sqrt(square), middle = (left + right) / 2, centre = (upper + lower) / 2;
    least = (dq_rectangle){(edge.x * middle + inwards.x * centre) / square,
                           (edge.y * middle + inwards.y * centre) / square,
                           edge.x / length,
                           edge.y / length,
                           (right - left) / length,
                           (lower - upper) / length};
  }
  return least;
}

static int compare_points(const void *left, const void *right) {
  const dq_point *a = left, *b = right;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return a->y < b->y ? -1 : a->y > b->y;
}

void dq_rectangle_corners(const dq_rectangle *rectangle, dq_point corners[4]) {
  const double across_x = rectangle->direction_x * rectangle->width / 2,
               across_y = rectangle->direction_y * rectangle->width / 2,
               down_x = -rectangle->direction_y * rectangle->height / 2,
               down_y = rectangle->direction_x * rectangle->height / 2;
  dq_point all[4];
  for (int i = 0; i < 4; i++) {
    const double a = i & 1 ? 1 : -1, b = i & 2 ? 1 : -1;
    all[i] = (dq_point){rectangle->x + a * across_x + b * down_x, rectangle->y + a * across_y + b * down_y};
  }
  qsort(all, 4, sizeof *all, compare_points);
  const int left = all[1].y < all[0].y, right = all[3].y < all[2].y;
  corners[0] = all[left], corners[3] = all[!left];
  corners[1] = all[2 + right], corners[2] = all[3 - right];
}
