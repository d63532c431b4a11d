// Moving elements between tensors by strides: what Transpose, Slice, Concat, Tile and their like
// share. Works on elements of 1, 2, 4 or 8 bytes whatever they mean.
#ifndef DQ_OPS_STRIDED_H
#define DQ_OPS_STRIDED_H

#include "lib/base/sizes.h"
#include "lib/ops/operator.h"

enum { DQ_STRIDED_RANK = 2 * DQ_MAX_RANK };

// Element (i0, i1, ...) goes from `sum of i * from` to `sum of i * to`; strides count elements and
// may be zero or negative in `from`.
typedef struct dq_strided {
  int rank;
  int64_t dims[DQ_STRIDED_RANK], from[DQ_STRIDED_RANK], to[DQ_STRIDED_RANK];
} dq_strided;

// Copies elements of `size` bytes; the regions must not overlap. Threaded when large.
void dq_strided_copy(const dq_op *op, const dq_strided *plan, size_t size, const void *from, void *to);

// Row-major strides of dims.
void dq_strides(int rank, const int64_t *dims, int64_t *strides);

// Where in an array of these strides the position of element i of `tensor` lies, with `index` in its place along the
// axis.
int64_t dq_place_along(const dq_tensor *tensor, int64_t i, const int64_t *strides, int axis, int64_t index);

// The plan of a transposition: the dense output's axis i is axis perm[i] of the dense input `dims`.
void dq_strided_permute(dq_strided *plan, int rank, const int64_t *dims, const int *perm);

// Sets `count` elements of `size` bytes to the one at `value`.
void dq_fill_elements(void *to, int64_t count, size_t size, const void *value);

// Output 0 gets the elements of input 0 in the same order, unless they lie there already.
dq_status dq_run_copy(dq_op *op);

// True when the elements of input i are known, or there are none.
static inline bool dq_op_readable(const dq_op *op, int i) {
  const dq_tensor *input = dq_op_input(op, i);
  return input && (input->data || dq_tensor_count(input) == 0);
}

// Bytes from the room of one thread to that of the next for `bytes` in each: no line of a cache holds parts of two,
// which processors would take from each other at every write.
static inline size_t dq_thread_room(size_t bytes) {
  enum { LINE = 64 };
  return dq_round_up(bytes + LINE, LINE);
}

// Calls work(argument, i, thread) for i in [0, count), on the pool when there is enough to do:
// `cost` is about the number of elements one call touches.
static inline void dq_op_parallel(const dq_op *op, int64_t count, int64_t cost,
                                  void (*work)(void *argument, int64_t i, int thread), void *argument) {
  bool large = count > 1 && cost > (int64_t)(1 << 15) / count;
  dq_pool_run(large && op->context ? op->context->pool : NULL, count, work, argument);
}

#endif
