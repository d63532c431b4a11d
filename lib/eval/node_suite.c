#include "lib/eval/node_suite.h"

#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/onnx/onnx.h"
#include "lib/session/session.h"

typedef struct suite_case {
  char path[4096]; // of the case's folder
  const dq_context *context;
  bool plain;
  dq_arena *arena;
  dq_error *error;
} suite_case;

// ---- Comparing ----

static bool close_enough(double got, double expected) {
  if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected);
  if (isinf(got) || isinf(expected)) return got == expected;
  return fabs(got - expected) <= 1e-3 * fabs(expected) + 1e-7;
}

static dq_status compare(const dq_tensor *got, const dq_tensor *expected, const char *name, dq_error *error) {
  char a[DQ_SHAPE_TEXT], b[DQ_SHAPE_TEXT];
  if (got->type != expected->type)
    return dq_fail(error, DQ_BAD_INPUT, "output '%s' has type %s, expected %s", name, dq_dtype_name(got->type),
                   dq_dtype_name(expected->type));
  if (!dq_tensor_same_shape(got, expected))
    return dq_fail(error, DQ_BAD_INPUT, "output '%s' has shape %s, expected %s", name,
                   dq_tensor_shape_text(got, a, sizeof a), dq_tensor_shape_text(expected, b, sizeof b));
  bool exact = !(DQ_BIT(got->type) & DQ_TYPES_FLOAT);
  int64_t count = dq_tensor_count(expected);
  for (int64_t i = 0; i < count; i++) {
    double x = dq_tensor_get(got, i), y = dq_tensor_get(expected, i);
    if (exact ? dq_tensor_get_i64(got, i) != dq_tensor_get_i64(expected, i) : !close_enough(x, y))
      return dq_fail(error, DQ_BAD_INPUT, "output '%s': element %" PRId64 " is %.9g, expected %.9g", name, i, x, y);
  }
  return DQ_OK;
}

// ---- One data set of a case ----

static bool exists(const char *path) {
  struct stat info;
  return !stat(path, &info);
}

static dq_status read_input(suite_case *test, const char *set, int i, dq_tensor **tensor) {
  char path[4400];
  snprintf(path, sizeof path, "%s/%s/input_%d.pb", test->path, set, i);
  *tensor = NULL;
  return exists(path) ? dq_onnx_read_tensor(path, test->arena, tensor, NULL, test->error) : DQ_OK;
}

static dq_status read_inputs(suite_case *test, const dq_graph *graph, const char *set, dq_input_shape *shapes,
                             dq_tensor **tensors) {
  for (int i = 0; i < graph->input_count; i++) {
    DQ_TRY(read_input(test, set, i, &tensors[i]));
    shapes[i].name = graph->inputs[i]->name;
    shapes[i].rank = tensors[i] ? tensors[i]->rank : 0;
    if (tensors[i]) memcpy(shapes[i].dims, tensors[i]->dims, sizeof shapes[i].dims);
  }
  return DQ_OK;
}

static dq_status fill_inputs(suite_case *test, const dq_graph *graph, dq_plan *plan, dq_tensor *const *tensors) {
  for (int i = 0, p = 0; i < graph->input_count; i++) {
    if (graph->inputs[i]->constant) continue;
    dq_tensor *to = dq_plan_input(plan, p++);
    if (!tensors[i] || tensors[i]->type != to->type || !dq_tensor_same_shape(tensors[i], to))
      return dq_fail(test->error, DQ_UNSUPPORTED, "input '%s' of the case is not a tensor that fits",
                     graph->inputs[i]->name);
    if (!tensors[i]->data)
      return dq_fail(test->error, DQ_UNSUPPORTED, "input '%s' has elements of type %s", graph->inputs[i]->name,
                     dq_dtype_name(to->type));
    memcpy(to->data, tensors[i]->data, dq_tensor_bytes(to));
  }
  return DQ_OK;
}

