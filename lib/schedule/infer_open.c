// Shape inference of graphs whose inputs leave sizes open: with a hint that names sizes, or at assumed ones.
#include <string.h>

#include "lib/schedule/open_sizes.h"

enum { LONGEST_OPTION = 220 };

void dq_sizes_hint(const dq_graph *graph, const dq_shape_request *given, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_sizes sizes;
  dq_error ignored = {0};
  const char *option = NULL;
  if (arena && dq_sizes_assume(&sizes, graph, given, context, arena, &ignored) == DQ_OK)
    option = dq_sizes_option(&sizes, graph, given, arena);
  if (option && *option && sizes.fit && strlen(option) <= LONGEST_OPTION)
    dq_error_hint(error, "give it, for example with %s", option);
  else if (option && !sizes.fit)
    dq_error_hint(error,
                  "none of the usual sizes fits the network: give those it was made for with --shape NAME=N,3,224,224");
  else dq_error_hint(error, "give all sizes with --shape NAME=N,3,224,224; dq-report shows those the network takes");
  dq_arena_free(arena);
}

// Whether the first input whose shape is not known has a rank, for which sizes can be named.
static bool size_is_open(const dq_graph *graph, const dq_shape_request *request) {
  dq_tensor tensor;
  for (int i = 0; i < graph->value_count; i++) {
    const dq_value *value = graph->values[i];
    if (value->constant || !value->is_input) continue;
    dq_status status = dq_input_tensor(graph, value, request, &tensor, NULL);
    if (status != DQ_OK) return status == DQ_USAGE && value->rank >= 0;
  }
  return false;
}

dq_status dq_infer(const dq_graph *graph, const dq_shape_request *request, dq_tolerance tolerance,
                   const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error) {
  dq_status status = dq_infer_at(graph, request, tolerance, context, arena, tensors, error);
  if (status == DQ_USAGE && error && size_is_open(graph, request)) dq_sizes_hint(graph, request, context, error);
  return status;
}

dq_status dq_infer_assuming(const dq_graph *graph, const dq_shape_request *given, bool *assumed,
                            const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error) {
  dq_sizes sizes;
  dq_shape_request request;
  DQ_TRY(dq_sizes_assume(&sizes, graph, given, context, arena, error));
  DQ_TRY(dq_sizes_request(&sizes, graph, given, -1, arena, &request, error));
  if (assumed) *assumed = dq_sizes_assumed(&sizes);
  return dq_infer(graph, sizes.fit ? &request : given, DQ_INFER_TOLERANT, context, arena, tensors, error);
}
