// Weights out of the ordinary, by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "lib/measure/weights.h"

static void add(dq_graph *graph, const char *name, int type, int64_t rows, int64_t columns, const double *elements) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, type, columns ? 2 : 1, (int64_t[]){rows, columns});
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, elements[i]);
  assert_non_null(dq_graph_add_constant(graph, name, tensor));
}

static void odd_and_ordinary(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_arena *arena = dq_arena_new(0);
  add(graph, "ordinary", DQ_F32, 2, 2, (double[]){1, -2, 0, 0.5});
  add(graph, "zero bias", DQ_F32, 3, 0, (double[]){0, 0, 0});
  add(graph, "integers", DQ_I32, 2, 2, (double[]){0, 0, 0, 4000});
  add(graph, "not finite", DQ_F32, 2, 2, (double[]){(double)NAN, (double)-INFINITY, (double)INFINITY, 1});
  add(graph, "dead channel", DQ_F64, 3, 2, (double[]){0, 0, 1, 2, 0, -0.0});
  add(graph, "one large", DQ_F32, 2, 2, (double[]){2, -80, 1, 1});    // 80 / 2 = 40
  add(graph, "not so large", DQ_F32, 2, 2, (double[]){2, -64, 1, 1}); // 32 is not over 32
  add(graph, "small", DQ_F16, 2, 2, (double[]){0x1p-14, 0x1p-15, -0x1p-24, 0x1p-14});
  dq_odd_weight *odd;
  dq_error error = {0};
  int count;
  assert_int_equal(dq_weights_find_odd(graph, arena, &odd, &count, &error), DQ_OK);
  assert_int_equal(count, 4);
  assert_string_equal(odd[0].name, "not finite");
  assert_int_equal(odd[0].nan, 1);
  assert_int_equal(odd[0].infinite, 2);
  assert_int_equal(odd[0].denormal + odd[0].zero_channels, 0);
  assert_string_equal(odd[1].name, "dead channel");
  assert_int_equal(odd[1].channels, 3);
  assert_int_equal(odd[1].zero_channels, 2);
  assert_string_equal(odd[2].name, "one large");
  assert_true(odd[2].outlier == 40);
  assert_string_equal(odd[3].name, "small");
  assert_int_equal(odd[3].denormal, 2);
  assert_true(odd[3].outlier == 0);
  dq_graph_free(graph);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(odd_and_ordinary)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
