// Sums over the pictures of a batch whose terms lie on several processes: what these send each other, and the addition
// of what they receive. The numbers of a sum are cut into a slice for each process, which adds the blocks
// (dq_shard_blocks) of all processes there.
#ifndef DQ_OPS_SUM_EXCHANGE_H
#define DQ_OPS_SUM_EXCHANGE_H

#include <stddef.h>

#include "lib/base/processes.h"

typedef struct dq_picture_sum {
  int64_t rows;  // that this process has added: those of its pictures, of which each has as many
  int64_t count; // numbers
  int type;      // float32 or float64
  // Of this process: arrays of `count` numbers, `stride` numbers apart; not read where they were sent.
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
  int64_t *levels;
} dq_sum_exchange;

// The shards that process `process` adds of a sum of `rows` rows on this process: from *first to *end - 1.
void dq_shards_of_process(const dq_picture_part *part, int process, int64_t rows, int64_t *first, int64_t *end);
// The numbers that a process adds of a sum: from *begin to *end - 1.
void dq_sum_slice(const dq_sum_exchange *exchange, int sum, int process, int64_t *begin, int64_t *end);

// Completes an exchange of part, whole, sums and count. False: there is no memory. The caller closes it in either case.
bool dq_sum_exchange_open(dq_sum_exchange *exchange);
void dq_sum_exchange_close(dq_sum_exchange *exchange);
// The bytes for all processes and from all of them.
size_t dq_sum_exchange_sent(const dq_sum_exchange *exchange);
size_t dq_sum_exchange_received(const dq_sum_exchange *exchange);
// Brings the blocks into the order in which they are sent; `to` has dq_sum_exchange_sent bytes.
void dq_sum_exchange_pack(const dq_sum_exchange *exchange, char *to);
// Adds what was received and calls `result` with each sum: the numbers of this process, of the type of the sum. `work`
// has exchange->workspace bytes, aligned to 8.
void dq_sum_exchange_add(const dq_sum_exchange *exchange, const char *received, char *work,
                         void (*result)(void *user, int sum, const char *numbers), void *user);

#endif
