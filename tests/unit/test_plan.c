// Plans: places in memory that never overlap while both are needed, taps that change nothing, shapes that depend on
// elements, and settings of convolutions. Passes are in test_passes.c.
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/kernels/conv/conv.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/plan_harness.h"
#include "tests/unit/schedule_harness.h"

// ---- Memory ----

// The second half of two values joined.
static void join(dq_graph *graph, dq_value *a, dq_value *b, const char *to) {
  char name[2][24];
  snprintf(name[0], sizeof name[0], "%s_joined", to);
  snprintf(name[1], sizeof name[1], "%s_first", to);
  dq_node_set_int(graph, add(graph, "Concat", 2, (dq_value *[]){a, b}, name[0]), "axis", -1);
  dq_value *joined = dq_graph_find(graph, name[0]);
  dq_value *halves[] = {dq_graph_add_value(graph, name[1]), dq_graph_add_value(graph, to)};
  dq_node *split = dq_graph_add_node(graph, graph->node_count, "Split", to, 1, &joined, 2, halves);
  dq_node_set_int(graph, split, "axis", 1);
}

// A random network of elementwise operators, views, sizes that change and joined values.
static dq_graph *random_network(dq_random *random) {
  static const char *const unary[] = {"Relu", "Neg", "Sigmoid", "Abs", "Identity", "Flatten"};
  dq_graph *graph = new_graph();
  enum { NODES = 25 };
  dq_value *made[NODES + 1];
  made[0] = shaped(graph, "x", 2, (int64_t[]){1, 50});
  for (int n = 1; n <= NODES; n++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", n);
    dq_value *a = made[dq_random_below(random, (uint64_t)n)], *b = made[dq_random_below(random, (uint64_t)n)];
    if (n > 4 && dq_random_below(random, 2)) a = made[n - 1], b = made[n - 2];
    if (!dq_random_below(random, 4)) join(graph, a, b, name);
    else if (dq_random_below(random, 2)) add(graph, "Add", 2, (dq_value *[]){a, b}, name);
    else add(graph, unary[dq_random_below(random, 6)], 1, &a, name);
    made[n] = dq_graph_find(graph, name);
  }
  interface(graph, made[0], made[NODES]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

// In-place results, joined values and reused memory give what a run that keeps every value gives.
static void memory_is_never_shared_too_early(void **state) {
  (void)state;
  int joined = 0, wasteful = 0; // plans that need more than the most that is alive at once
  for (uint64_t seed = 0; seed < 150; seed++) {
    dq_random random = {seed};
    dq_graph *graph = random_network(&random);
    dq_arena *arena = dq_arena_new(0);
    dq_plan *plan, *tapped;
    dq_error error = {0};
    assert_int_equal(dq_plan_new(&plan, graph, NULL, NULL, &context, &error), DQ_OK);
    const dq_schedule *schedule = dq_plan_schedule(plan);
    check_places(schedule);
    for (int v = 0; v < graph->value_count; v++) graph->values[v]->is_output = true; // kept to the end
    assert_int_equal(dq_plan_new(&tapped, graph, NULL, NULL, &context, &error), DQ_OK);
    wasteful += dq_schedule_bytes(schedule) > dq_schedule_live_bytes(schedule);
    for (int v = 0; v < graph->value_count; v++) joined += dq_schedule_place(schedule, v)->joined >= 0;
    record kept = {0};
    for (int v = 0; v < graph->value_count; v++) assert_true(dq_plan_tap(tapped, graph->values[v]->name));
    dq_plan_set_tap(tapped, keep_value, &kept);
    same_bits(run_plan(plan, arena, seed), run_plan(tapped, arena, seed));
    assert_int_equal(kept.count, graph->value_count);
    for (int i = 0; i < kept.count; i++) free(kept.values[i]);
    same_bits(run_plan(plan, arena, seed + 1), run_plan(plan, arena, seed + 1)); // again, the same
    dq_plan_free(tapped);
    dq_plan_free(plan);
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
  assert_true(joined > 100);
  assert_in_range(wasteful, 0, 4); // 7 without bringing forward what lies highest
}

// From any step on, with what other runs left in the memory between.
static void a_run_goes_back_to_a_state(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    dq_random random = {seed};
    dq_graph *graph = random_network(&random);
    dq_arena *arena = dq_arena_new(0);
    dq_plan *plan, *twin;
    dq_error error = {0};
    assert_int_equal(dq_plan_new(&plan, graph, NULL, NULL, &context, &error), DQ_OK);
    assert_int_equal(dq_plan_new(&twin, graph, NULL, NULL, &context, &error), DQ_OK);
    const dq_tensor *whole = run_plan(plan, arena, seed);
    void *kept = malloc(dq_plan_state_bytes(plan));
    assert_int_equal(dq_plan_state_bytes(twin), dq_plan_state_bytes(plan));
    int count = dq_plan_step_count(plan), middle = (int)dq_random_below(&random, (uint64_t)count + 1);
    fill(dq_plan_input(plan, 0), seed);
    assert_int_equal(dq_plan_run_steps(plan, 0, middle, &error), DQ_OK);
    dq_plan_save(plan, kept);
    run_plan(plan, arena, seed + 1);
    dq_plan *const both[] = {plan, twin};
    for (int i = 0; i < 2; i++) {
      dq_plan_restore(both[i], kept);
      assert_int_equal(dq_plan_run_steps(both[i], middle, count, &error), DQ_OK);
      same_bits(dq_plan_output(both[i], 0), whole);
    }
    free(kept);
    dq_plan_free(twin);
    dq_plan_free(plan);
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
}

// All operands of a step and its result; a scalar is an operand of 4 bytes, one that is left out none.
static void bytes_of_a_step(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){1, 40}), *limit = constant(graph, "limit", 0, NULL, (float[]){1});
  dq_value *y = add(graph, "Clip", 3, (dq_value *[]){x, NULL, limit}, "y")->outputs[0];
  interface(graph, x, y);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_plan *plan;
  assert_int_equal(dq_plan_new(&plan, graph, NULL, NULL, &context, NULL), DQ_OK);
  assert_int_equal(dq_plan_step_count(plan), 1);
  assert_int_equal(dq_plan_step_bytes(plan, 0), 160 + 4 + 160);
  dq_plan_free(plan);
  dq_graph_free(graph);
}

static void memory_limit(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){1000, 1000});
  add(graph, "Relu", 1, &x, "y");
  interface(graph, x, dq_graph_find(graph, "y"));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_budget budget = {.limit = 1 << 20};
  dq_context small = {.budget = &budget};
  dq_error error = {0};
  dq_plan *plan = NULL;
  assert_int_equal(dq_plan_new(&plan, graph, NULL, NULL, &small, &error), DQ_SYSTEM);
  dq_graph_free(graph);
}

