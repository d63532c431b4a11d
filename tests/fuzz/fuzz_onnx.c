// Fuzz target: the loader, inference and saving, on any bytes. With libFuzzer (make fuzz) or, with
// tests/fuzz/replay_main.c, over a corpus of files.
#include <stdint.h>
#include <stdlib.h>

#include "lib/exec/infer.h"
#include "lib/onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dq_error error = {0};
  dq_graph *graph = NULL;
  dq_budget budget = {.limit = (size_t)64 << 20};
  dq_context context = {.budget = &budget};
  if (dq_onnx_load_bytes(&graph, data, size, "/nonexistent", &context, &error) != DQ_OK) return 0;
  dq_arena *arena = dq_arena_new(&budget);
  dq_tensor *tensors;
  if (arena) (void)dq_infer(graph, NULL, DQ_INFER_TOLERANT, &context, arena, &tensors, &error);
  dq_arena_free(arena);
  (void)dq_onnx_save(graph, "/dev/null/no", &error);
  dq_graph *copy = dq_graph_copy(graph);
  dq_graph_free(copy);
  dq_graph_free(graph);
  return 0;
}
