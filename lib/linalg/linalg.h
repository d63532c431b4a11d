// Dense linear algebra in double precision for decompositions. Only this module calls LAPACKE and CBLAS. Matrices are
// row-major, and contiguous unless they are a dq_matrix. OpenBLAS is set to one thread on first use, so the same
// machine gives the same bytes in every run; OpenBLAS chooses the instruction sets itself, so other machines may differ
// in the last bits.
#ifndef DQ_LINALG_LINALG_H
#define DQ_LINALG_LINALG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/pool.h"
#include "lib/base/status.h"

// Thin singular value decomposition A = sum_k values[k] left_k right_k^T of the rows x columns
// matrix `a` by divide and conquer (dgesdd), count = min(rows, columns).
//   left:   count x rows, row k is the k-th left vector
//   values: count, descending, >= 0
//   right:  count x columns, row k is the k-th right vector; may be NULL
// The component of largest magnitude of each left vector is positive (the first one among equals).
// Errors: DQ_BAD_INPUT for a zero or negative size, NaN or infinity, or no convergence;
// DQ_UNSUPPORTED for a matrix beyond LAPACK's 32-bit sizes; DQ_SYSTEM for memory.
dq_status dq_svd(int64_t rows, int64_t columns, const double *a, double *left, double *values, double *right,
                 dq_error *error);

// Left singular vectors (count x rows) and values (count) of the rows x columns matrix `a` as dq_svd gives them, count
// = min(rows, columns). With rows <= columns they come from the eigenvectors of the rows x rows Gram matrix A A^T
// (dsyrk, dsyevd), else from dq_svd. Statuses as dq_svd.
//
// Why: the eigenvectors are orthonormal to machine precision whatever the spectrum, so projections
// on them lose nothing, and it is eight times faster than dgesdd where it matters (512 x 4608:
// 0.07 s against 0.80 s; 64 x 576: 0.8 ms against 3.2 ms; LQ and then dgesdd: 0.43 s). The price:
// squares of values are exact to about rows * 2^-53 of the largest square, so values below 1e-7 of
// the largest are noise, which is also where float32 weights end. For rows > columns left vectors
// would have to be A v / value, orthogonal only as far as the small values are exact: so dq_svd.
dq_status dq_left_singular(int64_t rows, int64_t columns, const double *a, double *left, double *values,
                           dq_error *error);

// A matrix that may be part of a larger one: row r begins at element r * stride, columns <= stride.
typedef struct dq_matrix {
  int64_t rows, columns, stride;
  double *data;
} dq_matrix;

// A matrix whose rows follow each other without a gap. `data` is not copied; it is written to only where the matrix is
// a result.
dq_matrix dq_matrix_tight(int64_t rows, int64_t columns, const double *data);

// Copies the elements of one matrix into another of the same size; their strides may differ.
void dq_matrix_copy(const dq_matrix *from, const dq_matrix *to);

// C = op(A) op(B) + beta C (dgemm), op(A) is the transpose of A with `transpose_a`, else A; op(B) likewise. The sizes
// must fit each other. With beta 0 the old elements of C are not read. DQ_UNSUPPORTED: a size is beyond the 32 bits of
// BLAS.
dq_status dq_matrix_multiply(bool transpose_a, const dq_matrix *a, bool transpose_b, const dq_matrix *b, double beta,
                             const dq_matrix *c, dq_error *error);

// The same in float32 (sgemm), for sums of which a relative error of some 1e-6 is harmless: half the time and memory.
typedef struct dq_matrix_f32 {
  int64_t rows, columns, stride;
  float *data;
} dq_matrix_f32;
dq_status dq_matrix_multiply_f32(bool transpose_a, const dq_matrix_f32 *a, bool transpose_b, const dq_matrix_f32 *b,
                                 float beta, const dq_matrix_f32 *c, dq_error *error);

// C = A B (dgemm) into the a.rows x b.columns elements of `c`, without a gap between the rows. Statuses as for
// dq_matrix_multiply.
dq_status dq_multiply(dq_matrix a, dq_matrix b, double *c, dq_error *error);

// The Cholesky factor L of a symmetric positive definite matrix A = L L^T (dpotrf). Only the lower triangle of `a` is
// read, and L replaces it; the upper triangle stays as it is. DQ_BAD_INPUT: the matrix is not positive definite.
dq_status dq_cholesky(const dq_matrix *a, dq_error *error);
// Replaces B by L^-1 B, or with `transposed` by L^-T B (dtrsm). L is lower->rows x lower->rows and lower triangular, as
// dq_cholesky leaves it; its upper triangle is not read, and no element of its diagonal may be 0, which is not checked.
// B has as many rows as L. DQ_UNSUPPORTED as for dq_multiply.
dq_status dq_solve_triangular(const dq_matrix *lower, bool transposed, const dq_matrix *b, dq_error *error);

// The eigenvalues, in descending order, of the symmetric size x size matrix `a` (dsyevd). The matrix is overwritten:
// with `vectors`, row k becomes the k-th eigenvector, of length 1 and with a positive component of largest magnitude.
// Statuses as for dq_svd.
dq_status dq_symmetric_eigen(int64_t size, double *a, double *values, bool vectors, dq_error *error);

// The Cholesky factor R of a symmetric positive definite size x size matrix A = R^T R. Only the upper triangle of `a`
// is read; R replaces it, and R^T the lower triangle, so that rows and columns of R are both contiguous. Unlike
// dq_cholesky the result has the same bits on every machine and at any number of threads; `pool` may be NULL. It takes
// size^3 / 3 operations. DQ_BAD_INPUT: the matrix is not positive definite.
dq_status dq_factor_symmetric(int64_t size, double *a, dq_pool *pool, dq_error *error);
// Replaces x by A^-1 x, with the matrix that dq_factor_symmetric made of A as `factor`.
void dq_solve_factored(int64_t size, const double *factor, double *x);

#endif
