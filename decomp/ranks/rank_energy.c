// Rank rule "energy": the smallest rank of each mode whose squared singular values reach a share of
// all of them.
#include "decomp/ranks/ranks.h"

// Squares are known to about this share of their sum: without it, an energy of 1 would keep what is
// rounding only.
static const double PRECISION = 1e-14;

static int64_t smallest_rank(const dq_mode *mode, double energy) {
  double all = 0, kept = 0;
  for (int64_t k = 0; k < mode->rank; k++) all += mode->values[k] * mode->values[k];
  for (int64_t k = 0; k < mode->rank; k++) {
    kept += mode->values[k] * mode->values[k];
    if (kept >= energy * all * (1 - PRECISION)) return k + 1;
  }
  return mode->rank;
}

dq_ranks dq_rank_energy(const dq_hosvd *hosvd, double parameter) {
  return (dq_ranks){.out = smallest_rank(&hosvd->out, parameter), .in = smallest_rank(&hosvd->in, parameter)};
}
