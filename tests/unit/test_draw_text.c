// Colours, planes of values, text and labels on canvases, and two canvases beside each other, against results by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/draw/canvas_beside.h"
#include "lib/draw/canvas_text.h"
#include "lib/draw/overlay.h"
#include "lib/draw/palette.h"
#include "tests/unit/drawn.h"

// ---- Colours ----

static int number_of(dq_colour colour) { return colour.red << 16 | colour.green << 8 | colour.blue; }

typedef struct oklab {
  double lightness, a, b;
} oklab;

static double linear(int channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

// B. Ottosson, "A perceptual color space for image processing", 2020.
static oklab oklab_of(dq_colour colour) {
  const double r = linear(colour.red), g = linear(colour.green), b = linear(colour.blue);
  const double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return (oklab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

static double difference(dq_colour x, dq_colour y) {
  const oklab a = oklab_of(x), b = oklab_of(y);
  return sqrt(pow(a.lightness - b.lightness, 2) + pow(a.a - b.a, 2) + pow(a.b - b.b, 2));
}

static void test_palette(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++)
    for (int k = 0; k < i; k++) assert_true(difference(dq_palette_colour(i), dq_palette_colour(k)) >= 0.12);
  for (int i = 20; i < 200; i++) {
    assert_true(difference(dq_palette_colour(i), dq_palette_colour(i + 1)) >= 0.12);
    for (int k = 0; k < i; k++) assert_int_not_equal(number_of(dq_palette_colour(i)), number_of(dq_palette_colour(k)));
  }
  assert_int_equal(number_of(dq_palette_colour(-5)), number_of(dq_palette_colour(0)));
  // 20 x 0.6180339887 = 12.3607 turns: a hue of 0.3607 x 6 = 2.1641 sectors, saturation 0.85, value 0.75.
  // 191.25; x 0.15 = 28.69; x (1 - 0.85 x 0.8359) = 55.36
  assert_int_equal(number_of(dq_palette_colour(20)), 0x1dbf37);
  dq_palette_colour(INT64_MAX);
}

static void test_contrast(void **state) {
  (void)state;
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){0, 0, 0})), 0xffffff);
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){255, 255, 255})), 0);
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){0, 0, 255})), 0xffffff);     // luminance 0.0722
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){255, 0, 0})), 0);            // 0.2126: 5.25 to 4.00
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){118, 118, 118})), 0);        // 0.1812: 4.62 to 4.54
  assert_int_equal(number_of(dq_contrast_colour((dq_colour){117, 117, 117})), 0xffffff); // 0.1779: 4.56 to 4.61
}

static void test_scale(void **state) {
  (void)state;
  assert_int_equal(number_of(dq_scale_colour(0)), 0x160245);
  assert_int_equal(number_of(dq_scale_colour(-3)), 0x160245);
  assert_int_equal(number_of(dq_scale_colour(NAN)), 0x160245);
  assert_int_equal(number_of(dq_scale_colour(1)), 0xfef46e);
  assert_int_equal(number_of(dq_scale_colour(INFINITY)), 0xfef46e);
  assert_int_equal(number_of(dq_scale_colour(1.0 / 32)), 0x20034d); // between {22, 2, 69} and {42, 4, 85}
  for (int i = 0; i < 32; i++) {                                    // steps are even for the eye
    const dq_colour a = dq_scale_colour(i / 32.0), b = dq_scale_colour((i + 1) / 32.0);
    const double lighter = oklab_of(b).lightness - oklab_of(a).lightness;
    assert_true(lighter > 0.85 * 0.75 / 32);
    assert_true(lighter < 1.15 * 0.75 / 32);
    assert_true(difference(a, b) < 1.2 * 0.058 / 2);
  }
}

// ---- Planes ----

static void test_mask(void **state) {
  (void)state;
  static const uint8_t values[] = {1, 0, 0, 7, 7, 0};
  const dq_byte_plane mask = {3, 2, values}, one = {1, 1, values};
  dq_canvas canvas = new_canvas(8, 5);
  dq_canvas_mask(&canvas, &mask, (dq_draw_box){1, 0, 7, 4}, INK, 1); // elements of 2 x 2 pixels
  check_drawn(&canvas, ".##....."
                       ".##....."
                       ".####..."
                       ".####..."
                       "........");
  clear(&canvas);
  dq_canvas_mask(&canvas, &mask, (dq_draw_box){6, 3, 4.5, 2}, INK, 1); // smaller than the mask: pixel 5 has element 2
  dq_canvas_mask(&canvas, &one, (dq_draw_box){0.6, 0.4, 2.5, 0.6}, INK, 0.5); // one centre
  dq_canvas_mask(&canvas, &one, (dq_draw_box){3, 3, 3, 5}, INK, 1);
  check_drawn(&canvas, ".+......"
                       "........"
                       "....#..."
                       "........"
                       "........");
  assert_int_equal(pixel(&canvas, 1, 0), 0x808080);
  dq_canvas_deinit(&canvas);
}

