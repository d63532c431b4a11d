// Writes the small models that tests read: make_models FOLDER, and arrays. Good ones are made with the library; bad
// ones are good ones with one thing wrong. Each is one function and one row of the table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/onnx/onnx.h"
#include "tests/models/arrays.h"
#include "tests/models/described.h"
#include "tests/models/digest.h"
#include "tests/models/files.h"
#include "tests/models/fixed.h"
#include "tests/models/hostile.h"
#include "tests/models/maker.h"
#include "tests/models/peak.h"
#include "tests/models/sides.h"
#include "tests/models/unusual.h"

// A classifier of 3x8x8 maps: conv 3x3, relu, depthwise, conv 3x3, pool, flatten, gemm; 4 classes.
static void classify(maker *m, dq_value *x) {
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  conv(m, "depthwise", value(m, "b"), 8, 8, 3, 8, value(m, "c"));
  conv(m, "conv2", value(m, "c"), 16, 8, 3, 1, value(m, "d"));
  node(m, "Relu", "relu2", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  node(m, "GlobalAveragePool", "pool", 1, (dq_value *[]){value(m, "e")}, value(m, "f"));
  node(m, "Flatten", "flatten", 1, (dq_value *[]){value(m, "f")}, value(m, "g"));
  dq_value *w = weight(m, "head.weight", 2, (int64_t[]){16, 4}, 0.5f);
  node(m, "Gemm", "head", 2, (dq_value *[]){value(m, "g"), w}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){-1, 4});
}

static void make_small(maker *m) { classify(m, input(m, "x", 4, (int64_t[]){-1, 3, 8, 8})); }

// The same for pictures with their channels last.
static void make_channels_last(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 8, 8, 3});
  dq_node *made = node(m, "Transpose", "turn", 1, (dq_value *[]){x}, value(m, "turned"));
  dq_node_set_ints(m->graph, made, "perm", (int64_t[]){0, 3, 1, 2}, 4);
  m->random = (dq_random){0}; // as the first of the models
  classify(m, value(m, "turned"));
}

// A classifier whose last product is a convolution of one pixel, in front of a Flatten.
static void make_conv_head(maker *m) {
  conv(m, "conv1", input(m, "x", 4, (int64_t[]){-1, 3, 8, 8}), 8, 3, 3, 1, value(m, "a"));
  node(m, "GlobalAveragePool", "pool", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  conv(m, "head", value(m, "b"), 4, 8, 1, 1, value(m, "c"));
  node(m, "Flatten", "flatten", 1, (dq_value *[]){value(m, "c")}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){-1, 4});
}

// One Relu of five channels, that pictures do not have.
static void make_five_channels(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 7, 7, 5});
  node(m, "Relu", "relu", 1, (dq_value *[]){x}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 7, 7, 5});
}

