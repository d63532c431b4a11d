// Rows that a TopK sorted are found, and compared with those of the other network that are most like them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/sorted_rows.h"
#include "tests/unit/small_network.h"

static dq_tensor shape_of(int rank, const int64_t *dims) {
  dq_tensor shape = {.type = DQ_F32, .rank = rank};
  memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
  return shape;
}

// Scores of 0.9, 0.8 and 0.1 at 10, 50 and 90. In the other network the first two have changed places, 0.7 and 0.85,
// and the third is at 80. The sums of squares of the columns are 1.46 and 10700, so that 0.9 at 10 is nearer to 0.7 at
// 10 (0.04 / 1.46) than to 0.85 at 50 (0.0025 / 1.46 + 1600 / 10700).
static void rows_that_changed_places(void **state) {
  (void)state;
  const dq_tensor shape = shape_of(3, (int64_t[]){1, 3, 2});
  const float exact[] = {0.9f, 10, 0.8f, 50, 0.1f, 90}, other[] = {0.85f, 50, 0.7f, 10, 0.1f, 80};
  const float wanted[] = {0.7f, 10, 0.85f, 50, 0.1f, 80};
  float matched[6];
  dq_error error;
  assert_int_equal(dq_match_rows(matched, &shape, exact, other, &error), DQ_OK);
  assert_memory_equal(matched, wanted, sizeof wanted);
}

// Each plane by itself; a column of zeros has no say; a row with NaN is taken when no other is left.
static void planes_zeros_and_nan(void **state) {
  (void)state;
  const dq_tensor shape = shape_of(3, (int64_t[]){2, 2, 2});
  const float exact[] = {1, 0, 2, 0, 5, 5, 7, 7}, other[] = {2, 9, 1, 8, NAN, 5, 5, 5};
  const float wanted[] = {1, 8, 2, 9, 5, 5, NAN, 5};
  float matched[8];
  dq_error error;
  assert_int_equal(dq_match_rows(matched, &shape, exact, other, &error), DQ_OK);
  for (int i = 0; i < 8; i++) assert_true(matched[i] == wanted[i] || (isnan(matched[i]) && isnan(wanted[i])));
}

// x -TopK-> v, k; k -Unsqueeze-> u; x, u -GatherElements-> g -`last`-> y. `sorted`: else a Relu of x gives the indices.
static const dq_value *build(network *it, const char *last, bool sorted) {
  dq_graph *graph = it->graph;
  dq_value *x = network_value(it, "x"), *k = network_value(it, "k"), *u = network_value(it, "u");
  dq_value *outputs[] = {network_value(it, "v"), k}, *g = network_value(it, "g"), *gathered[] = {x, u};
  dq_graph_set_opset(graph, "", 13, NULL);
  if (sorted) dq_graph_add_node(graph, 0, "TopK", "sort", 1, &x, 2, outputs);
  else dq_graph_add_node(graph, 0, "Relu", "not", 1, &x, 1, &k);
  dq_graph_add_node(graph, 1, "Unsqueeze", "u", 1, &k, 1, &u);
  dq_graph_add_node(graph, 2, "GatherElements", "g", 2, gathered, 1, &g);
  network_node(it, last, g, NULL, NULL, network_value(it, "y"));
  network_finish(it);
  return network_value(it, "y");
}

static void rows_behind_a_topk(void **state) {
  const dq_tensor rows = shape_of(3, (int64_t[]){1, 300, 6}), column = shape_of(3, (int64_t[]){1, 300, 1}),
                  many = shape_of(3, (int64_t[]){1, 4097, 6}), vector = shape_of(1, (int64_t[]){300});
  const dq_value *y = build(*state, "Reshape", true);
  assert_true(dq_has_sorted_rows(y, &rows));
  assert_false(dq_has_sorted_rows(y, &column) || dq_has_sorted_rows(y, &many) || dq_has_sorted_rows(y, &vector));
  assert_false(dq_has_sorted_rows(network_value(*state, "x"), &rows));
}

static void indices_of_something_else(void **state) {
  const dq_tensor rows = shape_of(3, (int64_t[]){1, 300, 6});
  assert_false(dq_has_sorted_rows(build(*state, "Reshape", false), &rows));
}

// What a convolution makes of the rows is no longer their numbers.
static void computed_behind(void **state) {
  const dq_tensor rows = shape_of(3, (int64_t[]){1, 300, 6});
  assert_false(dq_has_sorted_rows(build(*state, "Conv", true), &rows));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_that_changed_places), cmocka_unit_test(planes_zeros_and_nan),
                                     TEST(rows_behind_a_topk), TEST(indices_of_something_else), TEST(computed_behind)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
