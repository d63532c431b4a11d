#include "lib/ops/fixed_point.h"

#include <math.h>

#include "lib/kernels/reference/scalar.h"

enum { LEVELS = 512, MOST_SHIFT = 46 };

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
  return shift > MOST_SHIFT ? MOST_SHIFT : shift;
}

bool dq_fixed_point_find(dq_fixed_point *form, const dq_float_requantization *d, int64_t least, int64_t most) {
  enum { TRIES = 16 }; // multipliers on each side of the nearest one
  steps s;
  if (!(d->multiplier >= 0) || !isfinite(d->multiplier)) return false;
  find_steps(d, least, most, &s);
  dq_fixed_point now = {.shift = shift_of(d->multiplier)};
  if (now.shift < 1) return false;
  double nearest = rint(ldexp((double)d->multiplier, now.shift));
  form->exception_count = DQ_FIXED_EXCEPTIONS + 1;
  for (int i = 0; i <= 2 * TRIES && form->exception_count; i++) {
    double m = nearest + (i % 2 ? (i + 1) / 2 : -(i / 2));
    if (m < 0 || m > INT32_MAX) continue;
    now.multiplier = (int32_t)m;
    if (list_exceptions(d, &s, least, most, &now) && now.exception_count < form->exception_count) *form = now;
  }
  return form->exception_count <= DQ_FIXED_EXCEPTIONS;
}