static void test_classes(void **state) {
  (void)state;
  static const uint8_t values[] = {0, 1, 255};
  const dq_byte_plane classes = {3, 1, values};
  dq_canvas canvas = new_canvas(3, 1);
  dq_canvas_classes(&canvas, &classes, (dq_draw_box){0, 0, 3, 1}, 255, 1);
  assert_int_equal(pixel(&canvas, 0, 0), number_of(dq_palette_colour(0)));
  assert_int_equal(pixel(&canvas, 1, 0), number_of(dq_palette_colour(1)));
  assert_int_equal(pixel(&canvas, 2, 0), 0xffffff);
  dq_canvas_classes(&canvas, &classes, (dq_draw_box){0, 0, 3, 1}, -1, 1);
  assert_int_equal(pixel(&canvas, 2, 0), number_of(dq_palette_colour(255)));
  dq_canvas_deinit(&canvas);
}

static void test_map(void **state) {
  (void)state;
  static const float values[] = {2, NAN, 6, INFINITY, -INFINITY, 4};
  const dq_float_plane map = {6, 1, values}, none = {2, 1, (const float[]){NAN, INFINITY}};
  const dq_scale scale = dq_scale_of(&map);
  assert_true(scale.low == 2 && scale.high == 6);
  assert_true(dq_scale_of(&none).low == 0 && dq_scale_of(&none).high == 0);
  dq_canvas canvas = new_canvas(6, 1);
  dq_canvas_map(&canvas, &map, (dq_draw_box){0, 0, 6, 1}, scale, 1);
  static const double shares[] = {0, NAN, 1, 1, 0, 0.5};
  for (int x = 0; x < 6; x++)
    assert_int_equal(pixel(&canvas, x, 0), x == 1 ? 0xffffff : number_of(dq_scale_colour(shares[x])));
  dq_canvas_map(&canvas, &map, (dq_draw_box){0, 0, 6, 1}, (dq_scale){3, 3}, 1);
  assert_int_equal(pixel(&canvas, 2, 0), number_of(dq_scale_colour(0)));
  dq_canvas_deinit(&canvas);
}

// ---- Text ----

static void test_text(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(12, 9);
  dq_canvas_text(&canvas, (dq_point){0.4, -0.4}, "Tp", 1, INK);
  check_drawn(&canvas, "#####......."
                       "..#........."
                       "..#...####.."
                       "..#...#...#."
                       "..#...#...#."
                       "..#...#...#."
                       "..#...####.."
                       "......#....."
                       "......#.....");
  clear(&canvas);
  dq_canvas_text(&canvas, (dq_point){1, -7}, "T", 2, INK); // rows from 3 1/2 on, twice as large
  check_drawn(&canvas, ".....##....."
                       ".....##....."
                       ".....##....."
                       ".....##....."
                       ".....##....."
                       ".....##....."
                       ".....##....."
                       "............"
                       "............");
  clear(&canvas);
  dq_canvas_text(&canvas, (dq_point){NAN, 0}, "T", 1, INK);
  dq_canvas_text(&canvas, (dq_point){INFINITY, -INFINITY}, "T", INT32_MAX, INK);
  dq_canvas_text(&canvas, (dq_point){-40, 0}, "T", 1, INK);
  dq_canvas_text(&canvas, (dq_point){0, 0}, "", 1, INK);
  for (int i = 0; i < 12 * 9; i++) assert_int_equal(pixel(&canvas, i % 12, i / 12), 0xffffff);
  dq_canvas_deinit(&canvas);
}

static void check_same_text(const char *text, const char *as) {
  dq_canvas a = new_canvas(60, 9), b = new_canvas(60, 9);
  dq_canvas_text(&a, (dq_point){0, 0}, text, 1, INK);
  dq_canvas_text(&b, (dq_point){0, 0}, as, 1, INK);
  assert_memory_equal(a.pixels, b.pixels, 60 * 9 * 3);
  dq_canvas_deinit(&a), dq_canvas_deinit(&b);
}

