// Raising the opset: nodes answer as before, what cannot be said in the newer form is refused.
#include <limits.h>
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
#include "lib/onnx/onnx.h"
#include "lib/session/session.h"
#include "lib/document/raise_opset.h"

static dq_context context;

static int start(void **state) {
  (void)state;
  return dq_context_init(&context, 1, ~0u, NULL) == DQ_OK ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  return 0;
}

static dq_budget *budget; // of the graphs; NULL: no limit

// A graph x -> node -> y with x of the given shape.
static dq_graph *one_node(const char *op_type, int64_t opset, int rank, const int64_t *dims) {
  dq_graph *graph = dq_graph_new(budget);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
  dq_dimension *sizes = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) sizes[i].size = dims[i];
  x->type = DQ_F32, x->rank = rank, x->dims = sizes, x->is_input = true;
  y->is_output = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
  graph->input_count = graph->output_count = 1;
  graph->ir_version = 3;
  dq_graph_add_node(graph, 0, op_type, "n", 1, &x, 1, &y);
  assert_int_equal(dq_graph_set_opset(graph, "", opset, NULL), DQ_OK);
  return graph;
}

static float *answer(const dq_graph *graph, int64_t *count) {
  dq_session session;
  dq_error error = {0};
  if (dq_session_open(&session, graph, NULL, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_random random = {5};
  for (int i = 0; i < dq_plan_input_count(session.plan); i++) {
    dq_tensor *input = dq_plan_input(session.plan, i);
    for (int64_t k = 0; k < dq_tensor_count(input); k++) dq_tensor_set(input, k, (double)dq_random_normal(&random));
  }
  if (dq_plan_run(session.plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *output = dq_plan_output(session.plan, 0);
  *count = dq_tensor_count(output);
  float *values = malloc((size_t)*count * sizeof *values);
  for (int64_t i = 0; i < *count; i++) values[i] = (float)dq_tensor_get(output, i);
  dq_session_close(&session);
  return values;
}

static void assert_same_answer(dq_graph *graph, int64_t to) {
  dq_error error = {0};
  int64_t before_count, after_count;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  float *before = answer(graph, &before_count);
  if (dq_raise_opset(graph, to, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_graph_opset(graph, ""), to);
  float *after = answer(graph, &after_count);
  assert_int_equal(before_count, after_count);
  for (int64_t i = 0; i < before_count; i++)
    if (!(fabsf(before[i] - after[i]) <= 1e-6f * (1 + fabsf(before[i]))))
      fail_msg("%s: element %d: %g, then %g", graph->nodes[0]->op_type, (int)i, (double)before[i], (double)after[i]);
  free(before);
  free(after);
  dq_graph_free(graph);
}

static const int64_t SHAPE[] = {2, 3, 4, 5};

static dq_graph *with_ints(const char *op_type, int64_t opset, const char *name, const int64_t *values, int count) {
  dq_graph *graph = one_node(op_type, opset, 4, SHAPE);
  assert_true(dq_node_set_ints(graph, graph->nodes[0], name, values, count));
  return graph;
}

static void test_bounds_become_inputs(void **state) {
  (void)state;
  dq_graph *graph = one_node("Clip", 7, 4, SHAPE);
  dq_node_set_float(graph, graph->nodes[0], "max", 0.5f);
  assert_same_answer(graph, 13);
  graph = with_ints("Pad", 7, "pads", (int64_t[]){0, 0, 1, 2, 0, 0, 3, 0}, 8);
  dq_node_set_float(graph, graph->nodes[0], "value", 2.5f);
  assert_same_answer(graph, 13);
  graph = with_ints("Pad", 10, "pads", (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}, 8);
  dq_node_set_string(graph, graph->nodes[0], "mode", "reflect");
  assert_same_answer(graph, 21);
}

static void test_axes_become_inputs(void **state) {
  (void)state;
  static const char *const reductions[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"};
  for (int i = 0; i < 4; i++) {
    assert_same_answer(with_ints(reductions[i], 11, "axes", (int64_t[]){1, 3}, 2), 18);
    assert_same_answer(one_node(reductions[i], 11, 4, SHAPE), 18);
  }
  assert_same_answer(with_ints("Unsqueeze", 7, "axes", (int64_t[]){0, 3}, 2), 13);
  dq_graph *graph = one_node("Squeeze", 7, 4, (int64_t[]){1, 3, 1, 5});
  dq_node_set_ints(graph, graph->nodes[0], "axes", (int64_t[]){2}, 1);
  assert_same_answer(graph, 21);
  assert_same_answer(one_node("Squeeze", 7, 4, (int64_t[]){1, 3, 1, 5}), 13);
}

static void test_slices(void **state) {
  (void)state;
  dq_graph *graph = with_ints("Slice", 7, "starts", (int64_t[]){1, -3}, 2);
  dq_node_set_ints(graph, graph->nodes[0], "ends", (int64_t[]){100, -1}, 2);
  dq_node_set_ints(graph, graph->nodes[0], "axes", (int64_t[]){1, 3}, 2);
  assert_same_answer(graph, 13);
  graph = with_ints("Split", 7, "split", (int64_t[]){1, 3}, 2);
  dq_value *outputs[] = {graph->nodes[0]->outputs[0], dq_graph_add_value(graph, "z")};
  graph->nodes[0]->outputs = outputs, graph->nodes[0]->output_count = 2;
  dq_node_set_int(graph, graph->nodes[0], "axis", 2);
  assert_same_answer(graph, 18);
  graph = one_node("Split", 7, 4, SHAPE);
  outputs[0] = graph->nodes[0]->outputs[0], outputs[1] = dq_graph_add_value(graph, "z");
  graph->nodes[0]->outputs = outputs, graph->nodes[0]->output_count = 2;
  assert_same_answer(graph, 18);
}

// Statistics that have a name but no reader say nothing of training.
static void test_named_statistics(void **state) {
  (void)state;
  static const char *const names[] = {"scale", "bias", "mean", "variance"};
  dq_graph *graph = one_node("BatchNormalization", 9, 4, SHAPE);
  dq_value *inputs[5] = {graph->inputs[0]}, *outputs[5] = {graph->nodes[0]->outputs[0]};
  for (int i = 0; i < 4; i++) {
    dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){3});
    for (int c = 0; c < 3; c++) ((float *)tensor->data)[c] = (float)(1 + i + c);
    inputs[i + 1] = dq_graph_add_constant(graph, names[i], tensor);
    char result[16];
    snprintf(result, sizeof result, "new_%s", names[i]);
    outputs[i + 1] = dq_graph_add_value(graph, result);
  }
  graph->nodes[0]->inputs = inputs, graph->nodes[0]->input_count = 5;
  graph->nodes[0]->outputs = outputs, graph->nodes[0]->output_count = 5;
  assert_same_answer(graph, 15);
}

static void test_softmax_over_several_dimensions(void **state) {
  (void)state;
  static const char *const operators[] = {"Softmax", "LogSoftmax", "Hardmax"};
  for (int i = 0; i < 3; i++) {
    assert_same_answer(one_node(operators[i], 7, 4, SHAPE), 13);
    for (int64_t axis = -1; axis < 4; axis++) {
      dq_graph *graph = one_node(operators[i], 11, 4, SHAPE);
      dq_node_set_int(graph, graph->nodes[0], "axis", axis);
      assert_same_answer(graph, 18);
    }
  }
}

static void test_upsampling(void **state) {
  (void)state;
  static const float scales[] = {1, 1, 2, 3};
  static const char *const modes[] = {"nearest", "linear"};
  for (int i = 0; i < 2; i++) {
    dq_graph *graph = one_node("Upsample", 9, 4, SHAPE);
    dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){4});
    memcpy(tensor->data, scales, sizeof scales);
    dq_value *inputs[] = {graph->inputs[0], dq_graph_add_constant(graph, "scales", tensor)};
    graph->nodes[0]->inputs = inputs, graph->nodes[0]->input_count = 2;
    dq_node_set_string(graph, graph->nodes[0], "mode", modes[i]);
    assert_same_answer(graph, 19);
    graph = with_ints("Upsample", 7, "scales", (int64_t[4]){0}, 4); // where the scales are an attribute
    dq_attribute *attribute = (dq_attribute *)(uintptr_t)dq_node_attribute(graph->nodes[0], "scales");
    attribute->type = DQ_ATTRIBUTE_FLOATS, attribute->floats = scales;
    dq_node_set_string(graph, graph->nodes[0], "mode", modes[i]);
    assert_same_answer(graph, i ? 9 : 13);
  }
}

static void test_others(void **state) {
  (void)state;
  dq_graph *graph = one_node("TopK", 7, 4, SHAPE);
  dq_value *outputs[] = {graph->nodes[0]->outputs[0], dq_graph_add_value(graph, "indices")};
  graph->nodes[0]->outputs = outputs, graph->nodes[0]->output_count = 2;
  dq_node_set_int(graph, graph->nodes[0], "k", 2);
  assert_same_answer(graph, 13);
  graph = one_node("Dropout", 7, 4, SHAPE);
  dq_node_set_float(graph, graph->nodes[0], "ratio", 0.3f);
  assert_same_answer(graph, 13);
  assert_same_answer(one_node("Relu", 7, 4, SHAPE), 28);
}

static dq_graph *clip(void) {
  dq_graph *graph = one_node("Clip", 7, 4, SHAPE);
  dq_node_set_float(graph, graph->nodes[0], "max", 0.5f);
  return graph;
}
static dq_graph *mean(void) { return with_ints("ReduceMean", 11, "axes", (int64_t[]){1, 3}, 2); }
static dq_graph *softmax(void) { return one_node("Softmax", 11, 4, SHAPE); }

// Takes memory of the graph in pieces until there is none, or `most` were taken; returns their number.
static int take_memory(dq_graph *graph, int most) {
  int taken = 0;
  budget->limit = budget->used;
  while (taken < most && dq_arena_alloc(graph->arena, 1)) taken++;
  return taken;
}

// Wherever memory ends, the failure is one of the system, and its message tells no size that nobody asked for.
static void test_without_memory(void **state) {
  (void)state;
  dq_graph *(*const graphs[])(void) = {clip, mean, softmax};
  for (int g = 0; g < 3; g++) {
    dq_status status = DQ_SYSTEM;
    for (int left = 0; status != DQ_OK; left++) {
      dq_budget own = {0};
      budget = &own;
      dq_graph *graph = graphs[g]();
      assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
      int all = take_memory(graph, INT_MAX);
      dq_graph_free(graph);
      own = (dq_budget){0};
      graph = graphs[g]();
      assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
      assert_int_equal(take_memory(graph, all - left), all - left);
      dq_error error = {0};
      status = dq_raise_opset(graph, 18, &context, &error);
      dq_graph_free(graph);
      budget = NULL;
      if (status == DQ_OK) continue;
      assert_int_equal(status, DQ_SYSTEM);
      const char *what = strstr(error.message, "out of memory");
      size_t bytes = 0;
      int fields = what ? sscanf(what, "out of memory: %zu bytes needed", &bytes) : 0;
      if (fields == 1 ? bytes < 8 : !what || strcmp(what, "out of memory")) fail_msg("%s", error.message);
    }
  }
}

static void assert_refused(dq_graph *graph, int64_t to, const char *part) {
  dq_error error = {0};
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_raise_opset(graph, to, &context, &error), DQ_UNSUPPORTED);
  if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
  dq_graph_free(graph);
}

static void test_what_changed_its_meaning_is_refused(void **state) {
  (void)state;
  dq_graph *graph = one_node("AveragePool", 10, 4, SHAPE);
  dq_node_set_int(graph, graph->nodes[0], "ceil_mode", 1);
  assert_refused(graph, 19, "node 'n': AveragePool");
  assert_refused(one_node("Nonsense", 10, 4, SHAPE), 13, "node 'n': Nonsense");
  assert_refused(one_node("Relu", 7, 4, SHAPE), 29, "29");
  graph = one_node("Resize", 11, 4, SHAPE);
  dq_node_set_string(graph, graph->nodes[0], "coordinate_transformation_mode", "tf_half_pixel_for_nn");
  assert_refused(graph, 13, "tf_half_pixel_for_nn");
}

// x -> node -> y whose further inputs are constants of these shapes, with the numbers 1 / 2, 2 / 2, ... in them.
static dq_graph *with_constants(const char *op_type, int64_t opset, int count, const dq_tensor *shapes) {
  dq_graph *graph = one_node(op_type, opset, 4, SHAPE);
  dq_value *inputs[5] = {graph->inputs[0]};
  for (int i = 0; i < count; i++) {
    dq_tensor *tensor = dq_tensor_new(graph->arena, shapes[i].type, shapes[i].rank, shapes[i].dims);
    for (int64_t k = 0; k < dq_tensor_count(tensor); k++) dq_tensor_set(tensor, k, (double)(k + 1) / 2);
    inputs[i + 1] = dq_graph_add_constant(graph, (const char *[]){"a", "b", "c", "d"}[i], tensor);
  }
  graph->nodes[0]->inputs = dq_arena_copy(graph->arena, inputs, sizeof inputs);
  graph->nodes[0]->input_count = count + 1;
  return graph;
}
#define WITH(op_type, opset, ...)                                                                                      \
  with_constants(op_type, opset, (int)(sizeof((dq_tensor[]){__VA_ARGS__}) / sizeof(dq_tensor)),                        \
                 (dq_tensor[]){__VA_ARGS__})
#define F32(...)                                                                                                       \
  {                                                                                                                    \
    .type = DQ_F32, .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), .dims = { __VA_ARGS__ }                       \
  }
