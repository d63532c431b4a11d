// Plans: places in memory that never overlap while both are needed, taps that change nothing, and
// passes that compute what the nodes compute.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/exec/plan_internal.h"
#include "lib/onnx/onnx.h"
#include "lib/passes/passes.h"

static dq_context context;

static dq_value *shaped(dq_graph *graph, const char *name, int rank, const int64_t *dims) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *own = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i].size = dims[i];
  value->type = DQ_F32, value->rank = rank, value->dims = own;
  return value;
}

static void interface(dq_graph *graph, dq_value *input, dq_value *output) {
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = input)->is_input = true;
  (graph->outputs[0] = output)->is_output = true;
  graph->input_count = graph->output_count = 1;
}

static dq_node *add(dq_graph *graph, const char *op, int count, dq_value **inputs, const char *to) {
  dq_value *output = dq_graph_add_value(graph, to);
  return dq_graph_add_node(graph, graph->node_count, op, to, count, inputs, 1, &output);
}

static dq_graph *new_graph(void) {
  dq_graph *graph = dq_graph_new(0);
  assert_non_null(graph);
  graph->ir_version = 7;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  return graph;
}

static dq_value *constant(dq_graph *graph, const char *name, int rank, const int64_t *dims, const float *values) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(graph, name, tensor);
}

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

// Two values with memory of their own that are needed at the same step do not share a byte.
static void check_places(const dq_plan *plan) {
  for (int a = 0; a < plan->graph->value_count; a++) {
    const dq_place *left = &plan->places[a];
    if (!left->planned || left->root != a) continue;
    if (left->joined >= 0) { // inside of the whole, for no longer than that
      const dq_place *whole = &plan->places[left->joined];
      assert_true(left->offset >= whole->offset && left->offset + left->shift >= left->shift);
      assert_true(left->first >= whole->first && left->last <= whole->last);
      continue;
    }
    assert_true(left->offset + left->bytes <= plan->block_bytes);
    for (int b = 0; b < a; b++) {
      const dq_place *right = &plan->places[b];
      if (!right->planned || right->root != b || right->joined >= 0 || left->last < right->first || right->last < left->first) continue;
      assert_true(left->offset + left->bytes <= right->offset || right->offset + right->bytes <= left->offset);
    }
  }
  assert_true(plan->block_bytes >= plan->live_bytes);
}

typedef struct record {
  float *values[128];
  int count;
} record;

static dq_status keep(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  (void)error, (void)value;
  record *kept = user;
  size_t bytes = dq_tensor_bytes(tensor);
  kept->values[kept->count] = malloc(bytes);
  memcpy(kept->values[kept->count++], tensor->data, bytes);
  return DQ_OK;
}

static void fill(dq_tensor *tensor, uint64_t seed) {
  dq_random random = {seed};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++)
    ((float *)tensor->data)[i] = dq_random_normal(&random);
}

