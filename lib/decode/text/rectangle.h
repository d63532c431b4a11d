// The rectangle of least area around a convex set of points.
#ifndef DQ_DECODE_TEXT_RECTANGLE_H
#define DQ_DECODE_TEXT_RECTANGLE_H

#include <stdint.h>

// Coordinates grow to the right and downwards.
typedef struct dq_rectangle {
  double x, y;                     // centre
  double direction_x, direction_y; // of the side `width`, of length 1
  double width, height;
} dq_rectangle;

typedef struct dq_point {
  double x, y;
} dq_point;

// Stores the corners of the convex hull of rows of points in `hull`, clockwise, without points in the middle of an
// edge, and returns their number. Row `top` + i, of `count` > 0 rows, has its outermost points in the columns first[i]
// and last[i]. `hull` has room for 2 * count points.
int64_t dq_hull_of_rows(const int32_t *first, const int32_t *last, int64_t top, int64_t count, dq_point *hull);

// The rectangle of least area around the corners of a convex polygon, clockwise and without corners of 180 degrees, by
// rotating calipers (Toussaint 1983): one side lies on an edge, and of equal areas the first edge counts. A point or a
// line, of 1 or 2 corners, has the height 0. Coordinates are whole numbers up to 2^20. O(count).
dq_rectangle dq_least_rectangle(const dq_point *hull, int64_t count);

// The corners clockwise. Of the two corners on the left the upper one comes first, and the upper one of the two on the
// right follows.
void dq_rectangle_corners(const dq_rectangle *rectangle, dq_point corners[4]);

#endif
