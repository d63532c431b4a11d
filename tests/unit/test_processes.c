// Several processes that compute one result, here threads that exchange bytes through their memory: sums over the
// pictures of a batch, trainings, accuracy, and failures.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/eval/accuracy.h"
#include "lib/kernels/reference/shards.h"
#include "lib/onnx/onnx.h"
#include "lib/ops/common/picture_sums.h"
#include "lib/train/loop/batches.h"
#include "lib/train/training.h"
#include "tests/unit/thread_team.h"

// ---- Sums ----

// 11 shards on 3 processes: 0 to 3, 4 to 7, 8 to 10. The blocks of 3 to 10 are 3, 4 to 7, 8 to 9, 10.
static void parts_and_blocks(void **state) {
  (void)state;
  int64_t first, count, sizes[DQ_SHARD_LEVELS];
  static const int64_t expected[3][2] = {{0, 16}, {16, 16}, {32, 10}};
  for (int i = 0; i < 3; i++) {
    dq_shard_part(42, i, 3, &first, &count);
    assert_int_equal(first, expected[i][0]);
    assert_int_equal(count, expected[i][1]);
  }
  dq_shard_part(8, 2, 3, &first, &count);
  assert_int_equal(count, 0);
  assert_int_equal(dq_shard_blocks(3, 11, sizes), 4);
  for (int i = 0; i < 4; i++) assert_int_equal(sizes[i], ((const int64_t[]){1, 4, 2, 1})[i]);
  dq_shard_sums sums = {.first = 3};
  for (int i = 3; i < 11; i++) dq_shard_add(&sums, i);
  assert_int_equal(sums.depth, 4);
  for (int i = 0; i < 4; i++) assert_int_equal((int)sums.waiting[i], ((const int[]){3, 22, 17, 10})[i]);
}

enum { SHARDS = 43, ELEMENTS = 70001 }; // more than one piece

static double term(int64_t shard, int64_t element) {
  dq_random random = dq_random_start((uint64_t)element, (uint64_t)shard);
  return (double)dq_random_float(&random) * (element % 7 ? 1 : 1e6) - 0.5;
}

// The sum of neighbouring shards by the definition: that of the first ones, of which there are the largest power of two
// below their number, and that of the others.
static double tree(int64_t first, int64_t count, int64_t element, bool wide) {
  int64_t half = 1;
  if (count == 1) return wide ? term(first, element) : (double)(float)term(first, element);
  while (2 * half < count) half *= 2;
  const double sum = tree(first, half, element, wide) + tree(first + half, count - half, element, wide);
  return wide ? sum : (double)(float)sum;
}

static void store(void *array, int64_t at, double value, bool wide) {
  if (wide) ((double *)array)[at] = value;
  else ((float *)array)[at] = (float)value;
}

static void add_up(member *m) {
  const bool wide = m->argument != NULL;
  dq_picture_part part = {.processes = &m->processes, .all = (int64_t)SHARDS * DQ_SHARD};
  dq_attribute attribute = {.name = "processes", .type = DQ_ATTRIBUTE_INT, .i = 1};
  const dq_node node = {.op_type = "SumTo", .domain = "dq", .attributes = &attribute, .attribute_count = 1};
  const dq_context context = {.part = &part};
  const dq_op op = {.context = &context, .node = &node, .error = &m->error};
  int64_t sizes[DQ_SHARD_LEVELS], first;
  dq_shard_part(part.all, m->processes.index, m->processes.count, &part.first, &part.count);
  first = dq_first_shard(&op, part.count);
  const int blocks = dq_shard_blocks(first, first + part.count / DQ_SHARD, sizes);
  void *sums = calloc((size_t)blocks * ELEMENTS, sizeof(double));
  m->state = calloc(ELEMENTS, sizeof(double));
  for (int b = 0; b < blocks; first += sizes[b++])
    for (int64_t e = 0; e < ELEMENTS; e++) store(sums, b * ELEMENTS + e, tree(first, sizes[b], e, wide), wide);
  m->status = dq_add_over_processes(&op, part.count, wide ? DQ_F64 : DQ_F32, sums, ELEMENTS, m->state);
  free(sums);
}