static dq_tensor *run(dq_plan *plan, dq_arena *arena, uint64_t seed) {
  dq_error error = {0};
  fill(dq_plan_input(plan, 0), seed);
  if (dq_plan_run(plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *output = dq_plan_output(plan, 0);
  dq_tensor *copy = dq_arena_copy(arena, output, sizeof *output);
  copy->data = dq_arena_copy(arena, output->data, dq_tensor_bytes(output));
  return copy;
}

static void same_bits(const dq_tensor *a, const dq_tensor *b) {
  assert_true(dq_tensor_same_shape(a, b));
  assert_memory_equal(a->data, b->data, dq_tensor_bytes(a));
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
    assert_int_equal(dq_plan_new(&plan, graph, NULL, &context, &error), DQ_OK);
    for (int v = 0; v < graph->value_count; v++) graph->values[v]->is_output = true; // kept to the end
    assert_int_equal(dq_plan_new(&tapped, graph, NULL, &context, &error), DQ_OK);
    check_places(plan);
    wasteful += plan->block_bytes > plan->live_bytes;
    for (int v = 0; v < graph->value_count; v++) joined += plan->places[v].joined >= 0;
    record kept = {0};
    for (int v = 0; v < graph->value_count; v++) assert_true(dq_plan_tap(tapped, graph->values[v]->name));
    dq_plan_set_tap(tapped, keep, &kept);
    same_bits(run(plan, arena, seed), run(tapped, arena, seed));
    assert_int_equal(kept.count, graph->value_count);
    for (int i = 0; i < kept.count; i++) free(kept.values[i]);
    same_bits(run(plan, arena, seed + 1), run(plan, arena, seed + 1)); // again, the same
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
    assert_int_equal(dq_plan_new(&plan, graph, NULL, &context, &error), DQ_OK);
    assert_int_equal(dq_plan_new(&twin, graph, NULL, &context, &error), DQ_OK);
    const dq_tensor *whole = run(plan, arena, seed);
    void *kept = malloc(dq_plan_state_bytes(plan));
    assert_int_equal(dq_plan_state_bytes(twin), dq_plan_state_bytes(plan));
    int count = dq_plan_step_count(plan), middle = (int)dq_random_below(&random, (uint64_t)count + 1);
    fill(dq_plan_input(plan, 0), seed);
    assert_int_equal(dq_plan_run_steps(plan, 0, middle, &error), DQ_OK);
    dq_plan_save(plan, kept);
    run(plan, arena, seed + 1);
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
  assert_int_equal(dq_plan_new(&plan, graph, NULL, &small, &error), DQ_SYSTEM);
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

static dq_tensor *session_run(const dq_graph *graph, const dq_session_options *options, const dq_context *with,
                              dq_arena *arena, record *taps) {
  dq_session session;
  dq_error error = {0};
  if (dq_session_open(&session, graph, options, with, &error) != DQ_OK) fail_msg("%s", error.message);
  if (taps) dq_plan_set_tap(session.plan, keep, taps);
  dq_tensor *output = run(session.plan, arena, 7);
  dq_session_close(&session);
  return output;
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

// ---- Passes ----

// Conv of weight 2 and bias 1, normalized with mean 3, variance 4 less epsilon, scale 6, offset 5:
// y = 6 (2 x + 1 - 3) / 2 + 5 = 6 x - 1.
static void batch_norm_by_hand(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
  const int64_t one[] = {1, 1, 1, 1};
  add(graph, "Conv", 3, (dq_value *[]){x, constant(graph, "w", 4, one, (float[]){2}), constant(graph, "b", 1, one, (float[]){1})}, "c");
  dq_node *norm = add(graph, "BatchNormalization", 5,
                      (dq_value *[]){dq_graph_find(graph, "c"), constant(graph, "scale", 1, one, (float[]){6}),
                                     constant(graph, "offset", 1, one, (float[]){5}),
                                     constant(graph, "mean", 1, one, (float[]){3}),
                                     constant(graph, "variance", 1, one, (float[]){3.5f})}, "y");
  dq_node_set_float(graph, norm, "epsilon", 0.5f);
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  for (int plain = 0; plain < 2; plain++) {
    dq_session session;
    dq_error error = {0};
    dq_session_options options = {.plain = plain};
    assert_int_equal(dq_session_open(&session, graph, &options, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, plain ? 2 : 1);
    float *input = dq_plan_input(session.plan, 0)->data;
    input[0] = 1, input[1] = -2;
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    const float *output = dq_plan_output(session.plan, 0)->data;
    assert_true(fabsf(output[0] - 5) < 1e-5f && fabsf(output[1] + 13) < 1e-5f);
    dq_session_close(&session);
  }
  assert_int_equal(graph->node_count, 2); // the document is as it was
  dq_graph_free(graph);
}

// y = Relu(SiLU(conv x) + x): nothing but the convolution is left, with the same bits. A tap in between, an
// addend of another shape, or a second reader keep what they need.
static void ends_of_residual_blocks(void **state) {
  (void)state;
  enum { FUSED, TAPPED, BROADCAST, READ_TWICE, CASES };
  const int nodes[] = {1, 5, 4, 4};
  const char *const tap = "c";
  for (int which = 0; which < CASES; which++) {
    const int64_t one[] = {1, 1, 1, 1}, form[] = {1, 1, 3, 5}, column[] = {1, 1, 3, 1};
    const float w[] = {-1.5f};
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, form), *a = x;
    add(graph, "Conv", 2, (dq_value *[]){x, constant(graph, "w", 4, one, w)}, "c");
    add(graph, "Sigmoid", 1, (dq_value *[]){dq_graph_find(graph, "c")}, "s");
    add(graph, "Mul", 2, (dq_value *[]){dq_graph_find(graph, "s"), dq_graph_find(graph, "c")}, "m");
    if (which == BROADCAST) {
      dq_node *most = add(graph, "ReduceMax", 1, &x, "a");
      dq_node_set_ints(graph, most, "axes", (int64_t[]){3}, 1);
      a = shaped(graph, "a", 4, column);
    }
    add(graph, "Add", 2, (dq_value *[]){dq_graph_find(graph, "m"), a}, "p");
    add(graph, "Relu", 1, (dq_value *[]){dq_graph_find(graph, "p")}, which == READ_TWICE ? "r" : "y");
    if (which == READ_TWICE)
      add(graph, "Sub", 2, (dq_value *[]){dq_graph_find(graph, "r"), dq_graph_find(graph, "m")}, "y");
    interface(graph, x, shaped(graph, "y", 4, form));
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session_options options = {.taps = &tap, .tap_count = which == TAPPED}, plain = {.plain = true};
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, &options, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, nodes[which]);
    dq_session_close(&session);
    dq_arena *arena = dq_arena_new(0);
    same_bits(session_run(graph, &options, &context, arena, NULL), session_run(graph, &plain, &context, arena, NULL));
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
}

// Conv of weights 2 and 3 (two channels) and bias 1 and 0, then a Mul, an Add, a Sub or a Div of a constant. By
// channel or one number it is folded; along a row it is not, nor a number divided by the result, nor one that gives
// weights beyond float32.
static void affine_by_hand(void **state) {
  (void)state;
  const struct {
    const char *type;
    bool first; // the constant is the first operand
    int rank;
    int64_t dims[4];
    float c[2];
    int nodes;
    float expected[2]; // of x = 1 in both places: 3 and 3 before
  } cases[] = {{"Mul", false, 4, {1, 2, 1, 1}, {2, -4}, 1, {6, -12}},
               {"Add", true, 3, {2, 1, 1}, {0.5f, -1}, 1, {3.5f, 2}},
               {"Add", false, 0, {0}, {2}, 1, {5, 5}},
               {"Sub", false, 3, {2, 1, 1}, {1, 2}, 1, {2, 1}},
               {"Sub", true, 1, {1}, {10}, 1, {7, 7}},
               {"Div", false, 3, {2, 1, 1}, {4, 2}, 1, {0.75f, 1.5f}},
               {"Div", true, 1, {1}, {6}, 2, {2, 2}},
               {"Add", false, 1, {2}, {1, 1}, 2, {4, 4}},
               {"Mul", false, 1, {1}, {2e38f}, 2, {INFINITY, INFINITY}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
    const int64_t weight[] = {2, 1, 1, 1};
    add(graph, "Conv", 3, (dq_value *[]){x, constant(graph, "w", 4, weight, (float[]){2, 3}), constant(graph, "b", 1, weight, (float[]){1, 0})}, "c");
    dq_value *result = dq_graph_find(graph, "c"), *k = constant(graph, "k", cases[i].rank, cases[i].dims, cases[i].c);
    add(graph, cases[i].type, 2, cases[i].first ? (dq_value *[]){k, result} : (dq_value *[]){result, k}, "y");
    interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 2, 1, 2}));
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, cases[i].nodes);
    float *input = dq_plan_input(session.plan, 0)->data;
    input[0] = input[1] = 1;
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    const float *output = dq_plan_output(session.plan, 0)->data;
    for (int o = 0; o < 2; o++) assert_true(output[2 * o] == cases[i].expected[o] && output[2 * o + 1] == cases[i].expected[o]);
    dq_session_close(&session);
    dq_graph_free(graph);
  }
}

// ConvTranspose of two groups of two channels: weight 1, 2, 3, 4 by output channel, times 1, 10, 100, 1000.
static void affine_behind_groups(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 2, 1, 1});
  const int64_t weight[] = {2, 2, 1, 1}, factors[] = {4, 1, 1};
  dq_node *node = add(graph, "ConvTranspose", 2, (dq_value *[]){x, constant(graph, "w", 4, weight, (float[]){1, 2, 3, 4})}, "c");
  dq_node_set_int(graph, node, "group", 2);
  add(graph, "Mul", 2, (dq_value *[]){dq_graph_find(graph, "c"), constant(graph, "k", 3, factors, (float[]){1, 10, 100, 1000})}, "y");
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 4, 1, 1}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
  assert_int_equal(session.copy->node_count, 1);
  float *input = dq_plan_input(session.plan, 0)->data;
  input[0] = 1, input[1] = 2;
  assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
  const float expected[] = {1, 20, 600, 8000}, *output = dq_plan_output(session.plan, 0)->data;
  for (int o = 0; o < 4; o++) assert_true(output[o] == expected[o]);
  dq_session_close(&session);
  dq_graph_free(graph);
}

