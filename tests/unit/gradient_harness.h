// Gradients of small graphs against central differences.
#ifndef DQ_TESTS_UNIT_GRADIENT_HARNESS_H
#define DQ_TESTS_UNIT_GRADIENT_HARNESS_H

#include "lib/base/random.h"
#include "tests/unit/plan_harness.h"

enum { TRIAL_OPERANDS = 8 };

// A graph that a case makes: operands are inputs of the graph with random elements.
typedef struct trial {
  dq_graph *graph;
  dq_random random; // for shapes and attributes
  int type, opset;
  dq_value *operands[TRIAL_OPERANDS], *output;
  bool derived[TRIAL_OPERANDS], positive[TRIAL_OPERANDS];
  int count;
} trial;

typedef void trial_case(trial *t);

// Uniform in [least, most].
int64_t between(trial *t, int64_t least, int64_t most);
// An operand by which the loss is derived, with normal elements.
dq_value *operand(trial *t, int rank, const int64_t *dims);
// An operand by which it is not derived, with elements above 0.
dq_value *given(trial *t, int rank, const int64_t *dims);
// An operand by which the loss is derived, with elements above 0.
dq_value *positive(trial *t, int rank, const int64_t *dims);
dq_value *whole_numbers(trial *t, int count, const int64_t *values); // a constant of int64
// A node whose output 0 is the result of the case; "dq.Name" for the domain dq.
dq_node *make(trial *t, const char *op_type, int count, dq_value **inputs, int outputs);
void set_list(trial *t, dq_node *node, const char *name, int count, const int64_t *values);

// Compares the gradients of sum(r y), r random and y the output of the case, with central differences in float64, and
// those of float32, on one to three threads and with and without instruction sets, with those of float64.
void check_gradients(trial_case *make, uint64_t seed);

#endif
