// The input factor V: where it starts, and how it is improved for given U and G.
#include <math.h>
#include <string.h>

#include "decomp/fit/fit_internal.h"
#include "lib/base/sizes.h"

enum { GRADIENT_STEPS = 8 };

// ---- The input factor to start from ----

// The covariance of the input channels, mean over the kernel positions, with the ridge.
static void channel_covariance(const dq_fit_problem *p, const dq_matrix *covariance) {
  memset(covariance->data, 0, (size_t)(p->in * p->in) * sizeof(double));
  for (int64_t t = 0; t < p->taps; t++)
    for (int64_t i = 0; i < p->in; i++)
      for (int64_t j = 0; j < p->in; j++)
        covariance->data[i * p->in + j] +=
            (double)p->xx.data[(t * p->in + i) * p->xx.stride + t * p->in + j] / (double)p->taps;
  for (int64_t i = 0; i < p->in; i++) covariance->data[i * p->in + i] += p->ridge;
}

// The square root of a symmetric positive semidefinite matrix by its eigenvalues, or the inverse of the root;
// eigenvalues below 1e-12 of the largest count as that.
static dq_status square_root(const dq_matrix *c, bool inverse, const dq_matrix *result, dq_arena *arena,
                             dq_error *error) {
  int64_t n = c->rows;
  dq_matrix vectors, scaled;
  DQ_TRY(dq_fit_new_matrix(&vectors, n, n, arena, error));
  DQ_TRY(dq_fit_new_matrix(&scaled, n, n, arena, error));
  double *values = DQ_NEW_ARRAY(arena, n, double);
  if (!values) return dq_fail_memory(error, (size_t)n * sizeof(double));
  dq_matrix_copy(c, &vectors);
  DQ_TRY(dq_symmetric_eigen(n, vectors.data, values, true, error));
  for (int64_t k = 0; k < n; k++) {
    const double root = sqrt(fmax(values[k], 1e-12 * values[0])), factor = inverse ? 1 / root : root;
    for (int64_t i = 0; i < n; i++) scaled.data[k * n + i] = factor * vectors.data[k * n + i];
  }
  return dq_matrix_multiply(true, &vectors, false, &scaled, DQ_PRODUCT_STORE, result, error);
}

// Rows of the basis (count x in): directions of the input channels by falling contribution to the answers, were the
// kernel positions not correlated.
static dq_status find_basis(const dq_fit_problem *p, void *basis, dq_error *error) {
  dq_matrix covariance, root, inverse, unfolding, weighted, vectors;
  int64_t columns = p->out * p->taps, count = dq_min_i64(p->in, columns);
  DQ_TRY(dq_fit_new_matrix(&covariance, p->in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&root, p->in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&inverse, p->in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&unfolding, p->in, columns, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&weighted, p->in, columns, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&vectors, count, p->in, p->arena, error));
  double *values = DQ_NEW_ARRAY(p->arena, count, double);
  if (!values) return dq_fail_memory(error, (size_t)count * sizeof(double));
  channel_covariance(p, &covariance);
  DQ_TRY(square_root(&covariance, false, &root, p->arena, error));
  DQ_TRY(square_root(&covariance, true, &inverse, p->arena, error));
  dq_matrix by_position = dq_fit_matrix(columns, p->in, p->weight.data); // rows (output, position)
  dq_matrix_transpose(&by_position, &unfolding);
  DQ_TRY(dq_matrix_multiply(false, &root, false, &unfolding, DQ_PRODUCT_STORE, &weighted, error));
  DQ_TRY(dq_left_singular(p->in, columns, weighted.data, vectors.data, values, error));
  return dq_matrix_multiply(false, &vectors, false, &inverse, DQ_PRODUCT_STORE, basis, error);
}

dq_status dq_fit_input_basis(const dq_fit_problem *p, dq_matrix *basis, dq_error *error) {
  DQ_TRY(dq_fit_new_matrix(basis, dq_min_i64(p->in, p->out * p->taps), p->in, p->arena, error));
  return dq_fit_beside(p, find_basis, basis, error);
}

