#include "tests/models/fixed.h"

#include <stdio.h>

#include "lib/onnx/onnx.h"

// Input `i` gets the elements of SET/input_i.pb.
static dq_status fix_input(dq_graph *graph, int i, const char *set, dq_arena *arena, dq_error *error) {
  char path[4096];
  dq_tensor *tensor;
  snprintf(path, sizeof path, "%s/input_%d.pb", set, i);
  DQ_TRY(dq_onnx_read_tensor(path, arena, &tensor, NULL, error));
  return dq_graph_set_constant(graph, graph->inputs[i], tensor) ? DQ_OK : dq_fail_memory(error, 0);
}

int write_fixed_model(const char *model, const char *set, const char *path) {
  const dq_context context = {0};
  dq_error error = {0};
  dq_graph *graph = NULL;
  dq_arena *arena = dq_context_arena(&context);
  dq_status status = arena ? dq_onnx_load(&graph, model, &context, &error) : DQ_SYSTEM;
  for (int i = 1; status == DQ_OK && i < graph->input_count; i++) status = fix_input(graph, i, set, arena, &error);
  if (status == DQ_OK) graph->input_count = graph->input_count ? 1 : 0;
  if (status == DQ_OK) status = dq_onnx_save(graph, path, &error);
  if (status != DQ_OK) fprintf(stderr, "%s: %s\n", model, error.message);
  dq_graph_free(graph);
  dq_arena_free(arena);
  return status;
}
