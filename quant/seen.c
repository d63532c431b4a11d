#include "quant/seen.h"

#include <string.h>

dq_status dq_seen_open(dq_seen *seen, dq_equalize_scope equalize, bool heads, dq_error *error) {
  dq_seen_close(seen);
  *seen = (dq_seen){.arena = dq_arena_new(0), .equalize = equalize, .heads = heads};
  seen->orders.arena = seen->arena;
  return seen->arena ? DQ_OK : dq_fail_memory(error, 0);
}

void dq_seen_close(dq_seen *seen) {
  dq_calibration_deinit(&seen->calibration);
  dq_arena_free(seen->arena);
  *seen = (dq_seen){0};
}

dq_status dq_seen_keep_equalization(dq_seen *seen, const dq_equalization *equalization, dq_error *error) {
  dq_equalize_site *sites = DQ_NEW_ARRAY(seen->arena, equalization->count + 1, dq_equalize_site);
  if (!sites) return dq_fail_memory(error, 0);
  for (int s = 0; s < equalization->count; s++) {
    const dq_equalize_site *from = &equalization->sites[s];
    sites[s] = (dq_equalize_site){dq_arena_strdup(seen->arena, from->value), from->channels,
                                  dq_arena_copy(seen->arena, from->factors,
                                                (size_t)from->channels * sizeof *from->factors)};
    if (!sites[s].value || !sites[s].factors) return dq_fail_memory(error, 0);
  }
  seen->equalization = (dq_equalization){sites, equalization->count};
  seen->equalized = true;
  return DQ_OK;
}

dq_status dq_seen_keep_calibration(dq_seen *seen, dq_calibration *calibration, dq_error *error) {
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

static dq_status copy_means(const dq_input_means *means, dq_channel_means **copies, dq_arena *arena, dq_error *error) {
  *copies = DQ_NEW_ARRAY(arena, means->count + 1, dq_channel_means);
  if (!*copies) return dq_fail_memory(error, 0);
  for (int i = 0; i < means->count; i++) {
    const dq_channel_means *from = &means->values[i];
    (*copies)[i] = (dq_channel_means){dq_arena_strdup(arena, from->value), from->channels,
                                      dq_arena_copy(arena, from->means, (size_t)from->channels * sizeof *from->means)};
    if (!(*copies)[i].value || !(*copies)[i].means) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

dq_status dq_seen_keep_means(dq_seen *seen, const dq_input_means *means, dq_error *error) {
  dq_channel_means *copies;
  DQ_TRY(copy_means(means, &copies, seen->arena, error));
  seen->means = (dq_input_means){copies, means->count};
  return DQ_OK;
}

bool dq_seen_has_calibration(const dq_seen *seen, const char *const *names, int count) {
  if (!count || seen->calibration.count != count) return false;
  for (int i = 0; i < count; i++)
    if (strcmp(seen->calibration.names[i], names[i])) return false;
  return true;
}

dq_status dq_seen_permuted_means(const dq_seen *seen, const dq_permuted_value *permuted, int count,
                                 dq_input_means *means, dq_arena *arena, dq_error *error) {
  dq_channel_means *copies;
  DQ_TRY(copy_means(&seen->means, &copies, arena, error));
  *means = (dq_input_means){copies, seen->means.count};
  for (int p = 0; p < count; p++) {
    const dq_channel_means *from = dq_input_means_find(&seen->means, permuted[p].value);
    if (!from || from->channels != permuted[p].channels) continue;
    double *moved = DQ_NEW_ARRAY(arena, from->channels, double);
    if (!moved) return dq_fail_memory(error, 0);
    for (int64_t c = 0; c < from->channels; c++) moved[c] = from->means[permuted[p].order[c]];
    copies[from - seen->means.values].means = moved;
  }
  return DQ_OK;
}
