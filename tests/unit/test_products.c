// The view of products (lib/ops/table/product.h) against layouts by hand: what each operator's inputs are, where each
// weight lies, and which weights have no layout.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/ops/table/operator.h"

enum { MOST_INPUTS = 9, NO = DQ_NO_INPUT };

// A node with as many inputs, of which those that are given a shape are constant.
typedef struct fixture {
  dq_graph *graph;
  dq_node *node;
} fixture;

static fixture open_node(const char *domain, const char *op_type, int inputs) {
  fixture f = {dq_graph_new(NULL), NULL};
  dq_value *values[MOST_INPUTS], *output = dq_graph_fresh_value(f.graph, "y");
  for (int i = 0; i < inputs; i++) values[i] = dq_graph_fresh_value(f.graph, "x");
  f.node = dq_graph_add_node(f.graph, 0, op_type, "node", inputs, values, 1, &output);
  assert_non_null(f.node);
  f.node->domain = domain;
  return f;
}

static void make_constant(fixture *f, int input, int type, int rank, const int64_t *dims) {
  f->node->inputs[input] = dq_graph_add_constant(f->graph, "w", dq_tensor_new(f->graph->arena, type, rank, dims));
  assert_non_null(f->node->inputs[input]);
}

static void set_int(fixture *f, const char *name, int64_t value) {
  assert_true(dq_node_set_int(f->graph, f->node, name, value));
}

static void expect_operands(const dq_product *p, dq_product_operands expected) {
  assert_int_equal(p->at.data, expected.data);
  assert_int_equal(p->at.weight, expected.weight);
  assert_int_equal(p->at.bias, expected.bias);
  assert_int_equal(p->at.data_scale, expected.data_scale);
  assert_int_equal(p->at.weight_scale, expected.weight_scale);
  assert_int_equal(p->at.result_scale, expected.result_scale);
  assert_int_equal(p->at.data_zero_point, expected.data_zero_point);
  assert_int_equal(p->at.weight_zero_point, expected.weight_zero_point);
  assert_int_equal(p->at.result_zero_point, expected.result_zero_point);
}

// Axes of outputs and inputs; outputs, inputs, taps of one group; steps by group, output, input and tap.
static void expect_layout(const dq_product *p, const int64_t axes[2], const int64_t counts[3], const int64_t steps[4]) {
  assert_int_equal(p->output_axis, axes[0]);
  assert_int_equal(p->input_axis, axes[1]);
  assert_int_equal(p->outputs, counts[0]);
  assert_int_equal(p->inputs, counts[1]);
  assert_int_equal(p->taps, counts[2]);
  assert_int_equal(p->by_group, steps[0]);
  assert_int_equal(p->by_output, steps[1]);
  assert_int_equal(p->by_input, steps[2]);
  assert_int_equal(p->by_tap, steps[3]);
}

#define AXES(...) ((const int64_t[]){__VA_ARGS__})

// 6 outputs in 2 groups of 3, each reading 2 channels through 3 x 5 taps: 6 x 2 x 3 x 5.
static void convolution(void **state) {
  (void)state;
  fixture f = open_node("", "Conv", 3);
  dq_product p;
  set_int(&f, "group", 2);
  make_constant(&f, 1, DQ_F32, 4, (int64_t[]){6, 2, 3, 5});
  assert_true(dq_float_product(f.node, &p));
  assert_int_equal(p.kind, DQ_CONVOLUTION);
  assert_false(p.integer);
  expect_operands(&p, (dq_product_operands){0, 1, 2, NO, NO, NO, NO, NO, NO});
  expect_layout(&p, AXES(0, 1), AXES(3, 2, 15), AXES(90, 30, 15, 1));
  assert_int_equal(dq_product_outputs(&p), 6);
  assert_int_equal(dq_product_inputs(&p), 4);
  assert_int_equal(dq_product_depth(&p), 30);
  assert_int_equal(dq_product_at(&p, 4, 1, 7), 142); // group 1, its output 1: 90 + 30 + 15 + 7
  assert_int_equal(dq_product_channel_axis(&p), 0);
  assert_true(dq_product_is_plain(&p));
  assert_int_equal(p.data_axis, 1);
  assert_int_equal(p.result_axis, 1);
  dq_graph_free(f.graph);
}

