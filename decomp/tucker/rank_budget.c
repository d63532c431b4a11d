// Ranks of all layers together under a bound on multiply-accumulates.
//
// Minimised is the sum over layers of a loss. With data it is the noise in the network's outputs: the
// share of the layer's answers that the ranks miss times the layer's measured gain. Without, it is the
// square of the bound on the relative squared error of the weight, D(a, b) = tail_out(a) + tail_in(b)
// (De Lathauwer et al. 2000, property 10).
//
// By a Lagrange multiplier m (Everett: "Generalized Lagrange multiplier method", Operations Research
// 11, 1963) every layer takes for itself the ranks with the least loss + m MACs, and m is found by
// bisection; a larger m never gives more multiply-accumulates. That reaches only ranks on the convex
// hull; what is left of the bound is then given to where it lowers the loss most per MAC.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decomp/tucker/tucker_job.h"
#include "lib/base/sizes.h"

// The share of a weight's energy that float32 rounds away anyway (some units of 2^-24, squared), with room for sums: a
// layer loses nothing at ranks that leave out less.
#define LOSSLESS 1e-12

enum { STEPS = 60, LEAST_CHANNELS = 8, MOST_CHOICES = 1024 };

// The choices of one mode: ranks with the share of energy they leave out.
typedef struct choices {
  int64_t *ranks;
  double *tails;
  int64_t count;
} choices;

typedef struct point {
  dq_ranks ranks;
  double macs, loss;
} point;

// A layer with its choices that no other choice beats in both: by rising multiply-accumulates and
// falling loss, the last is the layer as it is.
typedef struct candidate {
  dq_tucker_job *job;
  choices out, in;
  bool few; // reads so few channels that ranks below its true ones are a last resort
  point *points;
  int64_t count, chosen;
} candidate;

// The choices of a mode; `whole_only`: of a matrix's output, which has no factor of its own.
// Multiples of `multiple` (wider apart for very many channels) up to the first that loses nothing, else up to the full
// rank, and the channels (the mode stays whole).
static bool list_choices(choices *list, const dq_mode *mode, int64_t multiple, bool whole_only, dq_arena *arena) {
  int64_t step = multiple * ((mode->rank + multiple * MOST_CHOICES - 1) / (multiple * MOST_CHOICES));
  list->ranks = DQ_NEW_ARRAY(arena, mode->rank + 2, int64_t);
  list->tails = DQ_NEW_ARRAY(arena, mode->rank + 2, double);
  if (!list->ranks || !list->tails) return false;
  if (whole_only) {
    list->ranks[list->count++] = mode->size; // tail 0
    return true;
  }
  double all = 0, kept = 0;
  bool found = false;
  for (int64_t k = 0; k < mode->rank; k++) all += mode->values[k] * mode->values[k];
  for (int64_t k = 1; k <= mode->rank; k++) {
    kept += mode->values[k - 1] * mode->values[k - 1];
    bool lossless = !found && k % multiple == 0 && all - kept <= LOSSLESS * all; // may lie between the steps
    found = found || lossless;
    if (found && !lossless) continue; // directions beyond the true rank are arbitrary
    if (k % step && k != mode->rank && !lossless) continue;
    list->ranks[list->count] = k;
    list->tails[list->count++] = all > 0 ? fmax(0, 1 - kept / all) : 0;
  }
  if (list->count && list->ranks[list->count - 1] == mode->size) return true;
  list->ranks[list->count++] = mode->size; // tail 0
  return true;
}

// Lists the in-ranks: those of the table of response errors where there is one (with data), else those of the spectrum.
static bool list_in_choices(candidate *c, int64_t multiple, dq_arena *arena) {
  const dq_fit_table *table = &c->job->table;
  if (!table->in_count) return list_choices(&c->in, &c->job->hosvd.in, multiple, false, arena);
  c->in = (choices){table->in_ranks, DQ_NEW_ARRAY(arena, table->in_count, double), table->in_count};
  return c->in.tails != NULL;
}

// The error that is assumed of a layer of which nothing is left, besides what is known: where several ranks show no
// error, those that save less are better. Errors of responses come from finitely many samples and are known less well
// than those of weights. Chosen, not measured.
static const double LEAST_GAIN = 1e-9; // of a layer that showed no effect on the pictures
static const double UNKNOWN_WEIGHT_LOSS = 1e-9, UNKNOWN_RESPONSE_LOSS = 1e-8;

// The response error as it counts. A gain was measured with one error, the trial's. Larger ones leave out more of what
// the outputs depend on, such as the mean over a plane, while small ones are noise that means take away: beyond the
// trial, and beyond SMALL_ERROR, the noise in the outputs is taken to grow with the square of the error.
static double beyond_trial(const dq_tucker_job *job, double error) {
  static const double SMALL_ERROR = 0.003;
  return error * fmax(1, error / fmax(job->tried, SMALL_ERROR));
}

