// Singular values and products on top of LAPACKE and cblas: sizes checked, workspaces our own (the
// plain LAPACKE calls would allocate in silence), results in one fixed order and sign.
#include "lib/linalg/linalg.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/sizes.h"
#include "lib/blas/blas.h"

// OpenBLAS takes a buffer for each call under way, keeps it for later ones, and waits for ever when the system
// refuses one. Its own threads, which do nothing here, take one each when they start, which may be at any time. Where
// the address space is limited (ulimit -v) calls take turns, so that one buffer does for all of them, and before the
// first one a trial shows whether there is space for a buffer for each thread.
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static bool buffer_is_there; // under `turns`

static bool claim_buffer(void) {
  if (buffer_is_there || !dq_blas_loaded()->threads) return true; // of OpenBLAS alone
  if (!dq_blas_has_space(dq_blas_loaded()->threads)) return false;
  double one = 1, square; // the call takes the buffer, before other threads can take that space
  dq_blas_loaded()->cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, 1, 1, 1.0, &one, 1, 0.0, &square, 1);
  return buffer_is_there = true;
}

// Before and after calls of LAPACKE and cblas; `*limited` is for the end.
static dq_status begin_calls(bool *limited, dq_error *error) {
  DQ_TRY(dq_blas_open(error));
  *limited = dq_address_space_is_limited();
  if (!*limited) return DQ_OK;
  pthread_mutex_lock(&turns);
  if (claim_buffer()) return DQ_OK;
  pthread_mutex_unlock(&turns);
  return dq_fail_memory(error, DQ_BLAS_BUFFER);
}

static void end_calls(bool limited) {
  if (limited) pthread_mutex_unlock(&turns);
}

// The short side is bounded so that the workspaces (at most 7 n^2 + 14 n elements) count in int.
enum { SHORT_SIDE_LIMIT = 16000 };

static dq_status check_matrix(int64_t rows, int64_t columns, const double *a, dq_error *error) {
  if (rows < 1 || columns < 1)
    return dq_fail(error, DQ_BAD_INPUT, "matrix is %lldx%lld, expected at least 1x1", (long long)rows,
                   (long long)columns);
  if (rows > INT_MAX || columns > INT_MAX || dq_min_i64(rows, columns) > SHORT_SIDE_LIMIT)
    return dq_fail(error, DQ_UNSUPPORTED, "matrix of %lldx%lld is too large to decompose", (long long)rows,
                   (long long)columns);
  for (int64_t i = 0; i < rows * columns; i++)
    if (!isfinite(a[i]))
      return dq_fail(error, DQ_BAD_INPUT, "matrix has %g at row %lld, column %lld", a[i], (long long)(i / columns),
                     (long long)(i % columns));
  return DQ_OK;
}

static dq_status check_info(lapack_int info, const char *routine, dq_error *error) {
  if (info == 0) return DQ_OK;
  if (info > 0) return dq_fail(error, DQ_BAD_INPUT, "%s did not converge (info %d)", routine, info);
  return dq_fail(error, DQ_SYSTEM, "%s refused argument %d", routine, -info);
}

// to[c * rows + r] = from[r * columns + c]
static void transpose(int64_t rows, int64_t columns, const double *from, double *to) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

static void negate(int64_t count, double *vector) {
  for (int64_t i = 0; i < count; i++) vector[i] = -vector[i];
}

// Singular vectors are unique up to their sign only (one sign for the pair): choose one.
static void fix_signs(int64_t count, int64_t rows, double *left, int64_t columns, double *right) {
  for (int64_t k = 0; k < count; k++) {
    double *vector = left + k * rows;
    int64_t largest = 0;
    for (int64_t i = 1; i < rows; i++)
      if (fabs(vector[i]) > fabs(vector[largest])) largest = i;
    if (vector[largest] >= 0) continue;
    negate(rows, vector);
    if (right) negate(columns, right + k * columns);
  }
}

// A matrix to decompose, and where its parts go, as in dq_svd.
typedef struct svd_job {
  int64_t rows, columns;
  const double *a;
  double *left, *values, *right; // right: NULL where it is not wanted
  dq_arena *scratch;
} svd_job;

