// What the files of lib/linalg share beside the reflectors.
#ifndef DQ_LINALG_INTERNAL_H
#define DQ_LINALG_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/linalg/linalg.h"

// Symmetric matrices of more rows go to LAPACK.
enum { DQ_OWN_EIGEN_LIMIT = 1024 };

// The instruction sets of this processor, found once: results do not depend on them.
unsigned dq_linalg_features(void);
// DQ_BAD_INPUT: a size is below 1, or an element is NaN or infinite; DQ_UNSUPPORTED: LAPACK's sizes of 32 bits do not
// hold what a decomposition needs.
dq_status dq_check_matrix(int64_t rows, int64_t columns, const double *a, dq_error *error);
// Makes the component of largest magnitude of each row positive, the first one among equals.
void dq_fix_signs(int64_t rows, int64_t columns, double *vectors);
// dq_symmetric_eigen by LAPACK's dsyevd, without the signs. `arena` is for its workspace.
dq_status dq_lapack_eigen(int64_t size, double *a, double *values, bool vectors, dq_arena *arena, dq_error *error);

#endif