// One Relu.
static void make_tiny(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu", 1, (dq_value *[]){x}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

// The same convolution weight used twice, and a residual sum.
static void make_shared(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 8, 8, 8});
  dq_node *first = conv(m, "conv1", x, 8, 8, 3, 1, value(m, "a"));
  dq_node *second = conv(m, "conv2", value(m, "a"), 8, 8, 3, 1, value(m, "b"));
  dq_value *own = second->inputs[1];
  second->inputs[1] = first->inputs[1];
  dq_graph_remove_constant(m->graph, own);
  node(m, "Add", "add", 2, (dq_value *[]){value(m, "a"), value(m, "b")}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

// A convolution's weight is an output of the model as well.
static void make_weight_output(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 8, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 8, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
  output(m, made->inputs[1], 4, (int64_t[]){8, 8, 3, 3});
}

// A convolution's bias is computed by nodes, from the picture.
static void make_node_bias(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 8, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 8, 3, 1, value(m, "y"));
  node(m, "GlobalAveragePool", "mean", 1, (dq_value *[]){x}, value(m, "means"));
  dq_tensor *shape = dq_tensor_new(m->graph->arena, DQ_I64, 1, (int64_t[]){1});
  dq_tensor_set(shape, 0, 8);
  node(m, "Reshape", "flat", 2, (dq_value *[]){value(m, "means"), dq_graph_add_constant(m->graph, "eight", shape)},
       value(m, "bias"));
  dq_graph_remove_constant(m->graph, made->inputs[2]);
  made->inputs[2] = value(m, "bias");
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

// Everything in another float type.
static void make_typed(maker *m, int type) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  dq_tensor *tensor = dq_tensor_new(m->graph->arena, type, 2, (int64_t[]){4, 4});
  for (int i = 0; i < 16; i++) dq_tensor_set(tensor, i, (double)dq_random_normal(&m->random));
  dq_value *w = dq_graph_add_constant(m->graph, "w", tensor);
  node(m, "MatMul", "product", 2, (dq_value *[]){x, w}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
  x->type = value(m, "y")->type = type;
}
static void make_half(maker *m) { make_typed(m, DQ_F16); }
static void make_double(maker *m) { make_typed(m, DQ_F64); }
static void make_bfloat16(maker *m) { make_typed(m, DQ_BF16); }

// QLinearConv, as runtimes write it.
static void make_qoperator(maker *m) {
  dq_arena *arena = m->graph->arena;
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 1, 4, 4});
  dq_tensor *w = dq_tensor_new(arena, DQ_I8, 4, (int64_t[]){1, 1, 1, 1});
  dq_tensor_set(w, 0, 2);
  dq_value *scale = dq_graph_add_constant(m->graph, "scale", dq_tensor_scalar_f32(arena, 0.5f));
  dq_value *zero = dq_graph_add_constant(m->graph, "zero", dq_tensor_scalar_i8(arena, DQ_U8, 3));
  dq_value *none = dq_graph_add_constant(m->graph, "none", dq_tensor_scalar_i8(arena, DQ_I8, 0));
  dq_value *weight_value = dq_graph_add_constant(m->graph, "w", w);
  node(m, "QuantizeLinear", "q", 3, (dq_value *[]){x, scale, zero}, value(m, "xq"));
  node(m, "QLinearConv", "conv", 8, (dq_value *[]){value(m, "xq"), scale, zero, weight_value, scale, none, scale, zero},
       value(m, "yq"));
  node(m, "DequantizeLinear", "dq", 3, (dq_value *[]){value(m, "yq"), scale, zero}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 1, 4, 4});
}

static void make_nan_weight(maker *m) {
  make_small(m);
  ((float *)dq_graph_find(m->graph, "conv2.weight")->constant->data)[5] = NAN;
}

// Logarithms of probabilities, most of which 8 bits round to 0. A product reads the probabilities too, so that they do
// not lie behind the last one.
static void make_log_scores(maker *m) {
  make_small(m);
  m->graph->outputs[0]->is_output = false, m->graph->output_count = 0;
  float *head = dq_graph_find(m->graph, "head.weight")->constant->data;
  for (int i = 0; i < 64; i++) head[i] *= 40;
  node(m, "Sigmoid", "sigmoid", 1, (dq_value *[]){value(m, "y")}, value(m, "p"));
  node(m, "Log", "log", 1, (dq_value *[]){value(m, "p")}, value(m, "logarithms"));
  output(m, value(m, "logarithms"), 2, (int64_t[]){-1, 4});
  dq_tensor *mixing = dq_tensor_new(m->graph->arena, DQ_F32, 2, (int64_t[]){4, 4});
  for (int i = 0; i < 16; i++) ((float *)mixing->data)[i] = i % 5 ? 0.1f : 1;
  dq_value *inputs[] = {value(m, "p"), dq_graph_add_constant(m->graph, "mixing", mixing)};
  node(m, "MatMul", "mix", 2, inputs, value(m, "mixed"));
  output(m, value(m, "mixed"), 2, (int64_t[]){-1, 4});
}