// 4 inputs and 6 outputs in 2 groups: 4 x 3 x 2 x 2.
static void transposed_convolution(void **state) {
  (void)state;
  fixture f = open_node("", "ConvTranspose", 2);
  dq_product p;
  set_int(&f, "group", 2);
  make_constant(&f, 1, DQ_F32, 4, (int64_t[]){4, 3, 2, 2});
  assert_true(dq_float_product(f.node, &p));
  assert_int_equal(p.kind, DQ_TRANSPOSED_CONVOLUTION);
  expect_layout(&p, AXES(1, 0), AXES(3, 2, 4), AXES(24, 4, 12, 1));
  assert_int_equal(dq_product_at(&p, 5, 1, 3), 47); // group 1, its output 2: 24 + 8 + 12 + 3
  assert_int_equal(dq_product_channel_axis(&p), -1);
  set_int(&f, "group", 1);
  assert_true(dq_float_product(f.node, &p));
  expect_layout(&p, AXES(1, 0), AXES(3, 4, 4), AXES(48, 4, 12, 1));
  assert_int_equal(dq_product_channel_axis(&p), 1);
  dq_graph_free(f.graph);
}

// 5 inputs and 7 outputs as they are, and transposed; data transposed; factors.
static void gemm(void **state) {
  (void)state;
  fixture f = open_node("", "Gemm", 3);
  dq_product p;
  make_constant(&f, 1, DQ_F32, 2, (int64_t[]){5, 7});
  assert_true(dq_float_product(f.node, &p));
  assert_int_equal(p.kind, DQ_MATRIX_PRODUCT);
  expect_operands(&p, (dq_product_operands){0, 1, 2, NO, NO, NO, NO, NO, NO});
  expect_layout(&p, AXES(1, 0), AXES(7, 5, 1), AXES(35, 1, 7, 1));
  assert_int_equal(p.data_axis, -1);
  assert_true(dq_product_is_plain(&p));
  set_int(&f, "transB", 1);
  assert_true(dq_float_product(f.node, &p));
  expect_layout(&p, AXES(0, 1), AXES(5, 7, 1), AXES(35, 7, 1, 1));
  assert_int_equal(dq_product_channel_axis(&p), 0);
  set_int(&f, "transA", 1);
  assert_true(dq_float_product(f.node, &p));
  assert_int_equal(p.data_axis, -2);
  assert_false(dq_product_is_plain(&p));
  set_int(&f, "transA", 0);
  assert_true(dq_node_set_float(f.graph, f.node, "alpha", 0.5f));
  assert_true(dq_float_product(f.node, &p));
  assert_true(p.alpha == 0.5f && p.beta == 1);
  assert_false(dq_product_is_plain(&p));
  dq_node_remove_attribute(f.node, "alpha");
  assert_true(dq_node_set_float(f.graph, f.node, "beta", 2));
  assert_true(dq_float_product(f.node, &p));
  assert_true(p.alpha == 1 && p.beta == 2);
  assert_false(dq_product_is_plain(&p));
  dq_graph_free(f.graph);
}

// Gemm with the constant in front: W X, outputs along the rows of W; transA transposes the weight then.
static void gemm_of_a_constant_and_data(void **state) {
  (void)state;
  fixture f = open_node("", "Gemm", 2);
  dq_product p;
  make_constant(&f, 0, DQ_F32, 2, (int64_t[]){5, 7});
  assert_true(dq_product_read(f.node, &p));
  assert_int_equal(p.at.weight, 0);
  assert_int_equal(p.at.data, 1);
  expect_layout(&p, AXES(0, 1), AXES(5, 7, 1), AXES(35, 7, 1, 1));
  assert_int_equal(p.data_axis, -2);
  assert_int_equal(p.result_axis, -2);
  assert_false(dq_product_is_plain(&p));
  assert_false(dq_float_product(f.node, &p));
  set_int(&f, "transA", 1);
  set_int(&f, "transB", 1);
  assert_true(dq_product_read(f.node, &p));
  expect_layout(&p, AXES(1, 0), AXES(7, 5, 1), AXES(35, 1, 7, 1));
  assert_int_equal(p.data_axis, -1);
  assert_false(dq_product_is_plain(&p));
  dq_graph_free(f.graph);
}

