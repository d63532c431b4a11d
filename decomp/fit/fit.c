// Least squares on moments: the ridge, errors at all ranks, the factors.
#include <math.h>
#include <string.h>

#include "decomp/fit/fit_internal.h"
#include "lib/base/sizes.h"

// ---- One group ----

// The weight of a group with the channels innermost, as patches have them.
static dq_status load_weight(dq_fit_problem *p, const dq_moments *m, const dq_tensor *weight, int64_t group,
                             dq_error *error) {
  DQ_TRY(dq_fit_new_matrix(&p->weight, p->out, p->patch, p->arena, error));
  const float *from = (const float *)weight->data + group * p->out * p->patch;
  for (int64_t o = 0; o < p->out; o++)
    for (int64_t i = 0; i < m->in; i++)
      for (int64_t t = 0; t < m->taps; t++) p->weight.data[o * p->patch + t * m->in + i] = (double)*from++;
  return DQ_OK;
}

// A part of the moments in double precision.
static dq_status widen(dq_matrix *to, dq_matrix_f32 from, dq_arena *arena, dq_error *error) {
  DQ_TRY(dq_fit_new_matrix(to, from.rows, from.columns, arena, error));
  dq_fit_widen(&from, to);
  return DQ_OK;
}

// Adds what independent patches of the ridge's variance would add to the covariances, but for xx.
static void add_ridge(dq_fit_problem *p) {
  for (int64_t o = 0; o < p->out; o++)
    for (int64_t i = 0; i < p->patch; i++) {
      const double weight = p->weight.data[o * p->patch + i];
      p->xt.data[i * p->out + o] += p->ridge * weight;
      p->variance += p->ridge * weight * weight;
    }
}

dq_status dq_fit_open_problem(dq_fit_problem *p, const dq_moments *m, const dq_tensor *weight, int64_t group,
                              dq_arena *arena, dq_error *error) {
  int64_t patch = dq_moments_patch(m), last = m->size - 1;
  dq_matrix means;
  *p = (dq_fit_problem){.taps = m->taps, .in = m->in, .out = m->out, .patch = patch, .arena = arena};
  p->xx = dq_moments_view(m, group, 0, patch, 0, patch);
  p->ridge = m->ridge[group];
  DQ_TRY(widen(&p->xt, dq_moments_view(m, group, 0, patch, patch, m->out), arena, error));
  DQ_TRY(widen(&means, dq_moments_view(m, group, last, 1, 0, last), arena, error));
  p->x_mean = means.data;
  p->t_mean = p->x_mean + patch;
  for (int64_t o = patch; o < last; o++) p->variance += (double)dq_moments_view(m, group, o, 1, o, 1).data[0];
  DQ_TRY(load_weight(p, m, weight, group, error));
  add_ridge(p);
  return DQ_OK;
}

double dq_fit_mean_variance(const dq_moments *m, int64_t group) {
  const int64_t patch = dq_moments_patch(m);
  double trace = 0;
  for (int64_t i = 0; i < patch; i++) trace += (double)dq_moments_view(m, group, i, 1, i, 1).data[0];
  return trace / (double)patch;
}

void dq_fit_prepare(dq_moments *moments, double strength) {
  for (int64_t g = 0; g < moments->group; g++) {
    const double ridge = strength * dq_fit_mean_variance(moments, g);
    moments->ridge[g] = ridge > 0 ? ridge : 1; // 0: an input that never changes
  }
}

// ---- Regression on the reduced patches ----

// Applies V to the channels of every kernel position of the rows of `from` (patch x n): rows
// (channel, position) of `to`, so that the first channels come first.
static dq_status reduce(const dq_fit_problem *p, const dq_matrix *v, const dq_matrix *from, const dq_matrix *to,
                        dq_error *error) {
  for (int64_t t = 0; t < p->taps; t++) {
    dq_matrix rows = {p->in, from->columns, from->stride, from->data + t * p->in * from->stride};
    dq_matrix result = {v->rows, to->columns, p->taps * to->stride, to->data + t * to->stride};
    DQ_TRY(dq_matrix_multiply(false, v, false, &rows, DQ_PRODUCT_STORE, &result, error));
  }
  return DQ_OK;
}