dq_status dq_fit_whiten(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error) {
  dq_matrix channels, half, between, root, inverse, v;
  DQ_TRY(dq_fit_new_matrix(&channels, p->in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&half, f->rank_in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&v, f->rank_in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&between, f->rank_in, f->rank_in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&root, f->rank_in, f->rank_in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&inverse, f->rank_in, f->rank_in, p->arena, error));
  channel_covariance(p, &channels);
  DQ_TRY(dq_matrix_multiply(false, &f->v, false, &channels, DQ_PRODUCT_STORE, &half, error));
  DQ_TRY(dq_matrix_multiply(false, &half, true, &f->v, DQ_PRODUCT_STORE, &between, error));
  DQ_TRY(square_root(&between, false, &root, p->arena, error));
  DQ_TRY(square_root(&between, true, &inverse, p->arena, error));
  DQ_TRY(dq_matrix_multiply(false, &inverse, false, &f->v, DQ_PRODUCT_STORE, &v, error));
  f->v = v;
  dq_matrix part, mixed;
  DQ_TRY(dq_fit_new_matrix(&mixed, f->rank_in, p->taps, p->arena, error));
  for (int64_t a = 0; a < f->rank_out; a++) {
    part = dq_fit_matrix(f->rank_in, p->taps, f->g.data + a * f->rank_in * p->taps);
    DQ_TRY(dq_matrix_multiply(false, &root, false, &part, DQ_PRODUCT_STORE, &mixed, error));
    dq_matrix_copy(&mixed, &part);
  }
  return DQ_OK;
}

// ---- V for given U and G, by preconditioned conjugate gradients ----

typedef struct descent {
  const dq_fit_problem *p;
  const dq_fit_factors *f;
  dq_matrix g;                 // (rank_out, taps) x rank_in
  dq_matrix left, right;       // inverses of g^T g and of the channels' covariance
  dq_matrix expanded, product; // rank_out x patch
  dq_matrix_f32 narrow[2];     // the same in float32
  dq_matrix half;              // rank_in x in
} descent;

// Added to the diagonal before a matrix is inverted, as a share of its mean: well above the rounding of the moments
// (1e-16 of the largest), well below what the pictures tell; the second one is for a matrix of zeros.
static const double RIDGE = 1e-10, LEAST_RIDGE = 1e-300;

static dq_status invert(const dq_matrix *a, dq_matrix *inverse, dq_arena *arena, dq_error *error) {
  dq_matrix lower;
  int64_t n = a->rows;
  DQ_TRY(dq_fit_new_matrix(&lower, n, n, arena, error));
  DQ_TRY(dq_fit_new_matrix(inverse, n, n, arena, error));
  dq_matrix_copy(a, &lower);
  double small = RIDGE * dq_fit_trace(a) / (double)n + LEAST_RIDGE;
  for (int64_t i = 0; i < n; i++) {
    lower.data[i * n + i] += small;
    inverse->data[i * n + i] = 1;
  }
  DQ_TRY(dq_cholesky(&lower, error));
  DQ_TRY(dq_solve_triangular(&lower, false, inverse, error));
  return dq_solve_triangular(&lower, true, inverse, error);
}

static dq_status open_descent(descent *d, const dq_fit_problem *p, const dq_fit_factors *f, dq_error *error) {
  dq_matrix inner, covariance;
  *d = (descent){.p = p, .f = f};
  DQ_TRY(dq_fit_new_matrix(&d->g, f->rank_out * p->taps, f->rank_in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&d->expanded, f->rank_out, p->patch, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&d->product, f->rank_out, p->patch, p->arena, error));
  for (int i = 0; i < 2; i++) {
    float *data = DQ_NEW_ARRAY(p->arena, f->rank_out * p->patch, float);
    if (!data) return dq_fail_memory(error, (size_t)(f->rank_out * p->patch) * sizeof *data);
    d->narrow[i] = (dq_matrix_f32){f->rank_out, p->patch, p->patch, data};
  }
  DQ_TRY(dq_fit_new_matrix(&d->half, f->rank_in, p->in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&inner, f->rank_in, f->rank_in, p->arena, error));
  DQ_TRY(dq_fit_new_matrix(&covariance, p->in, p->in, p->arena, error));
  for (int64_t a = 0; a < f->rank_out; a++)
    for (int64_t b = 0; b < f->rank_in; b++)
      for (int64_t t = 0; t < p->taps; t++)
        d->g.data[(a * p->taps + t) * f->rank_in + b] = f->g.data[(a * f->rank_in + b) * p->taps + t];
  DQ_TRY(dq_matrix_multiply(true, &d->g, false, &d->g, DQ_PRODUCT_STORE, &inner, error));
  channel_covariance(p, &covariance);
  DQ_TRY(invert(&inner, &d->left, p->arena, error));
  return invert(&covariance, &d->right, p->arena, error);
}