static dq_status compare_outputs(suite_case *test, const dq_plan *plan, const char *set) {
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    char path[4400];
    dq_tensor *expected;
    snprintf(path, sizeof path, "%s/%s/output_%d.pb", test->path, set, i);
    DQ_TRY(dq_onnx_read_tensor(path, test->arena, &expected, NULL, test->error));
    if (!expected->data)
      return dq_fail(test->error, DQ_UNSUPPORTED, "output '%s' has elements of type %s", dq_plan_output_name(plan, i),
                     dq_dtype_name(expected->type));
    DQ_TRY(compare(dq_plan_output(plan, i), expected, dq_plan_output_name(plan, i), test->error));
  }
  return DQ_OK;
}

static dq_status run_set(suite_case *test, const dq_graph *graph, const char *set) {
  dq_input_shape *shapes = DQ_NEW_ARRAY(test->arena, graph->input_count, dq_input_shape);
  dq_tensor **tensors = DQ_NEW_ARRAY(test->arena, graph->input_count, dq_tensor *);
  if (!shapes || !tensors) return dq_fail_memory(test->error, 0);
  DQ_TRY(read_inputs(test, graph, set, shapes, tensors));
  dq_session_options options = {.shapes = {.inputs = shapes, .input_count = graph->input_count}, .plain = test->plain};
  dq_session session;
  DQ_TRY(dq_session_open(&session, graph, &options, test->context, test->error));
  dq_status status = fill_inputs(test, graph, session.plan, tensors);
  if (status == DQ_OK) status = dq_plan_run(session.plan, test->error);
  if (status == DQ_OK) status = compare_outputs(test, session.plan, set);
  dq_session_close(&session);
  return status;
}

static dq_status run_graph(suite_case *test, const dq_graph *graph) {
  for (int s = 0;; s++) {
    char set[64], path[4400];
    snprintf(set, sizeof set, "test_data_set_%d", s);
    snprintf(path, sizeof path, "%s/%s", test->path, set);
    if (!exists(path)) return s ? DQ_OK : dq_fail(test->error, DQ_BAD_INPUT, "the case has no test_data_set_0");
    DQ_TRY(run_set(test, graph, set));
  }
}

static dq_status run_case(suite_case *test) {
  char path[4400];
  snprintf(path, sizeof path, "%s/model.onnx", test->path);
  dq_graph *graph;
  DQ_TRY(dq_onnx_load(&graph, path, test->context, test->error));
  test->arena = dq_context_arena(test->context);
  dq_status status = test->arena ? run_graph(test, graph) : dq_fail_memory(test->error, 0);
  dq_arena_free(test->arena);
  dq_graph_free(graph);
  return status;
}

// ---- The suite ----

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static dq_status run_entries(struct dirent **entries, int count, const char *folder, const dq_suite_options *options,
                             suite_case *test, dq_suite_counts *counts) {
  for (int i = 0; i < count; i++) {
    char model[4400];
    const char *name = entries[i]->d_name;
    snprintf(test->path, sizeof test->path, "%s/%s", folder, name);
    snprintf(model, sizeof model, "%s/model.onnx", test->path);
    if (name[0] == '.' || !exists(model) || (options->only && fnmatch(options->only, name, 0))) continue;
    dq_error local = {0};
    dq_error *outer = test->error;
    test->error = &local;
    dq_status status = run_case(test);
    test->error = outer;
    if (status == DQ_CANCELLED) return dq_fail(outer, status, "interrupted");
    dq_case_result result = status == DQ_OK            ? DQ_CASE_PASSED
                            : status == DQ_UNSUPPORTED ? DQ_CASE_SKIPPED
                                                       : DQ_CASE_FAILED;
    counts->of[result]++;
    if (options->report) options->report(options->user, name, result, local.message);
  }
  return DQ_OK;
}

dq_status dq_suite_run(const char *folder, const dq_suite_options *options, const dq_context *context,
                       dq_suite_counts *counts, dq_error *error) {
  struct dirent **entries;
  *counts = (dq_suite_counts){0};
  int count = scandir(folder, &entries, NULL, by_name);
  if (count < 0) return dq_fail_errno(error, folder);
  suite_case test = {.context = context, .plain = options->plain, .error = error};
  dq_status status = run_entries(entries, count, folder, options, &test, counts);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  if (status == DQ_OK && !(counts->of[0] + counts->of[1] + counts->of[2]))
    return dq_fail(error, DQ_BAD_INPUT, "%s: no test cases", folder);
  return status;
}