#define I64(...)                                                                                                       \
  {                                                                                                                    \
    .type = DQ_I64, .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), .dims = { __VA_ARGS__ }                       \
  }

static dq_graph *set_text(dq_graph *graph, const char *name, const char *text) {
  assert_true(dq_node_set_string(graph, graph->nodes[0], name, text));
  return graph;
}
static dq_graph *set_int(dq_graph *graph, const char *name, int64_t number) {
  assert_true(dq_node_set_int(graph, graph->nodes[0], name, number));
  return graph;
}
static dq_graph *pool(void) { return with_ints("AveragePool", 10, "kernel_shape", (int64_t[]){2, 2}, 2); }
static dq_graph *normalization(void) { return WITH("BatchNormalization", 7, F32(3), F32(3), F32(3), F32(3)); }
static dq_graph *transposed(void) { return WITH("ConvTranspose", 7, F32(3, 2, 2, 2)); }
static dq_graph *resize(const char *mode, double scale) {
  dq_graph *graph = set_text(WITH("Resize", 10, F32(4)), "mode", mode);
  for (int i = 0; i < 4; i++) dq_tensor_set(graph->nodes[0]->inputs[1]->constant, i, i < 2 ? 1 : scale);
  return graph;
}

// The forms of a rule that go on in the newer version, an attribute that is not there among them, and those that do
// not.
static void test_forms_of_rules(void **state) {
  (void)state;
  assert_same_answer(pool(), 19);
  assert_same_answer(set_int(pool(), "ceil_mode", 0), 19);
  assert_refused(set_int(pool(), "ceil_mode", 1), 19, "AveragePool cannot be raised to opset 19: windows of ceil_mode");
  assert_same_answer(normalization(), 9);
  assert_same_answer(set_int(normalization(), "spatial", 1), 15);
  assert_refused(set_int(normalization(), "spatial", 0), 9, "spatial is 0");
  assert_same_answer(transposed(), 11);
  assert_same_answer(set_text(transposed(), "auto_pad", "VALID"), 11);
  assert_refused(set_text(transposed(), "auto_pad", "SAME_UPPER"), 11, "automatic padding changed sides");
  dq_graph *graph = transposed();
  assert_true(dq_node_set_ints(graph, graph->nodes[0], "output_shape", (int64_t[]){5, 6}, 2));
  assert_refused(graph, 11, "automatic padding changed sides");
  for (int i = 0; i < 4; i++) {
    static const char *const modes[] = {"bilinear", "bicubic", "nearest"};
    graph = WITH("GridSample", 16, F32(2, 2, 3, 2));
    assert_same_answer(i < 3 ? set_text(graph, "mode", modes[i]) : graph, 20);
  }
  assert_same_answer(resize("nearest", 1), 11);
  assert_same_answer(resize("nearest", 2), 13);
  assert_same_answer(resize("linear", 0.5), 11);
  assert_refused(resize("nearest", 0.5), 11, "scales below 1 with mode nearest picked other elements");
  graph = resize("nearest", 2);
  graph->nodes[0]->inputs[1] = graph->inputs[0];
  assert_refused(graph, 11, "its scales are not known");
  graph = WITH("RoiAlign", 10, F32(2, 4), I64(2));
  for (int i = 0; i < 2; i++) dq_tensor_set(graph->nodes[0]->inputs[2]->constant, i, i);
  assert_same_answer(graph, 16);
  graph = WITH("Scatter", 9, I64(1, 1, 1, 2), F32(1, 1, 1, 2));
  assert_same_answer(graph, 13);
}

