// The functions of emitted C, compiled here as they stand in emitted sources: against the functions of the executor,
// and by hand. Those of Armv7E-M run in the tests of emitted programs alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/ops/common/fixed_point.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/emit/emitted_dsp.h"
#include "lib/ops/emit/emitted_numbers.h"
#include "lib/ops/emit/emitted_text.h"

#include "lib/ops/emit/emitted_products.h"
#undef T_NAME
#undef T_WEIGHT
#undef T_DATA
#undef DQ_SIXTEEN_T_WEIGHT
#undef DQ_SIXTEEN_T_DATA
#define T_NAME dq_wide_signed_products
#define T_WEIGHT int16_t
#define T_DATA int8_t
#define DQ_SIXTEEN_T_WEIGHT(from) DQ_SIXTEEN_int16_t(from)
#define DQ_SIXTEEN_T_DATA(from) DQ_SIXTEEN_int8_t(from)
#include "lib/ops/emit/emitted_products.h"

enum { TRIES = 20000 };

static float any_float(dq_random *random) {
  const uint32_t bits = (uint32_t)dq_random_next(random);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void rounds_as_the_executor(void **state) {
  (void)state;
  static const float by_hand[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.5f, 127.5f, -129.5f, 1e30f, -1e30f, 0.49999997f};
  dq_random random = {1};
  for (int i = 0; i < TRIES; i++) {
    const float x = i < DQ_COUNT(by_hand) ? by_hand[i] : i % 2 ? any_float(&random) : dq_random_normal(&random) * 90.0f;
    const int32_t expected = dq_round_clamped(x, 3, -128, 127);
    assert_int_equal(dq_round(x, 3, -128, 127), expected);
    assert_int_equal(dq_near(x, 3, -128, 127), expected);
  }
  assert_int_equal(dq_round(2.5f, 0, -128, 127), 2);
  assert_int_equal(dq_round(-3.5f, 10, 0, 255), 6);
}

// 3 2^31 / 2^33 is 0.75: 10 times 0.75 is 7.5, which is rounded up; -10 gives -7.5, rounded up to -7.
static void requantizes(void **state) {
  (void)state;
  const int32_t factor = 3 << 29;
  assert_int_equal(dq_scale(10, factor, 31, 5, -128, 127), 13);
  assert_int_equal(dq_scale(-10, factor, 31, 0, -128, 127), -7);
  assert_int_equal(dq_scale(1000, factor, 31, 0, -128, 127), 127);
  dq_random random = {2};
  for (int i = 0; i < TRIES; i++) { // by the upper half of the product, where the shift is 33 and more
    const int32_t sum = (int32_t)dq_random_next(&random), f = (int32_t)(dq_random_next(&random) >> 34) | 1 << 29;
    const int shift = (int)(dq_random_next(&random) % 8);
    assert_int_equal(dq_high(sum, f, shift, 7, -128, 127), dq_scale(sum, f, 33 + shift, 7, -128, 127));
  }
}

static void converts_doubles(void **state) {
  (void)state;
  assert_int_equal(dq_truncate(2.9, -128, 127), 2);
  assert_int_equal(dq_truncate(-1e9, -128, 127), -128);
  assert_int_equal(dq_truncate((double)NAN, -128, 127), 0);
  assert_true(dq_natural(-1.0) == 0 && dq_natural(1e30) == UINT64_MAX && dq_natural(5.5) == 5);
  assert_true(dq_saturated(1e30) == INT64_MAX && dq_saturated(-1e30) == INT64_MIN && dq_saturated(-5.5) == -5);
  // 1 + 2^-11 + 2^-40 lies above the middle between 1 and the next float16; through float32 it would be the middle.
  assert_int_equal(dq_double_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  assert_int_equal(dq_double_to_half(1 + 0x1p-11), 0x3c00);
  assert_int_equal(dq_double_to_half(-65520.0), 0xfc00);
}

static void powers_and_remainders(void **state) {
  (void)state;
  assert_true(dq_power(3, 5) == 243 && dq_power(-2, 63) == INT64_MIN && dq_power(2, 64) == 0 && dq_power(7, 0) == 1);
  assert_true(dq_power(-1, -3) == -1 && dq_power(-1, -2) == 1 && dq_power(5, -1) == 0 && dq_power(1, -9) == 1);
  assert_true(dq_modulo(5, 3) == 2 && dq_modulo(-5, 3) == 1 && dq_modulo(5, -3) == -1 && dq_modulo(-5, -3) == -2);
  assert_true(signbit(dq_modulo(6, -3)));
  assert_true(dq_unit(-1.0f) == 0 && dq_unit(0.25f) == 0.25f && dq_unit(2.0f) == 1);
}

// Positions of GridSample: 5 thrown back at the end 3 of 0 to 3 is 1, at the end 3 and then 0 of 7.5 it is 1.5.
static void positions_and_weights(void **state) {
  (void)state;
  float weight[4], sum = 0;
  assert_true(dq_reflected(5.0f, 0.0f, 3.0f) == 1 && dq_reflected(7.5f, 0.0f, 3.0f) == 1.5f);
  assert_true(dq_reflected(-1.0f, 0.0f, 3.0f) == 1 && dq_reflected(2.0f, 0.0f, 3.0f) == 2);
  dq_cubic(0.5f, weight);
  for (int i = 0; i < 4; i++) sum += weight[i];
  assert_true(sum == 1 && weight[0] == -0.09375f && weight[1] == 0.59375f);
  dq_cubic(0.0f, weight);
  assert_true(weight[0] == 0 && weight[1] == 1 && weight[2] == 0 && weight[3] == 0);
}

// Levels of a scale of 1/4: the least magnitudes of levels 1 to 3 are those from 1/8, 3/8 and 5/8 on.
static void levels_of_a_scale(void **state) {
  (void)state;
  const float firsts[] = {0.1251f, 0.3751f, 0.6251f};
  int32_t bits[4] = {0};
  memcpy(bits, firsts, sizeof firsts);
  // Significands are shifted to the exponent of the largest, 126: level = significand 2^-24 4, rounded.
  const int32_t top = 126;
  assert_int_equal(dq_level(0.05f, bits, 3, top, 1, 1 << 21, 22), 0);
  assert_int_equal(dq_level(0.26f, bits, 3, top, 1, 1 << 21, 22), 1);
  assert_int_equal(dq_level(-0.5f, bits, 3, top, 1, 1 << 21, 22), -2);
  assert_int_equal(dq_level(9.0f, bits, 3, top, 1, 1 << 21, 22), 3);
  assert_int_equal(dq_level(NAN, bits, 3, top, 1, 1 << 21, 22), -3);
}

// Element e of pixel k lies at e DQ_STEP + k DQ_NEXT(length); the length is a multiple of four.
static void products_of_four_pixels(void **state) {
  (void)state;
  enum { LENGTH = 36 };
  int8_t w[LENGTH], signed_x[4 * LENGTH];
  int16_t wide[LENGTH];
  uint8_t x[4 * LENGTH];
  int32_t sums[4], wide_sums[4];
  dq_random random = {3};
  for (int i = 0; i < LENGTH; i++) w[i] = (int8_t)(dq_random_next(&random) >> 56), wide[i] = (int16_t)(2 * w[i]);
  for (int i = 0; i < 4 * LENGTH; i++)
    x[i] = (uint8_t)(dq_random_next(&random) >> 56), signed_x[i] = (int8_t)(x[i] - 128);
  dq_products(w, x, LENGTH, 11, sums);
  dq_wide_signed_products(wide, signed_x, LENGTH, 11, wide_sums);
  for (int k = 0; k < 4; k++) {
    int32_t sum = 11, wide_sum = 11;
    for (int e = 0; e < LENGTH; e++) {
      const int place = e * DQ_STEP + k * DQ_NEXT(LENGTH);
      sum += w[e] * x[place], wide_sum += wide[e] * signed_x[place];
    }
    assert_int_equal(sums[k], sum);
    assert_int_equal(wide_sums[k], wide_sum);
  }
}

// ---- The rows ----

typedef struct page {
  char text[1 << 16];
} page;

static void print(const bool *helpers, page *to) {
  memset(to, 0, sizeof *to);
  FILE *stream = fmemopen(to->text, sizeof to->text, "w");
  dq_emit_print_helpers(stream, helpers, true);
  dq_emit_print_helpers(stream, helpers, false);
  assert_int_equal(fclose(stream), 0);
}

// The first time that a name stands in the text is in its definition, or in a comment.
static void callees_first(const char *text) {
  for (const char *at = strstr(text, "dq_"); at; at = strstr(at + 3, "dq_")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789"), at);
    if (strstr(text, name) != at) continue;
    size_t before = 0; // letters of the line in front of the name
    while (before < (size_t)(at - text) && at[-1 - (ptrdiff_t)before] != '\n') before++;
    const char *const starts[] = {"static ", "typedef ", "/*", "   "};
    bool defines = false;
    for (int i = 0; i < DQ_COUNT(starts); i++) defines |= !strncmp(at - before, starts[i], strlen(starts[i]));
    if (!defines) fail_msg("%s is called in front of its definition:\n%s", name, text);
  }
}

// What a helper calls stands in front of it, when it is printed with what it needs.
static void helpers_bring_what_they_need(void **state) {
  (void)state;
  for (int h = DQ_EMIT_NONE + 1; h < DQ_EMIT_HELPERS; h++) {
    bool helpers[DQ_EMIT_HELPERS] = {false};
    helpers[h] = true;
    const bool has_text = dq_emit_has_kind(helpers, DQ_EMIT_INTEGERS, true) ||
                          dq_emit_has_kind(helpers, DQ_EMIT_FLOATS, true) ||
                          dq_emit_has_kind(helpers, DQ_EMIT_LIBRARY, true);
    static page alone, whole;
    print(helpers, &alone);
    assert_true((strlen(alone.text) > 0) == has_text);
    dq_emit_add_needs(helpers);
    print(helpers, &whole);
    assert_true(strlen(whole.text) >= strlen(alone.text));
    assert_null(strstr(whole.text, "T_"));
    assert_null(strstr(whole.text, "===="));
    callees_first(whole.text);
  }
}

static void helpers_by_name(void **state) {
  (void)state;
  const char *wide = "?";
  assert_int_equal(dq_emit_helper_named("dq_tanh_one", 11, &wide), DQ_EMIT_TANH);
  assert_string_equal(wide, "tanh");
  assert_int_equal(dq_emit_helper_named("dq_power", 8, &wide), DQ_EMIT_POWER);
  assert_null(wide);
  assert_int_equal(dq_emit_helper_named("dq_power", 7, &wide), DQ_EMIT_NONE);
  assert_int_equal(dq_emit_helper_named("", 0, &wide), DQ_EMIT_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_as_the_executor),  cmocka_unit_test(requantizes),
      cmocka_unit_test(converts_doubles),        cmocka_unit_test(powers_and_remainders),
      cmocka_unit_test(positions_and_weights),   cmocka_unit_test(levels_of_a_scale),
      cmocka_unit_test(products_of_four_pixels), cmocka_unit_test(helpers_bring_what_they_need),
      cmocka_unit_test(helpers_by_name)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