// g^T times a rank_out x patch matrix, seen as (rank_out, taps) x in.
static dq_status fold(const descent *d, const dq_matrix *wide, const dq_matrix *result, dq_error *error) {
  dq_matrix rows = dq_fit_matrix(d->f->rank_out * d->p->taps, d->p->in, wide->data);
  return dq_matrix_multiply(true, &d->g, false, &rows, DQ_PRODUCT_STORE, result, error);
}

static void add(const dq_matrix *to, double factor, const dq_matrix *from) {
  for (int64_t i = 0; i < to->rows * to->columns; i++) to->data[i] += factor * from->data[i];
}

// The normal equations' matrix times a candidate for V.
static dq_status apply(const descent *d, const dq_matrix *v, const dq_matrix *result, dq_error *error) {
  dq_matrix rows = dq_fit_matrix(d->f->rank_out * d->p->taps, d->p->in, d->expanded.data);
  DQ_TRY(dq_matrix_multiply(false, &d->g, false, v, DQ_PRODUCT_STORE, &rows, error));
  dq_fit_narrow(&d->expanded, &d->narrow[0]);
  DQ_TRY(dq_matrix_multiply_f32(false, &d->narrow[0], false, &d->p->xx, &d->narrow[1], error));
  dq_fit_widen(&d->narrow[1], &d->product);
  add(&d->product, d->p->ridge, &d->expanded);
  return fold(d, &d->product, result, error);
}

static dq_status precondition(const descent *d, const dq_matrix *from, const dq_matrix *to, dq_error *error) {
  DQ_TRY(dq_matrix_multiply(false, &d->left, false, from, DQ_PRODUCT_STORE, &d->half, error));
  return dq_matrix_multiply(false, &d->half, false, &d->right, DQ_PRODUCT_STORE, to, error);
}

static double dot(const dq_matrix *a, const dq_matrix *b) {
  double sum = 0;
  for (int64_t i = 0; i < a->rows * a->columns; i++) sum += a->data[i] * b->data[i];
  return sum;
}

// The right side less the left at V: what is to be brought to zero.
static dq_status residual(const descent *d, const dq_matrix *result, const dq_matrix *scratch, dq_error *error) {
  const dq_fit_problem *p = d->p;
  if (d->f->cut_out) DQ_TRY(dq_matrix_multiply(false, &d->f->u, true, &p->xt, DQ_PRODUCT_STORE, &d->product, error));
  else dq_matrix_transpose(&p->xt, &d->product);
  DQ_TRY(fold(d, &d->product, result, error));
  DQ_TRY(apply(d, &d->f->v, scratch, error));
  add(result, -1, scratch);
  return DQ_OK;
}

static dq_status improve(const dq_fit_problem *p, void *factors, dq_error *error) {
  dq_fit_factors *f = factors;
  descent d;
  dq_matrix left, direction, image, scaled;
  DQ_TRY(open_descent(&d, p, f, error));
  dq_matrix *all[] = {&left, &direction, &image, &scaled};
  for (int i = 0; i < 4; i++) DQ_TRY(dq_fit_new_matrix(all[i], f->rank_in, p->in, p->arena, error));
  DQ_TRY(residual(&d, &left, &image, error));
  DQ_TRY(precondition(&d, &left, &scaled, error));
  dq_matrix_copy(&scaled, &direction);
  double size = dot(&left, &scaled), start = size;
  for (int step = 0; step < GRADIENT_STEPS && size > 1e-12 * start; step++) {
    DQ_TRY(apply(&d, &direction, &image, error));
    double curvature = dot(&direction, &image);
    if (!(curvature > 0)) break;
    add(&f->v, size / curvature, &direction);
    add(&left, -size / curvature, &image);
    DQ_TRY(precondition(&d, &left, &scaled, error));
    double next = dot(&left, &scaled);
    for (int64_t i = 0; i < f->rank_in * p->in; i++)
      direction.data[i] = scaled.data[i] + next / size * direction.data[i];
    size = next;
  }
  return DQ_OK;
}

dq_status dq_fit_improve_input(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error) {
  return dq_fit_beside(p, improve, f, error);
}
