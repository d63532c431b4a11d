// Running a network over pictures with somebody behind every tap: a histogram, or who else asks.
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"
#include "lib/passes/passes.h"

typedef struct tap_table {
  const int *slot; // by value index of the session's graph: which name, -1 for none
  dq_observe_function see;
  void *user;
} tap_table;

static dq_status observe(void *user, const dq_value *value, const dq_tensor *tensor,
                         dq_error *error) {
  const tap_table *table = user;
  int slot = table->slot[value->index];
  if (slot < 0) return DQ_OK;
  if (tensor->type != DQ_F32)
    return dq_fail(error, DQ_BAD_INPUT, "value '%s' is of type %s, expected float32", value->name,
                   dq_dtype_name(tensor->type));
  return table->see(table->user, slot, tensor, error);
}

static int *make_slots(const dq_graph *graph, const char *const *names, int count) {
  int *slot = malloc(((size_t)graph->value_count + 1) * sizeof *slot);
  for (int i = 0; slot && i < graph->value_count; i++) slot[i] = -1;
  for (int i = 0; slot && i < count; i++) slot[dq_graph_find(graph, names[i])->index] = i;
  return slot;
}

dq_status dq_read_picture(dq_plan *plan, dq_data *data, int64_t picture, dq_error *error) {
  dq_tensor *input;
  DQ_TRY(dq_plan_picture_input(plan, &input, error));
  DQ_TRY(dq_data_set_shape(data, input, error));
  int64_t elements = dq_tensor_product(input, 1, 4);
  for (int64_t b = 0; b < input->dims[0]; b++)
    DQ_TRY(dq_data_read(data, picture, (float *)input->data + b * elements, NULL, error));
  return DQ_OK;
}

static dq_status run_pictures(dq_session *session, const dq_observation *what,
                              const dq_context *context, dq_error *error) {
  for (int64_t i = 0; i < what->pictures; i++) {
    DQ_TRY(dq_read_picture(session->plan, what->data, what->first + i, error));
    DQ_TRY(dq_plan_run(session->plan, error));
    dq_progress(context, what->doing, i + 1, what->pictures);
  }
  return DQ_OK;
}

dq_status dq_observe(const dq_observation *what, dq_observe_function see, void *user,
                     const dq_context *context, dq_error *error) {
  dq_session_options options = {
      .shapes = *what->shapes, .taps = what->names, .tap_count = what->count};
  dq_session session;
  DQ_TRY(dq_session_open(&session, what->graph, &options, context, error));
  int *slot = make_slots(session.copy, what->names, what->count);
  dq_status status = slot ? DQ_OK : dq_fail_memory(error, 0);
  tap_table table = {slot, see, user};
  dq_plan_set_tap(session.plan, observe, &table);
  if (status == DQ_OK) status = run_pictures(&session, what, context, error);
  free(slot);
  dq_session_close(&session);
  return status;
}

static dq_status open_histograms(dq_calibration *calibration, const dq_context *context, dq_error *error) {
  dq_budget *budget = context ? context->budget : NULL;
  calibration->histograms = calloc((size_t)calibration->count + 1, sizeof(dq_histogram));
  if (!calibration->histograms) return dq_fail_memory(error, 0);
  for (int i = 0; i < calibration->count; i++)
    DQ_TRY(dq_histogram_init(&calibration->histograms[i], budget, error));
  calibration->bytes =
      (size_t)calibration->count * (sizeof(dq_histogram) + DQ_HISTOGRAM_BINS * sizeof(uint64_t));
  return DQ_OK;
}

static dq_status check_seen(const dq_calibration *calibration, dq_error *error) {
  for (int i = 0; i < calibration->count; i++) {
    if (calibration->histograms[i].not_finite)
      return dq_fail(error, DQ_BAD_INPUT, "value '%s': %llu of its elements were NaN or infinite",
                     calibration->names[i],
                     (unsigned long long)calibration->histograms[i].not_finite);
    if (!calibration->histograms[i].count)
      return dq_fail(error, DQ_UNSUPPORTED, "value '%s' had no elements on any picture, there is no range to find",
                     calibration->names[i]);
  }
  return DQ_OK;
}

static dq_status add_to_histogram(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  dq_calibration *calibration = user;
  dq_histogram_add(&calibration->histograms[slot], tensor->data, dq_tensor_count(tensor));
  return DQ_OK;
}

dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what,
                       const dq_context *context, dq_error *error) {
  *calibration =
      (dq_calibration){.count = what->count, .names = what->names, .pictures = what->pictures};
  dq_status status = open_histograms(calibration, context, error);
  if (status == DQ_OK) status = dq_observe(what, add_to_histogram, calibration, context, error);
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
