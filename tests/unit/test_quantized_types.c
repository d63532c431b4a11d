// Types of quantized numbers where a file leaves zero points out: QuantizeLinear without one makes uint8, or what
// output_dtype says; DequantizeLinear takes the type of its input. Every integer form gives the bits of the operators
// one by one, and leaves no conversion over. Scales are powers of two, so that sums are exact in float too.
#include <math.h>

#include "calib/chosen.h"
#include "lib/audit/audit.h"
#include "lib/ops/integer/stored_type.h"
#include "tests/unit/quantized_network.h"

enum { TYPES = 3 };
static const int types[TYPES] = {0, DQ_U8, DQ_I8}; // 0: without output_dtype, uint8

static dq_value *power(network *n, int exponent) { return number(n, ldexpf(1, exponent)); }

static dq_value *input_of(network *n, int type, int rank, const int64_t *dims) {
  dq_value *x = input_with(n, parameters(n, ldexpf(1, -5), type ? type : DQ_U8, 0), rank, dims);
  last_node(n)->input_count = 2;
  return x;
}
static dq_value *picture_of(network *n, int type) { return input_of(n, type, 4, (int64_t[]){2, 6, 7, 9}); }

static dq_value *quantize_to(network *n, dq_value *value, dq_value *scale, int type) {
  dq_value *q = NODE(n, "QuantizeLinear", value, scale);
  if (type) SET_INT("output_dtype", type);
  return q;
}
static dq_value *pair_of(network *n, dq_value *value, int type) {
  dq_value *scale = power(n, -4);
  return NODE(n, "DequantizeLinear", quantize_to(n, value, scale, type), scale);
}
static void end(network *n, dq_value *value, int type) { output(n, quantize_to(n, value, power(n, -3), type)); }

// Constant numbers with a scale for each index of `axis`.
static dq_value *constant_of(network *n, int type, int rank, const int64_t *dims, int axis) {
  dq_tensor *w = dq_tensor_new(n->graph->arena, type, rank, dims);
  dq_tensor *scales = dq_tensor_new(n->graph->arena, DQ_F32, 1, &dims[axis]);
  for (int64_t i = 0; i < dq_tensor_count(w); i++) ((uint8_t *)w->data)[i] = (uint8_t)dq_random_next(&n->random);
  for (int64_t c = 0; c < dims[axis]; c++) ((float *)scales->data)[c] = ldexpf(1, -7 - (int)(c % 3));
  dq_value *value = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "w", w),
                         dq_graph_add_constant(n->graph, "scales", scales));
  SET_INT("axis", axis);
  return value;
}

static void functions(network *n) {
  for (int i = 0; i < TYPES; i++)
    for (int k = 0; k < TYPES; k++) end(n, NODE(n, "LeakyRelu", picture_of(n, types[i])), types[k]);
}
static void functions_with_constants(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *c = constant_of(n, types[i] ? types[i] : DQ_U8, 4, (int64_t[]){1, 6, 1, 1}, 1);
    end(n, NODE(n, "Mul", picture_of(n, types[2 - i]), c), types[i]);
  }
}
static void pairs(network *n) {
  static const char *const names[] = {"Add", "Sub", "Mul"};
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = picture_of(n, types[i]), *y = picture_of(n, types[(i + 1) % TYPES]);
    end(n, NODE(n, names[i], pair_of(n, NODE(n, "Tanh", x), types[2 - i]), y), types[i]);
  }
}
static void joints(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = picture_of(n, types[i]), *y = picture_of(n, types[i]);
    end(n, NODE(n, "Concat", x, pair_of(n, NODE(n, "Neg", y), types[2 - i])), types[i]);
    dq_node_set_int(n->graph, n->graph->nodes[n->graph->node_count - 2], "axis", 1);
  }
}
static void moves(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = NODE(n, "Transpose", picture_of(n, types[i]));
    SET("perm", 0, 1, 3, 2);
    x = NODE(n, "MaxPool", pair_of(n, x, types[2 - i]));
    SET("kernel_shape", 2, 2);
    end(n, NODE(n, "Abs", NODE(n, "Flatten", x)), types[i]);
  }
}
static void convolutions(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *w = constant_of(n, i ? DQ_I8 : DQ_U8, 4, (int64_t[]){5, 6, 3, 3}, 0);
    end(n, NODE(n, "Relu", NODE(n, "Conv", picture_of(n, types[i]), w)), types[2 - i]);
  }
}
static void transposed_convolutions(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *w = constant_of(n, DQ_I8, 4, (int64_t[]){6, 4, 2, 2}, 1);
    dq_value *y = NODE(n, "ConvTranspose", picture_of(n, types[i]), w);
    SET("strides", 2, 2);
    end(n, y, types[2 - i]);
  }
}
static void matrices(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = input_of(n, types[i], 2, (int64_t[]){3, 20});
    end(n, NODE(n, "Gemm", x, constant_of(n, DQ_I8, 2, (int64_t[]){20, 7}, 1)), types[2 - i]);
    end(n, NODE(n, "MatMul", x, constant_of(n, DQ_U8, 2, (int64_t[]){20, 7}, 1)), types[i]);
    end(n, NODE(n, "MatMul", x, input_of(n, types[2 - i], 2, (int64_t[]){20, 4})), types[i]);
  }
}
static void products_to_float(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = input_of(n, types[i], 2, (int64_t[]){3, 20});
    output(n, NODE(n, "MatMul", x, constant_of(n, DQ_I8, 2, (int64_t[]){20, 7}, 1)));
  }
}
static void averages(network *n) {
  for (int i = 0; i < TYPES; i++) {
    dq_value *x = NODE(n, "AveragePool", picture_of(n, types[i]));
    SET("kernel_shape", 2, 2);
    end(n, NODE(n, "GlobalAveragePool", pair_of(n, x, types[2 - i])), types[i]);
  }
}