// Of four scores the second is infinite, the third NaN.
static void make_odd_scores(maker *m) {
  make_small(m);
  m->graph->outputs[0]->is_output = false, m->graph->output_count = 0;
  dq_tensor *added = dq_tensor_new(m->graph->arena, DQ_F32, 1, (int64_t[]){4});
  memcpy(added->data, (const float[]){0, INFINITY, NAN, 0}, 4 * sizeof(float));
  dq_value *inputs[] = {value(m, "y"), dq_graph_add_constant(m->graph, "added", added)};
  node(m, "Add", "add", 2, inputs, value(m, "scores"));
  output(m, value(m, "scores"), 2, (int64_t[]){-1, 4});
}

// One weight of each kind that is out of the ordinary.
static void make_odd_weights(maker *m) {
  make_small(m);
  float *conv1 = dq_graph_find(m->graph, "conv1.weight")->constant->data;
  float *depthwise = dq_graph_find(m->graph, "depthwise.weight")->constant->data;
  float *conv2 = dq_graph_find(m->graph, "conv2.weight")->constant->data;
  float *head = dq_graph_find(m->graph, "head.weight")->constant->data;
  for (int i = 0; i < 27; i++) conv1[3 * 27 + i] = 0; // channel 3 of 8
  depthwise[0] = depthwise[1] = 1e-40f;
  conv2[7] = 1000;
  for (int i = 0; i < 64; i++) head[i] = 0;
}

static void scale_weights(const dq_node *made, float factor) {
  for (int i = 1; i < 3; i++)
    for (int64_t e = 0; e < dq_tensor_count(made->inputs[i]->constant); e++)
      ((float *)made->inputs[i]->constant->data)[e] *= i == 2 && factor < 1 ? 1 : factor;
}

// Four convolutions; the second makes its values 60,000 times larger, the third as much smaller again.
static void make_loud(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, 8, 8});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  scale_weights(conv(m, "conv2", value(m, "b"), 8, 8, 3, 1, value(m, "c")), 6e4f);
  node(m, "Relu", "relu2", 1, (dq_value *[]){value(m, "c")}, value(m, "d"));
  scale_weights(conv(m, "conv3", value(m, "d"), 8, 8, 3, 1, value(m, "e")), 1 / 6e4f);
  node(m, "Relu", "relu3", 1, (dq_value *[]){value(m, "e")}, value(m, "f"));
  conv(m, "conv4", value(m, "f"), 4, 8, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 4, 8, 8});
}

// The same with a batch normalization behind the first convolution, so that the nodes behind it change places when a
// conversion folds it.
static void make_loud_norm(maker *m) {
  make_loud(m);
  dq_value *inputs[5] = {value(m, "a0")};
  static const char *const names[] = {"scale", "shift", "mean", "variance"};
  for (int i = 0; i < 4; i++) {
    dq_tensor *tensor = dq_tensor_new(m->graph->arena, DQ_F32, 1, (int64_t[]){8});
    for (int c = 0; c < 8; c++) dq_tensor_set(tensor, c, i % 3 ? 0 : 1);
    inputs[i + 1] = dq_graph_add_constant(m->graph, names[i], tensor);
  }
  m->graph->nodes[0]->outputs[0] = inputs[0];
  dq_value *y = value(m, "a");
  dq_graph_add_node(m->graph, 1, "BatchNormalization", "norm", 5, inputs, 1, &y);
}

static void make_unknown_operator(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Frobnicate", "strange", 1, (dq_value *[]){value(m, "a")}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_unknown_size(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, -1, -1});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 8, -1, -1});
}

// Both unfoldings of the weight have more than 1024 rows and columns: LAPACK decomposes them.
static void make_wide(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 115, 3, 3});
  conv(m, "conv1", x, 1030, 115, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 1030, 3, 3});
}

static void make_open_channels(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, -1, 8, 8});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