// What number a and b of the lists cost in quality; `saved` is the share of the layer's multiply-accumulates.
static double loss_at(const candidate *c, int64_t a, int64_t b, double saved) {
  const dq_fit_table *table = &c->job->table;
  double tails = c->out.tails[a] + c->in.tails[b];
  if (!table->in_count) return tails * tails + UNKNOWN_WEIGHT_LOSS * saved * saved;
  double error = table->errors[b * table->out + c->out.ranks[a] - 1];
  return fmax(c->job->gain, LEAST_GAIN) * (beyond_trial(c->job, error) + UNKNOWN_RESPONSE_LOSS * saved * saved);
}

static int by_macs(const void *a, const void *b) {
  const point *p = a, *q = b;
  if (p->macs != q->macs) return p->macs < q->macs ? -1 : 1;
  if (p->loss != q->loss) return p->loss < q->loss ? -1 : 1;
  if (p->ranks.out != q->ranks.out) return p->ranks.out < q->ranks.out ? -1 : 1;
  return (p->ranks.in > q->ranks.in) - (p->ranks.in < q->ranks.in);
}

// Keeps of the sorted points those with less loss than every cheaper one.
static int64_t keep_best(point *points, int64_t count) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i++)
    if (!kept || points[i].loss < points[kept - 1].loss) points[kept++] = points[i];
  return kept;
}

// Everything that makes the layer cheaper and smaller, and the layer as it is.
static dq_status list_points(candidate *c, dq_arena *arena, dq_error *error) {
  dq_conv_cost whole = c->job->layer->before;
  point *points = DQ_NEW_ARRAY(arena, c->out.count * c->in.count + 1, point);
  if (!points) return dq_fail_memory(error, (size_t)(c->out.count * c->in.count) * sizeof *points);
  int64_t count = 0;
  for (int64_t a = 0; a < c->out.count; a++)
    for (int64_t b = 0; b < c->in.count; b++) {
      dq_ranks ranks = {c->out.ranks[a], c->in.ranks[b]};
      dq_conv_cost cost = dq_tucker_cost_at(c->job, ranks);
      if (c->few && c->out.tails[a] + c->in.tails[b] > LOSSLESS) continue;
      if (cost.macs < whole.macs && cost.parameters < whole.parameters)
        points[count++] =
            (point){ranks, (double)cost.macs, loss_at(c, a, b, 1 - (double)cost.macs / (double)whole.macs)};
    }
  points[count++] = (point){{c->job->hosvd.out.size, c->job->hosvd.in.size}, (double)whole.macs, 0};
  qsort(points, (size_t)count, sizeof *points, by_macs);
  c->points = points;
  c->count = keep_best(points, count);
  return DQ_OK;
}

// Chooses for a price of a multiply-accumulate; returns how many are saved.
static double choose(candidate *candidates, int count, double price) {
  double saved = 0;
  for (int i = 0; i < count; i++) {
    candidate *c = &candidates[i];
    c->chosen = c->count - 1;
    for (int64_t k = c->count - 1; k >= 0; k--)
      if (c->points[k].loss + price * c->points[k].macs < c->points[c->chosen].loss + price * c->points[c->chosen].macs)
        c->chosen = k;
    saved += (double)c->job->layer->before.macs - c->points[c->chosen].macs;
  }
  return saved;
}

// Spends what is left of the bound, each time where it lowers the loss most per multiply-accumulate.
static void spend(candidate *candidates, int count, double left) {
  for (;;) {
    candidate *best = NULL;
    int64_t best_point = 0;
    double best_ratio = 0;
    for (int i = 0; i < count; i++) {
      candidate *c = &candidates[i];
      const point *now = &c->points[c->chosen];
      for (int64_t k = c->chosen + 1; k < c->count && c->points[k].macs - now->macs <= left; k++) {
        double ratio = (now->loss - c->points[k].loss) / (c->points[k].macs - now->macs);
        if (ratio > best_ratio) best = c, best_point = k, best_ratio = ratio;
      }
    }
    if (!best) return;
    left -= best->points[best_point].macs - best->points[best->chosen].macs;
    best->chosen = best_point;
  }
}

#define HIGHEST_PRICE 1e15 // of all multiply-accumulates together: losses do not count beside it

// Both in percent of the model's multiply-accumulates.
static dq_status fail_out_of_reach(double wanted, double most, dq_error *error) {
  double offered = floor(10 * most) / 10;
  dq_fail(error, DQ_CONDITION, "%.1f %% fewer multiply-accumulates wanted, at most %.1f %% are possible", wanted, most);
  if (offered > 0) dq_error_hint(error, "--macs -%g%% is possible", offered);
  return DQ_CONDITION;
}

// The lowest price that saves `wanted` multiply-accumulates, by bisection of its logarithm.
static dq_status find_price(candidate *candidates, int count, double total, double wanted, dq_error *error) {
  double low = log(1e-15 / total), high = log(HIGHEST_PRICE / total);
  double most = choose(candidates, count, exp(high));
  if (most < wanted) return fail_out_of_reach(100 * wanted / total, 100 * most / total, error);
  for (int step = 0; step < STEPS; step++) {
    double middle = 0.5 * (low + high);
    if (choose(candidates, count, exp(middle)) >= wanted) high = middle;
    else low = middle;
  }
  spend(candidates, count, choose(candidates, count, exp(high)) - wanted);
  for (int i = 0; i < count; i++) candidates[i].job->layer->ranks = candidates[i].points[candidates[i].chosen].ranks;
  return DQ_OK;
}