static void forms(void **state) {
  (void)state;
  EXACT(functions);
  EXACT(functions_with_constants);
  EXACT(pairs);
  EXACT(joints);
  EXACT(moves);
  EXACT(convolutions);
  EXACT(transposed_convolutions);
  EXACT(matrices);
  EXACT(products_to_float);
  EXACT(averages);
}

// 3 * 0.25 as uint8 and int8: 200 less 256 is -56.
static void by_hand(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    network n = open_network(1);
    const int type = i ? DQ_I8 : DQ_U8;
    dq_value *scale = power(&n, -2);
    dq_value *x = input_with(&n, parameters(&n, 0.25f, type, 0), 1, (int64_t[]){1});
    last_node(&n)->input_count = 2;
    output(&n, NODE(&n, "DequantizeLinear", quantize_to(&n, NODE(&n, "Neg", x), scale, DQ_I8), scale));
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_session session;
    assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[0], NULL), DQ_OK);
    *(uint8_t *)dq_plan_input(session.plan, 0)->data = 200;
    assert_int_equal(dq_plan_run(session.plan, NULL), DQ_OK);
    const float expected = i ? 14.0f : -32.0f; // -(-56) / 4; -200 / 4 ends at -128 / 4
    assert_true(*(const float *)dq_plan_output(session.plan, 0)->data == expected);
    dq_session_close(&session);
    dq_graph_free(n.graph);
  }
}

// What the graph tells of values, and what it does not.
static void told(void **state) {
  (void)state;
  network n = open_network(1);
  network *const p = &n;
  dq_value *x = picture_of(p, DQ_I8), *raw = last_node(p)->inputs[0];
  dq_value *scale = power(p, 0), *ranged = fresh(p, "ranged"), *step = fresh(p, "step"), *zero = fresh(p, "zero");
  dq_graph_add_node(n.graph, n.graph->node_count, "DynamicQuantizeLinear", "dynamic", 1, &x, 3,
                    (dq_value *[]){ranged, step, zero});
  dq_value *by_zero = NODE(p, "QuantizeLinear", x, scale, zero), *moved = NODE(p, "Reshape", raw, ints(p, INTS(-1)));
  dq_value *odd = quantize_to(p, x, scale, 9999), *cut = NODE(p, "Clip", raw), *joined = NODE(p, "Concat", raw, raw);
  dq_value *halves = NODE(p, "Split", raw), *cast = NODE(p, "Cast", x);
  dq_node_set_int(n.graph, last_node(p), "to", DQ_U16);
  assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
  assert_int_equal(dq_stored_type(raw), DQ_I8);
  assert_int_equal(dq_stored_type(moved), DQ_I8);
  assert_int_equal(dq_stored_type(joined), DQ_I8);
  assert_int_equal(dq_stored_type(halves), DQ_I8);
  assert_int_equal(dq_stored_type(ranged), DQ_U8);
  assert_int_equal(dq_stored_type(step), DQ_F32);
  assert_int_equal(dq_stored_type(by_zero), DQ_U8);
  assert_int_equal(dq_stored_type(cast), DQ_U16);
  assert_int_equal(dq_stored_type(odd), 0);
  assert_int_equal(dq_stored_type(cut), 0);
  assert_int_equal(dq_stored_type(x), 0);
  assert_int_equal(dq_stored_type(NULL), 0);
  dq_graph_free(n.graph);
}

// The audit and the stored ranges know the same types.
static void read_by_others(void **state) {
  (void)state;
  for (int i = 0; i < TYPES; i++) {
    network n = open_network(1);
    network *const p = &n;
    dq_value *x = input_of(p, types[i], 2, (int64_t[]){3, 20});
    end(p, NODE(p, "MatMul", x, constant_of(p, DQ_I8, 2, (int64_t[]){20, 7}, 1)), types[2 - i]);
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_audit_report report;
    dq_chosen chosen;
    assert_int_equal(dq_audit_model(&report, n.graph, NULL, NULL, &contexts[0], n.graph->arena, NULL), DQ_OK);
    assert_int_equal(report.audited, 1);
    const int least = types[i] == DQ_I8 ? -128 : 0, most = types[i] == DQ_I8 ? 127 : 255;
    int64_t low = 0, high = 0; // of the sums of the first column
    const int8_t *w = dq_graph_find(n.graph, "w")->constant->data;
    for (int k = 0; k < 20; k++) low += w[7 * k] * (w[7 * k] > 0 ? least : most);
    for (int k = 0; k < 20; k++) high += w[7 * k] * (w[7 * k] > 0 ? most : least);
    assert_true(report.layers[0].proofs[0].lowest <= 0 && report.layers[0].proofs[0].highest >= 0);
    assert_int_equal(report.layers[0].proofs[0].lowest, low);
    assert_int_equal(report.layers[0].proofs[0].highest, high);
    assert_int_equal(dq_chosen_of(&chosen, n.graph, n.graph->arena, NULL), DQ_OK);
    assert_int_equal(chosen.count, 1);
    assert_true(chosen.ranges[0].low == (types[2 - i] == DQ_I8 ? -16.0f : 0));
    dq_graph_free(n.graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(by_hand), cmocka_unit_test(told),
                                     cmocka_unit_test(read_by_others)};
  return cmocka_run_group_tests(tests, contexts_start, contexts_end);
}
