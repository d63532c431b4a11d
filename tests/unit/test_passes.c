// Passes: what they fold and fuse computes what the nodes compute, and what they cannot fold stays.
#include <math.h>

#include "lib/base/random.h"
#include "tests/unit/plan_harness.h"

// Conv of weight 2 and bias 1, normalized with mean 3, variance 4 less epsilon, scale 6, offset 5:
// y = 6 (2 x + 1 - 3) / 2 + 5 = 6 x - 1.
static void batch_norm_by_hand(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
  const int64_t one[] = {1, 1, 1, 1};
  add(graph, "Conv", 3,
      (dq_value *[]){x, constant(graph, "w", 4, one, (float[]){2}), constant(graph, "b", 1, one, (float[]){1})}, "c");
  dq_node *norm =
      add(graph, "BatchNormalization", 5,
          (dq_value *[]){dq_graph_find(graph, "c"), constant(graph, "scale", 1, one, (float[]){6}),
                         constant(graph, "offset", 1, one, (float[]){5}), constant(graph, "mean", 1, one, (float[]){3}),
                         constant(graph, "variance", 1, one, (float[]){3.5f})},
          "y");
  dq_node_set_float(graph, norm, "epsilon", 0.5f);
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  for (int plain = 0; plain < 2; plain++) {
    dq_session session;
    dq_error error = {0};
    dq_session_options options = {.plain = plain};
    assert_int_equal(dq_session_open(&session, graph, &options, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, plain ? 2 : 1);
    float *input = dq_plan_input(session.plan, 0)->data;
    input[0] = 1, input[1] = -2;
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    const float *output = dq_plan_output(session.plan, 0)->data;
    assert_true(fabsf(output[0] - 5) < 1e-5f && fabsf(output[1] + 13) < 1e-5f);
    dq_session_close(&session);
  }
  assert_int_equal(graph->node_count, 2); // the document is as it was
  dq_graph_free(graph);
}

// y = 3 conv(x) with a bias that the network computes: the factor stays behind the convolution.
static void a_computed_bias_is_not_folded(void **state) {
  (void)state;
  const int64_t one[] = {1, 1, 1, 1};
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
  dq_node *most = add(graph, "ReduceMax", 1, &x, "b");
  dq_node_set_ints(graph, most, "axes", (int64_t[]){1, 2, 3}, 3);
  dq_node_set_int(graph, most, "keepdims", 0);
  add(graph, "Conv", 3, (dq_value *[]){x, constant(graph, "w", 4, one, (float[]){2}), dq_graph_find(graph, "b")}, "c");
  add(graph, "Mul", 2, (dq_value *[]){dq_graph_find(graph, "c"), constant(graph, "f", 1, one, (float[]){3})}, "y");
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
  float *input = dq_plan_input(session.plan, 0)->data;
  input[0] = 1, input[1] = -2;
  assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
  const float *output = dq_plan_output(session.plan, 0)->data;
  assert_true(output[0] == 9 && output[1] == -9); // 3 (2 x + 1)
  dq_session_close(&session);
  dq_graph_free(graph);
}

// y = Relu(SiLU(conv x) + x): nothing but the convolution is left, with the same bits. A tap in between, an
// addend of another shape, or a second reader keep what they need.
static void ends_of_residual_blocks(void **state) {
  (void)state;
  enum { FUSED, TAPPED, BROADCAST, READ_TWICE, CASES };
  const int nodes[] = {1, 5, 4, 4};
  const char *const tap = "c";
  for (int which = 0; which < CASES; which++) {
    const int64_t one[] = {1, 1, 1, 1}, form[] = {1, 1, 3, 5}, column[] = {1, 1, 3, 1};
    const float w[] = {-1.5f};
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, form), *a = x;
    add(graph, "Conv", 2, (dq_value *[]){x, constant(graph, "w", 4, one, w)}, "c");
    add(graph, "Sigmoid", 1, (dq_value *[]){dq_graph_find(graph, "c")}, "s");
    add(graph, "Mul", 2, (dq_value *[]){dq_graph_find(graph, "s"), dq_graph_find(graph, "c")}, "m");
    if (which == BROADCAST) {
      dq_node *most = add(graph, "ReduceMax", 1, &x, "a");
      dq_node_set_ints(graph, most, "axes", (int64_t[]){3}, 1);
      a = shaped(graph, "a", 4, column);
    }
    add(graph, "Add", 2, (dq_value *[]){dq_graph_find(graph, "m"), a}, "p");
    add(graph, "Relu", 1, (dq_value *[]){dq_graph_find(graph, "p")}, which == READ_TWICE ? "r" : "y");
    if (which == READ_TWICE)
      add(graph, "Sub", 2, (dq_value *[]){dq_graph_find(graph, "r"), dq_graph_find(graph, "m")}, "y");
    interface(graph, x, shaped(graph, "y", 4, form));
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session_options options = {.taps = &tap, .tap_count = which == TAPPED}, plain = {.plain = true};
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, &options, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, nodes[which]);
    dq_session_close(&session);
    dq_arena *arena = dq_arena_new(0);
    same_bits(session_run(graph, &options, &context, arena, NULL), session_run(graph, &plain, &context, arena, NULL));
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
}

