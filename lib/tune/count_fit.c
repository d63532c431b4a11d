// Gauss-Newton steps (Nocedal and Wright, Numerical Optimization, 2006, section 10.3) for the logarithms of the costs:
// each has a part of its own, which is normally distributed around 0, and one that all share, which is free.
#include "lib/tune/count_fit.h"

#include <math.h>
#include <string.h>

#include "lib/linalg/linalg.h"

enum { SHARED = DQ_COUNTS, UNKNOWNS = DQ_COUNTS + 1, STEPS = 12 };

// Standard deviations: of the logarithm of a time, by which a sum of counts misses it, and of the own part of the
// logarithm of a cost. Choices, not measurements; their ratio is what counts.
static const double MISS = 0.15, OWN = 0.5;
// The longest change of a logarithm in a step, against steps that are far too long.
static const double LONGEST = 1;

dq_costs dq_costs_usual(void) {
  static const double second = 1e9;
  return (dq_costs){{
#define DQ_COUNTED(symbol, cycles, help) [DQ_COUNT_##symbol] = cycles / second,
#include "lib/kernels/conv/conv_counts.def"
  }};
}

double dq_costs_seconds(const dq_costs *costs, const dq_counts *counts) {
  double sum = 0;
  for (int i = 0; i < DQ_COUNTS; i++) sum += costs->values[i] * counts->values[i];
  return sum;
}

// The sums of a step: matrix x = right.
typedef struct normal {
  double matrix[UNKNOWNS * UNKNOWNS], right[UNKNOWNS];
} normal;

// One time: its logarithm rises with that of a cost by the share that the cost has of it.
static void add_time(normal *n, const dq_costs *costs, const dq_counts *counts, double logarithm) {
  double seconds = dq_costs_seconds(costs, counts), share[UNKNOWNS], error = logarithm - log(seconds);
  for (int i = 0; i < DQ_COUNTS; i++) share[i] = costs->values[i] * counts->values[i] / seconds;
  share[SHARED] = 1;
  for (int i = 0; i < UNKNOWNS; i++) {
    n->right[i] += share[i] * error / (MISS * MISS);
    for (int k = i; k < UNKNOWNS; k++) n->matrix[i * UNKNOWNS + k] += share[i] * share[k] / (MISS * MISS);
  }
}

static double bounded(double step) { return fmax(-LONGEST, fmin(LONGEST, step)); }

// own[i]: the parts of the costs of their own so far.
static dq_status step(dq_costs *costs, double *own, const dq_counts *const *counts, const double *logarithms,
                      int number, dq_error *error) {
  normal n;
  memset(&n, 0, sizeof n);
  for (int i = 0; i < number; i++) add_time(&n, costs, counts[i], logarithms[i]);
  for (int i = 0; i < DQ_COUNTS; i++) {
    n.matrix[i * UNKNOWNS + i] += 1 / (OWN * OWN);
    n.right[i] -= own[i] / (OWN * OWN);
  }
  DQ_TRY(dq_factor_symmetric(UNKNOWNS, n.matrix, error));
  dq_solve_factored(UNKNOWNS, n.matrix, n.right);
  for (int i = 0; i < DQ_COUNTS; i++) {
    double change = bounded(n.right[i]);
    own[i] += change;
    costs->values[i] *= exp(change + bounded(n.right[SHARED]));
  }
  return DQ_OK;
}

dq_status dq_costs_fit(dq_costs *costs, const dq_counts *const *counts, const double *logarithms, int number,
                       dq_error *error) {
  double own[DQ_COUNTS] = {0}, shared = 0;
  *costs = dq_costs_usual();
  if (!number) return DQ_OK;
  for (int i = 0; i < number; i++) shared += (logarithms[i] - log(dq_costs_seconds(costs, counts[i]))) / number;
  for (int i = 0; i < DQ_COUNTS; i++) costs->values[i] *= exp(shared);
  for (int i = 0; i < STEPS; i++) DQ_TRY(step(costs, own, counts, logarithms, number, error));
  return DQ_OK;
}
