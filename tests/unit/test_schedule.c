// Schedules: a small one by hand, the same on every instruction set and number of threads, and memory that no two
// living values share, on all networks that tests make and on those of $DQ_ASSETS.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/onnx/onnx.h"
#include "lib/schedule/offsets.h"
#include "tests/unit/plan_harness.h"
#include "tests/unit/schedule_harness.h"

// ---- By hand ----

static dq_value *step(dq_graph *graph, const char *op, dq_value *a, dq_value *b, const char *to) {
  return add(graph, op, b ? 2 : 1, (dq_value *[]){a, b}, to)->outputs[0];
}

// x and y have 2 x 40 floats: 320 bytes. a is x squared, b lies over a, y joins b and x along dimension 0, so that b is
// its first half; c would be known while scheduling, and no step makes it.
static void by_hand(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){1, 40}), *two = constant(graph, "two", 0, NULL, (float[]){2});
  dq_value *c = step(graph, "Neg", two, NULL, "c"), *a = step(graph, "Mul", x, c, "a");
  dq_value *b = step(graph, "Relu", a, NULL, "b"), *y = step(graph, "Concat", b, x, "y");
  interface(graph, x, y);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_node_set_int(graph, y->producer, "axis", 0);
  dq_schedule *schedule;
  dq_error error = {0};
  assert_int_equal(dq_schedule_new(&schedule, graph, NULL, &context, &error), DQ_OK);
  check_places(schedule);
  assert_int_equal(dq_schedule_step_count(schedule), 3);
  static const char *const order[] = {"a", "b", "y"};
  for (int s = 0; s < 3; s++) assert_string_equal(dq_schedule_step_at(schedule, s)->node->outputs[0]->name, order[s]);
  assert_int_equal(dq_schedule_place(schedule, two->index)->storage, DQ_STORED_GRAPH);
  assert_int_equal(dq_schedule_place(schedule, c->index)->storage, DQ_STORED_SCHEDULE);
  assert_true(*(const float *)dq_schedule_tensor(schedule, c->index)->data == -2);
  const dq_place *first = dq_schedule_place(schedule, a->index), *over = dq_schedule_place(schedule, b->index);
  const dq_place *joined = dq_schedule_place(schedule, y->index), *input = dq_schedule_place(schedule, x->index);
  assert_int_equal(over->root, a->index);
  assert_int_equal(first->last, 1);
  assert_int_equal(first->ended, 2);
  assert_int_equal(first->joined, y->index);
  assert_int_equal(over->offset, joined->offset);
  assert_int_equal(joined->opened, 0);
  assert_int_equal(joined->bytes, 320);
  assert_int_equal(input->bytes, 192); // 160, rounded up
  assert_int_equal(input->last, 3);
  assert_int_equal(dq_schedule_bytes(schedule), 512);
  assert_int_equal(dq_schedule_live_bytes(schedule), 512);
  dq_schedule_free(schedule);
  dq_graph_free(graph);
}

// The inputs of a Concat lie in its result where only dimensions of 1 stand in front of its axis.
static void joined_by_axis(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[3];
    int axis;
    bool joined;
  } cases[] = {{1, {40}, 0, true},        {1, {40}, -1, true},       {2, {1, 40}, 0, true},
               {2, {1, 40}, 1, true},     {2, {1, 40}, -1, true},    {2, {2, 40}, 0, true},
               {2, {2, 40}, 1, false},    {2, {2, 40}, -2, true},    {3, {1, 1, 40}, 2, true},
               {3, {1, 2, 40}, 2, false}, {3, {1, 2, 40}, 1, true},  {3, {2, 1, 40}, 1, false},
               {3, {2, 1, 40}, -3, true}, {3, {3, 1, 40}, -1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", cases[i].rank, cases[i].dims);
    dq_value *a = step(graph, "Neg", x, NULL, "a"), *b = step(graph, "Abs", x, NULL, "b");
    dq_value *y = step(graph, "Concat", a, b, "y");
    interface(graph, x, y);
    assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
    dq_node_set_int(graph, y->producer, "axis", cases[i].axis);
    dq_schedule *schedule;
    dq_error error = {0};
    assert_int_equal(dq_schedule_new(&schedule, graph, NULL, &context, &error), DQ_OK);
    check_places(schedule);
    int expected = cases[i].joined ? y->index : -1;
    const dq_place *first = dq_schedule_place(schedule, a->index), *second = dq_schedule_place(schedule, b->index);
    if (first->joined != expected || second->joined != expected) fail_msg("case %zu", i);
    if (cases[i].joined) {
      assert_int_equal(first->shift, 0);
      assert_int_equal(second->shift, dq_tensor_bytes(dq_schedule_tensor(schedule, a->index)));
    }
    dq_schedule_free(schedule);
    dq_graph_free(graph);
  }
}