// Conv of weights 2 and 3 (two channels) and bias 1 and 0, then a Mul, an Add, a Sub or a Div of a constant. By
// channel or one number it is folded; along a row it is not, nor a number divided by the result, nor one that gives
// weights beyond float32.
static void affine_by_hand(void **state) {
  (void)state;
  const struct {
    const char *type;
    bool first; // the constant is the first operand
    int rank;
    int64_t dims[4];
    float c[2];
    int nodes;
    float expected[2]; // of x = 1 in both places: 3 and 3 before
  } cases[] = {{"Mul", false, 4, {1, 2, 1, 1}, {2, -4}, 1, {6, -12}},
               {"Add", true, 3, {2, 1, 1}, {0.5f, -1}, 1, {3.5f, 2}},
               {"Add", false, 0, {0}, {2}, 1, {5, 5}},
               {"Sub", false, 3, {2, 1, 1}, {1, 2}, 1, {2, 1}},
               {"Sub", true, 1, {1}, {10}, 1, {7, 7}},
               {"Div", false, 3, {2, 1, 1}, {4, 2}, 1, {0.75f, 1.5f}},
               {"Div", true, 1, {1}, {6}, 2, {2, 2}},
               {"Add", false, 1, {2}, {1, 1}, 2, {4, 4}},
               {"Mul", false, 1, {1}, {2e38f}, 2, {INFINITY, INFINITY}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
    const int64_t weight[] = {2, 1, 1, 1};
    add(graph, "Conv", 3,
        (dq_value *[]){x, constant(graph, "w", 4, weight, (float[]){2, 3}),
                       constant(graph, "b", 1, weight, (float[]){1, 0})},
        "c");
    dq_value *result = dq_graph_find(graph, "c"), *k = constant(graph, "k", cases[i].rank, cases[i].dims, cases[i].c);
    add(graph, cases[i].type, 2, cases[i].first ? (dq_value *[]){k, result} : (dq_value *[]){result, k}, "y");
    interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 2, 1, 2}));
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, cases[i].nodes);
    float *input = dq_plan_input(session.plan, 0)->data;
    input[0] = input[1] = 1;
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    const float *output = dq_plan_output(session.plan, 0)->data;
    for (int o = 0; o < 2; o++)
      assert_true(output[2 * o] == cases[i].expected[o] && output[2 * o + 1] == cases[i].expected[o]);
    dq_session_close(&session);
    dq_graph_free(graph);
  }
}

// ConvTranspose of two groups of two channels: weight 1, 2, 3, 4 by output channel, times 1, 10, 100, 1000.
static void affine_behind_groups(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 2, 1, 1});
  const int64_t weight[] = {2, 2, 1, 1}, factors[] = {4, 1, 1};
  dq_node *node =
      add(graph, "ConvTranspose", 2, (dq_value *[]){x, constant(graph, "w", 4, weight, (float[]){1, 2, 3, 4})}, "c");
  dq_node_set_int(graph, node, "group", 2);
  add(graph, "Mul", 2,
      (dq_value *[]){dq_graph_find(graph, "c"), constant(graph, "k", 3, factors, (float[]){1, 10, 100, 1000})}, "y");
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 4, 1, 1}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
  assert_int_equal(session.copy->node_count, 1);
  float *input = dq_plan_input(session.plan, 0)->data;
  input[0] = 1, input[1] = 2;
  assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
  const float expected[] = {1, 20, 600, 8000}, *output = dq_plan_output(session.plan, 0)->data;
  for (int o = 0; o < 4; o++) assert_true(output[o] == expected[o]);
  dq_session_close(&session);
  dq_graph_free(graph);
}

static dq_value *half_constant(dq_graph *graph, const char *name, int rank, float x) {
  const int64_t one[] = {1, 1, 1, 1};
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F16, rank, one);
  dq_tensor_set(tensor, 0, (double)x);
  return dq_graph_add_constant(graph, name, tensor);
}

// The same in float16: y = scale (weight x + 1 - 3) / 2 + 5 becomes a weight of weight scale / 2: 6 and
// 2^-13 are folded; 2^-15 is below the normal numbers and 180000 beyond the largest, so they are not.
static void batch_norm_in_half(void **state) {
  (void)state;
  const struct {
    float weight, scale;
    int nodes;
    float expected; // of x = 1
  } cases[] = {{2, 6, 1, 5}, {2, 0x1p-13f, 1, 5}, {0x1p-10f, 0x1p-4f, 2, 4.9375f}, {60000, 6, 2, INFINITY}};
  for (int i = 0; i < 4; i++) {
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
    x->type = DQ_F16;
    add(graph, "Conv", 3,
        (dq_value *[]){x, half_constant(graph, "w", 4, cases[i].weight), half_constant(graph, "b", 1, 1)}, "c");
    dq_node *norm = add(graph, "BatchNormalization", 5,
                        (dq_value *[]){dq_graph_find(graph, "c"), half_constant(graph, "scale", 1, cases[i].scale),
                                       half_constant(graph, "offset", 1, 5), half_constant(graph, "mean", 1, 3),
                                       half_constant(graph, "variance", 1, 3.5f)},
                        "y");
    dq_node_set_float(graph, norm, "epsilon", 0.5f);
    interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
    dq_graph_find(graph, "y")->type = DQ_F16;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_session session;
    dq_error error = {0};
    assert_int_equal(dq_session_open(&session, graph, NULL, &context, &error), DQ_OK);
    assert_int_equal(session.copy->node_count, cases[i].nodes);
    uint16_t *input = dq_plan_input(session.plan, 0)->data;
    input[0] = input[1] = 0x3c00; // 1
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
    double found = dq_tensor_get(dq_plan_output(session.plan, 0), 0);
    assert_true(found == (double)cases[i].expected || fabs(found - (double)cases[i].expected) < 0.01);
    dq_session_close(&session);
    dq_graph_free(graph);
  }
}

