// HardSwish and HardSigmoid that are written out become one node with the same results; what only looks like them
// stays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/rewrite/written_functions.h"
#include "tests/unit/small_network.h"

typedef struct form {
  float shift, high; // Clip(x + shift, 0, high)
  bool outside;      // the quotient is taken of the product, not of the gate
  bool by_inverse;   // by a multiplication with 1 / 6
  bool constant_first;
  bool hard_sigmoid; // in place of Add, Clip and Div
  bool gate_only;    // no multiplication by x
  bool read_twice;   // an intermediate result
} form;

static dq_value *number(network *it, float x) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, 1, (int64_t[]){1});
  *(float *)tensor->data = x;
  return dq_graph_add_constant(it->graph, "number", tensor);
}

static dq_value *node(network *it, const char *op_type, dq_value *a, dq_value *b, const char *y) {
  network_node(it, op_type, a, b, NULL, network_value(it, y));
  return network_value(it, y);
}

static dq_value *sixth(network *it, const form *f, dq_value *x, const char *y) {
  if (!f->by_inverse) return node(it, "Div", x, number(it, 6), y);
  return f->constant_first ? node(it, "Mul", number(it, 1.0F / 6), x, y) : node(it, "Mul", x, number(it, 1.0F / 6), y);
}

static dq_value *write_gate(network *it, const form *f, dq_value *x) {
  if (f->hard_sigmoid) {
    dq_value *gate = node(it, "HardSigmoid", x, NULL, "gate");
    dq_node *made = it->graph->nodes[it->graph->node_count - 1];
    dq_node_set_float(it->graph, made, "alpha", f->shift / 18);
    return gate;
  }
  dq_value *shifted = f->constant_first ? node(it, "Add", number(it, f->shift), x, "shifted")
                                        : node(it, "Add", x, number(it, f->shift), "shifted");
  network_node(it, "Clip", shifted, number(it, 0), number(it, f->high), network_value(it, "gate"));
  return network_value(it, "gate");
}

// x -> a -function-> m -> y, with opset 12.
static void build(network *it, const form *f) {
  dq_graph_set_opset(it->graph, "", 12, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  dq_value *a = network_value(it, "a"), *gate = write_gate(it, f, a);
  if (f->gate_only) {
    sixth(it, f, gate, "m");
  } else if (f->hard_sigmoid) {
    node(it, "Mul", gate, a, "m");
  } else if (f->outside) {
    sixth(it, f, node(it, "Mul", a, gate, "product"), "m");
  } else {
    node(it, "Mul", sixth(it, f, gate, "sixth"), a, "m");
  }
  if (f->read_twice) node(it, "Add", network_value(it, "m"), gate, "sum");
  network_conv(it, network_value(it, f->read_twice ? "sum" : "m"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
}

// `nodes`: how many there are then; 0: as many as before.
static void becomes(void **state, const form *f, const char *op_type, int nodes, int64_t opset) {
  network *it = *state;
  build(it, f);
  static network_outputs before, after;
  network_run(it, &before);
  if (!nodes) nodes = it->graph->node_count;
  dq_error error;
  assert_int_equal(dq_written_functions_fuse(it->graph, &it->context, &error), DQ_OK);
  assert_string_equal(network_value(it, "m")->producer->op_type, op_type);
  assert_int_equal(dq_graph_opset(it->graph, ""), opset);
  assert_int_equal(it->graph->node_count, nodes);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

#define BECOMES(name, op_type, nodes, opset, ...)                                                                      \
  static void name(void **state) {                                                                                     \
    const form f = {__VA_ARGS__};                                                                                      \
    becomes(state, &f, op_type, nodes, opset);                                                                         \
  }
BECOMES(quotient_of_the_product, "HardSwish", 3, 14, .shift = 3, .high = 6, .outside = true)
BECOMES(quotient_of_the_gate, "HardSwish", 3, 14, .shift = 3, .high = 6)
BECOMES(product_with_a_sixth, "HardSwish", 3, 14, .shift = 3, .high = 6, .outside = true, .by_inverse = true)
BECOMES(gate_times_a_sixth, "HardSwish", 3, 14, .shift = 3, .high = 6, .by_inverse = true, .constant_first = true)
BECOMES(product_with_hard_sigmoid, "HardSwish", 3, 14, .shift = 3, .high = 6, .hard_sigmoid = true)
BECOMES(gate_alone, "HardSigmoid", 3, 12, .shift = 3, .high = 6, .gate_only = true)
// These stay as they are: the last operator is the one that was written.
BECOMES(another_shift, "Div", 0, 12, .shift = 2.9F, .high = 6, .outside = true)
BECOMES(another_bound, "Div", 0, 12, .shift = 3, .high = 5, .outside = true)
BECOMES(another_slope, "Mul", 0, 12, .shift = 3.1F, .high = 6, .hard_sigmoid = true)
BECOMES(a_gate_that_is_read_twice, "Div", 0, 12, .shift = 3, .high = 6, .outside = true, .read_twice = true)

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(quotient_of_the_product),
      TEST(quotient_of_the_gate),
      TEST(product_with_a_sixth),
      TEST(gate_times_a_sixth),
      TEST(product_with_hard_sigmoid),
      TEST(gate_alone),
      TEST(another_shift),
      TEST(another_bound),
      TEST(another_slope),
      TEST(a_gate_that_is_read_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
