// The gradient of every operator that has one: in float64 against central differences, in float32 against float64, with
// the same bits for any number of threads and instruction sets. Shapes and attributes are random.
#include "tests/unit/gradient_harness.h"

#include <stdlib.h>

#include "lib/train/backward.h"

// Random cases of each operator: 8, or as many as the variable of the environment says.
static uint64_t seeds_of_a_run(void) { return getenv("GRADIENTS") ? strtoull(getenv("GRADIENTS"), NULL, 10) : 8; }

static void over_seeds(trial_case *make_case) {
  assert_true(seeds_of_a_run() > 0);
  for (uint64_t seed = 1; seed <= seeds_of_a_run(); seed++) check_gradients(make_case, seed);
}

// A tensor of rank 2 to 4.
static dq_value *any_tensor(trial *t, int least) {
  int64_t dims[4];
  int rank = (int)between(t, least, 4);
  for (int i = 0; i < rank; i++) dims[i] = between(t, 1, 5);
  return operand(t, rank, dims);
}

// ---- Elements ----

static void elementwise(trial *t, const char *op_type) {
  dq_value *x = any_tensor(t, 1);
  t->opset = 14; // of HardSwish
  make(t, op_type, 1, &x, 1);
}
#define ELEMENTWISE(NAME)                                                                                              \
  static void case_##NAME(trial *t) { elementwise(t, #NAME); }                                                         \
  static void NAME##_gradient(void **state) {                                                                          \
    (void)state;                                                                                                       \
    over_seeds(case_##NAME);                                                                                           \
  }
ELEMENTWISE(Relu)
ELEMENTWISE(Sigmoid)
ELEMENTWISE(Tanh)
ELEMENTWISE(HardSwish)
ELEMENTWISE(Softplus)
ELEMENTWISE(Abs)
ELEMENTWISE(Neg)
ELEMENTWISE(Identity)

static void case_leaky(trial *t) {
  dq_value *x = any_tensor(t, 1);
  dq_node *node = make(t, "LeakyRelu", 1, &x, 1);
  if (between(t, 0, 1)) dq_node_set_float(t->graph, node, "alpha", 0.1f);
  else dq_node_set_float(t->graph, node, "alpha", -0.3f);
}

static void case_hard_sigmoid(trial *t) {
  dq_value *x = any_tensor(t, 1);
  dq_node *node = make(t, "HardSigmoid", 1, &x, 1);
  if (between(t, 0, 1)) dq_node_set_float(t->graph, node, "alpha", 1.0f / 6);
}

// Bounds as attributes, and in float32 as inputs too.
static void case_clip(trial *t) {
  static const float bounds[] = {-0.5f, 0.75f};
  dq_value *inputs[] = {any_tensor(t, 1), NULL, NULL};
  const bool attributes = t->type == DQ_F64 || between(t, 0, 1);
  for (int i = 0; i < 2; i++) {
    dq_tensor *bound = dq_tensor_new(t->graph->arena, DQ_F32, 0, NULL);
    dq_tensor_set(bound, 0, (double)bounds[i]);
    inputs[1 + i] = dq_graph_add_constant(t->graph, "bound", bound);
  }
  dq_node *node = make(t, "Clip", attributes ? 1 : 3, inputs, 1);
  t->opset = attributes ? 10 : 13;
  if (!attributes) return;
  dq_node_set_float(t->graph, node, "min", bounds[0]);
  dq_node_set_float(t->graph, node, "max", bounds[1]);
}

static void case_prelu(trial *t) {
  int64_t dims[] = {between(t, 1, 6), between(t, 1, 4), between(t, 1, 4), 3};
  dq_value *inputs[] = {operand(t, 4, dims), operand(t, 3, (int64_t[]){dims[1], 1, 1})};
  make(t, "PRelu", 2, inputs, 1);
}

