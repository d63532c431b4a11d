// Where dq-int8 puts its conversions: what shares a scale, what is rounded once, what stays in float.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/session/session.h"
#include "quant/int8/int8.h"
#include "quant/rewrite/pad_pools.h"

static dq_context context;
static const char *excluded[4]; // nodes that stay in float
static int excluded_count;
static dq_graph *graph;
static dq_random numbers;

static dq_value *floats(int rank, const int64_t *dims) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = 0.1f + dq_random_float(&numbers);
  return dq_graph_add_constant(graph, "constant", tensor);
}
#define FLOATS(...) floats((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static dq_value *ints(int64_t count, const int64_t *values) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_I64, 1, &count);
  memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(graph, "ints", tensor);
}
#define INTS(...) ints((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static dq_value *node_of(const char *op_type, const char *to, int count, dq_value **inputs) {
  dq_value *output = dq_graph_add_value(graph, to);
  assert_non_null(dq_graph_add_node(graph, graph->node_count, op_type, to, count, inputs, 1, &output));
  return output;
}
#define NODE(op_type, to, ...)                                                                                         \
  node_of(op_type, to, (int)(sizeof((dq_value *[]){__VA_ARGS__}) / sizeof(dq_value *)), (dq_value *[]){__VA_ARGS__})
static dq_value *set(dq_value *value, const char *name, int64_t to) {
  dq_node_set_int(graph, graph->nodes[graph->node_count - 1], name, to);
  return value;
}

static dq_value *open_graph(void) {
  static const dq_dimension dims[] = {{1, NULL}, {3, NULL}, {32, NULL}, {32, NULL}};
  graph = dq_graph_new(0);
  graph->ir_version = 8;
  numbers = (dq_random){3};
  assert_int_equal(dq_graph_set_opset(graph, "", 14, NULL), DQ_OK);
  dq_value *x = dq_graph_add_value(graph, "x");
  x->type = DQ_F32, x->rank = 4, x->dims = dims, x->is_input = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  graph->input_count = 1;
  return x;
}

// Whether the node is what keeps ONNX Runtime from rounding the weights in front of it, or tract from taking a Softmax
// for a function of single elements.
static bool stops_search(const dq_node *node) {
  return (dq_node_is(node, "LeakyRelu") && dq_node_float(node, "alpha", 0) == 1) || dq_node_is(node, "PRelu");
}

