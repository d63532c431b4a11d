// What the rows of operators say of themselves, held for every row that says it: homogeneous, uniform by channel,
// range, form on 8 bits, slope, bounds.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "tests/unit/operator_harness.h"

enum { OPSET = 28, CHANNELS = 4, PLANE = 16, COUNT = CHANNELS * PLANE };

// Gives the node inputs that nothing is known of.
static void name_inputs(harness *h, int count) {
  for (int i = 0; i < count; i++) harness_numbers(h, i, DQ_F32, 0, NULL, NULL);
}

// Runs the operator on 1 x 4 x 4 x 4 numbers; further required inputs are one number. Returns the elements of a result
// channel; `result` holds COUNT numbers.
static int run(const dq_operator *row, const double *values, double *result) {
  harness run;
  harness_open(&run, "", row->name, OPSET);
  harness_numbers(&run, 0, DQ_F32, 4, (int64_t[]){1, CHANNELS, 4, 4}, values);
  for (int i = 1; i < row->inputs[0]; i++) harness_numbers(&run, i, DQ_F32, 1, (int64_t[]){1}, (double[]){0.25});
  for (const dq_attribute_rule *rule = row->attributes; rule && rule->name; rule++)
    if (!strcmp(rule->name, "kernel_shape"))
      assert_true(dq_node_set_ints(run.graph, run.node, "kernel_shape", (int64_t[]){2, 2}, 2));
  dq_status status = harness_prepare(&run);
  if (status != DQ_OK) fail_msg("%s: %s", row->name, run.error.message);
  int64_t count = dq_tensor_count(run.outputs[0]);
  assert_true(count % CHANNELS == 0 && count <= COUNT);
  for (int64_t i = 0; i < count; i++) result[i] = dq_tensor_get(run.outputs[0], i);
  harness_close(&run);
  return (int)(count / CHANNELS);
}

static void fill(double *values, double scale) {
  dq_random random = dq_random_start(1, 0);
  for (int i = 0; i < COUNT; i++) values[i] = scale * (double)dq_random_normal(&random);
}

// Channels times 1, 2, 4, 8: powers of two round nothing.
static void homogeneous(void **state) {
  (void)state;
  double values[COUNT], scaled[COUNT], before[COUNT], after[COUNT];
  int rows = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (!(row->flags & DQ_OP_HOMOGENEOUS)) continue;
    fill(values, 1);
    for (int i = 0; i < COUNT; i++) scaled[i] = ldexp(values[i], i / PLANE);
    int size = run(row, values, before);
    assert_int_equal(run(row, scaled, after), size);
    for (int i = 0; i < CHANNELS * size; i++)
      if (after[i] != ldexp(before[i], i / size))
        fail_msg("%s: element %d is %g, not %g", row->name, i, after[i], ldexp(before[i], i / size));
    rows++;
  }
  assert_true(rows >= 8);
}

// Channels in the other order.
static void uniform(void **state) {
  (void)state;
  double values[COUNT], turned[COUNT], before[COUNT], after[COUNT];
  int rows = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (!(row->flags & DQ_OP_UNIFORM)) continue;
    fill(values, 0.3);
    for (int i = 0; i < COUNT; i++) turned[i] = values[(CHANNELS - 1 - i / PLANE) * PLANE + i % PLANE];
    int size = run(row, values, before);
    assert_int_equal(run(row, turned, after), size);
    for (int i = 0; i < CHANNELS * size; i++) {
      double expected = before[(CHANNELS - 1 - i / size) * size + i % size];
      if (after[i] != expected && !(isnan(after[i]) && isnan(expected)))
        fail_msg("%s: element %d is %g, not %g", row->name, i, after[i], expected);
    }
    rows++;
  }
  assert_true(rows >= 40);
}

// Small, usual and large arguments.
static void range(void **state) {
  (void)state;
  double values[COUNT], result[COUNT];
  int rows = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (row->range[0] == 0 && row->range[1] == 0) continue;
    assert_int_equal(row->bound, DQ_BOUND_SQUEEZE);
    for (double scale = 0.01; scale < 1e6; scale *= 10) {
      fill(values, scale);
      int size = run(row, values, result);
      for (int i = 0; i < CHANNELS * size; i++)
        if (!(result[i] >= row->range[0] && result[i] <= row->range[1])) fail_msg("%s gives %g", row->name, result[i]);
    }
    rows++;
  }
  assert_true(rows >= 10);
}

