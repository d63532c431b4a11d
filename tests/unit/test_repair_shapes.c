// Declared shapes that the nodes of a document graph contradict: which are repaired, and how.
#include <stdio.h>

#include "lib/document/repair_shapes.h"
#include "tests/unit/plan_harness.h"

static char said[512];
static void remember(void *user, dq_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(said, sizeof said, "%s", text);
}

static dq_dimension open_dimension(const char *symbol) { return (dq_dimension){.size = -1, .symbol = symbol}; }

static void declare(dq_graph *graph, dq_value *value, int rank, const dq_dimension *dims) {
  dq_dimension *copy = dq_arena_array(graph->arena, (size_t)rank + 1, sizeof *copy);
  assert_non_null(copy);
  for (int i = 0; i < rank; i++) copy[i] = dims[i];
  value->type = DQ_F32;
  value->rank = rank;
  value->dims = copy;
}

// x (batch x 3 x H x W) -> Relu a -> MaxPool 2x2 with stride 2 b -> GlobalAveragePool c -> Flatten y.
static dq_graph *pyramid(void) {
  static const int64_t two[2] = {2, 2}, dims[4] = {1, 3, 8, 8};
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, dims);
  declare(graph, x, 4, (dq_dimension[]){open_dimension("batch"), {.size = 3}, open_dimension("high"), {.size = 8}});
  dq_value *a = add(graph, "Relu", 1, &x, "a")->outputs[0];
  dq_node *pool = add(graph, "MaxPool", 1, &a, "b");
  assert_true(dq_node_set_ints(graph, pool, "kernel_shape", two, 2) &&
              dq_node_set_ints(graph, pool, "strides", two, 2));
  dq_value *c = add(graph, "GlobalAveragePool", 1, (dq_value *[]){pool->outputs[0]}, "c")->outputs[0];
  interface(graph, x, add(graph, "Flatten", 1, &c, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_graph_find(graph, "y")->rank = -1;
  return graph;
}

static void repair(dq_graph *graph) {
  dq_context with = context;
  dq_error error = {0};
  with.message = remember, said[0] = 0;
  if (dq_repair_shapes(graph, &with, &error) != DQ_OK) fail_msg("%s", error.message);
}

static void expect(dq_graph *graph, const char *name, const char *text) {
  const dq_value *value = dq_graph_find(graph, name);
  char found[128] = "";
  size_t used = 0;
  for (int d = 0; d < value->rank; d++) {
    const dq_dimension *dim = &value->dims[d];
    if (dim->symbol) used += (size_t)snprintf(found + used, sizeof found - used, "%s ", dim->symbol);
    else used += (size_t)snprintf(found + used, sizeof found - used, "%d ", (int)dim->size);
  }
  assert_string_equal(found, text);
}

// Another rank, also none, another size, and a fixed size in the place of an open one.
static void contradictions(void **state) {
  (void)state;
  dq_graph *graph = pyramid();
  declare(graph, dq_graph_find(graph, "y"), 0, NULL);
  declare(graph, dq_graph_find(graph, "a"), 4, (dq_dimension[]){{.size = 1}, {.size = 3}, {.size = 224}, {.size = 8}});
  declare(graph, dq_graph_find(graph, "b"), 2, (dq_dimension[]){{.size = 1}, {.size = 3}});
  declare(graph, dq_graph_find(graph, "c"), 4,
          (dq_dimension[]){open_dimension("n"), {.size = 5}, {.size = 1}, {.size = 1}});
  repair(graph);
  expect(graph, "y", "batch 3 ");
  expect(graph, "a", "batch 3 high 8 ");
  expect(graph, "b", "batch 3 -1 4 ");
  expect(graph, "c", "batch 3 1 1 ");
  assert_non_null(strstr(said, "contradict its nodes, 4 in all, such as that of output 'y'"));
  repair(graph); // said once
  assert_string_equal(said, "");
  dq_graph_free(graph);
}

// What is open in the declaration, or not known to inference, stays.
static void consistent(void **state) {
  (void)state;
  dq_graph *graph = pyramid();
  declare(graph, dq_graph_find(graph, "y"), 2, (dq_dimension[]){open_dimension("other"), {.size = 3}});
  declare(graph, dq_graph_find(graph, "b"), 4,
          (dq_dimension[]){open_dimension(NULL), {.size = 3}, open_dimension("half"), {.size = 4}});
  repair(graph);
  expect(graph, "y", "other 3 ");
  expect(graph, "b", "-1 3 half 4 ");
  assert_string_equal(said, "");
  dq_graph_free(graph);
  graph = pyramid();
  dq_graph_find(graph, "c")->producer->op_type = "Frobnicate";
  declare(graph, dq_graph_find(graph, "y"), 1, (dq_dimension[]){{.size = 77}});
  repair(graph);
  expect(graph, "y", "77 ");
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contradictions),
      cmocka_unit_test(consistent),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
