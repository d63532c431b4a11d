// Graphs: producers and users, order, what is refused, copies that leave the original alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/graph/graph.h"
#include "lib/retrain/retrain.h"

static dq_value *value(dq_graph *graph, const char *name) { return dq_graph_add_value(graph, name); }

static dq_node *join(dq_graph *graph, const char *name, const char *a, const char *b, const char *to) {
  dq_value *output = value(graph, to);
  dq_value *inputs[] = {value(graph, a), b ? value(graph, b) : NULL};
  return dq_graph_add_node(graph, graph->node_count, "Add", name, b ? 2 : 1, inputs, 1, &output);
}

static void interface(dq_graph *graph, const char *input, const char *output) {
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = value(graph, input))->is_input = true;
  (graph->outputs[0] = value(graph, output))->is_output = true;
  graph->input_count = graph->output_count = 1;
}

static void constant(dq_graph *graph, const char *name) {
  static const int64_t one = 1;
  assert_true(dq_graph_set_constant(graph, value(graph, name), dq_tensor_new(graph->arena, DQ_F32, 1, &one)));
}

// A constant that nothing reads goes, with a chain of nodes behind another; one that callers may give stays, unless the
// file is so old that it lists all initializers as inputs.
static void unread_constants(void **state) {
  (void)state;
  for (int version = 3; version < 5; version++) {
    dq_graph *graph = dq_graph_new(0);
    dq_error error = {0};
    graph->ir_version = version;
    join(graph, "used", "x", "read", "y");
    join(graph, "first", "chained", NULL, "between");
    join(graph, "second", "between", NULL, "nothing");
    interface(graph, "x", "y");
    constant(graph, "read"), constant(graph, "chained"), constant(graph, "loose"), constant(graph, "given");
    graph->inputs = DQ_NEW_ARRAY(graph->arena, 2, dq_value *);
    graph->inputs[0] = value(graph, "x"), graph->inputs[1] = value(graph, "given"), graph->input_count = 2;
    graph->inputs[1]->is_input = true;
    assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
    assert_int_equal(dq_graph_drop_constants(graph, &error), DQ_OK);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->initializer_count, version < 4 ? 1 : 2);
    assert_int_equal(graph->input_count, version < 4 ? 1 : 2);
    dq_graph_free(graph);
  }
}

// Each reason alone makes a value stay, in a copy of the graph as well: the value is then read, and not private to its
// only user.
static void values_that_stay(void **state) {
  (void)state;
  enum { NOTHING, OUTPUT, CAPTURED, TAPPED, REASONS };
  for (int reason = 0; reason < REASONS; reason++) {
    dq_graph *graph = dq_graph_new(0);
    dq_error error = {0};
    join(graph, "one", "x", NULL, "between");
    const dq_node *reader = join(graph, "two", "between", NULL, "y");
    join(graph, "three", "x", NULL, "unread");
    interface(graph, "x", "y");
    for (int i = 0; i < 2; i++) {
      dq_value *marked = value(graph, i ? "unread" : "between");
      marked->is_output = reason == OUTPUT;
      marked->is_captured = reason == CAPTURED;
      marked->is_tapped = reason == TAPPED;
    }
    assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
    dq_graph *copy = dq_graph_copy(graph);
    assert_non_null(copy);
    for (int i = 0; i < 2; i++) {
      dq_graph *of = i ? copy : graph;
      const dq_value *between = value(of, "between"), *unread = value(of, "unread");
      assert_int_equal(dq_value_must_stay(between), reason != NOTHING);
      assert_int_equal(dq_value_must_stay(unread), reason != NOTHING);
      assert_true(dq_value_is_read(between));
      assert_int_equal(dq_value_is_read(unread), reason != NOTHING);
      assert_int_equal(dq_is_private(between), reason == NOTHING);
      assert_false(dq_is_private(unread));
      assert_ptr_equal(dq_only_user(between), reason == NOTHING ? of->nodes[reader->index] : NULL);
    }
    dq_graph_free(copy);
    dq_graph_free(graph);
  }
}

