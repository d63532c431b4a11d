// Rank rule "vbmf": how many singular values of an unfolding stand out of the noise, by the global
// analytic solution of empirical variational Bayes matrix factorization with unknown noise variance
// (Nakajima, Sugiyama, Babacan, Tomioka: "Global analytic solution of fully-observed variational
// Bayesian matrix factorization", JMLR 14, 2013; the approximate threshold and the bounds of the
// noise variance: the same authors' "Perfect dimensionality recovery by variational Bayesian PCA",
// NIPS 2012). Used for the ranks of convolutions by Kim et al. (ICLR 2016).
#include <math.h>

#include "decomp/ranks/ranks.h"
#include "lib/base/sizes.h"

enum { GRID = 200, REFINEMENTS = 60 };

// Squares below this share of the largest are rounding (lib/linalg): they count as this much, so
// that logarithms are finite and an exact low rank has a noise above 0.
static const double PRECISION = 1e-14;

// A matrix of `rows` x `columns`, rows <= columns, by its squared singular values.
typedef struct spectrum {
  const dq_mode *mode;
  int64_t rows, columns;
  double group;  // squares are the sum over this many groups: their mean is looked at
  double least;  // square of a value that is rounding
  double alpha;  // rows / columns
  double border; // x of the smallest value that is signal
} spectrum;

static double square(const spectrum *s, int64_t k) {
  return fmax(s->mode->values[k] * s->mode->values[k] / s->group, s->least);
}

// tau of x = value^2 / (columns variance), for x above the border.
static double tau(double x, double alpha) {
  double b = x - (1 + alpha);
  return 0.5 * (b + sqrt(fmax(b * b - 4 * alpha, 0)));
}

// The free energy as a function of the noise variance, up to constants.
static double free_energy(const spectrum *s, double variance) {
  double sum = 0;
  for (int64_t k = 0; k < s->rows; k++) {
    double x = square(s, k) / ((double)s->columns * variance);
    sum += x - log(x);
    if (x <= s->border) continue;
    double t = tau(x, s->alpha);
    sum += log1p(t) + s->alpha * log1p(t / s->alpha) - t;
  }
  return sum;
}

// The bounds between which the variance lies: the mean of all squares, and what the values that
// cannot all be signal leave.
static void variance_bounds(const spectrum *s, double *low, double *high) {
  double all = 0, rest = 0;
  int64_t most = (int64_t)ceil((double)s->rows / (1 + s->alpha)) - 1;
  most = dq_max_i64(0, dq_min_i64(most, s->rows - 1));
  for (int64_t k = 0; k < s->rows; k++) {
    all += square(s, k);
    if (k >= most) rest += square(s, k);
  }
  double columns = (double)s->columns;
  *high = all / ((double)s->rows * columns);
  *low = fmax(square(s, most) / (columns * s->border), rest / ((double)(s->rows - most) * columns));
  *low = fmin(*low, *high);
}

// The least free energy: it may have several minima, so a grid finds the place and a golden section
// search the point.
static double noise_variance(const spectrum *s) {
  double low, high;
  variance_bounds(s, &low, &high);
  double step = log(high / low) / GRID, best = low, least = INFINITY;
  for (int i = 0; i <= GRID; i++) {
    double variance = low * exp(step * i), energy = free_energy(s, variance);
    if (energy < least) least = energy, best = variance;
  }
  const double golden = 0.5 * (sqrt(5) - 1);
  double a = fmax(log(best) - step, log(low)), b = fmin(log(best) + step, log(high));
  for (int i = 0; i < REFINEMENTS && b > a; i++) {
    double left = b - golden * (b - a), right = a + golden * (b - a);
    if (free_energy(s, exp(left)) <= free_energy(s, exp(right))) b = right;
    else a = left;
  }
  return exp(0.5 * (a + b));
}

int64_t dq_vbmf_rank(const dq_mode *mode, int64_t columns, int64_t group) {
  if (mode->rank < 1 || !(mode->values[0] > 0)) return 0;
  spectrum s = {.mode = mode, .rows = mode->rank, .group = (double)group};
  s.columns = dq_max_i64(mode->size, columns);
  s.least = PRECISION * mode->values[0] * mode->values[0] / s.group;
  s.alpha = (double)s.rows / (double)s.columns;
  // 2.5129 sqrt(alpha) is close to the zero of the function that decides, for every alpha.
  double border = 2.5129 * sqrt(s.alpha);
  s.border = (1 + border) * (1 + s.alpha / border);
  double threshold = (double)s.columns * noise_variance(&s) * s.border;
  int64_t rank = 0;
  while (rank < s.rows && square(&s, rank) > threshold) rank++;
  return rank;
}

// r + weaken (full - r), rounded up but for what decimal fractions leave; 0 where that is a
// collapse.
static int64_t weakened(const dq_mode *mode, int64_t columns, int64_t group, double weaken) {
  int64_t rank = dq_vbmf_rank(mode, columns, group);
  rank += (int64_t)ceil(weaken * (double)(mode->rank - rank) * (1 - 1e-12));
  return rank < 2 && mode->rank > 1 ? 0 : dq_max_i64(rank, 1);
}

dq_ranks dq_rank_vbmf(const dq_hosvd *hosvd, double parameter) {
  int64_t taps = hosvd->dims[2] * hosvd->dims[3], group = hosvd->group;
  return (dq_ranks){.out = weakened(&hosvd->out, hosvd->in.size * taps, group, parameter),
                    .in = weakened(&hosvd->in, hosvd->out.size * taps, group, parameter)};
}
