// Data for several inputs: parts by name and by place, samples that stay together, batches and their parts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/npy.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/pb_source.h"
#include "lib/session/batch.h"
#include "lib/session/observe.h"

static char folder[] = "/tmp/test_inputs_XXXXXX";
static dq_error error;
static dq_context context;

static int enter(void **state) {
  (void)state;
  dq_context_init(&context, 1, ~0u, NULL);
  return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int leave(void **state) {
  (void)state;
  char command[64];
  dq_context_deinit(&context);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") || system(command);
}

// Elements first, first + 1, ...
static dq_tensor *count_up(dq_arena *arena, int type, int rank, const int64_t *dims, double first) {
  dq_tensor *tensor = dq_tensor_new(arena, type, rank, dims);
  assert_non_null(tensor);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, first + (double)i);
  return tensor;
}

static void put_npy(const char *path, int type, int rank, const int64_t *dims, double first) {
  dq_arena *arena = dq_arena_new(0);
  assert_int_equal(dq_npy_write(path, count_up(arena, type, rank, dims, first), &error), DQ_OK);
  dq_arena_free(arena);
}

static void put_pb(const char *path, int type, int rank, const int64_t *dims, double first) {
  dq_arena *arena = dq_arena_new(0);
  assert_int_equal(dq_onnx_write_tensor(path, "x", count_up(arena, type, rank, dims, first), &error), DQ_OK);
  dq_arena_free(arena);
}

static dq_status open_spec(dq_data **data, const char *spec, const char *preset, int64_t limit) {
  dq_data_options options = {
      .spec = spec, .preset = preset, .limit = limit, .sources = &dq_pb_source, .source_count = 1};
  error = (dq_error){0};
  return dq_data_open(data, &options, &context, &error);
}

static dq_data *must_open(const char *spec) {
  dq_data *data;
  if (open_spec(&data, spec, NULL, 0) != DQ_OK) fail_msg("%s", error.message);
  return data;
}

static void expect_refused(const char *spec, dq_status status, const char *words) {
  dq_data *data;
  assert_int_equal(open_spec(&data, spec, NULL, 0), status);
  assert_null(data);
  if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

// ---- Opening ----

static void parts_have_names(void **state) {
  (void)state;
  put_npy("left.npy", DQ_F32, 2, (int64_t[]){3, 2}, 0);
  put_npy("right.npy", DQ_I64, 1, (int64_t[]){3}, 10);
  put_npy("short.npy", DQ_F32, 2, (int64_t[]){2, 2}, 0);
  put_npy("a=b.npy", DQ_F32, 2, (int64_t[]){3, 2}, 0);
  put_npy("labels.npy", DQ_I64, 1, (int64_t[]){3}, 5);
  dq_data *data = must_open("left=npy:left.npy;right=npy:right.npy");
  assert_int_equal(dq_data_part_count(data), 2);
  assert_string_equal(dq_data_part_name(data, 0), "left");
  assert_string_equal(dq_data_part_name(data, 1), "right");
  assert_int_equal(dq_data_count(data), 3);
  assert_int_equal(dq_data_main_part(data), 0);
  dq_data_free(data);
  // Names and labels of samples are those of the part that has labels.
  data = must_open("left=npy:left.npy;right=npy:right.npy,labels.npy");
  dq_sample_info info;
  assert_int_equal(dq_data_main_part(data), 1);
  assert_int_equal(dq_data_classes(data), 8);
  assert_int_equal(dq_data_read(data, 2, NULL, &info, &error), DQ_OK);
  assert_string_equal(info.name, "right.npy#2");
  assert_int_equal(info.label, 7);
  dq_data_free(data);
  // One part may have a name as well; a '=' behind a kind of data is no name.
  data = must_open("x=npy:left.npy");
  assert_int_equal(dq_data_part_count(data), 1);
  assert_string_equal(dq_data_part_name(data, 0), "x");
  dq_data_free(data);
  data = must_open("npy:a=b.npy");
  assert_null(dq_data_part_name(data, 0));
  dq_data_free(data);
  expect_refused("left=npy:left.npy;right=npy:short.npy", DQ_BAD_INPUT,
                 "input 'left' has 3 samples (npy:left.npy), input 'right' has 2 (npy:short.npy); expected equal");
  expect_refused("left=npy:left.npy;left=npy:left.npy", DQ_USAGE, "'left' are given twice");
  expect_refused("left=npy:left.npy;right", DQ_USAGE, "'right': expected NAME=SPEC");
  expect_refused("left=", DQ_USAGE, "'left=': expected NAME=SPEC");
  expect_refused("left=npy:left.npy;right=npy:nowhere.npy", DQ_SYSTEM, "data for input 'right': nowhere.npy");
}

// left.npy has 0 1, 2 3, 4 5.
static void a_view_has_another_order(void **state) {
  static const char *const specs[] = {"npy:left.npy", "x=npy:left.npy;y=npy:right.npy,labels.npy"};
  const dq_tensor input = {.rank = 2, .dims = {1, 2}};
  (void)state;
  for (int several = 0; several < 2; several++) {
    dq_data *data = must_open(specs[several]), *view;
    dq_sample_info info;
    float values[6];
    assert_int_equal(dq_data_view(&view, data, (int64_t[]){2, 0}, 2, &error), DQ_OK);
    assert_int_equal(dq_data_count(view), 2);
    assert_int_equal(dq_data_part_count(view), several + 1);
    assert_int_equal(dq_data_read(view, 0, NULL, &info, &error), DQ_OK);
    assert_string_equal(info.name, several ? "right.npy#2" : "left.npy#2");
    dq_data *left = dq_data_part(view, 0);
    assert_int_equal(dq_data_set_shape(left, &input, &error), DQ_OK);
    assert_int_equal(dq_data_read_batch(left, 0, 2, values, NULL, &error), DQ_OK);
    assert_true(values[0] == 4 && values[1] == 5 && values[2] == 0 && values[3] == 1);
    assert_int_equal(dq_data_read(left, 2, values, NULL, &error), DQ_BAD_INPUT);
    assert_int_equal(dq_data_read_batch(dq_data_part(data, 0), 0, 3, values, NULL, &error), DQ_OK); // has the shape too
    assert_true(values[0] == 0 && values[5] == 5);
    dq_data_free(view);
    assert_int_equal(dq_data_read_batch(dq_data_part(data, 0), 1, 1, values, NULL, &error), DQ_OK);
    assert_true(values[0] == 2);
    dq_data_free(data);
  }
}

static void put_picture(const char *path, int grey) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fprintf(file, "P5 1 1 255\n%c", grey);
  fclose(file);
}

