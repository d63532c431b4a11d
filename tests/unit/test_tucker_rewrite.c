// Tucker-2 of whole graphs: what is written, what is left alone and why, shared weights, names.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "decomp/tucker/ranks_file.h"
#include "lib/base/random.h"

static int start(void **state) { return (*state = dq_graph_new(0)) ? 0 : -1; }
static int end(void **state) { return dq_graph_free(*state), 0; }

// A value [any, channels, side, ...] of the given rank.
static dq_value *ranked(dq_graph *graph, const char *name, int rank, int64_t channels, int64_t side) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) dims[i].size = i == 0 ? -1 : i == 1 ? channels : side;
  value->type = DQ_F32, value->rank = rank, value->dims = dims;
  return value;
}

static dq_value *shaped(dq_graph *graph, const char *name, int64_t channels, int64_t side) {
  return ranked(graph, name, 4, channels, side);
}

static void make_input(dq_graph *graph, dq_value *value) {
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = value, graph->input_count = 1, value->is_input = true;
}

static void make_output(dq_graph *graph, dq_value *value) {
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs[0] = value, graph->output_count = 1, value->is_output = true;
}

// A weight of low rank in both channel modes plus a little noise.
static dq_value *weight(dq_graph *graph, const char *name, int64_t o, int64_t i, int64_t k) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){o, i, k, k});
  dq_random random = {3};
  float *values = tensor->data;
  for (int64_t a = 0; a < o; a++)
    for (int64_t b = 0; b < i; b++)
      for (int64_t t = 0; t < k * k; t++)
        values[(a * i + b) * k * k + t] =
            (float)((a % 3 + 1) * (b % 2 + 1) * (t + 1)) + 0.01f * dq_random_normal(&random);
  return dq_graph_add_constant(graph, name, tensor);
}

static dq_node *conv(dq_graph *graph, const char *name, dq_value *input, dq_value *w, dq_value *bias,
                     dq_value *output) {
  dq_value *inputs[] = {input, w, bias};
  return dq_graph_add_node(graph, graph->node_count, "Conv", name, bias ? 3 : 2, inputs, 1, &output);
}

static const dq_tucker_options QUARTER = {.rule = DQ_RANK_RATIO, .parameter = 0.25, .multiple = 1};

// x -> conv1 (the weight `w` of the form of `shape`, stride 2, padding 1, bias) -> y
static dq_node *conv_of(dq_graph *graph, dq_value *w, const dq_tensor *shape, int64_t group) {
  const int64_t out = shape->dims[0], twos[] = {2, 2, 2}, ones[] = {1, 1, 1, 1, 1, 1};
  const int rank = shape->rank;
  dq_value *x = ranked(graph, "x", rank, shape->dims[1] * group, 8), *y = ranked(graph, "y", rank, out, 4);
  x->type = y->type = shape->type;
  dq_value *bias = dq_graph_add_constant(graph, "b", dq_tensor_new(graph->arena, shape->type, 1, &out));
  make_input(graph, x), make_output(graph, y);
  dq_node *node = conv(graph, "conv1", x, w, bias, y);
  dq_node_set_ints(graph, node, "strides", twos, rank - 2);
  dq_node_set_ints(graph, node, "pads", ones, 2 * (rank - 2));
  if (group > 1) dq_node_set_int(graph, node, "group", group);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return node;
}

static dq_node *one_conv(dq_graph *graph, dq_value *w) { return conv_of(graph, w, w->constant, 1); }

