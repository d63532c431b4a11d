// How far the outputs of one model are from another's.
#include <math.h>
#include <stdlib.h>

#include "lib/decode/item.h"
#include "lib/eval/task_internal.h"
#include "lib/kernels/array/array.h"

static void add_pair(dq_comparison *comparison, double reference, double other) {
  if (!isfinite(reference)) {
    comparison->left_out++;
    return;
  }
  comparison->values++;
  comparison->signal += reference * reference;
  comparison->noise += dq_squared_error(reference, other);
  double distance = dq_is_broken(reference, other) ? INFINITY : fabs(reference - other);
  if (distance > comparison->largest) comparison->largest = distance;
  if (!isfinite(other)) {
    comparison->nonfinite++;
    return;
  }
  comparison->product += reference * other;
  comparison->other += other * other;
}

enum { LANES = 4, BLOCK = 4096 }; // sums side by side, which compilers make vectors of; elements that are tried at once

typedef struct lane_sums {
  double signal[LANES], noise[LANES], product[LANES], other[LANES];
} lane_sums;

static double sum_lanes(const double *lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

// The sums over a block of a multiple of LANES elements. Not inlined: gcc makes no vectors of the lanes then.
__attribute__((noinline)) static void add_lanes(lane_sums *result, const float *restrict reference,
                                                const float *restrict other, int64_t count) {
  lane_sums sums = {{0}, {0}, {0}, {0}};
  for (int64_t i = 0; i < count; i += LANES)
    for (int l = 0; l < LANES; l++) {
      double r = (double)reference[i + l], o = (double)other[i + l], difference = r - o;
      sums.signal[l] += r * r;
      sums.noise[l] += difference * difference;
      sums.product[l] += r * o;
      sums.other[l] += o * o;
    }
  *result = sums;
}

// The largest distance in a block, at least `largest`; `count` is a multiple of LANES.
static double largest_distance(const float *reference, const float *other, int64_t count, double largest) {
  double best[LANES] = {largest, largest, largest, largest};
  for (int64_t i = 0; i < count; i += LANES)
    for (int l = 0; l < LANES; l++) {
      double distance = fabs((double)reference[i + l] - (double)other[i + l]);
      best[l] = distance > best[l] ? distance : best[l];
    }
  return fmax(fmax(best[0], best[1]), fmax(best[2], best[3]));
}

// Adds a block in which all elements are finite. False: one is not, and nothing was added.
static bool add_finite(dq_comparison *comparison, const float *reference, const float *other, int64_t count) {
  lane_sums sums;
  add_lanes(&sums, reference, other, count);
  double signal = sum_lanes(sums.signal), others = sum_lanes(sums.other);
  if (!isfinite(signal + others)) return false;
  comparison->values += count;
  comparison->signal += signal;
  comparison->noise += sum_lanes(sums.noise);
  comparison->product += sum_lanes(sums.product);
  comparison->other += others;
  comparison->largest = largest_distance(reference, other, count, comparison->largest);
  return true;
}

// Sums of the squares of blocks, so many of them at once that the threads have work.
enum { TOGETHER = 2048, GRAIN = 16 };

typedef struct square_job {
  const float *reference, *other;
  int64_t count;
  unsigned cpu;
  double sums[TOGETHER][2]; // of every block, up to its last multiple of LANES elements
} square_job;

static int64_t in_block(const square_job *job, int64_t block) {
  int64_t left = job->count - block * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

static void square_blocks(void *argument, int64_t i, int thread) {
  (void)thread;
  square_job *job = argument;
  for (int64_t b = i * GRAIN; b < (i + 1) * GRAIN && b * BLOCK < job->count; b++)
    dq_find_squares(job->cpu, job->reference + b * BLOCK, job->other + b * BLOCK, in_block(job, b) / LANES * LANES,
                    job->sums[b]);
}

// The sums of a block, or its elements one by one where one is not finite; the rest one by one in both cases.
static void add_block(const square_job *job, int64_t block, double *signal, double *noise) {
  const double *sums = job->sums[block];
  const float *reference = job->reference + block * BLOCK, *other = job->other + block * BLOCK;
  bool added = isfinite(sums[0] + sums[1]);
  if (added) *signal += sums[0], *noise += sums[1];
  for (int64_t i = added ? in_block(job, block) / LANES * LANES : 0; i < in_block(job, block); i++) {
    *signal += dq_squared_signal((double)reference[i]);
    *noise += dq_squared_error((double)reference[i], (double)other[i]);
  }
}

void dq_add_squares(const float *reference, const float *other, int64_t count, const dq_context *context,
                    double *signal, double *noise) {
  dq_pool *pool = context ? context->pool : NULL;
  for (int64_t from = 0; from < count; from += TOGETHER * BLOCK) {
    int64_t some = count - from < TOGETHER * BLOCK ? count - from : TOGETHER * BLOCK, blocks = (some - 1) / BLOCK + 1;
    square_job job; // the sums are written before they are read
    job.reference = reference + from, job.other = other + from, job.count = some, job.cpu = context ? context->cpu : 0;
    dq_pool_run(blocks > GRAIN ? pool : NULL, (blocks - 1) / GRAIN + 1, square_blocks, &job);
    for (int64_t b = 0; b < blocks; b++) add_block(&job, b, signal, noise);
  }
}

void dq_comparison_add_values(dq_comparison *comparison, const float *reference, const float *other, int64_t count) {
  for (int64_t from = 0; from < count; from += BLOCK) {
    int64_t to = from + BLOCK < count ? from + BLOCK : count;
    int64_t whole = (to - from) / LANES * LANES;
    bool added = add_finite(comparison, reference + from, other + from, whole);
    for (int64_t i = added ? from + whole : from; i < to; i++)
      add_pair(comparison, (double)reference[i], (double)other[i]);
  }
}

// Where the first of the largest elements is; NaN is never the largest. -1: all are NaN.
static int64_t first_largest(const dq_tensor *tensor, int64_t from, int64_t count) {
  int64_t best = -1;
  double largest = -INFINITY;
  for (int64_t i = 0; i < count; i++) {
    double value = dq_tensor_get(tensor, from + i);
    if (!(value > largest) && (best >= 0 || isnan(value))) continue;
    best = i, largest = value;
  }
  return best;
}

static bool agrees(const dq_tensor *reference, const dq_tensor *other, int64_t from, int64_t count) {
  int64_t best = first_largest(reference, from, count);
  return best >= 0 && best == first_largest(other, from, count);
}

dq_status dq_comparison_add(dq_comparison *comparison, const dq_tensor *reference, const dq_tensor *other, int64_t item,
                            dq_error *error) {
  char a[DQ_SHAPE_TEXT], b[DQ_SHAPE_TEXT];
  int64_t count = item < 0 ? dq_tensor_count(reference) : dq_item_count(reference);
  if (count != (item < 0 ? dq_tensor_count(other) : dq_item_count(other)))
    return dq_fail(error, DQ_BAD_INPUT,
                   "an output has shape %s, that of the reference has %s; expected equal numbers of elements",
                   dq_tensor_shape_text(other, b, sizeof b), dq_tensor_shape_text(reference, a, sizeof a));
  int64_t from = item < 0 ? 0 : item * count, broken = comparison->nonfinite;
  if (reference->type == DQ_F32 && other->type == DQ_F32)
    dq_comparison_add_values(comparison, (const float *)reference->data + from, (const float *)other->data + from,
                             count);
  else
    for (int64_t i = from; i < from + count; i++)
      add_pair(comparison, dq_tensor_get(reference, i), dq_tensor_get(other, i));
  comparison->pictures++;
  comparison->agree += comparison->nonfinite == broken && agrees(reference, other, from, count);
  return DQ_OK;
}

void dq_comparison_merge(dq_comparison *comparison, const dq_comparison *further) {
  comparison->signal += further->signal;
  comparison->noise += further->noise;
  comparison->product += further->product;
  comparison->other += further->other;
  if (further->largest > comparison->largest) comparison->largest = further->largest;
  comparison->values += further->values;
  comparison->nonfinite += further->nonfinite;
  comparison->left_out += further->left_out;
  comparison->pictures += further->pictures;
  comparison->agree += further->agree;
}

double dq_comparison_sqnr(const dq_comparison *comparison) {
  if (!comparison->values) return NAN; // nothing was compared
  if (comparison->noise == 0) return INFINITY;
  return 10 * log10(comparison->signal / comparison->noise);
}

double dq_comparison_cosine(const dq_comparison *comparison) {
  if (comparison->nonfinite || !comparison->values) return NAN;
  double norm = sqrt(comparison->signal) * sqrt(comparison->other);
  if (norm == 0) return comparison->signal == comparison->other;
  return comparison->product / norm;
}

double dq_comparison_agreement(const dq_comparison *comparison) {
  return comparison->pictures ? 100.0 * (double)comparison->agree / (double)comparison->pictures : 100;
}
