// Normalizations: means and variances by hand, in float32 and float64.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

// x less the mean over the root of the variance and an epsilon of 1, scaled and moved.
#define N(x, mean, variance, scale, offset) (((x) - (mean)) / sqrt((variance) + 1.0) * (scale) + (offset))

static const int types[] = {DQ_F32, DQ_F64};

static void numbers(harness *h, int type, int rank, const int64_t *dims, const double *values) {
  dq_tensor *tensor = harness_input(h, type, rank, dims, NULL);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, values[i]);
}

static void open_of_type(harness *h, const char *op_type, int opset, int type, int rank, const int64_t *dims,
                         const double *values) {
  harness_open(h, "", op_type, opset);
  numbers(h, type, rank, dims, values);
  if (strcmp(op_type, "LpNormalization") && strcmp(op_type, "MeanVarianceNormalization"))
    dq_node_set_float(h->graph, h->node, "epsilon", 1);
}

// Two pictures of two channels of two elements.
static void test_instance_normalization(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    harness h;
    open_of_type(&h, "InstanceNormalization", 6, types[t], DIMS(2, 2, 2), DOUBLES(1, 3, 10, 14, -3, 3, 0, 8));
    numbers(&h, types[t], DIMS(2), DOUBLES(2, 3));
    numbers(&h, types[t], DIMS(2), DOUBLES(10, 20));
    harness_is_near(&h, DIMS(2, 2, 2),
                    DOUBLES(N(1, 2, 1, 2, 10), N(3, 2, 1, 2, 10), N(10, 12, 4, 3, 20), N(14, 12, 4, 3, 20),
                            N(-3, 0, 9, 2, 10), N(3, 0, 9, 2, 10), N(0, 4, 16, 3, 20), N(8, 4, 16, 3, 20)),
                    1e-5);
    h.inputs[2]->dims[0] = 1;
    harness_refuses(&h, DQ_BAD_INPUT, "input 2 has shape 1, expected a vector of 2 elements");
    h.inputs[0]->rank = 1;
    harness_refuses(&h, DQ_BAD_INPUT, "the input has 1 dimensions, expected at least 2");
    harness_close(&h);
  }
}

// Two pictures of four channels in two groups; before version 21 groups have a scale, then channels.
static void test_group_normalization(void **state) {
  (void)state;
  const double x[] = {1, 3, 10, 14, -3, 3, 0, 8};
  for (int t = 0; t < 2; t++) {
    harness h;
    open_of_type(&h, "GroupNormalization", 21, types[t], DIMS(2, 4), x);
    numbers(&h, types[t], DIMS(4), DOUBLES(2, 3, 4, 5));
    numbers(&h, types[t], DIMS(4), DOUBLES(10, 20, 30, 40));
    dq_node_set_int(h.graph, h.node, "num_groups", 2);
    harness_is_near(&h, DIMS(2, 4),
                    DOUBLES(N(1, 2, 1, 2, 10), N(3, 2, 1, 3, 20), N(10, 12, 4, 4, 30), N(14, 12, 4, 5, 40),
                            N(-3, 0, 9, 2, 10), N(3, 0, 9, 3, 20), N(0, 4, 16, 4, 30), N(8, 4, 16, 5, 40)),
                    1e-5);
    dq_node_set_int(h.graph, h.node, "num_groups", 3);
    harness_refuses(&h, DQ_BAD_INPUT, "4 channels cannot be divided into 3 groups");
    harness_close(&h);
    open_of_type(&h, "GroupNormalization", 18, types[t], DIMS(2, 4), x);
    numbers(&h, types[t], DIMS(2), DOUBLES(2, 3));
    numbers(&h, types[t], DIMS(2), DOUBLES(10, 20));
    dq_node_set_int(h.graph, h.node, "num_groups", 2);
    harness_is_near(&h, DIMS(2, 4),
                    DOUBLES(N(1, 2, 1, 2, 10), N(3, 2, 1, 2, 10), N(10, 12, 4, 3, 20), N(14, 12, 4, 3, 20),
                            N(-3, 0, 9, 2, 10), N(3, 0, 9, 2, 10), N(0, 4, 16, 3, 20), N(8, 4, 16, 3, 20)),
                    1e-5);
    harness_close(&h);
  }
}

