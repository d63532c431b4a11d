#include "decomp/search/tucker_retrain.h"

#include "decomp/tucker/tucker_spec.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"

static dq_status retrain(const dq_graph *graph, const dq_tucker_report *report, const char *path,
                         dq_retrain_options *hook, dq_arena *arena, const dq_context *context, dq_error *error) {
  DQ_TRY(dq_tucker_spec(report, arena, &hook->spec, error));
  DQ_TRY(dq_tucker_nodes(report, arena, &hook->nodes, &hook->node_count, error));
  return dq_retrain(graph, path, hook, context, error);
}

dq_status dq_tucker_retrain(const dq_graph *graph, const dq_tucker_report *report, const char *path,
                            const dq_retrain_options *hook, const dq_context *context, dq_error *error) {
  dq_retrain_options described = *hook;
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? retrain(graph, report, path, &described, arena, context, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}

// One step: the layers of `settings` in the model at `from` are decomposed, written and retrained.
static dq_status retrain_step(const char *from, const char *path, const dq_retrain_options *hook,
                              const dq_tucker_options *settings, dq_error *error) {
  dq_graph *graph = NULL;
  dq_tucker_report report;
  DQ_TRY(dq_model_open(&graph, from, settings->context, error));
  dq_status status = dq_tucker_apply(graph, settings, &report, error);
  if (status == DQ_OK) status = dq_onnx_save(graph, path, error);
  if (status == DQ_OK) status = dq_tucker_retrain(graph, &report, path, hook, settings->context, error);
  dq_graph_free(graph);
  return status;
}

static dq_status retrain_steps(const dq_layer_ranks *layers, int count, const char *path,
                               const dq_retrain_options *hook, const dq_tucker_options *options, int every,
                               dq_error *error) {
  dq_tucker_options step = *options;
  step.macs_share = 0;
  for (int first = 0; first < count; first += every) {
    step.layers = layers + first;
    step.layer_count = count - first < every ? count - first : every;
    dq_message(options->context, DQ_NOTE, "layers %d to %d of %d", first + 1, first + step.layer_count, count);
    DQ_TRY(retrain_step(first ? path : hook->original, path, hook, &step, error));
  }
  return DQ_OK;
}

dq_status dq_tucker_retrain_steps(const dq_tucker_report *report, const char *path, const dq_retrain_options *hook,
                                  const dq_tucker_options *options, int every, dq_error *error) {
  dq_arena *arena = dq_context_arena(options->context);
  dq_layer_ranks *layers = arena ? DQ_NEW_ARRAY(arena, report->count + 1, dq_layer_ranks) : NULL;
  int count = 0;
  for (int i = 0; layers && i < report->count; i++)
    if (!report->layers[i].reason[0])
      layers[count++] = (dq_layer_ranks){report->layers[i].name, report->layers[i].ranks};
  dq_status status =
      layers ? retrain_steps(layers, count, path, hook, options, every, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}
