#include "lib/verdict/interval.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/measure/spread.h"

const dq_interval dq_no_interval = {NAN, NAN};

static const double TAIL = 0.025;                 // on each side
static const double NORMAL = 1.959963984540054;   // exceeded with that probability by the normal distribution
static const double DECIBELS = 4.342944819032518; // 10 / ln 10

// ---- Student's t distribution ----

// Uses the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
double dq_student_tail(double t, int64_t freedom) {
  const double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
  bool odd = freedom % 2 != 0;
  double term = odd ? cosine : 1, sum = freedom > 1 ? term : 0;
  for (int64_t k = odd ? 3 : 2; k < freedom; k += 2) {
    term *= cosine * cosine * (double)(k - 1) / (double)k;
    sum += term;
  }
  double within = odd ? 2 / acos(-1) * (angle + sin(angle) * sum) : sin(angle) * sum;
  return (1 - within) / 2;
}

double dq_student_quantile(double tail, int64_t freedom) {
  enum { STEPS = 60 };
  double low = 0, high = 1;
  while (dq_student_tail(high, freedom) > tail) high *= 2;
  for (int i = 0; i < STEPS; i++) {
    double middle = (low + high) / 2;
    if (dq_student_tail(middle, freedom) > tail) low = middle;
    else high = middle;
  }
  return high;
}

// ---- SQNR ----

// ln (sum signal / sum noise) of the pictures that `drawn` lists (NULL: each once), and its standard error.
typedef struct log_ratio {
  double value, error;
} log_ratio;

static log_ratio log_ratio_of(const double *signal, const double *noise, const int32_t *drawn, int64_t count) {
  const double n = (double)count;
  double signals = 0, noises = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t p = drawn ? drawn[i] : i;
    signals += signal[p], noises += noise[p];
  }
  if (!(signals > 0) || !(noises > 0)) return (log_ratio){INFINITY, 0};
  for (int64_t i = 0; i < count; i++) {
    const int64_t p = drawn ? drawn[i] : i;
    const double part = signal[p] / signals - noise[p] / noises; // of n; the mean over the pictures is 0
    squares += part * part;
  }
  return (log_ratio){log(signals / noises), sqrt(squares * n / (n - 1))};
}

// The quantile of sorted numbers that a share of `tail` lies below.
static double quantile_of(const double *sorted, int64_t count, double tail) {
  const double place = tail * (double)(count - 1);
  const int64_t below = (int64_t)place;
  const double next = sorted[below + 1 < count ? below + 1 : below];
  return sorted[below] + (place - (double)below) * (next - sorted[below]);
}

enum { DRAWS = 2000, FEWEST_TO_DRAW = 8 };

// Sorted (value of a draw - value) / (error of the draw), `errors` [DRAWS], of draws of pictures with replacement; a
// draw that does not scatter is left out. The result is their number.
static int64_t draw_errors(const double *signal, const double *noise, int64_t count, log_ratio whole, int32_t *drawn,
                           double *errors) {
  dq_random random = dq_random_start(1, 'v');
  int64_t known = 0;
  for (int d = 0; d < DRAWS; d++) {
    for (int64_t i = 0; i < count; i++) drawn[i] = (int32_t)dq_random_below(&random, (uint64_t)count);
    const log_ratio draw = log_ratio_of(signal, noise, drawn, count);
    if (draw.error > 0) errors[known++] = (draw.value - whole.value) / draw.error;
  }
  dq_sort_ascending(errors, known);
  return known;
}

// Returns the interval of the natural logarithm of the ratio.
static dq_interval studentized(const double *signal, const double *noise, int64_t count) {
  const log_ratio whole = log_ratio_of(signal, noise, NULL, count);
  const double t = dq_student_quantile(TAIL, count - 1);
  dq_interval interval = {whole.value - t * whole.error, whole.value + t * whole.error};
  if (count < FEWEST_TO_DRAW) return interval;
  double *errors = malloc(DRAWS * sizeof *errors);
  int32_t *drawn = malloc((size_t)count * sizeof *drawn);
  const int64_t known = errors && drawn ? draw_errors(signal, noise, count, whole, drawn, errors) : 0;
  if (known) {
    interval.low = whole.value - quantile_of(errors, known, 1 - TAIL) * whole.error;
    interval.high = whole.value - quantile_of(errors, known, TAIL) * whole.error;
  }
  free(drawn);
  free(errors);
  return interval;
}

