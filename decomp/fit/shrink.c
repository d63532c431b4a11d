#include "decomp/fit/shrink.h"

#include <math.h>

#include "decomp/fit/fit_internal.h"
#include "lib/base/sizes.h"

enum { MOST_OUTPUTS = 64 }; // output channels of a group that errors are looked at in, evenly spread

double dq_fit_strength(const dq_fit_halves *halves) {
  const double more = halves->outside - halves->inside;
  if (!(more > 0)) return DQ_FIT_RIDGE;
  return fmin(DQ_FIT_MOST_RIDGE, fmax(DQ_FIT_RIDGE, more / halves->distance));
}

// ---- The weight of the factors ----

// Row `o` of R for a group: [taps][in], as patches are.
static void expand_row(const dq_fit *fit, const dq_fit_problem *p, int64_t group, int64_t o, double *reduced,
                       double *row) {
  const int64_t width = fit->rank_in * p->taps;
  const double *core = fit->core + group * fit->rank_out * width;
  const double *output = fit->output ? fit->output + (group * p->out + o) * fit->rank_out : NULL;
  for (int64_t k = 0; k < width; k++) reduced[k] = output ? 0 : core[o * width + k];
  for (int64_t a = 0; output && a < fit->rank_out; a++)
    for (int64_t k = 0; k < width; k++) reduced[k] += output[a] * core[a * width + k];
  for (int64_t i = 0; i < p->patch; i++) row[i] = fit->input ? 0 : reduced[i % p->in * p->taps + i / p->in];
  for (int64_t b = 0; fit->input && b < fit->rank_in; b++)
    for (int64_t t = 0; t < p->taps; t++) {
      const double factor = reduced[b * p->taps + t];
      const double *input = fit->input + (group * fit->rank_in + b) * p->in;
      for (int64_t i = 0; i < p->in; i++) row[t * p->in + i] += factor * input[i];
    }
}

// Rows of R, those of the channels that are looked at.
static dq_status expand(const dq_fit *fit, const dq_fit_problem *p, int64_t group, dq_matrix *rows, dq_error *error) {
  const int64_t count = dq_min_i64(p->out, MOST_OUTPUTS);
  double *reduced = DQ_NEW_ARRAY(p->arena, fit->rank_in * p->taps, double);
  if (!reduced) return dq_fail_memory(error, sizeof(double));
  DQ_TRY(dq_fit_new_matrix(rows, count, p->patch, p->arena, error));
  for (int64_t r = 0; r < count; r++) expand_row(fit, p, group, r * p->out / count, reduced, rows->data + r * p->patch);
  return DQ_OK;
}

// ---- Errors ----

// E||t - R x - b||^2 = tt - 2 R xt + R xx R^T + (E t - R E x - b)^2, summed over the rows; `product` is R xx.
static double sum_errors(const dq_fit *fit, const dq_fit_problem *p, const dq_moments *m, int64_t group,
                         const dq_matrix *rows, const dq_matrix *product, double *variance) {
  double missed = 0;
  for (int64_t r = 0; r < rows->rows; r++) {
    const int64_t o = r * p->out / rows->rows, at = p->patch + o;
    const double *row = rows->data + r * p->patch, *weight = p->weight.data + o * p->patch;
    const double spread = (double)dq_moments_view(m, group, at, 1, at, 1).data[0];
    double error = spread, mean = p->t_mean[o] - fit->bias[group * p->out + o];
    for (int64_t i = 0; i < p->patch; i++) {
      const double xt = p->xt.data[i * p->out + o] - p->ridge * weight[i];
      error += row[i] * (product->data[r * p->patch + i] - 2 * xt);
      mean -= row[i] * p->x_mean[i];
    }
    missed += fmax(0, error) + mean * mean;
    *variance += spread;
  }
  return missed;
}

// What a look at factors adds to two sums for one group.
typedef dq_status look(const dq_fit *fit, const dq_fit_problem *p, const dq_moments *m, int64_t group, double sums[2],
                       dq_error *error);

// The error and the variance of the responses.
static dq_status add_missed(const dq_fit *fit, const dq_fit_problem *p, const dq_moments *m, int64_t group,
                            double sums[2], dq_error *error) {
  dq_matrix rows, product;
  DQ_TRY(expand(fit, p, group, &rows, error));
  DQ_TRY(dq_fit_new_matrix(&product, rows.rows, p->patch, p->arena, error));
  float *data = DQ_NEW_ARRAY(p->arena, 2 * rows.rows * p->patch, float);
  if (!data) return dq_fail_memory(error, (size_t)(2 * rows.rows * p->patch) * sizeof(float));
  const dq_matrix_f32 from = {rows.rows, p->patch, p->patch, data};
  const dq_matrix_f32 to = {rows.rows, p->patch, p->patch, data + rows.rows * p->patch};
  dq_fit_narrow(&rows, &from);
  DQ_TRY(dq_matrix_multiply_f32(false, &from, false, &p->xx, &to, error));
  dq_fit_widen(&to, &product);
  sums[0] += sum_errors(fit, p, m, group, &rows, &product, &sums[1]);
  return DQ_OK;
}