// A constant on either side, on both and on neither; a stack of 3 matrices.
static void matmul(void **state) {
  (void)state;
  fixture f = open_node("", "MatMul", 2);
  dq_product p;
  assert_true(dq_product_of(f.node, &p));
  assert_int_equal(p.at.weight, 1);
  assert_false(dq_product_read(f.node, &p));
  make_constant(&f, 0, DQ_F32, 2, (int64_t[]){4, 5});
  assert_true(dq_product_read(f.node, &p));
  expect_operands(&p, (dq_product_operands){1, 0, NO, NO, NO, NO, NO, NO, NO});
  expect_layout(&p, AXES(0, 1), AXES(4, 5, 1), AXES(20, 5, 1, 1));
  assert_int_equal(p.data_axis, -2);
  assert_int_equal(p.result_axis, -2);
  assert_false(dq_float_product(f.node, &p));
  make_constant(&f, 1, DQ_F32, 2, (int64_t[]){5, 7});
  assert_true(dq_float_product(f.node, &p));
  expect_operands(&p, (dq_product_operands){0, 1, NO, NO, NO, NO, NO, NO, NO});
  expect_layout(&p, AXES(1, 0), AXES(7, 5, 1), AXES(35, 1, 7, 1));
  assert_false(p.stacked);
  assert_int_equal(dq_product_channel_axis(&p), 1);
  make_constant(&f, 1, DQ_F32, 3, (int64_t[]){3, 5, 7});
  assert_true(dq_float_product(f.node, &p));
  expect_layout(&p, AXES(2, 1), AXES(7, 5, 1), AXES(35, 1, 7, 1));
  assert_true(p.stacked);
  assert_int_equal(p.matrices, 3);
  assert_int_equal(p.by_matrix, 35);
  assert_int_equal(dq_product_channel_axis(&p), -1);
  dq_graph_free(f.graph);
}

typedef struct integer_case {
  const char *domain, *op_type;
  int inputs, rank;
  dq_product_kind kind;
  dq_product_operands at;
} integer_case;