// SVD of the matrix or its transpose, tall and in LAPACK's column-major form (`a` is destroyed): long_vectors gets the
// vectors of the long side one after the other, short_columns those of the short side as columns.
static dq_status svd_tall(const svd_job *job, double *a, double *long_vectors, double *short_columns, dq_error *error) {
  lapack_int m = (lapack_int)dq_max_i64(job->rows, job->columns), n = (lapack_int)dq_min_i64(job->rows, job->columns);
  double best = 0;
  lapack_int *integers = DQ_NEW_ARRAY(job->scratch, 8 * (int64_t)n, lapack_int);
  if (!integers) return dq_fail_memory(error, (size_t)n * 8 * sizeof(lapack_int));
  DQ_TRY(check_info(dq_blas_loaded()->LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', m, n, a, m, job->values, long_vectors,
                                                          m, short_columns, n, &best, -1, integers),
                    "dgesdd", error));
  if (!(best >= 1 && best <= INT_MAX))
    return dq_fail(error, DQ_UNSUPPORTED, "matrix of %dx%d is too large to decompose", m, n);
  double *work = DQ_NEW_ARRAY(job->scratch, best, double);
  if (!work) return dq_fail_memory(error, (size_t)best * sizeof(double));
  return check_info(dq_blas_loaded()->LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', m, n, a, m, job->values, long_vectors,
                                                          m, short_columns, n, work, (lapack_int)best, integers),
                    "dgesdd", error);
}

static dq_status by_division(const svd_job *job, dq_error *error) {
  int64_t rows = job->rows, columns = job->columns, narrow = dq_min_i64(rows, columns);
  bool wide = rows < columns;
  double *copy = DQ_NEW_ARRAY(job->scratch, rows * columns, double);
  double *long_vectors = wide ? job->right : job->left;
  if (!long_vectors) long_vectors = DQ_NEW_ARRAY(job->scratch, rows * columns, double);
  double *short_columns = DQ_NEW_ARRAY(job->scratch, narrow * narrow, double);
  if (!copy || !long_vectors || !short_columns) return dq_fail_memory(error, (size_t)(rows * columns) * sizeof(double));
  // Row-major wide is column-major tall already: LAPACK then sees the transpose.
  if (wide) memcpy(copy, job->a, (size_t)(rows * columns) * sizeof(double));
  else transpose(rows, columns, job->a, copy);
  DQ_TRY(svd_tall(job, copy, long_vectors, short_columns, error));
  double *short_vectors = wide ? job->left : job->right;
  // Column-major V^T holds vector k as row k, strided; ours are contiguous.
  if (short_vectors) transpose(narrow, narrow, short_columns, short_vectors);
  fix_signs(narrow, rows, job->left, columns, job->right);
  return DQ_OK;
}

// Decomposes a matrix by one of the methods, with scratch memory of its own.
static dq_status decompose(svd_job job, dq_status (*method)(const svd_job *job, dq_error *error), dq_error *error) {
  DQ_TRY(check_matrix(job.rows, job.columns, job.a, error));
  bool limited;
  if (!(job.scratch = dq_arena_new(0))) return dq_fail_memory(error, sizeof(double));
  dq_status status = begin_calls(&limited, error);
  if (status == DQ_OK) {
    status = method(&job, error);
    end_calls(limited);
  }
  dq_arena_free(job.scratch);
  return status;
}

dq_status dq_svd(int64_t rows, int64_t columns, const double *a, double *left, double *values, double *right,
                 dq_error *error) {
  return decompose((svd_job){rows, columns, a, left, values, right, NULL}, by_division, error);
}