static void quantize(dq_value *output) {
  dq_error error = {0};
  dq_data *data;
  dq_int8_report report;
  graph->outputs = dq_arena_copy(graph->arena, &output, sizeof output);
  graph->output_count = 1;
  output->is_output = true;
  output->type = DQ_F32;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_data_options from = {.spec = "synth:shapes,split=calib,count=2"};
  if (dq_data_open(&data, &from, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_int8_options options = {.method = dq_observer_find("minmax"),
                             .equalize = DQ_CHOOSE_OFF,
                             .bias_correction = DQ_CHOOSE_OFF,
                             .exclude = excluded,
                             .exclude_count = excluded_count,
                             .activation_type = DQ_U8};
  if (dq_int8_apply(graph, data, &options, &report, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_data_free(data);
  dq_session session; // what was written runs
  if (dq_session_open(&session, graph, NULL, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  if (dq_plan_run(session.plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *last = dq_plan_output(session.plan, 0);
  for (int64_t i = 0; i < dq_tensor_count(last); i++) assert_true(isfinite(dq_tensor_get(last, i)));
  dq_session_close(&session);
}

static const dq_node *producer(const char *value) {
  const dq_value *found = dq_graph_find(graph, value);
  assert_non_null(found);
  return found->producer;
}
// The QuantizeLinear that reads a value; NULL: none does.
static const dq_node *quantizer(const char *value) {
  const dq_value *found = dq_graph_find(graph, value);
  for (int u = 0; u < found->user_count; u++)
    if (dq_node_is(found->users[u], "QuantizeLinear")) return found->users[u];
  return NULL;
}
static const dq_node *named(const char *name) {
  for (int n = 0; n < graph->node_count; n++)
    if (!strcmp(graph->nodes[n]->name, name)) return graph->nodes[n];
  fail_msg("no node %s", name);
  return NULL;
}

// Parts that only the Concat reads take its scale, through a Concat and a Relu behind it too; a part
// with another reader keeps its own.
static void parts_of_a_concatenation(void **state) {
  (void)state;
  dq_value *x = open_graph();
  dq_value *a = NODE("Conv", "a", x, FLOATS(4, 3, 1, 1)), *b = NODE("Conv", "b", x, FLOATS(4, 3, 1, 1));
  dq_value *c = NODE("Conv", "c", x, FLOATS(4, 3, 1, 1));
  dq_value *inner = set(NODE("Concat", "inner", a, b), "axis", 1);
  dq_value *outer = set(NODE("Concat", "outer", inner, c), "axis", 1);
  dq_value *sum = NODE("Add", "sum", NODE("Relu", "relu", outer), set(NODE("Concat", "twice", c, c, c), "axis", 1));
  quantize(NODE("Conv", "y", NODE("GlobalAveragePool", "pooled", sum), FLOATS(2, 12, 1, 1)));
  assert_ptr_equal(quantizer("a")->inputs[1], quantizer("relu")->inputs[1]);
  assert_ptr_equal(quantizer("b")->inputs[1], quantizer("relu")->inputs[1]);
  assert_ptr_equal(quantizer("inner")->inputs[1], quantizer("relu")->inputs[1]);
  assert_ptr_not_equal(quantizer("c")->inputs[1], quantizer("relu")->inputs[1]);
  assert_null(quantizer("outer"));
  dq_graph_free(graph);
}

// A weight of five convolutions stands once in the file, as no order of channels parts them, each with a
// DequantizeLinear of its own; one of two stands twice.
static void shared_weights(void **state) {
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  (void)state;
  dq_value *at = open_graph(), *w = FLOATS(4, 4, 1, 1), *v = FLOATS(4, 4, 1, 1);
  at = NODE("Conv", "first", at, FLOATS(4, 3, 1, 1));
  for (int i = 0; i < 5; i++) at = NODE("Conv", names[i], at, w);
  at = NODE("Conv", "f", at, v);
  quantize(NODE("Conv", "y", NODE("Conv", "g", at, v), FLOATS(4, 4, 1, 1)));
  const dq_node *of_a = named("a")->inputs[1]->producer, *of_e = named("e")->inputs[1]->producer;
  const dq_node *of_f = named("f")->inputs[1]->producer, *of_g = named("g")->inputs[1]->producer;
  assert_true(dq_node_is(of_a, "DequantizeLinear") && of_a != of_e);
  for (int i = 0; i < 3; i++) assert_ptr_equal(of_a->inputs[i], of_e->inputs[i]);
  for (int i = 0; i < 3; i++) assert_ptr_not_equal(of_f->inputs[i], of_g->inputs[i]);
  dq_graph_free(graph);
}

static void moved_input(void **state) {
  (void)state;
  dq_value *x = open_graph();
  dq_value *left = NODE("Slice", "left", x, INTS(0), INTS(32), INTS(3), INTS(2));
  dq_value *right = NODE("Slice", "right", x, INTS(1), INTS(32), INTS(3), INTS(2));
  dq_value *all = set(NODE("Concat", "all", left, right), "axis", 1);
  quantize(NODE("Conv", "y", all, FLOATS(2, 6, 1, 1)));
  assert_non_null(quantizer("x"));
  assert_true(dq_node_is(named("left")->inputs[0]->producer, "DequantizeLinear"));
  assert_ptr_equal(quantizer("left")->inputs[1], quantizer("x")->inputs[1]);
  dq_graph_free(graph);
}

static void functions_of_functions(void **state) {
  (void)state;
  dq_value *x = open_graph(), *c = NODE("Conv", "c", x, FLOATS(4, 3, 1, 1));
  dq_value *sum = NODE("Add", "sum", c, NODE("LeakyRelu", "leaky", c));
  dq_value *normal = NODE("BatchNormalization", "normal", sum, FLOATS(4), FLOATS(4), FLOATS(4), FLOATS(4));
  quantize(NODE("Conv", "y", NODE("PRelu", "prelu", normal, FLOATS(4, 1, 1)), FLOATS(2, 4, 1, 1)));
  assert_non_null(quantizer("c")); // in front of LeakyRelu
  assert_non_null(quantizer("leaky"));
  assert_null(quantizer("normal"));
  assert_non_null(quantizer("prelu"));
  dq_graph_free(graph);
}

static void transposed_convolution(void **state) {
  (void)state;
  dq_value *x = open_graph();
  dq_value *y = NODE("ConvTranspose", "t", x, FLOATS(3, 5, 2, 2), FLOATS(5));
  dq_node_set_ints(graph, graph->nodes[graph->node_count - 1], "strides", (int64_t[]){2, 2}, 2);
  quantize(NODE("GlobalAveragePool", "y", y));
  const dq_node *weight = named("t")->inputs[1]->producer, *bias = named("t")->inputs[2]->producer;
  assert_int_equal(dq_node_int(weight, "axis", -1), 1);
  assert_int_equal(dq_tensor_count(weight->inputs[1]->constant), 5);
  assert_int_equal(bias->inputs[0]->constant->type, DQ_I32);
  dq_graph_free(graph);
}

static void matrix_in_front(void **state) {
  (void)state;
  dq_value *x = open_graph();
  quantize(NODE("MatMul", "y", FLOATS(1, 1, 7, 32), x));
  assert_true(dq_node_is(named("y")->inputs[0]->producer, "DequantizeLinear"));
  assert_true(dq_node_is(named("y")->inputs[1]->producer, "DequantizeLinear"));
  assert_true(dq_node_is(producer("y"), "MatMul")); // an output of the network: written in float
  dq_graph_free(graph);
}

// Places made from a shape: they are not computed in 8 bits, but what is added to them is.
static void numbers_from_shapes(void **state) {
  (void)state;
  dq_value *x = open_graph(), *c = NODE("Conv", "c", x, FLOATS(4, 3, 1, 1));
  dq_value *width = NODE("Gather", "width", NODE("Shape", "shape", c), NODE("Squeeze", "last", INTS(3)));
  dq_value *end = set(NODE("Cast", "end", width), "to", 1); // FLOAT
  dq_value *one = FLOATS(1), *step = NODE("Squeeze", "step", one);
  *(float *)one->constant->data = 1;
  dq_value *range = NODE("Range", "range", NODE("Sub", "first", step, step), end, step);
  dq_value *grid = NODE("Add", "grid", range, FLOATS(1));
  dq_value *sum = NODE("Add", "sum", c, NODE("Identity", "places", grid));
  quantize(NODE("Conv", "y", NODE("GlobalAveragePool", "pooled", sum), FLOATS(2, 4, 1, 1)));
  assert_true(dq_node_is(named("grid")->inputs[0]->producer, "Range"));
  assert_true(dq_node_is(named("sum")->inputs[1]->producer, "DequantizeLinear"));
  const dq_node *places = quantizer("places");
  assert_non_null(places);
  float scale = *(const float *)places->inputs[1]->constant->data;
  assert_true(scale > 31.0f / 255 && scale < 33.0f / 255); // 0..31 and a number from 0.1 to 1.1
  dq_graph_free(graph);
}

// Divided by the root of the mean of its squares and an epsilon, for which 8 bits have no number: the dividend alone is
// rounded to 8 bits, and an input of zeros gives no NaN.
static void divisors(void **state) {
  (void)state;
  static const char *const inverses[] = {"Div", "Reciprocal", "Pow"};
  for (int i = 0; i < 3; i++) {
    dq_value *x = open_graph(), *c = NODE("Conv", "c", x, FLOATS(4, 3, 1, 1)), *square = NODE("Mul", "square", c, c);
    dq_value *epsilon = FLOATS(1), *half = FLOATS(1), *root = NULL, *quotient;
    *(float *)epsilon->constant->data = 1e-12f, *(float *)half->constant->data = -0.5f;
    dq_value *sum = NODE("Add", "sum", NODE("ReduceMean", "mean", square), epsilon);
    if (i < 2) root = NODE("Sqrt", "root", sum);
    if (i == 0) quotient = NODE("Div", "quotient", c, root);
    else if (i == 1) quotient = NODE("Mul", "quotient", c, NODE("Reciprocal", "inverse", root));
    else quotient = NODE("Mul", "quotient", c, NODE("Pow", "inverse", sum, half));
    quantize(NODE("Conv", "y", quotient, FLOATS(2, 4, 1, 1)));
    if (quantizer("square") || quantizer("mean") || quantizer("sum") || (root && quantizer("root")))
      fail_msg("%s: what divides is rounded", inverses[i]);
    assert_non_null(quantizer("quotient"));
    dq_graph_free(graph);
  }
}

// A divisor that a convolution makes stays in float, and one that others read too is divided by before it is rounded.
static void divisors_of_products(void **state) {
  (void)state;
  dq_value *x = open_graph(), *c = NODE("Conv", "c", x, FLOATS(4, 3, 1, 1)),
           *d = NODE("Conv", "d", x, FLOATS(4, 3, 1, 1));
  dq_value *e = NODE("Conv", "e", x, FLOATS(4, 3, 1, 1)), *sum = NODE("Add", "sum", NODE("Div", "first", c, d), e);
  quantize(NODE("Conv", "y", NODE("Div", "second", sum, e), FLOATS(2, 4, 1, 1)));
  assert_null(quantizer("d"));
  assert_true(dq_node_is(named("second")->inputs[1]->producer, "Conv"));
  assert_true(dq_node_is(named("sum")->inputs[1]->producer, "DequantizeLinear"));
  dq_graph_free(graph);
}

static int stops(void) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) count += stops_search(graph->nodes[n]);
  return count;
}

// x, a product in 8 bits, `first` and `last`, which stay in float when the test excludes them, each with a Relu behind,
// and products in 8 bits.
static void products_in_a_row(const char *const *names, int count) {
  for (int i = 0; i < count; i++) excluded[i] = names[i];
  excluded_count = count;
  dq_value *x = open_graph(), *a = NODE("Relu", "a", NODE("Conv", "head", x, FLOATS(4, 3, 1, 1)));
  dq_value *first = NODE("Conv", "first", a, FLOATS(4, 4, 1, 1), FLOATS(4));
  dq_value *moved = NODE("MaxPool", "pool", NODE("Relu", "b", NODE("Mul", "factor", first, FLOATS(4, 1, 1))));
  dq_node_set_ints(graph, graph->nodes[graph->node_count - 1], "kernel_shape", (int64_t[]){2, 2}, 2);
  dq_value *flat = NODE("Reshape", "flat", NODE("GlobalAveragePool", "mean", moved), INTS(1, 4));
  dq_value *last = NODE("Add", "last", NODE("MatMul", "product", flat, FLOATS(4, 5)), FLOATS(5));
  dq_value *right = NODE("Conv", "right", moved, FLOATS(4, 4, 1, 1));
  dq_value *sum = NODE("Add", "sum", NODE("Conv", "left", moved, FLOATS(4, 4, 1, 1)), right);
  dq_value *rows = NODE("Reshape", "rows", NODE("GlobalAveragePool", "most", sum), INTS(1, 4));
  dq_value *scores = NODE("Gemm", "scores", NODE("Sigmoid", "b2", last), FLOATS(5, 4));
  quantize(NODE("Add", "y", rows, scores));
  excluded_count = 0;
}

// Products that stay in float between pairs, and only these, are followed by what ends ONNX Runtime's search.
static void float_products(void **state) {
  (void)state;
  products_in_a_row(NULL, 0);
  assert_int_equal(stops(), 0);
  dq_graph_free(graph);
  products_in_a_row((const char *[]){"left", "product"}, 2); // behind them: an Add of values, a Sigmoid
  assert_int_equal(stops(), 0);
  dq_graph_free(graph);
  products_in_a_row((const char *[]){"first", "b"}, 2); // behind the factor that was folded, in front of the Relu
  assert_int_equal(stops(), 1);
  assert_true(stops_search(named("b")->inputs[0]->producer));
  assert_ptr_equal(named("b")->inputs[0]->producer->inputs[0]->producer, named("first"));
  assert_non_null(quantizer("pool"));
  dq_graph_free(graph);
  products_in_a_row((const char *[]){"product", "last", "b2"}, 3);
  assert_int_equal(stops(), 0); // nothing in 8 bits reads the Add
  dq_graph_free(graph);
  products_in_a_row((const char *[]){"product", "last"}, 2); // a MatMul and its Add
  assert_int_equal(stops(), quantizer("last") ? 1 : 0);
  dq_graph_free(graph);
}

// The conversion in front of a Pad has a zero point of its own; the Pad runs on 8 bits all the same.
static void pads_between_pairs(void **state) {
  (void)state;
  dq_value *x = open_graph(), *a = NODE("Relu", "a", NODE("Conv", "first", x, FLOATS(4, 3, 1, 1)));
  dq_value *b = NODE("Pad", "b", NODE("MaxPool", "pool", a), INTS(0, 0, 1, 1, 0, 0, 0, 0));
  dq_node_set_ints(graph, graph->nodes[graph->node_count - 2], "kernel_shape", (int64_t[]){1, 1}, 2);
  dq_value *c = NODE("Pad", "c", a, INTS(0, 0, 0, 0, 0, 0, 1, 1));
  quantize(NODE("Conv", "y", set(NODE("Concat", "all", b, c), "axis", 1), FLOATS(4, 8, 1, 1)));
  const char *const pads[] = {"b", "c"};
  for (int i = 0; i < 2; i++) {
    const dq_node *front = named(pads[i])->inputs[0]->producer;
    assert_int_equal(front->inputs[2]->user_count, 1);
    assert_ptr_equal(front->inputs[1], quantizer("a")->inputs[1]);
    assert_true(dq_tensor_get(front->inputs[2]->constant, 0) == dq_tensor_get(quantizer("a")->inputs[2]->constant, 0));
  }
  dq_session session;
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, NULL), DQ_OK);
  for (int n = 0; n < session.copy->node_count; n++)
    if (dq_node_is(session.copy->nodes[n], "Pad"))
      assert_false(dq_node_is(session.copy->nodes[n]->inputs[0]->producer, "DequantizeLinear"));
  dq_session_close(&session);
  dq_graph_free(graph);
}

// An Identity between pairs goes with the second pair, several in a row too; one at an output stays.
static void identity_between_pairs(void **state) {
  (void)state;
  dq_value *x = open_graph(), *a = NODE("Conv", "a", x, FLOATS(4, 3, 1, 1));
  dq_value *b = NODE("Identity", "b", NODE("Identity", "i", a));
  quantize(NODE("Identity", "y", NODE("Conv", "c", NODE("Add", "sum", b, a), FLOATS(4, 4, 1, 1))));
  assert_null(dq_graph_find(graph, "b")->producer);
  const dq_node *sum = producer("sum");
  assert_ptr_equal(sum->inputs[0], sum->inputs[1]);
  assert_ptr_equal(sum->inputs[0]->producer->inputs[0]->producer, quantizer("a"));
  assert_true(dq_node_is(named("y"), "Identity"));
  dq_graph_free(graph);
}

// A Softmax between pairs, and only such a one, has a PRelu of slope 1 behind it, which a run leaves out.
static void softmax_between_pairs(void **state) {
  (void)state;
  dq_value *x = open_graph(), *a = NODE("Conv", "a", x, FLOATS(4, 3, 1, 1));
  dq_value *weights = set(NODE("Softmax", "weights", a), "axis", 1);
  quantize(set(NODE("Softmax", "y", NODE("Conv", "b", weights, FLOATS(4, 4, 1, 1))), "axis", 1));
  assert_int_equal(stops(), 1);
  assert_ptr_equal(producer("weights")->outputs[0]->users[0], quantizer("weights_PRelu_Output")->inputs[0]->producer);
  assert_true(dq_tensor_get(producer("weights_PRelu_Output")->inputs[1]->constant, 0) == 1);
  dq_session session;
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, NULL), DQ_OK);
  for (int n = 0; n < session.copy->node_count; n++) assert_false(stops_search(session.copy->nodes[n]));
  dq_session_close(&session);
  dq_graph_free(graph);
}

static const dq_tensor *run_pool(dq_session *session) {
  dq_error error = {0};
  if (dq_session_open(session, graph, NULL, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_tensor *x = dq_plan_input(session->plan, 0);
  for (int64_t i = 0; i < dq_tensor_count(x); i++) ((float *)x->data)[i] = (float)(i % 37) - 11;
  assert_int_equal(dq_plan_run(session->plan, &error), DQ_OK);
  return dq_plan_output(session->plan, 0);
}

// Averages that count their padding, with windows that end behind it, are those of a Pad in front.
static void padded_pools(void **state) {
  (void)state;
  dq_value *x = open_graph(), *y = NODE("AveragePool", "y", x);
  dq_node *pool = graph->nodes[0];
  dq_node_set_ints(graph, pool, "kernel_shape", (int64_t[]){3, 3}, 2);
  dq_node_set_ints(graph, pool, "strides", (int64_t[]){3, 2}, 2);
  dq_node_set_ints(graph, pool, "pads", (int64_t[]){1, 2, 0, 1}, 4);
  dq_node_set_int(graph, pool, "count_include_pad", 1);
  dq_node_set_int(graph, pool, "ceil_mode", 1);
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
  graph->output_count = 1, y->is_output = true;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_origin *origin = dq_origin_begin(graph, "test");
  dq_session before, after;
  const dq_tensor *expected = run_pool(&before);
  assert_int_equal(dq_pad_pools(graph, origin, NULL), DQ_OK);
  const dq_tensor *found = run_pool(&after);
  assert_true(dq_node_is(pool->inputs[0]->producer, "Pad"));
  assert_null(dq_node_attribute(pool, "pads"));
  assert_true(dq_tensor_same_shape(expected, found));
  for (int64_t i = 0; i < dq_tensor_count(found); i++)
    assert_true(fabs(dq_tensor_get(found, i) - dq_tensor_get(expected, i)) < 1e-5);
  dq_session_close(&before);
  dq_session_close(&after);
  dq_origin_discard(origin);
  dq_graph_free(graph);
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
      cmocka_unit_test(parts_of_a_concatenation),
      cmocka_unit_test(shared_weights),
      cmocka_unit_test(moved_input),
      cmocka_unit_test(functions_of_functions),
      cmocka_unit_test(transposed_convolution),
      cmocka_unit_test(matrix_in_front),
      cmocka_unit_test(numbers_from_shapes),
      cmocka_unit_test(divisors),
      cmocka_unit_test(divisors_of_products),
      cmocka_unit_test(padded_pools),
      cmocka_unit_test(float_products),
      cmocka_unit_test(pads_between_pairs),
      cmocka_unit_test(identity_between_pairs),
      cmocka_unit_test(softmax_between_pairs),
  };
  return cmocka_run_group_tests(tests, start, end);
}