static dq_status open_candidates(candidate *candidates, int *used, dq_tucker_job *jobs, int count,
                                 const dq_tucker_options *options, dq_arena *scratch, dq_error *error) {
  for (int i = 0; i < count; i++) {
    const dq_tucker_layer *layer = jobs[i].layer;
    if (layer->reason[0]) continue;
    candidate *c = &candidates[(*used)++];
    c->job = &jobs[i];
    c->few = layer->dims[1] * layer->group < LEAST_CHANNELS && !options->force && !options->data;
    if (!list_choices(&c->out, &jobs[i].hosvd.out, options->multiple, jobs[i].matrix, scratch) ||
        !list_in_choices(c, options->multiple, scratch))
      return dq_fail_memory(error, (size_t)layer->dims[0] * sizeof(double));
    DQ_TRY(list_points(c, scratch, error));
  }
  return DQ_OK;
}

// Whether layers that the clock refused may come back, so that no last resort is needed yet.
static bool may_return(const dq_tucker_job *jobs, int count, const dq_tucker_options *options) {
  for (int i = 0; options->bound_first && i < count; i++)
    if (jobs[i].refused && jobs[i].layer->reason[0]) return true;
  return false;
}

static dq_status budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                        const dq_tucker_report *report, dq_arena *scratch, dq_error *error) {
  candidate *candidates = DQ_NEW_ARRAY(scratch, count, candidate);
  if (!candidates) return dq_fail_memory(error, (size_t)count * sizeof *candidates);
  int used = 0;
  DQ_TRY(open_candidates(candidates, &used, jobs, count, options, scratch, error));
  double total = (double)report->model_before.macs, wanted = (1 - options->macs_share) * total;
  bool enough = may_return(jobs, count, options) || choose(candidates, used, HIGHEST_PRICE / total) >= wanted;
  for (int i = 0; i < used && !enough; i++) {
    if (!candidates[i].few) continue;
    candidates[i].few = false;
    DQ_TRY(list_points(&candidates[i], scratch, error));
  }
  return find_price(candidates, used, total, wanted, error);
}

// The fewest multiply-accumulates of a layer at ranks that list_points offers.
static double fewest_macs(const dq_tucker_job *job, const dq_tucker_options *options) {
  const dq_tucker_layer *layer = job->layer;
  int64_t taps = layer->dims[2] * layer->dims[3], out = layer->dims[0] / layer->group, in = layer->dims[1];
  int64_t least = dq_min_i64(options->multiple, dq_min_i64(in, out * taps));
  if (options->data) least = dq_fit_least_in_rank(in, out, taps, options->multiple);
  const int64_t outs[] = {job->matrix ? out : dq_min_i64(options->multiple, dq_min_i64(out, in * taps)), out};
  const int64_t ins[] = {least, in};
  dq_conv_cost whole = layer->before;
  double fewest = (double)whole.macs;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      dq_conv_cost cost = dq_tucker_cost_at(job, (dq_ranks){outs[a], ins[b]});
      if (cost.parameters < whole.parameters) fewest = fmin(fewest, (double)cost.macs);
    }
  return fewest;
}

static dq_status check_known(const dq_tucker_report *report, dq_error *error) {
  if (report->macs_known && report->model_before.macs > 0) return DQ_OK;
  if (report->macs_known)
    return dq_fail(error, DQ_CONDITION, "the model has no multiply-accumulates, and nothing to decompose");
  if (report->uncounted)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "node '%.200s': its multiply-accumulates are not known, so a share of the model's cannot be kept; "
                   "--ratio and --energy need none",
                   report->uncounted);
  return dq_fail(error, DQ_USAGE, "the model's multiply-accumulates are not known, a share of them cannot be kept");
}

dq_status dq_tucker_check_reach(const dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                                const dq_tucker_report *report, dq_error *error) {
  if (!(options->macs_share > 0) || options->layers) return DQ_OK;
  DQ_TRY(check_known(report, error));
  double total = (double)report->model_before.macs, wanted = (1 - options->macs_share) * total, most = 0;
  for (int i = 0; i < count; i++)
    if (!jobs[i].layer->reason[0]) most += (double)jobs[i].layer->before.macs - fewest_macs(&jobs[i], options);
  return most < wanted ? fail_out_of_reach(100 * wanted / total, 100 * most / total, error) : DQ_OK;
}

dq_status dq_tucker_budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                           const dq_tucker_report *report, dq_error *error) {
  DQ_TRY(check_known(report, error));
  dq_arena *scratch = dq_context_arena(options->context);
  if (!scratch) return dq_fail_memory(error, sizeof(candidate));
  dq_status status = budget(jobs, count, options, report, scratch, error);
  dq_arena_free(scratch);
  return status;
}