// Eigenvalues of the symmetric n x n matrix in `vectors`, ascending; with the job 'V' the
// eigenvectors in its place, one after the other.
static dq_status eigen(dq_arena *scratch, char job, int64_t size, double *vectors, double *values, dq_error *error) {
  lapack_int n = (lapack_int)size, best_integers = 0;
  double best = 0;
  DQ_TRY(check_info(dq_blas_loaded()->LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, job, 'L', n, vectors, n, values, &best, -1,
                                                          &best_integers, -1),
                    "dsyevd", error));
  if (!(best >= 1 && best <= INT_MAX) || best_integers < 1)
    return dq_fail(error, DQ_UNSUPPORTED, "matrix of %dx%d is too large to decompose", n, n);
  double *work = DQ_NEW_ARRAY(scratch, best, double);
  lapack_int *integers = DQ_NEW_ARRAY(scratch, best_integers, lapack_int);
  if (!work || !integers) return dq_fail_memory(error, (size_t)best * sizeof(double));
  return check_info(dq_blas_loaded()->LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, job, 'L', n, vectors, n, values, work,
                                                          (lapack_int)best, integers, best_integers),
                    "dsyevd", error);
}

static dq_status left_by_gram(const svd_job *job, dq_error *error) {
  int64_t rows = job->rows, columns = job->columns;
  double *gram = DQ_NEW_ARRAY(job->scratch, rows * rows, double);
  double *squares = DQ_NEW_ARRAY(job->scratch, rows, double);
  if (!gram || !squares) return dq_fail_memory(error, (size_t)(rows * rows) * sizeof(double));
  // The upper triangle by rows is the lower one by columns.
  dq_blas_loaded()->cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)rows, (int)columns, 1.0, job->a,
                                (int)columns, 0.0, gram, (int)rows);
  DQ_TRY(eigen(job->scratch, 'V', rows, gram, squares, error));
  for (int64_t k = 0; k < rows; k++) {
    int64_t from = rows - 1 - k;
    job->values[k] = squares[from] > 0 ? sqrt(squares[from]) : 0;
    memcpy(job->left + k * rows, gram + from * rows, (size_t)rows * sizeof(double));
  }
  fix_signs(rows, rows, job->left, columns, NULL);
  return DQ_OK;
}

dq_status dq_left_singular(int64_t rows, int64_t columns, const double *a, double *left, double *values,
                           dq_error *error) {
  return decompose((svd_job){rows, columns, a, left, values, NULL, NULL}, rows > columns ? by_division : left_by_gram,
                   error);
}

dq_matrix dq_matrix_tight(int64_t rows, int64_t columns, const double *data) {
  return (dq_matrix){rows, columns, columns, (double *)(uintptr_t)data};
}

dq_status dq_multiply(dq_matrix a, dq_matrix b, double *c, dq_error *error) {
  dq_matrix product = dq_matrix_tight(a.rows, b.columns, c);
  return dq_matrix_multiply(false, &a, false, &b, 0, &product, error);
}

void dq_matrix_copy(const dq_matrix *from, const dq_matrix *to) {
  for (int64_t r = 0; r < from->rows; r++)
    memcpy(to->data + r * to->stride, from->data + r * from->stride, (size_t)from->columns * sizeof(double));
}

static bool fits(int64_t rows, int64_t columns, int64_t stride) {
  return rows >= 1 && columns >= 1 && stride >= columns && rows <= INT_MAX && stride <= INT_MAX;
}

static bool fits_lapack(const dq_matrix *m) { return fits(m->rows, m->columns, m->stride); }

static dq_status fail_size(int64_t a_rows, int64_t a_columns, int64_t b_rows, int64_t b_columns, dq_error *error) {
  return dq_fail(error, DQ_UNSUPPORTED, "product of %lldx%lld and %lldx%lld matrices, which are too large for BLAS",
                 (long long)a_rows, (long long)a_columns, (long long)b_rows, (long long)b_columns);
}

dq_status dq_matrix_multiply(bool transpose_a, const dq_matrix *a, bool transpose_b, const dq_matrix *b, double beta,
                             const dq_matrix *c, dq_error *error) {
  int64_t inner = transpose_a ? a->rows : a->columns;
  if (!fits_lapack(a) || !fits_lapack(b) || !fits_lapack(c))
    return fail_size(a->rows, a->columns, b->rows, b->columns, error);
  bool limited;
  DQ_TRY(begin_calls(&limited, error));
  dq_blas_loaded()->cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                                transpose_b ? CblasTrans : CblasNoTrans, (int)c->rows, (int)c->columns, (int)inner, 1.0,
                                a->data, (int)a->stride, b->data, (int)b->stride, beta, c->data, (int)c->stride);
  end_calls(limited);
  return DQ_OK;
}

