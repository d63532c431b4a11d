// The origin map: steps composed, presets kept, broken properties ignored.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/document/origin.h"

static int warnings;

static void count_warnings(void *user, dq_severity severity, const char *text) {
  (void)user;
  (void)text;
  warnings += severity == DQ_WARNING;
}

static const dq_context CONTEXT = {.message = count_warnings};

static int start(void **state) {
  warnings = 0;
  dq_graph *graph = *state = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
  dq_graph_add_node(graph, 0, "Relu", "relu", 1, &x, 1, &y);
  return 0;
}

static int end(void **state) {
  dq_graph_free(*state);
  return 0;
}

static void add_step(dq_graph *graph, const char *tool, const char *value, const char *original) {
  dq_origin *origin = dq_origin_begin(graph, tool);
  assert_non_null(origin);
  assert_int_equal(dq_origin_add(origin, value, original, NULL), DQ_OK);
  assert_int_equal(dq_origin_finish(origin, graph, &CONTEXT, NULL), DQ_OK);
}

// Channel c of the last stands for order_1[order_2[c]] of the first: here {1, 2, 0} and {0, 2, 1}.
static void test_channels_compose(void **state) {
  dq_graph *graph = *state;
  const struct {
    const char *value, *original;
    int64_t order[3];
  } moves[] = {{"a", "y", {1, 2, 0}}, {"b", "a", {0, 2, 1}}};
  for (int i = 0; i < 2; i++) {
    dq_origin *origin = dq_origin_begin(graph, "dq-int8");
    assert_int_equal(dq_origin_add(origin, moves[i].value, moves[i].original, NULL), DQ_OK);
    assert_int_equal(dq_origin_add_channels(origin, moves[i].value, moves[i].order, 3, NULL), DQ_OK);
    assert_int_equal(dq_origin_finish(origin, graph, &CONTEXT, NULL), DQ_OK);
  }
  dq_lineage *lineage;
  int64_t *order, count;
  assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
  assert_int_equal(dq_lineage_channels(lineage, 0, "b", &order, &count, graph->arena, NULL), DQ_OK);
  assert_int_equal(count, 3);
  const int64_t expected[] = {1, 0, 2}; // order_1[0], order_1[2], order_1[1]
  assert_memory_equal(order, expected, sizeof expected);
  assert_int_equal(dq_lineage_channels(lineage, 1, "a", &order, &count, graph->arena, NULL), DQ_OK);
  assert_int_equal(count, 0);
  dq_lineage_free(lineage);
}

static void test_broken_channels_are_ignored(void **state) {
  static const char *const channels[] = {"\"orders\":[[0,0]],\"channels\":{\"y\":0}",
                                         "\"orders\":[[0,2]],\"channels\":{\"y\":0}",
                                         "\"orders\":[[1,0]],\"channels\":{\"y\":1}",
                                         "\"orders\":[[]],\"channels\":{\"y\":0}",
                                         "\"orders\":3,\"channels\":{}",
                                         "\"channels\":{\"y\":0}"};
  dq_graph *graph = *state;
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "{\"schema\":\"dq-model\",\"version\":1,\"steps\":[{\"tool\":\"t\",\"from\":"
             "\"0123456789abcdef\",\"values\":{},%s}]}",
             channels[i]);
    assert_int_equal(dq_graph_set_property(graph, "dq", text, NULL), DQ_OK);
    dq_lineage *lineage;
    assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
    assert_int_equal(dq_lineage_steps(lineage), 0);
    assert_int_equal(warnings, (int)i + 1);
    dq_lineage_free(lineage);
  }
}

