// Training of weights that a model stores in float16: rounding and sums of updates by hand, the widened graph, the
// state of a training, and what is stored.
#include "lib/train/half_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/half.h"
#include "tests/unit/plan_harness.h"

// y = x w with a Cast to float16 in front of x and one to float32 behind y; w is 1 in float16.
typedef struct product {
  dq_graph *graph;
  dq_training training;
  dq_optimizer optimizer;
} product;

static dq_value *cast(dq_graph *graph, dq_value *from, int type, const char *name) {
  dq_node *node = add(graph, "Cast", 1, &from, name);
  dq_node_set_int(graph, node, "to", type);
  return node->outputs[0];
}

static dq_value *half(dq_graph *graph, const char *name, double number) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F16, 2, (int64_t[]){1, 1});
  dq_tensor_set(tensor, 0, number);
  dq_value *value = dq_graph_add_value(graph, name);
  assert_true(dq_graph_set_constant(graph, value, tensor));
  return value;
}

static void open_product(product *p, double weight, double target) {
  dq_error error = {0};
  *p = (product){.graph = new_graph(), .optimizer = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0)};
  dq_value *x = shaped(p->graph, "x", 2, (int64_t[]){1, 1});
  dq_value *operands[] = {cast(p->graph, x, DQ_F16, "a"), half(p->graph, "w", weight)};
  dq_value *y = add(p->graph, "MatMul", 2, operands, "product")->outputs[0];
  interface(p->graph, x, cast(p->graph, y, DQ_F32, "y"));
  const dq_training_options options = {.loss = DQ_LOSS_SQUARED_ERROR, .batch = 1};
  if (dq_training_open(&p->training, p->graph, &options, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_training_optimizer(&p->training, &p->optimizer, &error), DQ_OK);
  dq_tensor_set(p->training.input, 0, 1);
  dq_tensor_set(p->training.targets, 0, target);
}

static void close_product(product *p) {
  dq_training_close(&p->training);
  dq_graph_free(p->graph);
}

static double weight_of(const product *p) { return dq_tensor_get(p->training.trained[0].elements, 0); }
static double master_of(const product *p) { return dq_tensor_get(p->training.trained[0].master, 0); }

static void step(product *p, double rate) {
  dq_error error = {0};
  double loss;
  assert_int_equal(dq_training_step(&p->training, &p->optimizer, rate, &loss, &error), DQ_OK);
}

// The target is 1.25, so that the gradient of (w - 1.25)^2 is -1/2 at w = 1: with a rate of 2^-11 each step adds 2^-12.
// Above 1 neighbours in float16 are 2^-10 apart: 1 + 2^-12 is nearest to 1, 1 + 2^-11 is halfway and goes to 1, which
// is even, 1 + 3 2^-12 to 1 + 2^-10. From there the gradient is 2^-9 - 1/2, by the rounded weight.
static void updates_add_up_in_float32(void **state) {
  (void)state;
  product p;
  open_product(&p, 1, 1.25);
  assert_int_equal(p.training.trained_count, 1);
  const double unit = ldexp(1, -12), weights[] = {1, 1, 1 + ldexp(1, -10)};
  for (int i = 0; i < 3; i++) {
    step(&p, ldexp(1, -11));
    assert_true(master_of(&p) == 1 + (i + 1) * unit);
    assert_true(weight_of(&p) == weights[i]);
  }
  step(&p, ldexp(1, -11));
  assert_true(master_of(&p) == 1 + 4 * unit - ldexp(1, -20));
  close_product(&p);
}

// A state has what was added up; the model gets the rounded weight, in float16.
static void states_and_models(void **state) {
  (void)state;
  dq_error error = {0};
  product p;
  float saved;
  open_product(&p, 1, 1.25);
  assert_int_equal(dq_training_elements(&p.training), 1);
  for (int i = 0; i < 3; i++) step(&p, ldexp(1, -11));
  dq_training_save(&p.training, &saved);
  assert_true((double)saved == 1 + 3 * ldexp(1, -12));
  step(&p, 0.5);
  dq_training_restore(&p.training, &saved);
  assert_true(weight_of(&p) == 1 + ldexp(1, -10) && master_of(&p) == (double)saved);
  assert_int_equal(dq_training_store(&p.training, p.graph, &error), DQ_OK);
  const dq_tensor *stored = dq_graph_find(p.graph, "w")->constant;
  assert_int_equal(stored->type, DQ_F16);
  assert_true(dq_tensor_get(stored, 0) == 1 + ldexp(1, -10));
  close_product(&p);
}

// What float16 cannot hold is its largest number.
static void weights_stay_finite(void **state) {
  (void)state;
  product p;
  for (int sign = -1; sign <= 1; sign += 2) {
    open_product(&p, 1, sign);
    dq_tensor_set(p.training.targets, 0, sign * 1e6);
    step(&p, 0.5); // to the target
    assert_true(fabs(master_of(&p) - sign * 1e6) < 1);
    assert_true(weight_of(&p) == sign * 65504.0);
    close_product(&p);
  }
}

// Casts between float16 and float32 become identities, others stay; the model is not changed.
static void graphs_are_widened(void **state) {
  (void)state;
  product p;
  int casts = 0, halves = 0;
  open_product(&p, 1, 1.25);
  for (int n = 0; n < p.training.graph->node_count; n++) casts += dq_node_is(p.training.graph->nodes[n], "Cast");
  for (int n = 0; n < p.graph->node_count; n++) halves += dq_node_is(p.graph->nodes[n], "Cast");
  assert_int_equal(casts, 0);
  assert_int_equal(halves, 2);
  assert_true(dq_is_stored_in_half(p.graph, "w") && !dq_is_stored_in_half(p.graph, "x"));
  assert_true(!dq_is_stored_in_half(p.graph, "missing"));
  close_product(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(updates_add_up_in_float32), cmocka_unit_test(states_and_models),
                                     cmocka_unit_test(weights_stay_finite), cmocka_unit_test(graphs_are_widened)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
