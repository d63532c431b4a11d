#include "lib/decode/text/regions.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/text/borders.h"
#include "lib/decode/text/rectangle.h"

enum { LONGEST_SIDE = 1 << 20 };

// What a search works on.
typedef struct search {
  const dq_score_map *map;
  const dq_region_options *options;
  dq_borders borders;
  double *sums;          // [height][width + 1]: of the values of a row in front of a column
  int32_t *first, *last; // [height]: the columns of a rectangle in each of its rows
  dq_point *hull;        // [2 * height]
  int64_t room;          // of regions->items
} search;

static void close_search(search *s) {
  dq_budget_free(s->borders.cells);
  dq_budget_free(s->borders.first);
  dq_budget_free(s->borders.last);
  dq_budget_free(s->sums);
  dq_budget_free(s->first);
  dq_budget_free(s->last);
  dq_budget_free(s->hull);
}

static dq_status open_search(search *s, const dq_context *context, dq_error *error) {
  const int64_t height = s->map->height, width = s->map->width;
  if (height < 1 || width < 1 || height > LONGEST_SIDE || width > LONGEST_SIDE)
    return dq_fail(error, DQ_BAD_INPUT,
                   "a map of text has %" PRId64 " rows and %" PRId64 " columns, expected 1 to %d of both", height,
                   width, LONGEST_SIDE);
  const size_t rows = (size_t)height, cells = (rows + 2) * ((size_t)width + 2);
  const size_t sums = rows * ((size_t)width + 1) * sizeof *s->sums;
  s->borders.height = height, s->borders.width = width, s->borders.next = width + 3;
  s->borders.cells = dq_context_alloc(context, cells);
  s->borders.first = dq_context_alloc(context, rows * sizeof *s->borders.first);
  s->borders.last = dq_context_alloc(context, rows * sizeof *s->borders.last);
  s->sums = dq_context_alloc(context, sums);
  s->first = dq_context_alloc(context, rows * sizeof *s->first);
  s->last = dq_context_alloc(context, rows * sizeof *s->last);
  s->hull = dq_context_alloc(context, 2 * rows * sizeof *s->hull);
  const bool memory =
      s->borders.cells && s->borders.first && s->borders.last && s->sums && s->first && s->last && s->hull;
  return memory ? DQ_OK : dq_fail_memory(error, cells + sums);
}

static void read_map(search *s) {
  const int64_t height = s->map->height, width = s->map->width;
  const float threshold = (float)s->options->threshold;
  for (int64_t y = 0; y < height; y++) {
    uint8_t *cells = s->borders.cells + (y + 1) * (width + 2) + 1;
    double *sums = s->sums + y * (width + 1);
    for (int64_t x = 0; x < width; x++) {
      const float value = s->map->values[y * width + x];
      const bool finite = isfinite(value);
      cells[x] = finite && value > threshold;
      sums[x + 1] = sums[x] + (finite ? (double)value : 0);
    }
  }
  if (!s->options->dilate) return;
  // A cell belongs to a region when it, the one above, the one to the left or the one between both does; from the last
  // cell to the first one.
  for (int64_t y = height; y > 0; y--) {
    uint8_t *cells = s->borders.cells + y * (width + 2), *above = cells - (width + 2);
    for (int64_t x = width; x > 0; x--) cells[x] |= cells[x - 1] | above[x] | above[x - 1];
  }
}

// Extends the rows between which a line from `a` to `b` is drawn, cell by cell along its longer side; rows outside of
// the map are left out.
static void draw_line(search *s, dq_point a, dq_point b) {
  const double across = b.x - a.x, down = b.y - a.y;
  const int64_t steps = (int64_t)fmax(fabs(across), fabs(down));
  for (int64_t i = 0; i <= steps; i++) {
    const double part = steps ? (double)i / (double)steps : 0;
    const int64_t y = (int64_t)floor(a.y + down * part + 0.5);
    const int32_t x = (int32_t)floor(a.x + across * part + 0.5);
    if (y < 0 || y >= s->map->height) continue;
    if (x < s->first[y]) s->first[y] = x;
    if (x > s->last[y]) s->last[y] = x;
  }
}

