#include "lib/ops/common/sum_exchange.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/base/tensor.h"
#include "lib/kernels/reference/shards.h"

void dq_shards_of_process(const dq_picture_part *part, int process, int64_t rows, int64_t *first, int64_t *end) {
  const int64_t each = rows / part->count;
  int64_t picture, count;
  dq_shard_part(part->all, process, part->processes->count, &picture, &count);
  *first = picture * each / DQ_SHARD;
  *end = ((picture + count) * each + DQ_SHARD - 1) / DQ_SHARD;
}

void dq_sum_slice(const dq_sum_exchange *e, int sum, int process, int64_t *begin, int64_t *end) {
  const int64_t count = e->sums[sum].count, processes = e->part->processes->count;
  *begin = e->whole ? 0 : count * process / processes;
  *end = e->whole ? count : count * (process + 1) / processes;
}

static size_t slice_bytes(const dq_sum_exchange *e, int sum, int process) {
  int64_t begin, end;
  dq_sum_slice(e, sum, process, &begin, &end);
  return (size_t)(end - begin) * dq_dtype_size(e->sums[sum].type);
}

// The blocks that a process has of a sum.
static int blocks_of(const dq_sum_exchange *e, int sum, int process, int64_t *levels) {
  int64_t first, end;
  dq_shards_of_process(e->part, process, e->sums[sum].rows, &first, &end);
  return dq_shard_blocks(first, end, levels);
}

static void add_sizes(dq_sum_exchange *e, int sum) {
  const int processes = e->part->processes->count, here = e->part->processes->index;
  const size_t own = (size_t)blocks_of(e, sum, here, NULL), slice = slice_bytes(e, sum, here);
  size_t all = 0;
  for (int r = 0; r < processes; r++) {
    const size_t blocks = (size_t)blocks_of(e, sum, r, NULL);
    e->sent[r] += own * slice_bytes(e, sum, r);
    e->received[r] += blocks * slice;
    all += blocks * slice;
  }
  if (all > e->workspace) e->workspace = all;
}

bool dq_sum_exchange_open(dq_sum_exchange *e) {
  const size_t processes = (size_t)e->part->processes->count;
  e->workspace = 0;
  e->sent = calloc(processes, sizeof *e->sent);
  e->received = calloc(processes, sizeof *e->received);
  e->cursors = calloc(processes, sizeof *e->cursors);
  e->levels = calloc(processes * DQ_SHARD_LEVELS, sizeof *e->levels);
  if (!e->sent || !e->received || !e->cursors || !e->levels) return false;
  for (int i = 0; i < e->count; i++) add_sizes(e, i);
  return true;
}

void dq_sum_exchange_close(dq_sum_exchange *e) {
  free(e->sent);
  free(e->received);
  free((void *)e->cursors);
  free(e->levels);
}

size_t dq_sum_exchange_sent(const dq_sum_exchange *e) {
  size_t bytes = 0;
  if (e->whole) return e->sent[0];
  for (int r = 0; r < e->part->processes->count; r++) bytes += e->sent[r];
  return bytes;
}

size_t dq_sum_exchange_received(const dq_sum_exchange *e) {
  size_t bytes = 0;
  for (int r = 0; r < e->part->processes->count; r++) bytes += e->received[r];
  return bytes;
}

void dq_sum_exchange_pack(const dq_sum_exchange *e, char *to) {
  const int processes = e->whole ? 1 : e->part->processes->count;
  for (int r = 0; r < processes; r++)
    for (int i = 0; i < e->count; i++) {
      const dq_picture_sum *sum = &e->sums[i];
      const int blocks = blocks_of(e, i, e->part->processes->index, NULL);
      const size_t bytes = slice_bytes(e, i, r);
      int64_t begin, end;
      dq_sum_slice(e, i, r, &begin, &end);
      for (int b = 0; b < blocks; b++, to += bytes)
        memcpy(to, sum->blocks + (size_t)(b * sum->stride + begin) * dq_dtype_size(sum->type), bytes);
    }
}

// ---- Addition ----

static void add_arrays(int type, char *to, const char *from, int64_t count) {
  if (type == DQ_F64)
    for (int64_t i = 0; i < count; i++) ((double *)(void *)to)[i] += ((const double *)(const void *)from)[i];
  else
    for (int64_t i = 0; i < count; i++) ((float *)(void *)to)[i] += ((const float *)(const void *)from)[i];
}

// Adds blocks of `count` numbers in the tree of shards; the sum is in the first array.
static void add_blocks(const dq_sum_exchange *e, int type, char *work, int blocks, int64_t count) {
  int64_t waiting[2 * DQ_SHARD_LEVELS];
  int depth = 0;
  const size_t bytes = (size_t)count * dq_dtype_size(type);
  for (int b = 0; b < blocks; b++) {
    if (b != depth) memmove(work + (size_t)depth * bytes, work + (size_t)b * bytes, bytes);
    waiting[depth++] = e->levels[b];
    for (; depth > 1 && (waiting[depth - 1] == waiting[depth - 2] || b == blocks - 1); depth--) {
      add_arrays(type, work + (size_t)(depth - 2) * bytes, work + (size_t)(depth - 1) * bytes, count);
      waiting[depth - 2] += waiting[depth - 1];
    }
  }
}

// What each process sent lies behind that of the one before, and there one sum behind the other.
static void add_sum(const dq_sum_exchange *e, int sum, char *work) {
  const int processes = e->part->processes->count;
  const size_t slice = slice_bytes(e, sum, e->part->processes->index);
  int all = 0;
  for (int r = 0; r < processes; r++) {
    const int blocks = blocks_of(e, sum, r, e->levels + all);
    const size_t bytes = (size_t)blocks * slice;
    memcpy(work + (size_t)all * slice, e->cursors[r], bytes);
    e->cursors[r] += bytes;
    all += blocks;
  }
  add_blocks(e, e->sums[sum].type, work, all, (int64_t)(slice / dq_dtype_size(e->sums[sum].type)));
}

void dq_sum_exchange_add(const dq_sum_exchange *e, const char *received, char *work,
                         void (*result)(void *user, int sum, const char *numbers), void *user) {
  for (int r = 0; r < e->part->processes->count; received += e->received[r++]) e->cursors[r] = received;
  for (int i = 0; i < e->count; i++) {
    add_sum(e, i, work);
    result(user, i, work);
  }
}
