// The column Clamped of the audit: outputs at the ends of their type are counted, however many there are in a plane.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/audit/audit.h"
#include "lib/base/sizes.h"
#include "tests/unit/small_network.h"

enum { WIDEST = 700 };

static dq_value *constant(network *it, int type, int rank, double number) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, type, rank, (int64_t[]){1, 1, 1, 1});
  if (type == DQ_F32) *(float *)tensor->data = (float)number;
  else if (type == DQ_I8) *(int8_t *)tensor->data = (int8_t)number;
  else *(uint8_t *)tensor->data = (uint8_t)number;
  char name[40];
  snprintf(name, sizeof name, "constant%d", it->graph->value_count);
  return dq_graph_add_constant(it->graph, name, tensor);
}

static void declare(network *it, dq_value *value, int64_t width) {
  dq_dimension *dims = DQ_NEW_ARRAY(it->graph->arena, 4, dq_dimension);
  for (int d = 0; d < 4; d++) dims[d].size = d == 3 ? width : 1;
  value->type = DQ_F32, value->rank = 4, value->dims = dims;
}

// x, of 1 x 1 x 1 x width in uint8 of zero point 0, times 1, in `type` with the zero point `zero`; all scales are 1.
static void build(network *it, int64_t width, int type, double zero) {
  dq_graph *graph = it->graph;
  dq_value *x = network_value(it, "x"), *y = network_value(it, "y"), *one = constant(it, DQ_F32, 0, 1);
  dq_value *from = constant(it, DQ_U8, 0, 0), *to = constant(it, type, 0, zero);
  dq_value *w = network_value(it, "w"), *sum = network_value(it, "sum");
  dq_value *stored[2] = {network_value(it, "x_stored"), network_value(it, "y_stored")},
           *exact = network_value(it, "dx");
  dq_graph_set_opset(graph, "", 13, NULL);
  network_node(it, "QuantizeLinear", x, one, from, stored[0]);
  network_node(it, "DequantizeLinear", stored[0], one, from, exact);
  network_node(it, "DequantizeLinear", constant(it, DQ_I8, 4, 1), one, constant(it, DQ_I8, 0, 0), w);
  network_node(it, "Conv", exact, w, NULL, sum);
  network_node(it, "QuantizeLinear", sum, one, to, stored[1]);
  network_node(it, "DequantizeLinear", stored[1], one, to, y);
  declare(it, x, width), declare(it, y, width);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->outputs[0] = y;
  graph->input_count = graph->output_count = 1;
  x->is_input = y->is_output = true;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
}

// The share of two pictures, one behind the other, whose first `ends` columns are `end`, and the others `other`.
static dq_audit_share clamped_of(int64_t width, int type, double zero, float end, float other, int64_t ends) {
  void *state;
  network_start(&state);
  network *it = state;
  char header[80];
  float values[2 * WIDEST];
  snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 1, %d), }", (int)width);
  for (int64_t i = 0; i < 2 * width; i++) values[i] = i < ends ? end : other;
  network_pictures(it, header, values, (size_t)(2 * width) * sizeof *values);
  build(it, width, type, zero);
  dq_audit_report report;
  dq_error error;
  const dq_audit_options options = {0};
  if (dq_audit_model(&report, it->graph, it->data, &options, &it->context, it->arena, &error) != DQ_OK)
    fail_msg("%s", error.message);
  assert_int_equal(report.audited, 1);
  const dq_audit_share share = report.layers[0].shares[DQ_AUDIT_CLAMPED];
  assert_int_equal(report.layers[0].seen[0].clamped, share.count);
  network_end(&state);
  return share;
}

// Counters of bytes hold 255 outputs and take the next ones.
static void planes_of_any_length(void **state) {
  (void)state;
  static const int64_t widths[] = {1, 2, 254, 255, 256, 257, 510, 511, 512, WIDEST};
  for (size_t i = 0; i < DQ_COUNT(widths); i++) {
    dq_audit_share all = clamped_of(widths[i], DQ_U8, 128, 255, 0, 2 * widths[i]);
    assert_int_equal(all.count, 2 * widths[i]);
    assert_int_equal(all.of, 2 * widths[i]);
    assert_true(all.average == 100 && all.lowest == 100 && all.highest == 100 && all.pictures == 2);
    dq_audit_share first = clamped_of(widths[i], DQ_U8, 128, 255, 0, widths[i]);
    assert_int_equal(first.count, widths[i]);
    assert_true(first.average == 50 && first.lowest == 0 && first.highest == 100 && first.pictures == 1);
    assert_int_equal(clamped_of(widths[i], DQ_U8, 128, 255, 0, 2 * widths[i] - 1).count, 2 * widths[i] - 1);
  }
}

// An end that stands for 0 is where an activation cuts: it is not counted. Nor is the number beside an end.
static void ends_of_the_type(void **state) {
  (void)state;
  static const struct {
    int type;
    double zero;
    float x; // of the first 255 of 400 outputs; the others are no end
    int64_t clamped;
  } cases[] = {{DQ_U8, 128, 127, 255}, {DQ_U8, 128, 126, 0}, {DQ_U8, 0, 255, 255},    {DQ_U8, 0, 254, 0},
               {DQ_U8, 0, 0, 0},       {DQ_U8, 255, 0, 0},   {DQ_U8, 255, 9, 0},      {DQ_U8, 1, 0, 0},
               {DQ_I8, 0, 127, 255},   {DQ_I8, 0, 126, 0},   {DQ_I8, -128, 255, 255}, {DQ_I8, -128, 254, 0},
               {DQ_I8, -128, 0, 0},    {DQ_I8, 127, 0, 0},   {DQ_I8, 127, 200, 0},    {DQ_I8, -127, 254, 255},
               {DQ_I8, -127, 253, 0}};
  for (size_t i = 0; i < DQ_COUNT(cases); i++) {
    float other = cases[i].x == 0 ? 5 : 0;
    int64_t found = (int64_t)clamped_of(200, cases[i].type, cases[i].zero, cases[i].x, other, 255).count;
    if (found != cases[i].clamped) fail_msg("case %zu: %d outputs", i, (int)found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(planes_of_any_length), cmocka_unit_test(ends_of_the_type)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
