// Nodes that cannot be right are refused before a pass relies on them: by a session, and by the check alone.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/schedule/check_nodes.h"
#include "lib/onnx/onnx.h"
#include "lib/session/session.h"

static dq_context context;

typedef struct built {
  dq_graph *graph;
  dq_value *x; // 1x4x6x6
} built;

static dq_value *value(built *b, const char *name) { return dq_graph_add_value(b->graph, name); }

static dq_value *constant(built *b, int type, int rank, const int64_t *dims) {
  dq_tensor *tensor = dq_tensor_new(b->graph->arena, type, rank, dims);
  assert_non_null(tensor);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, 1);
  return dq_graph_add_constant(b->graph, "constant", tensor);
}

static dq_value *vector(built *b, int type, int64_t count) { return constant(b, type, 1, &count); }

// A node whose name is that of its output. Inputs may be NULL.
static dq_node *node(built *b, const char *op_type, const char *name, int count, dq_value *const *inputs) {
  dq_value *output = value(b, name);
  dq_node *made = dq_graph_add_node(b->graph, b->graph->node_count, op_type, name, count, inputs, 1, &output);
  assert_non_null(made);
  return made;
}

static built begin(void) {
  built b = {.graph = dq_graph_new(0)};
  assert_int_equal(dq_graph_set_opset(b.graph, "", 13, NULL), DQ_OK);
  b.graph->ir_version = 7;
  b.x = value(&b, "x");
  b.x->type = DQ_F32, b.x->rank = 4, b.x->is_input = true;
  dq_dimension *dims = DQ_NEW_ARRAY(b.graph->arena, 4, dq_dimension);
  for (int i = 0; i < 4; i++) dims[i].size = (const int64_t[]){1, 4, 6, 6}[i];
  b.x->dims = dims;
  b.graph->inputs = dq_arena_copy(b.graph->arena, &b.x, sizeof b.x);
  b.graph->input_count = 1;
  return b;
}

static void finish(built *b, const char *output) {
  dq_value *y = value(b, output);
  y->is_output = true;
  b->graph->outputs = dq_arena_copy(b->graph->arena, &y, sizeof y);
  b->graph->output_count = 1;
  dq_error error = {0};
  assert_int_equal(dq_graph_index(b->graph, true, &error), DQ_OK);
}

// x -> operator 'c' with a weight of these dimensions -> Mul 'y' by a vector of channels, which is folded.
static dq_node *convolve(built *b, const char *op_type, int rank, const int64_t *dims, int64_t factors) {
  dq_node *conv = node(b, op_type, "c", 2, (dq_value *[]){b->x, constant(b, DQ_F32, rank, dims)});
  dq_value *by = constant(b, DQ_F32, 3, (const int64_t[]){factors, 1, 1});
  node(b, "Mul", "y", 2, (dq_value *[]){conv->outputs[0], by});
  return conv;
}

static const int64_t square[] = {8, 4, 3, 3}, across[] = {4, 8, 3, 3};

static void group_of_conv(built *b) { dq_node_set_int(b->graph, convolve(b, "Conv", 4, square, 8), "group", 3); }
static void group_zero(built *b) { dq_node_set_int(b->graph, convolve(b, "Conv", 4, square, 8), "group", 0); }
static void group_of_transposed(built *b) {
  dq_node_set_int(b->graph, convolve(b, "ConvTranspose", 4, across, 64), "group", 8);
}
static void group_overflows(built *b) {
  dq_node_set_int(b->graph, convolve(b, "ConvTranspose", 4, across, 8), "group", INT64_C(1) << 61);
}
static void group_least(built *b) {
  dq_node_set_int(b->graph, convolve(b, "ConvTranspose", 4, across, 8), "group", INT64_MIN);
}
static void empty_weight(built *b) { convolve(b, "Conv", 4, (const int64_t[]){4, 8, 3, 0}, 4); }
static void weight_of_rank_2(built *b) { convolve(b, "Conv", 2, (const int64_t[]){8, 4}, 8); }
static void stride_zero(built *b) {
  dq_node_set_ints(b->graph, convolve(b, "Conv", 4, square, 8), "strides", (const int64_t[]){0, 1}, 2);
}
static void three_strides(built *b) {
  dq_node_set_ints(b->graph, convolve(b, "Conv", 4, square, 8), "strides", (const int64_t[]){1, 1, 1}, 3);
}
static void dilation_negative(built *b) {
  dq_node_set_ints(b->graph, convolve(b, "ConvTranspose", 4, across, 8), "dilations", (const int64_t[]){1, -1}, 2);
}
static void pads_negative(built *b) {
  dq_node_set_ints(b->graph, convolve(b, "Conv", 4, square, 8), "pads", (const int64_t[]){0, 0, -1, 0}, 4);
}
static void other_kernel(built *b) {
  dq_node_set_ints(b->graph, convolve(b, "Conv", 4, square, 8), "kernel_shape", (const int64_t[]){3, 5}, 2);
}
static void unknown_padding(built *b) {
  dq_node_set_string(b->graph, convolve(b, "Conv", 4, square, 8), "auto_pad", "SOME");
}