// What is known after the regression on all of z: the Cholesky factor of its covariance, and
// L^-1 cov(z, t), whose first rows belong to the first channels.
typedef struct regression {
  dq_matrix lower, half;
} regression;

// What reduce_block needs beside its result.
typedef struct block_workspace {
  dq_matrix block, once, both; // in x in, ranks x in, ranks x ranks
  dq_matrix gram;              // V V^T
} block_workspace;

// V times the covariances between the kernel positions s and t, times V^T, into the rows and columns (channel, s) and
// (channel, t) of `lower` and, mirrored, the other way round.
static dq_status reduce_block(const dq_fit_problem *p, const dq_matrix *v, int64_t s, int64_t t,
                              const block_workspace *w, const dq_matrix *lower, dq_error *error) {
  const dq_matrix_f32 from = {p->in, p->in, p->xx.stride, p->xx.data + s * p->in * p->xx.stride + t * p->in};
  dq_fit_widen(&from, &w->block);
  DQ_TRY(dq_matrix_multiply(false, v, false, &w->block, DQ_PRODUCT_STORE, &w->once, error));
  DQ_TRY(dq_matrix_multiply(false, &w->once, true, v, DQ_PRODUCT_STORE, &w->both, error));
  if (s == t)
    for (int64_t a = 0; a < v->rows; a++)
      for (int64_t b = 0; b < v->rows; b++) w->both.data[a * v->rows + b] += p->ridge * w->gram.data[a * v->rows + b];
  for (int64_t a = 0; a < v->rows; a++)
    for (int64_t b = 0; b < v->rows; b++) {
      const int64_t row = a * p->taps + s, column = b * p->taps + t;
      lower->data[row * lower->stride + column] = lower->data[column * lower->stride + row] =
          w->both.data[a * v->rows + b];
    }
  return DQ_OK;
}

// The covariance of the reduced patches, a pair of kernel positions at a time.
static dq_status reduce_covariance(const dq_fit_problem *p, const dq_matrix *v, const dq_matrix *lower,
                                   dq_error *error) {
  block_workspace w;
  dq_arena *arena = dq_arena_beside(p->arena);
  if (!arena) return dq_fail_memory(error, sizeof(double));
  dq_status status = dq_fit_new_matrix(&w.block, p->in, p->in, arena, error);
  if (status == DQ_OK) status = dq_fit_new_matrix(&w.once, v->rows, p->in, arena, error);
  if (status == DQ_OK) status = dq_fit_new_matrix(&w.both, v->rows, v->rows, arena, error);
  if (status == DQ_OK) status = dq_fit_new_matrix(&w.gram, v->rows, v->rows, arena, error);
  if (status == DQ_OK) status = dq_matrix_multiply(false, v, true, v, DQ_PRODUCT_STORE, &w.gram, error);
  for (int64_t s = 0; status == DQ_OK && s < p->taps; s++)
    for (int64_t t = s; status == DQ_OK && t < p->taps; t++) status = reduce_block(p, v, s, t, &w, lower, error);
  dq_arena_free(arena);
  return status;
}

// v NULL: the patches as they are.
static dq_status regress(const dq_fit_problem *p, const dq_matrix *v, regression *r, dq_error *error) {
  int64_t n = v ? v->rows * p->taps : p->patch;
  DQ_TRY(dq_fit_new_matrix(&r->lower, n, n, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&r->half, n, p->out, p->arena, error));
  if (v) {
    DQ_TRY(reduce_covariance(p, v, &r->lower, error));
    DQ_TRY(reduce(p, v, &p->xt, &r->half, error));
  } else {
    dq_fit_widen(&p->xx, &r->lower);
    for (int64_t i = 0; i < n; i++) r->lower.data[i * n + i] += p->ridge;
    dq_matrix_copy(&p->xt, &r->half);
  }
  DQ_TRY(dq_cholesky(&r->lower, error));
  return dq_solve_triangular(&r->lower, false, &r->half, error);
}

