// Shapes on canvases against pixels by hand, what is cut off at their edges, coordinates that are no numbers, sizes
// that do not fit, and PNG files, with too little memory as well.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/image/image.h"
#include "lib/base/random.h"
#include "lib/draw/canvas.h"
#include "lib/draw/canvas_png.h"
#include "lib/draw/overlay.h"
#include "tests/unit/drawn.h"

static char folder[] = "/tmp/test_draw_XXXXXX";

// ---- Canvases ----

static void test_sizes(void **state) {
  (void)state;
  static const int64_t refused[][2] = {{0, 5},
                                       {5, 0},
                                       {-1, 5},
                                       {5, INT64_MIN},
                                       {DQ_CANVAS_LARGEST_SIDE + 1, 1},
                                       {1, DQ_CANVAS_LARGEST_SIDE + 1},
                                       {INT64_MAX, INT64_MAX},
                                       {INT64_C(1) << 32, INT64_C(1) << 32},
                                       {20000, 20000}};
  dq_canvas canvas;
  dq_error error;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(dq_canvas_init(&canvas, refused[i][0], refused[i][1], PAPER, NULL, &error), DQ_BAD_INPUT);
    assert_int_equal(dq_canvas_copy(&canvas, NULL, refused[i][0], refused[i][1], NULL, &error), DQ_BAD_INPUT);
    assert_null(canvas.pixels);
  }
  assert_non_null(strstr(error.message, "20000x20000"));
  dq_budget budget = {.limit = 1000};
  assert_int_equal(dq_canvas_init(&canvas, 100, 100, PAPER, &budget, &error), DQ_SYSTEM);
  assert_string_equal(error.message, "out of memory: 30000 bytes needed");
  dq_canvas_deinit(&canvas);

  canvas = new_canvas(DQ_CANVAS_LARGEST_SIDE, 1);
  assert_int_equal(pixel(&canvas, DQ_CANVAS_LARGEST_SIDE - 1, 0), 0xffffff);
  dq_canvas_deinit(&canvas);
  assert_null(canvas.pixels);
  dq_canvas_deinit(&canvas);
}

static void test_copy(void **state) {
  (void)state;
  uint8_t rgb[] = {1, 2, 3, 4, 5, 6};
  dq_canvas canvas;
  assert_int_equal(dq_canvas_copy(&canvas, rgb, 1, 2, NULL, NULL), DQ_OK);
  memset(rgb, 0, sizeof rgb);
  assert_int_equal(pixel(&canvas, 0, 0), 0x010203);
  assert_int_equal(pixel(&canvas, 0, 1), 0x040506);
  dq_canvas_deinit(&canvas);
}

// ---- Boxes ----

static void test_outline(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(8, 6);
  dq_canvas_outline(&canvas, (dq_draw_box){6.5, 0.6, 1.4, 4.5}, INK, 1); // columns 1 to 6, rows 1 to 4
  check_drawn(&canvas, "........"
                       ".######."
                       ".#....#."
                       ".#....#."
                       ".######."
                       "........");
  dq_canvas_outline(&canvas, (dq_draw_box){-3, -2, 3, 3}, INK, 2.4); // half of it is outside
  check_drawn(&canvas, ".##....."
                       "#######."
                       "###...#."
                       ".#....#."
                       ".######."
                       "........");
  clear(&canvas);
  dq_canvas_outline(&canvas, (dq_draw_box){1, 1, 5, 4}, INK, 2); // no pixel is left inside
  dq_canvas_outline(&canvas, (dq_draw_box){7.2, 5.1, 7.3, 5.2}, INK, 0.1);
  check_drawn(&canvas, "........"
                       ".####..."
                       ".####..."
                       ".####..."
                       "........"
                       ".......#");
  dq_canvas_deinit(&canvas);
}

static void test_fill(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(4, 2);
  dq_canvas_fill(&canvas, (dq_draw_box){1, 0, 3, 9}, (dq_colour){0, 100, 255}, 0.5);
  assert_int_equal(pixel(&canvas, 0, 0), 0xffffff);
  assert_int_equal(pixel(&canvas, 1, 0), 0x80b2ff); // 127.5, 177.5 and 255, halves rounded up
  assert_int_equal(pixel(&canvas, 2, 1), 0x80b2ff);
  assert_int_equal(pixel(&canvas, 3, 1), 0xffffff);
  dq_canvas_fill(&canvas, (dq_draw_box){0, 0, 4, 2}, INK, 0);
  dq_canvas_fill(&canvas, (dq_draw_box){0, 0, 4, 2}, INK, -1);
  dq_canvas_fill(&canvas, (dq_draw_box){0, 0, 4, 2}, INK, NAN);
  assert_int_equal(pixel(&canvas, 0, 0), 0xffffff);
  dq_canvas_fill(&canvas, (dq_draw_box){-INFINITY, -1e300, INFINITY, 1e300}, INK, INFINITY);
  check_drawn(&canvas, "########");
  dq_canvas_deinit(&canvas);
}

