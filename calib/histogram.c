#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"
#include "calib/elements.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/scalar.h"

enum { BINS = DQ_HISTOGRAM_BINS, HALF = BINS / 2 };
enum { SMALLEST_EXPONENT = -126 }; // of normal numbers: scaling by a power of two below is not exact

dq_status dq_histogram_init(dq_histogram *histogram, dq_budget *budget, dq_error *error) {
  *histogram = (dq_histogram){.exponent = SMALLEST_EXPONENT};
  histogram->bins = dq_budget_alloc(budget, BINS * sizeof *histogram->bins);
  return histogram->bins ? DQ_OK : dq_fail_memory(error, BINS * sizeof *histogram->bins);
}

void dq_histogram_deinit(dq_histogram *histogram) {
  dq_budget_free(histogram->bins);
  histogram->bins = NULL;
}

// Smallest exponent for which |value| < HALF * 2^exponent.
static int exponent_for(float value) {
  int exponent;
  if (value == 0) return SMALLEST_EXPONENT; // frexp says 0 for it
  frexpf(fabsf(value), &exponent);          // |value| < 2^exponent
  exponent -= 12;                           // HALF is 2^12
  return exponent < SMALLEST_EXPONENT ? SMALLEST_EXPONENT : exponent;
}

// Bin i of the doubled width takes floor(i / 2) counted from the middle: 2i and 2i + 1.
static void double_width(dq_histogram *histogram) {
  uint64_t *bins = histogram->bins;
  for (int i = 0; i < HALF / 2; i++) { // above zero: from the middle outwards
    bins[HALF + i] = bins[HALF + 2 * i] + bins[HALF + 2 * i + 1];
    bins[HALF - 1 - i] = bins[HALF - 1 - 2 * i] + bins[HALF - 2 - 2 * i];
  }
  memset(bins + HALF + HALF / 2, 0, HALF / 2 * sizeof *bins);
  memset(bins, 0, HALF / 2 * sizeof *bins);
  histogram->exponent++;
}

static void widen_to(dq_histogram *histogram, int exponent) {
  if (!histogram->count && exponent > histogram->exponent) histogram->exponent = exponent;
  while (histogram->exponent < exponent) double_width(histogram);
}

void dq_histogram_average(dq_histogram *histogram, float low, float high) {
  const double c = DQ_MOVING_AVERAGE_CONSTANT;
  if (!histogram->pictures++) {
    histogram->average_low = (double)low, histogram->average_high = (double)high;
    return;
  }
  histogram->average_low += c * ((double)low - histogram->average_low);
  histogram->average_high += c * ((double)high - histogram->average_high);
}

static void extend_range(dq_histogram *histogram, float minimum, float maximum) {
  if (!histogram->count || minimum < histogram->minimum) histogram->minimum = minimum;
  if (!histogram->count || maximum > histogram->maximum) histogram->maximum = maximum;
}

// ---- Counting ----

enum { BLOCK = 1024, TABLES = 4 };

// Neighbours are often equal (zeros behind a Relu): counts in several tables do not wait for each other.
static void count_many(uint64_t *bins, const float *values, int64_t count, int exponent, unsigned cpu) {
  uint32_t tables[TABLES][BINS] = {0};
  int32_t at[BLOCK];
  for (int64_t first = 0; first < count; first += BLOCK) {
    dq_find_bins(cpu, values + first, BLOCK, exponent, HALF, at);
    for (int i = 0; i < BLOCK; i += TABLES)
      for (int t = 0; t < TABLES; t++) tables[t][at[i + t]]++;
  }
  for (int t = 0; t < TABLES; t++)
    for (int i = 0; i < BINS; i++) bins[i] += tables[t][i];
}

static void count_few(uint64_t *bins, const float *values, int64_t count, int exponent, unsigned cpu) {
  int32_t at[BLOCK];
  for (int64_t first = 0; first < count; first += BLOCK) {
    int some = count - first < BLOCK ? (int)(count - first) : BLOCK;
    dq_find_bins(cpu, values + first, some, exponent, HALF, at);
    for (int i = 0; i < some; i++) bins[at[i]]++;
  }
}