static void test_steps_compose(void **state) {
  dq_graph *graph = *state;
  uint64_t first = dq_origin_hash(graph);
  add_step(graph, "dq-tucker", "y_2", "y");
  assert_true(dq_origin_hash(graph) == first); // properties do not count
  graph->nodes[0]->name = "renamed";
  uint64_t second = dq_origin_hash(graph);
  assert_true(second != first);
  add_step(graph, "dq-int8", "y_dq", "y_2");
  dq_lineage *lineage;
  assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
  assert_int_equal(dq_lineage_steps(lineage), 2);
  assert_string_equal(dq_lineage_tool(lineage, 1), "dq-int8");
  assert_int_equal(dq_lineage_find(lineage, first), 0);
  assert_int_equal(dq_lineage_find(lineage, second), 1);
  assert_int_equal(dq_lineage_find(lineage, 1), -1);
  bool mapped;
  assert_string_equal(dq_lineage_resolve(lineage, 0, "y_dq", &mapped), "y");
  assert_true(mapped);
  assert_string_equal(dq_lineage_resolve(lineage, 1, "y_dq", NULL), "y_2");
  assert_string_equal(dq_lineage_resolve(lineage, 0, "z", &mapped), "z");
  assert_false(mapped);
  dq_lineage_free(lineage);
  assert_int_equal(warnings, 0);
}

static void test_not_comparable(void **state) {
  dq_graph *graph = *state;
  add_step(graph, "dq-int8", "y_q", NULL);
  add_step(graph, "dq-int8", "y_z", "y_q");
  dq_lineage *lineage;
  assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
  assert_null(dq_lineage_resolve(lineage, 0, "y_z", NULL));
  assert_string_equal(dq_lineage_resolve(lineage, 1, "y_z", NULL), "y_q");
  dq_lineage_free(lineage);
}

static void test_preset(void **state) {
  dq_graph *graph = *state;
  assert_null(dq_origin_preset(graph, &CONTEXT));
  assert_int_equal(dq_origin_set_preset(graph, "imagenet", &CONTEXT, NULL), DQ_OK);
  add_step(graph, "dq-int8", "a", "b");
  assert_string_equal(dq_origin_preset(graph, &CONTEXT), "imagenet");
  assert_int_equal(dq_origin_set_preset(graph, "tf", &CONTEXT, NULL), DQ_OK);
  assert_string_equal(dq_origin_preset(graph, &CONTEXT), "tf");
  dq_lineage *lineage;
  assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
  assert_int_equal(dq_lineage_steps(lineage), 1);
  dq_lineage_free(lineage);
}

static void test_broken_properties_are_ignored(void **state) {
  static const char *const broken[] = {
      "",
      "{",
      "[]",
      "1",
      "null",
      "{\"schema\":\"other\",\"version\":1}",
      "{\"schema\":\"dq-model\",\"version\":2}",
      "{\"schema\":\"dq-model\",\"version\":1,\"preset\":3}",
      "{\"schema\":\"dq-model\",\"version\":1,\"steps\":{}}",
      "{\"schema\":\"dq-model\",\"version\":1,\"steps\":[1]}",
      "{\"schema\":\"dq-model\",\"version\":1,\"steps\":[{\"tool\":\"a\",\"from\":\"b\",\"values\":"
      "{}}]}",
      "{\"schema\":\"dq-model\",\"version\":1,\"steps\":[{\"tool\":\"a\","
      "\"from\":\"0123456789abcdef\",\"values\":{\"a\":[\"b\"]}}]}",
      "{\"schema\":\"dq-model\",\"version\":1,\"version\":1}",
  };
  dq_graph *graph = *state;
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    warnings = 0;
    assert_int_equal(dq_graph_set_property(graph, "dq", broken[i], NULL), DQ_OK);
    assert_null(dq_origin_preset(graph, &CONTEXT));
    assert_int_equal(warnings, 1);
    dq_lineage *lineage;
    assert_int_equal(dq_lineage_open(&lineage, graph, &CONTEXT, NULL), DQ_OK);
    assert_int_equal(dq_lineage_steps(lineage), 0);
    assert_int_equal(dq_lineage_find(lineage, 0), -1);
    assert_string_equal(dq_lineage_resolve(lineage, 0, "y", NULL), "y");
    dq_lineage_free(lineage);
  }
  add_step(graph, "dq-int8", "a", "b"); // replaces what is broken
  warnings = 0;
  assert_null(dq_origin_preset(graph, &CONTEXT));
  assert_int_equal(warnings, 0);
}

