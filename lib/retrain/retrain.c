#include "lib/retrain/retrain.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/sizes.h"
#include "lib/process/child.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"
#include "lib/session/session.h"

// ---- The check ----

static bool is_free_input(const dq_value *value) { return !value->constant && !value->initializer_origin; }

static dq_status check_declared(const dq_value *a, const dq_value *b, const char *what, dq_error *error) {
  if (strcmp(a->name, b->name) != 0)
    return dq_fail(error, DQ_CONDITION, "%s is '%s', expected '%s'", what, b->name, a->name);
  if (a->type != b->type)
    return dq_fail(error, DQ_CONDITION, "%s '%s' is %s, expected %s", what, a->name, dq_dtype_name(b->type),
                   dq_dtype_name(a->type));
  if (a->rank != b->rank)
    return dq_fail(error, DQ_CONDITION, "%s '%s' has %d dimensions, expected %d", what, a->name, b->rank, a->rank);
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i].size != b->dims[i].size)
      return dq_fail(error, DQ_CONDITION, "dimension %d of %s '%s' is %lld, expected %lld", i, what, a->name,
                     (long long)b->dims[i].size, (long long)a->dims[i].size);
  return DQ_OK;
}

static dq_status check_list(dq_value *const *a, int a_count, dq_value *const *b, int b_count, const char *what,
                            dq_error *error) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a_count && !is_free_input(a[i])) i++;
    while (j < b_count && !is_free_input(b[j])) j++;
    if (i == a_count && j == b_count) return DQ_OK;
    if (i == a_count) return dq_fail(error, DQ_CONDITION, "%s '%s' is not in the model given", what, b[j]->name);
    if (j == b_count) return dq_fail(error, DQ_CONDITION, "%s '%s' is missing", what, a[i]->name);
    DQ_TRY(check_declared(a[i], b[j], what, error));
  }
}

static const dq_node *find_node(const dq_graph *graph, const char *name) {
  for (int i = 0; i < graph->node_count; i++)
    if (!strcmp(graph->nodes[i]->name, name)) return graph->nodes[i];
  return NULL;
}

static const dq_tensor *constant_input(const dq_node *node, int i) {
  const dq_value *value = dq_node_input(node, i);
  if (!value || value->constant) return value ? value->constant : NULL;
  bool made = value->producer && dq_node_is(value->producer, "Constant");
  return made ? dq_node_tensor(value->producer, "value") : NULL;
}

static dq_status check_node(const dq_graph *graph, const dq_graph *made, const char *name, dq_error *error) {
  const dq_node *a = find_node(graph, name), *b = find_node(made, name);
  if (!b || !a || strcmp(a->op_type, b->op_type) != 0)
    return dq_fail(error, DQ_CONDITION, "node '%s' is missing; the command must keep the nodes of the converted model",
                   name);
  for (int i = 0; i < a->input_count; i++) {
    const dq_tensor *before = constant_input(a, i), *after = constant_input(b, i);
    if (!before) continue;
    char have[DQ_SHAPE_TEXT], want[DQ_SHAPE_TEXT];
    if (!after) return dq_fail(error, DQ_CONDITION, "input %d of node '%s' is not constant", i, name);
    if (before->type != after->type || !dq_tensor_same_shape(before, after))
      return dq_fail(error, DQ_CONDITION, "input %d of node '%s' is %s %s, expected %s %s", i, name,
                     dq_dtype_name(after->type), dq_tensor_shape_text(after, have, sizeof have),
                     dq_dtype_name(before->type), dq_tensor_shape_text(before, want, sizeof want));
  }
  return DQ_OK;
}

static dq_status check_finite(const dq_tensor *tensor, const char *what, const char *name, dq_error *error) {
  if (!tensor || !tensor->data) return DQ_OK;
  int64_t at = dq_tensor_first_not_finite(tensor);
  if (at >= 0)
    return dq_fail(error, DQ_CONDITION, "%s '%s': element %lld is %g, expected finite", what, name, (long long)at,
                   dq_tensor_get(tensor, at));
  return DQ_OK;
}