// A batch normalization whose variance cannot be is not folded silently into NaN weights.
static void batch_norm_of_negative_variance(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 1, 1, 2});
  const int64_t one[] = {1, 1, 1, 1};
  add(graph, "Conv", 2, (dq_value *[]){x, constant(graph, "w", 4, one, (float[]){2})}, "c");
  dq_value *p = constant(graph, "p", 1, one, (float[]){1}), *v = constant(graph, "v", 1, one, (float[]){-1});
  add(graph, "BatchNormalization", 5, (dq_value *[]){dq_graph_find(graph, "c"), p, p, p, v}, "y");
  interface(graph, x, shaped(graph, "y", 4, (int64_t[]){1, 1, 1, 2}));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_session session;
  dq_error error = {0};
  dq_status status = dq_session_open(&session, graph, NULL, &context, &error);
  if (status == DQ_OK) { // run as it stands
    assert_int_equal(session.copy->node_count, 2);
    dq_session_close(&session);
  } else {
    assert_int_equal(status, DQ_BAD_INPUT);
  }
  dq_graph_free(graph);
}

static dq_value *byte_scalar(dq_graph *graph, const char *name, int type, int number) {
  return dq_graph_add_constant(graph, name, dq_tensor_scalar_i8(graph->arena, type, number));
}

// Dequantize, Conv, Quantize as one integer step is within one step of the three in float.
static void integer_convolution(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    dq_random random = {seed};
    dq_graph *graph = new_graph();
    dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 5, 7, 9});
    dq_tensor *w = dq_tensor_new(graph->arena, DQ_I8, 4, (int64_t[]){6, 5, 3, 3});
    for (int64_t i = 0; i < dq_tensor_count(w); i++) dq_tensor_set(w, i, (double)dq_random_below(&random, 255) - 127);
    dq_value *sx = constant(graph, "sx", 0, NULL, (float[]){0.03f}),
             *sw = constant(graph, "sw", 0, NULL, (float[]){0.002f});
    dq_value *sy = constant(graph, "sy", 0, NULL, (float[]){0.05f}), *zx = byte_scalar(graph, "zx", DQ_U8, 120);
    dq_value *zw = byte_scalar(graph, "zw", DQ_I8, 0), *zy = byte_scalar(graph, "zy", DQ_U8, 128);
    add(graph, "QuantizeLinear", 3, (dq_value *[]){x, sx, zx}, "xq");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "xq"), sx, zx}, "xd");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_add_constant(graph, "w", w), sw, zw}, "wd");
    dq_node *conv = add(graph, "Conv", 2, (dq_value *[]){dq_graph_find(graph, "xd"), dq_graph_find(graph, "wd")}, "c");
    dq_node_set_ints(graph, conv, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    dq_node_set_ints(graph, conv, "strides", (int64_t[]){1 + (int64_t)seed % 2, 1}, 2);
    add(graph, "QuantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "c"), sy, zy}, "cq");
    add(graph, "DequantizeLinear", 3, (dq_value *[]){dq_graph_find(graph, "cq"), sy, zy}, "y");
    interface(graph, x, dq_graph_find(graph, "y"));
    dq_graph_find(graph, "y")->type = DQ_F32, dq_graph_find(graph, "y")->rank = -1;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_arena *arena = dq_arena_new(0);
    dq_session_options plain = {.plain = true};
    dq_tensor *fused = session_run(graph, NULL, &context, arena, NULL);
    dq_tensor *unfused = session_run(graph, &plain, &context, arena, NULL);
    int different = 0;
    for (int64_t i = 0; i < dq_tensor_count(fused); i++) {
      double gap = fabs(dq_tensor_get(fused, i) - dq_tensor_get(unfused, i));
      assert_true(gap < 0.05 * 1.01);
      different += gap > 0.001;
    }
    assert_true(different <= 2);
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batch_norm_by_hand),
      cmocka_unit_test(a_computed_bias_is_not_folded),
      cmocka_unit_test(ends_of_residual_blocks),
      cmocka_unit_test(affine_by_hand),
      cmocka_unit_test(affine_behind_groups),
      cmocka_unit_test(batch_norm_in_half),
      cmocka_unit_test(batch_norm_of_negative_variance),
      cmocka_unit_test(integer_convolution),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
