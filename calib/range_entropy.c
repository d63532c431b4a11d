// Range rule: the threshold whose 256-level version of the distribution loses the least
// information. Migacz, "8-bit Inference with TensorRT" (2017), over signed bins: candidates cut |x|
// at a threshold, the 8-bit levels cover the cut range from its lower to its upper end.
#include "calib/observers.h"

#include <math.h>
#include <string.h>

// Bins of the search on each side of 0, and the bins a threshold moves at a time.
enum { SIDE = 2048, MERGE = DQ_HISTOGRAM_BINS / 2 / SIDE, LEVELS = DQ_ACTIVATION_STEPS + 1, STRIDE = 8 };

typedef struct distribution {
  double bins[2 * SIDE];
  int first, last; // that hold anything
} distribution;

static void coarsen(const dq_histogram *histogram, distribution *all) {
  uint64_t memory[DQ_HISTOGRAM_BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  all->first = 2 * SIDE, all->last = -1;
  for (int i = 0; i < 2 * SIDE; i++) {
    all->bins[i] = 0;
    for (int m = 0; m < MERGE; m++) all->bins[i] += (double)bins[i * MERGE + m];
    if (!(all->bins[i] > 0)) continue;
    all->last = i;
    if (all->first > i) all->first = i;
  }
  // What a rectifier leaves at 0 is exact at every scale: its peak would hide the rest.
  double beside = fmax(all->bins[SIDE - 1], all->bins[SIDE + 1]);
  if (all->bins[SIDE] > beside && beside > 0) all->bins[SIDE] = beside;
}

// Kullback-Leibler divergence sum p log(p / q) of the bins from..to-1, outside mass added to the
// ends of p, from the same bins averaged within each level (over those that hold anything), per
// value.
static double divergence(const distribution *all, int from, int to) {
  double below = 0, above = 0, inside = 0, total = 0, sum = 0;
  for (int i = all->first; i < from; i++) below += all->bins[i];
  for (int i = to; i <= all->last; i++) above += all->bins[i];
  for (int i = from; i < to; i++) inside += all->bins[i];
  total = inside + below + above;
  for (int level = 0; level < LEVELS; level++) {
    int start = from + (int)((int64_t)(to - from) * level / LEVELS);
    int end = from + (int)((int64_t)(to - from) * (level + 1) / LEVELS), filled = 0;
    double mass = 0;
    for (int i = start; i < end; i++) mass += all->bins[i], filled += all->bins[i] > 0;
    for (int i = start; i < end; i++) {
      double p = all->bins[i] + (i == from ? below : 0) + (i == to - 1 ? above : 0);
      if (!(p > 0)) continue;
      // An end that holds outside mass only has no counterpart: as unlikely as half a value.
      double q = all->bins[i] > 0 ? mass / filled / inside : 0.5 / total;
      sum += p / total * log(p / total / q);
    }
  }
  return sum;
}

dq_range_pair dq_range_entropy(const dq_histogram *histogram, const dq_range_options *options) {
  (void)options;
  dq_range_pair range = {histogram->minimum, histogram->maximum};
  distribution all;
  coarsen(histogram, &all);
  if (all.last < 0) return range;
  int above = all.last + 1 - SIDE, below = SIDE - all.first, farthest = above > below ? above : below;
  double width = ldexp(MERGE, histogram->exponent), least = INFINITY;
  for (int threshold = farthest; threshold >= LEVELS / 2; threshold -= STRIDE) {
    int from = SIDE - (below < threshold ? (below > 0 ? below : 0) : threshold);
    int to = SIDE + (above < threshold ? (above > 0 ? above : 0) : threshold);
    if (to - from < LEVELS) break;
    double here = divergence(&all, from, to);
    if (!(here < least)) continue;
    least = here;
    range.low = fmaxf((float)((from - SIDE) * width), histogram->minimum);
    range.high = fminf((float)((to - SIDE) * width), histogram->maximum);
  }
  return range;
}