// Bounds one by one; no value of padding; what is dropped without a ratio, and a mask that is read.
static void test_attributes_that_are_not_there(void **state) {
  (void)state;
  dq_graph *graph = one_node("Clip", 7, 4, SHAPE);
  dq_node_set_float(graph, graph->nodes[0], "min", -0.25f);
  assert_same_answer(graph, 12);
  assert_same_answer(one_node("Clip", 7, 4, SHAPE), 11);
  assert_same_answer(with_ints("Pad", 7, "pads", (int64_t[]){0, 1, 1, 2, 0, 0, 3, 0}, 8), 11);
  assert_same_answer(one_node("Dropout", 7, 4, SHAPE), 12);
  graph = one_node("Dropout", 7, 4, SHAPE);
  dq_value *outputs[] = {graph->outputs[0], dq_graph_add_value(graph, "mask")};
  graph->nodes[0]->outputs = outputs, graph->nodes[0]->output_count = 2;
  outputs[1]->is_output = true;
  assert_refused(graph, 10, "its mask is used");
}

static void test_versions(void **state) {
  (void)state;
  dq_graph *graph = one_node("Relu", 13, 4, SHAPE);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_raise_opset(graph, 11, &context, NULL), DQ_OK);
  assert_int_equal(dq_graph_opset(graph, ""), 13);
  assert_int_equal(graph->ir_version, 3);
  assert_int_equal(dq_raise_opset(graph, 19, &context, NULL), DQ_OK);
  assert_int_equal(graph->ir_version, 9);
  dq_graph_free(graph);
}

