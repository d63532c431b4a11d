// The geometry of reductions: which elements of a tensor belong to one result.
#ifndef DQ_OPS_REDUCE_H
#define DQ_OPS_REDUCE_H

#include "lib/ops/operator.h"

// A tensor's elements fall into `sets` sets (one per result, in row-major order of the
// dimensions that stay) of `rows` rows of `length` elements `stride` apart.
typedef struct dq_reduction {
  int64_t sets, rows, length, stride;
  int kept_rank, outer_rank;
  int64_t kept_dims[DQ_MAX_RANK], kept_strides[DQ_MAX_RANK];
  int64_t outer_dims[DQ_MAX_RANK], outer_strides[DQ_MAX_RANK]; // reduced ones but the innermost
} dq_reduction;

// reduced[axis] says which dimensions of `input` go.
void dq_reduction_plan(const dq_tensor *input, const bool *reduced, dq_reduction *plan);
// Offsets in elements: of the first element of a set; of a row from there.
int64_t dq_reduction_set(const dq_reduction *plan, int64_t set);
int64_t dq_reduction_row(const dq_reduction *plan, int64_t row);
// Sets worth a thread.
int64_t dq_reduction_grain(const dq_reduction *plan);

#endif
