// Dense linear algebra in double precision for decompositions. Matrices are row-major, and contiguous unless they are a
// dq_matrix. Every sum has one order, so that results are the same bits on every machine; dq_symmetric_eigen says where
// LAPACK computes them. Functions work in the caller's thread.
#ifndef DQ_LINALG_LINALG_H
#define DQ_LINALG_LINALG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/status.h"

// Left singular vectors and values of the rows x columns matrix A = sum_k values[k] left_k right_k^T `a`, count =
// min(rows, columns).
//   left:   count x rows, row k is the k-th left vector
//   values: count, descending, >= 0
// The component of largest magnitude of each left vector is positive (the first one among equals).
//
// With rows <= columns they come from the eigenvectors of the rows x rows Gram matrix A A^T, else from those of L^T L,
// where A^T = L Q with a triangular L. Why: the eigenvectors are orthonormal to machine precision whatever the
// spectrum, so projections on them lose nothing, and they take an eighth of the time of a full decomposition. The
// price: squares of values are exact to about count * 2^-53 of the largest square, so values below 1e-7 of the largest
// are noise, which is also where float32 weights end.
//
// Errors: DQ_BAD_INPUT for a zero or negative size, NaN or infinity, or no convergence; DQ_UNSUPPORTED for a matrix
// beyond LAPACK's 32-bit sizes; DQ_SYSTEM for memory.
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

// The given rows and columns of a matrix, where they are.
dq_matrix dq_matrix_part(const dq_matrix *m, int64_t row, int64_t rows, int64_t column, int64_t columns);

// Copies the elements of one matrix into another of the same size; their strides may differ.
void dq_matrix_copy(const dq_matrix *from, const dq_matrix *to);

// Stores the transpose of `from` in `to`, a matrix of from->columns x from->rows that does not overlap.
void dq_matrix_transpose(const dq_matrix *from, const dq_matrix *to);

// What becomes of the product of two matrices.
typedef enum dq_product_use {
  DQ_PRODUCT_STORE,    // C = op(A) op(B); the old elements of C are not read
  DQ_PRODUCT_ADD,      // C = C + op(A) op(B)
  DQ_PRODUCT_SUBTRACT, // C = C - op(A) op(B)
} dq_product_use;

// Matrix product; op(A) is the transpose of A with `transpose_a`, else A; op(B) likewise. The sizes must fit each
// other, and C overlaps neither A nor B. An element of C is one chain of fused multiply-adds over ascending k, from C
// or +0. DQ_UNSUPPORTED: a matrix is empty; DQ_SYSTEM: there is no memory.
dq_status dq_matrix_multiply(bool transpose_a, const dq_matrix *a, bool transpose_b, const dq_matrix *b,
                             dq_product_use use, const dq_matrix *c, dq_error *error);

// C = A B into the a.rows x b.columns elements of `c`, without a gap between the rows. Statuses as for
// dq_matrix_multiply.
dq_status dq_multiply(dq_matrix a, dq_matrix b, double *c, dq_error *error);

// The symmetric matrix A A^T, or with `transposed` A^T A, as dq_matrix_multiply gives it, in half the time.
dq_status dq_matrix_gram(const dq_matrix *a, bool transposed, const dq_matrix *gram, dq_error *error);

// C = op(A) op(B) in float32, for sums of which a relative error of some 1e-6 is harmless: half the time and memory.
// DQ_BAD_INPUT: a matrix is beyond the sizes of dq_gemm_check; DQ_SYSTEM: there is no memory.
typedef struct dq_matrix_f32 {
  int64_t rows, columns, stride;
  float *data;
} dq_matrix_f32;
dq_status dq_matrix_multiply_f32(bool transpose_a, const dq_matrix_f32 *a, bool transpose_b, const dq_matrix_f32 *b,
                                 const dq_matrix_f32 *c, dq_error *error);

// The Cholesky factor L of a symmetric positive definite matrix A = L L^T. Only the lower triangle of `a` is read, and
// L replaces it; the upper triangle holds nothing of use afterwards. DQ_BAD_INPUT: the matrix is not positive definite;
// DQ_UNSUPPORTED: it is empty or not square; DQ_SYSTEM: there is no memory.
dq_status dq_cholesky(const dq_matrix *a, dq_error *error);
// Replaces B by L^-1 B, or with `transposed` by L^-T B. L is lower->rows x lower->rows and lower triangular, as
// dq_cholesky leaves it; its upper triangle is not read, and no element of its diagonal may be 0, which is not checked.
// B has as many rows as L. DQ_UNSUPPORTED: B has not, or is empty; DQ_SYSTEM: there is no memory.
dq_status dq_solve_triangular(const dq_matrix *lower, bool transposed, const dq_matrix *b, dq_error *error);

// The eigenvalues, in descending order, of the symmetric size x size matrix `a`. The matrix is overwritten: with
// `vectors`, row k becomes the k-th eigenvector, of length 1 and with a positive component of largest magnitude.
// Matrices of more than 1024 rows are given to LAPACK (dsyevd), which is faster there; OpenBLAS chooses instruction
// sets itself, so that the last bits of these depend on the machine and on the release of OpenBLAS. Statuses as for
// dq_left_singular; DQ_SYSTEM also where OpenBLAS or LAPACKE are needed and cannot be loaded.
dq_status dq_symmetric_eigen(int64_t size, double *a, double *values, bool vectors, dq_error *error);

// The Cholesky factor R of a symmetric positive definite size x size matrix A = R^T R. Only the upper triangle of `a`
// is read; R replaces it, and R^T the lower triangle, so that rows and columns of R are both contiguous. Statuses
// as for dq_cholesky.
dq_status dq_factor_symmetric(int64_t size, double *a, dq_error *error);
// Replaces x by A^-1 x, with the matrix that dq_factor_symmetric made of A as `factor`.
void dq_solve_factored(int64_t size, const double *factor, double *x);

#endif