static void short_bias(built *b) {
  node(b, "Conv", "y", 3, (dq_value *[]){b->x, constant(b, DQ_F32, 4, square), vector(b, DQ_F32, 7)});
}
static void no_weight(built *b) {
  dq_node *conv = node(b, "Conv", "c", 1, &b->x);
  node(b, "Mul", "y", 2, (dq_value *[]){conv->outputs[0], vector(b, DQ_F32, 1)});
}
static void weight_left_out(built *b) {
  dq_node *conv = node(b, "Conv", "c", 2, (dq_value *[]){b->x, NULL});
  node(b, "Relu", "y", 1, conv->outputs);
}
static void wrong_attribute(built *b) { dq_node_set_float(b->graph, convolve(b, "Conv", 4, square, 8), "group", 2); }
static void empty_addend(built *b) { node(b, "Add", "y", 2, (dq_value *[]){b->x, NULL}); }

// x -> Conv 'c' -> BatchNormalization 'y' with the statistics of so many channels.
static void normalize(built *b, const int64_t counts[4], int inputs) {
  dq_node *conv = node(b, "Conv", "c", 2, (dq_value *[]){b->x, constant(b, DQ_F32, 4, square)});
  dq_value *all[6] = {conv->outputs[0]};
  for (int i = 0; i < 4; i++) all[1 + i] = vector(b, DQ_F32, counts[i]);
  node(b, "BatchNormalization", "y", inputs, all);
}
static void sixth_input(built *b) { normalize(b, (const int64_t[]){8, 8, 8, 8}, 6); }
static void uneven_statistics(built *b) { normalize(b, (const int64_t[]){8, 8, 7, 8}, 5); }

// A weight that becomes constant only when a pass folds what computes it.
static void computed_weight(built *b) {
  dq_value *weight = constant(b, DQ_F32, 4, across);
  dq_node *same = node(b, "Neg", "w", 1, &weight);
  dq_node *conv = node(b, "ConvTranspose", "c", 2, (dq_value *[]){b->x, same->outputs[0]});
  node(b, "Mul", "y", 2, (dq_value *[]){conv->outputs[0], constant(b, DQ_F32, 3, (const int64_t[]){64, 1, 1})});
  dq_node_set_int(b->graph, conv, "group", 8);
}

static void pool_stride(built *b) {
  dq_node *pool = node(b, "MaxPool", "y", 1, &b->x);
  dq_node_set_ints(b->graph, pool, "kernel_shape", (const int64_t[]){2, 2}, 2);
  dq_node_set_ints(b->graph, pool, "strides", (const int64_t[]){2, 0}, 2);
}
static void pool_without_kernel(built *b) { node(b, "AveragePool", "y", 1, &b->x); }