// All values are finite.
static void count_values(uint64_t *bins, const float *values, int64_t count, int exponent, unsigned cpu) {
  enum { MANY = TABLES * BINS, MOST = 1 << 30 }; // worth the tables; what they can hold
  while (count >= MANY) {
    int64_t some = (count < MOST ? count : MOST) / BLOCK * BLOCK;
    count_many(bins, values, some, exponent, cpu);
    values += some, count -= some;
  }
  count_few(bins, values, count, exponent, cpu);
}

static void count_finite(uint64_t *bins, const float *values, int64_t count, int exponent) {
  for (int64_t i = 0; i < count; i++)
    if (isfinite(values[i])) count_few(bins, &values[i], 1, exponent, 0);
}

// ---- One picture, by several threads ----

enum { SHARE = 1 << 18, MOST_SHARES = 32 }; // elements that are worth a thread

typedef struct share {
  const float *values;
  int64_t count;
  dq_extremes seen;
  uint64_t *bins; // [BINS], zeros before
  int exponent;
  unsigned cpu;
} share;

static void look_at_share(void *argument, int64_t i, int thread) {
  (void)thread;
  share *s = (share *)argument + i;
  s->seen = dq_extremes_of(s->values, s->count, s->cpu);
}

static void count_share(void *argument, int64_t i, int thread) {
  (void)thread;
  share *s = (share *)argument + i;
  if (s->seen.not_finite) count_finite(s->bins, s->values, s->count, s->exponent);
  else count_values(s->bins, s->values, s->count, s->exponent, s->cpu);
}

static int make_shares(share *shares, const float *values, int64_t count, const dq_context *context) {
  int64_t most = count / SHARE < MOST_SHARES ? count / SHARE : MOST_SHARES;
  int threads = dq_pool_threads(context ? context->pool : NULL), parts = most < 1         ? 1
                                                                         : most < threads ? (int)most
                                                                                          : threads;
  int64_t each = count / parts;
  for (int i = 0; i < parts; i++, values += each)
    shares[i] =
        (share){.values = values, .count = i + 1 < parts ? each : count - i * each, .cpu = context ? context->cpu : 0};
  return parts;
}

// The first share counts straight into the histogram. Without memory for the others one thread counts all.
static void count_shares(dq_histogram *histogram, share *shares, int parts, dq_pool *pool) {
  uint64_t *bins = parts > 1 ? calloc((size_t)(parts - 1) * BINS, sizeof *bins) : NULL;
  for (int i = 0; i < parts; i++) {
    shares[i].exponent = histogram->exponent;
    shares[i].bins = i && bins ? bins + (size_t)(i - 1) * BINS : histogram->bins;
  }
  dq_pool_run(bins ? pool : NULL, parts, count_share, shares);
  for (int i = 1; bins && i < parts; i++)
    for (int b = 0; b < BINS; b++) histogram->bins[b] += shares[i].bins[b];
  free(bins);
}

dq_extremes dq_histogram_count(dq_histogram *histogram, const float *values, int64_t count, const dq_context *context) {
  dq_pool *pool = context ? context->pool : NULL;
  share shares[MOST_SHARES];
  int parts = make_shares(shares, values, count, context);
  dq_pool_run(pool, parts, look_at_share, shares);
  dq_extremes seen = shares[0].seen;
  for (int i = 1; i < parts; i++) {
    seen.low = fminf(seen.low, shares[i].seen.low);
    seen.high = fmaxf(seen.high, shares[i].seen.high);
    seen.not_finite += shares[i].seen.not_finite;
  }
  histogram->not_finite += (uint64_t)seen.not_finite;
  if (seen.not_finite == count) return seen;
  int low = exponent_for(seen.low), high = exponent_for(seen.high);
  widen_to(histogram, low > high ? low : high);
  extend_range(histogram, seen.low, seen.high);
  histogram->count += (uint64_t)(count - seen.not_finite);
  count_shares(histogram, shares, parts, pool);
  return seen;
}