// The copy of a graph and what the passes keep count as well as the values: here they are nearly all.
static void memory_limit_of_sessions(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 1, (int64_t[]){8}), *last = x;
  for (int i = 0; i < 10000; i++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    last = add(graph, "Neg", 1, &last, name)->outputs[0];
  }
  interface(graph, x, last);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  for (int enough = 0; enough < 2; enough++) {
    dq_budget budget = {.limit = (size_t)(enough ? 64 : 2) << 20};
    dq_context bounded = {.budget = &budget};
    dq_error error = {0};
    dq_session session;
    assert_int_equal(dq_session_open(&session, graph, NULL, &bounded, &error), enough ? DQ_OK : DQ_SYSTEM);
    if (enough) assert_true(budget.used > (2 << 20));
    dq_session_close(&session);
    assert_int_equal(budget.used, 0);
  }
  dq_graph_free(graph);
}

// ---- The small models ----

static dq_graph *load(const char *name) {
  char path[4096];
  dq_error error = {0};
  dq_graph *graph;
  snprintf(path, sizeof path, "%s/models/%s.onnx", getenv("DQ_BUILD") ? getenv("DQ_BUILD") : "build", name);
  if (dq_onnx_load(&graph, path, NULL, &error) == DQ_OK) return graph;
  print_message("SKIP %s\n", error.message);
  skip();
  return NULL;
}

static void taps_change_no_bit(void **state) {
  (void)state;
  static const char *const taps[] = {"a", "b", "c", "d", "e", "f", "g"};
  dq_graph *graph = load("small");
  dq_arena *arena = dq_arena_new(0);
  dq_session_options tapped = {.taps = taps, .tap_count = 7}, plain = tapped;
  plain.plain = true;
  record kept = {0}, unfused = {0};
  dq_tensor *untapped = session_run(graph, NULL, &context, arena, NULL);
  same_bits(untapped, session_run(graph, &tapped, &context, arena, &kept));
  same_bits(untapped, session_run(graph, &plain, &context, arena, &unfused)); // fused Relu: equal bits
  assert_int_equal(kept.count, 7);
  assert_int_equal(unfused.count, 7);
  for (int i = 0; i < 7; i++) free(kept.values[i]), free(unfused.values[i]);
  for (int threads = 1; threads <= 3; threads++)
    for (int mask = 0; mask < 2; mask++) {
      dq_context other;
      assert_int_equal(dq_context_init(&other, threads, mask ? ~0u : 0, NULL), DQ_OK);
      same_bits(untapped, session_run(graph, NULL, &other, arena, NULL));
      dq_context_deinit(&other);
    }
  dq_arena_free(arena);
  dq_graph_free(graph);
}

