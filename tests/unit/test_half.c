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
  assert_int_equal(dq_float_to_half(0x1p-25f), 0x0000);           // tie to even: down
  assert_int_equal(dq_float_to_half(0x1.8p-24f), 0x0002);         // tie to even: up
  assert_int_equal(dq_float_to_half(1.0f + 0x1p-11f), 0x3c00);    // tie to even: down
  assert_int_equal(dq_float_to_half(1.0f + 0x1.8p-10f), 0x3c02);  // tie to even: up
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),
                                     cmocka_unit_test(every_half_survives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
