// Slices, Concat and convolution become one convolution of stride 2 with the same results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "quant/rewrite/fold_space_to_depth.h"
#include "tests/unit/small_network.h"

static dq_value *number(network *it, int64_t value) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_I64, 1, (int64_t[]){1});
  *(int64_t *)tensor->data = value;
  return dq_graph_add_constant(it->graph, "number", tensor);
}

static dq_value *slice(network *it, dq_value *x, const char *name, int64_t start, int64_t axis) {
  dq_value *inputs[] = {x, number(it, start), number(it, INT64_MAX), number(it, axis), number(it, 2)};
  dq_value *result = network_value(it, name);
  dq_graph_add_node(it->graph, it->graph->node_count, "Slice", name, 5, inputs, 1, &result);
  return result;
}

// The parts in the order of YOLOX, then a convolution of 3x3, upsampled to the
// size that the test's network has.
static void build(network *it) {
  static const char *const rows[] = {"r0", "r1", "r2", "r3"}, *const parts[] = {"p0", "p1", "p2", "p3"};
  static const int64_t row[] = {0, 1, 0, 1}, column[] = {0, 0, 1, 1};
  dq_graph_set_opset(it->graph, "", 13, NULL);
  dq_value *inputs[4], *y = network_value(it, "joined");
  for (int p = 0; p < 4; p++)
    inputs[p] = slice(it, slice(it, network_value(it, "x"), rows[p], row[p], 2), parts[p], column[p], 3);
  dq_node *concat = dq_graph_add_node(it->graph, it->graph->node_count, "Concat", "joined", 4, inputs, 1, &y);
  dq_node_set_int(it->graph, concat, "axis", 1);
  network_conv(it, y, "a", 12, 16, 3, 1);
  dq_node *wide = network_node(it, "DepthToSpace", network_value(it, "a"), NULL, NULL, network_value(it, "y"));
  dq_node_set_int(it->graph, wide, "blocksize", 2);
  network_finish(it);
}

static void one_convolution_does_the_same(void **state) {
  network *it = *state;
  build(it);
  static network_outputs before, after;
  network_run(it, &before);
  dq_error error;
  assert_int_equal(dq_fold_space_to_depth(it->graph, &no_shapes, &it->context, &error), DQ_OK);
  assert_int_equal(it->graph->node_count, 2);
  const dq_node *conv = network_value(it, "a")->producer;
  assert_string_equal(conv->inputs[0]->name, "x");
  const dq_tensor *weight = conv->inputs[1]->constant;
  assert_true(weight->dims[1] == 3 && weight->dims[2] == 6 && weight->dims[3] == 6);
  assert_null(dq_graph_find(it->graph, "a_w")->constant);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

static void other_slices_stay(void **state) {
  network *it = *state;
  build(it);
  it->graph->nodes[1]->inputs[1] = number(it, 1); // a column twice
  dq_error error;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
  int before = it->graph->node_count;
  assert_int_equal(dq_fold_space_to_depth(it->graph, &no_shapes, &it->context, &error), DQ_OK);
  assert_int_equal(it->graph->node_count, before);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(one_convolution_does_the_same), TEST(other_slices_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
