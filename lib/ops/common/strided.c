// Copies by strides: axes are merged as far as possible, the two innermost are copied by a kernel
// that knows rows, transpositions and repetitions.
#include "lib/ops/common/strided.h"

#include "lib/kernels/array/array.h"

#include <string.h>

enum { TILE = 16, BLOCK_BYTES = 1 << 16 };

void dq_strides(int rank, const int64_t *dims, int64_t *strides) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

int64_t dq_place_along(const dq_tensor *tensor, int64_t i, const int64_t *strides, int axis, int64_t index) {
  int64_t place = 0;
  for (int d = tensor->rank - 1; d >= 0; d--) {
    int64_t at = i % tensor->dims[d];
    i /= tensor->dims[d];
    place += (d == axis ? index : at) * strides[d];
  }
  return place;
}

void dq_strided_permute(dq_strided *plan, int rank, const int64_t *dims, const int *perm) {
  int64_t strides[DQ_STRIDED_RANK];
  dq_strides(rank, dims, strides);
  plan->rank = rank;
  for (int i = 0; i < rank; i++) {
    plan->dims[i] = dims[perm[i]];
    plan->from[i] = strides[perm[i]];
  }
  dq_strides(rank, plan->dims, plan->to);
}

// Drops axes of size 1 and merges neighbours that both sides walk without a gap. At least two axes
// are left.
static dq_strided merged(const dq_strided *plan) {
  dq_strided out = {.rank = 0};
  for (int i = 0; i < plan->rank; i++) {
    if (plan->dims[i] == 1) continue;
    int last = out.rank - 1;
    if (last >= 0 && out.from[last] == plan->from[i] * plan->dims[i] && out.to[last] == plan->to[i] * plan->dims[i]) {
      out.dims[last] *= plan->dims[i];
    } else {
      last = out.rank++;
      out.dims[last] = plan->dims[i];
    }
    out.from[last] = plan->from[i];
    out.to[last] = plan->to[i];
  }
  if (out.rank >= 2) return out;
  if (out.rank == 0) out.dims[0] = 1;
  return (dq_strided){2, {1, out.dims[0]}, {0, out.from[0]}, {0, out.to[0]}};
}

// Where both sides read and write densely along different axes, those two go innermost.
static void bring_dense_axis_inwards(dq_strided *plan) {
  int inner = plan->rank - 1;
  if (plan->to[inner] != 1 || plan->from[inner] == 1 || plan->from[inner] == 0) return;
  for (int i = 0; i < inner - 1; i++) {
    if (plan->from[i] != 1) continue;
    int64_t dim = plan->dims[i], to = plan->to[i];
    size_t bytes = (size_t)(inner - 1 - i) * sizeof dim;
    memmove(&plan->dims[i], &plan->dims[i + 1], bytes);
    memmove(&plan->from[i], &plan->from[i + 1], bytes);
    memmove(&plan->to[i], &plan->to[i + 1], bytes);
    plan->dims[inner - 1] = dim;
    plan->from[inner - 1] = 1;
    plan->to[inner - 1] = to;
    return;
  }
}

typedef struct block {
  int64_t rows, count;                          // sizes of the two innermost axes
  int64_t from_row, from_step, to_row, to_step; // strides in elements
} block;

static inline __attribute__((always_inline)) void copy_tiles(const block *b, const char *from, char *to, int64_t size) {
  for (int64_t r = 0; r < b->rows; r += TILE)
    for (int64_t i = 0; i < b->count; i += TILE) {
      int64_t rows = b->rows - r < TILE ? b->rows - r : TILE;
      int64_t count = b->count - i < TILE ? b->count - i : TILE;
      for (int64_t y = r; y < r + rows; y++)
        for (int64_t x = i; x < i + count; x++)
          memcpy(to + (y * b->to_row + x * b->to_step) * size, from + (y * b->from_row + x * b->from_step) * size,
                 (size_t)size);
    }
}

// Every second element, which a compiler turns into vectors.
static inline __attribute__((always_inline)) void copy_second(const char *restrict from, char *restrict to,
                                                              int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; i++) memcpy(to + i * size, from + 2 * i * size, (size_t)size);
}

static inline __attribute__((always_inline)) void copy_rows(const block *b, const char *from, char *to, int64_t size) {
  int64_t to_step = b->to_step * size, from_step = b->from_step * size;
  for (int64_t r = 0; r < b->rows; r++) {
    const char *source = from + r * b->from_row * size;
    char *target = to + r * b->to_row * size;
    if (from_step == size && to_step == size) memcpy(target, source, (size_t)(b->count * size));
    else if (from_step == 2 * size && to_step == size) copy_second(source, target, b->count, size);
    else if (to_step == size && from_step == 0) dq_fill_elements(target, b->count, (size_t)size, source);
    else
      for (int64_t i = 0; i < b->count; i++) memcpy(target + i * to_step, source + i * from_step, (size_t)size);
  }
}