// The IR version is that of the release of ONNX, never lower than it was. Where it comes to 4, initializers are not
// inputs any more.
static void test_ir_versions(void **state) {
  (void)state;
  static const int least[] = {3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14}; // opset 8, 9, ...
  for (int64_t opset = 8; opset <= 28; opset++)
    for (int64_t before = 1; before <= 14; before++) {
      dq_graph *graph = one_node("Relu", 7, 4, SHAPE);
      graph->ir_version = before;
      dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 0, NULL);
      dq_value *inputs[] = {dq_graph_add_constant(graph, "listed", tensor), graph->inputs[0]};
      inputs[0]->is_input = true;
      graph->inputs = dq_arena_copy(graph->arena, inputs, sizeof inputs);
      graph->input_count = 2;
      assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
      assert_int_equal(dq_raise_opset(graph, opset, &context, NULL), DQ_OK);
      const int64_t after = before > least[opset - 8] ? before : least[opset - 8];
      const bool listed = before >= 4 || after < 4;
      assert_int_equal(graph->ir_version, after);
      assert_int_equal(graph->input_count, 1 + listed);
      assert_string_equal(graph->inputs[0]->name, listed ? "listed" : "x");
      assert_int_equal(inputs[0]->is_input, listed);
      dq_graph_free(graph);
    }
}