// A classifier of pictures of any size: "height" and "width" have names.
static void make_open_size(maker *m) {
  dq_value *x =
      open_input(m, "images", DQ_F32, 4, (dq_dimension[]){{-1, "batch"}, {3, NULL}, {-1, "height"}, {-1, "width"}});
  dq_node *first = conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  dq_node_set_ints(m->graph, first, "strides", (int64_t[]){2, 2}, 2);
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  dq_node *second = conv(m, "depthwise", value(m, "b"), 8, 8, 3, 8, value(m, "c"));
  dq_node_set_ints(m->graph, second, "dilations", (int64_t[]){2, 2}, 2);
  dq_node_set_ints(m->graph, second, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  node(m, "GlobalAveragePool", "pool", 1, (dq_value *[]){value(m, "c")}, value(m, "d"));
  node(m, "Flatten", "flatten", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  node(m, "Gemm", "head", 2, (dq_value *[]){value(m, "e"), weight(m, "head.weight", 2, (int64_t[]){8, 4}, 0.5f)},
       value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){-1, 4});
}

// A network whose last layer fits pictures of 32x32 alone; the file calls height and width "?".
static void make_fussy(maker *m) {
  dq_value *x = open_input(m, "x", DQ_F32, 4, (dq_dimension[]){{-1, "?"}, {1, NULL}, {-1, "?"}, {-1, "?"}});
  node(m, "Flatten", "flatten", 1, (dq_value *[]){x}, value(m, "a"));
  node(m, "Gemm", "head", 2, (dq_value *[]){value(m, "a"), weight(m, "w", 2, (int64_t[]){1024, 2}, 0.1f)},
       value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){-1, 2});
}

// The same for 7x9 pictures, which nobody would guess.
static void make_unguessed(maker *m) {
  make_fussy(m);
  dq_graph_find(m->graph, "w")->constant->dims[0] = 63;
}

// Two sequences of open length, and an LSTM, which dq does not run, behind one of them.
static void make_sequences(maker *m) {
  const dq_dimension dims[] = {{-1, "N"}, {-1, "length"}, {8, NULL}};
  dq_value *x = open_input(m, "x", DQ_F32, 3, dims), *z = open_input(m, "z", DQ_F32, 3, dims);
  dq_value *w = weight(m, "w", 2, (int64_t[]){8, 4}, 0.5f);
  node(m, "Add", "add", 2, (dq_value *[]){x, z}, value(m, "a"));
  node(m, "MatMul", "product", 2, (dq_value *[]){value(m, "a"), w}, value(m, "b"));
  dq_value *lstm[] = {value(m, "b"), weight(m, "lstm.w", 3, (int64_t[]){1, 16, 4}, 0.5f),
                      weight(m, "lstm.r", 3, (int64_t[]){1, 16, 4}, 0.5f)};
  dq_node *made = node(m, "LSTM", "lstm", 3, lstm, value(m, "c"));
  dq_node_set_int(m->graph, made, "hidden_size", 4);
  node(m, "Relu", "relu", 1, (dq_value *[]){value(m, "c")}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 1, -1, 4});
}

// An input of whole numbers.
static void make_tokens(maker *m) {
  dq_value *x = open_input(m, "tokens", DQ_I64, 2, (dq_dimension[]){{-1, "N"}, {-1, "length"}});
  node(m, "Gather", "embed", 2, (dq_value *[]){weight(m, "table", 2, (int64_t[]){100, 8}, 1), x}, value(m, "a"));
  node(m, "MatMul", "product", 2, (dq_value *[]){value(m, "a"), weight(m, "w", 2, (int64_t[]){8, 4}, 0.5f)},
       value(m, "y"));
  output(m, value(m, "y"), 3, (int64_t[]){-1, -1, 4});
}

static void make_bad_group(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  dq_node_set_int(m->graph, made, "group", 2);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_zero_stride(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  dq_node_set_ints(m->graph, made, "strides", (int64_t[]){0, 1}, 2);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_large_kernel(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 4, 4});
  dq_node *made = conv(m, "conv1", x, 8, 3, 7, 1, value(m, "y"));
  dq_node_set_ints(m->graph, made, "pads", (int64_t[]){0, 0, 0, 0}, 4);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, -1, -1});
}