static void three_convolutions(void **state) {
  dq_graph *graph = *state;
  one_conv(graph, weight(graph, "w", 16, 16, 3));
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_int_equal(report.count, 1);
  assert_int_equal(report.decomposed, 1);
  assert_int_equal(graph->node_count, 3);
  const char *names[] = {"conv1/tucker_in", "conv1/tucker_core", "conv1/tucker_out"};
  for (int i = 0; i < 3; i++) {
    assert_string_equal(graph->nodes[i]->name, names[i]);
    assert_int_equal(graph->nodes[i]->input_count, i == 2 ? 3 : 2);
    if (i) assert_ptr_equal(graph->nodes[i]->inputs[0], graph->nodes[i - 1]->outputs[0]);
  }
  int count;
  assert_int_equal(dq_node_ints(graph->nodes[1], "strides", &count)[0], 2);
  assert_null(dq_node_ints(graph->nodes[0], "strides", &count));
  assert_null(dq_node_ints(graph->nodes[2], "pads", &count));
  assert_string_equal(graph->nodes[2]->outputs[0]->name, "y");
  assert_string_equal(graph->nodes[2]->inputs[2]->name, "b");
  assert_null(dq_graph_find(graph, "w")->constant);
  const int64_t *in = graph->nodes[0]->inputs[1]->constant->dims;
  const int64_t *core = graph->nodes[1]->inputs[1]->constant->dims;
  assert_true(in[0] == 4 && in[1] == 16 && in[2] == 1 && core[0] == 4 && core[1] == 4 && core[3] == 3);
  const dq_tucker_layer *layer = &report.layers[0];
  assert_string_equal(layer->reason, "");
  assert_true(layer->macs_known && layer->error < 0.01 && layer->energy_out > 0.999);
  assert_true(layer->before.macs == 2304 * 16 && layer->before.parameters == 2304 + 16);
  assert_true(layer->after.macs == 64 * 64 + (144 + 64) * 16);
  assert_true(layer->after.parameters == 64 + 144 + 64 + 16);
}

static void names_that_are_taken(void **state) {
  dq_graph *graph = *state;
  dq_graph_add_constant(graph, "conv1/tucker_in", dq_tensor_scalar_f32(graph->arena, 1));
  one_conv(graph, weight(graph, "w", 16, 16, 3));
  graph->nodes[0]->name = "";
  graph->outputs[0]->name = "conv1";
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_string_equal(report.layers[0].name, "conv1");
  assert_string_equal(graph->nodes[0]->name, "conv1/tucker_in_1");
}

static void shared_weight(void **state) {
  dq_graph *graph = *state;
  dq_value *w = weight(graph, "w", 16, 16, 3);
  dq_value *x = shaped(graph, "x", 16, 8), *y = shaped(graph, "y", 16, 8);
  dq_value *z = shaped(graph, "z", 16, 8);
  make_input(graph, x), make_output(graph, z);
  conv(graph, "a", x, w, NULL, y);
  conv(graph, "b", y, w, NULL, z);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 2);
  assert_int_equal(graph->initializer_count, 3);
  assert_ptr_equal(graph->nodes[1]->inputs[1], graph->nodes[4]->inputs[1]);
}

// A weight that a chain of nodes computes from an initializer is decomposed, and the chain goes with it.
static void weight_behind_nodes(void **state) {
  dq_graph *graph = *state;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  dq_value *stored = weight(graph, "stored", 16, 16, 3);
  dq_value *copied = dq_graph_add_value(graph, "copied"), *w = dq_graph_add_value(graph, "w");
  dq_graph_add_node(graph, 0, "Identity", "copy", 1, &stored, 1, &copied);
  dq_node *turn = dq_graph_add_node(graph, 1, "Transpose", "turn", 1, &copied, 1, &w);
  dq_node_set_ints(graph, turn, "perm", (int64_t[]){1, 0, 2, 3}, 4);
  conv_of(graph, w, stored->constant, 1);
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 1);
  assert_int_equal(graph->node_count, 3);
  assert_int_equal(graph->initializer_count, 4); // three factors and the bias
}

// A second reader that is no convolution keeps the weight.
static void weight_used_elsewhere(void **state) {
  dq_graph *graph = *state;
  dq_value *w = weight(graph, "w", 16, 16, 3), *other = dq_graph_add_value(graph, "other");
  dq_graph_add_node(graph, 0, "Relu", "r", 1, &w, 1, &other);
  one_conv(graph, w);
  dq_value *outputs[] = {graph->outputs[0], other};
  graph->outputs = dq_arena_copy(graph->arena, outputs, sizeof outputs), graph->output_count = 2;
  other->is_output = true;
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 1);
  assert_non_null(w->constant);
  assert_int_equal(w->user_count, 1);
}

static void from_a_constant_node(void **state) {
  dq_graph *graph = *state;
  dq_value *source = weight(graph, "source", 16, 16, 3), *w = dq_graph_add_value(graph, "w");
  dq_node *constant = dq_graph_add_node(graph, 0, "Constant", "c", 0, &w, 1, &w);
  constant->attributes = DQ_NEW(graph->arena, dq_attribute);
  constant->attributes[0] =
      (dq_attribute){.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = source->constant, .count = 1};
  constant->attribute_count = 1;
  conv_of(graph, w, source->constant, 1);
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 1);
  assert_int_equal(graph->node_count, 3);
}