dq_status dq_matrix_multiply_f32(bool transpose_a, const dq_matrix_f32 *a, bool transpose_b, const dq_matrix_f32 *b,
                                 float beta, const dq_matrix_f32 *c, dq_error *error) {
  int64_t inner = transpose_a ? a->rows : a->columns;
  if (!fits(a->rows, a->columns, a->stride) || !fits(b->rows, b->columns, b->stride) ||
      !fits(c->rows, c->columns, c->stride))
    return fail_size(a->rows, a->columns, b->rows, b->columns, error);
  bool limited;
  DQ_TRY(begin_calls(&limited, error));
  dq_blas_loaded()->cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                                transpose_b ? CblasTrans : CblasNoTrans, (int)c->rows, (int)c->columns, (int)inner,
                                1.0F, a->data, (int)a->stride, b->data, (int)b->stride, beta, c->data, (int)c->stride);
  end_calls(limited);
  return DQ_OK;
}

dq_status dq_cholesky(const dq_matrix *a, dq_error *error) {
  if (!fits_lapack(a) || a->rows != a->columns)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "Cholesky factor of a %lldx%lld matrix, expected a square one that LAPACK can hold",
                   (long long)a->rows, (long long)a->columns);
  bool limited;
  DQ_TRY(begin_calls(&limited, error));
  // The lower triangle by rows is the upper one by columns.
  lapack_int info =
      dq_blas_loaded()->LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)a->rows, a->data, (lapack_int)a->stride);
  end_calls(limited);
  if (info > 0)
    return dq_fail(error, DQ_BAD_INPUT, "matrix of %lldx%lld is not positive definite", (long long)a->rows,
                   (long long)a->columns);
  return check_info(info, "dpotrf", error);
}

dq_status dq_solve_triangular(const dq_matrix *lower, bool transposed, const dq_matrix *b, dq_error *error) {
  if (!fits_lapack(lower) || !fits_lapack(b) || lower->rows != b->rows)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "triangular %lldx%lld system of %lldx%lld, expected equal numbers of rows that BLAS can hold",
                   (long long)lower->rows, (long long)lower->columns, (long long)b->rows, (long long)b->columns);
  bool limited;
  DQ_TRY(begin_calls(&limited, error));
  dq_blas_loaded()->cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, transposed ? CblasTrans : CblasNoTrans,
                                CblasNonUnit, (int)b->rows, (int)b->columns, 1.0, lower->data, (int)lower->stride,
                                b->data, (int)b->stride);
  end_calls(limited);
  return DQ_OK;
}

static void reverse(int64_t rows, int64_t columns, double *a) {
  for (int64_t low = 0, high = rows - 1; low < high; low++, high--)
    for (int64_t c = 0; c < columns; c++) {
      double kept = a[low * columns + c];
      a[low * columns + c] = a[high * columns + c];
      a[high * columns + c] = kept;
    }
}

dq_status dq_symmetric_eigen(int64_t size, double *a, double *values, bool vectors, dq_error *error) {
  DQ_TRY(check_matrix(size, size, a, error));
  bool limited;
  dq_arena *scratch = dq_arena_new(0);
  if (!scratch) return dq_fail_memory(error, sizeof(double));
  dq_status status = begin_calls(&limited, error);
  if (status == DQ_OK) {
    status = eigen(scratch, vectors ? 'V' : 'N', size, a, values, error);
    end_calls(limited);
  }
  dq_arena_free(scratch);
  if (status != DQ_OK) return status;
  reverse(size, 1, values);
  if (!vectors) return DQ_OK;
  reverse(size, size, a);
  fix_signs(size, size, a, 0, NULL);
  return DQ_OK;
}