// Operands of which dimensions are 1 or missing.
static void broadcast(trial *t, const char *op_type, bool above) {
  int64_t dims[2][4];
  int ranks[2] = {4, (int)between(t, 0, 4)};
  for (int i = 0; i < 4; i++) {
    dims[0][i] = between(t, 1, 6);
    dims[1][i] = between(t, 0, 1) ? dims[0][i] : 1;
    if (between(t, 0, 3) == 0) dims[0][i] = 1;
  }
  dq_value *a = operand(t, 4, dims[0]), *inputs[2];
  dq_value *b = above ? positive(t, ranks[1], dims[1] + 4 - ranks[1]) : operand(t, ranks[1], dims[1] + 4 - ranks[1]);
  bool swapped = !above && between(t, 0, 1);
  inputs[swapped] = a, inputs[!swapped] = b;
  make(t, op_type, 2, inputs, 1);
}
static void case_add(trial *t) { broadcast(t, "Add", false); }
static void case_sub(trial *t) { broadcast(t, "Sub", false); }
static void case_mul(trial *t) { broadcast(t, "Mul", false); }
static void case_div(trial *t) { broadcast(t, "Div", true); }

// x * Sigmoid(x), whose input has two readers.
static void case_silu(trial *t) {
  dq_value *x = any_tensor(t, 1);
  make(t, "Sigmoid", 1, &x, 1);
  make(t, "Mul", 2, (dq_value *[]){x, t->output}, 1);
}

// ---- Products ----

static int64_t windows(trial *t, dq_node *node, int axes, int64_t *size, const int64_t *kernel, bool dilated) {
  int64_t strides[3], dilations[3], pads[6], extent;
  for (int i = 0; i < axes; i++) {
    strides[i] = between(t, 1, 3);
    dilations[i] = dilated ? between(t, 1, 2) : 1;
    pads[i] = between(t, 0, 2), pads[axes + i] = between(t, 0, 2);
    extent = (kernel[i] - 1) * dilations[i] + 1;
    if (size[i] + pads[i] + pads[axes + i] < extent) pads[i] += extent;
  }
  set_list(t, node, "strides", axes, strides);
  set_list(t, node, "pads", 2 * axes, pads);
  set_list(t, node, "kernel_shape", axes, kernel);
  if (dilated) set_list(t, node, "dilations", axes, dilations);
  return 0;
}

static void convolution(trial *t, bool depthwise, int axes) {
  int64_t groups = depthwise ? between(t, 2, 9) : between(t, 1, 2), x[5], w[5];
  x[0] = between(t, 1, 11);
  w[1] = depthwise ? 1 : between(t, 1, 5);
  x[1] = groups * w[1];
  w[0] = groups * (depthwise ? between(t, 1, 2) : between(t, 1, 9));
  for (int i = 0; i < axes; i++) x[2 + i] = between(t, 1, axes < 3 ? 9 : 3), w[2 + i] = between(t, 1, axes < 3 ? 4 : 2);
  dq_value *inputs[] = {operand(t, 2 + axes, x), operand(t, 2 + axes, w), operand(t, 1, w)};
  dq_node *node = make(t, "Conv", between(t, 0, 2) ? 3 : 2, inputs, 1);
  if (node->input_count == 2) t->count--;
  windows(t, node, axes, x + 2, w + 2, true);
  dq_node_set_int(t->graph, node, "group", groups);
}
static void case_conv(trial *t) { convolution(t, false, 2); }
static void case_conv_1(trial *t) { convolution(t, false, 1); }
static void case_conv_3(trial *t) { convolution(t, false, 3); }
static void case_depthwise(trial *t) { convolution(t, true, 2); }

// As networks have it: the size stays, or is halved.
static void case_conv_same(trial *t) {
  int64_t x[] = {between(t, 3, 6), between(t, 1, 40), between(t, 5, 8), between(t, 5, 8)}, kernel = 3;
  int64_t w[] = {between(t, 1, 20), x[1], kernel, kernel}, stride = between(t, 1, 2);
  dq_value *inputs[] = {operand(t, 4, x), operand(t, 4, w)};
  dq_node *node = make(t, "Conv", 2, inputs, 1);
  set_list(t, node, "strides", 2, (int64_t[]){stride, stride});
  if (between(t, 0, 1)) dq_node_set_string(t->graph, node, "auto_pad", "SAME_UPPER");
  else set_list(t, node, "pads", 4, (int64_t[]){1, 1, 1, 1});
}