void dq_histogram_merge(dq_histogram *into, const dq_histogram *from) {
  into->not_finite += from->not_finite;
  if (!from->count) return;
  widen_to(into, from->exponent);
  extend_range(into, from->minimum, from->maximum);
  into->count += from->count;
  int shift = into->exponent - from->exponent;
  for (int i = 0; i < BINS; i++) { // floor((i - HALF) / 2^shift)
    int at = i - HALF;
    for (int s = 0; s < shift && at != 0 && at != -1; s++) at = at >= 0 ? at / 2 : -((-at + 1) / 2);
    into->bins[at + HALF] += from->bins[i];
  }
}

// The bins of the smallest and the largest value; all others are empty.
static void find_span(const dq_histogram *histogram, int *first, int *last) {
  *first = HALF + (int)floor(ldexp((double)histogram->minimum, -histogram->exponent));
  *last = HALF + (int)floor(ldexp((double)histogram->maximum, -histogram->exponent));
}

double dq_histogram_quantile(const dq_histogram *histogram, double q) {
  if (!histogram->count || q <= 0) return (double)histogram->minimum;
  if (q >= 1) return (double)histogram->maximum;
  double target = q * (double)histogram->count, below = 0, value = (double)histogram->maximum;
  int first, last;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++) {
    double here = (double)histogram->bins[i];
    if (here > 0 && below + here >= target) {
      value = ldexp(i - HALF + (target - below) / here, histogram->exponent);
      break;
    }
    below += here;
  }
  if (value < (double)histogram->minimum) return (double)histogram->minimum;
  return value > (double)histogram->maximum ? (double)histogram->maximum : value;
}

double dq_histogram_clipped(const dq_histogram *histogram, dq_range_pair range) {
  if (!histogram->count) return 0;
  double inverse = ldexp(1, -histogram->exponent);
  double low = floor((double)range.low * inverse) + HALF, high = floor((double)range.high * inverse) + HALF;
  uint64_t outside = 0;
  int first, last;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++)
    if (i < low || i > high) outside += histogram->bins[i];
  return (double)outside / (double)histogram->count;
}

void dq_histogram_fill(const dq_histogram *histogram, dq_filled_bins *filled) {
  int first, last, count = 0;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++) {
    if (!histogram->bins[i]) continue;
    filled->middles[count] = i - HALF + 0.5;
    filled->counts[count++] = (double)histogram->bins[i];
  }
  filled->count = count;
  filled->width = ldexp(1, histogram->exponent);
}

double dq_filled_error(const dq_filled_bins *filled, dq_range_pair range, bool symmetric) {
  double low = range.low < 0 ? (double)range.low : 0, high = range.high > 0 ? (double)range.high : 0;
  if (symmetric) high = high > -low ? high : -low, low = -high;
  double step = (high - low) / (symmetric ? DQ_SYMMETRIC_STEPS : DQ_ACTIVATION_STEPS);
  double zero = step > 0 ? nearbyint(-low / step) : 0, top = symmetric ? DQ_SYMMETRIC_STEPS : DQ_ACTIVATION_STEPS,
         error = 0;
  double bins_a_step = step > 0 ? filled->width / step : 0;
  for (int i = 0; i < filled->count; i++) {
    double x = filled->middles[i];
    double q = dq_round_even_f64(x * bins_a_step) + zero;
    q = q < 0 ? 0 : q > top ? top : q;
    double difference = x * filled->width - (q - zero) * step;
    error += filled->counts[i] * difference * difference;
  }
  return error;
}

double dq_histogram_error(const dq_histogram *histogram, dq_range_pair range, bool symmetric) {
  dq_filled_bins filled;
  dq_histogram_fill(histogram, &filled);
  return dq_filled_error(&filled, range, symmetric);
}
