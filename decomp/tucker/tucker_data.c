#include "decomp/tucker/tucker_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decomp/fit/responses.h"
#include "lib/base/sizes.h"
#include "lib/passes/fold_affine.h"

enum { ROUNDS = 4, REFINEMENT_ROUNDS = 20, STRENGTHS = 2 };
// All pictures are twice as many as those of a half, which the strength was found for. Half of it is better than all of
// it on networks that were fitted to 32 pictures (docs/experiments/tucker.md).
static const double HALVED = 0.5;
// Moments of one run over the pictures.
static const size_t MOMENT_BYTES = (size_t)1 << 29;

dq_status dq_tucker_data_fold(dq_graph *graph, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n], *convolution = node->removed ? NULL : dq_affine_convolution(node);
    if (convolution) DQ_TRY(dq_affine_fold(graph, convolution, node, error));
  }
  return dq_graph_drop_constants(graph, error); // weights that were folded twice leave a constant behind
}

static dq_status open_moments(dq_tucker_job *job, const dq_context *context, dq_error *error) {
  job->sums = dq_context_arena(context);
  if (!job->sums) return dq_fail_memory(error, sizeof(dq_moments));
  for (int h = 0; h < 2; h++)
    DQ_TRY(dq_moments_init(&job->halves[h], job->layer->dims, job->layer->group, job->sums, error));
  return DQ_OK;
}

static void close_moments(dq_tucker_job *job) {
  dq_arena_free(job->sums);
  job->sums = NULL;
}

static dq_response_site site_of(dq_tucker_job *job) {
  return (dq_response_site){.node = job->node,
                            .input = dq_node_input(job->node, 0)->name,
                            .output = dq_node_output(job->node, 0)->name,
                            .beside = job->beside,
                            .matrix = job->matrix,
                            .halves = job->halves};
}

static dq_status measure(const dq_tucker_data *data, const dq_graph *current, const dq_response_site *sites, int count,
                         const char *doing, dq_error *error) {
  static const dq_context plain = {0};
  const dq_tucker_options *options = data->options;
  dq_response_run run = {.original = data->original,
                         .current = current,
                         .shapes = options->shapes,
                         .data = options->data,
                         .pictures = dq_tucker_data_pictures(options),
                         .doing = doing,
                         .batch = options->batch};
  return dq_responses_measure(&run, sites, count, options->context ? options->context : &plain, error);
}

// ---- Analysis ----

// Singular values whose squares are what each further direction explains.
static void set_spectrum(dq_mode *mode, double *values, const double *errors, int64_t count) {
  double before = 1;
  for (int64_t k = 0; k < mode->rank; k++) {
    double after = k < count ? errors[k] : 0;
    values[k] = sqrt(fmax(before - after, 0));
    before = fmin(before, after);
  }
  mode->values = values;
}

// Errors at every in-rank, straight lines between those of the table.
static void interpolate(const dq_fit_table *table, int64_t full, double *errors) {
  double before = 1;
  int64_t from = 0;
  for (int64_t i = 0; i < table->in_count; i++) {
    int64_t to = dq_min_i64(table->in_ranks[i], full);
    double after = table->errors[i * table->out + table->out - 1];
    for (int64_t k = from; k < to; k++)
      errors[k] = before + (after - before) * (double)(k + 1 - from) / (double)(to - from);
    from = to, before = after;
  }
}

static dq_status set_spectra(dq_tucker_job *job, dq_error *error) {
  const dq_fit_table *table = &job->table;
  dq_mode *out = &job->hosvd.out, *in = &job->hosvd.in;
  double *values = DQ_NEW_ARRAY(job->trial, 2 * (out->size + in->size), double);
  if (!values) return dq_fail_memory(error, (size_t)(out->size + in->size) * sizeof *values);
  double *errors = values + out->size + in->size;
  interpolate(table, in->rank, errors);
  set_spectrum(in, values, errors, in->rank);
  set_spectrum(out, values + in->size, table->errors + (table->in_count - 1) * table->out, out->size);
  return DQ_OK;
}

