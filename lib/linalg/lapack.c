// Eigenvectors of large matrices by LAPACKE: workspaces of our own, as the plain calls of LAPACKE allocate in silence.
#include <limits.h>
#include <pthread.h>

#include "lib/blas/blas.h"
#include "lib/linalg/linalg_internal.h"

// OpenBLAS takes a buffer for each call under way, keeps it for later ones, and waits for ever when the system
// refuses one. Its own threads, which do nothing here, take one each when they start, which may be at any time. Where
// the address space is limited (ulimit -v) calls take turns, so that one buffer does for all of them, and before the
// first one a trial shows whether there is space for a buffer for each thread.
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static bool buffer_is_there; // under `turns`

static bool claim_buffer(void) {
  if (buffer_is_there || !dq_blas_loaded()->threads) return true; // of OpenBLAS alone
  if (!dq_blas_has_space(dq_blas_loaded()->threads)) return false;
  double one = 1, product; // the call takes the buffer, before other threads can take that space
  dq_blas_loaded()->cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0, &one, 1, &one, 1, 0.0,
                                &product, 1);
  return buffer_is_there = true;
}

// begin_calls and end_calls stand around calls of LAPACKE; `*limited` is for end_calls.
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

static dq_status check_info(lapack_int info, const char *routine, dq_error *error) {
  if (info == 0) return DQ_OK;
  if (info > 0) return dq_fail(error, DQ_BAD_INPUT, "%s did not converge (info %d)", routine, info);
  return dq_fail(error, DQ_SYSTEM, "%s refused argument %d", routine, -info);
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

static void reverse(int64_t rows, int64_t columns, double *a) {
  for (int64_t low = 0, high = rows - 1; low < high; low++, high--)
    for (int64_t c = 0; c < columns; c++) {
      double kept = a[low * columns + c];
      a[low * columns + c] = a[high * columns + c];
      a[high * columns + c] = kept;
    }
}

dq_status dq_lapack_eigen(int64_t size, double *a, double *values, bool vectors, dq_arena *arena, dq_error *error) {
  bool limited;
  DQ_TRY(begin_calls(&limited, error));
  dq_status status = eigen(arena, vectors ? 'V' : 'N', size, a, values, error);
  end_calls(limited);
  if (status != DQ_OK) return status;
  reverse(size, 1, values);
  if (vectors) reverse(size, size, a);
  return DQ_OK;
}