static void test_characters(void **state) {
  (void)state;
  check_same_text("\u00c0\u00c5\u00c7\u00d1\u00d6\u00d8\u00dd", "AACNOOY");
  check_same_text("\u00e4\u00e9\u00f1\u00f8\u00ff\u00a0!", "aenoy !");
  dq_canvas canvas = new_canvas(6, 9);
  static const char *const boxes[] = {"\u00df", "\u6f22", "\xff",       "\xc3",  "\n",
                                      "\x7f",   "\u00d7", "\U0001f600", "\u202e"};
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
    clear(&canvas);
    dq_canvas_text(&canvas, (dq_point){0, 0}, boxes[i], 1, INK);
    check_drawn(&canvas, "#####."
                         "#...#."
                         "#...#."
                         "#...#."
                         "#...#."
                         "#...#."
                         "#####."
                         "......"
                         "......");
  }
  // Each character of ASCII but the space has ink, and no two are the same.
  static uint8_t seen[128][6 * 9 * 3];
  for (int i = 32; i < 127; i++) {
    clear(&canvas);
    dq_canvas_text(&canvas, (dq_point){0, 0}, (const char[]){(char)i, 0}, 1, INK);
    memcpy(seen[i], canvas.pixels, sizeof seen[i]);
    for (int k = 32; k < i; k++) assert_memory_not_equal(seen[i], seen[k], sizeof seen[i]);
  }
  dq_canvas_deinit(&canvas);
}

static void test_widths(void **state) {
  (void)state;
  assert_int_equal(dq_canvas_text_width("", 3), 0);
  assert_int_equal(dq_canvas_text_width("a", 1), 5);
  assert_int_equal(dq_canvas_text_width("ab\u00e9", 2), 34); // (3 x 6 - 1) x 2
  assert_int_equal(dq_canvas_text_height(2), 18);
  static const int sizes[][5] = {{96, 96, 1, 2, 1},     {320, 320, 1, 2, 1}, {640, 480, 2, 4, 1},
                                 {1080, 1920, 5, 8, 3}, {1, 1, 1, 2, 1},     {DQ_CANVAS_LARGEST_SIDE, 330, 2, 4, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const dq_draw_sizes found = dq_draw_sizes_for(sizes[i][0], sizes[i][1]);
    assert_int_equal(found.thickness, sizes[i][2]);
    assert_int_equal(found.radius, sizes[i][3]);
    assert_int_equal(found.text, sizes[i][4]);
  }
}

static void test_shortened(void **state) {
  (void)state;
  dq_canvas a = new_canvas(40, 9), b = new_canvas(40, 9);
  dq_canvas_text_within(&a, (dq_point){1, 0}, "people", 23, 1, INK); // 4 characters take 23 pixels
  dq_canvas_text(&b, (dq_point){1, 0}, "pe..", 1, INK);
  assert_memory_equal(a.pixels, b.pixels, 40 * 9 * 3);
  clear(&a), clear(&b);
  dq_canvas_text_within(&a, (dq_point){1, 0}, "people", 35, 1, INK);
  dq_canvas_text(&b, (dq_point){1, 0}, "people", 1, INK);
  assert_memory_equal(a.pixels, b.pixels, 40 * 9 * 3);
  clear(&a), clear(&b);
  dq_canvas_text_within(&a, (dq_point){1, 0}, "people", 10, 1, INK); // one character
  dq_canvas_text(&b, (dq_point){1, 0}, ".", 1, INK);
  assert_memory_equal(a.pixels, b.pixels, 40 * 9 * 3);
  clear(&a), clear(&b);
  dq_canvas_text_within(&a, (dq_point){1, 0}, "people", 4, 1, INK);
  dq_canvas_text_within(&a, (dq_point){1, 0}, "people", -100, 1, INK);
  assert_memory_equal(a.pixels, b.pixels, 40 * 9 * 3);
  dq_canvas_deinit(&a), dq_canvas_deinit(&b);
}

// ---- Labels ----

// The rectangle of pixels that are not paper.
static void check_covered(const dq_canvas *canvas, int left, int top, int right, int bottom) {
  for (int y = 0; y < canvas->height; y++)
    for (int x = 0; x < canvas->width; x++) {
      const bool inside = x >= left && x < right && y >= top && y < bottom;
      if ((pixel(canvas, x, y) != 0xffffff) != inside)
        fail_msg("%d, %d is %06x, expected %d, %d to %d, %d", x, y, pixel(canvas, x, y), left, top, right, bottom);
    }
}

static void test_labels(void **state) {
  (void)state;
  const dq_colour yellow = {255, 255, 0};
  static const struct {
    double x, y;
    int left, top, right, bottom;
  } cases[] = {
      {10, 20, 10, 10, 23, 20},  // 2 characters: 11 + 2 wide, 9 + 1 high, on the point
      {10, 10, 10, 0, 23, 10},   // just enough space above
      {10, 9, 10, 9, 23, 19},    // not enough: below
      {-5, -30, 0, 0, 13, 10},   // moved onto the canvas
      {38, 100, 27, 20, 40, 30}, // moved as well
      {INFINITY, -INFINITY, 27, 0, 40, 10},
      {1e300, 1e300, 27, 20, 40, 30},
  };
  dq_canvas canvas = new_canvas(40, 30);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clear(&canvas);
    dq_canvas_label(&canvas, (dq_point){cases[i].x, cases[i].y}, "ab", 1, yellow);
    check_covered(&canvas, cases[i].left, cases[i].top, cases[i].right, cases[i].bottom);
    assert_int_equal(pixel(&canvas, cases[i].left, cases[i].top), 0xffff00);
    assert_int_equal(pixel(&canvas, cases[i].left + 2, cases[i].top + 3), 0); // the upper side of the a
  }
  clear(&canvas);
  dq_canvas_label(&canvas, (dq_point){NAN, 5}, "ab", 1, yellow);
  dq_canvas_label(&canvas, (dq_point){5, NAN}, "ab", 1, yellow);
  check_covered(&canvas, 0, 0, 0, 0);
  dq_canvas_label(&canvas, (dq_point){3, 25}, "much too long", 1, yellow);
  check_covered(&canvas, 0, 15, 40, 25);
  dq_canvas_deinit(&canvas);
}