// Sizes of open dimensions but the first come back; what does not fit is ignored with a warning.
static void test_sizes(void **state) {
  dq_graph *graph = *state;
  dq_value *x = dq_graph_find(graph, "x");
  const dq_dimension dims[] = {{-1, "N"}, {3, NULL}, {-1, "H"}};
  const dq_input_shape given = {.name = "x", .rank = 3, .dims = {2, 3, 320}};
  const dq_shape_request request = {.inputs = &given, .input_count = 1};
  x->is_input = true, x->type = DQ_F32, x->rank = 3, x->dims = dims;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  graph->input_count = 1;
  assert_int_equal(dq_origin_set_preset(graph, "tf", &CONTEXT, NULL), DQ_OK);
  assert_int_equal(dq_origin_set_sizes(graph, &request, &CONTEXT, NULL), DQ_OK);
  assert_string_equal(dq_graph_property(graph, "dq"),
                      "{\"schema\":\"dq-model\",\"version\":1,\"preset\":\"tf\",\"shapes\":{\"x\":[null,null,320]}}");
  dq_origin_recall_sizes(graph, &CONTEXT);
  assert_non_null(x->usual);
  assert_int_equal(x->usual[2], 320);
  assert_int_equal(x->usual[0], 0);
  assert_int_equal(warnings, 0);
  assert_int_equal(dq_origin_set_sizes(graph, NULL, &CONTEXT, NULL), DQ_OK); // what was recalled stays
  assert_non_null(strstr(dq_graph_property(graph, "dq"), "320"));
  static const char *const broken[] = {"{\"y\":[1]}", "{\"x\":[null,null,0]}", "{\"x\":[null,4]}", "{\"x\":3}", "[]"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char text[200];
    snprintf(text, sizeof text, "{\"schema\":\"dq-model\",\"version\":1,\"shapes\":%s}", broken[i]);
    assert_int_equal(dq_graph_set_property(graph, "dq", text, NULL), DQ_OK);
    x->usual = NULL, warnings = 0;
    dq_origin_recall_sizes(graph, &CONTEXT);
    assert_null(x->usual);
    assert_int_equal(warnings, 1);
  }
}

