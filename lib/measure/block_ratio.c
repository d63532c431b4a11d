// The ratio of the times of two plans that ran in blocks.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/measure/timed_blocks.h"

// chances[s]: of a sum s of the ranks 1 ... count, each of which counts with probability 1/2.
static void fill_chances(double *chances, int64_t count) {
  int64_t most = 0;
  chances[0] = 1;
  for (int64_t rank = 1; rank <= count; rank++) {
    for (int64_t s = most + 1; s <= most + rank; s++) chances[s] = 0;
    most += rank;
    for (int64_t s = most; s >= 0; s--) chances[s] = (chances[s] + (s < rank ? 0 : chances[s - rank])) / 2;
  }
}

// How many of the means lie outside of the interval on either side: the largest sum of ranks that is so unlikely.
static int64_t means_outside(const double *chances, double *level) {
  int64_t outside = 0;
  double missed = chances[0];
  for (*level = 1 - 2 * missed;; outside++) {
    missed += chances[outside + 1];
    if (1 - 2 * missed < DQ_BLOCK_LEVEL) return outside;
    *level = 1 - 2 * missed;
  }
}

// Geometric means of all pairs of values, in ascending order.
static void fill_means(double *means, const double *values, int64_t count) {
  double *at = means;
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = i; j < count; j++) *at++ = i == j ? values[i] : sqrt(values[i] * values[j]);
  dq_sort_ascending(means, at - means);
}

dq_status dq_block_ratio_of(dq_time_ratio *ratio, const double *least, const double *reference, int64_t blocks,
                            dq_error *error) {
  const int64_t means = blocks * (blocks + 1) / 2, needed = blocks + 2 * means + 1;
  double *values = malloc((size_t)needed * sizeof *values), level;
  if (!values) return dq_fail_memory(error, (size_t)needed * sizeof *values);
  double *sorted = values + blocks, *chances = sorted + means;
  for (int64_t b = 0; b < blocks; b++) values[b] = least[b] / reference[b];
  fill_chances(chances, blocks);
  fill_means(sorted, values, blocks);
  int64_t outside = means_outside(chances, &level);
  *ratio = (dq_time_ratio){.median = dq_quantile(sorted, means, 0.5),
                           .low = sorted[outside],
                           .high = sorted[means - 1 - outside],
                           .level = level};
  free(values);
  return DQ_OK;
}

const char *dq_time_verdict(const dq_time_ratio *ratio, int64_t blocks, bool unsteady, char *text, size_t size) {
  const char *side = NULL;
  if (ratio->high < 1 - DQ_BLOCK_DIFFERENCE) side = "faster";
  else if (ratio->low > 1 + DQ_BLOCK_DIFFERENCE) side = "slower";
  const char *doubt = unsteady ? " (unsteady)" : "";
  if (!side) snprintf(text, size, "cannot tell");
  else if (ratio->level >= DQ_BLOCK_LEVEL) snprintf(text, size, "%s%s", side, doubt);
  else if (blocks == 1) snprintf(text, size, "%s in one block%s", side, doubt);
  else snprintf(text, size, "%s in all %" PRId64 " blocks%s", side, blocks, doubt);
  return text;
}