// The ranks with the least error among those with at most a share of the layer's
// multiply-accumulates; the cheapest when there are none.
static dq_ranks trial_ranks(const dq_tucker_job *job, double share) {
  const dq_fit_table *table = &job->table;
  dq_ranks best = {job->matrix ? table->out : 1, table->in_ranks[0]};
  double least = INFINITY;
  for (int64_t i = 0; i < table->in_count; i++)
    for (int64_t a = job->matrix ? table->out : 1; a <= table->out; a++) {
      dq_ranks ranks = {a, table->in_ranks[i]};
      double error = table->errors[i * table->out + a - 1];
      if (error >= least || !dq_tucker2_ranks_fit(&job->hosvd, a, ranks.in)) continue;
      double macs = (double)dq_tucker_cost_at(job, ranks).macs;
      if (macs > share * (double)job->layer->before.macs) continue;
      least = error, best = ranks;
    }
  return best;
}

static dq_status make_dense(dq_tucker_job *job, const dq_fit *fit, dq_arena *scratch, dq_error *error) {
  dq_tucker2 factors;
  int64_t count = dq_tensor_count(job->tensor);
  double *weight = DQ_NEW_ARRAY(scratch, count, double);
  job->dense = dq_tensor_new(job->trial, DQ_F32, 4, job->tensor->dims);
  job->shift = dq_tensor_new(job->trial, DQ_F32, 1, job->tensor->dims);
  if (!weight || !job->dense || !job->shift) return dq_fail_memory(error, (size_t)count * sizeof(double));
  DQ_TRY(dq_tucker2_store(&factors, &job->hosvd,
                          &(dq_tucker2_exact){fit->rank_out, fit->rank_in, fit->input, fit->core, fit->output}, scratch,
                          error));
  DQ_TRY(dq_tucker2_reconstruct(&factors, weight, error));
  for (int64_t i = 0; i < count; i++) ((float *)job->dense->data)[i] = (float)weight[i];
  for (int64_t o = 0; o < job->shift->dims[0]; o++) ((float *)job->shift->data)[o] = (float)fit->bias[o];
  return DQ_OK;
}

// The trial of a job: at the ranks of its share, fitted to the second half of the pictures without refinement. The
// first half of the moments holds all pictures by now.
static dq_status make_trial(dq_tucker_job *job, double strength, dq_error *error) {
  dq_fit fit;
  const dq_fit_table *table = &job->table;
  dq_moments *fitted = &job->halves[job->halves[1].rows > 0];
  dq_arena *scratch = dq_arena_beside(job->trial);
  if (!scratch) return dq_fail_memory(error, sizeof fit);
  job->layer->ranks = trial_ranks(job, job->gain);
  dq_fit_prepare(fitted, strength);
  dq_status status = dq_fit_solve(&fit, fitted, job->tensor, job->layer->ranks, 0, scratch, error);
  close_moments(job);
  if (status == DQ_OK) status = make_dense(job, &fit, scratch, error);
  dq_arena_free(scratch);
  int64_t i = 0;
  while (table->in_ranks[i] != job->layer->ranks.in) i++;
  job->tried = table->errors[i * table->out + job->layer->ranks.out - 1];
  return status;
}

// Ranks at which the strength of the ridge is looked for before the ranks are known: a quarter of the inputs.
static dq_ranks ranks_for_strength(const dq_tucker_job *job) {
  const int64_t out = job->layer->dims[0] / job->layer->group, in = job->layer->dims[1];
  return (dq_ranks){out, dq_max_i64(1, dq_min_i64(in, out * job->halves[0].taps) / 4)};
}

static dq_status centre(dq_tucker_job *job, dq_error *error) {
  DQ_TRY(dq_moments_centre(&job->halves[0], error));
  return job->halves[1].rows ? dq_moments_centre(&job->halves[1], error) : DQ_OK;
}