// ---- Lines ----

static void test_lines(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(7, 5);
  dq_canvas_line(&canvas, (dq_point){1.5, 1.5}, (dq_point){4.5, 1.5}, INK, 1);
  dq_canvas_line(&canvas, (dq_point){6.5, 4.5}, (dq_point){6.5, -20}, INK, 1);
  check_drawn(&canvas, "......#"
                       ".####.#"
                       "......#"
                       "......#"
                       "......#");
  clear(&canvas);
  // A line between two rows of centres takes half of both; the corners beyond its end are sqrt(0.5) away.
  dq_canvas_line(&canvas, (dq_point){0, 2}, (dq_point){3, 2}, INK, 1);
  assert_int_equal(pixel(&canvas, 2, 1), 0x808080);
  assert_int_equal(pixel(&canvas, 2, 2), 0x808080);
  assert_int_equal(pixel(&canvas, 3, 2), 0xb4b4b4); // 255 sqrt(0.5) = 180.3
  assert_int_equal(pixel(&canvas, 2, 0), 0xffffff);
  clear(&canvas);
  dq_canvas_line(&canvas, (dq_point){0.5, 0.5}, (dq_point){4.5, 4.5}, INK, 1); // neighbours are sqrt(0.5) away
  for (int i = 0; i < 5; i++) assert_int_equal(pixel(&canvas, i, i), 0);
  assert_int_equal(pixel(&canvas, 3, 2), 0xb4b4b4);
  assert_int_equal(pixel(&canvas, 4, 2), 0xffffff);
  dq_canvas_deinit(&canvas);
}

// The distance of a point from a segment that is not a point.
static double distance(dq_point a, dq_point b, double x, double y) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double t = fmin(fmax(((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy), 0), 1);
  return hypot(x - a.x - t * dx, y - a.y - t * dy);
}

// Every pixel of random lines has the share of its distance.
static void test_line_shares(void **state) {
  (void)state;
  dq_random random = {11};
  enum { SIDE = 24 };
  dq_canvas canvas = new_canvas(SIDE, SIDE);
  for (int i = 0; i < 500; i++) {
    double n[5];
    for (int k = 0; k < 5; k++) n[k] = dq_random_between(&random, k < 4 ? -6 : 0.2, k < 4 ? 30 : 6);
    const dq_point a = {n[0], n[1]}, b = {n[2], n[3]};
    clear(&canvas);
    dq_canvas_line(&canvas, a, b, INK, n[4]);
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        const double share = fmin(fmax(n[4] / 2 + 0.5 - distance(a, b, x + 0.5, y + 0.5), 0), 1);
        const int found = pixel(&canvas, x, y) & 255, expected = (int)(255 * (1 - share) + 0.5);
        if (abs(found - expected) > 1) fail_msg("line %d, pixel %d, %d: %d, expected %d", i, x, y, found, expected);
      }
  }
  dq_canvas_deinit(&canvas);
}

static void test_discs(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(7, 5);
  dq_canvas_disc(&canvas, (dq_point){3.5, 2.5}, 1.5, INK); // sqrt(2) lies within, 2 and more does not
  check_drawn(&canvas, "......."
                       "..+#+.."
                       "..###.."
                       "..+#+.."
                       ".......");
  assert_int_equal(pixel(&canvas, 2, 1), 0x6a6a6a); // 255 (sqrt(2) - 1) = 105.6
  dq_canvas_deinit(&canvas);
}

static void test_polygons(void **state) {
  (void)state;
  static const dq_point corners[] = {{1.5, 0.5}, {5.5, 0.5}, {5.5, 3.5}, {1.5, 3.5}};
  dq_canvas canvas = new_canvas(7, 5);
  dq_canvas_polygon(&canvas, corners, 0, INK, 1);
  check_drawn(&canvas, "...................................");
  dq_canvas_polygon(&canvas, corners, 4, INK, 1);
  check_drawn(&canvas, ".#####."
                       ".#...#."
                       ".#...#."
                       ".#####."
                       ".......");
  clear(&canvas);
  dq_canvas_polygon(&canvas, corners, 1, INK, 1);
  check_drawn(&canvas, ".#....."
                       "......."
                       "......."
                       "......."
                       ".......");
  dq_canvas_deinit(&canvas);
}