// The form of each operator on 8 bits, from its rule of quantization or its own.
static void integer_forms(void **state) {
  (void)state;
  static const struct {
    const char *domain, *op_type;
    dq_integer_form form;
  } expected[] = {
      {"", "Conv", DQ_FORM_PRODUCT},
      {"", "MatMul", DQ_FORM_PRODUCT},
      {"", "Sigmoid", DQ_FORM_FUNCTION},
      {"", "Relu", DQ_FORM_FUNCTION},
      {"", "Exp", DQ_FORM_FUNCTION},
      {"", "Max", DQ_FORM_FUNCTION},
      {"", "MaxPool", DQ_FORM_MOVE},
      {"", "Identity", DQ_FORM_MOVE},
      {"", "Add", DQ_FORM_PAIR},
      {"", "Sub", DQ_FORM_PAIR},
      {"", "Concat", DQ_FORM_CONCAT},
      {"", "AveragePool", DQ_FORM_AVERAGE},
      {"", "Sin", DQ_FORM_NONE},
      {"", "Sum", DQ_FORM_NONE},
      {"", "Dropout", DQ_FORM_NONE},
      {"", "QLinearConv", DQ_FORM_NONE},
      {"com.example", "Conv", DQ_FORM_NONE},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    dq_node node = {.domain = expected[i].domain, .op_type = expected[i].op_type};
    if (dq_integer_form_of(&node) != expected[i].form) fail_msg("%s has another form", expected[i].op_type);
  }
  assert_int_equal(dq_integer_form_of(NULL), DQ_FORM_NONE);
}

static bool is_step(const char *name) { return dq_operator_find("dq", name) != NULL; }

// Every form that needs an operator of domain dq has one.
static void integer_steps(void **state) {
  (void)state;
  char name[64];
  int products = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    harness run;
    dq_product product;
    harness_open(&run, "", row->name, OPSET);
    name_inputs(&run, 2);
    dq_integer_form form = row->domain ? DQ_FORM_NONE : dq_integer_form_of(run.node);
    snprintf(name, sizeof name, "Q%s", row->name);
    if ((form == DQ_FORM_PAIR || form == DQ_FORM_AVERAGE) && !is_step(name)) fail_msg("%s has no %s", row->name, name);
    if (form == DQ_FORM_PRODUCT) {
      assert_true(dq_product_of(run.node, &product));
      if (product.integer_step && !is_step(product.integer_step))
        fail_msg("%s: no %s", row->name, product.integer_step);
      products += product.integer_step != NULL;
    }
    harness_close(&run);
  }
  assert_true(products >= 3);
}

// What a row says of its slope is what it computes.
static void slopes(void **state) {
  (void)state;
  double values[COUNT], result[COUNT];
  int rows = 0;
  fill(values, 1);
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (!row->slope) continue;
    harness open;
    dq_slope slope = {.every = NAN};
    harness_open(&open, "", row->name, OPSET);
    name_inputs(&open, row->inputs[0]);
    assert_true(dq_slope_of(open.node, &slope));
    double below = slope.input == DQ_NO_INPUT ? (double)slope.every : 0.25; // as `run` gives the other inputs
    harness_close(&open);
    run(row, values, result);
    for (int i = 0; i < COUNT; i++)
      assert_true(result[i] ==
                  (double)(float)((float)values[i] < 0 ? (float)below * (float)values[i] : (float)values[i]));
    rows++;
  }
  assert_true(rows >= 2);
}

// Bounds of Relu and of Clip by attributes, by inputs and without; a bound that is computed is not known.
static void clamps(void **state) {
  (void)state;
  harness run;
  float low = 7, high = 7;
  harness_open(&run, "", "Clip", OPSET);
  name_inputs(&run, 3);
  dq_value *const *given = run.node->inputs;
  assert_false(dq_clamp_of(run.node, &low, &high));
  assert_true(low == 7 && high == 7);
  run.node->inputs[1] = dq_graph_add_constant(run.graph, "low", dq_tensor_scalar_f32(run.graph->arena, -2));
  assert_false(dq_clamp_of(run.node, &low, &high));
  run.node->input_count = 2;
  assert_true(dq_clamp_of(run.node, &low, &high));
  assert_true(given[1]->constant && low == -2 && high == INFINITY);
  run.node->input_count = 1;
  assert_true(dq_clamp_of(run.node, &low, &high));
  assert_true(low == -INFINITY && high == INFINITY);
  assert_true(dq_node_set_float(run.graph, run.node, "min", 1) && dq_node_set_float(run.graph, run.node, "max", 6));
  assert_true(dq_clamp_of(run.node, &low, &high));
  assert_true(low == 1 && high == 6);
  run.node->op_type = "Relu";
  assert_true(dq_clamp_of(run.node, &low, &high));
  assert_true(low == 0 && high == INFINITY);
  run.node->op_type = "Sigmoid";
  assert_false(dq_clamp_of(run.node, &low, &high));
  harness_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(homogeneous),   cmocka_unit_test(uniform),
                                     cmocka_unit_test(range),         cmocka_unit_test(integer_forms),
                                     cmocka_unit_test(integer_steps), cmocka_unit_test(slopes),
                                     cmocka_unit_test(clamps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