// Table and trial of a job from its moments, which are freed.
static dq_status analyse_job(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  if (!job->sums) return DQ_OK;
  job->trial = dq_context_arena(options->context);
  if (!job->trial) return dq_fail_memory(error, sizeof(dq_fit));
  dq_fit_cross cross;
  DQ_TRY(centre(job, error));
  DQ_TRY(dq_fit_cross_validate(&cross, job->halves, job->tensor, ranks_for_strength(job), STRENGTHS, error));
  dq_moments_pool(&job->halves[0], &job->halves[1]);
  dq_fit_prepare(&job->halves[0], HALVED * cross.strength);
  DQ_TRY(dq_fit_errors(&job->table, &job->halves[0], job->tensor, options->multiple, job->trial, error));
  DQ_TRY(set_spectra(job, error));
  if (options->macs_share > 0) return make_trial(job, cross.strength, error);
  close_moments(job);
  return DQ_OK;
}

// A trial keeps at least so much of a layer that some rank is left, and leaves out so much that its noise can be told
// from rounding. Chosen, not measured.
static const double LEAST_TRIED = 0.1, MOST_TRIED = 0.95;

// The share of its multiply-accumulates that every layer would keep if all kept the same; for an analysis
// that serves several bounds, one of half.
static double common_share(const dq_tucker_data *data, const dq_tucker_report *report) {
  double layers = 0, total = (double)report->model_before.macs;
  double kept = data->options->analysis ? 0.5 : data->options->macs_share;
  for (int i = 0; i < data->count; i++)
    if (!data->jobs[i].layer->reason[0]) layers += (double)data->jobs[i].layer->before.macs;
  double wanted = (1 - kept) * total;
  return layers > 0 ? fmin(MOST_TRIED, fmax(LEAST_TRIED, 1 - wanted / layers)) : 1;
}

static dq_status analyse_batch(dq_tucker_data *data, int *next, dq_arena *arena, dq_error *error) {
  dq_response_site *sites = DQ_NEW_ARRAY(arena, data->count, dq_response_site);
  if (!sites) return dq_fail_memory(error, (size_t)data->count * sizeof *sites);
  size_t bytes = 0;
  int count = 0;
  for (; *next < data->count; ++*next) {
    dq_tucker_job *job = &data->jobs[*next];
    if (job->layer->reason[0]) continue;
    size_t own = 2 * dq_moments_bytes(job->layer->dims, job->layer->group);
    if (count && bytes + own > MOMENT_BYTES) break;
    DQ_TRY(dq_check_memory(data->options->context, own, "moments of responses", error));
    DQ_TRY(open_moments(job, data->options->context, error));
    sites[count++] = site_of(job);
    bytes += own;
  }
  if (!count) return DQ_OK;
  DQ_TRY(measure(data, data->original, sites, count, "responses", error));
  return dq_tucker_run(data->jobs, data->count, analyse_job, data->options, "errors at all ranks", error);
}

// Answers to which the network itself adds something cannot be fitted.
static int count_candidates(const dq_tucker_data *data) {
  int count = 0;
  for (int i = 0; i < data->count; i++) {
    dq_tucker_job *job = &data->jobs[i];
    const dq_value *bias = dq_node_input(job->node, 2);
    if (!job->layer->reason[0] && bias && !bias->constant) strcpy(job->layer->reason, "bias is not constant");
    count += !job->layer->reason[0];
  }
  return count;
}

static dq_status analyse_all(dq_tucker_data *data, const dq_tucker_report *report, dq_error *error) {
  double share = common_share(data, report);
  for (int i = 0; i < data->count; i++) data->jobs[i].gain = share;
  dq_arena *arena = dq_context_arena(data->options->context);
  if (!arena) return dq_fail_memory(error, sizeof(dq_response_site));
  dq_status status = DQ_OK;
  for (int next = 0; status == DQ_OK && next < data->count;) status = analyse_batch(data, &next, arena, error);
  dq_arena_free(arena);
  if (status == DQ_OK && data->options->macs_share > 0) status = dq_tucker_gains(data, error);
  return status;
}