// x -> QuantizeLinear -> DequantizeLinear 'd' with so many scales and zero points -> Relu -> QuantizeLinear -> 'y'
static void quantize(built *b, int64_t scales, int64_t zeros) {
  dq_value *scale = vector(b, DQ_F32, 1), *zero = vector(b, DQ_U8, 1);
  dq_node *q = node(b, "QuantizeLinear", "q", 3, (dq_value *[]){b->x, scale, zero});
  dq_value *inputs[] = {q->outputs[0], vector(b, DQ_F32, scales), zeros < 0 ? NULL : vector(b, DQ_U8, zeros)};
  dq_node *d = node(b, "DequantizeLinear", "d", zeros < 0 ? 2 : 3, inputs);
  dq_node *relu = node(b, "Relu", "r", 1, d->outputs);
  node(b, "QuantizeLinear", "y", 3, (dq_value *[]){relu->outputs[0], scale, zero});
}
static void no_zero_points(built *b) { quantize(b, 1, 0); }
static void two_zero_points(built *b) { quantize(b, 1, 2); }

static void no_scale_of_bias(built *b) {
  dq_value *scale = vector(b, DQ_F32, 1), *zero = vector(b, DQ_U8, 1);
  dq_node *q = node(b, "QuantizeLinear", "q", 3, (dq_value *[]){b->x, scale, zero});
  dq_node *x = node(b, "DequantizeLinear", "dx", 3, (dq_value *[]){q->outputs[0], scale, zero});
  dq_node *w = node(b, "DequantizeLinear", "dw", 2, (dq_value *[]){constant(b, DQ_U8, 4, square), scale});
  dq_value *numbers = vector(b, DQ_I32, 8);
  dq_node *bias = node(b, "DequantizeLinear", "db", 1, &numbers);
  node(b, "Conv", "y", 3, (dq_value *[]){x->outputs[0], w->outputs[0], bias->outputs[0]});
}

static void dropout_mode(built *b) {
  node(b, "Dropout", "y", 3, (dq_value *[]){b->x, vector(b, DQ_F32, 1), vector(b, DQ_BOOL, 0)});
}

static const struct {
  const char *message; // part of it
  void (*build)(built *b);
} rows[] = {
    {"node 'c': 3 groups do not divide 8 output channels", group_of_conv},
    {"node 'c': attribute 'group' is 0, expected 1 or more", group_zero},
    {"node 'c': 8 groups do not divide 4 input channels", group_of_transposed},
    {"node 'c': 2305843009213693952 groups do not divide 4 input channels", group_overflows},
    {"node 'c': attribute 'group' is -9223372036854775808, expected 1 or more", group_least},
    {"node 'c': weight has shape 4x8x3x0, all dimensions must be above 0", empty_weight},
    {"node 'c': weight has shape 8x4, expected 3 dimensions or more", weight_of_rank_2},
    {"node 'c': attribute 'strides' holds 0, expected 1 to", stride_zero},
    {"node 'c': attribute 'strides' has 3 elements, expected 2", three_strides},
    {"node 'c': attribute 'dilations' holds -1, expected 1 to", dilation_negative},
    {"node 'c': attribute 'pads' holds -1, expected 0 to", pads_negative},
    {"node 'c': attribute 'kernel_shape' holds 5, the weight has 3", other_kernel},
    {"node 'c': auto_pad is 'SOME'", unknown_padding},
    {"node 'y': bias has shape 7, expected one element for each of 8 output channels", short_bias},
    {"node 'c': 1 inputs, expected 2 to 3", no_weight},
    {"node 'c': input 1 is left out but required", weight_left_out},
    {"node 'c': attribute 'group' is of type float, expected int", wrong_attribute},
    {"node 'y': input 1 is left out but required", empty_addend},
    {"node 'y': 6 inputs, expected 5", sixth_input},
    {"node 'y': input 3 has shape 7, expected a vector of 8 elements", uneven_statistics},
    {"node 'c': 8 groups do not divide 4 input channels", computed_weight},
    {"node 'y': attribute 'strides' holds 0, expected 1 to", pool_stride},
    {"node 'y': attribute 'kernel_shape' is missing", pool_without_kernel},
    {"node 'd': the zero point has another shape than the scale", no_zero_points},
    {"node 'd': the zero point has another shape than the scale", two_zero_points},
    {"node 'db': 1 inputs, expected 2 to 3", no_scale_of_bias},
    {"node 'y': input 2 is not a scalar", dropout_mode},
};