static void case_conv_transpose(trial *t) {
  int64_t groups = between(t, 1, 2), stride = between(t, 1, 3), kernel = between(t, 1, 4), dilation = between(t, 1, 2);
  int64_t x[] = {between(t, 1, 6), groups * between(t, 1, 4), between(t, 2, 5), between(t, 2, 5)};
  int64_t w[] = {x[1], between(t, 1, 4), kernel, kernel}, pad = between(t, 0, (kernel - 1) * dilation / 2);
  dq_value *inputs[] = {operand(t, 4, x), operand(t, 4, w), operand(t, 1, (int64_t[]){groups * w[1]})};
  dq_node *node = make(t, "ConvTranspose", 3, inputs, 1);
  dq_node_set_int(t->graph, node, "group", groups);
  set_list(t, node, "strides", 2, (int64_t[]){stride, stride});
  set_list(t, node, "dilations", 2, (int64_t[]){dilation, dilation});
  set_list(t, node, "pads", 4, (int64_t[]){pad, pad, pad, pad});
  set_list(t, node, "output_padding", 2, (int64_t[]){between(t, 0, stride - 1), between(t, 0, stride - 1)});
}

static void case_gemm(trial *t) {
  int64_t rows = between(t, 1, 9), depth = between(t, 1, 20), columns = between(t, 1, 9);
  bool ta = between(t, 0, 3) == 0, tb = between(t, 0, 1);
  dq_value *inputs[] = {operand(t, 2, ta ? (int64_t[]){depth, rows} : (int64_t[]){rows, depth}),
                        operand(t, 2, tb ? (int64_t[]){columns, depth} : (int64_t[]){depth, columns}),
                        operand(t, 1, (int64_t[]){columns})};
  dq_node *node = make(t, "Gemm", 3, inputs, 1);
  dq_node_set_int(t->graph, node, "transA", ta);
  dq_node_set_int(t->graph, node, "transB", tb);
  if (between(t, 0, 1)) dq_node_set_float(t->graph, node, "alpha", 0.5f);
  if (between(t, 0, 1)) dq_node_set_float(t->graph, node, "beta", 2.0f);
}

static void case_matmul(trial *t) {
  int64_t stack = between(t, 1, 4), rows = between(t, 1, 6), depth = between(t, 1, 6), columns = between(t, 1, 6);
  int kind = (int)between(t, 0, 3);
  dq_value *inputs[] = {
      kind == 1 ? operand(t, 2, (int64_t[]){rows, depth}) : operand(t, 3, (int64_t[]){stack, rows, depth}),
      kind == 2 ? operand(t, 2, (int64_t[]){depth, columns}) : operand(t, 3, (int64_t[]){stack, depth, columns})};
  if (kind == 0) {
    t->count = 0;
    inputs[0] = operand(t, 2, (int64_t[]){rows, depth}), inputs[1] = operand(t, 2, (int64_t[]){depth, columns});
  }
  make(t, "MatMul", 2, inputs, 1);
}

// ---- Windows and reductions ----

static void pool(trial *t, const char *op_type, bool maximum) {
  int64_t x[] = {between(t, 1, 3), between(t, 1, 3), between(t, 3, 8), between(t, 3, 8)};
  int64_t kernel[] = {between(t, 1, 3), between(t, 1, 3)};
  dq_value *input = operand(t, 4, x);
  dq_node *node = make(t, op_type, 1, &input, 1);
  set_list(t, node, "kernel_shape", 2, kernel);
  set_list(t, node, "strides", 2, (int64_t[]){between(t, 1, 3), between(t, 1, 3)});
  set_list(t, node, "pads", 4, (int64_t[]){kernel[0] / 2, kernel[1] / 2, kernel[0] / 2, kernel[1] / 2});
  dq_node_set_int(t->graph, node, "ceil_mode", between(t, 0, 1));
  if (!maximum) dq_node_set_int(t->graph, node, "count_include_pad", between(t, 0, 1));
}
static void case_max_pool(trial *t) { pool(t, "MaxPool", true); }
static void case_average_pool(trial *t) { pool(t, "AveragePool", false); }

static void case_global_average(trial *t) {
  dq_value *x = any_tensor(t, 3);
  make(t, "GlobalAveragePool", 1, &x, 1);
}

