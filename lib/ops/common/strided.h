// Moving elements between tensors by strides: what Transpose, Slice, Concat, Tile and their like
// share. Works on elements of 1, 2, 4 or 8 bytes whatever they mean.
#ifndef DQ_OPS_STRIDED_H
#define DQ_OPS_STRIDED_H

#include "lib/base/sizes.h"
#include "lib/ops/table/operator.h"

enum { DQ_STRIDED_RANK = 2 * DQ_MAX_RANK };

// A copy of dims[0] x dims[1] x ... elements: element (i0, i1, ...) is read at the sum of i * from and written at the
// sum of i * to. Strides count elements; those of `from` may be zero or negative.
typedef struct dq_strided {
  int rank;
  int64_t dims[DQ_STRIDED_RANK], from[DQ_STRIDED_RANK], to[DQ_STRIDED_RANK];
} dq_strided;

// Copies elements of `size` (1, 2, 4 or 8) bytes; the regions must not overlap. Large copies run on the pool of the
// context of `op`.
void dq_strided_copy(const dq_op *op, const dq_strided *plan, size_t size, const void *from, void *to);

// Stores the row-major strides of dims[rank], in elements, in strides[rank].
void dq_strides(int rank, const int64_t *dims, int64_t *strides);

// The offset, in an array with these strides, of the position that element `i` of `tensor` has, with its index along
// `axis` replaced by `index`.
int64_t dq_place_along(const dq_tensor *tensor, int64_t i, const int64_t *strides, int axis, int64_t index);

// Fills *plan for a transposition between row-major arrays: axis i of the output is axis perm[i] of the input, which
// has the sizes `dims`.
void dq_strided_permute(dq_strided *plan, int rank, const int64_t *dims, const int *perm);

// Sets `count` elements of `size` bytes to the one at `value`.
void dq_fill_elements(void *to, int64_t count, size_t size, const void *value);

// Copies the elements of input 0 to output 0 in the same order, unless both are at the same place. Returns DQ_OK.
dq_status dq_run_copy(dq_op *op);

// Whether the node has input `i`, and the elements of this input are known or their number is 0.
static inline bool dq_op_readable(const dq_op *op, int i) {
  const dq_tensor *input = dq_op_input(op, i);
  return input && (input->data || dq_tensor_count(input) == 0);
}

// The distance in bytes between the workspaces of two threads, of `bytes` each: no line of a cache holds parts of both,
// which would move between the processors at every write.
static inline size_t dq_thread_workspace(size_t bytes) {
  enum { LINE = 64 };
  return dq_round_up(bytes + LINE, LINE);
}

// Calls work(argument, i, thread) for each i from 0 to count - 1, on the pool of the context when that pays: `cost` is
// about the number of elements that one call reads and writes. `thread` is the index of the thread in the pool.
static inline void dq_op_parallel(const dq_op *op, int64_t count, int64_t cost,
                                  void (*work)(void *argument, int64_t i, int thread), void *argument) {
  bool large = count > 1 && cost > (int64_t)(1 << 15) / count;
  dq_pool_run(large && op->context ? op->context->pool : NULL, count, work, argument);
}

#endif
