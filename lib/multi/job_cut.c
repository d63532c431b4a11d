#include "lib/multi/job_cut.h"

#include <string.h>

int dq_cut_jobs(dq_job *jobs, const double *seconds, const bool *joined, int steps, double job_time) {
  int count = 0;
  for (int from = 0, end; from < steps; from = end) {
    double group = seconds[from];
    for (end = from + 1; end < steps && joined[end]; end++) group += seconds[end];
    dq_job *last = count ? &jobs[count - 1] : NULL;
    if (last && last->seconds + group <= job_time) {
      last->end = end;
      last->seconds += group;
    } else jobs[count++] = (dq_job){from, end, group};
  }
  return count;
}

// The length of the name of the layer that a node is a part of; 0: it is no part of a decomposed layer.
static size_t layer_length(const char *name) {
  const char *part = strstr(name, "/tucker_");
  return part ? (size_t)(part - name) : 0;
}

void dq_join_decomposed(const dq_plan *plan, bool *joined) {
  for (int s = 0; s < dq_plan_step_count(plan); s++) {
    const char *name = dq_plan_step(plan, s, NULL)->name, *before = s ? dq_plan_step(plan, s - 1, NULL)->name : "";
    size_t length = layer_length(name);
    joined[s] = length && length == layer_length(before) && !strncmp(name, before, length);
  }
}