static void sums_of_any_number_of_processes(void **state) {
  (void)state;
  member members[MOST];
  double *expected = calloc(ELEMENTS, sizeof(double));
  for (int wide = 0; wide < 2; wide++) {
    for (int64_t e = 0; e < ELEMENTS; e++) store(expected, e, tree(0, SHARDS, e, wide), wide);
    for (int count = 2; count <= MOST; count += 1 + (count == 4)) {
      run_team(count, add_up, wide ? members : NULL, members);
      for (int i = 0; i < count; i++) {
        assert_int_equal(members[i].status, DQ_OK);
        assert_memory_equal(members[i].state, expected, ELEMENTS * (wide ? sizeof(double) : sizeof(float)));
        free(members[i].state);
      }
    }
  }
  free(expected);
}

// ---- Which nodes add ----

typedef struct kind {
  const char *op_type, *attribute; // with one integer or a list of one or two
  int count;
  int64_t values[2];
  bool both; // the pictures are both operands
  bool kept; // each picture is computed by itself
} kind;

// Of a node of matrices of 8 pictures, all of 8 x 8.
static dq_status mark(const kind *k, bool *pictures, dq_error *error) {
  dq_graph *graph = dq_graph_new(NULL);
  dq_tensor tensors[3];
  dq_value *x = dq_graph_fresh_value(graph, "x"), *w = dq_graph_fresh_value(graph, "w");
  dq_value *y = dq_graph_fresh_value(graph, "y"), *inputs[] = {x, k->both ? x : w};
  const bool pair = !strcmp(k->op_type, "MatMul") || !strcmp(k->op_type, "Gemm");
  dq_node *node = dq_graph_add_node(graph, 0, k->op_type, "node", 1 + pair, inputs, 1, &y);
  if (k->attribute && k->count) dq_node_set_ints(graph, node, k->attribute, k->values, k->count);
  else if (k->attribute) dq_node_set_int(graph, node, k->attribute, k->values[0]);
  x->is_input = w->is_input = true;
  assert_int_equal(dq_graph_index(graph, true, error), DQ_OK);
  for (int i = 0; i < 3; i++) tensors[i] = (dq_tensor){.type = DQ_F32, .rank = 2, .dims = {8, 8}};
  memset(pictures, 0, 3);
  pictures[x->index] = true;
  const dq_status status = dq_mark_picture_sums(graph, tensors, 8, pictures, error);
  pictures[0] = pictures[y->index];
  dq_graph_free(graph);
  return status;
}