// A convolution's own weights are gone when they are packed; those that two read stay, and no bit changes.
static void packed_weights_are_given_back(void **state) {
  (void)state;
  enum { COUNT = 8 * 8 * 5 * 5 };
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = 0.01f * (float)(i % 17 - 8);
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 8, 9, 9}), *from = x;
  dq_value *shared = constant(graph, "shared", 4, (int64_t[]){8, 8, 3, 3}, values);
  dq_value *own = constant(graph, "own", 4, (int64_t[]){8, 8, 5, 5}, values);
  static const char *const names[] = {"a", "b", "y"};
  for (int i = 0; i < 3; i++) {
    add(graph, "Conv", 2, (dq_value *[]){from, i == 1 ? own : shared}, names[i]);
    from = dq_graph_find(graph, names[i]);
  }
  interface(graph, x, from);
  from->type = DQ_F32, from->rank = -1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *kept = session_run(graph, NULL, &context, arena, NULL);
  size_t before = dq_arena_bytes(graph->arena);
  assert_non_null(own->constant->data);
  same_bits(kept, session_run(graph, &(dq_session_options){.spent = graph}, &context, arena, NULL));
  assert_null(own->constant->data);
  assert_non_null(shared->constant->data);
  assert_int_equal(before - dq_arena_bytes(graph->arena), sizeof values);
  dq_arena_free(arena);
  dq_graph_free(graph);
}

// Shapes that depend on elements, down to a scalar: the places of what is not zero in 0 3 0 5, their elements, the sum.
static void shapes_of_elements(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 1, (int64_t[]){4});
  add(graph, "NonZero", 1, &x, "places");
  add(graph, "Gather", 2, (dq_value *[]){x, dq_graph_find(graph, "places")}, "picked");
  dq_node *sum = add(graph, "ReduceSum", 1, (dq_value *[]){dq_graph_find(graph, "picked")}, "y");
  assert_true(dq_node_set_int(graph, sum, "keepdims", 0));
  interface(graph, x, shaped(graph, "y", 0, NULL));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
  memcpy(dq_plan_input(session.plan, 0)->data, (float[]){0, 3, 0, 5}, 4 * sizeof(float));
  if (dq_plan_run(session.plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *y = dq_plan_output(session.plan, 0);
  assert_int_equal(y->rank, 0);
  assert_true(*(const float *)y->data == 8);
  dq_session_close(&session);
  dq_graph_free(graph);
}

// ---- Convolutions by name ----

// Patterns fit whole names, slashes too, and the output's name where a node has none; the last that fits counts.
static void settings_of_convolutions(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 4, 4}), *at = x;
  dq_value *w = constant(graph, "w", 4, (int64_t[]){1, 1, 3, 3}, (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
  const char *const names[] = {"/stem/Conv", "", "head"}, *const outputs[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    dq_value *to = dq_graph_add_value(graph, outputs[i]);
    dq_node *node = dq_graph_add_node(graph, i, "Conv", names[i], 2, (dq_value *[]){at, w}, 1, &to);
    dq_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    at = to;
  }
  interface(graph, x, at);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  const struct {
    const char *patterns[2], *expected[3]; // by im2col, by im2row; "": neither
  } cases[] = {{{NULL, "/nowhere"}, {"im2col", "im2col", "im2col"}}, {{"*", "head"}, {"im2col", "im2col", "im2row"}},
               {{"head", "*"}, {"im2row", "im2row", "im2row"}},      {{"/stem*", "b"}, {"im2col", "im2row", ""}},
               {{"*Conv", "?"}, {"im2col", "im2row", ""}},           {{"Conv", "stem"}, {"", "", ""}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_conv_setting settings[] = {{cases[i].patterns[0], DQ_CONV_im2col}, {cases[i].patterns[1], DQ_CONV_im2row}};
    dq_binding binding = {.convolutions = settings, .convolution_count = 2};
    dq_plan *plan;
    assert_int_equal(dq_plan_new(&plan, graph, NULL, &binding, &context, NULL), DQ_OK);
    for (int s = 0; s < 3; s++) {
      const char *found = dq_plan_step_algorithm(plan, s);
      if (*cases[i].expected[s]) assert_string_equal(found, cases[i].expected[s]);
      else assert_true(strcmp(found, "im2col") && strcmp(found, "im2row"));
    }
    dq_plan_free(plan);
  }
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_never_shared_too_early),
      cmocka_unit_test(bytes_of_a_step),
      cmocka_unit_test(memory_limit),
      cmocka_unit_test(memory_limit_of_sessions),
      cmocka_unit_test(a_run_goes_back_to_a_state),
      cmocka_unit_test(packed_weights_are_given_back),
      cmocka_unit_test(taps_change_no_bit),
      cmocka_unit_test(shapes_of_elements),
      cmocka_unit_test(settings_of_convolutions),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