// ---- Errors at all ranks ----

// Adds what is explained with rows first...last of the regression, by number of output directions.
static dq_status explained(const dq_fit_problem *p, const regression *r, int64_t first, int64_t last,
                           dq_matrix *covariance, double *values, dq_error *error) {
  dq_matrix rows = {last - first, p->out, p->out, r->half.data + first * p->out}, copy;
  DQ_TRY(dq_matrix_multiply(true, &rows, false, &rows, DQ_PRODUCT_ADD, covariance, error));
  dq_arena *arena = dq_arena_beside(p->arena);
  if (!arena) return dq_fail_memory(error, sizeof(double));
  dq_status status = dq_fit_new_matrix(&copy, p->out, p->out, arena, error);
  if (status == DQ_OK) {
    dq_matrix_copy(covariance, &copy);
    status = dq_symmetric_eigen(p->out, copy.data, values, false, error);
  }
  dq_arena_free(arena);
  return status;
}

static dq_status add_errors(const dq_fit_problem *p, dq_fit_table *table, dq_error *error) {
  dq_matrix basis, covariance;
  regression reduced;
  double *values = DQ_NEW_ARRAY(p->arena, p->out, double);
  if (!values) return dq_fail_memory(error, (size_t)p->out * sizeof(double));
  DQ_TRY(dq_fit_input_basis(p, &basis, error));
  DQ_TRY(regress(p, &basis, &reduced, error));
  DQ_TRY(dq_fit_new_matrix(&covariance, p->out, p->out, p->arena, error));
  int64_t done = 0;
  for (int64_t i = 0; i < table->in_count; i++) {
    int64_t rows = table->in_ranks[i] * p->taps;
    if (rows > basis.rows * p->taps) { // directions that no weight reads, but whose covariance counts
      DQ_TRY(regress(p, NULL, &reduced, error));
      done = 0;
      memset(covariance.data, 0, (size_t)(p->out * p->out) * sizeof(double));
    }
    DQ_TRY(explained(p, &reduced, done, rows, &covariance, values, error));
    done = rows;
    double left = p->variance;
    for (int64_t a = 0; a < p->out; a++) {
      left -= fmax(values[a], 0);
      table->errors[i * p->out + a] += fmax(left, 0);
    }
  }
  table->variance += p->variance;
  return DQ_OK;
}

// The distance of the in-ranks of a table.
static int64_t rank_step(int64_t in, int64_t out, int64_t taps, int64_t multiple) {
  int64_t step = (dq_min_i64(in, out * taps) + DQ_FIT_IN_RANKS - 1) / DQ_FIT_IN_RANKS;
  return (step + multiple - 1) / multiple * multiple;
}

int64_t dq_fit_least_in_rank(int64_t in, int64_t out, int64_t taps, int64_t multiple) {
  int64_t step = rank_step(in, out, taps, multiple);
  return step < in && step <= out * taps ? step : in;
}

static dq_status open_table(dq_fit_table *table, const dq_moments *m, int64_t multiple, dq_arena *arena,
                            dq_error *error) {
  int64_t full = dq_min_i64(m->in, m->out * m->taps), step = rank_step(m->in, m->out, m->taps, multiple);
  *table = (dq_fit_table){.out = m->out};
  table->in_ranks = DQ_NEW_ARRAY(arena, DQ_FIT_IN_RANKS + 2, int64_t);
  table->errors = DQ_NEW_ARRAY(arena, (DQ_FIT_IN_RANKS + 2) * m->out, double);
  if (!table->in_ranks || !table->errors)
    return dq_fail_memory(error, (size_t)m->out * DQ_FIT_IN_RANKS * sizeof(double));
  for (int64_t rank = step; rank < m->in && rank <= full; rank += step) table->in_ranks[table->in_count++] = rank;
  table->in_ranks[table->in_count++] = m->in;
  return DQ_OK;
}

