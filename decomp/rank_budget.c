// Ranks of all layers together under a bound on multiply-accumulates.
//
// Minimised is the sum over layers of the relative squared error, each bounded by what the two
// modes leave out (De Lathauwer et al. 2000, property 10): D(a, b) = tail_out(a) + tail_in(b). By a
// Lagrange multiplier m (Everett: "Generalized Lagrange multiplier method", Operations Research 11,
// 1963) every layer takes for itself the ranks with the least D + m MACs, and m is found by
// bisection; a larger m never gives more multiply-accumulates.
#include <math.h>
#include <stdio.h>

#include "decomp/tucker_job.h"
#include "lib/base/sizes.h"

enum { STEPS = 60, LEAST_CHANNELS = 8 };

// The choices of one mode: ranks with the share of energy they leave out.
typedef struct choices {
  int64_t *ranks;
  double *tails;
  int64_t count;
} choices;

typedef struct candidate {
  dq_tucker_job *job;
  choices out, in;
  dq_conv_cost whole;
} candidate;

// Multiples of `multiple`, the full rank, and the channels (the mode stays whole).
static bool list_choices(choices *list, const dq_mode *mode, int64_t multiple, dq_arena *arena) {
  list->ranks = DQ_NEW_ARRAY(arena, mode->rank + 2, int64_t);
  list->tails = DQ_NEW_ARRAY(arena, mode->rank + 2, double);
  if (!list->ranks || !list->tails) return false;
  double all = 0, kept = 0;
  for (int64_t k = 0; k < mode->rank; k++) all += mode->values[k] * mode->values[k];
  for (int64_t k = 1; k <= mode->rank; k++) {
    kept += mode->values[k - 1] * mode->values[k - 1];
    if (k % multiple && k != mode->rank) continue;
    list->ranks[list->count] = k;
    list->tails[list->count++] = all > 0 ? fmax(0, 1 - kept / all) : 0;
  }
  if (mode->rank == mode->size) return true;
  list->ranks[list->count++] = mode->size; // tail 0
  return true;
}

// The ranks with the least D + price * MACs among those that make the layer cheaper and smaller, or
// the layer as it is.
static dq_ranks best_ranks(const candidate *c, double price) {
  dq_ranks best = {c->job->hosvd.out.size, c->job->hosvd.in.size};
  double least = price * (double)c->whole.macs;
  for (int64_t a = 0; a < c->out.count; a++)
    for (int64_t b = 0; b < c->in.count; b++) {
      dq_ranks ranks = {c->out.ranks[a], c->in.ranks[b]};
      double tails = c->out.tails[a] + c->in.tails[b], distortion = tails * tails;
      if (distortion >= least) continue;
      dq_conv_cost cost = dq_tucker_cost_at(c->job, ranks);
      double value = distortion + price * (double)cost.macs;
      if (value >= least || cost.macs >= c->whole.macs || cost.parameters >= c->whole.parameters)
        continue;
      least = value;
      best = ranks;
    }
  return best;
}

// Sets the ranks of all layers for a price; returns the multiply-accumulates saved.
static double set_ranks(const candidate *candidates, int count, double price) {
  double saved = 0;
  for (int i = 0; i < count; i++) {
    dq_ranks ranks = best_ranks(&candidates[i], price);
    candidates[i].job->layer->ranks = ranks;
    saved += (double)(candidates[i].whole.macs - dq_tucker_cost_at(candidates[i].job, ranks).macs);
  }
  return saved;
}

// The lowest price that saves `wanted` multiply-accumulates, by bisection of its logarithm.
static dq_status find_price(const candidate *candidates, int count, double total, double wanted,
                            dq_error *error) {
  double low = log(1e-9 / total), high = log(1e9 / total);
  double most = set_ranks(candidates, count, exp(high));
  if (most < wanted)
    return dq_fail(error, DQ_USAGE,
                   "%.1f %% fewer multiply-accumulates wanted, at most %.1f %% are possible",
                   100 * wanted / total, 100 * most / total);
  for (int step = 0; step < STEPS; step++) {
    double middle = 0.5 * (low + high);
    if (set_ranks(candidates, count, exp(middle)) >= wanted) high = middle;
    else low = middle;
  }
  set_ranks(candidates, count, exp(high));
  return DQ_OK;
}

static dq_status budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                        const dq_tucker_report *report, dq_arena *scratch, dq_error *error) {
  candidate *candidates = DQ_NEW_ARRAY(scratch, count, candidate);
  if (!candidates) return dq_fail_memory(error, (size_t)count * sizeof *candidates);
  int used = 0;
  for (int i = 0; i < count; i++) {
    dq_tucker_layer *layer = jobs[i].layer;
    if (layer->reason[0]) continue;
    if (layer->dims[1] * layer->group < LEAST_CHANNELS && !options->force) {
      snprintf(layer->reason, sizeof layer->reason, "reads %lld channels only",
               (long long)layer->dims[1]);
      continue;
    }
    candidate *c = &candidates[used++];
    c->job = &jobs[i];
    c->whole = layer->before;
    if (!list_choices(&c->out, &jobs[i].hosvd.out, options->multiple, scratch) ||
        !list_choices(&c->in, &jobs[i].hosvd.in, options->multiple, scratch))
      return dq_fail_memory(error, (size_t)layer->dims[0] * sizeof(double));
  }
  double total = (double)report->model_before.macs;
  return find_price(candidates, used, total, (1 - options->macs_share) * total, error);
}

dq_status dq_tucker_budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                           const dq_tucker_report *report, dq_error *error) {
  if (!report->macs_known || report->model_before.macs < 1)
    return dq_fail(
        error, DQ_USAGE,
        "the model's multiply-accumulates are not known, a share of them cannot be kept");
  dq_arena *scratch = dq_arena_new(0);
  if (!scratch) return dq_fail_memory(error, sizeof(candidate));
  dq_status status = budget(jobs, count, options, report, scratch, error);
  dq_arena_free(scratch);
  return status;
}