static void make_cycle(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Add", "add", 2, (dq_value *[]){x, value(m, "b")}, value(m, "a"));
  node(m, "Relu", "relu", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  output(m, value(m, "b"), 2, (int64_t[]){1, 4});
}

static void make_nobody_produces(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Add", "add", 2, (dq_value *[]){x, value(m, "ghost")}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

static void make_strange_names(maker *m) {
  dq_value *x = input(m, "x\n\"<b>", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu \xf0\x9f\x98\x80\n", 1, (dq_value *[]){x}, value(m, "y,\"&"));
  output(m, value(m, "y,\"&"), 2, (int64_t[]){1, 4});
}

static void make_wrong_attribute(maker *m) {
  make_tiny(m);
  dq_node *last = m->graph->nodes[0];
  last->op_type = "LeakyRelu";
  dq_node_set_int(m->graph, last, "alpha", 1);
}

static void make_too_many_inputs(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu", 2, (dq_value *[]){x, x}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

static void make_opset_6(maker *m) {
  make_tiny(m);
  m->graph->opsets[0].version = 6;
}

static void make_opset_99(maker *m) {
  make_tiny(m);
  m->graph->opsets[0].version = 99;
}

static void make_ir_99(maker *m) {
  make_tiny(m);
  m->graph->ir_version = 99;
}

// The first of eight channels behind a Relu is never below 10; a 1x1 convolution reads them.
static void make_high_bias(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 3, 1, 1, value(m, "a"));
  *(float *)made->inputs[2]->constant->data = 20;
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  conv(m, "conv2", value(m, "b"), 4, 8, 1, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 4, 8, 8});
}

// The fourth power of a value, which reaches far beyond most of its elements, and a convolution in front of a Sigmoid,
// for which the far ones are all alike: one value makes most of the noise, two cheap nodes stand around it.
static void make_far(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, 8, 8}), *square = value(m, "square");
  dq_node *made = conv(m, "conv1", x, 4, 3, 1, 1, value(m, "a"));
  for (int i = 0; i < 12; i++) ((float *)made->inputs[1]->constant->data)[i] *= 0.8f;
  node(m, "Mul", "square", 2, (dq_value *[]){value(m, "a"), value(m, "a")}, square);
  node(m, "Mul", "fourth", 2, (dq_value *[]){square, square}, value(m, "fourth"));
  conv(m, "conv2", value(m, "fourth"), 4, 4, 1, 1, value(m, "b"));
  node(m, "Sigmoid", "sigmoid", 1, (dq_value *[]){value(m, "b")}, value(m, "c"));
  conv(m, "conv3", value(m, "c"), 16, 4, 3, 1, value(m, "d"));
  node(m, "Relu", "relu", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  conv(m, "conv4", value(m, "e"), 16, 16, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 16, 8, 8});
}

// Five such values, each with two cheap nodes around it, and larger convolutions behind their sum.
static void make_far_five(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, 8, 8}), *sum = NULL;
  for (int i = 0; i < 5; i++) {
    char names[7][16];
    static const char *const PARTS[7] = {"first", "a", "square", "fourth", "reader", "b", "sum"};
    for (int n = 0; n < 7; n++) snprintf(names[n], sizeof names[n], "%s%d", PARTS[n], i);
    dq_value *a = value(m, names[1]), *square = value(m, names[2]), *fourth = value(m, names[3]);
    dq_node *made = conv(m, names[0], x, 4, 3, 1, 1, a);
    for (int w = 0; w < 12; w++) ((float *)made->inputs[1]->constant->data)[w] *= 0.8f;
    node(m, "Mul", names[2], 2, (dq_value *[]){a, a}, square);
    node(m, "Mul", names[3], 2, (dq_value *[]){square, square}, fourth);
    conv(m, names[4], fourth, 4, 4, 1, 1, value(m, names[5]));
    if (sum) node(m, "Add", names[6], 2, (dq_value *[]){sum, value(m, names[5])}, value(m, names[6]));
    sum = value(m, names[sum ? 6 : 5]);
  }
  node(m, "Sigmoid", "sigmoid", 1, (dq_value *[]){sum}, value(m, "c"));
  conv(m, "conv3", value(m, "c"), 16, 4, 3, 1, value(m, "d"));
  node(m, "Relu", "relu", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  conv(m, "conv4", value(m, "e"), 16, 16, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 16, 8, 8});
}

