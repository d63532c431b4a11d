// One operator with its inputs, for tests of the operator table.
#include "tests/unit/operator_harness.h"

#include <math.h>
#include <string.h>

enum { BEHIND = 64 }; // bytes behind an output that nobody may write

void harness_open(harness *h, const char *domain, const char *op_type, int opset) {
  memset(h, 0, sizeof *h);
  assert_int_equal(dq_context_init(&h->context, 2, ~0u, &h->error), DQ_OK);
  h->graph = dq_graph_new(0);
  assert_non_null(h->graph);
  assert_int_equal(dq_graph_set_opset(h->graph, "", opset, &h->error), DQ_OK);
  dq_value *output = dq_graph_add_value(h->graph, "y");
  h->node = dq_graph_add_node(h->graph, 0, op_type, "n", 0, NULL, 1, &output);
  assert_non_null(h->node);
  h->node->domain = domain;
  h->node->outputs = DQ_NEW_ARRAY(h->graph->arena, HARNESS_OUTPUTS, dq_value *);
  h->node->outputs[0] = output;
  for (int i = 1; i < HARNESS_OUTPUTS; i++) h->node->outputs[i] = dq_graph_fresh_value(h->graph, "output");
  h->node->inputs = DQ_NEW_ARRAY(h->graph->arena, HARNESS_INPUTS, dq_value *);
  for (int i = 0; i < HARNESS_OUTPUTS; i++) assert_non_null(h->outputs[i] = DQ_NEW(h->graph->arena, dq_tensor));
  h->output = h->outputs[0];
  h->output_count = 1;
}

void harness_close(harness *h) {
  dq_graph_free(h->graph);
  dq_context_deinit(&h->context);
}

dq_tensor *harness_input(harness *h, int type, int rank, const int64_t *dims, const void *data) {
  int i = h->node->input_count++;
  assert_true(i < HARNESS_INPUTS);
  h->node->inputs[i] = dq_graph_fresh_value(h->graph, "input");
  h->inputs[i] = dq_tensor_new(h->graph->arena, type, rank, dims);
  assert_non_null(h->inputs[i]);
  if (data) memcpy(h->inputs[i]->data, data, dq_tensor_bytes(h->inputs[i]));
  return h->inputs[i];
}

void harness_skip(harness *h) { h->node->input_count++; }

dq_tensor *harness_numbers(harness *h, int i, int type, int rank, const int64_t *dims, const double *values) {
  assert_in_range(i, 0, HARNESS_INPUTS - 1);
  if (h->node->input_count <= i) h->node->input_count = i + 1;
  if (!h->node->inputs[i]) h->node->inputs[i] = dq_graph_fresh_value(h->graph, "input");
  h->inputs[i] = dq_tensor_new(h->graph->arena, type, rank, dims);
  assert_non_null(h->inputs[i]);
  for (int64_t e = 0; values && e < dq_tensor_count(h->inputs[i]); e++) dq_tensor_set(h->inputs[i], e, values[e]);
  return h->inputs[i];
}

dq_status harness_infer(harness *h) {
  h->node->output_count = h->output_count;
  h->op = (dq_op){.context = &h->context,
                  .node = h->node,
                  .input_count = h->node->input_count,
                  .inputs = (const dq_tensor **)h->inputs,
                  .output_count = h->output_count,
                  .outputs = h->outputs,
                  .error = &h->error};
  DQ_TRY(dq_operator_resolve(h->graph, h->node, &h->context, &h->op.row, &h->op.version, &h->error));
  return dq_op_infer(&h->op);
}

static dq_status run(harness *h) {
  for (int i = 0; i < h->output_count; i++) { // bytes behind it hold what must stay
    if (!h->outputs[i]) continue;
    size_t bytes = dq_tensor_bytes(h->outputs[i]);
    assert_non_null(h->outputs[i]->data = dq_arena_alloc(h->graph->arena, bytes + BEHIND));
    memset((char *)h->outputs[i]->data + bytes, 0x5a, BEHIND);
  }
  return dq_op_run(&h->op);
}

dq_status harness_run(harness *h) {
  DQ_TRY(harness_infer(h));
  return run(h);
}

dq_status harness_prepare(harness *h) {
  DQ_TRY(harness_infer(h));
  DQ_TRY(dq_op_prepare(&h->op, h->graph->arena));
  if (h->op.scratch_bytes) {
    size_t bytes = h->op.scratch_bytes < 4096 ? 4096 : h->op.scratch_bytes; // aligned to 64
    h->op.scratch = dq_arena_alloc(h->graph->arena, bytes);
    assert_non_null(h->op.scratch);
  }
  return run(h);
}

void harness_refuses(harness *h, dq_status status, const char *words) {
  dq_status found = harness_infer(h);
  if (found != status || !strstr(h->error.message, words))
    fail_msg("status %d '%s', expected %d and '%s'", found, h->error.message, status, words);
}

void harness_gave(const harness *h, int i, int type, int rank, const int64_t *dims, const double *elements,
                  double tolerance) {
  const dq_tensor *output = h->outputs[i];
  assert_int_equal(output->type, type);
  assert_int_equal(output->rank, rank);
  for (int d = 0; d < rank; d++) assert_int_equal(output->dims[d], dims[d]);
  for (int64_t k = 0; k < dq_tensor_count(output); k++) {
    double found = dq_tensor_get(output, k), wanted = elements[k];
    if (found != wanted && !(fabs(found - wanted) <= tolerance) && (found == found || wanted == wanted))
      fail_msg("output %d, element %d is %.9g, expected %.9g", i, (int)k, found, wanted);
  }
  const uint8_t *behind = (const uint8_t *)output->data + dq_tensor_bytes(output);
  for (int k = 0; k < BEHIND; k++)
    if (behind[k] != 0x5a) fail_msg("output %d: byte %d behind its elements was written", i, k);
}

void harness_is_near(harness *h, int rank, const int64_t *dims, const double *elements, double tolerance) {
  if (harness_run(h) != DQ_OK) fail_msg("%s", h->error.message);
  harness_gave(h, 0, h->output->type, rank, dims, elements, tolerance);
}

void harness_gives(harness *h, int type, int rank, const int64_t *dims, const double *elements) {
  if (harness_run(h) != DQ_OK) fail_msg("%s", h->error.message);
  harness_gave(h, 0, type, rank, dims, elements, 0);
  if (harness_prepare(h) != DQ_OK) fail_msg("%s", h->error.message);
  harness_gave(h, 0, type, rank, dims, elements, 0);
}
