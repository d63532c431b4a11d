// Runs one operator on tensors made by hand, as a plan would: resolve, infer, prepare, run.
#ifndef TESTS_UNIT_RUN_OPERATOR_H
#define TESTS_UNIT_RUN_OPERATOR_H

#include "lib/graph/graph.h"
#include "lib/ops/operator.h"

enum { MOST_TENSORS = 8 };

typedef struct operator_run {
  dq_context context; // set the pool to use threads
  dq_graph *graph;
  dq_node *node; // set attributes here
  dq_tensor *inputs[MOST_TENSORS], outputs[MOST_TENSORS];
  dq_error error;
} operator_run;

// A node of the operator at `opset`, with inputs and outputs to be given.
void operator_open(operator_run *run, const char *op_type, int opset, int inputs, int outputs);
void operator_close(operator_run *run);
// An input tensor with elements from `values` (NULL: zeros), converted to `type`.
dq_tensor *operator_input(operator_run *run, int i, int type, int rank, const int64_t *dims, const double *values);
dq_status operator_execute(operator_run *run);
// Fails the test unless output i has this type and shape and elements within `tolerance`.
void operator_expect(operator_run *run, int i, int type, int rank, const int64_t *dims, const double *values,
                     double tolerance);

#endif