static const char *reason_for(const dq_tensor *tensor, int64_t group, double ratio, bool force) {
  static char reason[120];
  dq_graph *graph = dq_graph_new(0);
  dq_tensor *copy = dq_tensor_new(graph->arena, tensor->type, tensor->rank, tensor->dims);
  memcpy(copy->data, tensor->data, dq_tensor_bytes(tensor));
  conv_of(graph, dq_graph_add_constant(graph, "w", copy), copy, group);
  dq_tucker_options options = QUARTER;
  options.parameter = ratio, options.force = force;
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
  strcpy(reason, report.layers[0].reason);
  const dq_tucker_layer *layer = &report.layers[0];
  int parts = 1 + (force || layer->ranks.in < layer->dims[1]) + (force || layer->ranks.out < layer->dims[0] / group);
  assert_int_equal(graph->node_count, reason[0] ? 1 : parts);
  dq_graph_free(graph);
  return reason;
}

static void left_alone(void **state) {
  dq_arena *arena = ((dq_graph *)*state)->arena;
#define WEIGHT(type, rank, ...) dq_tensor_new(arena, type, rank, (int64_t[]){__VA_ARGS__})
  assert_string_equal(reason_for(WEIGHT(DQ_F32, 4, 16, 16, 1, 1), 1, 0.5, false), "1x1 kernel");
  assert_string_equal(reason_for(WEIGHT(DQ_F32, 4, 16, 1, 3, 3), 16, 0.5, false), "depthwise");
  assert_string_equal(reason_for(WEIGHT(DQ_F32, 4, 16, 4, 3, 3), 4, 0.5, false), "");
  assert_string_equal(reason_for(WEIGHT(DQ_F32, 3, 16, 16, 3), 1, 0.5, false), "1-dimensional kernel");
  assert_string_equal(reason_for(WEIGHT(DQ_F32, 5, 16, 16, 3, 3, 3), 1, 0.5, false), "3-dimensional kernel");
  assert_string_equal(reason_for(WEIGHT(DQ_F16, 4, 16, 16, 3, 3), 1, 0.5, false), "weight is float16, not float32");
  dq_tensor *full = weight(*state, "w", 16, 16, 3)->constant;
  assert_string_equal(reason_for(full, 1, 1, false), "full rank on both sides");
  assert_string_equal(reason_for(full, 1, 1, true), ""); // three convolutions with square factors
  assert_string_equal(reason_for(full, 1, 0.5, false), "");
  assert_non_null(strstr(reason_for(full, 1, 0.99, false), "full rank"));
  dq_tensor *thin = weight(*state, "thin", 16, 2, 3)->constant;
  // ceil(0.9 * 16) = 15 and 2: 15 * 18 + 16 * 15 = 510 weights instead of 288
  assert_non_null(strstr(reason_for(thin, 1, 0.9, false), "no gain: 177.1 %"));
  assert_string_equal(reason_for(thin, 1, 0.9, true), "");
}

// A convolution of the domain dq, as execution copies have them, may have a weight of outputs x inputs, which is that
// of a 1x1 kernel; larger kernels are decomposed like those of Conv.
static void steps_of_execution_copies(void **state) {
  dq_arena *arena = ((dq_graph *)*state)->arena;
  const dq_tensor *weights[] = {WEIGHT(DQ_F32, 2, 16, 16), weight(*state, "w", 16, 16, 3)->constant};
  const dq_tensor *shapes[] = {WEIGHT(DQ_F32, 4, 16, 16, 1, 1), weights[1]};
  for (int i = 0; i < 2; i++) {
    dq_graph *graph = dq_graph_new(0);
    dq_tensor *copy = dq_tensor_new(graph->arena, DQ_F32, weights[i]->rank, weights[i]->dims);
    memcpy(copy->data, weights[i]->data, dq_tensor_bytes(copy));
    dq_node *node = conv_of(graph, dq_graph_add_constant(graph, "w", copy), shapes[i], 1);
    node->domain = "dq";
    node->op_type = "FusedConv";
    dq_tucker_report report;
    dq_error error = {0};
    if (dq_tucker_apply(graph, &QUARTER, &report, &error) != DQ_OK) fail_msg("%s", error.message);
    assert_int_equal(report.count, 1);
    assert_string_equal(report.layers[0].reason, i ? "" : "1x1 kernel");
    dq_graph_free(graph);
  }
}