// A graph with attributes of every kind, changed in one place.
enum { CHANGES = 32 };
static uint64_t hash_with(int change) {
  dq_graph *graph = dq_graph_new(NULL);
  dq_value *x = dq_graph_add_value(graph, change == 1 ? "z" : "x"),
           *y = dq_graph_add_value(graph, change == 2 ? "z" : "y");
  const int64_t dims[] = {2, change == 3 ? 1 : 3};
  const float floats[] = {change == 4, 1, change == 5 ? 2.5f : 2};
  const int64_t ints[] = {change == 6, -1, change == 7 ? 8 : 7};
  const char *const strings[] = {change == 8 ? "A" : "a", "", change == 9 ? "C" : "c"};
  dq_tensor *tensor = dq_tensor_new(graph->arena, change == 10 ? DQ_I32 : DQ_F32, 1, (int64_t[]){3}),
            *weight = dq_tensor_new(graph->arena, DQ_U8, 2, dims);
  if (change == 11) ((char *)tensor->data)[0] = 1;
  if (change == 12) ((char *)tensor->data)[11] = 1;
  if (change == 13) ((char *)weight->data)[0] = 1;
  if (change == 14) ((char *)weight->data)[5] = 1;
  dq_value *inputs[] = {change == 15 ? NULL : x, dq_graph_add_constant(graph, change == 16 ? "v" : "w", weight)};
  dq_node *node = dq_graph_add_node(graph, 0, change == 17 ? "Foo" : "Bar", change == 18 ? "m" : "n",
                                    change == 19 ? 1 : 2, inputs, 1, &y);
  if (change == 20) node->domain = "other";
  const dq_attribute attributes[] = {
      {.name = change == 21 ? "F" : "f", .type = DQ_ATTRIBUTE_FLOAT, .f = change == 22 ? 0.5f : 0.25f},
      {.name = "i", .type = DQ_ATTRIBUTE_INT, .i = change == 23 ? 4 : 3},
      {.name = "s", .type = DQ_ATTRIBUTE_STRING, .s = change == 24 ? "texT" : "text", .count = change == 25 ? 3 : 4},
      {.name = "t", .type = DQ_ATTRIBUTE_TENSOR, .tensor = change == 26 ? NULL : tensor},
      {.name = "floats", .type = DQ_ATTRIBUTE_FLOATS, .floats = floats, .count = change == 27 ? 2 : 3},
      {.name = "ints", .type = DQ_ATTRIBUTE_INTS, .ints = ints, .count = change == 28 ? 2 : 3},
      {.name = "strings", .type = DQ_ATTRIBUTE_STRINGS, .strings = strings, .count = change == 29 ? 2 : 3}};
  node->attributes = dq_arena_copy(graph->arena, attributes, sizeof attributes);
  node->attribute_count = change == 30 ? 6 : 7;
  graph->inputs = &x, graph->outputs = &y;
  graph->input_count = 1, graph->output_count = change != 31;
  uint64_t hash = dq_origin_hash(graph);
  graph->input_count = graph->output_count = 0;
  dq_graph_free(graph);
  return hash;
}

// A copy has the hash of the file, so that what is made of it names the file: a file may list elements in another order
// than its values, and a node in front of what it reads.
static void test_hash_of_a_copy(void **state) {
  dq_graph *graph = *state;
  dq_value *first = dq_graph_add_value(graph, "first"), *second = dq_graph_add_value(graph, "second");
  dq_value *inputs[] = {dq_graph_find(graph, "y"), first, second}, *z = dq_graph_add_value(graph, "z");
  dq_graph_find(graph, "x")->is_input = true;
  dq_graph_add_node(graph, 0, "Sum", "sum", 3, inputs, 1, &z);
  for (int i = 0; i < 2; i++) {
    dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 0, NULL);
    *(float *)tensor->data = (float)i;
    assert_true(dq_graph_set_constant(graph, i ? first : second, tensor));
  }
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_graph *copy = dq_graph_copy(graph);
  assert_non_null(copy);
  assert_true(dq_origin_hash(copy) == dq_origin_hash(graph));
  dq_graph_free(copy);
}

// Every part counts. Tables keep the hash, so that it stays what it is.
static void test_hash(void **state) {
  (void)state;
  uint64_t hashes[CHANGES];
  for (int i = 0; i < CHANGES; i++) {
    hashes[i] = hash_with(i);
    for (int k = 0; k < i; k++)
      if (hashes[i] == hashes[k]) fail_msg("changes %d and %d have the same hash", k, i);
  }
  if (hashes[0] != UINT64_C(0x21817a70fc650abd)) fail_msg("%016llx", (unsigned long long)hashes[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_steps_compose, start, end),
      cmocka_unit_test_setup_teardown(test_channels_compose, start, end),
      cmocka_unit_test_setup_teardown(test_broken_channels_are_ignored, start, end),
      cmocka_unit_test_setup_teardown(test_not_comparable, start, end),
      cmocka_unit_test_setup_teardown(test_preset, start, end),
      cmocka_unit_test_setup_teardown(test_sizes, start, end),
      cmocka_unit_test_setup_teardown(test_broken_properties_are_ignored, start, end),
      cmocka_unit_test(test_hash),
      cmocka_unit_test_setup_teardown(test_hash_of_a_copy, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