static void nodes_that_combine_pictures(void **state) {
  (void)state;
  static const kind kinds[] = {
      {.op_type = "Relu", .kept = true},
      {.op_type = "MatMul", .kept = true},
      {.op_type = "MatMul", .both = true},
      {.op_type = "Gemm", .attribute = "transB", .values = {1}, .kept = true},
      {.op_type = "Gemm", .attribute = "transA", .values = {1}},
      {.op_type = "Softmax", .attribute = "axis", .values = {1}, .kept = true},
      {.op_type = "Softmax", .attribute = "axis", .values = {0}},
      {.op_type = "Softmax", .attribute = "axis", .values = {-2}},
      {.op_type = "Transpose", .attribute = "perm", .count = 2, .values = {0, 1}, .kept = true},
      {.op_type = "Transpose", .attribute = "perm", .count = 2, .values = {1, 0}},
      {.op_type = "ReduceMean", .attribute = "axes", .count = 1, .values = {1}, .kept = true},
      {.op_type = "ReduceMean", .attribute = "axes", .count = 1, .values = {0}},
      {.op_type = "ReduceMean"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bool pictures[3];
    dq_error error = {0};
    const dq_status status = mark(&kinds[i], pictures, &error);
    assert_int_equal(status, kinds[i].kept ? DQ_OK : DQ_UNSUPPORTED);
    if (kinds[i].kept) assert_true(pictures[0]);
    else assert_non_null(strstr(error.message, "node 'node': operator "));
  }
}

// ---- Agreement ----

static void fail_alone(member *m) {
  const int *failing = m->argument;
  const bool fails = m->processes.index >= *failing;
  m->status = fails ? dq_fail(&m->error, DQ_BAD_INPUT, "broken %d", m->processes.index) : DQ_OK;
  m->status = dq_processes_agree(&m->processes, m->status, &m->error);
  double values[2] = {m->processes.index, 1};
  dq_processes_add(&m->processes, values, 2);
  m->loss = 10 * values[0] + values[1] + 100 * dq_processes_any(&m->processes, m->processes.index == 2);
}

static void one_status(void **state) {
  (void)state;
  member members[MOST];
  static const char *const messages[] = {"broken 0", "process 1 of 3: broken 1", "process 2 of 3: broken 2", ""};
  for (int failing = 0; failing <= 3; failing++) {
    run_team(3, fail_alone, &failing, members);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(members[i].status, failing < 3 ? DQ_BAD_INPUT : DQ_OK);
      assert_string_equal(members[i].error.message, messages[failing]);
      assert_float_equal(members[i].loss, 133, 0); // 0 + 1 + 2 and 3 processes, and one of them is the last
    }
  }
}

// ---- Trainings and accuracy ----

typedef struct task {
  const char *model;
  int64_t batch;
  bool frozen_statistics;
} task;

static dq_status train(member *m, const task *t, dq_context *context, dq_graph *model, dq_data *data) {
  dq_training training = {0};
  dq_batches batches;
  dq_optimizer optimizer = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0.9, 0);
  dq_arena *arena = dq_arena_new(NULL);
  const dq_training_options options = {.batch = t->batch, .frozen_statistics = t->frozen_statistics};
  dq_status status = dq_training_open(&training, model, &options, context, &m->error);
  const dq_batches_options from = {.data = data, .part = training.part, .augmentation.flip = true};
  if (status == DQ_OK)
    status = dq_batches_open(&batches, &from, training.input, training.targets, arena, context, &m->error);
  if (status == DQ_OK) status = dq_training_optimizer(&training, &optimizer, &m->error);
  if (status == DQ_OK) dq_batches_shuffle(&batches, 0);
  for (int step = 0; status == DQ_OK && step < 2; step++) {
    status = dq_batches_read(&batches, step, &m->error);
    m->waits = 0;
    if (status == DQ_OK) status = dq_training_step(&training, &optimizer, 1e-4, &m->loss, &m->error);
  }
  if (status == DQ_OK) {
    m->state = calloc((size_t)dq_training_elements(&training), sizeof(float));
    dq_training_save(&training, m->state);
    m->result.pictures = dq_training_elements(&training);
  }
  dq_training_close(&training);
  dq_arena_free(arena);
  return status;
}

static void train_here(member *m) {
  const task *t = m->argument;
  dq_context context;
  dq_graph *model = NULL;
  dq_data *data = NULL;
  const dq_data_options options = {.spec = "synth:shapes,count=100"};
  m->status = dq_context_init(&context, 1 + m->processes.index % 2, ~0u, &m->error);
  context.processes = &m->processes;
  if (m->status == DQ_OK) m->status = dq_onnx_load(&model, t->model, &context, &m->error);
  if (m->status == DQ_OK) m->status = dq_data_open(&data, &options, &context, &m->error);
  if (m->status == DQ_OK) m->status = train(m, t, &context, model, data);
  dq_data_free(data);
  dq_graph_free(model);
  dq_context_deinit(&context);
}