static void users_and_order(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_error error = {0};
  join(graph, "last", "a", "b", "y"); // written before what it reads
  join(graph, "second", "a", "a", "b");
  join(graph, "first", "x", NULL, "a");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  assert_string_equal(graph->nodes[0]->name, "last"); // the order of the file stays
  assert_int_equal(dq_graph_find(graph, "a")->user_count, 3);
  assert_string_equal(dq_graph_find(graph, "b")->producer->name, "second");
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
  assert_string_equal(graph->nodes[0]->name, "first");
  assert_string_equal(graph->nodes[1]->name, "second");
  assert_string_equal(graph->nodes[2]->name, "last");
  assert_int_equal(graph->nodes[2]->index, 2);
  assert_null(dq_graph_find(graph, "nothing"));
  assert_ptr_equal(dq_graph_add_value(graph, "a"), dq_graph_find(graph, "a"));
  assert_string_not_equal(dq_graph_fresh_value(graph, "a")->name, "a");
  dq_graph_free(graph);
}

static void refused(void **state) {
  (void)state;
  dq_error error = {0};
  dq_graph *graph = dq_graph_new(0);
  join(graph, "one", "x", "b", "a"), join(graph, "two", "a", NULL, "b");
  interface(graph, "x", "b");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "cycle"));
  dq_graph_free(graph);
  graph = dq_graph_new(0);
  join(graph, "self", "x", "y", "y");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_BAD_INPUT);
  dq_graph_free(graph);
  graph = dq_graph_new(0);
  join(graph, "one", "x", NULL, "y"), join(graph, "two", "x", NULL, "y");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "'y' is produced twice"));
  dq_graph_free(graph);
  graph = dq_graph_new(0);
  join(graph, "one", "ghost", NULL, "y");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "'ghost' is not produced"));
  dq_graph_free(graph);
}

// Random acyclic graphs with their nodes shuffled come out in an order that works.
static void random_orders(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    dq_random random = {seed};
    dq_graph *graph = dq_graph_new(0);
    dq_error error = {0};
    enum { NODES = 30 };
    char names[NODES + 1][8] = {"x"};
    for (int n = 1; n <= NODES; n++) {
      snprintf(names[n], sizeof names[n], "v%d", n);
      join(graph, names[n], names[dq_random_below(&random, (uint64_t)n)], names[dq_random_below(&random, (uint64_t)n)],
           names[n]);
    }
    for (int n = NODES - 1; n > 0; n--) {
      int other = (int)dq_random_below(&random, (uint64_t)n + 1);
      dq_node *swap = graph->nodes[n];
      graph->nodes[n] = graph->nodes[other], graph->nodes[other] = swap;
    }
    interface(graph, "x", names[NODES]);
    assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
    for (int n = 0; n < NODES; n++)
      for (int i = 0; i < 2; i++) {
        const dq_node *producer = graph->nodes[n]->inputs[i]->producer;
        assert_true(!producer || producer->index < n);
      }
    dq_graph_free(graph);
  }
}

static void edits(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_error error = {0};
  dq_node *first = join(graph, "first", "x", NULL, "a"), *second = join(graph, "second", "a", NULL, "y");
  interface(graph, "x", "y");
  assert_true(dq_node_set_int(graph, first, "axis", 3));
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  dq_graph *copy = dq_graph_copy(graph);
  assert_non_null(copy);
  dq_graph_remove_node(copy, copy->nodes[0]);
  dq_graph_replace_uses(copy, dq_graph_find(copy, "a"), dq_graph_find(copy, "x"), true);
  dq_node_set_int(copy, copy->nodes[1], "axis", 9);
  assert_int_equal(dq_graph_index(copy, false, &error), DQ_OK);
  assert_int_equal(copy->node_count, 1);
  assert_string_equal(copy->nodes[0]->inputs[0]->name, "x");
  assert_int_equal(graph->node_count, 2); // the original is as it was
  assert_string_equal(second->inputs[0]->name, "a");
  assert_null(dq_node_attribute(second, "axis"));
  assert_int_equal(dq_node_int(first, "axis", 0), 3);
  dq_node_remove_attribute(first, "axis");
  assert_int_equal(dq_node_int(first, "axis", -1), -1);
  dq_graph_free(copy);
  dq_graph_free(graph);
}

