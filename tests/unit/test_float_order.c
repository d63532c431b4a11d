// The order in which layers are left in float, worked by hand on four nodes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "quant/search/float_order.h"

enum { NODES = 4 };

// Two products a and b of one multiply-accumulate each, an addition c and a pool d, so that a and b cost
// 1 / 4 + 1 / 2 and the others 1 / 4. The result of a is read by b, that of b by c.
static dq_sensitivity_node nodes[NODES] = {{"a", 1, true}, {"b", 1, true}, {"c", 0, false}, {"d", 0, false}};
static const int around_a[] = {0, 1}, around_b[] = {1, 2};

static dq_sensitivity_effect noise(double share) { return (dq_sensitivity_effect){.relative_noise = share}; }

static void check_within(const dq_float_budget *budget, double of_a, double of_b, const int *expected, const int *ends,
                         int steps) {
  dq_sensitivity_layer layers[] = {
      {.label = "a",
       .around = around_a,
       .around_count = 2,
       .product = 0,
       .activations = noise(of_a),
       .weights = noise(0.1)},
      {.label = "b",
       .around = around_b,
       .around_count = 2,
       .product = 1,
       .activations = noise(of_b),
       .weights = noise(0.1)},
  };
  dq_sensitivity found = {.layers = layers, .count = 2, .nodes = nodes, .node_count = NODES};
  dq_arena *arena = dq_arena_new(0);
  dq_float_order order;
  assert_int_equal(dq_float_order_find(&order, &found, budget, arena, NULL), DQ_OK);
  assert_int_equal(order.steps, steps);
  for (int i = 0; steps && i < ends[steps - 1]; i++) assert_int_equal(order.nodes[i], expected[i]);
  for (int s = 0; s < steps; s++) assert_int_equal(order.ends[s], ends[s]);
  dq_arena_free(arena);
}

static void check(double of_a, double of_b, const int *expected, const int *ends, int steps) {
  check_within(NULL, of_a, of_b, expected, ends, steps);
}

// Around a: (4 + 0.1 + 0.1) / 1.5 = 2.8, around b: (1 + 0.1) / 1 = 1.1; then c alone: 1 / 0.25.
static void the_first_result_is_worth_more(void **state) {
  (void)state;
  check(4, 1, (int[]){0, 1, 2, 3}, (int[]){2, 3, 4}, 3);
}

// Around b: 6.1; then a alone spares its result too, (4 + 0.1) / 0.75.
static void the_second_result_is_worth_more(void **state) {
  (void)state;
  check(4, 6, (int[]){1, 2, 0, 3}, (int[]){2, 3, 4}, 3);
}

// Weights alone: 0.1 / 0.75 for either product, so a first; c and d spare nothing.
static void weights_alone(void **state) {
  (void)state;
  check(0, 0, (int[]){0, 1, 2, 3}, (int[]){1, 2, 4}, 3);
}

// Around a there are two nodes with all multiply-accumulates, around b two with half of them.
static void within_a_budget(void **state) {
  (void)state;
  check_within(&(dq_float_budget){2, 1}, 4, 1, (int[]){0, 1}, (int[]){2}, 1);
  check_within(&(dq_float_budget){3, 1}, 4, 1, (int[]){0, 1, 2}, (int[]){2, 3}, 2);
  check_within(&(dq_float_budget){2, 0.5}, 4, 1, (int[]){1, 2}, (int[]){2}, 1);
  check_within(&(dq_float_budget){1, 0.5}, 4, 1, (int[]){0}, (int[]){1}, 1); // its weights alone
  check_within(&(dq_float_budget){4, 0.4}, 4, 1, NULL, NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_result_is_worth_more),
      cmocka_unit_test(the_second_result_is_worth_more),
      cmocka_unit_test(weights_alone),
      cmocka_unit_test(within_a_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
