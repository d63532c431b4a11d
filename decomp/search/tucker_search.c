#include "decomp/search/tucker_search.h"

#include <inttypes.h>
#include <unistd.h>

#include "decomp/search/search.h"
#include "decomp/tucker/ranks_file.h"
#include "lib/base/clock.h"
#include "lib/document/origin.h"

typedef struct trials {
  const dq_graph *graph;
  const dq_tucker_search_options *options;
  dq_tucker_options settings;
  dq_context limited;    // ends a trial when the time is over
  dq_graph *last, *best; // of the last trial, NULL when it became the best; of the best one
  dq_tucker_report last_report, *best_report;
  dq_result last_after, *best_after;
  dq_arena *arena;
} trials;

// The original as the graph of the next trial; one that the clock has ended may have left its own.
static dq_status copy_original(trials *t, dq_error *error) {
  dq_graph_free(t->last);
  t->last = dq_graph_copy(t->graph);
  return t->last ? DQ_OK : dq_fail_memory(error, 0);
}

// Percentage of the multiply-accumulates that the decomposition saves; 0: none, or they are not known.
static double removed_by(const dq_tucker_report *report) {
  double before = (double)report->model_before.macs, after = (double)report->model_after.macs;
  return before > 0 ? 100 * (before - after) / before : 0;
}

static dq_status attempt(void *user, dq_search_trial *trial, dq_error *error) {
  trials *t = user;
  const dq_tucker_search_options *options = t->options;
  DQ_TRY(copy_original(t, error));
  dq_error local = {0};
  t->settings.macs_share = 1 - trial->percent / 100.0;
  dq_status status = dq_tucker_apply(t->last, &t->settings, &t->last_report, &local);
  if (status == DQ_CONDITION) return DQ_OK; // no ranks go so far
  if (status == DQ_OK)
    status = dq_accuracy_run(&t->last_after, t->last, options->eval, options->accuracy, t->settings.context, &local);
  if (status != DQ_OK) {
    if (error) *error = local;
    return status;
  }
  trial->possible = true;
  trial->removed = removed_by(&t->last_report);
  trial->drop = dq_accuracy_drop(options->before, &t->last_after);
  return DQ_OK;
}

static dq_status store(void *user, const dq_search_trial *trial, dq_error *error) {
  (void)trial;
  trials *t = user;
  dq_graph_free(t->best);
  t->best = t->last, *t->best_report = t->last_report, *t->best_after = t->last_after;
  t->last = NULL;
  return t->options->found ? t->options->found(t->options->user, t->best, t->best_report, error) : DQ_OK;
}

// The best model of an earlier run is made again, from its ranks where the clock had a say; without any, the original
// is the answer.
static dq_status recall(trials *t, const dq_search_result *result, dq_error *error) {
  if (t->best) return DQ_OK;
  dq_search_trial trial = {.percent = result->percent};
  const char *ranks = t->options->ranks;
  dq_layer_ranks *layers = NULL;
  if (result->percent && t->settings.never_slower && ranks && !access(ranks, R_OK)) {
    DQ_TRY(dq_ranks_load(ranks, t->arena, &layers, &t->settings.layer_count, error));
    t->settings.layers = layers;
  }
  if (result->percent) DQ_TRY(attempt(t, &trial, error));
  else {
    DQ_TRY(copy_original(t, error));
    t->last_report = (dq_tucker_report){0};
    t->last_after = *t->options->before;
  }
  return store(t, &trial, error);
}

// What trials depend on.
static const char *make_key(const trials *t) {
  const dq_tucker_options *settings = &t->settings;
  return dq_arena_printf(t->arena, "%016llx %s %" PRId64 " %d %d %d %d %d",
                         (unsigned long long)dq_origin_hash(t->graph), t->options->pictures ? t->options->pictures : "",
                         settings->multiple, settings->refine, settings->plain, settings->matrices, settings->force,
                         settings->never_slower);
}

static dq_status run(trials *t, dq_tucker_search_report *report, dq_error *error) {
  const dq_tucker_search_options *options = t->options;
  dq_search_options search = {.max_drop = options->max_drop,
                              .state = options->state,
                              .key = make_key(t),
                              .resume = options->resume,
                              .attempt = attempt,
                              .store = store,
                              .user = t,
                              .context = &t->limited};
  dq_search_result result;
  if (!search.key || !t->settings.analysis) return dq_fail_memory(error, 0);
  if (options->time_limit > 0) t->limited.deadline = dq_seconds() + options->time_limit;
  t->settings.context = &t->limited;
  DQ_TRY(dq_search(&search, &result, error));
  t->settings.context = options->tucker->context;
  report->percent = result.percent, report->drop = result.drop;
  report->trials = result.trials, report->complete = result.complete;
  DQ_TRY(recall(t, &result, error));
  report->removed = removed_by(t->best_report);
  return DQ_OK;
}

dq_status dq_tucker_search(dq_graph **answer, const dq_graph *graph, dq_tucker_report *tucker,
                           dq_tucker_search_report *report, const dq_tucker_search_options *options, dq_error *error) {
  *report = (dq_tucker_search_report){0};
  trials t = {.graph = graph,
              .options = options,
              .settings = *options->tucker,
              .limited = *options->tucker->context,
              .best_report = tucker,
              .best_after = &report->after,
              .arena = dq_context_arena(options->tucker->context)};
  t.settings.analysis = dq_tucker_analysis_new();
  dq_status status = t.arena ? run(&t, report, error) : dq_fail_memory(error, 0);
  dq_tucker_analysis_free(t.settings.analysis);
  dq_arena_free(t.arena);
  dq_graph_free(t.last);
  if (status != DQ_OK) dq_graph_free(t.best);
  *answer = status == DQ_OK ? t.best : NULL;
  return status;
}