static void test_large_labels(void **state) {
  (void)state;
  dq_canvas canvas = new_canvas(7, 5);
  dq_canvas_label(&canvas, (dq_point){3, 2}, "abc", 1, (dq_colour){1, 1, 1}); // neither its width nor its height fits
  assert_int_equal(pixel(&canvas, 6, 4), 0x010101);
  dq_canvas_label(&canvas, (dq_point){3, 2}, "abc", 1 << 20, (dq_colour){2, 2, 2});
  check_covered(&canvas, 0, 0, 7, 5);
  char *text = malloc(1000001);
  memset(text, 'x', 1000000), text[1000000] = 0;
  dq_canvas_label(&canvas, (dq_point){3, 2}, text, 1, (dq_colour){3, 3, 3});
  free(text);
  dq_canvas_deinit(&canvas);
}

// ---- Two canvases ----

static void test_beside(void **state) {
  (void)state;
  dq_canvas left = new_canvas(20, 4), right = new_canvas(30, 6), both;
  dq_canvas_fill(&left, (dq_draw_box){0, 0, 20, 4}, (dq_colour){1, 2, 3}, 1);
  dq_canvas_fill(&right, (dq_draw_box){0, 0, 30, 6}, (dq_colour){4, 5, 6}, 1);
  assert_int_equal(dq_canvas_beside(&both, &left, &right, (const char *const[]){"float32", "I"}, NULL), DQ_OK);
  assert_int_equal(both.width, 20 + 6 + 30);
  assert_int_equal(both.height, 11 + 6);
  assert_int_equal(pixel(&both, 0, 11), 0x010203);
  assert_int_equal(pixel(&both, 19, 14), 0x010203);
  assert_int_equal(pixel(&both, 19, 15), 0xffffff);
  assert_int_equal(pixel(&both, 20, 11), 0xffffff);
  assert_int_equal(pixel(&both, 26, 11), 0x040506);
  assert_int_equal(pixel(&both, 55, 16), 0x040506);
  dq_canvas line = new_canvas(56, 17); // the captions alone
  dq_canvas_text(&line, (dq_point){0, 2}, "f..", 1, INK);
  dq_canvas_text(&line, (dq_point){26, 2}, "I", 1, INK);
  assert_memory_equal(both.pixels, line.pixels, 56 * 11 * 3);
  dq_canvas_deinit(&both), dq_canvas_deinit(&line);

  dq_canvas wide = new_canvas(DQ_CANVAS_LARGEST_SIDE, 1);
  dq_error error;
  assert_int_equal(dq_canvas_beside(&both, &left, &wide, (const char *const[]){"", ""}, &error), DQ_BAD_INPUT);
  dq_budget budget = {.limit = 100};
  left.budget = &budget;
  assert_int_equal(dq_canvas_beside(&both, &left, &right, (const char *const[]){"", ""}, &error), DQ_SYSTEM);
  left.budget = NULL;
  dq_canvas_deinit(&left), dq_canvas_deinit(&right), dq_canvas_deinit(&wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_palette),   cmocka_unit_test(test_contrast),   cmocka_unit_test(test_scale),
      cmocka_unit_test(test_mask),      cmocka_unit_test(test_classes),    cmocka_unit_test(test_map),
      cmocka_unit_test(test_text),      cmocka_unit_test(test_characters), cmocka_unit_test(test_widths),
      cmocka_unit_test(test_shortened), cmocka_unit_test(test_labels),     cmocka_unit_test(test_large_labels),
      cmocka_unit_test(test_beside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
