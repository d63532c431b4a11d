#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"
#include "calib/elements.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/scalar.h"

enum { BINS = DQ_HISTOGRAM_BINS, HALF = BINS / 2 };
enum { SMALLEST_EXPONENT = -126 }; // of normal numbers: scaling by a power of two below is not exact

void dq_histogram_init(dq_histogram *histogram, dq_budget *budget) {
  *histogram = (dq_histogram){.exponent = SMALLEST_EXPONENT, .bins.budget = budget};
}

void dq_histogram_deinit(dq_histogram *histogram) { dq_bin_counts_deinit(&histogram->bins); }

// Smallest exponent for which |value| < HALF * 2^exponent.
static int exponent_for(float value) {
  int exponent;
  if (value == 0) return SMALLEST_EXPONENT; // frexp says 0 for it
  frexpf(fabsf(value), &exponent);          // |value| < 2^exponent
  exponent -= 12;                           // HALF is 2^12
  return exponent < SMALLEST_EXPONENT ? SMALLEST_EXPONENT : exponent;
}

// Bin i of the doubled width takes floor(i / 2) counted from the middle: 2i and 2i + 1.
static void double_width(uint64_t *bins) {
  for (int i = 0; i < HALF / 2; i++) { // above zero: from the middle outwards
    bins[HALF + i] = bins[HALF + 2 * i] + bins[HALF + 2 * i + 1];
    bins[HALF - 1 - i] = bins[HALF - 1 - 2 * i] + bins[HALF - 2 - 2 * i];
  }
  memset(bins + HALF + HALF / 2, 0, HALF / 2 * sizeof *bins);
  memset(bins, 0, HALF / 2 * sizeof *bins);
}

static void widen_to(dq_histogram *histogram, uint64_t *bins, int exponent) {
  if (!histogram->count && exponent > histogram->exponent) histogram->exponent = exponent;
  for (; histogram->exponent < exponent; histogram->exponent++) double_width(bins);
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

// The first share counts straight into the bins. Without memory for the others one thread counts all.
static void count_shares(uint64_t *bins, int exponent, share *shares, int parts, dq_pool *pool) {
  uint64_t *others = parts > 1 ? calloc((size_t)(parts - 1) * BINS, sizeof *others) : NULL;
  for (int i = 0; i < parts; i++) {
    shares[i].exponent = exponent;
    shares[i].bins = i && others ? others + (size_t)(i - 1) * BINS : bins;
  }
  dq_pool_run(others ? pool : NULL, parts, count_share, shares);
  for (int i = 1; others && i < parts; i++)
    for (int b = 0; b < BINS; b++) bins[b] += shares[i].bins[b];
  free(others);
}

static dq_extremes extremes_of(share *shares, int parts, dq_pool *pool) {
  dq_pool_run(pool, parts, look_at_share, shares);
  dq_extremes seen = shares[0].seen;
  for (int i = 1; i < parts; i++) {
    seen.low = fminf(seen.low, shares[i].seen.low);
    seen.high = fmaxf(seen.high, shares[i].seen.high);
    seen.not_finite += shares[i].seen.not_finite;
  }
  return seen;
}

dq_status dq_histogram_count(dq_histogram *histogram, const float *values, int64_t count, const dq_context *context,
                             dq_extremes *seen, dq_error *error) {
  enum { FEW = 4096 }; // that are worth being packed
  dq_pool *pool = context ? context->pool : NULL;
  share shares[MOST_SHARES];
  uint64_t unpacked[BINS];
  int parts = make_shares(shares, values, count, context);
  *seen = extremes_of(shares, parts, pool);
  histogram->not_finite += (uint64_t)seen->not_finite;
  if (seen->not_finite == count) return DQ_OK;
  if (count > FEW) DQ_TRY(dq_bin_counts_unpack(&histogram->bins, error));
  uint64_t *bins = dq_bin_counts_open(&histogram->bins, unpacked);
  int low = exponent_for(seen->low), high = exponent_for(seen->high);
  widen_to(histogram, bins, low > high ? low : high);
  extend_range(histogram, seen->low, seen->high);
  histogram->count += (uint64_t)(count - seen->not_finite);
  count_shares(bins, histogram->exponent, shares, parts, pool);
  return dq_bin_counts_store(&histogram->bins, bins, error);
}

dq_status dq_histogram_merge(dq_histogram *into, const dq_histogram *from, dq_error *error) {
  uint64_t memory[2][BINS];
  into->not_finite += from->not_finite;
  if (!from->count) return DQ_OK;
  uint64_t *bins = dq_bin_counts_open(&into->bins, memory[0]);
  const uint64_t *added = dq_bin_counts_read(&from->bins, memory[1]);
  widen_to(into, bins, from->exponent);
  extend_range(into, from->minimum, from->maximum);
  into->count += from->count;
  int shift = into->exponent - from->exponent;
  for (int i = 0; i < BINS; i++) { // floor((i - HALF) / 2^shift)
    int at = i - HALF;
    for (int s = 0; s < shift && at != 0 && at != -1; s++) at = at >= 0 ? at / 2 : -((-at + 1) / 2);
    bins[at + HALF] += added[i];
  }
  return dq_bin_counts_store(&into->bins, bins, error);
}

const uint64_t *dq_histogram_bins(const dq_histogram *histogram, uint64_t *memory) {
  return dq_bin_counts_read(&histogram->bins, memory);
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
  uint64_t memory[BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  int first, last;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++) {
    double here = (double)bins[i];
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
  uint64_t memory[BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  int first, last;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++)
    if (i < low || i > high) outside += bins[i];
  return (double)outside / (double)histogram->count;
}

void dq_histogram_fill(const dq_histogram *histogram, dq_filled_bins *filled) {
  uint64_t memory[BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  int first, last, count = 0;
  find_span(histogram, &first, &last);
  for (int i = first; i <= last; i++) {
    if (!bins[i]) continue;
    filled->middles[count] = i - HALF + 0.5;
    filled->counts[count++] = (double)bins[i];
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