// 32 output channels but an unfolding of 27 columns: the output mode stays whole at rank 32 > 27.
static void more_channels_than_columns(void **state) {
  dq_graph *graph = *state;
  dq_node *node = one_conv(graph, weight(graph, "w", 32, 3, 3));
  dq_tucker_options options = QUARTER;
  options.parameter = 0.6;
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
  const dq_tucker_layer *layer = &report.layers[0];
  assert_true(layer->full.out == 27 && layer->full.in == 3);
  assert_true(layer->ranks.out == 32 && layer->ranks.in == 2 && layer->energy_out == 1);
  assert_int_equal(graph->node_count, 2);
  assert_true(node->removed);
}

static void given_ranks(void **state) {
  dq_graph *graph = *state;
  one_conv(graph, weight(graph, "w", 16, 16, 3));
  dq_tucker_report report;
  dq_error error;
  dq_layer_ranks layers[] = {{"conv1", {5, 17}}, {"conv2", {1, 1}}};
  dq_tucker_options options = {.layers = layers, .layer_count = 2};
  assert_int_equal(dq_tucker_apply(graph, &options, &report, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "'conv2'"));
  options.layer_count = 1;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "5 and 17"));
  layers[0].ranks.in = 7;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, &error), DQ_OK);
  assert_true(report.layers[0].ranks.out == 5 && report.layers[0].ranks.in == 7);
}

// A bound on the whole model's multiply-accumulates holds, and the ranks saved give the same again.
static void bound_on_macs(void **state) {
  (void)state;
  dq_graph *graphs[2];
  char path[] = "/tmp/dq-ranks-XXXXXX";
  close(mkstemp(path));
  dq_arena *arena = dq_arena_new(0);
  for (int run = 0; run < 2; run++) {
    dq_graph *graph = graphs[run] = dq_graph_new(0);
    assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
    one_conv(graph, weight(graph, "w", 16, 16, 3));
    dq_tucker_options options = {.macs_share = 0.5, .multiple = 2};
    dq_tucker_report report;
    if (run) {
      dq_layer_ranks *layers;
      assert_int_equal(dq_ranks_load(path, arena, &layers, &options.layer_count, NULL), DQ_OK);
      options.layers = layers, options.macs_share = 0;
    }
    assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
    assert_true(report.macs_known && report.model_before.macs == 2304 * 16);
    assert_true(report.model_after.macs <= 2304 * 16 / 2 && report.decomposed == 1);
    assert_true(report.model_after.macs == report.layers[0].after.macs);
    assert_true(report.model_before.parameters == 2304 + 16);
    assert_true(report.model_after.parameters == report.layers[0].after.parameters);
    if (!run) assert_int_equal(dq_ranks_save(path, &report, NULL), DQ_OK);
  }
  for (int i = 0; i < graphs[0]->initializer_count; i++) {
    const dq_tensor *a = graphs[0]->initializers[i]->constant;
    assert_memory_equal(a->data, graphs[1]->initializers[i]->constant->data, dq_tensor_bytes(a));
  }
  unlink(path);
  dq_arena_free(arena);
  dq_graph_free(graphs[0]), dq_graph_free(graphs[1]);
}

static void bound_out_of_reach(void **state) {
  assert_int_equal(dq_graph_set_opset(*state, "", 13, NULL), DQ_OK);
  one_conv(*state, weight(*state, "w", 16, 16, 3));
  dq_tucker_options options = {.macs_share = 0.001, .multiple = 1};
  dq_tucker_report report;
  dq_error error;
  assert_int_equal(dq_tucker_apply(*state, &options, &report, &error), DQ_CONDITION);
  assert_non_null(strstr(error.message, "at most"));
  options.macs_share = 1;
  assert_int_equal(dq_tucker_apply(*state, &options, &report, &error), DQ_USAGE);
}

static void bad_ranks_files(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {{"", "line"},
               {"{]", "line 1"},
               {"[]", "schema"},
               {"{\"schema\": \"dq-ranks\", \"version\": 2}", "version"},
               {"{\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": []}", "'layers' is no object"},
               {"{\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"a\": {\"out\": 0, \"in\": 1}}}", "'a'"},
               {"{\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"a\": {\"out\": 1}}}", "'in'"},
               {"{\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"a\": {}, \"a\": {}}}", "duplicate"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[] = "/tmp/dq-ranks-XXXXXX";
    FILE *stream = fdopen(mkstemp(path), "w");
    fputs(cases[i].text, stream);
    fclose(stream);
    dq_layer_ranks *layers;
    int count;
    dq_error error;
    dq_arena *arena = ((dq_graph *)*state)->arena;
    assert_int_equal(dq_ranks_load(path, arena, &layers, &count, &error), DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, cases[i].message));
    assert_non_null(strstr(error.message, path));
    unlink(path);
  }
}