static void reduction(trial *t, const char *op_type, bool input) {
  int64_t dims[] = {between(t, 1, 6), between(t, 1, 3), between(t, 1, 20), 4}, axes[] = {between(t, 0, 1), -2};
  dq_value *inputs[] = {operand(t, 4, dims), input ? whole_numbers(t, 2, axes) : NULL};
  dq_node *node = make(t, op_type, input ? 2 : 1, inputs, 1);
  if (!input) set_list(t, node, "axes", 2, axes);
  dq_node_set_int(t->graph, node, "keepdims", between(t, 0, 1));
}
static void case_reduce_mean(trial *t) { reduction(t, "ReduceMean", false); }
static void case_reduce_sum(trial *t) { reduction(t, "ReduceSum", true); }

// ---- Normalization ----

static void case_batch_norm(trial *t) {
  int64_t x[] = {between(t, 1, 10), between(t, 1, 5), between(t, 1, 6), between(t, 1, 6)}, *c = x + 1;
  dq_value *inputs[] = {operand(t, 4, x), operand(t, 1, c), operand(t, 1, c), given(t, 1, c), given(t, 1, c)};
  make(t, "BatchNormalization", 5, inputs, 1);
}

static void case_batch_norm_train(trial *t) {
  int64_t x[] = {between(t, 2, 10), between(t, 1, 5), between(t, 1, 6), between(t, 2, 6)};
  dq_value *inputs[] = {operand(t, 4, x), operand(t, 1, x + 1), operand(t, 1, x + 1)};
  make(t, "dq.BatchNormTrain", 3, inputs, 3);
}

static void softmax(trial *t, const char *op_type) {
  dq_value *x = any_tensor(t, 2);
  dq_node *node = make(t, op_type, 1, &x, 1);
  t->opset = between(t, 0, 1) ? 11 : 13;
  if (between(t, 0, 1)) dq_node_set_int(t->graph, node, "axis", 1);
}
static void case_softmax(trial *t) { softmax(t, "Softmax"); }
static void case_log_softmax(trial *t) { softmax(t, "LogSoftmax"); }

// ---- Moves ----

static void case_reshape(trial *t) {
  int64_t x[] = {between(t, 1, 4), 2, 3, between(t, 1, 3)};
  dq_value *inputs[] = {operand(t, 4, x), whole_numbers(t, 2, (int64_t[]){x[0], -1})};
  make(t, "Reshape", 2, inputs, 1);
}

static void case_flatten(trial *t) {
  dq_value *x = any_tensor(t, 2);
  make(t, "Flatten", 1, &x, 1);
}

static void case_transpose(trial *t) {
  static const int64_t orders[][4] = {{0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 0, 1, 3}};
  int64_t x[] = {between(t, 1, 4), between(t, 1, 4), between(t, 1, 4), between(t, 1, 4)};
  dq_value *input = operand(t, 4, x);
  dq_node *node = make(t, "Transpose", 1, &input, 1);
  int order = (int)between(t, 0, 4);
  if (order < 4) set_list(t, node, "perm", 4, orders[order]);
}

static void case_concat(trial *t) {
  int64_t x[] = {between(t, 1, 4), between(t, 1, 4), 3}, y[] = {x[0], between(t, 1, 4), 3};
  dq_value *inputs[] = {operand(t, 3, x), operand(t, 3, y), NULL};
  inputs[2] = inputs[0];
  dq_node_set_int(t->graph, make(t, "Concat", 3, inputs, 1), "axis", between(t, 0, 1) ? 1 : -2);
}

// Parts of different sizes, of which one is not read.
static void case_split(trial *t) {
  int64_t parts[] = {between(t, 1, 3), between(t, 1, 3), 2}, x[] = {2, parts[0] + parts[1] + parts[2], 3};
  dq_value *inputs[] = {operand(t, 3, x), whole_numbers(t, 3, parts)};
  dq_node *node = make(t, "Split", 2, inputs, 3);
  dq_node_set_int(t->graph, node, "axis", 1);
  if (between(t, 0, 1)) dq_node_set_int(t->graph, make(t, "Concat", 2, node->outputs, 1), "axis", 1);
}