// What a rule adds is named after the node, or after its output where the node has no name, and stands in order.
static void test_names_and_order(void **state) {
  (void)state;
  for (int named = 0; named < 2; named++) {
    dq_graph *graph = mean();
    if (!named) graph->nodes[0]->name = "";
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    assert_int_equal(dq_raise_opset(graph, 18, &context, NULL), DQ_OK);
    assert_string_equal(graph->nodes[0]->inputs[1]->name, named ? "n/axes" : "y/axes");
    dq_graph_free(graph);
  }
  static const char *const order[] = {"Shape", "Flatten", "Softmax", "Reshape"}, *const names[] = {"n/Shape",
                                                                                                   "n/Flatten"};
  dq_graph *graph = softmax();
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_raise_opset(graph, 13, &context, NULL), DQ_OK);
  assert_int_equal(graph->node_count, 4);
  for (int i = 0; i < 4; i++) assert_string_equal(graph->nodes[i]->op_type, order[i]);
  for (int i = 0; i < 2; i++) assert_string_equal(graph->nodes[i]->outputs[0]->name, names[i]);
  dq_graph_free(graph);
  graph = softmax(); // the last axis needs no other nodes
  dq_node_set_int(graph, graph->nodes[0], "axis", 3);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_raise_opset(graph, 13, &context, NULL), DQ_OK);
  assert_int_equal(graph->node_count, 1);
  dq_graph_free(graph);
}