// The mean of the map in a rectangle whose corners are moved to the cells that they lie in: of the cells between its
// drawn sides, and of these. 0 where it lies outside of the map.
static double score_of(search *s, const dq_rectangle *rectangle) {
  const int64_t height = s->map->height, width = s->map->width;
  dq_point corners[4];
  double top = INFINITY, bottom = -INFINITY, sum = 0;
  int64_t cells = 0;
  dq_rectangle_corners(rectangle, corners);
  for (int i = 0; i < 4; i++) {
    // Rounding of what is a whole number does not move it into the cell before.
    corners[i] = (dq_point){floor(corners[i].x + 1e-6), floor(corners[i].y + 1e-6)};
    top = fmin(top, corners[i].y), bottom = fmax(bottom, corners[i].y);
  }
  const int64_t from = (int64_t)fmax(top, 0), to = (int64_t)fmin(bottom, (double)(height - 1));
  for (int64_t y = from; y <= to; y++) s->first[y] = INT32_MAX, s->last[y] = INT32_MIN;
  for (int i = 0; i < 4; i++) draw_line(s, corners[i], corners[(i + 1) % 4]);
  for (int64_t y = from; y <= to; y++) {
    const int64_t left = dq_max_i64(s->first[y], 0), right = dq_min_i64(s->last[y], width - 1);
    if (left > right) continue;
    sum += s->sums[y * (width + 1) + right + 1] - s->sums[y * (width + 1) + left];
    cells += right - left + 1;
  }
  return cells ? sum / (double)cells : 0;
}

static dq_status add_region(dq_regions *regions, search *s, const dq_region *region, const dq_context *context,
                            dq_error *error) {
  if (regions->count == s->room) {
    const int64_t room = s->room ? 2 * s->room : 64;
    const size_t bytes = (size_t)room * sizeof *regions->items;
    dq_region *items = regions->items ? dq_budget_realloc(regions->items, bytes) : dq_context_alloc(context, bytes);
    if (!items) return dq_fail_memory(error, bytes);
    regions->items = items, s->room = room;
  }
  regions->items[regions->count++] = *region;
  return DQ_OK;
}

// The region inside of the border found last; false: it is too small, or its score is too low.
static bool make_region(dq_region *region, search *s) {
  const dq_region_options *options = s->options;
  const dq_borders *b = &s->borders;
  const int64_t corners_of_hull =
      dq_hull_of_rows(b->first + b->top, b->last + b->top, b->top, b->bottom - b->top + 1, s->hull);
  dq_rectangle rectangle = dq_least_rectangle(s->hull, corners_of_hull);
  const double side = fmin(rectangle.width, rectangle.height);
  if (!(side > 0) || side < options->smallest_side) return false;
  region->score = score_of(s, &rectangle);
  if (!(region->score >= options->box_threshold)) return false;
  // Area divided by perimeter.
  const double distance =
      rectangle.width * rectangle.height / (2 * (rectangle.width + rectangle.height)) * options->unclip_ratio;
  rectangle.width += 2 * distance, rectangle.height += 2 * distance;
  if (side + 2 * distance < options->smallest_side + 2) return false;
  dq_point corners[4];
  dq_rectangle_corners(&rectangle, corners);
  for (int i = 0; i < 4; i++) {
    region->corners[i][0] = fmin(fmax(corners[i].x / (double)s->map->width, 0), 1);
    region->corners[i][1] = fmin(fmax(corners[i].y / (double)s->map->height, 0), 1);
  }
  return true;
}

dq_status dq_regions_find(dq_regions *regions, const dq_score_map *map, const dq_region_options *options,
                          const dq_context *context, dq_error *error) {
  search s = {.map = map, .options = options};
  *regions = (dq_regions){0};
  dq_status status = open_search(&s, context, error);
  if (status == DQ_OK) {
    dq_region region;
    read_map(&s);
    while (status == DQ_OK && regions->count < options->most_regions && dq_border_next(&s.borders))
      if (make_region(&region, &s)) status = add_region(regions, &s, &region, context, error);
  }
  close_search(&s);
  return status;
}

void dq_regions_deinit(dq_regions *regions) {
  dq_budget_free(regions->items);
  *regions = (dq_regions){0};
}

// Compares first corners; what is equal there has an order as well, by the other numbers.
static int compare_regions(const void *left, const void *right) {
  const dq_region *a = left, *b = right;
  for (int i = 0; i < 4; i++)
    for (int k = 1; k >= 0; k--)
      if (a->corners[i][k] != b->corners[i][k]) return a->corners[i][k] < b->corners[i][k] ? -1 : 1;
  return a->score < b->score ? -1 : a->score > b->score;
}

void dq_regions_sort(dq_regions *regions, double tolerance) {
  dq_region *items = regions->items;
  if (regions->count > 1) qsort(items, (size_t)regions->count, sizeof *items, compare_regions);
  for (int64_t i = 1; i < regions->count; i++) {
    const dq_region moved = items[i];
    int64_t at = i;
    for (; at > 0 && moved.corners[0][1] - items[at - 1].corners[0][1] < tolerance &&
           moved.corners[0][0] < items[at - 1].corners[0][0];
         at--)
      items[at] = items[at - 1];
    items[at] = moved;
  }
}