static void bad_weights(void **state) {
  dq_graph *graph = *state;
  dq_value *w = weight(graph, "w", 16, 16, 3);
  ((float *)w->constant->data)[4] = NAN;
  one_conv(graph, w);
  dq_tucker_report report;
  dq_error error;
  assert_int_equal(dq_tucker_apply(graph, &QUARTER, &report, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "initializer 'w'"));
  dq_tucker_options options = QUARTER;
  options.parameter = 1.5;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, &error), DQ_USAGE);
  dq_graph *empty = dq_graph_new(0);
  assert_int_equal(dq_tucker_apply(empty, &QUARTER, &report, &error), DQ_OK);
  assert_int_equal(report.count, 0);
  dq_graph_free(empty);
}

// The same bytes with one thread and with three.
static void threads_change_nothing(void **state) {
  (void)state;
  dq_graph *graphs[2];
  for (int run = 0; run < 2; run++) {
    dq_graph *graph = graphs[run] = dq_graph_new(0);
    dq_value *last = shaped(graph, "x", 16, 8);
    make_input(graph, last);
    for (int i = 0; i < 5; i++) {
      char name[16];
      snprintf(name, sizeof name, "v%d", i);
      dq_value *next = shaped(graph, name, 16, 8);
      conv(graph, "", last, weight(graph, "w", 16, 16, 3), NULL, next);
      last = next;
    }
    make_output(graph, last);
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_context context;
    assert_int_equal(dq_context_init(&context, run ? 3 : 1, 0, NULL), DQ_OK);
    dq_tucker_options options = QUARTER;
    options.context = &context;
    dq_tucker_report report;
    assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
    assert_int_equal(report.decomposed, 5);
    dq_context_deinit(&context);
  }
  assert_int_equal(graphs[0]->initializer_count, graphs[1]->initializer_count);
  for (int i = 0; i < graphs[0]->initializer_count; i++) {
    const dq_value *a = graphs[0]->initializers[i], *b = graphs[1]->initializers[i];
    assert_string_equal(a->name, b->name);
    assert_memory_equal(a->constant->data, b->constant->data, dq_tensor_bytes(a->constant));
  }
  dq_graph_free(graphs[0]), dq_graph_free(graphs[1]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

// At full rank with both factors there is a fifth more work: the clock leaves the layer alone. The
// same layer at a quarter of the ranks has a seventh of it.
static void slower_is_left_alone(void **state) {
  for (int quarter = 0; quarter < 2; quarter++) {
    dq_graph *graph = dq_graph_new(0);
    dq_value *x = shaped(graph, "x", 48, 24), *y = shaped(graph, "y", 48, 24);
    make_input(graph, x), make_output(graph, y);
    dq_node *node = conv(graph, "conv1", x, weight(graph, "w", 48, 48, 3), NULL, y);
    dq_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    dq_graph_set_opset(graph, "", 13, NULL);
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_tucker_options options = {
        .rule = DQ_RANK_RATIO, .parameter = quarter ? 0.25 : 1, .multiple = 1, .force = !quarter, .never_slower = true};
    dq_tucker_report report;
    assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
    assert_int_equal(report.decomposed, quarter);
    assert_true(report.layers[0].time_before > 0 && report.layers[0].time_after > 0);
    assert_true((report.layers[0].time_ratio < 1) == quarter);
    assert_true(quarter || strstr(report.layers[0].reason, "not faster"));
    dq_graph_free(graph);
  }
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(three_convolutions),
                                     TEST(names_that_are_taken),
                                     TEST(shared_weight),
                                     TEST(weight_behind_nodes),
                                     TEST(weight_used_elsewhere),
                                     TEST(from_a_constant_node),
                                     TEST(left_alone),
                                     TEST(steps_of_execution_copies),
                                     TEST(more_channels_than_columns),
                                     TEST(given_ranks),
                                     TEST(bad_weights),
                                     TEST(bound_on_macs),
                                     TEST(bound_out_of_reach),
                                     TEST(bad_ranks_files),
                                     TEST(slower_is_left_alone),
                                     TEST(threads_change_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