// A 3 x 3 x 3 convolution of 8-bit values has no kernel: its plain loop takes input and sums as int32, whatever the
// processor. The schedule has 216 + 1 elements of one byte each, in 256 + 64 bytes; the workspace is 4 (216 + 1) bytes.
static void workspace_by_hand(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *inputs[8] = {shaped(graph, "x", 5, (int64_t[]){1, 8, 3, 3, 3})};
  static const int types[] = {DQ_U8, DQ_F32, DQ_U8, DQ_I8, DQ_F32, DQ_I8, DQ_F32, DQ_U8};
  inputs[0]->type = DQ_U8;
  for (int i = 1; i < 8; i++) {
    char name[8];
    snprintf(name, sizeof name, "c%d", i);
    dq_tensor *tensor = dq_tensor_new(graph->arena, types[i], i == 3 ? 5 : 0, (int64_t[]){1, 8, 3, 3, 3});
    if (types[i] == DQ_F32) *(float *)tensor->data = 0.5f;
    inputs[i] = dq_graph_add_constant(graph, name, tensor);
  }
  interface(graph, inputs[0], add(graph, "QLinearConv", 8, inputs, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_plan *plan;
  dq_error error = {0};
  if (dq_plan_new(&plan, graph, NULL, NULL, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_schedule_bytes(dq_plan_schedule(plan)), 256 + 64);
  assert_int_equal(dq_plan_memory_of(plan).workspace, 4 * (216 + 1));
  dq_plan_free(plan);
  dq_graph_free(graph);
}

// ---- Many values ----

static int by_value(const void *a, const void *b) { return ((const dq_span *)a)->value - ((const dq_span *)b)->value; }

// Random lives, placed step by step: the smallest gap that fits, by looking at all that are alive.
static size_t expected_offset(const dq_span *spans, const dq_span *span) {
  size_t best = SIZE_MAX, best_gap = SIZE_MAX, end = 0;
  for (;;) {
    const dq_span *next = NULL; // the lowest behind `end`
    for (int i = 0; i < span->value; i++)
      if (spans[i].last >= span->first && spans[i].offset >= end && (!next || spans[i].offset < next->offset))
        next = &spans[i];
    if (!next) return best == SIZE_MAX ? end : best;
    size_t gap = next->offset - end;
    if (gap >= span->bytes && gap < best_gap) best = end, best_gap = gap;
    end = next->offset + next->bytes;
  }
}

static void many_values_lie_in_the_smallest_gaps(void **state) {
  (void)state;
  enum { COUNT = 5000, STEPS = 5000 };
  dq_span *spans = calloc(COUNT, sizeof *spans);
  dq_random random = {3};
  for (int i = 0; i < COUNT; i++) {
    int length = dq_random_below(&random, 8) ? (int)dq_random_below(&random, 40) : (int)dq_random_below(&random, 600);
    spans[i] = (dq_span){.bytes = 64 * (1 + dq_random_below(&random, 30)), .value = i, .first = i};
    spans[i].last = i + length < STEPS ? i + length : STEPS;
  }
  size_t live, bytes, most = 0;
  assert_int_equal(dq_offsets_find(spans, COUNT, STEPS, &live, &bytes, NULL), DQ_OK);
  qsort(spans, COUNT, sizeof *spans, by_value);
  for (int i = 0; i < COUNT; i++) {
    assert_int_equal(spans[i].offset, expected_offset(spans, &spans[i]));
    if (spans[i].offset + spans[i].bytes > most) most = spans[i].offset + spans[i].bytes;
  }
  assert_int_equal(bytes, most);
  assert_true(live <= bytes && bytes < 2 * live);
  free(spans);
}

// ---- Networks ----

// NULL: the network cannot be scheduled, and `status` says so.
static dq_schedule *schedule_of(const dq_graph *graph, bool plain, unsigned mask, int threads, dq_session *session,
                                dq_status *status) {
  static dq_context with; // as long as the schedule
  dq_context_deinit(&with);
  assert_int_equal(dq_context_init(&with, threads, mask, NULL), DQ_OK);
  *status = dq_session_schedule(session, graph, &(dq_session_options){.plain = plain}, &with, NULL);
  return session->schedule;
}

static bool check_network(const dq_graph *graph, bool plain) {
  dq_session reference;
  dq_status status, other;
  dq_schedule *schedule = schedule_of(graph, plain, 0, 1, &reference, &status);
  if (schedule) check_places(schedule);
  for (int feature = 0; feature <= DQ_CPU_FEATURES; feature++) {
    unsigned mask = feature == DQ_CPU_FEATURES ? ~0u : dq_cpu_with_implied(1u << feature);
    if (feature < DQ_CPU_FEATURES && (dq_cpu_detect() & mask) != mask) continue;
    for (int threads = 1; threads <= 2; threads++) {
      dq_session session;
      dq_schedule *again = schedule_of(graph, plain, mask, threads, &session, &other);
      assert_int_equal(status, other);
      if (schedule) same_schedule(schedule, again, true);
      dq_session_close(&session);
    }
  }
  dq_session_close(&reference);
  return schedule != NULL;
}

// How many of its two forms, with passes and without, are scheduled; `both`: else only that with passes is looked at.
static int check_file(const char *path, bool both) {
  dq_graph *graph;
  if (dq_onnx_load(&graph, path, NULL, NULL) != DQ_OK) return 0;
  int scheduled = check_network(graph, false) + (both && check_network(graph, true));
  dq_graph_free(graph);
  return scheduled;
}

static int check_folder(const char *folder, bool both) {
  DIR *directory = opendir(folder);
  int scheduled = 0;
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strlen(path) > 5 && !strcmp(path + strlen(path) - 5, ".onnx")) scheduled += check_file(path, both);
  }
  if (directory) closedir(directory);
  return scheduled;
}

static void made_networks(void **state) {
  (void)state;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/models", getenv("DQ_BUILD") ? getenv("DQ_BUILD") : "build");
  int scheduled = check_folder(folder, true);
  if (!scheduled) {
    print_message("SKIP made_networks: no networks in %s\n", folder);
    skip();
  }
  assert_true(scheduled > 40);
  assert_int_equal(check_file("datasets/shapes.onnx", true), 2);
}

static void real_networks(void **state) {
  (void)state;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/models", getenv("DQ_ASSETS") ? getenv("DQ_ASSETS") : "../shared");
  if (check_folder(folder, false)) return;
  print_message("SKIP real_networks: no networks in %s\n", folder);
  skip();
}

// With any budget there is a schedule, or memory is missing and none is held; a number of bytes that the message has is
// that of an array.
static void every_budget(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 1, (int64_t[]){8}), *last = x;
  for (int i = 0; i < 1000; i++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    last = step(graph, "Neg", last, NULL, name);
  }
  interface(graph, x, last);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_status status = DQ_SYSTEM;
  size_t limit = 4096;
  for (; status != DQ_OK; limit += 4096) {
    dq_budget budget = {.limit = limit};
    dq_context bounded = {.budget = &budget};
    dq_schedule *schedule;
    dq_error error = {0};
    size_t bytes = 0;
    status = dq_schedule_new(&schedule, graph, NULL, &bounded, &error);
    if (status != DQ_OK) {
      assert_int_equal(status, DQ_SYSTEM);
      assert_null(schedule);
      if (sscanf(error.message, "out of memory: %zu", &bytes) != 1) assert_string_equal(error.message, "out of memory");
      else assert_true(bytes >= sizeof(void *));
    }
    dq_schedule_free(schedule);
    assert_int_equal(budget.used, 0);
  }
  assert_true(limit > (64 << 10) && limit < (4 << 20));
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_hand),
      cmocka_unit_test(joined_by_axis),
      cmocka_unit_test(workspace_by_hand),
      cmocka_unit_test(made_networks),
      cmocka_unit_test(many_values_lie_in_the_smallest_gaps),
      cmocka_unit_test(real_networks),
      cmocka_unit_test(every_budget),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
