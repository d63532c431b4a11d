// What analysis on data found out about layers, kept for further bounds on multiply-accumulates.
#include <stdlib.h>
#include <string.h>

#include "decomp/tucker/tucker_data.h"

typedef struct kept_layer {
  bool known;
  dq_ranks full;
  dq_hosvd hosvd;
  dq_fit_table table;
  double gain, tried;
} kept_layer;

struct dq_tucker_analysis {
  dq_arena *arena;    // of `layers`; NULL until filled
  kept_layer *layers; // in the order of the jobs
  int count;
  dq_arena **owned; // of what they point to, two per layer
};

dq_tucker_analysis *dq_tucker_analysis_new(void) { return calloc(1, sizeof(dq_tucker_analysis)); }

void dq_tucker_analysis_free(dq_tucker_analysis *analysis) {
  if (!analysis) return;
  for (int i = 0; i < 2 * analysis->count; i++) dq_arena_free(analysis->owned[i]);
  dq_arena_free(analysis->arena);
  free(analysis);
}

dq_status dq_tucker_analysis_store(dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count,
                                   const dq_context *context, dq_error *error) {
  analysis->arena = dq_context_arena(context);
  if (!analysis->arena) return dq_fail_memory(error, sizeof *analysis);
  analysis->layers = DQ_NEW_ARRAY(analysis->arena, count, kept_layer);
  analysis->owned = DQ_NEW_ARRAY(analysis->arena, 2 * count, dq_arena *);
  if (!analysis->layers || !analysis->owned) return dq_fail_memory(error, (size_t)count * sizeof(kept_layer));
  for (int i = 0; i < count; i++) {
    dq_tucker_job *job = &jobs[i];
    if (job->layer->reason[0]) continue;
    analysis->layers[i] = (kept_layer){true, job->layer->full, job->hosvd, job->table, job->gain, job->tried};
    analysis->owned[2 * i] = job->spectra, analysis->owned[2 * i + 1] = job->trial;
    job->spectra = job->trial = NULL;
  }
  analysis->count = count;
  return DQ_OK;
}

bool dq_tucker_analysis_recall(const dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count) {
  if (!analysis || analysis->count != count) return false;
  for (int i = 0; i < count; i++) {
    const kept_layer *layer = &analysis->layers[i];
    if (!layer->known) continue;
    jobs[i].layer->full = layer->full;
    jobs[i].hosvd = layer->hosvd;
    jobs[i].table = layer->table;
    jobs[i].gain = layer->gain;
    jobs[i].tried = layer->tried;
  }
  return true;
}