static void case_slice(trial *t) {
  int64_t x[] = {2, between(t, 2, 6), between(t, 4, 9)}, step = between(t, 0, 1) ? between(t, 1, 3) : -between(t, 1, 2);
  int64_t starts[] = {1, step > 0 ? 1 : -1}, ends[] = {9, step > 0 ? x[2] : -x[2] - 1}, axes[] = {1, 2};
  dq_value *inputs[] = {operand(t, 3, x), whole_numbers(t, 2, starts), whole_numbers(t, 2, ends),
                        whole_numbers(t, 2, axes), whole_numbers(t, 2, (int64_t[]){1, step})};
  make(t, "Slice", 5, inputs, 1);
}

static void case_pad(trial *t) {
  int64_t pads[] = {0, between(t, 0, 2), between(t, -1, 2), 0, between(t, 0, 2), between(t, -1, 2)};
  dq_value *inputs[] = {operand(t, 3, (int64_t[]){2, between(t, 1, 3), between(t, 3, 5)}), whole_numbers(t, 6, pads)};
  make(t, "Pad", 2, inputs, 1);
}

static void case_depth_to_space(trial *t) {
  int64_t block = between(t, 1, 3), x[] = {between(t, 1, 2), between(t, 1, 2) * block * block, between(t, 1, 3), 2};
  dq_value *input = operand(t, 4, x);
  dq_node *node = make(t, "DepthToSpace", 1, &input, 1);
  dq_node_set_int(t->graph, node, "blocksize", block);
  if (between(t, 0, 1)) dq_node_set_string(t->graph, node, "mode", "CRD");
}

static void case_space_to_depth(trial *t) {
  int64_t block = between(t, 1, 3), x[] = {between(t, 1, 2), between(t, 1, 3), between(t, 1, 2) * block, 2 * block};
  dq_value *input = operand(t, 4, x);
  dq_node_set_int(t->graph, make(t, "SpaceToDepth", 1, &input, 1), "blocksize", block);
}

// Indices that repeat, count from the end, and leave elements out.
static void case_gather(trial *t) {
  const int64_t indices[] = {between(t, 0, 2), -1, between(t, 0, 2), between(t, -3, -1)},
                x[] = {3, 3, between(t, 1, 4)};
  dq_value *inputs[] = {operand(t, 3, x), whole_numbers(t, (int)between(t, 1, 4), indices)};
  dq_node_set_int(t->graph, make(t, "Gather", 2, inputs, 1), "axis", between(t, 0, 1));
}

static void case_resize(trial *t) {
  static const char *const modes[] = {"nearest", "linear", "cubic"}, *const places[] = {"half_pixel", "asymmetric",
                                                                                        "align_corners"};
  const int64_t x[] = {between(t, 1, 2), 2, between(t, 2, 5), between(t, 2, 5)};
  const int64_t sizes[] = {x[0], x[1], between(t, 2, 9), between(t, 2, 9)};
  dq_value *inputs[] = {operand(t, 4, x), NULL, NULL, whole_numbers(t, 4, sizes)};
  dq_node *node = make(t, "Resize", 4, inputs, 1);
  dq_node_set_string(t->graph, node, "mode", modes[between(t, 0, 2)]);
  dq_node_set_string(t->graph, node, "coordinate_transformation_mode", places[between(t, 0, 2)]);
}

static void case_expand(trial *t) {
  int64_t x[] = {between(t, 1, 3), 1, between(t, 1, 3)}, shape[] = {between(t, 1, 6), x[0], between(t, 1, 4), x[2]};
  dq_value *inputs[] = {operand(t, 3, x), whole_numbers(t, 4, shape)};
  make(t, "Expand", 2, inputs, 1);
}

#define CASE(NAME)                                                                                                     \
  static void NAME##_gradient(void **state) {                                                                          \
    (void)state;                                                                                                       \
    over_seeds(case_##NAME);                                                                                           \
  }
CASE(leaky)
CASE(hard_sigmoid)
CASE(clip)
CASE(prelu)
CASE(add)
CASE(sub)
CASE(mul)
CASE(div)
CASE(silu)
CASE(conv)
CASE(conv_1)
CASE(conv_3)
CASE(depthwise)
CASE(conv_same)
CASE(conv_transpose)
CASE(gemm)
CASE(matmul)
CASE(max_pool)
CASE(average_pool)
CASE(global_average)
CASE(reduce_mean)
CASE(reduce_sum)
CASE(batch_norm)
CASE(batch_norm_train)
CASE(softmax)
CASE(log_softmax)
CASE(reshape)
CASE(flatten)
CASE(transpose)
CASE(concat)
CASE(split)
CASE(slice)
CASE(depth_to_space)
CASE(space_to_depth)
CASE(gather)
CASE(resize)
CASE(pad)
CASE(expand)

