// Sums and products of quantized operands: entry points that pick the kernel, and the proof by which sums take
// fewer steps.
//
// A sum dequantizes both operands, adds, divides and rounds. What it gives depends on two bytes, so it can be
// compared with a shorter formula on all pairs. That differs only where the exact quotient lies within a rounding
// of a half; when it does, neighbouring factors are tried. Of weights a few pairs that differ are exceptions.
#include "lib/kernels/array/array.h"

#include <math.h>
#include <string.h>

enum {
  BYTES = 256,
  REACH = 3,
  MOST_WEIGHT = INT16_MAX, // sums of two bytes by weights are then below 2^24, which float32 holds
  LEAST_WEIGHT = 8192,     // of the larger one
  RATIOS = 2,              // of weights that are tried,
  UNITS = 5                // and how often each with another unit
};

void dq_add_8(unsigned cpu, const dq_pair_row *row) { DQ_KERNEL_FUNCTION(add_8, cpu)(row); }

void dq_multiply_8(unsigned cpu, const dq_pair_row *row) { DQ_KERNEL_FUNCTION(multiply_8, cpu)(row); }

typedef struct all_pairs {
  dq_add_8_function *add;
  uint8_t a[BYTES], b[BYTES], found[BYTES];
  uint8_t expected[BYTES][BYTES]; // by a, b
} all_pairs;

// The sums of one byte with all others.
static void add_byte(all_pairs *p, dq_pair_row row, int byte, uint8_t *sums) {
  memset(p->a, byte, BYTES);
  row.a = p->a, row.b = p->b, row.output = sums;
  row.a_step = row.b_step = 1;
  row.count = BYTES;
  p->add(&row);
}

static bool holds(all_pairs *p, const dq_pair_row *row) {
  for (int byte = 0; byte < BYTES; byte++) {
    add_byte(p, *row, byte, p->found);
    if (memcmp(p->found, p->expected[byte], BYTES)) return false;
  }
  return true;
}

// The quotients of the scales, so many units in the last place up.
static void set_factors(dq_pair_row *row, int a_units, int b_units) {
  double a = (double)row->a_scale / (double)row->scale, b = (double)row->b_scale / (double)row->scale;
  row->a_factor = (float)a * (1 + (float)a_units * 0x1p-23f);
  row->b_factor = (float)b * (1 + (float)b_units * 0x1p-23f);
  row->offset =
      (float)(row->zero_point - (double)row->a_factor * row->a_zero_point - (double)row->b_factor * row->b_zero_point);
  row->is_short = true;
}

// ---- Weights ----

// The next pair of weights in the order of how well their quotient is that of the scales: of all whose error relative
// to the larger one is above *error, which becomes that of the pair.
static void next_ratio(double ratio, double *error, int *larger, int *smaller) {
  double least = INFINITY;
  *larger = MOST_WEIGHT;
  for (int weight = MOST_WEIGHT; weight >= LEAST_WEIGHT; weight--) {
    const double exact = weight * ratio, off = fabs(exact - rint(exact)) / weight;
    if (off <= *error || off >= least) continue;
    least = off;
    *larger = weight;
  }
  *error = least;
  *smaller = (int)rint(*larger * ratio);
}

// Fills the exceptions with all pairs of which the row gives another result. False: there are too many.
static bool find_exceptions(all_pairs *p, dq_pair_row *row) {
  int found = 0;
  row->exception_count = 0;
  for (int byte = 0; byte < BYTES; byte++) {
    add_byte(p, *row, byte, p->found);
    if (!memcmp(p->found, p->expected[byte], BYTES)) continue;
    for (int other = 0; other < BYTES; other++) {
      if (p->found[other] == p->expected[byte][other]) continue;
      if (found == DQ_PAIR_EXCEPTIONS) return false;
      row->exceptions[found++] = (uint32_t)(byte | other << 8 | p->expected[byte][other] << 16);
    }
  }
  row->exception_count = found;
  return true;
}

// The row with a pair of weights whose larger one stands for the larger of the quotients `a` and `b` of the scales, and
// the unit so many units in the last place up.
static dq_pair_row weighed(const dq_pair_row *from, double a, double b, const int weights[2], int units) {
  dq_pair_row row = *from;
  const bool a_larger = fabs(a) >= fabs(b);
  const int a_weight = weights[!a_larger], b_weight = weights[a_larger];
  row.a_weight = a < 0 ? -a_weight : a_weight;
  row.b_weight = b < 0 ? -b_weight : b_weight;
  row.unit = (float)(fmax(fabs(a), fabs(b)) / weights[0]) * (1 + (float)units * 0x1p-23f);
  const int shift = row.low < 0 ? 128 : 0, a_zero = row.a_zero_point + (row.a_signed ? 128 : 0);
  const int b_zero = row.b_zero_point + (row.b_signed ? 128 : 0);
  const double zeros = (double)row.a_weight * a_zero + (double)row.b_weight * b_zero;
  row.start = (float)(row.zero_point + shift - (double)row.unit * zeros);
  return row;
}

// Sets the weights with the fewest exceptions, if they are few enough.
static void set_weights(all_pairs *p, dq_pair_row *row) {
  const double a = (double)row->a_scale / (double)row->scale, b = (double)row->b_scale / (double)row->scale;
  const double most = fmax(fabs(a), fabs(b)), ratio = fmin(fabs(a), fabs(b)) / most;
  dq_pair_row best = *row;
  int fewest = DQ_PAIR_EXCEPTIONS + 1, weights[2];
  double error = -1;
  if (!(most > 0x1p-20 && most < 0x1p20)) return;
  for (int i = 0; i < RATIOS && fewest; i++) {
    next_ratio(ratio, &error, &weights[0], &weights[1]);
    for (int u = 0; u < UNITS && fewest; u++) {
      dq_pair_row one = weighed(row, a, b, weights, u % 2 ? (u + 1) / 2 : -u / 2);
      if (!find_exceptions(p, &one) || one.exception_count >= fewest) continue;
      fewest = one.exception_count;
      best = one;
    }
  }
  if (holds(p, &best)) *row = best;
}

static void find_factors(all_pairs *p, dq_pair_row *row) {
  for (int reach = 0; reach <= REACH; reach++)
    for (int i = -reach; i <= reach; i++)
      for (int j = -reach; j <= reach; j++) {
        bool inside = i > -reach && i < reach && j > -reach && j < reach;
        if (inside && reach) continue; // was tried
        set_factors(row, i, j);
        if (holds(p, row)) return;
      }
  row->is_short = false;
}

void dq_add_8_shorten(unsigned cpu, dq_pair_row *row) {
  const dq_kernel *kernel = dq_kernel_find(DQ_OPERATION_add_8, cpu);
  all_pairs p = {.add = (dq_add_8_function *)kernel->function};
  row->is_short = false;
  row->a_weight = row->b_weight = row->exception_count = 0;
  if (!kernel->feature) return; // plain loops know no other way
  for (int byte = 0; byte < BYTES; byte++) p.b[byte] = (uint8_t)byte;
  for (int byte = 0; byte < BYTES; byte++) add_byte(&p, *row, byte, p.expected[byte]);
  find_factors(&p, row);
  set_weights(&p, row);
}