// A limit takes pictures evenly from classes: the arrays that belong to them come along.
static void samples_stay_together(void **state) {
  (void)state;
  static const char *const names[] = {"pictures/a/1.pgm", "pictures/a/2.pgm", "pictures/b/3.pgm", "pictures/b/4.pgm"};
  mkdir("pictures", 0700), mkdir("pictures/a", 0700), mkdir("pictures/b", 0700);
  for (int i = 0; i < 4; i++) put_picture(names[i], 60 + i);
  put_npy("beside.npy", DQ_F32, 2, (int64_t[]){4, 1}, 60);
  dq_data *data;
  assert_int_equal(open_spec(&data, "beside=npy:beside.npy;picture=pictures", "raw01", 2), DQ_OK);
  assert_int_equal(dq_data_count(data), 2);
  assert_int_equal(dq_data_classes(data), 2);
  dq_data *beside = dq_data_part(data, 0), *pictures = dq_data_part(data, 1);
  assert_int_equal(dq_data_set_shape(beside, &(dq_tensor){.rank = 2, .dims = {1, 1}}, &error), DQ_OK);
  assert_int_equal(dq_data_set_shape(pictures, &(dq_tensor){.rank = 4, .dims = {1, 1, 1, 1}}, &error), DQ_OK);
  static const float expected[] = {60, 62}; // the first of each class
  for (int i = 0; i < 2; i++) {
    float array, grey;
    dq_sample_info info;
    assert_int_equal(dq_data_read(beside, i, &array, NULL, &error), DQ_OK);
    assert_int_equal(dq_data_read(pictures, i, &grey, &info, &error), DQ_OK);
    assert_true(array == expected[i]);
    assert_true(grey * 255 > expected[i] - 0.01f && grey * 255 < expected[i] + 0.01f);
    assert_int_equal(info.label, i);
  }
  dq_data_free(data);
  // A picture is not left out, which would part the others.
  FILE *file = fopen(names[1], "wb");
  fputs("P5 no picture", file);
  fclose(file);
  assert_int_equal(open_spec(&data, "beside=npy:beside.npy;picture=pictures", "raw01", 0), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "data for input 'picture'"));
  assert_int_equal(open_spec(&data, "pictures", "raw01", 0), DQ_OK);
  assert_int_equal(dq_data_skipped(data), 1);
  dq_data_free(data);
}

