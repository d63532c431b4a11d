// Histograms of a network's values.
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"

static dq_status open_histograms(dq_calibration *calibration, const dq_context *context, dq_error *error) {
  dq_budget *budget = dq_budget_of(context);
  calibration->histograms = calloc((size_t)calibration->count + 1, sizeof(dq_histogram));
  calibration->ends = calloc((size_t)calibration->count + 1, sizeof(dq_value_ends));
  if (!calibration->histograms || !calibration->ends) return dq_fail_memory(error, 0);
  for (int i = 0; i < calibration->count; i++) dq_histogram_init(&calibration->histograms[i], budget);
  calibration->bytes = (size_t)calibration->count * sizeof(dq_histogram);
  return DQ_OK;
}

static dq_status check_seen(const dq_calibration *calibration, dq_error *error) {
  for (int i = 0; i < calibration->count; i++) {
    if (calibration->histograms[i].not_finite)
      return dq_fail(error, DQ_BAD_INPUT, "value '%s': %llu of its elements were NaN or infinite",
                     calibration->names[i], (unsigned long long)calibration->histograms[i].not_finite);
    if (!calibration->histograms[i].count)
      return dq_fail(error, DQ_UNSUPPORTED, "value '%s' had no elements on any picture, there is no range to find",
                     calibration->names[i]);
  }
  return DQ_OK;
}

typedef struct filling {
  dq_calibration *calibration;
  double *picture;  // what measure_picture found
  int64_t capacity; // of `picture`
  const dq_context *context;
} filling;

static dq_status open_ends(const filling *f, dq_value_ends *ends, int64_t channels, dq_error *error) {
  if (ends->channels) return DQ_OK;
  size_t bytes = dq_value_ends_bytes(channels);
  void *memory = dq_budget_alloc(dq_budget_of(f->context), bytes);
  if (!memory) return dq_fail_memory(error, bytes);
  dq_value_ends_init(ends, channels, memory);
  f->calibration->bytes += bytes;
  return DQ_OK;
}

static dq_status reserve(filling *f, int64_t count, dq_error *error) {
  if (count <= f->capacity) return DQ_OK;
  dq_budget_free(f->picture);
  f->picture = dq_budget_alloc(dq_budget_of(f->context), (size_t)count * sizeof *f->picture);
  f->capacity = f->picture ? count : 0;
  return f->picture ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof *f->picture);
}

// Elements are counted in the histogram of the process that has them. Of the picture remain its extremes, which are
// infinite where no element is finite, and its ends.
enum { LOW, HIGH, ENDS };

static dq_status measure_picture(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured, dq_error *error) {
  filling *f = user;
  const int64_t elements = dq_tensor_count(tensor);
  if (!elements) return DQ_OK;
  const int64_t channels = dq_channels_of(tensor), count = ENDS + dq_value_ends_numbers(channels);
  DQ_TRY(reserve(f, count, error));
  dq_extremes seen;
  DQ_TRY(dq_histogram_count(&f->calibration->histograms[slot], tensor->data, elements, f->context, &seen, error));
  f->picture[LOW] = (double)seen.low, f->picture[HIGH] = (double)seen.high;
  dq_value_ends_of(tensor, channels, f->picture + ENDS, f->context);
  *measured = (dq_tensor){.type = DQ_F64, .rank = 1, .dims = {count}, .data = f->picture};
  return DQ_OK;
}

static dq_status add_picture(void *user, int slot, const dq_tensor *measured, dq_error *error) {
  const filling *f = user;
  const double *picture = measured->data;
  dq_value_ends *ends = &f->calibration->ends[slot];
  const int64_t channels = dq_value_ends_channels(measured->dims[0] - ENDS);
  DQ_TRY(open_ends(f, ends, channels, error)); // the channels of a value are those of the first picture
  if (picture[LOW] <= picture[HIGH])
    dq_histogram_average(&f->calibration->histograms[slot], (float)picture[LOW], (float)picture[HIGH]);
  dq_value_ends_add(ends, picture + ENDS, channels);
  return DQ_OK;
}

// Adds what the processes other than this one counted: each[count] of a histogram and all its bins.
static dq_status add_histograms(dq_histogram *histogram, char *all, size_t each, const dq_processes *processes,
                                dq_error *error) {
  for (int r = 0; r < dq_process_count(processes); r++) {
    dq_histogram from;
    memcpy(&from, all + (size_t)r * each, sizeof from);
    from.bins = (dq_bin_counts){.all = (uint64_t *)(void *)(all + (size_t)r * each + sizeof from)};
    if (r != dq_process_index(processes)) DQ_TRY(dq_histogram_merge(histogram, &from, error));
  }
  return DQ_OK;
}

// The counts of all processes, in all of them.
static dq_status merge_histogram(dq_histogram *histogram, const dq_context *context, dq_error *error) {
  const size_t bins = DQ_HISTOGRAM_BINS * sizeof(uint64_t), each = sizeof *histogram + bins;
  char *own = dq_context_alloc(context, each), *all = NULL;
  size_t *sizes = calloc((size_t)dq_process_count(context->processes), sizeof *sizes);
  dq_status status = own && sizes ? DQ_OK : dq_fail_memory(error, each);
  if (status == DQ_OK) {
    uint64_t *to = (uint64_t *)(void *)(own + sizeof *histogram);
    const uint64_t *counts = dq_histogram_bins(histogram, to);
    memcpy(own, histogram, sizeof *histogram);
    if (counts != to) memcpy(to, counts, bins);
    status = dq_processes_collect(context->processes, context->budget, own, each, &all, sizes, error);
  }
  if (status == DQ_OK) status = add_histograms(histogram, all, each, context->processes, error);
  dq_budget_free(all);
  dq_budget_free(own);
  free(sizes);
  return status;
}

static dq_status merge_histograms(const dq_calibration *calibration, const dq_context *context, dq_error *error) {
  if (dq_process_count(dq_processes_of(context)) == 1) return DQ_OK;
  for (int i = 0; i < calibration->count; i++) DQ_TRY(merge_histogram(&calibration->histograms[i], context, error));
  return DQ_OK;
}

dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what, const dq_context *context,
                       dq_error *error) {
  *calibration = (dq_calibration){.count = what->count, .names = what->names, .pictures = what->pictures};
  dq_status status = open_histograms(calibration, context, error);
  filling filled = {.calibration = calibration, .context = context};
  dq_observation measured = *what;
  measured.measure = measure_picture;
  if (status == DQ_OK) status = dq_observe(&measured, add_picture, &filled, context, error);
  if (status == DQ_OK) status = merge_histograms(calibration, context, error);
  if (status == DQ_OK) status = check_seen(calibration, error);
  for (int i = 0; i < calibration->count && status == DQ_OK; i++)
    calibration->bytes += dq_bin_counts_bytes(&calibration->histograms[i].bins);
  if (status != DQ_OK) dq_calibration_deinit(calibration);
  dq_budget_free(filled.picture);
  return status;
}

void dq_calibration_deinit(dq_calibration *calibration) {
  for (int i = 0; calibration->histograms && i < calibration->count; i++)
    dq_histogram_deinit(&calibration->histograms[i]);
  for (int i = 0; calibration->ends && i < calibration->count; i++) dq_budget_free(calibration->ends[i].high);
  free(calibration->histograms);
  free(calibration->ends);
  *calibration = (dq_calibration){0};
}