static dq_status check_weights(const dq_graph *made, dq_error *error) {
  for (int i = 0; i < made->initializer_count; i++)
    DQ_TRY(check_finite(made->initializers[i]->constant, "initializer", made->initializers[i]->name, error));
  for (int i = 0; i < made->node_count; i++)
    if (dq_node_is(made->nodes[i], "Constant") && dq_node_output(made->nodes[i], 0))
      DQ_TRY(
          check_finite(dq_node_tensor(made->nodes[i], "value"), "constant", made->nodes[i]->outputs[0]->name, error));
  return DQ_OK;
}

static void fill_noise(dq_plan *plan, uint64_t seed) {
  dq_random random = dq_random_start(seed, 1);
  for (int p = 0; p < dq_plan_input_count(plan); p++) {
    dq_tensor *input = dq_plan_input(plan, p);
    bool real = dq_dtype_is_float(input->type);
    int64_t count = dq_tensor_count(input);
    for (int64_t i = 0; i < count; i++) dq_tensor_set(input, i, real ? (double)dq_random_normal(&random) : 0);
  }
}

static dq_status run_on_noise(const dq_graph *graph, const dq_retrain_options *options, const dq_context *context,
                              dq_error *error) {
  dq_session session = {0};
  dq_session_options session_options = {0};
  if (options->shapes) session_options.shapes = *options->shapes;
  dq_status status = dq_session_open(&session, graph, &session_options, context, error);
  if (status == DQ_OK) {
    fill_noise(session.plan, context->seed);
    status = dq_plan_run(session.plan, error);
  }
  for (int i = 0; status == DQ_OK && i < dq_plan_output_count(session.plan); i++)
    status = check_finite(dq_plan_output(session.plan, i), "output", dq_plan_output_name(session.plan, i), error);
  dq_session_close(&session);
  return status;
}

dq_status dq_retrain_check(const dq_graph *graph, const dq_graph *made, const dq_retrain_options *options,
                           const dq_context *context, dq_error *error) {
  DQ_TRY(check_list(graph->inputs, graph->input_count, made->inputs, made->input_count, "input", error));
  DQ_TRY(check_list(graph->outputs, graph->output_count, made->outputs, made->output_count, "output", error));
  for (int i = 0; i < options->node_count; i++) DQ_TRY(check_node(graph, made, options->nodes[i], error));
  DQ_TRY(check_weights(made, error));
  dq_error reason = {0};
  if (run_on_noise(graph, options, context, &reason) == DQ_OK) return run_on_noise(made, options, context, error);
  dq_message(context, DQ_WARNING, "what the hook wrote is accepted without running it: %s", reason.message);
  return DQ_OK;
}

// ---- The hook ----

typedef struct hook_files {
  char *folder, *model, *output, *spec, *original;
} hook_files;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  remove(path);
  return 0;
}

static dq_status write_text(const char *path, const char *text, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  fputs(text, output.stream);
  return dq_output_commit(&output, error);
}

// The folder beside `path` with the copy of the model and the description; removed by the caller.
static dq_status prepare(const dq_graph *graph, const char *path, const dq_retrain_options *options, dq_arena *arena,
                         hook_files *files, dq_error *error) {
  char *resolved = realpath(path, NULL), *original = realpath(options->original, NULL);
  files->folder = resolved ? dq_arena_printf(arena, "%s.hook.XXXXXX", resolved) : NULL;
  files->original = dq_arena_strdup(arena, original ? original : options->original);
  free(resolved);
  free(original);
  if (!files->folder || !mkdtemp(files->folder)) {
    files->folder = NULL;
    return dq_fail_errno(error, path);
  }
  files->model = dq_arena_printf(arena, "%s/model.onnx", files->folder);
  files->output = dq_arena_printf(arena, "%s/output.onnx", files->folder);
  files->spec = dq_arena_printf(arena, "%s/spec.json", files->folder);
  if (!files->original || !files->model || !files->output || !files->spec) return dq_fail_memory(error, sizeof *files);
  DQ_TRY(write_text(files->spec, options->spec, error));
  return dq_onnx_save(graph, files->model, error);
}

