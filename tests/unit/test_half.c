// binary16 conversion: hand-worked values and every half there and back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/base/half.h"

static void known_values(void **state) {
  (void)state;
  assert_int_equal(dq_float_to_half(1.0f), 0x3c00);
  assert_int_equal(dq_float_to_half(-2.0f), 0xc000);
  assert_int_equal(dq_float_to_half(65504.0f), 0x7bff);
  assert_int_equal(dq_float_to_half(65519.996f), 0x7bff);
  assert_int_equal(dq_float_to_half(65520.0f), 0x7c00);
  assert_int_equal(dq_float_to_half(0x1p-24f), 0x0001);
  assert_int_equal(dq_float_to_half(0x1p-25f), 0x0000);          // tie to even: down
  assert_int_equal(dq_float_to_half(0x1.8p-24f), 0x0002);        // tie to even: up
  assert_int_equal(dq_float_to_half(1.0f + 0x1p-11f), 0x3c00);   // tie to even: down
  assert_int_equal(dq_float_to_half(1.0f + 0x1.8p-10f), 0x3c02); // tie to even: up
  assert_int_equal(dq_float_to_half(-0.0f), 0x8000);
}

static void every_half_survives(void **state) {
  (void)state;
  for (uint32_t half = 0; half < 65536; half++) {
    float value = dq_half_to_float((uint16_t)half);
    if (isnan(value)) assert_true(isnan(dq_half_to_float(dq_float_to_half(value))));
    else assert_int_equal(dq_float_to_half(value), half);
  }
}

// 2^-11 is half of the last place of 1: what the exact product has beyond it decides.
static void fused_by_hand(void **state) {
  (void)state;
  uint16_t one = 0x3c00, tiny = 0x0001;
  assert_int_equal(dq_half_fma(one, one, one), 0x4000);
  assert_int_equal(dq_half_fma(dq_float_to_half(0x1p-6f), dq_float_to_half(0x1p-5f), one), 0x3c00); // a tie, to even
  assert_int_equal(dq_half_fma(dq_float_to_half(0x1.004p-6f), dq_float_to_half(0x1p-5f), one), 0x3c01);
  assert_int_equal(dq_half_fma(tiny, tiny, dq_float_to_half(1.0f + 0x1p-10f)), 0x3c01);
  assert_int_equal(dq_half_fma(0x7bff, 0x7bff, 0xfbff), 0x7c00); // 65504^2 - 65504 overflows
  assert_true(isnan(dq_half_to_float(dq_half_fma(0x7c00, 0, one))));
  assert_int_equal(dq_half_fma(one, one, 0xbc00), 0x0000); // 1 - 1 is +0
}

// Rounded once: no float16 is nearer to the exact result, and of two as near it is the even one. Quadruple precision
// holds every sum exactly: its bits lie between 2^-48 and 2^33.
static void fused_is_nearest(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < 300000; i++) {
    uint16_t f[3];
    for (int k = 0; k < 3; k++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      f[k] = (uint16_t)(random >> 40);
      if ((f[k] & 0x7c00) == 0x7c00) f[k] &= 0xbfff; // finite
    }
    if (i % 3 == 0) f[2] = dq_float_to_half(-dq_half_to_float(f[0]) * dq_half_to_float(f[1])); // nearly nothing is left
    if ((f[2] & 0x7c00) == 0x7c00) continue;
    __float128 exact =
        (__float128)dq_half_to_float(f[0]) * (__float128)dq_half_to_float(f[1]) + (__float128)dq_half_to_float(f[2]);
    uint16_t found = dq_half_fma(f[0], f[1], f[2]);
    __float128 size = exact < 0 ? -exact : exact;
    if (size >= 65520) {
      assert_int_equal(found & 0x7fff, 0x7c00);
      continue;
    }
    uint16_t magnitude = found & 0x7fff;
    __float128 above = dq_half_to_float((uint16_t)(magnitude + 1)), here = dq_half_to_float(magnitude);
    __float128 below = magnitude ? dq_half_to_float((uint16_t)(magnitude - 1)) : -1;
    if (magnitude == 0x7bff) above = 65536;
    assert_true(size * 2 <= here + above && size * 2 >= here + below);
    if (size * 2 == here + above || size * 2 == here + below) assert_int_equal(magnitude & 1, 0);
    if (size > 0) assert_int_equal(found >> 15, exact < 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(known_values), cmocka_unit_test(every_half_survives),
                                     cmocka_unit_test(fused_by_hand), cmocka_unit_test(fused_is_nearest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
