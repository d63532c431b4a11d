// Adaptive rounding in calibration tables: per layer a string with one character per weight, 'P' plus its
// steps from the nearest, and the biases.
//
//   "rounding": {"conv1_out": {"steps": "PPQPO", "bias": [0.25]}}
#include <math.h>
#include <stdlib.h>

#include "quant/files/table_internal.h"

enum { NO_STEP = 'P' };

static dq_status read_steps(dq_rounded_layer *layer, const json_t *entry, dq_arena *arena, dq_error *error) {
  const json_t *text = json_object_get(entry, "steps");
  size_t count = json_string_length(text);
  int8_t *offsets = DQ_NEW_ARRAY(arena, count, int8_t);
  if (!offsets) return dq_fail_memory(error, count);
  for (size_t i = 0; i < count; i++) {
    int steps = json_string_value(text)[i] - NO_STEP;
    if (steps < -DQ_ROUNDING_REACH || steps > DQ_ROUNDING_REACH)
      return dq_fail(error, DQ_BAD_INPUT, "rounding of '%s': weight %zu has the letter with code %d, expected %d to %d",
                     layer->output, i, steps + NO_STEP, NO_STEP - DQ_ROUNDING_REACH, NO_STEP + DQ_ROUNDING_REACH);
    offsets[i] = (int8_t)steps;
  }
  layer->weights = (int64_t)count, layer->offsets = offsets;
  return count ? DQ_OK
               : dq_fail(error, DQ_BAD_INPUT, "rounding of '%s' has no steps, expected one for each weight",
                         layer->output);
}

static dq_status read_bias(dq_rounded_layer *layer, const json_t *entry, dq_arena *arena, dq_error *error) {
  const json_t *list = json_object_get(entry, "bias");
  double *bias = DQ_NEW_ARRAY(arena, json_array_size(list), double);
  if (!bias) return dq_fail_memory(error, 0);
  for (size_t i = 0; i < json_array_size(list); i++) {
    bias[i] = json_number_value(json_array_get(list, i));
    if (!json_is_number(json_array_get(list, i)) || !isfinite(bias[i]))
      return dq_fail(error, DQ_BAD_INPUT, "rounding of '%s': bias %zu is not a finite number", layer->output, i);
  }
  layer->channels = (int64_t)json_array_size(list), layer->bias = bias;
  return DQ_OK;
}

dq_status dq_table_read_rounding(dq_rounding *rounding, json_t *object, dq_arena *arena, dq_error *error) {
  dq_rounded_layer *layers = DQ_NEW_ARRAY(arena, json_object_size(object), dq_rounded_layer);
  if (!layers) return dq_fail_memory(error, 0);
  const char *name;
  json_t *entry;
  *rounding = (dq_rounding){layers, 0};
  json_object_foreach(object, name, entry) {
    dq_rounded_layer *layer = &layers[rounding->count++];
    if (!(layer->output = dq_arena_strdup(arena, name))) return dq_fail_memory(error, 0);
    DQ_TRY(read_steps(layer, entry, arena, error));
    DQ_TRY(read_bias(layer, entry, arena, error));
  }
  return DQ_OK;
}

static json_t *layer_json(const dq_rounded_layer *layer) {
  char *steps = malloc((size_t)layer->weights + 1);
  json_t *bias = json_array();
  for (int64_t i = 0; steps && i < layer->weights; i++) steps[i] = (char)(NO_STEP + layer->offsets[i]);
  for (int64_t o = 0; o < layer->channels; o++) json_array_append_new(bias, json_real(layer->bias[o]));
  json_t *text = steps ? json_stringn(steps, (size_t)layer->weights) : NULL;
  free(steps);
  return json_pack("{s:o, s:o}", "steps", text, "bias", bias);
}

json_t *dq_table_rounding_json(const dq_rounding *rounding) {
  json_t *object = json_object();
  for (int l = 0; l < rounding->count; l++)
    json_object_set_new(object, rounding->layers[l].output, layer_json(&rounding->layers[l]));
  return object;
}
