// Regions of text in maps, by hand: rectangles, straight and tilted, what touches, holes, borders of the map, maps
// without a number, and large ones; borders and rectangles against plain searches on random masks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "lib/decode/text/borders.h"
#include "lib/decode/text/rectangle.h"
#include "lib/decode/text/regions.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
enum { MOST = 64 };

typedef struct drawing {
  int height, width;
  float values[MOST * MOST];
} drawing;

static void fill(drawing *d, int left, int top, int right, int bottom, float value) {
  for (int y = top; y <= bottom; y++)
    for (int x = left; x <= right; x++) d->values[y * d->width + x] = value;
}

static dq_regions find(const drawing *d, const dq_region_options *options) {
  dq_regions regions;
  dq_error error = {0};
  const dq_score_map map = {d->values, d->height, d->width, NULL};
  assert_int_equal(dq_regions_find(&regions, &map, options, NULL, &error), DQ_OK);
  return regions;
}

static int64_t count(const drawing *d, const dq_region_options *options) {
  dq_regions regions = find(d, options);
  const int64_t found = regions.count;
  dq_regions_deinit(&regions);
  return found;
}

// 20 x 6 cells, from the centre of the first one to that of the last one 19 x 5. They grow by
// 19 * 5 * 1.6 / (2 * (19 + 5)) = 19 / 6.
static void a_straight_rectangle(void **state) {
  (void)state;
  drawing d = {20, 40, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  options.dilate = false;
  fill(&d, 10, 8, 29, 13, 1);
  dq_regions regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  const double grown = 19 / 6., expected[4][2] = {{10, 8}, {29, 8}, {29, 13}, {10, 13}};
  for (int i = 0; i < 4; i++) {
    NEAR(regions.items[0].corners[i][0] * 40, expected[i][0] + (i == 1 || i == 2 ? grown : -grown));
    NEAR(regions.items[0].corners[i][1] * 20, expected[i][1] + (i > 1 ? grown : -grown));
  }
  NEAR(regions.items[0].score, 1);
  dq_regions_deinit(&regions);
  options.dilate = true; // 21 x 7 cells, of which 20 x 6 are 1
  regions = find(&d, &options);
  NEAR(regions.items[0].score, 120 / 147.);
  NEAR(regions.items[0].corners[2][0] * 40, 30 + 120 * 1.6 / 52);
  dq_regions_deinit(&regions);
}

// A rectangle from its first corner on with the sides `width` times (a, b) and `height` times (-b, a).
typedef struct tilt {
  int a, b, width, height;
} tilt;

static void draw_tilted(drawing *d, tilt t, int left, int top) {
  const int square = t.a * t.a + t.b * t.b;
  for (int y = 0; y < d->height; y++)
    for (int x = 0; x < d->width; x++) {
      const int across = t.a * (x - left) + t.b * (y - top), down = -t.b * (x - left) + t.a * (y - top);
      d->values[y * d->width + x] = across >= 0 && across <= t.width * square && down >= 0 && down <= t.height * square;
    }
}

// Sides of 40 and 10 along (4, 3) / 5 and (-3, 4) / 5 around (31, 30). They grow by 400 * 1.6 / 100 = 6.4.
static void a_tilted_rectangle(void **state) {
  (void)state;
  drawing d = {60, 62, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  options.dilate = false;
  draw_tilted(&d, (tilt){4, 3, 8, 2}, 18, 14);
  dq_regions regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  const double corners[4][2] = {{-14.28, -24.96}, {27.96, 6.72}, {14.28, 24.96}, {-27.96, -6.72}};
  for (int i = 0; i < 4; i++) {
    NEAR(regions.items[0].corners[i][0] * 62, 31 + corners[i][0]);
    NEAR(regions.items[0].corners[i][1] * 60, 30 + corners[i][1]);
  }
  // Drawn sides leave the rectangle by at most half a cell.
  assert_true(regions.items[0].score > 0.9 && regions.items[0].score <= 1);
  dq_regions_deinit(&regions);
}

// Corners that are whole numbers lie in their cells and not in those before, however they are rounded, so that a
// rectangle has one score wherever it lies.
static void one_score_everywhere(void **state) {
  (void)state;
  drawing d = {60, 62, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  options.dilate = false;
  double score = -1;
  for (int y = 0; y < 30; y++)
    for (int x = 6; x < 36; x++) {
      draw_tilted(&d, (tilt){3, 2, 8, 3}, x, y);
      dq_regions regions = find(&d, &options);
      assert_int_equal(regions.count, 1);
      if (score < 0) score = regions.items[0].score;
      NEAR(regions.items[0].score, score);
      dq_regions_deinit(&regions);
    }
}

static void touching_regions_and_holes(void **state) {
  (void)state;
  drawing d = {40, 40, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  options.dilate = false;
  fill(&d, 2, 2, 9, 9, 1);
  fill(&d, 11, 2, 18, 9, 1);
  assert_int_equal(count(&d, &options), 2); // a column between them
  options.dilate = true;
  assert_int_equal(count(&d, &options), 1);
  options.dilate = false;
  fill(&d, 11, 2, 18, 9, 0);
  fill(&d, 10, 10, 17, 17, 1); // a corner touches
  assert_int_equal(count(&d, &options), 1);
  memset(d.values, 0, sizeof d.values);
  fill(&d, 2, 2, 5, 5, 1); // dilation adds the cell right of and below the last one as well
  fill(&d, 7, 7, 10, 10, 1);
  assert_int_equal(count(&d, &options), 2);
  options.dilate = true, options.box_threshold = 0.2;
  assert_int_equal(count(&d, &options), 1);
  options.dilate = false, options.box_threshold = 0.5;
  memset(d.values, 0, sizeof d.values);
  fill(&d, 2, 2, 31, 31, 1);
  fill(&d, 7, 7, 26, 26, 0); // 900 cells without 400
  dq_regions regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  NEAR(regions.items[0].score, 5 / 9.);
  dq_regions_deinit(&regions);
  fill(&d, 12, 12, 20, 20, 1); // in the hole
  assert_int_equal(count(&d, &options), 2);
  options.most_regions = 1;
  assert_int_equal(count(&d, &options), 1);
}

static void borders_of_the_map_and_bounds(void **state) {
  (void)state;
  drawing d = {16, 20, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  fill(&d, 0, 0, 9, 5, 1);
  dq_regions regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  NEAR(regions.items[0].corners[0][0], 0);
  NEAR(regions.items[0].corners[0][1], 0);
  NEAR(regions.items[0].corners[2][0] * 20, 10 + 60 * 1.6 / 32);
  dq_regions_deinit(&regions);
  fill(&d, 0, 0, 19, 15, 1);
  regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  for (int i = 0; i < 4; i++) {
    NEAR(regions.items[0].corners[i][0], i == 1 || i == 2);
    NEAR(regions.items[0].corners[i][1], i > 1);
  }
  NEAR(regions.items[0].score, 1);
  dq_regions_deinit(&regions);
  fill(&d, 0, 0, 19, 15, 0.4f); // above the threshold of cells, below that of regions
  assert_int_equal(count(&d, &options), 0);
  options.box_threshold = 0.4;
  assert_int_equal(count(&d, &options), 1);
  fill(&d, 0, 0, 19, 15, 0.3f); // the threshold itself is not above it
  assert_int_equal(count(&d, &options), 0);
  fill(&d, 4, 4, 12, 6, 1); // dilated 9 x 3 between centres
  assert_int_equal(count(&d, &options), 1);
  options.dilate = false; // 8 x 2
  assert_int_equal(count(&d, &options), 0);
  options.dilate = true, options.unclip_ratio = 0.5; // 27 * 0.5 / 24 on each side: 4.125
  assert_int_equal(count(&d, &options), 0);
  options.smallest_side = 2.125;
  assert_int_equal(count(&d, &options), 1);
  options.dilate = false;
  fill(&d, 4, 5, 12, 6, 0.3f); // a line
  options.smallest_side = 0;
  assert_int_equal(count(&d, &options), 0);
}

static void maps_without_numbers_and_of_one_cell(void **state) {
  (void)state;
  drawing d = {8, 8, {0}};
  dq_region_options options = DQ_REGION_DEFAULTS;
  dq_regions regions;
  dq_error error = {0};
  fill(&d, 0, 0, 7, 7, NAN);
  assert_int_equal(count(&d, &options), 0);
  fill(&d, 0, 0, 7, 7, INFINITY);
  assert_int_equal(count(&d, &options), 0);
  fill(&d, 1, 1, 6, 6, 1);
  d.values[3 * 8 + 3] = NAN; // a hole of one cell, which dilation fills
  regions = find(&d, &options);
  assert_int_equal(regions.count, 1);
  NEAR(regions.items[0].score, 35 / 49.);
  dq_regions_deinit(&regions);
  d.height = d.width = 1;
  d.values[0] = 1;
  assert_int_equal(count(&d, &options), 0);
  const dq_score_map none = {d.values, 0, 8, NULL}, wide = {d.values, 1, (1 << 20) + 1, NULL};
  assert_int_equal(dq_regions_find(&regions, &none, &options, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "a map of text has 0 rows and 8 columns, expected 1 to 1048576 of both");
  assert_int_equal(dq_regions_find(&regions, &wide, &options, NULL, &error), DQ_BAD_INPUT);
}

// The components of a mask by widening one cell at a time: their rows and the columns in each.
static void spread(const uint8_t *mask, int height, int width, int cell, uint8_t *seen) {
  seen[cell] = 1;
  for (int y = cell / width - 1; y <= cell / width + 1; y++)
    for (int x = cell % width - 1; x <= cell % width + 1; x++)
      if (y >= 0 && y < height && x >= 0 && x < width && mask[y * width + x] && !seen[y * width + x])
        spread(mask, height, width, y * width + x, seen);
}

static void check_border(const dq_borders *b, const uint8_t *seen, const uint8_t *before, int height, int width) {
  for (int y = 0; y < height; y++) {
    int first = -1, last = -1;
    for (int x = 0; x < width; x++)
      if (seen[y * width + x] && !before[y * width + x]) {
        if (first < 0) first = x;
        last = x;
      }
    assert_int_equal(first >= 0, y >= b->top && y <= b->bottom);
    if (first < 0) continue;
    assert_int_equal(b->first[y], first);
    assert_int_equal(b->last[y], last);
  }
}

// The least area of a rectangle with a side along a pair of points.
static void check_rectangle(const dq_borders *b) {
  const int64_t rows = b->bottom - b->top + 1;
  dq_point hull[2 * MOST];
  const int64_t corners = dq_hull_of_rows(b->first + b->top, b->last + b->top, b->top, rows, hull);
  const dq_rectangle found = dq_least_rectangle(hull, corners);
  for (int64_t i = 0; i < corners && corners > 2; i++) {
    const dq_point a = hull[i], middle = hull[(i + 1) % corners], c = hull[(i + 2) % corners];
    assert_true((middle.x - a.x) * (c.y - middle.y) > (middle.y - a.y) * (c.x - middle.x)); // every corner turns
  }
  double least = corners > 2 ? INFINITY : 0;
  for (int64_t i = 0; i < corners && corners > 2; i++) {
    const double x = hull[(i + 1) % corners].x - hull[i].x, y = hull[(i + 1) % corners].y - hull[i].y;
    double left = INFINITY, right = -INFINITY, deepest = 0;
    for (int64_t row = b->top; row <= b->bottom; row++)
      for (int side = 0; side < 2; side++) {
        const double px = side ? b->last[row] : b->first[row], along = px * x + (double)row * y;
        const double depth = -(px - hull[i].x) * y + ((double)row - hull[i].y) * x;
        assert_true(depth >= 0); // the hull is convex, clockwise and around all points
        left = fmin(left, along), right = fmax(right, along), deepest = fmax(deepest, depth);
      }
    least = fmin(least, (right - left) * deepest / (x * x + y * y));
  }
  NEAR(found.width * found.height, least);
}

// Around a triangle without obtuse angles the rectangle on each side has twice its area; the first edge counts.
static void equal_areas(void **state) {
  (void)state;
  const dq_point triangle[] = {{0, 0}, {8, 0}, {4, 8}}, turned[] = {{8, 0}, {4, 8}, {0, 0}};
  dq_rectangle least = dq_least_rectangle(triangle, 3);
  NEAR(least.width, 8);
  NEAR(least.height, 8);
  least = dq_least_rectangle(turned, 3);
  NEAR(least.width, sqrt(80));
  NEAR(least.height, 64 / sqrt(80));
}

static void random_masks(void **state) {
  (void)state;
  uint32_t random = 1;
  for (int round = 0; round < 4000; round++) {
    const int height = round % 17 + 1, width = round % 23 + 1, share = round % 9 + 1;
    uint8_t mask[MOST * MOST] = {0}, cells[(MOST + 2) * (MOST + 2)] = {0}, seen[MOST * MOST] = {0}, before[MOST * MOST];
    int32_t first[MOST], last[MOST];
    for (int i = 0; i < height * width; i++) {
      random = random * 1664525u + 1013904223u;
      mask[i] = (int)(random >> 28) < share;
      cells[(i / width + 1) * (width + 2) + i % width + 1] = mask[i];
    }
    dq_borders b = {height, width, cells, first, last, 0, 0, width + 3};
    for (int cell = 0; cell < height * width; cell++) {
      if (!mask[cell] || seen[cell]) continue;
      memcpy(before, seen, sizeof before);
      spread(mask, height, width, cell, seen);
      assert_true(dq_border_next(&b));
      check_border(&b, seen, before, height, width);
      check_rectangle(&b);
    }
    assert_false(dq_border_next(&b));
  }
}

static void order_of_reading(void **state) {
  (void)state;
  // x and y of the first corners: three of a row, two of another one.
  dq_region items[5] = {{.corners = {{0.2, 0.3}}},
                        {.corners = {{0.5, 0.1}}},
                        {.corners = {{0.3, 0.105}}},
                        {.corners = {{0.1, 0.108}}},
                        {.corners = {{0.1, 0.3}}}};
  dq_regions regions = {items, 5};
  dq_regions_sort(&regions, 0.01);
  const double x[] = {0.1, 0.3, 0.5, 0.1, 0.2};
  for (int i = 0; i < 5; i++) NEAR(items[i].corners[0][0], x[i]);
  dq_regions_sort(&(dq_regions){0}, 0.01);
}

static void maps_of_outputs(void **state) {
  (void)state;
  float values[2 * 3 * 4];
  uint16_t halves[2 * 3 * 4];
  for (int i = 0; i < 24; i++) values[i] = (float)i, halves[i] = (uint16_t)(i < 12 ? 0 : 0x3c00); // 0 or 1
  const dq_tensor forms[] = {{DQ_F32, 4, {2, 1, 3, 4}, values},
                             {DQ_F32, 4, {2, 3, 4, 1}, values},
                             {DQ_F32, 3, {2, 3, 4}, values},
                             {DQ_F16, 4, {2, 1, 3, 4}, halves}};
  dq_score_map map;
  dq_error error = {0};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(dq_score_map_open(&map, &forms[i], 1, NULL, &error), DQ_OK);
    assert_int_equal(map.height, 3);
    assert_int_equal(map.width, 4);
    NEAR(map.values[0], i < 3 ? 12 : 1);
    dq_score_map_close(&map);
    assert_int_equal(dq_score_map_open(&map, &forms[i], 2, NULL, &error), DQ_BAD_INPUT);
  }
  const dq_tensor other = {DQ_F32, 4, {2, 3, 2, 2}, values};
  assert_int_equal(dq_score_map_open(&map, &other, 0, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message,
                      "an output 2x3x2x2 of type float32 is no map of text for picture 0, expected Nx1xHxW");
}

// Tiles of nested angles, whose rectangles overlap most, take no more than a map of ones, and 9 bytes a cell suffice.
static void large_maps(void **state) {
  (void)state;
  enum { SIDE = 4096 };
  float *values = malloc((size_t)SIDE * SIDE * sizeof *values);
  dq_budget budget = {.limit = (size_t)160 << 20};
  const dq_context context = {.budget = &budget};
  dq_region_options options = DQ_REGION_DEFAULTS;
  options.box_threshold = 0.1, options.most_regions = SIDE;
  dq_regions regions;
  dq_error error = {0};
  const dq_score_map map = {values, SIDE, SIDE, NULL};
  assert_non_null(values);
  for (int kind = 0; kind < 3; kind++) {
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        const int angle = x < y ? x : y;
        values[(size_t)y * SIDE + (size_t)x] = kind == 0 || (kind == 1 ? angle % 4 == 0 : x % 8 < 4 && y % 8 < 4);
      }
    const clock_t begin = clock();
    assert_int_equal(dq_regions_find(&regions, &map, &options, &context, &error), DQ_OK);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
    assert_int_equal(regions.count, kind == 0 ? 1 : kind == 1 ? SIDE / 4 : SIDE);
    dq_regions_deinit(&regions);
    assert_int_equal(budget.used, 0);
  }
  budget.limit = (size_t)100 << 20;
  assert_int_equal(dq_regions_find(&regions, &map, &options, &context, &error), DQ_SYSTEM);
  dq_regions_deinit(&regions);
  assert_int_equal(budget.used, 0);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_straight_rectangle),
                                     cmocka_unit_test(a_tilted_rectangle),
                                     cmocka_unit_test(one_score_everywhere),
                                     cmocka_unit_test(touching_regions_and_holes),
                                     cmocka_unit_test(borders_of_the_map_and_bounds),
                                     cmocka_unit_test(maps_without_numbers_and_of_one_cell),
                                     cmocka_unit_test(equal_areas),
                                     cmocka_unit_test(random_masks),
                                     cmocka_unit_test(order_of_reading),
                                     cmocka_unit_test(maps_of_outputs),
                                     cmocka_unit_test(large_maps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
