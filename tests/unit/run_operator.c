#include "tests/unit/run_operator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

void operator_open(operator_run *run, const char *op_type, int opset, int inputs, int outputs) {
  memset(run, 0, sizeof *run);
  run->context.cpu = 0;
  run->graph = dq_graph_new(0);
  assert_non_null(run->graph);
  assert_int_equal(dq_graph_set_opset(run->graph, "", opset, &run->error), DQ_OK);
  dq_value *read[MOST_TENSORS], *written[MOST_TENSORS];
  for (int i = 0; i < inputs; i++) read[i] = dq_graph_fresh_value(run->graph, "input");
  for (int i = 0; i < outputs; i++) written[i] = dq_graph_fresh_value(run->graph, "output");
  run->node = dq_graph_add_node(run->graph, 0, op_type, op_type, inputs, read, outputs, written);
  assert_non_null(run->node);
}

void operator_close(operator_run *run) { dq_graph_free(run->graph); }

dq_tensor *operator_input(operator_run *run, int i, int type, int rank, const int64_t *dims, const double *values) {
  dq_tensor *tensor = run->inputs[i] = dq_tensor_new(run->graph->arena, type, rank, dims);
  assert_non_null(tensor);
  for (int64_t e = 0; values && e < dq_tensor_count(tensor); e++) dq_tensor_set(tensor, e, values[e]);
  return tensor;
}

dq_status operator_execute(operator_run *run) {
  const dq_operator *row;
  int version;
  const dq_tensor *inputs[MOST_TENSORS];
  dq_tensor *outputs[MOST_TENSORS] = {NULL}; // none behind those of the node
  DQ_TRY(dq_operator_resolve(run->graph, run->node, &run->context, &row, &version, &run->error));
  for (int i = 0; i < run->node->input_count; i++) inputs[i] = run->inputs[i];
  for (int i = 0; i < run->node->output_count; i++) outputs[i] = &run->outputs[i];
  dq_op op = {.context = &run->context,
              .node = run->node,
              .row = row,
              .version = version,
              .input_count = run->node->input_count,
              .inputs = inputs,
              .output_count = run->node->output_count,
              .outputs = outputs,
              .error = &run->error};
  DQ_TRY(dq_op_infer(&op));
  DQ_TRY(dq_op_prepare(&op, run->graph->arena));
  if (op.scratch_bytes) op.scratch = dq_arena_alloc(run->graph->arena, op.scratch_bytes + 4096);
  for (int i = 0; i < op.output_count; i++)
    outputs[i]->data = dq_arena_alloc(run->graph->arena, dq_tensor_bytes(outputs[i]));
  return dq_op_run(&op);
}

void operator_expect(operator_run *run, int i, int type, int rank, const int64_t *dims, const double *values,
                     double tolerance) {
  const dq_tensor *output = &run->outputs[i];
  if (run->error.message[0]) print_message("%s\n", run->error.message);
  assert_int_equal(output->type, type);
  assert_int_equal(output->rank, rank);
  for (int axis = 0; axis < rank; axis++) assert_int_equal(output->dims[axis], dims[axis]);
  for (int64_t e = 0; e < dq_tensor_count(output); e++) {
    double found = dq_tensor_get(output, e);
    if (found == values[e] || (isnan(found) && isnan(values[e]))) continue;
    if (!(fabs(found - values[e]) <= tolerance)) {
      print_message("element %lld: found %.17g, expected %.17g\n", (long long)e, found, values[e]);
      fail();
    }
  }
}