// Positions as the operators' definitions have them.
static void integer_forms(void **state) {
  (void)state;
  static const integer_case cases[] = {
      {"", "ConvInteger", 4, 4, DQ_CONVOLUTION, {0, 1, NO, NO, NO, NO, 2, 3, NO}},
      {"", "QLinearConv", 9, 4, DQ_CONVOLUTION, {0, 3, 8, 1, 4, 6, 2, 5, 7}},
      {"dq", "QConv", 9, 4, DQ_CONVOLUTION, {0, 3, 8, 1, 4, 6, 2, 5, 7}},
      {"", "MatMulInteger", 4, 2, DQ_MATRIX_PRODUCT, {0, 1, NO, NO, NO, NO, 2, 3, NO}},
      {"", "QLinearMatMul", 8, 2, DQ_MATRIX_PRODUCT, {0, 3, NO, 1, 4, 6, 2, 5, 7}},
      {"dq", "QMatMul", 8, 2, DQ_MATRIX_PRODUCT, {0, 3, NO, 1, 4, 6, 2, 5, 7}},
      {"dq", "QGemm", 9, 2, DQ_MATRIX_PRODUCT, {0, 3, 8, 1, 4, 6, 2, 5, 7}},
      {"com.microsoft", "QGemm", 9, 2, DQ_MATRIX_PRODUCT, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const integer_case *expected = &cases[c];
    fixture f = open_node(expected->domain, expected->op_type, expected->inputs);
    dq_product p;
    make_constant(&f, expected->at.weight, DQ_I8, expected->rank, (int64_t[]){6, 2, 3, 5});
    assert_true(dq_product_read(f.node, &p));
    assert_int_equal(p.kind, expected->kind);
    assert_true(p.integer);
    expect_operands(&p, expected->at);
    if (expected->rank == 4) expect_layout(&p, AXES(0, 1), AXES(6, 2, 15), AXES(180, 30, 15, 1));
    else expect_layout(&p, AXES(1, 0), AXES(2, 6, 1), AXES(12, 1, 2, 1));
    assert_false(dq_float_product(f.node, &p));
    dq_graph_free(f.graph);
  }
}

// The scales of a QLinearMatMul go with the operands.
static void integers_of_a_constant_and_data(void **state) {
  (void)state;
  fixture f = open_node("", "QLinearMatMul", 8);
  dq_product p;
  make_constant(&f, 0, DQ_U8, 2, (int64_t[]){4, 5});
  assert_true(dq_product_read(f.node, &p));
  expect_operands(&p, (dq_product_operands){3, 0, NO, 4, 1, 6, 5, 2, 7});
  expect_layout(&p, AXES(0, 1), AXES(4, 5, 1), AXES(20, 5, 1, 1));
  dq_graph_free(f.graph);
}

static void expect_refused(const char *op_type, int64_t groups, int rank, const int64_t *dims) {
  fixture f = open_node("", op_type, 2);
  dq_product p;
  set_int(&f, "group", groups);
  make_constant(&f, 1, DQ_F32, rank, dims);
  if (dq_product_read(f.node, &p)) fail_msg("%s has a layout", op_type);
  assert_int_equal(p.outputs, 0);
  dq_graph_free(f.graph);
}

static void refusals(void **state) {
  (void)state;
  fixture f = open_node("", "Relu", 1);
  dq_product p;
  assert_false(dq_product_of(f.node, &p));
  dq_graph_free(f.graph);
  f = open_node("com.example", "Conv", 2);
  assert_false(dq_product_of(f.node, &p));
  dq_graph_free(f.graph);
  expect_refused("Conv", 1, 2, AXES(6, 2));
  expect_refused("Conv", 4, 4, AXES(6, 2, 3, 3));
  expect_refused("Conv", 0, 4, AXES(6, 2, 3, 3));
  expect_refused("Conv", 1, 4, AXES(6, 0, 3, 3));
  expect_refused("ConvTranspose", 4, 4, AXES(6, 4, 3, 3));
  expect_refused("Gemm", 1, 3, AXES(2, 3, 4));
  expect_refused("MatMul", 1, 1, AXES(6));
  expect_refused("MatMul", 1, 2, AXES(6, 0));
  f = open_node("", "Conv", 2);
  make_constant(&f, 1, DQ_F16, 3, AXES(6, 2, 3));
  assert_true(dq_product_read(f.node, &p));
  assert_false(dq_float_product(f.node, &p));
  dq_graph_free(f.graph);
}

// Who adds an operator that is quantized as a product has to say what it multiplies.
static void every_quantized_product_has_a_view(void **state) {
  (void)state;
  int rows = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (row->quantization != DQ_QUANTIZE_COMPUTE && row->bound != DQ_BOUND_PRODUCT) continue;
    if (!row->product) fail_msg("%s does not say what it multiplies", row->name);
    rows++;
  }
  assert_true(rows >= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolution),
      cmocka_unit_test(transposed_convolution),
      cmocka_unit_test(gemm),
      cmocka_unit_test(gemm_of_a_constant_and_data),
      cmocka_unit_test(matmul),
      cmocka_unit_test(integer_forms),
      cmocka_unit_test(integers_of_a_constant_and_data),
      cmocka_unit_test(refusals),
      cmocka_unit_test(every_quantized_product_has_a_view),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
