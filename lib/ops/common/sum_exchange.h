// Sums over the pictures of a batch whose terms lie on several processes: what these send each other, and the addition
// of what they receive. The numbers of a sum are cut into a slice for each process, which adds the blocks
// (dq_shard_blocks) of all processes there.
#ifndef DQ_OPS_SUM_EXCHANGE_H
#define DQ_OPS_SUM_EXCHANGE_H

#include <stddef.h>

#include "lib/base/processes.h"

typedef struct dq_picture_sum {
  int64_t rows;  // rows that this process has added, the same number for each of its pictures
  int64_t count; // numbers
  int type;      // float32 or float64
  // The blocks of this process: arrays of `count` numbers, `stride` numbers apart. Only dq_sum_exchange_pack reads
  // them.
  const char *blocks;
  int64_t stride;
} dq_picture_sum;

// Several sums that are sent together.
typedef struct dq_sum_exchange {
  const dq_picture_part *part;
  bool whole; // each process adds all numbers, in place of a slice for each
  const dq_picture_sum *sums;
  int count;
  // Set by dq_sum_exchange_open: bytes that go to each process and that come from it, and the workspace of the
  // addition.
  size_t *sent, *received, workspace;
  const char **cursors; // [processes]
  int64_t *levels;      // of the blocks of all processes
} dq_sum_exchange;

// The shards (lib/kernels/reference/shards.h) of a sum over all pictures that process `process` computes: from *first
// to *end - 1. `rows` are those of the pictures of this process.
void dq_shards_of_process(const dq_picture_part *part, int process, int64_t rows, int64_t *first, int64_t *end);
// The numbers of exchange->sums[sum] that process `process` adds: from *begin to *end - 1.
void dq_sum_slice(const dq_sum_exchange *exchange, int sum, int process, int64_t *begin, int64_t *end);

// Opens an exchange, of which the caller has set part, whole, sums and count. False: there is no memory. The caller
// closes the exchange in either case.
bool dq_sum_exchange_open(dq_sum_exchange *exchange);
void dq_sum_exchange_close(dq_sum_exchange *exchange);
// The bytes that this process sends to all processes, and that it receives from all processes.
size_t dq_sum_exchange_sent(const dq_sum_exchange *exchange);
size_t dq_sum_exchange_received(const dq_sum_exchange *exchange);
// Writes the blocks to `to`, of dq_sum_exchange_sent bytes, in the order in which they are sent.
void dq_sum_exchange_pack(const dq_sum_exchange *exchange, char *to);
// Adds the received blocks and calls `result` for each sum with the numbers of its slice (dq_sum_slice), of the type of
// the sum; they hold during the call. `received` has dq_sum_exchange_received bytes, in the order of the processes;
// `work` is a workspace of exchange->workspace bytes, aligned to 8.
void dq_sum_exchange_add(const dq_sum_exchange *exchange, const char *received, char *work,
                         void (*result)(void *user, int sum, const char *numbers), void *user);

#endif