static dq_value *half_constant(dq_graph *graph, const char *name, int rank, float x) {
  const int64_t one[] = {1, 1, 1, 1};
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F16, rank, one);
  dq_tensor_set(tensor, 0, (double)x);
  return dq_graph_add_constant(graph, name, tensor);
}

// The same in float16: y = scale (weight x + 1 - 3) / 2 + 5 becomes a weight of weight scale / 2: 6 and
// 2^-13 are folded; 2^-15 is below the normal numbers and 180000 beyond the largest, so they are not.
static void batch_norm_in_half(void **state) {
  (void)state;
  const struct {
    float weight, scale;
    int nodes;
    float expected; // of x = 1
  } cases[] = {{2, 6, 1, 5}, {2, 0x1p-13f, 1, 5}, {0x1p-10f, 0x1p-4f, 2, 4.9375f}, {60000, 6, 2, INFINITY}};
  for (int i = 0; i < 4; i++) {
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
    x->type = DQ_F16;
    add(graph, "Conv", 3, (dq_value *[]){x, half_constant(graph, "w", 4, cases[i].weight), half_constant(graph, "b", 1, 1)}, "c");
    dq_node *norm = add(graph, "BatchNormalization", 5,
                        (dq_value *[]){dq_graph_find(graph, "c"), half_constant(graph, "scale", 1, cases[i].scale),
                                       half_constant(graph, "offset", 1, 5), half_constant(graph, "mean", 1, 3),
                                       half_constant(graph, "variance", 1, 3.5f)}, "y");
    dq_node_set_float(graph, norm, "epsilon", 0.5f);
    interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
    dq_graph_find(graph, "y")->type = DQ_F16;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, cases[i].nodes);
    uint16_t *input = dq_plan_input(session.plan, 0)->data;
    input[0] = input[1] = 0x3c00; // 1
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    double found = dq_tensor_get(dq_plan_output(session.plan, 0), 0);
    assert_true(found == (double)cases[i].expected || fabs(found - (double)cases[i].expected) < 0.01);
    dq_session_close(&session);
    dq_graph_free(graph);
  }
}