// ---- Edges and numbers that are none ----

enum { SHAPES = 8, NUMBERS = 6 };

// Draws a shape by six numbers: four coordinates, a thickness, an alpha.
static void draw_shape(dq_canvas *canvas, int shape, const double n[NUMBERS]) {
  static const uint8_t bytes[] = {1, 0, 2, 3, 0, 4};
  static const float floats[] = {0, 1, 2, 3, 4, 5};
  const dq_byte_plane plane = {3, 2, bytes};
  const dq_float_plane map = {3, 2, floats};
  const dq_draw_box box = {n[0], n[1], n[2], n[3]};
  const dq_point a = {n[0], n[1]}, b = {n[2], n[3]};
  switch (shape) {
  case 0: dq_canvas_fill(canvas, box, INK, n[5]); break;
  case 1: dq_canvas_outline(canvas, box, INK, n[4]); break;
  case 2: dq_canvas_line(canvas, a, b, INK, n[4]); break;
  case 3: dq_canvas_disc(canvas, a, n[4], INK); break;
  case 4: dq_canvas_polygon(canvas, (dq_point[]){a, b, {n[2], n[1]}}, 3, INK, n[4]); break;
  case 5: dq_canvas_mask(canvas, &plane, box, INK, n[5]); break;
  case 6: dq_canvas_classes(canvas, &plane, box, 0, n[5]); break;
  default: dq_canvas_map(canvas, &map, box, (dq_scale){0, 5}, n[5]);
  }
}

// What is drawn on a small canvas is the part of the same drawing on a large one.
static void test_clipping(void **state) {
  (void)state;
  dq_random random = {7};
  enum { WIDTH = 13, HEIGHT = 9, AROUND = 40 };
  for (int i = 0; i < 4000; i++) {
    dq_canvas small = new_canvas(WIDTH, HEIGHT), large = new_canvas(WIDTH + 2 * AROUND, HEIGHT + 2 * AROUND);
    double n[NUMBERS], moved[NUMBERS];
    for (int k = 0; k < NUMBERS; k++) { // quarters, so that both drawings compute with the same differences
      n[k] = k < 4 ? (double)dq_random_below(&random, 200) / 4 - 20 : (double)(1 + dq_random_below(&random, 19)) / 4;
      moved[k] = k < 4 ? n[k] + AROUND : n[k];
    }
    n[5] = moved[5] = 0.5;
    const int shape = i % SHAPES;
    draw_shape(&small, shape, n), draw_shape(&large, shape, moved);
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++)
        if (pixel(&small, x, y) != pixel(&large, x + AROUND, y + AROUND))
          fail_msg("shape %d, %g %g %g %g %g: pixel %d, %d: %06x and %06x", shape, n[0], n[1], n[2], n[3], n[4], x, y,
                   pixel(&small, x, y), pixel(&large, x + AROUND, y + AROUND));
    dq_canvas_deinit(&small), dq_canvas_deinit(&large);
  }
}

static bool is_blank(const dq_canvas *canvas) {
  for (int i = 0; i < canvas->width * canvas->height * 3; i++)
    if (canvas->pixels[i] != 255) return false;
  return true;
}

static void test_any_number(void **state) {
  (void)state;
  static const double odd[] = {NAN, INFINITY, -INFINITY, 1.7e308, -1.7e308, 1e10, -1e10, 4.9e-324, -0.0, 0, 0.5, 5};
  static const bool used[SHAPES][NUMBERS] = {{1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0},
                                             {1, 1, 0, 0, 1, 0}, {0, 0, 0, 0, 1, 0}, {1, 1, 1, 1, 0, 1},
                                             {1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}};
  dq_canvas canvas = new_canvas(9, 7);
  for (int shape = 0; shape < SHAPES; shape++)
    for (int a = 0; a < NUMBERS * 12; a++)
      for (int b = 0; b < NUMBERS * 12; b++) {
        double n[NUMBERS] = {1, 2, 8, 6, 2, 0.5};
        n[a / 12] = odd[a % 12], n[b / 12] = odd[b % 12];
        clear(&canvas);
        draw_shape(&canvas, shape, n);
        for (int k = 0; k < NUMBERS; k++)
          if (used[shape][k] && isnan(n[k])) assert_true(is_blank(&canvas));
      }
  dq_canvas_deinit(&canvas);
}