// Returns the interval of the natural logarithm of the ratio, where the noise of a picture is log-normal. Pictures
// without noise keep their share. The signals are taken for what they are.
static dq_interval log_normal(const double *signal, const double *noise, int64_t count) {
  double signals = 0, sum = 0, squares = 0;
  int64_t noisy = 0;
  for (int64_t p = 0; p < count; p++) {
    signals += signal[p];
    if (!(noise[p] > 0)) continue;
    sum += log(noise[p]);
    noisy++;
  }
  if (noisy < 2) return dq_no_interval;
  const double n = (double)noisy, mean = sum / n;
  for (int64_t p = 0; p < count; p++)
    if (noise[p] > 0) squares += (log(noise[p]) - mean) * (log(noise[p]) - mean);
  const double variance = squares / (n - 1);
  const double error = sqrt(variance / n + variance * variance / (2 * (n - 1)));
  const double value = log(signals / n) - mean - variance / 2, t = dq_student_quantile(TAIL, noisy - 1);
  return (dq_interval){value - t * error, value + t * error};
}

// The lowest natural logarithm of the ratio: of so many pictures none of a kind may be seen by chance that is this
// large a share of all, and such pictures may lose as much as their signal, or ten times what others lose.
static double lowest_of(double signals, double noises, int64_t count) {
  const double unseen = 1 - pow(TAIL, 1 / (double)count), seen = noises / signals;
  return -log(seen + unseen * fmax(1, 10 * seen));
}

dq_interval dq_sqnr_interval(const double *signal, const double *noise, int64_t count) {
  double signals = 0, noises = 0;
  for (int64_t p = 0; p < count; p++) signals += signal[p], noises += noise[p];
  if (isinf(noises)) return (dq_interval){-INFINITY, -INFINITY};
  if (count < 2 || !(signals > 0)) return dq_no_interval;
  if (!(noises > 0)) return (dq_interval){INFINITY, INFINITY};
  const dq_interval drawn = studentized(signal, noise, count), tails = log_normal(signal, noise, count);
  const double low = fmax(fmin(drawn.low, tails.low), lowest_of(signals, noises, count));
  return (dq_interval){DECIBELS * low, DECIBELS * fmax(drawn.high, tails.high)};
}

// ---- Shares ----

// The number of independent answers that would scatter as much as those of the pictures do.
static double independent_answers(const int64_t *equal, const int64_t *answers, int64_t count) {
  double all = 0, kept = 0, squares = 0, pictures = 0;
  for (int64_t p = 0; p < count; p++) all += (double)answers[p], kept += (double)equal[p], pictures += answers[p] > 0;
  const double share = kept / all;
  for (int64_t p = 0; p < count; p++) {
    const double apart = (double)equal[p] - share * (double)answers[p];
    squares += apart * apart;
  }
  const double variance = squares / (all * all) * pictures / (pictures - 1);
  if (!(squares > 0) || !(pictures > 1)) return pictures;
  return fmin(share * (1 - share) / variance, all);
}

dq_interval dq_share_interval(const int64_t *equal, const int64_t *answers, int64_t count) {
  int64_t all = 0, kept = 0, most = 0;
  for (int64_t p = 0; p < count; p++) {
    all += answers[p], kept += equal[p];
    if (answers[p] > most) most = answers[p];
  }
  if (!all) return dq_no_interval;
  const double n = most == 1 ? (double)all : independent_answers(equal, answers, count);
  const double share = (double)kept / (double)all, z2 = NORMAL * NORMAL;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = NORMAL * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return (dq_interval){kept ? 100 * fmax(middle - half, 0) : 0, kept < all ? 100 * fmin(middle + half, 1) : 100};
}

int64_t dq_share_pictures(double percent) { return (int64_t)ceil(NORMAL * NORMAL * percent / (100 - percent)); }
