// Levels of the input in calibration tables.
//
//   "levels": {"input": {"factors": [1.0, 1.02], "shifts": [0.0, 0.004], "padded": false}}
#include <math.h>

#include "quant/files/table_internal.h"

static dq_status read_numbers(const json_t *list, const char *input, double above, int64_t count, double *to,
                              dq_error *error) {
  if ((int64_t)json_array_size(list) != count)
    return dq_fail(error, DQ_BAD_INPUT, "levels of '%s': %zu numbers, expected %lld, one for each channel", input,
                   json_array_size(list), (long long)count);
  for (int64_t c = 0; c < count; c++) {
    const json_t *number = json_array_get(list, (size_t)c);
    to[c] = json_number_value(number);
    if (!json_is_number(number) || !isfinite((float)to[c]) || !(to[c] > above))
      return dq_fail(error, DQ_BAD_INPUT, "levels of '%s': channel %lld is no %s", input, (long long)c,
                     isfinite(above) ? "factor" : "finite number");
  }
  return DQ_OK;
}

dq_status dq_table_read_levels(dq_input_levels *levels, json_t *object, dq_arena *arena, dq_error *error) {
  void *at = json_object_iter(object);
  *levels = (dq_input_levels){0};
  if (!at) return DQ_OK;
  const json_t *entry = json_object_iter_value(at), *factors = json_object_get(entry, "factors");
  int64_t count = (int64_t)json_array_size(factors);
  levels->factors = DQ_NEW_ARRAY(arena, count, double), levels->shifts = DQ_NEW_ARRAY(arena, count, double);
  levels->padded_first = json_is_true(json_object_get(entry, "padded"));
  levels->input = dq_arena_strdup(arena, json_object_iter_key(at)), levels->channels = count;
  if (!levels->factors || !levels->shifts || !levels->input) return dq_fail_memory(error, 0);
  if (!count)
    return dq_fail(error, DQ_BAD_INPUT, "levels of '%s' has no factors, expected one for each channel", levels->input);
  DQ_TRY(read_numbers(factors, levels->input, 0, count, levels->factors, error));
  return read_numbers(json_object_get(entry, "shifts"), levels->input, -INFINITY, count, levels->shifts, error);
}

json_t *dq_table_levels_json(const dq_input_levels *levels) {
  json_t *object = json_object(), *factors = json_array(), *shifts = json_array();
  for (int64_t c = 0; c < levels->channels; c++) {
    json_array_append_new(factors, json_real(levels->factors[c]));
    json_array_append_new(shifts, json_real(levels->shifts[c]));
  }
  json_object_set_new(
      object, levels->input,
      json_pack("{s:o, s:o, s:b}", "factors", factors, "shifts", shifts, "padded", levels->padded_first));
  return object;
}
