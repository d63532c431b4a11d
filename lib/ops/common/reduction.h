// The geometry of reductions: which elements of a tensor belong to one result.
#ifndef DQ_OPS_REDUCTION_H
#define DQ_OPS_REDUCTION_H

#include "lib/ops/table/operator.h"

// The elements of a tensor fall into `sets` sets, one for each result, in row-major order of the dimensions that stay.
// A set has `rows` rows of `length` elements, which are `stride` elements apart.
typedef struct dq_reduction {
  int64_t sets, rows, length, stride;
  int kept_rank, outer_rank;
  int64_t kept_dims[DQ_MAX_RANK], kept_strides[DQ_MAX_RANK];   // dimensions that stay
  int64_t outer_dims[DQ_MAX_RANK], outer_strides[DQ_MAX_RANK]; // reduced dimensions except the innermost
} dq_reduction;

// The number that is computed from the elements of a set, and the function of that number which is the result.
typedef enum dq_reduce_kind {
  DQ_REDUCE_SUM,
  DQ_REDUCE_SUM_ABS,
  DQ_REDUCE_SUM_SQUARE,
  DQ_REDUCE_PRODUCT,
  DQ_REDUCE_MAXIMUM,
  DQ_REDUCE_MINIMUM,
  DQ_REDUCE_SUM_EXP // of the elements less the largest one
} dq_reduce_kind;
typedef enum dq_reduce_finish { DQ_FINISH_PLAIN, DQ_FINISH_MEAN, DQ_FINISH_ROOT, DQ_FINISH_LOG } dq_reduce_finish;

// Fills *plan. reduced[axis] says whether the reduction removes that dimension of `input`, whose elements are not read.
void dq_reduction_plan(const dq_tensor *input, const bool *reduced, dq_reduction *plan);
// The offset in elements, from the start of the tensor, of the first element of set `set`, 0 to plan->sets - 1. Takes a
// division for each dimension that stays.
int64_t dq_reduction_set(const dq_reduction *plan, int64_t set);
// The offset in elements, from the first element of a set, of the first element of its row `row`, 0 to plan->rows - 1;
// the same for all sets. Rows follow each other in row-major order of the reduced dimensions except the innermost.
int64_t dq_reduction_row(const dq_reduction *plan, int64_t row);
// The number of sets for which it pays to wake a thread, for dq_spans.
int64_t dq_reduction_grain(const dq_reduction *plan);

// Stores in reduced[rank of input 0] which axes a node of ReduceSum and its like removes; *known is false when that
// depends on elements that are not known. DQ_BAD_INPUT: an axis is outside.
dq_status dq_reduced_axes(const dq_op *op, bool *reduced, bool *known);

#endif
