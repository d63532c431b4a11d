// Lowering the opset to one that other programs load, where what needs the newer one stays; raising it where operators
// of the newer one stand in the graph already.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/document/lower_opset.h"
#include "lib/document/raise_opset.h"
#include "lib/graph/graph.h"

static char said[1024];
static void record(void *user, dq_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

// A graph x -> node -> y of opset 28 with x of the given type.
static dq_graph *one_node(const char *op_type, int type) {
  dq_graph *graph = dq_graph_new(NULL);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
  dq_dimension *sizes = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  for (int i = 0; i < 4; i++) sizes[i].size = 4;
  x->type = type, x->rank = 4, x->dims = sizes, x->is_input = true, y->is_output = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
  graph->input_count = graph->output_count = 1;
  graph->ir_version = 10;
  dq_graph_add_node(graph, 0, op_type, "n", 1, &x, 1, &y);
  assert_int_equal(dq_graph_set_opset(graph, "", 28, NULL), DQ_OK);
  return graph;
}

static void assert_opset(dq_graph *graph, int expected, const char *words) {
  dq_context context = {.message = record};
  dq_error error = {0};
  said[0] = 0;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_lower_opset(graph, &context, &error), DQ_OK);
  assert_int_equal(dq_graph_opset(graph, ""), expected);
  if (!strstr(said, words) || strchr(said, '\n') != said + strlen(said) - 1) fail_msg("said '%s'", said);
  dq_graph_free(graph);
}

static void test_lowered(void **state) {
  (void)state;
  const char *note = "the opset is 27 in place of 28";
  assert_opset(one_node("Relu", DQ_F32), 27, note);
  assert_opset(one_node("Celu", DQ_F32), 27, note);
  assert_opset(one_node("BitShift", DQ_U8), 27, note);
  assert_opset(one_node("SpaceToDepth", DQ_F32), 27, note);
  assert_opset(one_node("Unique", DQ_F16), 27, note);
  dq_graph *graph = one_node("Cast", DQ_F32);
  dq_node_set_int(graph, graph->nodes[0], "to", DQ_F16);
  assert_opset(graph, 27, note);
}

static void test_needed(void **state) {
  (void)state;
  assert_opset(one_node("Celu", DQ_F16), 28, "the model stays at opset 28");
  assert_opset(one_node("BitShift", DQ_I8), 28, "node 'n' needs it");
  assert_opset(one_node("Unique", DQ_BF16), 28, "node 'n' needs it");
  assert_opset(one_node("SwiGLU", DQ_F32), 28, "node 'n' needs it");
  dq_graph *graph = one_node("SpaceToDepth", DQ_F32);
  dq_node_set_string(graph, graph->nodes[0], "mode", "CRD");
  assert_opset(graph, 28, "node 'n' needs it");
  graph = one_node("Cast", DQ_F32);
  dq_node_set_int(graph, graph->nodes[0], "to", DQ_F6E3M2);
  assert_opset(graph, 28, "node 'n' needs it");
}

static void test_old(void **state) {
  (void)state;
  dq_graph *graph = one_node("Relu", DQ_F32);
  assert_int_equal(dq_graph_set_opset(graph, "", 27, NULL), DQ_OK);
  assert_int_equal(dq_lower_opset(graph, NULL, NULL), DQ_OK);
  assert_int_equal(dq_graph_opset(graph, ""), 27);
  dq_graph_free(graph);
}

// A pair that a transform has written stands in front, whose operators the old opset does not have.
static void test_bounds_behind_a_pair(void **state) {
  (void)state;
  static const char *const op_types[] = {"Clip", "Pad"}, *const bounds[] = {"max", "value"};
  for (int i = 0; i < 2; i++) {
    const dq_context context = {0};
    dq_error error = {0};
    dq_graph *graph = one_node(op_types[i], DQ_F32);
    assert_int_equal(dq_graph_set_opset(graph, "", 9, NULL), DQ_OK);
    dq_node *node = graph->nodes[0];
    dq_node_set_float(graph, node, bounds[i], 6);
    if (i) dq_node_set_ints(graph, node, "pads", (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}, 8);
    dq_value *scale = dq_graph_add_constant(graph, "scale", dq_tensor_scalar_f32(graph->arena, 0.5f));
    dq_value *q = dq_graph_add_value(graph, "q"), *moved = dq_graph_add_value(graph, "moved"),
             *d = dq_graph_add_value(graph, "d"), *x = node->inputs[0];
    node->inputs[0] = moved;
    dq_graph_add_node(graph, 0, "QuantizeLinear", "q", 2, (dq_value *[]){x, scale}, 1, &q);
    dq_graph_add_node(graph, 1, "DequantizeLinear", "d", 2, (dq_value *[]){q, scale}, 1, &d);
    dq_graph_add_node(graph, 2, "Identity", "moved", 1, &d, 1, &moved);
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    if (dq_raise_opset(graph, 13, &context, &error) != DQ_OK) fail_msg("%s", error.message);
    const dq_tensor *bound = dq_node_input(node, 2)->constant;
    assert_int_equal(bound->type, DQ_F32);
    assert_true(dq_tensor_get(bound, 0) == 6);
    dq_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lowered), cmocka_unit_test(test_needed),
                                     cmocka_unit_test(test_old), cmocka_unit_test(test_bounds_behind_a_pair)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
