#include "quant/int8/observed.h"

#include <string.h>

#include "lib/graph/names.h"

dq_status dq_observed_open(dq_observed *seen, dq_equalize_scope equalize, bool heads, bool absorbing,
                           const dq_context *context, dq_error *error) {
  dq_observed_close(seen);
  *seen =
      (dq_observed){.arena = dq_context_arena(context), .equalize = equalize, .heads = heads, .absorbing = absorbing};
  seen->orders.arena = seen->arena;
  return seen->arena ? DQ_OK : dq_fail_memory(error, 0);
}

void dq_observed_close(dq_observed *seen) {
  dq_calibration_deinit(&seen->calibration);
  dq_arena_free(seen->arena);
  *seen = (dq_observed){0};
}

dq_status dq_observed_store_absorption(dq_observed *seen, const dq_absorption *absorption, dq_error *error) {
  const dq_channel_means *copies = dq_input_means_copy(absorption, seen->arena);
  if (!copies) return dq_fail_memory(error, 0);
  seen->absorption = (dq_absorption){copies, absorption->count};
  return DQ_OK;
}

dq_status dq_observed_store_equalization(dq_observed *seen, const dq_equalization *equalization, dq_error *error) {
  DQ_TRY(dq_equalization_copy(&seen->equalization, equalization, seen->arena, error));
  seen->equalized = true;
  return DQ_OK;
}

dq_status dq_observed_store_calibration(dq_observed *seen, dq_calibration *calibration, dq_error *error) {
  const char **names = DQ_NEW_ARRAY(seen->arena, calibration->count + 1, const char *);
  bool copied = names != NULL;
  for (int i = 0; copied && i < calibration->count; i++)
    copied = (names[i] = dq_arena_strdup(seen->arena, calibration->names[i])) != NULL;
  if (!copied) {
    dq_calibration_deinit(calibration);
    return dq_fail_memory(error, 0);
  }
  dq_calibration_deinit(&seen->calibration);
  seen->calibration = *calibration;
  seen->calibration.names = names;
  *calibration = (dq_calibration){0};
  return DQ_OK;
}

dq_status dq_observed_store_ranges(dq_observed *seen, const dq_searched_ranges *searched, dq_error *error) {
  const dq_range_pair *copies =
      dq_arena_copy(seen->arena, searched->ranges, (size_t)searched->count * sizeof *searched->ranges);
  if (!copies) return dq_fail_memory(error, 0);
  seen->searched = *searched;
  seen->searched.ranges = copies;
  return DQ_OK;
}

dq_status dq_observed_store_means(dq_observed *seen, const dq_input_means *means, dq_error *error) {
  const dq_channel_means *copies = dq_input_means_copy(means, seen->arena);
  if (!copies) return dq_fail_memory(error, 0);
  seen->means = (dq_input_means){copies, means->count};
  return DQ_OK;
}

bool dq_observed_has_calibration(const dq_observed *seen, const char *const *names, int count) {
  if (!count || seen->calibration.count != count) return false;
  for (int i = 0; i < count; i++)
    if (strcmp(seen->calibration.names[i], names[i])) return false;
  return true;
}

static bool permute_means(dq_channel_means *of, const int64_t *order, dq_arena *arena) {
  double *moved = DQ_NEW_ARRAY(arena, of->channels, double);
  for (int64_t c = 0; moved && c < of->channels; c++) moved[c] = of->means[order[c]];
  of->means = moved;
  return moved != NULL;
}

dq_status dq_observed_permuted_means(const dq_observed *seen, const dq_permuted_value *permuted, int count,
                                     dq_input_means *means, dq_arena *arena, dq_error *error) {
  dq_channel_means *copies = dq_input_means_copy(&seen->means, arena);
  struct dq_names *names = dq_names_new();
  bool memory = copies && names;
  for (int i = 0; memory && i < seen->means.count; i++) memory = dq_names_add(names, &copies[i]);
  for (int p = 0; memory && p < count; p++) {
    dq_channel_means *found = dq_names_find(names, permuted[p].value);
    memory = !found || found->channels != permuted[p].channels || permute_means(found, permuted[p].order, arena);
  }
  dq_names_free(names);
  *means = (dq_input_means){copies, seen->means.count};
  return memory ? DQ_OK : dq_fail_memory(error, 0);
}
