// Histograms of a network's values.
#include <stdlib.h>

#include "calib/calib.h"

static dq_status open_histograms(dq_calibration *calibration, const dq_context *context, dq_error *error) {
  dq_budget *budget = context ? context->budget : NULL;
  calibration->histograms = calloc((size_t)calibration->count + 1, sizeof(dq_histogram));
  calibration->ends = calloc((size_t)calibration->count + 1, sizeof(dq_value_ends));
  if (!calibration->histograms || !calibration->ends) return dq_fail_memory(error, 0);
  for (int i = 0; i < calibration->count; i++) DQ_TRY(dq_histogram_init(&calibration->histograms[i], budget, error));
  calibration->bytes = (size_t)calibration->count * (sizeof(dq_histogram) + DQ_HISTOGRAM_BINS * sizeof(uint64_t));
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
  const dq_context *context;
} filling;

static dq_status open_ends(const filling *f, dq_value_ends *ends, const dq_tensor *tensor, dq_error *error) {
  int64_t channels = dq_channels_of(tensor);
  size_t bytes = dq_value_ends_bytes(channels);
  void *memory = dq_budget_alloc(f->context ? f->context->budget : NULL, bytes);
  if (!memory) return dq_fail_memory(error, bytes);
  dq_value_ends_init(ends, channels, memory);
  f->calibration->bytes += bytes;
  return DQ_OK;
}

static dq_status add_picture(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  const filling *f = user;
  dq_value_ends *ends = &f->calibration->ends[slot];
  if (!dq_tensor_count(tensor)) return DQ_OK;
  if (!ends->channels) DQ_TRY(open_ends(f, ends, tensor, error));
  dq_histogram_add(&f->calibration->histograms[slot], tensor->data, dq_tensor_count(tensor), f->context);
  dq_value_ends_add(ends, tensor, f->context);
  return DQ_OK;
}

dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what, const dq_context *context,
                       dq_error *error) {
  *calibration = (dq_calibration){.count = what->count, .names = what->names, .pictures = what->pictures};
  dq_status status = open_histograms(calibration, context, error);
  filling filled = {calibration, context};
  if (status == DQ_OK) status = dq_observe(what, add_picture, &filled, context, error);
  if (status == DQ_OK) status = check_seen(calibration, error);
  if (status != DQ_OK) dq_calibration_deinit(calibration);
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