static void refused_before_passes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    built b = begin();
    rows[i].build(&b);
    finish(&b, "y");
    dq_session session;
    dq_error error = {0}, alone = {0};
    assert_int_equal(dq_session_open(&session, b.graph, NULL, &context, &error), DQ_BAD_INPUT);
    if (!strstr(error.message, rows[i].message)) fail_msg("%s", error.message);
    bool computed = rows[i].build == computed_weight;
    assert_int_equal(dq_check_nodes(b.graph, &context, &alone), computed ? DQ_OK : DQ_BAD_INPUT);
    if (!computed) assert_string_equal(alone.message, error.message);
    dq_graph_free(b.graph);
  }
}

// What dq does not know or cannot run is for those to refuse who have to run it.
static void unknown_operator(built *b) { node(b, "Nothing", "y", 0, NULL); }
static void too_many_axes(built *b) { convolve(b, "Conv", 6, (const int64_t[]){8, 4, 1, 1, 1, 1}, 8); }
static void open_weight(built *b) { node(b, "Conv", "y", 2, (dq_value *[]){b->x, b->x}); }

static void left_to_runners(void **state) {
  (void)state;
  void (*const builders[])(built *) = {unknown_operator, too_many_axes, open_weight};
  for (int i = 0; i < 3; i++) {
    built b = begin();
    builders[i](&b);
    finish(&b, "y");
    dq_error error = {0};
    if (dq_check_nodes(b.graph, &context, &error) != DQ_OK) fail_msg("%s", error.message);
    dq_graph_free(b.graph);
  }
}

// Operators of domain dq exist in execution copies only; those of a file bear no resemblance to them.
static void domain_of_copies(void **state) {
  (void)state;
  const char *const domains[] = {"dq", "elsewhere"}, *const path = "/tmp/dq_check_nodes.onnx";
  for (int i = 0; i < 2; i++) {
    built b = begin();
    dq_node *first = node(&b, "QTable", "t", 2, (dq_value *[]){b.x, b.x});
    dq_node *second = node(&b, "QTable", "y", 2, (dq_value *[]){first->outputs[0], b.x});
    first->domain = second->domain = domains[i];
    finish(&b, "y");
    dq_session session;
    dq_graph *read = NULL;
    dq_error error = {0};
    assert_int_equal(dq_onnx_save(b.graph, path, &error), DQ_OK);
    dq_status status = dq_onnx_load(&read, path, &context, &error);
    if (status == DQ_OK) status = dq_session_open(&session, read, NULL, &context, &error);
    assert_int_equal(status, DQ_UNSUPPORTED);
    if (!strstr(error.message, "operator QTable of domain")) fail_msg("%s", error.message);
    dq_graph_free(read);
    dq_graph_free(b.graph);
    remove(path);
  }
}

// Without the import of an operator set no version is supported; passes must not take such nodes for those they know.
static void versions(void **state) {
  (void)state;
  for (int inputs = 0; inputs <= 2; inputs++) {
    built b = begin();
    dq_value *weight = constant(&b, DQ_F32, 4, (const int64_t[]){4, 4, 1, 1});
    node(&b, "Conv", "c", 2, (dq_value *[]){b.x, weight});
    node(&b, "Add", "y", inputs, (dq_value *[]){value(&b, "c"), b.x});
    finish(&b, "y");
    b.graph->opset_count = 0;
    dq_error error = {0};
    dq_session session;
    assert_int_equal(dq_check_nodes(b.graph, &context, &error), inputs == 2 ? DQ_OK : DQ_UNSUPPORTED);
    assert_int_equal(dq_session_open(&session, b.graph, NULL, &context, &error), DQ_UNSUPPORTED);
    if (!strstr(error.message, "the model imports no version of ONNX's operators (opset_import)"))
      fail_msg("%s", error.message);
    dq_graph_free(b.graph);
  }
}

static int start(void **state) {
  (void)state;
  return dq_context_init(&context, 1, ~0u, NULL) == DQ_OK ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused_before_passes),
      cmocka_unit_test(left_to_runners),
      cmocka_unit_test(versions),
      cmocka_unit_test(domain_of_copies),
  };
  return cmocka_run_group_tests(tests, start, end);
}