static void tensors_by_place(void **state) {
  (void)state;
  mkdir("rows", 0700);
  put_pb("rows/input_0.pb", DQ_F32, 2, (int64_t[]){3, 2}, 0);
  put_pb("rows/input_1.pb", DQ_I64, 1, (int64_t[]){3}, 10);
  dq_data *data = must_open("pb:rows");
  assert_int_equal(dq_data_part_count(data), 2);
  assert_null(dq_data_part_name(data, 1));
  assert_int_equal(dq_data_count(data), 3);
  float values[2];
  dq_data *right = dq_data_part(data, 1);
  assert_int_equal(dq_data_set_shape(right, &(dq_tensor){.rank = 1, .dims = {1}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(right, 2, values, NULL, &error), DQ_OK);
  assert_true(values[0] == 12);
  dq_data_free(data);
  // Tensors without a common first dimension are one sample.
  mkdir("whole", 0700);
  for (int s = 0; s < 2; s++) {
    char path[100];
    snprintf(path, sizeof path, "whole/test_data_set_%d", s);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "whole/test_data_set_%d/input_0.pb", s);
    put_pb(path, DQ_F32, 2, (int64_t[]){1, 2}, s);
    snprintf(path, sizeof path, "whole/test_data_set_%d/input_1.pb", s);
    put_pb(path, DQ_F32, s, (int64_t[]){2}, 7 + s); // a scalar, then two elements
  }
  data = must_open("pb:whole");
  assert_int_equal(dq_data_count(data), 2);
  right = dq_data_part(data, 1);
  assert_int_equal(dq_data_set_shape(right, &(dq_tensor){.rank = 2, .dims = {1, 1}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(right, 0, values, NULL, &error), DQ_OK);
  assert_true(values[0] == 7);
  assert_int_equal(dq_data_read(right, 1, values, NULL, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "test_data_set_1/input_1.pb"));
  dq_data_free(data);
  expect_refused("x=pb:rows", DQ_USAGE, "pb:rows holds 2 inputs, expected one for 'x'");
  remove("whole/test_data_set_1/input_1.pb");
  expect_refused("pb:whole", DQ_BAD_INPUT, "whole/test_data_set_1/: 1 files input_N.pb, expected 2");
}

// ---- Matching ----

// y = left - right, each N x 2.
static dq_graph *make_difference(const char *first, const char *second) {
  dq_graph *graph = dq_graph_new(0);
  dq_graph_set_opset(graph, "", 13, NULL);
  const char *const names[] = {first, second};
  dq_value *inputs[2], *y = dq_graph_add_value(graph, "y");
  for (int i = 0; i < 2; i++) {
    inputs[i] = dq_graph_add_value(graph, names[i]);
    dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 2, dq_dimension);
    dims[0].size = -1, dims[1].size = 2;
    inputs[i]->type = DQ_F32, inputs[i]->rank = 2, inputs[i]->dims = dims, inputs[i]->is_input = true;
  }
  dq_graph_add_node(graph, 0, "Sub", "sub", 2, inputs, 1, &y);
  y->is_output = true, y->type = DQ_F32;
  graph->inputs = dq_arena_copy(graph->arena, inputs, sizeof inputs), graph->input_count = 2;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y), graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

static dq_status try_match(const dq_graph *graph, const char *spec) {
  dq_arena *arena = dq_arena_new(0);
  dq_data *data = must_open(spec);
  dq_fed_inputs inputs;
  dq_status status = dq_inputs_match(&inputs, graph, data, arena, &error);
  dq_data_free(data);
  dq_arena_free(arena);
  return status;
}

static void inputs_find_their_data(void **state) {
  (void)state;
  dq_graph *graph = make_difference("left", "right");
  put_npy("l.npy", DQ_F32, 2, (int64_t[]){3, 2}, 10);
  put_npy("r.npy", DQ_F32, 2, (int64_t[]){3, 2}, 0);
  assert_int_equal(try_match(graph, "right=npy:r.npy;left=npy:l.npy"), DQ_OK);
  assert_int_equal(try_match(graph, "npy:l.npy"), DQ_BAD_INPUT);
  assert_string_equal(error.message, "the model has 2 inputs, 'left', 'right'; the data are for 1");
  assert_string_equal(error.hint, "give the option once for each: left=SPEC, right=SPEC");
  assert_int_equal(try_match(graph, "left=npy:l.npy"), DQ_USAGE);
  assert_string_equal(error.message, "input 'right' has no data");
  assert_string_equal(error.hint, "give the option once more, with right=SPEC");
  assert_int_equal(try_match(graph, "left=npy:l.npy;rigth=npy:l.npy"), DQ_USAGE);
  assert_string_equal(error.message, "data for input 'rigth': the model has no such input");
  assert_string_equal(error.hint, "did you mean 'right'?");
  assert_int_equal(try_match(graph, "left=npy:l.npy;something=npy:l.npy"), DQ_USAGE);
  assert_string_equal(error.hint, "its inputs are 'left', 'right'");
  dq_graph_free(graph);
}

typedef struct shaped {
  int count;
  dq_tensor tensors[2];
  int64_t wish, batch; // batch 0: refused
  int ranks[2];        // as the data see them
  const char *message; // of a refusal
} shaped;

static void first_dimensions_count_samples(void **state) {
  (void)state;
  static const shaped cases[] = {
      {2, {{.rank = 4, .dims = {4, 3, 8, 8}}, {.rank = 2, .dims = {4, 6}}}, 4, 4, {4, 2}, NULL},
      {2, {{.rank = 4, .dims = {4, 3, 8, 8}}, {.rank = 1, .dims = {4}}}, 4, 4, {4, 1}, NULL},
      {2, {{.rank = 4, .dims = {1, 3, 8, 8}}, {.rank = 1, .dims = {2}}}, 1, 1, {4, 2}, NULL},
      {2, {{.rank = 4, .dims = {1, 3, 8, 8}}, {.rank = 0}}, 1, 1, {4, 1}, NULL},
      {2, {{.rank = 2, .dims = {3, 8}}, {.rank = 2, .dims = {2, 8}}}, 0, 1, {3, 3}, NULL},
      {2,
       {{.rank = 4, .dims = {4, 3, 8, 8}}, {.rank = 1, .dims = {2}}},
       4,
       0,
       {0},
       "inputs 'a', 'b' have no common first dimension that counts samples, expected 4 in each"},
      {1,
       {{.rank = 1, .dims = {7}, .type = DQ_F32}},
       8,
       0,
       {0},
       "input 'a' is float32 7, no dimension of it counts samples, expected 8"},
      {2,
       {{.rank = 8, .dims = {2, 1, 1, 1, 1, 1, 1, 1}, .type = DQ_F32}, {.rank = 1, .dims = {3}}},
       1,
       0,
       {0},
       "input 'a' is float32 2x1x1x1x1x1x1x1, data need a first dimension of their number"},
      {1, {{.rank = 2, .dims = {5, 8}}}, 1, 5, {2}, NULL},
      {1, {{.rank = 1, .dims = {64}}}, 1, 1, {2}, NULL},
      {1, {{.rank = 1, .dims = {8}}}, 8, 8, {1}, NULL},
      {1, {{.rank = 2, .dims = {1, 0}, .type = DQ_I64}}, 1, 0, {0}, "input 'a' is int64 1x0, it has no elements"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const shaped *it = &cases[c];
    dq_value values[] = {{.name = "a"}, {.name = "b"}};
    dq_fed_input items[] = {{.value = &values[0]}, {.value = &values[1]}};
    dq_fed_inputs inputs = {items, it->count, 0};
    const dq_tensor *tensors[] = {&it->tensors[0], &it->tensors[1]};
    dq_status status = dq_inputs_set_shapes(&inputs, tensors, it->wish, &error);
    assert_int_equal(status, it->batch ? DQ_OK : DQ_UNSUPPORTED);
    if (!it->batch) assert_string_equal(error.message, it->message);
    if (!it->batch) continue;
    assert_int_equal(inputs.batch, it->batch);
    for (int i = 0; i < it->count; i++) {
      assert_int_equal(items[i].shape.rank, it->ranks[i]);
      assert_int_equal(dq_tensor_count(&items[i].shape), dq_tensor_count(&it->tensors[i]));
    }
  }
}

// ---- Running ----

static void expect_outputs(const dq_runner *runner, float first, float second) {
  const float *y = dq_plan_output(runner->session.plan, 0)->data;
  assert_true(y[0] == first && y[1] == first && y[2] == second && y[3] == second);
}

static void all_inputs_are_read(void **state) {
  (void)state;
  dq_graph *graph = make_difference("left", "right"), *turned = make_difference("right", "left"),
           *other = make_difference("left", "top");
  put_npy("three.npy", DQ_F32, 2, (int64_t[]){3, 2}, 10);
  put_npy("zero.npy", DQ_F32, 2, (int64_t[]){3, 2}, 3);
  dq_data *data = must_open("left=npy:three.npy;right=npy:zero.npy");
  dq_runner runners[2];
  dq_runner_options options = {.batch = 2};
  assert_int_equal(dq_runner_open(&runners[0], graph, data, &options, &context, &error), DQ_OK);
  assert_int_equal(dq_runner_open(&runners[1], turned, data, &options, &context, &error), DQ_OK);
  assert_int_equal(runners[0].batch, 2);
  dq_sample_info infos[2];
  assert_int_equal(dq_runner_read(&runners[0], 2, 1, infos, &error), DQ_OK); // the last one, twice
  assert_string_equal(infos[0].name, "three.npy#2");
  assert_int_equal(dq_runner_share(&runners[1], &runners[0], &error), DQ_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(dq_runner_run(&runners[i], &error), DQ_OK);
  expect_outputs(&runners[0], 7, 7);
  expect_outputs(&runners[1], -7, -7); // by name, not by place
  dq_data *top = must_open("left=npy:three.npy;top=npy:zero.npy");
  dq_runner third;
  assert_int_equal(dq_runner_open(&third, other, top, &options, &context, &error), DQ_OK);
  assert_int_equal(dq_runner_share(&third, &runners[0], &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "only one has 'top'"));
  dq_runner_close(&third);
  for (int i = 0; i < 2; i++) dq_runner_close(&runners[i]);
  dq_data_free(data), dq_data_free(top);
  dq_graph_free(graph), dq_graph_free(turned), dq_graph_free(other);
}

static void a_batch_has_parts(void **state) {
  (void)state;
  float elements[12];
  for (int i = 0; i < 12; i++) elements[i] = (float)i;
  dq_tensor batch = {.type = DQ_F32, .rank = 2, .dims = {6, 2}, .data = elements}, part;
  dq_tensor alone = {.type = DQ_F32, .rank = 2, .dims = {2, 2}};
  assert_int_equal(dq_batch_part(&part, &batch, &alone, 3, 2, "v", &error), DQ_OK);
  assert_int_equal(part.dims[0], 2);
  assert_true(((float *)part.data)[0] == 8);
  assert_int_equal(dq_batch_part(&part, &batch, NULL, 1, 0, "v", &error), DQ_OK);
  assert_int_equal(part.dims[0], 6);
  // What does not grow with the batch, or elsewhere, mixes pictures, unless it is constant.
  dq_tensor same = batch, turned = {.type = DQ_F32, .rank = 2, .dims = {2, 6}, .data = elements};
  assert_int_equal(dq_batch_part(&part, &batch, &same, 3, 1, "v", &error), DQ_OK);
  same.data = NULL;
  assert_int_equal(dq_batch_part(&part, &batch, &same, 3, 1, "v", &error), DQ_UNSUPPORTED);
  assert_string_equal(error.message, "value 'v' is 6x2 for 3 pictures, which has no part for each");
  assert_int_equal(dq_batch_part(&part, &turned, &alone, 3, 1, "v", &error), DQ_UNSUPPORTED);
  assert_string_equal(error.hint, "use --batch 1");
}

static dq_status add_up(void *user, int slot, const dq_tensor *tensor, dq_error *failure) {
  (void)failure;
  float **next = user;
  assert_int_equal(slot, 0);
  assert_int_equal(dq_tensor_count(tensor), 2);
  *(*next)++ = ((const float *)tensor->data)[0];
  return DQ_OK;
}

// Every picture is seen once, alone, in its order, whatever the batch.
static void batches_are_observed_alone(void **state) {
  (void)state;
  dq_graph *graph = make_difference("left", "right");
  put_npy("five.npy", DQ_F32, 2, (int64_t[]){5, 2}, 0);
  put_npy("fives.npy", DQ_F32, 2, (int64_t[]){5, 2}, -10);
  dq_data *data = must_open("left=npy:five.npy;right=npy:fives.npy");
  static const char *const names[] = {"left"};
  static const dq_shape_request none = {0};
  for (int64_t batch = 0; batch <= 7; batch++) {
    float seen[8] = {0}, *next = seen;
    dq_observation what = {
        .graph = graph, .shapes = &none, .names = names, .count = 1, .data = data, .pictures = 5, .batch = batch};
    assert_int_equal(dq_observe(&what, add_up, &next, &context, &error), DQ_OK);
    assert_ptr_equal(next, seen + 5);
    for (int i = 0; i < 5; i++) assert_true(seen[i] == (float)(2 * i));
  }
  dq_data_free(data);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_have_names),          cmocka_unit_test(a_view_has_another_order),
      cmocka_unit_test(samples_stay_together),     cmocka_unit_test(tensors_by_place),
      cmocka_unit_test(inputs_find_their_data),    cmocka_unit_test(first_dimensions_count_samples),
      cmocka_unit_test(all_inputs_are_read),       cmocka_unit_test(a_batch_has_parts),
      cmocka_unit_test(batches_are_observed_alone)};
  return cmocka_run_group_tests(tests, enter, leave);
}