// Readers that were added after the graph was indexed, in a chain that is left out from its end, and a copy made before
// the graph is indexed again.
static void replaced_twice(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_error error = {0};
  join(graph, "one", "x", NULL, "a"), join(graph, "two", "a", NULL, "b"), join(graph, "three", "b", NULL, "y");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  dq_value *x = dq_graph_find(graph, "x"), *a = dq_graph_find(graph, "a"), *b = dq_graph_find(graph, "b");
  dq_node *late = join(graph, "late", "b", "a", "z"), *three = graph->nodes[2];
  dq_graph_replace_uses(graph, b, a, false);
  dq_graph_remove_node(graph, graph->nodes[1]);
  assert_ptr_equal(three->inputs[0], a); // at once
  dq_graph_replace_uses(graph, a, x, false);
  dq_graph_remove_node(graph, graph->nodes[0]);
  dq_graph *copy = dq_graph_copy(graph);
  assert_non_null(copy);
  assert_string_equal(copy->nodes[0]->inputs[0]->name, "x");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  assert_ptr_equal(three->inputs[0], x);
  assert_ptr_equal(late->inputs[0], x);
  assert_ptr_equal(late->inputs[1], x);
  assert_int_equal(x->user_count, 3);
  dq_node *back = join(graph, "back", "x", NULL, "a"); // the name may be used again
  dq_graph_add_node(graph, graph->node_count, "Relu", "reader", 1, &a, 1, &b);
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  assert_ptr_equal(a->producer, back);
  assert_int_equal(a->user_count, 1);
  dq_graph_free(copy);
  dq_graph_free(graph);
}

// 20,000 values and nodes of one name within 64 MiB: what was tried in vain is not tried, nor kept, again.
static void names_of_many(void **state) {
  (void)state;
  enum { MANY = 20000 };
  dq_budget budget = {.limit = 64 << 20};
  dq_graph *graph = dq_graph_new(&budget);
  dq_node *first = join(graph, "node", "x", NULL, "value");
  for (int i = 0; i < MANY; i++) {
    char expected[32];
    dq_value *made = dq_graph_fresh_value(graph, "value");
    assert_non_null(made);
    snprintf(expected, sizeof expected, "value_%d", i + 1);
    assert_string_equal(made->name, expected);
    const char *name = dq_graph_fresh_name(graph, "node");
    assert_non_null(name);
    snprintf(expected, sizeof expected, "node_%d", i + 1);
    assert_string_equal(name, expected);
    assert_non_null(dq_graph_add_node(graph, graph->node_count, "Relu", name, 1, first->inputs, 1, &made));
  }
  interface(graph, "x", "value");
  dq_graph_remove_node(graph, graph->nodes[1]);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_string_equal(dq_graph_fresh_name(graph, "node"), "node_1"); // its node has gone
  assert_string_equal(dq_graph_fresh_name(graph, "node"), "node_1"); // and nobody has taken it
  assert_string_equal(dq_graph_fresh_name(graph, "value"), "value_20001");
  dq_graph_free(graph);
}

static void labels(void **state) {
  (void)state;
  char text[DQ_LABEL_TEXT];
  dq_graph *graph = dq_graph_new(0);
  assert_string_equal(dq_node_label(join(graph, "n", "x", NULL, "y"), text, sizeof text), "node 'n'");
  assert_string_equal(dq_node_label(join(graph, "", "x", NULL, "z"), text, sizeof text), "node Add producing 'z'");
  dq_graph_free(graph);
}

