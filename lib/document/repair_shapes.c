#include "lib/document/repair_shapes.h"

#include "lib/schedule/open_sizes.h"

enum { DOUBLED = 6 };

typedef struct repair {
  dq_graph *graph;
  dq_sizes sizes;
  dq_tensor *at;             // by value index: the shapes at these sizes
  dq_tensor *twice[DOUBLED]; // by open size: with that size doubled; NULL: the network does not fit then
  int sizes_tried;
  dq_context silent;
  dq_arena *arena;
} repair;

static bool is_fatal(dq_status status) { return status == DQ_SYSTEM || status == DQ_CANCELLED; }

static dq_status infer(const repair *job, int twice, dq_tensor **tensors, dq_error *error) {
  dq_shape_request request;
  dq_error reason = {0};
  dq_status status = dq_sizes_request(&job->sizes, job->graph, NULL, twice, job->arena, &request, &reason);
  if (status == DQ_OK)
    status = dq_infer_at(job->graph, &request, DQ_INFER_TOLERANT, &job->silent, job->arena, tensors, &reason);
  if (status == DQ_OK) return DQ_OK;
  *tensors = NULL;
  return is_fatal(status) ? dq_fail(error, status, "%s", reason.message) : DQ_OK;
}

// job->at is NULL where the shapes are not known.
static dq_status infer_all(repair *job, dq_error *error) {
  dq_error reason = {0};
  dq_status status = dq_sizes_assume(&job->sizes, job->graph, NULL, &job->silent, job->arena, &reason);
  if (is_fatal(status)) return dq_fail(error, status, "%s", reason.message);
  if (status != DQ_OK || !job->sizes.fit) return DQ_OK;
  DQ_TRY(infer(job, -1, &job->at, error));
  for (; job->at && job->sizes_tried < job->sizes.count && job->sizes_tried < DOUBLED; job->sizes_tried++)
    DQ_TRY(infer(job, job->sizes_tried, &job->twice[job->sizes_tried], error));
  return DQ_OK;
}

// The inferred shape of a value with open size `i` doubled; NULL: not known, or of another rank.
static const dq_tensor *doubled(const repair *job, int i, const dq_value *value) {
  const dq_tensor *twice = job->twice[i] ? &job->twice[i][value->index] : NULL;
  return twice && twice->rank == job->at[value->index].rank ? twice : NULL;
}

static bool contradicts(const repair *job, const dq_value *value) {
  const dq_tensor *at = &job->at[value->index];
  if (at->rank < 0 || value->rank < 0) return false;
  if (at->rank != value->rank) return true;
  for (int d = 0; d < value->rank; d++) {
    if (value->dims[d].size < 0) continue;
    if (value->dims[d].size != at->dims[d]) return true;
    for (int i = 0; i < job->sizes_tried; i++)
      if (doubled(job, i, value) && doubled(job, i, value)->dims[d] != value->dims[d].size) return true;
  }
  return false;
}

// Dimension d of an inferred shape as a declaration.
static dq_dimension dimension_of(const repair *job, const dq_value *value, int d) {
  const int64_t size = job->at[value->index].dims[d];
  const dq_open_size *changes = NULL;
  for (int i = 0; i < job->sizes_tried; i++) {
    const dq_tensor *twice = doubled(job, i, value);
    if (!twice) return (dq_dimension){.size = -1};
    if (twice->dims[d] == size) continue;
    if (changes || twice->dims[d] != 2 * size || size != job->sizes.open[i].size) return (dq_dimension){.size = -1};
    changes = &job->sizes.open[i];
  }
  if (!changes) return (dq_dimension){.size = job->sizes.count > DOUBLED ? -1 : size};
  return (dq_dimension){.size = -1, .symbol = changes->symbol};
}

static bool declare(const repair *job, dq_value *value) {
  const int rank = job->at[value->index].rank;
  dq_dimension *dims = DQ_NEW_ARRAY(job->graph->arena, rank, dq_dimension);
  if (!dims) return false;
  for (int d = 0; d < rank; d++) {
    dims[d] = dimension_of(job, value, d);
    if (dims[d].symbol && !(dims[d].symbol = dq_arena_strdup(job->graph->arena, dims[d].symbol))) return false;
  }
  value->rank = rank;
  value->dims = dims;
  value->origin = NULL;
  return true;
}

static dq_status repair_all(const repair *job, const dq_context *context, dq_error *error) {
  const dq_value *first = NULL;
  int count = 0;
  for (int v = 0; job->at && v < job->graph->value_count; v++) {
    dq_value *value = job->graph->values[v];
    if (!value->producer || !contradicts(job, value)) continue;
    if (!declare(job, value)) return dq_fail_memory(error, 0);
    if (!first || (value->is_output && !first->is_output)) first = value;
    count++;
  }
  if (count)
    dq_message(context, DQ_NOTE,
               "%s: shapes that the model declares contradict its nodes, %d in all, such as that of %s '%s'; the "
               "converted model declares what the nodes compute",
               job->graph->path ? job->graph->path : "the model", count, first->is_output ? "output" : "value",
               first->name);
  return DQ_OK;
}

static bool declares_any(const dq_graph *graph) {
  for (int v = 0; v < graph->value_count; v++)
    if (graph->values[v]->producer && graph->values[v]->rank >= 0) return true;
  return false;
}

dq_status dq_repair_shapes(dq_graph *graph, const dq_context *context, dq_error *error) {
  if (!declares_any(graph)) return DQ_OK;
  repair job = {.graph = graph, .silent = *context, .arena = dq_context_arena(context)};
  if (!job.arena) return dq_fail_memory(error, 0);
  job.silent.message = NULL;
  dq_status status = infer_all(&job, error);
  if (status == DQ_OK) status = repair_all(&job, context, error);
  dq_arena_free(job.arena);
  return status;
}