dq_status dq_fit_errors(dq_fit_table *table, const dq_moments *moments, const dq_tensor *weight, int64_t multiple,
                        dq_arena *arena, dq_error *error) {
  DQ_TRY(open_table(table, moments, multiple, arena, error));
  for (int64_t g = 0; g < moments->group; g++) {
    dq_arena *scratch = dq_arena_beside(arena);
    if (!scratch) return dq_fail_memory(error, sizeof(dq_fit_problem));
    dq_fit_problem p;
    dq_status status = dq_fit_open_problem(&p, moments, weight, g, scratch, error);
    if (status == DQ_OK) status = add_errors(&p, table, error);
    dq_arena_free(scratch);
    DQ_TRY(status);
  }
  for (int64_t i = 0; table->variance > 0 && i < table->in_count * table->out; i++) table->errors[i] /= table->variance;
  return DQ_OK;
}

// ---- Factors ----

static dq_status regress_step(const dq_fit_problem *p, void *factors, dq_error *error) {
  dq_fit_factors *f = factors;
  regression r;
  dq_matrix covariance;
  double *values = DQ_NEW_ARRAY(p->arena, p->out, double);
  if (!values) return dq_fail_memory(error, (size_t)p->out * sizeof(double));
  DQ_TRY(regress(p, f->cut_in ? &f->v : NULL, &r, error));
  DQ_TRY(dq_fit_new_matrix(&covariance, p->out, p->out, p->arena, error));
  DQ_TRY(dq_matrix_multiply(true, &r.half, false, &r.half, DQ_PRODUCT_STORE, &covariance, error));
  f->unexplained = p->variance;
  if (!f->cut_out) {
    f->unexplained -= dq_fit_trace(&covariance);
    DQ_TRY(dq_solve_triangular(&r.lower, true, &r.half, error));
    dq_matrix_transpose(&r.half, &f->g);
    return DQ_OK;
  }
  DQ_TRY(dq_symmetric_eigen(p->out, covariance.data, values, true, error));
  for (int64_t k = 0; k < f->rank_out; k++) f->unexplained -= fmax(values[k], 0);
  memcpy(f->u.data, covariance.data, (size_t)(f->rank_out * p->out) * sizeof(double));
  DQ_TRY(dq_solve_triangular(&r.lower, true, &r.half, error));
  return dq_matrix_multiply(false, &f->u, true, &r.half, DQ_PRODUCT_STORE, &f->g, error);
}

// U and G for the V of `f`.
static dq_status regress_factors(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error) {
  return dq_fit_beside(p, regress_step, f, error);
}

static dq_status solve_group(const dq_fit_problem *p, dq_fit_factors *f, int rounds, dq_error *error) {
  DQ_TRY(dq_fit_new_matrix(&f->g, f->rank_out, f->rank_in * p->taps, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&f->u, f->rank_out, p->out, p->arena, error));
  if (!f->cut_in) {
    DQ_TRY(regress_factors(p, f, error));
    // The columns of G are in the order of patches, (position, channel), where there is no V.
    dq_matrix copy;
    DQ_TRY(dq_fit_new_matrix(&copy, f->rank_out, p->patch, p->arena, error));
    dq_matrix_copy(&f->g, &copy);
    for (int64_t a = 0; a < f->rank_out; a++)
      for (int64_t b = 0; b < p->in; b++)
        for (int64_t t = 0; t < p->taps; t++)
          f->g.data[(a * p->in + b) * p->taps + t] = copy.data[a * p->patch + t * p->in + b];
    return DQ_OK;
  }
  dq_matrix basis;
  DQ_TRY(dq_fit_input_basis(p, &basis, error));
  f->v = dq_fit_matrix(f->rank_in, p->in, basis.data);
  DQ_TRY(regress_factors(p, f, error));
  for (int round = 0; round < rounds; round++) {
    DQ_TRY(dq_fit_improve_input(p, f, error));
    DQ_TRY(regress_factors(p, f, error));
  }
  return dq_fit_whiten(p, f, error);
}

