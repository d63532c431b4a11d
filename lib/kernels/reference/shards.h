// Sums of many elements that are the same on every processor and for any number of threads.
#ifndef DQ_KERNELS_SHARDS_H
#define DQ_KERNELS_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

// Pictures of a batch whose terms are added one after the other. The sums of the shards are added in a tree: the sum of
// n shards is that of the first ones, of which there are the largest power of two below n, and that of the others. A
// process that adds a power of two of neighbouring shards therefore computes a part of the whole sum, with the same
// bits.
enum { DQ_SHARD = 4, DQ_LANES = 16, DQ_SHARD_LEVELS = 64 };

// Adds the sum of `term`, an expression of the index i from 0 to count - 1, to the double `total`: term i is added to
// lane i % DQ_LANES, in `type`, and the lanes are added in double in ascending order.
#define DQ_LANE_SUM(type, count, term, total)                                                                          \
  do {                                                                                                                 \
    const int64_t lane_count = (count), lane_whole = lane_count - lane_count % DQ_LANES;                               \
    type lanes[DQ_LANES] = {0};                                                                                        \
    for (int64_t lane_at = 0; lane_at < lane_whole; lane_at += DQ_LANES)                                               \
      for (int lane = 0; lane < DQ_LANES; lane++) {                                                                    \
        const int64_t i = lane_at + lane;                                                                              \
        lanes[lane] += (term);                                                                                         \
      }                                                                                                                \
    for (int64_t i = lane_whole; i < lane_count; i++) lanes[i - lane_whole] += (term);                                 \
    for (int lane = 0; lane < DQ_LANES; lane++) (total) += (double)lanes[lane];                                        \
  } while (0)

// The tree of shards, as a binary counter adds: sums of 1, 2, 4, ... shards that still wait for others. Where `first`
// is not 0, these are shards of a larger sum from that one on; what waits at the end, waiting[depth], are the sums of
// the blocks of dq_shard_blocks, which others have to add.
typedef struct dq_shard_sums {
  double waiting[DQ_SHARD_LEVELS];
  int depth;
  int64_t first, count;
} dq_shard_sums;

// Whether the last two waiting sums are added after shard `end` - 1; their sum is then that of `size` shards.
static inline bool dq_shards_join(int64_t first, int64_t end, int64_t size) {
  return end % size == 0 && end - size >= first;
}

// Adds the sum of the next shard.
static inline void dq_shard_add(dq_shard_sums *sums, double sum) {
  sums->waiting[sums->depth++] = sum;
  const int64_t end = sums->first + ++sums->count;
  for (int64_t n = 2; dq_shards_join(sums->first, end, n); n *= 2, sums->depth--)
    sums->waiting[sums->depth - 2] += sums->waiting[sums->depth - 1];
}

// The blocks that the shards first to end - 1 are added to: the largest powers of two of neighbouring shards that are
// whole parts of the tree. Returns their number, at most DQ_SHARD_LEVELS; sizes[.] receives their shards; NULL: not
// needed.
static inline int dq_shard_blocks(int64_t first, int64_t end, int64_t *sizes) {
  int blocks = 0;
  while (first < end) {
    int64_t size = 1;
    while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
    if (sizes) sizes[blocks] = size;
    blocks++, first += size;
  }
  return blocks;
}

// The pictures `*first` to *first + *count - 1 of `all` that one of `processes` processes computes: whole shards, as
// many for each as can be, the first ones one more. *count is 0 where there are fewer shards than processes.
static inline void dq_shard_part(int64_t all, int process, int processes, int64_t *first, int64_t *count) {
  const int64_t shards = (all + DQ_SHARD - 1) / DQ_SHARD, each = shards / processes, more = shards % processes;
  const int64_t begin = process * each + (process < more ? process : more), end = begin + each + (process < more);
  *first = begin * DQ_SHARD;
  *count = (end * DQ_SHARD < all ? end * DQ_SHARD : all) - *first;
  if (begin == end) *first = *count = 0;
}

// The sum of all shards; 0 of none. No more may be added.
static inline double dq_shard_total(dq_shard_sums *sums) {
  for (; sums->depth > 1; sums->depth--) sums->waiting[sums->depth - 2] += sums->waiting[sums->depth - 1];
  return sums->depth ? sums->waiting[0] : 0;
}

#endif
