// What the rows of operators say of themselves, held for every row that says it: homogeneous, uniform by channel,
// range.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "tests/unit/run_operator.h"

enum { OPSET = 28, CHANNELS = 4, PLANE = 16, COUNT = CHANNELS * PLANE };

// Runs the operator on 1 x 4 x 4 x 4 numbers; further required inputs are one number. Returns the elements of a result
// channel; `result` holds COUNT numbers.
static int run(const dq_operator *row, const double *values, double *result) {
  operator_run run;
  operator_open(&run, row->name, OPSET, row->inputs[0], 1);
  operator_input(&run, 0, DQ_F32, 4, (int64_t[]){1, CHANNELS, 4, 4}, values);
  for (int i = 1; i < row->inputs[0]; i++) operator_input(&run, i, DQ_F32, 1, (int64_t[]){1}, (double[]){0.25});
  for (const dq_attribute_rule *rule = row->attributes; rule && rule->name; rule++)
    if (!strcmp(rule->name, "kernel_shape"))
      assert_true(dq_node_set_ints(run.graph, run.node, "kernel_shape", (int64_t[]){2, 2}, 2));
  dq_status status = operator_execute(&run);
  if (status != DQ_OK) fail_msg("%s: %s", row->name, run.error.message);
  int64_t count = dq_tensor_count(&run.outputs[0]);
  assert_true(count % CHANNELS == 0 && count <= COUNT);
  for (int64_t i = 0; i < count; i++) result[i] = dq_tensor_get(&run.outputs[0], i);
  operator_close(&run);
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(homogeneous), cmocka_unit_test(uniform), cmocka_unit_test(range)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
