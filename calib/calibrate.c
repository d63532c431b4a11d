// Histograms of a network's values.
#include <stdlib.h>

#include "calib/calib.h"

static dq_status open_histograms(dq_calibration *calibration, const dq_context *context, dq_error *error) {
  dq_budget *budget = context ? context->budget : NULL;
  calibration->histograms = calloc((size_t)calibration->count + 1, sizeof(dq_histogram));
  if (!calibration->histograms) return dq_fail_memory(error, 0);
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
  dq_histogram *histograms;
  const dq_context *context;
} filling;

static dq_status add_to_histogram(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  const filling *f = user;
  dq_histogram_add(&f->histograms[slot], tensor->data, dq_tensor_count(tensor), f->context);
  return DQ_OK;
}

dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what, const dq_context *context,
                       dq_error *error) {
  *calibration = (dq_calibration){.count = what->count, .names = what->names, .pictures = what->pictures};
  dq_status status = open_histograms(calibration, context, error);
  filling filled = {calibration->histograms, context};
  if (status == DQ_OK) status = dq_observe(what, add_to_histogram, &filled, context, error);
  if (status == DQ_OK) status = check_seen(calibration, error);
  if (status != DQ_OK) dq_calibration_deinit(calibration);
  return status;
}

void dq_calibration_deinit(dq_calibration *calibration) {
  for (int i = 0; calibration->histograms && i < calibration->count; i++)
    dq_histogram_deinit(&calibration->histograms[i]);
  free(calibration->histograms);
  *calibration = (dq_calibration){0};
}
