// Rank rule "ratio": the same share of every mode's rank.
#include <math.h>

#include "decomp/ranks/ranks.h"
#include "lib/base/sizes.h"

// ceil(ratio * full), where the product of a decimal fraction may come out a hair above an integer
// (0.1 * 30 = 3.0000000000000004) and must not count as one more.
static int64_t share(const dq_mode *mode, double ratio) {
  int64_t rank = (int64_t)ceil(ratio * (double)mode->rank * (1 - 1e-12));
  return dq_max_i64(1, dq_min_i64(rank, mode->rank));
}

dq_ranks dq_rank_ratio(const dq_hosvd *hosvd, double parameter) {
  return (dq_ranks){.out = share(&hosvd->out, parameter), .in = share(&hosvd->in, parameter)};
}