// Trained weights in front of an operator without a gradient are refused; behind it they are not.
static void without_a_gradient(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_arena *arena = dq_context_arena(NULL);
  dq_value *x = shaped(graph, "x", 1, (int64_t[]){3}), *w = shaped(graph, "w", 1, (int64_t[]){3}), *found[1];
  dq_tensor *tensors;
  dq_error error = {0};
  dq_value *cosine = add(graph, "Cos", 1, &x, "cosine")->outputs[0];
  dq_value *product = add(graph, "Mul", 2, (dq_value *[]){cosine, w}, "product")->outputs[0];
  dq_node *sum = add(graph, "ReduceSum", 1, &product, "sum");
  dq_node_set_int(graph, sum, "keepdims", 0);
  graph->inputs = (dq_value *[]){x, w};
  graph->input_count = 2;
  x->is_input = w->is_input = true;
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, arena, &tensors, &error), DQ_OK);
  dq_derivatives derivatives = {.loss = sum->outputs[0], .by = &x, .count = 1, .gradients = found};
  assert_int_equal(dq_backward(graph, tensors, &derivatives, &context, &error), DQ_UNSUPPORTED);
  assert_string_equal(error.message, "node 'cosine': operator Cos has no gradient");
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK); // the attempt has added nodes
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, arena, &tensors, &error), DQ_OK);
  derivatives.by = &w;
  assert_int_equal(dq_backward(graph, tensors, &derivatives, &context, &error), DQ_OK);
  assert_non_null(found[0]);
  dq_arena_free(arena);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(Relu_gradient),
      cmocka_unit_test(Sigmoid_gradient),
      cmocka_unit_test(Tanh_gradient),
      cmocka_unit_test(HardSwish_gradient),
      cmocka_unit_test(Softplus_gradient),
      cmocka_unit_test(Abs_gradient),
      cmocka_unit_test(Neg_gradient),
      cmocka_unit_test(Identity_gradient),
      cmocka_unit_test(leaky_gradient),
      cmocka_unit_test(hard_sigmoid_gradient),
      cmocka_unit_test(clip_gradient),
      cmocka_unit_test(prelu_gradient),
      cmocka_unit_test(add_gradient),
      cmocka_unit_test(sub_gradient),
      cmocka_unit_test(mul_gradient),
      cmocka_unit_test(div_gradient),
      cmocka_unit_test(silu_gradient),
      cmocka_unit_test(conv_gradient),
      cmocka_unit_test(conv_1_gradient),
      cmocka_unit_test(conv_3_gradient),
      cmocka_unit_test(depthwise_gradient),
      cmocka_unit_test(conv_same_gradient),
      cmocka_unit_test(conv_transpose_gradient),
      cmocka_unit_test(gemm_gradient),
      cmocka_unit_test(matmul_gradient),
      cmocka_unit_test(max_pool_gradient),
      cmocka_unit_test(average_pool_gradient),
      cmocka_unit_test(global_average_gradient),
      cmocka_unit_test(reduce_mean_gradient),
      cmocka_unit_test(reduce_sum_gradient),
      cmocka_unit_test(batch_norm_gradient),
      cmocka_unit_test(batch_norm_train_gradient),
      cmocka_unit_test(softmax_gradient),
      cmocka_unit_test(log_softmax_gradient),
      cmocka_unit_test(reshape_gradient),
      cmocka_unit_test(flatten_gradient),
      cmocka_unit_test(transpose_gradient),
      cmocka_unit_test(concat_gradient),
      cmocka_unit_test(split_gradient),
      cmocka_unit_test(slice_gradient),
      cmocka_unit_test(depth_to_space_gradient),
      cmocka_unit_test(space_to_depth_gradient),
      cmocka_unit_test(gather_gradient),
      cmocka_unit_test(resize_gradient),
      cmocka_unit_test(pad_gradient),
      cmocka_unit_test(expand_gradient),
      cmocka_unit_test(without_a_gradient),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