static inline __attribute__((always_inline)) void copy_block(const block *b, const char *from, char *to, int64_t size) {
  if (b->from_row == 1 && b->from_step != 1) copy_tiles(b, from, to, size);
  else copy_rows(b, from, to, size);
}

typedef struct job {
  const dq_strided *plan;
  block all;
  int64_t blocks, block_rows; // the rows of one outer position are shared out in blocks; block_rows 0: it has one row,
                              // and blocks are parts of this row
  size_t size;
  const char *from;
  char *to;
  dq_f32_columns_function *transpose; // where rows and columns change places; NULL: loops
} job;

static void transpose_block(const job *j, const block *b, const char *from, char *to) {
  dq_columns columns = {.from = (const float *)(const void *)from,
                        .from_stride = b->from_step,
                        .rows = b->count,
                        .columns = b->rows,
                        .to = (float *)(void *)to,
                        .to_stride = b->to_row};
  j->transpose(&columns);
}

static void copy_item(void *argument, int64_t item, int thread) {
  (void)thread;
  const job *j = argument;
  const dq_strided *plan = j->plan;
  int64_t outer = item / j->blocks, part = item % j->blocks, row = part * j->block_rows;
  int64_t from = row * j->all.from_row, to = row * j->all.to_row;
  for (int i = plan->rank - 3; i >= 0; i--) {
    int64_t index = outer % plan->dims[i];
    outer /= plan->dims[i];
    from += index * plan->from[i];
    to += index * plan->to[i];
  }
  block b = j->all;
  if (j->block_rows) {
    b.rows = b.rows - row < j->block_rows ? b.rows - row : j->block_rows;
  } else {
    int64_t first = b.count * part / j->blocks;
    b.count = b.count * (part + 1) / j->blocks - first;
    from += first * b.from_step;
    to += first * b.to_step;
  }
  const char *source = j->from + from * (int64_t)j->size;
  char *target = j->to + to * (int64_t)j->size;
  if (j->transpose) {
    transpose_block(j, &b, source, target);
    return;
  }
  switch (j->size) { // constants, so that each has its own loops
  case 1: copy_block(&b, source, target, 1); break;
  case 2: copy_block(&b, source, target, 2); break;
  case 4: copy_block(&b, source, target, 4); break;
  default: copy_block(&b, source, target, 8); break;
  }
}

void dq_strided_copy(const dq_op *op, const dq_strided *plan, size_t size, const void *from, void *to) {
  for (int i = 0; i < plan->rank; i++)
    if (plan->dims[i] == 0) return;
  dq_strided flat = merged(plan);
  bring_dense_axis_inwards(&flat);
  int row = flat.rank - 2, inner = flat.rank - 1;
  job j = {.plan = &flat, .size = size, .from = from, .to = to};
  j.all = (block){flat.dims[row], flat.dims[inner], flat.from[row], flat.from[inner], flat.to[row], flat.to[inner]};
  bool transposed = j.all.from_row == 1 && j.all.from_step != 1 && j.all.to_step == 1;
  if (size == 4 && transposed && j.all.rows >= TILE && j.all.count >= TILE && op->context)
    j.transpose = dq_transpose_32(op->context->cpu);
  int64_t row_bytes = j.all.count * (int64_t)size;
  if (j.all.rows == 1) {
    j.blocks = row_bytes / BLOCK_BYTES + 1;
  } else {
    j.block_rows = (BLOCK_BYTES / row_bytes + TILE) / TILE * TILE;
    j.blocks = (j.all.rows + j.block_rows - 1) / j.block_rows;
  }
  int64_t items = j.blocks;
  for (int i = 0; i < row; i++) items *= flat.dims[i];
  dq_op_parallel(op, items, j.all.rows * j.all.count / j.blocks, copy_item, &j);
}

void dq_fill_elements(void *to, int64_t count, size_t size, const void *value) {
  char *target = to;
  const size_t all = (size_t)count * size;
  if (count) memcpy(target, value, size);
  for (size_t filled = size; filled < all; filled *= 2) // what is there, once more
    memcpy(target + filled, target, filled < all - filled ? filled : all - filled);
}

dq_status dq_run_copy(dq_op *op) {
  size_t bytes = dq_tensor_bytes(op->outputs[0]);
  if (bytes && op->outputs[0]->data != op->inputs[0]->data) memcpy(op->outputs[0]->data, op->inputs[0]->data, bytes);
  return DQ_OK;
}