static dq_status run_command(const hook_files *files, const dq_retrain_options *options, const dq_context *context,
                             dq_error *error) {
  const dq_variable variables[] = {{"DQ_MODEL", files->model},
                                   {"DQ_ORIGINAL", files->original},
                                   {"DQ_OUTPUT", files->output},
                                   {"DQ_DATA", options->data ? options->data : ""},
                                   {"DQ_SPEC", files->spec}};
  dq_child_options child = {
      .variables = variables, .variable_count = (int)(DQ_COUNT(variables)), .time_limit = options->time_limit};
  DQ_TRY(dq_child_run(options->command, &child, context, error));
  if (access(files->output, F_OK))
    return dq_fail(error, DQ_CONDITION, "the command wrote nothing to the file DQ_OUTPUT");
  return DQ_OK;
}

// The model that the hook makes of the graph.
static dq_status make_model(dq_graph **made, const dq_graph *graph, const hook_files *files,
                            const dq_retrain_options *options, const dq_context *context, dq_error *error) {
  if (options->train) {
    *made = dq_graph_copy(graph);
    return *made ? options->train(options->user, *made, error) : dq_fail_memory(error, 0);
  }
  DQ_TRY(run_command(files, options, context, error));
  return dq_model_open(made, files->output, context, error);
}

// Runs, checks, and saves in the place of `path`. `bad`: what failed is the hook's fault.
static dq_status run_hook(const dq_graph *graph, const char *path, const hook_files *files,
                          const dq_retrain_options *options, const dq_context *context, bool *bad, dq_error *error) {
  dq_graph *made = NULL;
  *bad = true;
  dq_status status = make_model(&made, graph, files, options, context, error);
  if (status == DQ_SYSTEM && options->train) *bad = false;
  if (status == DQ_OK) status = dq_retrain_check(graph, made, options, context, error);
  if (status == DQ_OK) {
    *bad = false;
    status = dq_onnx_save(made, path, error);
  }
  dq_graph_free(made);
  return status;
}

dq_status dq_retrain(const dq_graph *graph, const char *path, const dq_retrain_options *options,
                     const dq_context *context, dq_error *error) {
  if (!strcmp(path, "-")) return dq_fail(error, DQ_USAGE, "retraining needs a file to write to, not standard output");
  hook_files files = {0};
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, sizeof files);
  bool bad = false;
  dq_status status = options->train ? DQ_OK : prepare(graph, path, options, arena, &files, error);
  if (status == DQ_OK) status = run_hook(graph, path, &files, options, context, &bad, error);
  if (files.folder) nftw(files.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  dq_arena_free(arena);
  if (status == DQ_OK || status == DQ_CANCELLED || !bad) return status;
  if (error) error->status = DQ_CONDITION, error->hint[0] = 0;
  return dq_error_prefix(error, DQ_CONDITION, options->train ? "retraining" : "retraining hook");
}

dq_status dq_retrain_nodes(const dq_graph *graph, dq_arena *arena, const char *const **names, int *count,
                           dq_error *error) {
  const char **list = DQ_NEW_ARRAY(arena, graph->node_count, const char *);
  if (!list) return dq_fail_memory(error, 0);
  *names = list;
  *count = 0;
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    bool constant = false;
    for (int i = 0; i < node->input_count; i++) constant |= node->inputs[i] && node->inputs[i]->constant;
    if (constant && node->name[0]) list[(*count)++] = node->name;
  }
  return DQ_OK;
}