dq_status dq_tucker_data_analyse(dq_tucker_data *data, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_options *options = data->options;
  int candidates = count_candidates(data);
  bool known = dq_tucker_analysis_recall(options->analysis, data->jobs, data->count);
  if (!candidates || known) return DQ_OK;
  DQ_TRY(dq_tucker_run(data->jobs, data->count, dq_tucker_analyse, options, "singular values", error));
  if (options->layers) return DQ_OK;
  DQ_TRY(analyse_all(data, report, error));
  if (!options->analysis) return DQ_OK;
  return dq_tucker_analysis_store(options->analysis, data->jobs, data->count, options->context, error);
}

// ---- Factors ----

static dq_status apply(dq_tucker_job *job, const dq_fit *fit, dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  DQ_TRY(dq_tucker2_store(&job->factors, &job->hosvd,
                          &(dq_tucker2_exact){layer->ranks.out, layer->ranks.in, fit->input, fit->core, fit->output},
                          job->arena, error));
  job->bias_fitted = dq_tensor_new(job->arena, DQ_F32, 1, job->tensor->dims);
  if (!job->bias_fitted) return dq_fail_memory(error, sizeof(dq_tensor));
  for (int64_t o = 0; o < layer->dims[0]; o++) ((float *)job->bias_fitted->data)[o] = (float)fit->bias[o];
  layer->error = job->factors.error;
  layer->response_error = fit->error;
  return DQ_OK;
}

// Leaves the layer as it is where its factors are no better than the mean of the responses on pictures that they are
// not fitted to; with given ranks or `force` a warning reports that.
static void heed_error(dq_tucker_job *job, const dq_tucker_options *options, double missed) {
  dq_tucker_layer *layer = job->layer;
  char text[80];
  if (missed < 1) return;
  snprintf(text, sizeof text, "misses %.0f %% of the responses on other pictures", 100 * fmin(missed, 1e6));
  if (options->force || job->given) {
    dq_message(options->context, DQ_WARNING, "layer '%s' %s than it is fitted to", layer->name, text);
    return;
  }
  strcpy(layer->reason, text);
  job->unfit = true;
  layer->after = layer->before;
}

static dq_status fit_job(dq_tucker_data *data, dq_tucker_job *job, dq_error *error) {
  const dq_tucker_options *options = data->options;
  const int rounds = options->refine ? REFINEMENT_ROUNDS : ROUNDS;
  dq_response_site site = site_of(job);
  dq_moments *all = &job->halves[0];
  dq_fit_cross cross;
  dq_fit fit;
  DQ_TRY(measure(data, data->graph, &site, 1, job->layer->name, error));
  DQ_TRY(centre(job, error));
  DQ_TRY(dq_fit_cross_validate(&cross, job->halves, job->tensor, job->layer->ranks, STRENGTHS, error));
  heed_error(job, options, cross.error);
  if (job->layer->reason[0]) return DQ_OK;
  dq_moments_pool(all, &job->halves[1]);
  dq_fit_prepare(all, HALVED * cross.strength);
  DQ_TRY(dq_fit_solve(&fit, all, job->tensor, job->layer->ranks, rounds, job->sums, error));
  if (job->halves[1].rows) fit.error = cross.error;
  return apply(job, &fit, error);
}

dq_status dq_tucker_data_fit(dq_tucker_data *data, dq_tucker_job *job, dq_error *error) {
  job->bias = true;
  DQ_TRY(dq_tucker_decide(job, data->options, error));
  if (job->layer->reason[0]) return DQ_OK;
  DQ_TRY(open_moments(job, data->options->context, error));
  dq_status status = fit_job(data, job, error);
  close_moments(job);
  dq_arena_free(job->spectra);
  job->spectra = NULL;
  if (status != DQ_OK) return dq_error_prefix(error, status, "layer '%s'", job->layer->name);
  return DQ_OK;
}