// Every version of every operator that the executor knows is either in the table or in this list.
static void test_table_is_complete(void **state) {
  (void)state;
  static const char *const refused[] = {"GroupNormalization 21"};
  int gaps = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (row->domain) continue;
    for (int i = 1; i < DQ_MAX_VERSIONS && row->since[i]; i++) {
      if (row->since[i] <= 7 || dq_raise_is_known(row->name, row->since[i])) continue;
      char text[80];
      snprintf(text, sizeof text, "%s %d", row->name, row->since[i]);
      bool meant = false;
      for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) meant |= !strcmp(text, refused[k]);
      if (!meant) gaps++, printf("not in raise_opset.def: %s\n", text);
    }
  }
  assert_int_equal(gaps, 0);
}

static void test_models(void **state) {
  (void)state;
  static const char *const models[] = {"mnist_cntk", "yolox_nano", "espnetv2_voc_s2_384"};
  const char *assets = getenv("DQ_ASSETS");
  for (int i = 0; i < 3; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.onnx", assets ? assets : "../shared", models[i]);
    dq_graph *graph;
    if (dq_onnx_load(&graph, path, &context, NULL) != DQ_OK) {
      printf("SKIP %s: not there\n", path);
      continue;
    }
    assert_same_answer(graph, 13);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds_become_inputs),
      cmocka_unit_test(test_axes_become_inputs),
      cmocka_unit_test(test_slices),
      cmocka_unit_test(test_named_statistics),
      cmocka_unit_test(test_softmax_over_several_dimensions),
      cmocka_unit_test(test_upsampling),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_what_changed_its_meaning_is_refused),
      cmocka_unit_test(test_forms_of_rules),
      cmocka_unit_test(test_attributes_that_are_not_there),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_ir_versions),
      cmocka_unit_test(test_names_and_order),
      cmocka_unit_test(test_table_is_complete),
      cmocka_unit_test(test_models),
  };
  return cmocka_run_group_tests(tests, start, end);
}
