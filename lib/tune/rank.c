// How well candidates were ordered.
#include <math.h>

#include "lib/tune/tune.h"

int dq_tune_part(int count) {
  enum { PARTS = 5 };
  int part = (count + PARTS / 2) / PARTS;
  return part ? part : count > 0;
}

// 1 for the least; equal values share the mean of their ranks.
static double rank(const double *values, int count, int i) {
  int less = 0, equal = 0;
  for (int k = 0; k < count; k++) less += values[k] < values[i], equal += values[k] == values[i];
  return less + (equal + 1) / 2.0;
}

double dq_rank_correlation(const double *a, const double *b, int count) {
  double middle = (count + 1) / 2.0, both = 0, of_a = 0, of_b = 0;
  for (int i = 0; i < count; i++) {
    double x = rank(a, count, i) - middle, y = rank(b, count, i) - middle;
    both += x * y, of_a += x * x, of_b += y * y;
  }
  return count < 3 || of_a <= 0 || of_b <= 0 ? NAN : both / sqrt(of_a * of_b);
}

double dq_tune_part_loss(const double *shares, const double *part, const double *all, int count) {
  double lost = 0, fastest = 1;
  for (int i = 0; i < count; i++) lost += shares[i] * (part[i] - all[i]), fastest -= shares[i] * (1 - all[i]);
  return lost / fastest;
}