// x -> a -> b -> y, and a -> z: of the part that ends in a and b nothing behind them is left.
// What a retraining hook may change: nodes with a name, however short, that read a constant.
static void nodes_with_constants(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(NULL);
  dq_tensor *one = dq_tensor_scalar_f32(graph->arena, 1);
  const char *const *names;
  int count;
  dq_error error;
  assert_non_null(dq_graph_add_constant(graph, "w", one));
  join(graph, "a", "x", "w", "b");
  join(graph, "", "b", "w", "c");
  join(graph, "plain", "c", "b", "d");
  join(graph, "last", "w", NULL, "e");
  assert_int_equal(dq_retrain_nodes(graph, graph->arena, &names, &count, &error), DQ_OK);
  assert_int_equal(count, 2);
  assert_string_equal(names[0], "a");
  assert_string_equal(names[1], "last");
  dq_graph_free(graph);
}

static void part(void **state) {
  (void)state;
  dq_error error = {0};
  dq_graph *graph = dq_graph_new(0);
  join(graph, "one", "x", NULL, "a"), join(graph, "two", "a", NULL, "b");
  join(graph, "three", "b", NULL, "y"), join(graph, "four", "a", NULL, "z");
  interface(graph, "x", "y");
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  assert_int_equal(dq_graph_restrict_to(graph, (const char *[]){"b", "a", "b"}, 3, &error), DQ_OK);
  assert_int_equal(graph->node_count, 2);
  assert_string_equal(graph->nodes[0]->name, "one");
  assert_string_equal(graph->nodes[1]->name, "two");
  assert_int_equal(graph->output_count, 2);
  assert_string_equal(graph->outputs[0]->name, "b");
  assert_string_equal(graph->outputs[1]->name, "a");
  assert_false(value(graph, "y")->is_output);
  assert_int_equal(dq_graph_restrict_to(graph, (const char *[]){"nothing"}, 1, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "there is no value 'nothing'");
  dq_graph_free(graph);
}

// Nodes beside others stand where insertion at the place of the other at that time would put them.
static void nodes_beside(void **state) {
  (void)state;
  static const char *const expected[] = {"newest front", "front", "a",    "newest", "older",
                                         "nested",       "first", "last", "b"};
  dq_error error = {0};
  dq_graph *graph = dq_graph_new(0);
  dq_node *a = join(graph, "a", "x", NULL, "u"), *b = join(graph, "b", "u", NULL, "y");
  interface(graph, "x", "y");
  dq_value *x = value(graph, "x");
  dq_value *made[7];
  for (int i = 0; i < 7; i++) made[i] = dq_graph_add_value(graph, (char[]){'m', (char)('0' + i), 0});
#define DQ_BESIDE(anchor, behind, name, i)                                                                             \
  dq_graph_add_node_beside(graph, anchor, behind, "Relu", name, &(dq_ports){1, 1, &x, &made[i]})
  DQ_BESIDE(b, false, "first", 0);
  dq_node *older = DQ_BESIDE(a, true, "older", 1);
  DQ_BESIDE(b, false, "last", 2);
  DQ_BESIDE(a, true, "newest", 3);
  DQ_BESIDE(older, true, "nested", 4);
  DQ_BESIDE(NULL, true, "front", 5);
  assert_non_null(DQ_BESIDE(NULL, true, "newest front", 6));
#undef DQ_BESIDE
  assert_int_equal(graph->node_count, 2);
  assert_int_equal(dq_graph_index(graph, false, &error), DQ_OK);
  assert_int_equal(graph->node_count, 9);
  for (int n = 0; n < 9; n++) {
    assert_string_equal(graph->nodes[n]->name, expected[n]);
    assert_int_equal(graph->nodes[n]->index, n);
  }
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(users_and_order),
                                     cmocka_unit_test(refused),
                                     cmocka_unit_test(random_orders),
                                     cmocka_unit_test(edits),
                                     cmocka_unit_test(labels),
                                     cmocka_unit_test(replaced_twice),
                                     cmocka_unit_test(names_of_many),
                                     cmocka_unit_test(nodes_with_constants),
                                     cmocka_unit_test(part),
                                     cmocka_unit_test(unread_constants),
                                     cmocka_unit_test(values_that_stay),
                                     cmocka_unit_test(nodes_beside)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