// With mean and reciprocal deviation of each row.
static void test_layer_normalization(void **state) {
  (void)state;
  harness h;
  open_of_type(&h, "LayerNormalization", 17, DQ_F32, DIMS(2, 1, 2), DOUBLES(1, 3, 10, 14));
  numbers(&h, DQ_F32, DIMS(2), DOUBLES(2, 3));
  numbers(&h, DQ_F32, DIMS(2), DOUBLES(10, 20));
  h.output_count = 3;
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(2, 1, 2),
               DOUBLES(N(1, 2, 1, 2, 10), N(3, 2, 1, 3, 20), N(10, 12, 4, 2, 10), N(14, 12, 4, 3, 20)), 1e-5);
  harness_gave(&h, 1, DQ_F32, DIMS(2, 1, 1), DOUBLES(2, 12), 1e-6);
  harness_gave(&h, 2, DQ_F32, DIMS(2, 1, 1), DOUBLES(1 / sqrt(2), 1 / sqrt(5)), 1e-6);
  harness_close(&h);
}

// In training the statistics are those of the batch, and the running ones move towards them.
static void test_batch_normalization_in_training(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    harness h;
    open_of_type(&h, "BatchNormalization", 15, types[t], DIMS(2, 2, 1), DOUBLES(1, 10, 3, 14));
    numbers(&h, types[t], DIMS(2), DOUBLES(2, 3));
    numbers(&h, types[t], DIMS(2), DOUBLES(10, 20));
    numbers(&h, types[t], DIMS(2), DOUBLES(5, 6));
    numbers(&h, types[t], DIMS(2), DOUBLES(7, 8));
    dq_node_set_int(h.graph, h.node, "training_mode", 1);
    dq_node_set_float(h.graph, h.node, "momentum", 0.75f);
    h.output_count = 3;
    assert_int_equal(harness_run(&h), DQ_OK);
    harness_gave(&h, 0, types[t], DIMS(2, 2, 1),
                 DOUBLES(N(1, 2, 1, 2, 10), N(10, 12, 4, 3, 20), N(3, 2, 1, 2, 10), N(14, 12, 4, 3, 20)), 1e-5);
    harness_gave(&h, 1, types[t], DIMS(2), DOUBLES(4.25, 7.5), 1e-6); // 3/4 of 5 and 1/4 of 2; of 6 and 12
    harness_gave(&h, 2, types[t], DIMS(2), DOUBLES(5.5, 7), 1e-6);
    harness_close(&h);
  }
}

static void test_lp_normalization(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    harness h;
    open_of_type(&h, "LpNormalization", 1, types[t], DIMS(3, 2), DOUBLES(3, -4, 0, 0, 5, 12));
    harness_is_near(&h, DIMS(3, 2), DOUBLES(0.6, -0.8, 0, 0, 5 / 13., 12 / 13.), 1e-6);
    dq_node_set_int(h.graph, h.node, "p", 1);
    harness_is_near(&h, DIMS(3, 2), DOUBLES(3 / 7., -4 / 7., 0, 0, 5 / 17., 12 / 17.), 1e-6);
    dq_node_set_int(h.graph, h.node, "axis", 0);
    harness_is_near(&h, DIMS(3, 2), DOUBLES(3 / 8., -1 / 4., 0, 0, 5 / 8., 3 / 4.), 1e-6);
    dq_node_set_int(h.graph, h.node, "p", 3);
    harness_refuses(&h, DQ_BAD_INPUT, "attribute 'p' is 3, expected 1 or 2");
    harness_close(&h);
  }
}

// By channel, or over the axes that are named.
static void test_mean_variance_normalization(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    harness h;
    open_of_type(&h, "MeanVarianceNormalization", 13, types[t], DIMS(2, 2, 1, 2), DOUBLES(1, 3, 10, 14, 1, 3, 18, 22));
    const double root = sqrt(20); // of 4 (the mean of squares within) and 16 (between the pictures)
    harness_is_near(&h, DIMS(2, 2, 1, 2), DOUBLES(-1, 1, -6 / root, -2 / root, -1, 1, 2 / root, 6 / root), 1e-6);
    dq_node_set_ints(h.graph, h.node, "axes", (int64_t[]){-1}, 1);
    harness_is_near(&h, DIMS(2, 2, 1, 2), DOUBLES(-1, 1, -1, 1, -1, 1, -1, 1), 1e-6);
    dq_node_set_ints(h.graph, h.node, "axes", (int64_t[]){4}, 1);
    harness_refuses(&h, DQ_BAD_INPUT, "axis 4 is outside the 4 dimensions");
    harness_close(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instance_normalization), cmocka_unit_test(test_group_normalization),
      cmocka_unit_test(test_layer_normalization),    cmocka_unit_test(test_batch_normalization_in_training),
      cmocka_unit_test(test_lp_normalization),       cmocka_unit_test(test_mean_variance_normalization),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