// m ||D||^2
static dq_status add_distance(const dq_fit *fit, const dq_fit_problem *p, const dq_moments *m, int64_t group,
                              double sums[2], dq_error *error) {
  dq_matrix rows;
  double square = 0;
  DQ_TRY(expand(fit, p, group, &rows, error));
  for (int64_t r = 0; r < rows.rows; r++) {
    const double *row = rows.data + r * p->patch, *weight = p->weight.data + r * p->out / rows.rows * p->patch;
    for (int64_t i = 0; i < p->patch; i++) square += (row[i] - weight[i]) * (row[i] - weight[i]);
  }
  sums[0] += square * dq_fit_mean_variance(m, group);
  return DQ_OK;
}

static dq_status look_at(look *at, const dq_fit *fit, const dq_moments *m, const dq_tensor *weight, double sums[2],
                         dq_error *error) {
  for (int64_t g = 0; g < m->group; g++) {
    dq_fit_problem p;
    dq_arena *scratch = dq_arena_new(m->budget);
    if (!scratch) return dq_fail_memory(error, sizeof p);
    dq_status status = dq_fit_open_problem(&p, m, weight, g, scratch, error);
    if (status == DQ_OK) status = at(fit, &p, m, g, sums, error);
    dq_arena_free(scratch);
    DQ_TRY(status);
  }
  return DQ_OK;
}

dq_status dq_fit_missed(const dq_fit *fit, const dq_moments *moments, const dq_tensor *weight, double *missed,
                        double *variance, dq_error *error) {
  double sums[2] = {0};
  DQ_TRY(look_at(add_missed, fit, moments, weight, sums, error));
  *missed += sums[0], *variance += sums[1];
  return DQ_OK;
}

// ---- Both ways ----

static dq_status look_at_both(dq_fit_halves *sums, const dq_fit *fit, const dq_moments *fitted, const dq_moments *other,
                              const dq_tensor *weight, dq_error *error) {
  double inside[2] = {0}, distance[2] = {0};
  DQ_TRY(look_at(add_missed, fit, fitted, weight, inside, error));
  DQ_TRY(look_at(add_distance, fit, fitted, weight, distance, error));
  sums->inside += inside[0], sums->distance += distance[0];
  return dq_fit_missed(fit, other, weight, &sums->outside, &sums->variance, error);
}

static dq_status fit_half(dq_fit_halves *sums, const dq_moments *fitted, const dq_moments *other,
                          const dq_tensor *weight, dq_ranks ranks, dq_error *error) {
  dq_fit fit;
  dq_arena *arena = dq_arena_new(fitted->budget);
  if (!arena) return dq_fail_memory(error, sizeof fit);
  dq_status status = dq_fit_solve(&fit, fitted, weight, ranks, 0, arena, error);
  if (status == DQ_OK) status = look_at_both(sums, &fit, fitted, other, weight, error);
  dq_arena_free(arena);
  return status;
}

static dq_status fit_halves(dq_fit_halves *sums, dq_moments halves[2], const dq_tensor *weight, dq_ranks ranks,
                            double strength, dq_error *error) {
  *sums = (dq_fit_halves){0};
  for (int h = 0; h < 2; h++) dq_fit_prepare(&halves[h], strength);
  for (int h = 0; h < 2; h++) DQ_TRY(fit_half(sums, &halves[h], &halves[1 - h], weight, ranks, error));
  return DQ_OK;
}

dq_status dq_fit_cross_validate(dq_fit_cross *cross, dq_moments halves[2], const dq_tensor *weight, dq_ranks ranks,
                                int steps, dq_error *error) {
  static const double MUCH_WORSE = 1.1;
  double strength = DQ_FIT_RIDGE, least = INFINITY;
  *cross = (dq_fit_cross){.strength = 1};
  for (int step = 0; halves[1].rows && step <= steps; step++) {
    dq_fit_halves sums;
    DQ_TRY(fit_halves(&sums, halves, weight, ranks, strength, error));
    if (!(sums.outside <= MUCH_WORSE * least)) break;
    least = fmin(least, sums.outside);
    *cross = (dq_fit_cross){strength, sums.variance > 0 ? sums.outside / sums.variance : 0};
    const double next = dq_fit_strength(&sums);
    if (next < 2 * strength && next > strength / 2) break;
    strength = next;
  }
  return DQ_OK;
}
