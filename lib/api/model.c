// Models of the public interface: loading, saving, cost.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/api/api_internal.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"

void dq_api_forget_source(dq_model *model) {
  dq_codegen_close(&model->source);
  model->source = (dq_codegen){0};
}

void dq_api_forget(dq_model *model) {
  dq_api_forget_source(model);
  dq_arena_free(model->tune_arena);
  model->tune_arena = NULL;
  dq_arena_free(model->cost_arena);
  dq_arena_free(model->comparison_arena);
  dq_arena_free(model->range_arena);
  dq_arena_free(model->training_arena);
  dq_arena_free(model->mix_arena);
  model->mix_arena = NULL;
  model->cost_arena = model->comparison_arena = model->range_arena = model->training_arena = NULL;
  model->range_count = 0;
  model->last = DQ_TRANSFORM_NONE;
}

// Makes *model of a graph, which it owns, also after a failure.
static dq_status make_model(dq_model **model, dq_engine *engine, dq_graph *graph, dq_error *error) {
  dq_model *made = calloc(1, sizeof *made);
  if (!made) {
    dq_graph_free(graph);
    return dq_fail_memory(error, sizeof *made);
  }
  made->engine = engine;
  made->graph = graph;
  *model = made;
  return DQ_OK;
}

dq_code dq_model_load(dq_model **model, dq_engine *engine, const char *path, dq_failure *failure) {
  dq_call call;
  dq_graph *graph = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"engine", engine}, {"path", path});
  if (model) *model = NULL;
  if (status == DQ_OK) status = dq_model_open(&graph, path, &engine->context, &call.error);
  if (status == DQ_OK) status = make_model(model, engine, graph, &call.error);
  return dq_api_leave(&call, status, failure);
}

static dq_status load_bytes(dq_model **model, dq_engine *engine, const void *bytes, size_t count, const char *folder,
                            dq_error *error) {
  dq_graph *graph = NULL;
  if (count > PTRDIFF_MAX)
    return dq_fail(error, DQ_USAGE, "count is %zu, expected at most %zu", count, (size_t)PTRDIFF_MAX);
  DQ_TRY(dq_onnx_load_bytes(&graph, bytes, count, folder ? folder : ".", &engine->context, error));
  dq_origin_recall_sizes(graph, &engine->context);
  return make_model(model, engine, graph, error);
}

dq_code dq_model_load_bytes(dq_model **model, dq_engine *engine, const void *bytes, size_t count, const char *folder,
                            dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"engine", engine}, {"bytes", bytes});
  if (model) *model = NULL;
  if (status == DQ_OK) status = load_bytes(model, engine, bytes, count, folder, &call.error);
  return dq_api_leave(&call, status, failure);
}

static dq_status save(const dq_model *model, const char *path, dq_error *error) {
  DQ_TRY(dq_onnx_save(model->graph, path, error));
  struct stat info; // what a pipe or device took cannot be read again
  if (!strcmp(path, "-") || (!stat(path, &info) && !S_ISREG(info.st_mode))) return DQ_OK;
  dq_graph *again = NULL;
  dq_status status = dq_onnx_load(&again, path, &model->engine->context, error);
  dq_graph_free(again);
  return status;
}

dq_code dq_model_save(const dq_model *model, const char *path, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"path", path});
  if (status == DQ_OK) status = save(model, path, &call.error);
  return dq_api_leave(&call, status, failure);
}

void dq_model_free(dq_model *model) {
  if (!model) return;
  dq_api_forget(model);
  dq_graph_free(model->graph);
  for (dq_kept_graphs *next, *at = model->kept; at; at = next) {
    next = at->next;
    for (int i = 0; i < DQ_COUNT(at->graphs); i++) dq_graph_free(at->graphs[i]);
    free(at);
  }
  free(model);
}

int dq_model_input_count(const dq_model *model) { return model ? dq_input_count(model->graph) : 0; }

const char *dq_model_input_name(const dq_model *model, int index) {
  for (int i = 0, n = 0; model && i < model->graph->input_count; i++)
    if (!model->graph->inputs[i]->constant && n++ == index) return model->graph->inputs[i]->name;
  return NULL;
}

// ---- Cost ----

static void give_cost(const dq_model *model, dq_model_cost_facts *facts) {
  const dq_cost *cost = &model->cost;
  dq_model_cost_facts known = {.nodes = cost->node_count,
                               .unsupported = cost->unsupported,
                               .opset = cost->opset,
                               .macs = cost->macs,
                               .int8_macs = cost->int8_macs,
                               .macs_complete = cost->macs_complete,
                               .parameters = cost->parameters,
                               .float_parameters = cost->float_parameters,
                               .parameter_bytes = cost->parameter_bytes,
                               .activation_bytes = cost->activation_bytes,
                               .live_bytes = cost->live_bytes,
                               .planned_bytes = cost->planned_bytes,
                               .file_bytes = cost->file_bytes};
  dq_api_copy_results(facts, &known, sizeof known);
}

static dq_status analyse(dq_model *model, const char *const *shapes, dq_model_cost_facts *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  dq_arena_free(model->cost_arena);
  model->cost_arena = NULL;
  dq_arena *arena = dq_context_arena(&model->engine->context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_shape_request request;
  dq_status status = dq_api_shapes(shapes, (const dq_graph *const[]){model->graph}, 1, 0, arena, &request, error);
  if (status == DQ_OK)
    status = dq_cost_analyse(&model->cost, model->graph, &request, &model->engine->context, arena, error);
  if (status == DQ_OK) model->cost_arena = arena;
  else dq_arena_free(arena);
  if (status == DQ_OK) give_cost(model, facts);
  return status;
}

dq_code dq_model_cost(dq_model *model, const char *const *shapes, dq_model_cost_facts *facts, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = analyse(model, shapes, facts, &call.error);
  return dq_api_leave(&call, status, failure);
}

int dq_model_cost_at(const dq_model *model, int index, dq_model_cost_row *row) {
  if (!model || !model->cost_arena || index < 0 || index >= model->cost.node_count) return 0;
  const dq_cost_node *node = &model->cost.nodes[index];
  dq_model_cost_row known = {.name = node->label,
                             .op_type = node->node->op_type,
                             .shape = node->shape,
                             .precision = node->precision,
                             .problem = node->problem,
                             .macs = node->macs_known ? node->macs : -1,
                             .parameters = node->parameters,
                             .parameter_bytes = node->parameter_bytes,
                             .activation_bytes = node->activation_bytes};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