// Batch normalization, convolutions, a Gemm; batches whose last shard is whole and not.
static void trainings_of_any_number_of_processes(void **state) {
  (void)state;
  static const int64_t batches[] = {32, 42};
  for (int b = 0; b < 2; b++) {
    task t = {.model = "datasets/shapes.onnx", .batch = batches[b]};
    member alone, members[MOST];
    run_team(1, train_here, &t, &alone);
    if (alone.status != DQ_OK) print_message("%s\n", alone.error.message);
    assert_int_equal(alone.status, DQ_OK);
    for (int count = 2; count <= 4; count++) {
      run_team(count, train_here, &t, members);
      for (int i = 0; i < count; i++) {
        if (members[i].status != DQ_OK) print_message("%s\n", members[i].error.message);
        assert_int_equal(members[i].status, DQ_OK);
        assert_float_equal(members[i].loss, alone.loss, 0);
        assert_memory_equal(members[i].state, alone.state, (size_t)alone.result.pictures * sizeof(float));
        free(members[i].state);
      }
    }
    free(alone.state);
  }
}

// The sums that no other node needs are sent in a few exchanges: a step waits for these and once for the sums. It also
// waits for each of the 7 normalizations: for the sums of the gradient, and with statistics of the batch for the means
// and for the variances.
static void waits_of_a_step(void **state) {
  (void)state;
  member members[MOST];
  for (int frozen = 0; frozen < 2; frozen++) {
    task t = {.model = "datasets/shapes.onnx", .batch = 32, .frozen_statistics = frozen};
    run_team(2, train_here, &t, members);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(members[i].status, DQ_OK);
      assert_int_equal(members[i].oldest, members[i].next);
      assert_true(members[i].next >= 4); // in two steps
      assert_int_equal(members[i].waits, members[i].next / 2 + 1 + (frozen ? 1 : 3) * 7);
      free(members[i].state);
    }
  }
}

static void batches_that_are_too_small(void **state) {
  (void)state;
  member members[MOST];
  task t = {.model = "datasets/shapes.onnx", .batch = 13};
  run_team(4, train_here, &t, members);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(members[i].status, DQ_USAGE);
    assert_string_equal(members[i].error.message, "a batch of 13 pictures is too small for 4 processes");
  }
}

static void measure(member *m) {
  dq_context context;
  dq_graph *model = NULL;
  dq_data *data = NULL;
  const dq_data_options options = {.spec = "synth:shapes,count=101"};
  const dq_accuracy_options accuracy = {.batch = 8};
  m->status = dq_context_init(&context, 1, ~0u, &m->error);
  context.processes = &m->processes;
  if (m->status == DQ_OK) m->status = dq_onnx_load(&model, "datasets/shapes.onnx", &context, &m->error);
  if (m->status == DQ_OK) m->status = dq_data_open(&data, &options, &context, &m->error);
  if (m->status == DQ_OK) m->status = dq_accuracy_run(&m->result, model, data, &accuracy, &context, &m->error);
  dq_data_free(data);
  dq_graph_free(model);
  dq_context_deinit(&context);
}

static void accuracy_of_parts(void **state) {
  (void)state;
  member alone, members[MOST];
  run_team(1, measure, NULL, &alone);
  assert_int_equal(alone.status, DQ_OK);
  assert_true(alone.result.figures[0].value < 100); // so that a count could be wrong
  run_team(3, measure, NULL, members);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(members[i].status, DQ_OK);
    assert_int_equal(members[i].result.pictures, 101);
    for (int f = 0; f < 2; f++)
      assert_float_equal(members[i].result.figures[f].value, alone.result.figures[f].value, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_and_blocks),
      cmocka_unit_test(sums_of_any_number_of_processes),
      cmocka_unit_test(nodes_that_combine_pictures),
      cmocka_unit_test(one_status),
      cmocka_unit_test(trainings_of_any_number_of_processes),
      cmocka_unit_test(waits_of_a_step),
      cmocka_unit_test(batches_that_are_too_small),
      cmocka_unit_test(accuracy_of_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
