// The order in which layers are left in float, and the front of choices of them, worked by hand on four nodes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/search/float_front.h"
#include "quant/search/float_order.h"

enum { NODES = 4 };

// Two products a and b of one multiply-accumulate each, an addition c and a pool d, so that a and b cost
// 1 / 4 + 1 / 2 and the others 1 / 4. The result of a is read by b, that of b by c.
static dq_sensitivity_node nodes[NODES] = {{"a", 1, 0}, {"b", 1, 0}, {"c", 0, 0}, {"d", 0, 0}};
static const int around_a[] = {0, 1}, around_b[] = {1, 2};

static dq_sensitivity_effect noise(double share) { return (dq_sensitivity_effect){.relative_noise = share}; }

static void fill(dq_sensitivity_layer layers[2], double of_a, double of_b) {
  const dq_sensitivity_layer both[] = {
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
  memcpy(layers, both, sizeof both);
}

static void check_within(const dq_float_budget *budget, double of_a, double of_b, const int *expected, const int *ends,
                         int steps) {
  dq_sensitivity_layer layers[2];
  fill(layers, of_a, of_b);
  dq_sensitivity found = {.layers = layers, .count = 2, .nodes = nodes, .node_count = NODES, .all = noise(10)};
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

// With all bytes in the weights of a: around b 2.1 / 1, around a 4.2 / 2.5 = 1.7, so b and c come first, and a behind
// them. Half of the bytes keep a in 8 bits.
static void bytes_cost_as_well(void **state) {
  (void)state;
  nodes[0].weight_bytes = 400;
  check(4, 2, (int[]){1, 2, 0, 3}, (int[]){2, 3, 4}, 3);
  check_within(&(dq_float_budget){.nodes = 4, .macs = 1, .bytes = 0.5}, 4, 1, (int[]){1, 2}, (int[]){2}, 1);
  nodes[0].weight_bytes = 0;
}

// Weights alone: 0.1 / 0.75 for either product, so a first; c and d spare nothing.
static void weights_alone(void **state) {
  (void)state;
  check(0, 0, (int[]){0, 1, 2, 3}, (int[]){1, 2, 4}, 3);
}

// Around a there are two nodes with all multiply-accumulates, around b two with half of them.
static void within_a_budget(void **state) {
  (void)state;
  check_within(&(dq_float_budget){.nodes = 2, .macs = 1, .bytes = 1}, 4, 1, (int[]){0, 1}, (int[]){2}, 1);
  check_within(&(dq_float_budget){.nodes = 3, .macs = 1, .bytes = 1}, 4, 1, (int[]){0, 1, 2}, (int[]){2, 3}, 2);
  check_within(&(dq_float_budget){.nodes = 2, .macs = 0.5, .bytes = 1}, 4, 1, (int[]){1, 2}, (int[]){2}, 1);
  check_within(&(dq_float_budget){.nodes = 1, .macs = 0.5, .bytes = 1}, 4, 1, (int[]){0}, (int[]){1},
               1); // its weights alone
  check_within(&(dq_float_budget){.nodes = 4, .macs = 0.4, .bytes = 1}, 4, 1, NULL, NULL, 0);
}

// All layers together make a noise of 10, of which b makes 1.1.
static void layers_of_little_noise_avoid_none(void **state) {
  (void)state;
  check_within(&(dq_float_budget){.nodes = 4, .macs = 1, .bytes = 1, .share = 0.11}, 4, 1, (int[]){0, 1, 2},
               (int[]){2, 3}, 2);
  check_within(&(dq_float_budget){.nodes = 4, .macs = 1, .bytes = 1, .share = 0.12}, 4, 1, (int[]){0, 1}, (int[]){2},
               1);
}

// A node costs 1/64 and a product half of the multiply-accumulates. One product spares 0.1 for 1/2 + 1/64; b and c 1.1
// of 5.2 for 1/2 + 2/64; a and b 4.2 for 1 + 2/64; a, b and c everything; d nothing at all. In the order of the noise
// over its cost a and b come first, with twice the multiply-accumulates of b and c.
static void front_of_four_nodes(void **state) {
  static const struct {
    int count, nodes[NODES];
  } expected[] = {{1, {0}}, {2, {1, 2}}, {2, {0, 1}}, {3, {0, 1, 2}}, {4, {0, 1, 2, 3}}};
  dq_sensitivity_layer layers[2];
  dq_float_ladder ladder;
  dq_error error;
  dq_arena *arena = dq_arena_new(0);
  (void)state;
  fill(layers, 4, 1);
  const dq_sensitivity found = {.layers = layers, .count = 2, .nodes = nodes, .node_count = NODES};
  assert_int_equal(dq_float_front_find(&ladder, &found, arena, &error), DQ_OK);
  assert_int_equal(ladder.count, 5);
  for (int r = 1; r < ladder.count; r++) { // either product alone is as good
    assert_int_equal(ladder.rungs[r].count, expected[r].count);
    assert_memory_equal(ladder.rungs[r].nodes, expected[r].nodes, (size_t)expected[r].count * sizeof(int));
  }
  assert_int_equal(ladder.rungs[0].count, 1);
  assert_true(fabs(ladder.rungs[1].macs - 0.5) < 1e-9 && fabs(ladder.rungs[3].macs - 1) < 1e-9);
  dq_arena_free(arena);
}

// Without noise, and without multiply-accumulates, there is nothing but to leave all of them.
static void front_without_noise(void **state) {
  static dq_sensitivity_node empty[] = {{"c", 0, 0}, {"d", 0, 0}};
  const dq_sensitivity found = {.nodes = empty, .node_count = 2};
  dq_float_ladder ladder;
  dq_error error;
  dq_arena *arena = dq_arena_new(0);
  (void)state;
  assert_int_equal(dq_float_front_find(&ladder, &found, arena, &error), DQ_OK);
  assert_int_equal(ladder.count, 1);
  assert_int_equal(ladder.rungs[0].count, 2);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_result_is_worth_more),
      cmocka_unit_test(the_second_result_is_worth_more),
      cmocka_unit_test(bytes_cost_as_well),
      cmocka_unit_test(weights_alone),
      cmocka_unit_test(within_a_budget),
      cmocka_unit_test(layers_of_little_noise_avoid_none),
      cmocka_unit_test(front_of_four_nodes),
      cmocka_unit_test(front_without_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