// A batch normalization whose variance cannot be is not folded silently into NaN weights.
static void batch_norm_of_negative_variance(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
  const int64_t one[] = {1, 1, 1, 1};
  add(graph, "Conv", 2, (dq_value *[]){x, constant(graph, "w", 4, one, (float[]){2})}, "c");
  dq_value *p = constant(graph, "p", 1, one, (float[]){1}), *v = constant(graph, "v", 1, one, (float[]){-1});
  add(graph, "BatchNormalization", 5, (dq_value *[]){dq_graph_find(graph, "c"), p, p, p, v}, "y");
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  dq_status status = dq_session_open(&session, graph, NULL, &context, &error);
  if (status == DQ_OK) { // run as it stands
    assert_int_equal(session.copy->node_count, 2);
    dq_session_close(&session);
  } else {
    assert_int_equal(status, DQ_BAD_INPUT);
  }
  dq_graph_free(graph);
}

static dq_value *byte_scalar(dq_graph *graph, const char *name, int type, int number) {
  return dq_graph_add_constant(graph, name, dq_tensor_scalar_i8(graph->arena, type, number));
}

// Dequantize, Conv, Quantize as one integer step is within one step of the three in float.
static void integer_convolution(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    dq_random random = {seed};
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 5, 7, 9});
    dq_tensor *w = dq_tensor_new(graph->arena, DQ_I8, 4, (int64_t[]){6, 5, 3, 3});
    for (int64_t i = 0; i < dq_tensor_count(w); i++) dq_tensor_set(w, i, (double)dq_random_below(&random, 255) - 127);
    dq_value *sx = constant(graph, "sx", 0, NULL, (float[]){0.03f}), *sw = constant(graph, "sw", 0, NULL, (float[]){0.002f});
    dq_value *sy = constant(graph, "sy", 0, NULL, (float[]){0.05f}), *zx = byte_scalar(graph, "zx", DQ_U8, 120);
    dq_value *zw = byte_scalar(graph, "zw", DQ_I8, 0), *zy = byte_scalar(graph, "zy", DQ_U8, 128);
    add(graph, "QuantizeLinear", 3, (dq_value *[]){x, sx, zx}, "xq");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "xq"), sx, zx}, "xd");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_add_constant(graph, "w", w), sw, zw}, "wd");
    dq_node *conv = add(graph, "Conv", 2, (dq_value *[]){dq_graph_find(graph, "xd"), dq_graph_find(graph, "wd")}, "c");
    dq_node_set_ints(graph, conv, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    dq_node_set_ints(graph, conv, "strides", (int64_t[]){1 + (int64_t)seed % 2, 1}, 2);
    add(graph, "QuantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "c"), sy, zy}, "cq");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "cq"), sy, zy}, "y");
    interface(graph, x, dq_graph_find(graph, "y"));
    dq_graph_find(graph, "y")->type = DQ_F32, dq_graph_find(graph, "y")->rank = -1;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_arena *arena = dq_arena_new(0);
    dq_session_options plain = {.plain = true};
    dq_tensor *fused = session_run(graph, NULL, &context, arena, NULL);
    dq_tensor *unfused = session_run(graph, &plain, &context, arena, NULL);
    int different = 0;
    for (int64_t i = 0; i < dq_tensor_count(fused); i++) {
      double gap = fabs(dq_tensor_get(fused, i) - dq_tensor_get(unfused, i));
      assert_true(gap < 0.05 * 1.01);
      different += gap > 0.001;
    }
    assert_true(different <= 2);
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
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

static int start(void **state) {
  (void)state;
  return dq_context_init(&context, 2, ~0u, NULL) == DQ_OK ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_never_shared_too_early), cmocka_unit_test(memory_limit), cmocka_unit_test(memory_limit_of_sessions),
      cmocka_unit_test(a_run_goes_back_to_a_state), cmocka_unit_test(packed_weights_are_given_back),
      cmocka_unit_test(taps_change_no_bit), cmocka_unit_test(batch_norm_by_hand),
      cmocka_unit_test(affine_by_hand), cmocka_unit_test(affine_behind_groups), cmocka_unit_test(batch_norm_in_half), cmocka_unit_test(ends_of_residual_blocks),
      cmocka_unit_test(batch_norm_of_negative_variance), cmocka_unit_test(shapes_of_elements), cmocka_unit_test(integer_convolution),
  };
  return cmocka_run_group_tests(tests, start, end);
}