// b = E t - U^T G V E x
static dq_status store_bias(const dq_fit_problem *p, const dq_fit_factors *f, double *bias, dq_error *error) {
  dq_matrix mean = dq_fit_matrix(p->patch, 1, (double *)(uintptr_t)p->x_mean), reduced, inner;
  dq_matrix result = dq_fit_matrix(p->out, 1, bias);
  DQ_TRY(dq_fit_new_matrix(&reduced, f->rank_in * p->taps, 1, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&inner, f->rank_out, 1, p->arena, error));
  if (f->cut_in) DQ_TRY(reduce(p, &f->v, &mean, &reduced, error));
  for (int64_t i = 0; !f->cut_in && i < p->patch; i++) reduced.data[i % p->in * p->taps + i / p->in] = p->x_mean[i];
  DQ_TRY(dq_matrix_multiply(false, &f->g, false, &reduced, DQ_PRODUCT_STORE, &inner, error));
  if (f->cut_out) DQ_TRY(dq_matrix_multiply(true, &f->u, false, &inner, DQ_PRODUCT_STORE, &result, error));
  else dq_matrix_copy(&inner, &result);
  for (int64_t o = 0; o < p->out; o++) bias[o] = p->t_mean[o] - bias[o];
  return DQ_OK;
}

static dq_status solve_and_store(dq_fit *fit, const dq_fit_problem *p, int64_t group, int rounds, double *variance,
                                 dq_error *error) {
  dq_fit_factors f = {
      .rank_out = fit->rank_out, .rank_in = fit->rank_in, .cut_in = fit->input != NULL, .cut_out = fit->output != NULL};
  DQ_TRY(solve_group(p, &f, rounds, error));
  if (f.cut_in) memcpy(fit->input + group * f.rank_in * p->in, f.v.data, (size_t)(f.rank_in * p->in) * sizeof(double));
  int64_t core = f.rank_out * f.rank_in * p->taps;
  memcpy(fit->core + group * core, f.g.data, (size_t)core * sizeof(double));
  if (f.cut_out) {
    dq_matrix output = dq_fit_matrix(p->out, f.rank_out, fit->output + group * p->out * f.rank_out);
    dq_matrix_transpose(&f.u, &output);
  }
  fit->error += fmax(f.unexplained, 0);
  *variance += p->variance;
  return store_bias(p, &f, fit->bias + group * p->out, error);
}

dq_status dq_fit_solve(dq_fit *fit, const dq_moments *moments, const dq_tensor *weight, dq_ranks ranks, int rounds,
                       dq_arena *arena, dq_error *error) {
  const dq_moments *m = moments;
  int64_t rank_out = ranks.out, rank_in = ranks.in;
  int64_t core = m->group * rank_out * rank_in * m->taps;
  *fit = (dq_fit){.rank_out = rank_out, .rank_in = rank_in};
  fit->core = DQ_NEW_ARRAY(arena, core, double);
  fit->bias = DQ_NEW_ARRAY(arena, m->group * m->out, double);
  if (rank_in < m->in) fit->input = DQ_NEW_ARRAY(arena, m->group * rank_in * m->in, double);
  if (rank_out < m->out) fit->output = DQ_NEW_ARRAY(arena, m->group * m->out * rank_out, double);
  if (!fit->core || !fit->bias || (rank_in < m->in && !fit->input) || (rank_out < m->out && !fit->output))
    return dq_fail_memory(error, (size_t)core * sizeof(double));
  double variance = 0;
  for (int64_t g = 0; g < m->group; g++) {
    dq_arena *scratch = dq_arena_new(m->budget);
    if (!scratch) return dq_fail_memory(error, sizeof(dq_fit_problem));
    dq_fit_problem p;
    dq_status status = dq_fit_open_problem(&p, m, weight, g, scratch, error);
    if (status == DQ_OK) status = solve_and_store(fit, &p, g, rounds, &variance, error);
    dq_arena_free(scratch);
    DQ_TRY(status);
  }
  if (variance > 0) fit->error /= variance;
  return DQ_OK;
}