static const struct {
  const char *name;
  void (*make)(maker *);
} models[] = {
    {"small", make_small},
    {"tiny", make_tiny},
    {"shared", make_shared},
    {"weight_output", make_weight_output},
    {"node_bias", make_node_bias},
    {"half", make_half},
    {"double", make_double},
    {"bfloat16", make_bfloat16},
    {"qoperator", make_qoperator},
    {"nan_weight", make_nan_weight},
    {"odd_weights", make_odd_weights},
    {"log_scores", make_log_scores},
    {"odd_scores", make_odd_scores},
    {"loud", make_loud},
    {"loud_norm", make_loud_norm},
    {"unknown_operator", make_unknown_operator},
    {"unknown_size", make_unknown_size},
    {"open_channels", make_open_channels},
    {"bad_group", make_bad_group},
    {"zero_stride", make_zero_stride},
    {"large_kernel", make_large_kernel},
    {"cycle", make_cycle},
    {"nobody_produces", make_nobody_produces},
    {"strange_names", make_strange_names},
    {"wrong_attribute", make_wrong_attribute},
    {"too_many_inputs", make_too_many_inputs},
    {"opset_6", make_opset_6},
    {"opset_99", make_opset_99},
    {"ir_99", make_ir_99},
    {"channels_last", make_channels_last},
    {"five_channels", make_five_channels},
    {"high_bias", make_high_bias},
    {"open_size", make_open_size},
    {"fussy", make_fussy},
    {"unguessed", make_unguessed},
    {"sequences", make_sequences},
    {"tokens", make_tokens},
    {"sides", make_sides},
    {"words", make_words},
    {"gained", make_gained},
    {"far", make_far},
    {"far_five", make_far_five},
    {"conv_head", make_conv_head},
    {"wide", make_wide},
};

int main(int argc, char **argv) {
  dq_error error = {0};
  if (argc >= 3 && !strcmp(argv[1], "--array")) return make_array(argv[2], argc - 3, argv + 3);
  if (argc >= 4 && !strcmp(argv[1], "--whole")) return make_whole_array(argv[2], atoi(argv[3]), argc - 4, argv + 4);
  if (argc == 4 && !strcmp(argv[1], "--tensor")) return make_tensor(argv[2], argv[3]);
  if (argc == 5 && !strcmp(argv[1], "--compare")) return compare_arrays(argv[2], argv[3], argv[4]);
  if (argc == 4 && !strcmp(argv[1], "--describe")) return write_described_model(argv[2], argv[3]);
  if (argc == 3 && !strcmp(argv[1], "--digest")) return print_digest(argv[2]);
  if (argc == 4 && !strcmp(argv[1], "--copy")) return copy_model(argv[2], argv[3]);
  if (argc == 5 && !strcmp(argv[1], "--fix")) return write_fixed_model(argv[2], argv[3], argv[4]);
  if (argc == 5 && !strcmp(argv[1], "--many")) return write_hostile_model(argv[2], atoi(argv[3]), argv[4]);
  if (argc == 4 && !strcmp(argv[1], "--contains")) return contains(argv[2], argv[3]);
  if (argc >= 4 && !strcmp(argv[1], "--peak")) return measure_peak(argv[2], argv + 3);
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    char path[4096];
    maker m = {.graph = dq_graph_new(0), .random = {i}};
    if (!m.graph || dq_graph_set_opset(m.graph, "", 13, &error) != DQ_OK) return 5;
    m.graph->ir_version = 7;
    m.graph->name = models[i].name;
    models[i].make(&m);
    snprintf(path, sizeof path, "%s/%s.onnx", argv[1], models[i].name);
    if (dq_onnx_save(m.graph, path, &error) != DQ_OK) {
      fprintf(stderr, "%s\n", error.message);
      return error.status;
    }
    dq_graph_free(m.graph);
  }
  return write_unusual_models(argv[1]);
}
