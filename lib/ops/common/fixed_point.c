#include "lib/ops/common/fixed_point.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/scalar.h"

enum { LEVELS = 512 };

// Where the definition changes within the range: sums[i] is the least sum whose result is first + 1 + i.
typedef struct steps {
  int64_t sums[LEVELS];
  int count;
  int32_t first; // the result at the least sum
} steps;

int32_t dq_requantize_float(const dq_float_requantization *d, int64_t sum) {
  return dq_round_clamped((float)(int32_t)sum * d->multiplier, d->zero_point, d->low, d->high);
}

// The form without exceptions.
static int32_t scaled(const dq_fixed_point *form, const dq_float_requantization *d, int64_t sum) {
  int64_t half = INT64_C(1) << (form->shift - 1);
  int64_t q = ((sum * form->multiplier + half) >> form->shift) + d->zero_point;
  return (int32_t)(q < d->low ? d->low : q > d->high ? d->high : q);
}

int32_t dq_requantize_fixed(const dq_fixed_point *form, const dq_float_requantization *d, int64_t sum) {
  int32_t q = scaled(form, d, sum);
  for (int e = 0; e < form->exception_count; e++)
    if (form->exceptions[e] == sum) q += form->corrections[e];
  return q;
}

// The least sum in (from, most] whose result is at least `level`.
static int64_t first_of_level(const dq_float_requantization *d, int32_t level, int64_t from, int64_t most) {
  while (from + 1 < most) {
    int64_t middle = from + (most - from) / 2;
    if (dq_requantize_float(d, middle) >= level) most = middle;
    else from = middle;
  }
  return most;
}

static void find_steps(const dq_float_requantization *d, int64_t least, int64_t most, steps *s) {
  int32_t last = dq_requantize_float(d, most);
  int64_t from = least;
  s->first = dq_requantize_float(d, least);
  s->count = 0;
  for (int32_t level = s->first + 1; level <= last; level++) {
    if (dq_requantize_float(d, from) < level) from = first_of_level(d, level, from, most);
    s->sums[s->count++] = from;
  }
}

static bool add_exception(dq_fixed_point *form, int64_t sum, int32_t correction) {
  if (form->exception_count == DQ_FIXED_EXCEPTIONS || correction < -1 || correction > 1) return false;
  form->exceptions[form->exception_count] = (int32_t)sum;
  form->corrections[form->exception_count++] = (int8_t)correction;
  return true;
}

// Lists the sums at which form and definition differ: those are next to the steps. False: there are too many, or they
// differ by more than 1.
static bool list_exceptions(const dq_float_requantization *d, const steps *s, int64_t least, int64_t most,
                            dq_fixed_point *form) {
  form->exception_count = 0;
  for (int i = 0; i <= s->count; i++) { // sums with the result first + i
    int64_t from = i ? s->sums[i - 1] : least, to = i < s->count ? s->sums[i] - 1 : most, sum;
    int32_t result = s->first + i;
    for (sum = from; sum <= to && scaled(form, d, sum) != result; sum++)
      if (!add_exception(form, sum, result - scaled(form, d, sum))) return false;
    from = sum;
    for (sum = to; sum >= from && scaled(form, d, sum) != result; sum--)
      if (!add_exception(form, sum, result - scaled(form, d, sum))) return false;
  }
  return true;
}

// The largest shift at which the multiplier stays below 2^31.
static int shift_of(float multiplier) {
  int exponent = 0;
  frexp((double)multiplier, &exponent);
  int shift = 31 - exponent;
  return shift > DQ_FIXED_MOST_SHIFT ? DQ_FIXED_MOST_SHIFT : shift;
}

// ---- The multiplier ----

// What the multiplier has to fulfil: where the definition reaches a level, sum M >= edge and (sum - 1) M < edge, with
// edge = (2 level - 1) 2^(shift - 1). Each is a bound of M from below or from above.
typedef struct bounds {
  int64_t lower[2 * LEVELS], upper[2 * LEVELS];
  int lower_count, upper_count;
} bounds;

// Adds the bound sum M >= edge.
static void add_bound(bounds *b, int64_t sum, int64_t edge) {
  if (sum > 0) b->lower[b->lower_count++] = -dq_floor_div_i64(-edge, sum);
  if (sum < 0) b->upper[b->upper_count++] = dq_floor_div_i64(edge, sum);
}

static void find_bounds(const dq_float_requantization *d, const steps *s, int shift, bounds *b) {
  b->lower_count = b->upper_count = 0;
  for (int i = 0; i < s->count; i++) {
    int64_t level = (int64_t)s->first + 1 + i - d->zero_point, edge = (2 * level - 1) * (INT64_C(1) << (shift - 1));
    add_bound(b, s->sums[i], edge);
    add_bound(b, 1 - s->sums[i], 1 - edge);
  }
}

static int count_broken(const bounds *b, int64_t m) {
  int broken = 0;
  for (int i = 0; i < b->lower_count; i++) broken += m < b->lower[i];
  for (int i = 0; i < b->upper_count; i++) broken += m > b->upper[i];
  return broken;
}

// The multiplier that breaks the fewest bounds: `nearest`, or the end of one that is nearest to it among the equal.
static int64_t best_multiplier(const bounds *b, int64_t nearest) {
  int64_t best = nearest;
  int broken = count_broken(b, nearest);
  for (int i = 0; broken && i < b->lower_count + b->upper_count; i++) {
    int64_t m = i < b->lower_count ? b->lower[i] : b->upper[i - b->lower_count];
    if (m < 0 || m > INT32_MAX) continue;
    int now = count_broken(b, m);
    if (now > broken || (now == broken && llabs(m - nearest) >= llabs(best - nearest))) continue;
    best = m, broken = now;
  }
  return best;
}

bool dq_fixed_point_find(dq_fixed_point *form, const dq_float_requantization *d, int64_t least, int64_t most,
                         int most_shift) {
  steps s;
  bounds b;
  if (!(d->multiplier >= 0) || !isfinite(d->multiplier)) return false;
  find_steps(d, least, most, &s);
  form->shift = shift_of(d->multiplier);
  if (form->shift > most_shift) form->shift = most_shift;
  if (form->shift < 1) return false;
  find_bounds(d, &s, form->shift, &b);
  double nearest = rint(ldexp((double)d->multiplier, form->shift));
  form->multiplier = (int32_t)best_multiplier(&b, nearest > INT32_MAX ? INT32_MAX : (int64_t)nearest);
  return list_exceptions(d, &s, least, most, form);
}