static void test_far_away(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(5, 3);
  dq_canvas_line(&canvas, (dq_point){-1e300, 1.5}, (dq_point){INFINITY, 1.5}, INK, 1);
  check_drawn(&canvas, ".....#####.....");
  clear(&canvas);
  dq_canvas_disc(&canvas, (dq_point){2, 1}, INFINITY, INK);
  check_drawn(&canvas, "###############");
  clear(&canvas);
  dq_canvas_outline(&canvas, (dq_draw_box){1, -INFINITY, INFINITY, INFINITY}, INK, 1);
  check_drawn(&canvas, ".#....#....#...");
  dq_canvas_deinit(&canvas);
}

// ---- Files ----

static void path_of(const char *name, char path[200]) { snprintf(path, 200, "%s/%s", folder, name); }

static int files_in_folder(void) {
  int count = 0;
  DIR *open = opendir(folder);
  for (const struct dirent *entry; (entry = readdir(open));) count += entry->d_name[0] != '.';
  closedir(open);
  return count;
}

static void check_written(const dq_canvas *canvas, const char *path) {
  dq_image image;
  dq_error error;
  if (dq_image_read(&image, path, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(image.width, canvas->width);
  assert_int_equal(image.height, canvas->height);
  assert_int_equal(image.channels, 3);
  assert_memory_equal(image.pixels, canvas->pixels, 3 * (size_t)canvas->width * (size_t)canvas->height);
  dq_image_deinit(&image);
}

static void test_png(void **state) {
  (void)state;
  static const int sizes[][2] = {{1, 1}, {2, 3}, {257, 131}, {1, 3000}, {3000, 1}, {640, 480}};
  char path[200];
  path_of("a.png", path);
  dq_random random = {3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int kind = 0; kind < 3; kind++) { // one colour, noise, noise of few values
      dq_canvas canvas = new_canvas(sizes[i][0], sizes[i][1]);
      for (int k = 0; kind && k < canvas.width * canvas.height * 3; k++)
        canvas.pixels[k] = (uint8_t)dq_random_below(&random, kind == 1 ? 256 : 3);
      assert_int_equal(dq_canvas_write_png(&canvas, path, NULL), DQ_OK);
      check_written(&canvas, path);
      dq_canvas_deinit(&canvas);
    }
  assert_int_equal(files_in_folder(), 1);
  unlink(path);
}

static void test_unwritable(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(3, 3);
  dq_error error;
  assert_int_equal(dq_canvas_write_png(&canvas, "/tmp/no such folder/a.png", &error), DQ_SYSTEM);
  assert_non_null(strstr(error.message, "/tmp/no such folder/a.png"));
  assert_int_equal(dq_canvas_write_png(&canvas, folder, &error), DQ_SYSTEM);
  assert_int_equal(dq_canvas_write_png(&canvas, "/dev/full", &error), DQ_SYSTEM);
  dq_canvas_deinit(&canvas);
}

// Each request of the encoder is refused in turn: what was there before stays, and nothing is lost.
static void test_memory(void **state) {
  (void)state;
  char path[200];
  path_of("b.png", path);
  dq_canvas old = new_canvas(2, 2), canvas;
  assert_int_equal(dq_canvas_write_png(&old, path, NULL), DQ_OK);
  dq_budget budget = {0};
  assert_int_equal(dq_canvas_init(&canvas, 60, 40, PAPER, &budget, NULL), DQ_OK);
  dq_random random = {5};
  for (int i = 0; i < 60 * 40 * 3; i++) canvas.pixels[i] = (uint8_t)dq_random_below(&random, 9);
  const size_t used = budget.used;
  dq_status status = DQ_SYSTEM;
  int refused = 0;
  for (budget.limit = used; status != DQ_OK; budget.limit += 331) {
    dq_error error;
    status = dq_canvas_write_png(&canvas, path, &error);
    assert_int_equal(budget.used, used);
    if (status == DQ_OK) break;
    assert_int_equal(status, DQ_SYSTEM);
    assert_memory_equal(error.message, "out of memory: ", 15);
    check_written(&old, path);
    refused++;
  }
  assert_true(refused > 500);
  check_written(&canvas, path);
  assert_int_equal(files_in_folder(), 1);
  unlink(path);
  dq_canvas_deinit(&old), dq_canvas_deinit(&canvas);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}
static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),      cmocka_unit_test(test_copy),     cmocka_unit_test(test_outline),
      cmocka_unit_test(test_fill),       cmocka_unit_test(test_lines),    cmocka_unit_test(test_line_shares),
      cmocka_unit_test(test_discs),      cmocka_unit_test(test_polygons), cmocka_unit_test(test_clipping),
      cmocka_unit_test(test_any_number), cmocka_unit_test(test_far_away), cmocka_unit_test(test_png),
      cmocka_unit_test(test_unwritable), cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
