#include "quant/rewrite/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"
#include "lib/session/inputs.h"
#include "quant/rewrite/private_constant.h"

enum { LEVELS = DQ_ACTIVATION_STEPS + 1, FEWEST = 128, PICTURES = 32 };
// Share of a step by which a level may lie beside the grid.
static const double TOLERANCE = 1.0 / 64;

// ---- Which values occur ----

typedef struct distinct {
  float values[LEVELS]; // ascending
  int count;            // LEVELS + 1: more than that
} distinct;

static void record_value(distinct *seen, float x) {
  int low = 0, high = seen->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (seen->values[middle] < x) low = middle + 1;
    else high = middle;
  }
  if (low < seen->count && seen->values[low] == x) return;
  if (seen->count < LEVELS) {
    memmove(&seen->values[low + 1], &seen->values[low], (size_t)(seen->count - low) * sizeof x);
    seen->values[low] = x;
  }
  seen->count++;
}

static void record_channel(distinct *seen, const float *values, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count && seen->count <= LEVELS; i++) {
    if (!i || values[i * step] != values[(i - 1) * step]) record_value(seen, values[i * step]);
  }
}

static dq_status record_pictures(distinct *seen, int64_t channels, int64_t pictures, const dq_data *data,
                                 const dq_tensor *input, dq_error *error) {
  int64_t plane = dq_tensor_product(input, 1, 4) / channels;
  bool last = dq_channels_last(input->rank, input->dims);
  size_t bytes = (size_t)dq_tensor_product(input, 1, 4) * sizeof(float);
  float *picture = malloc(bytes + 1);
  dq_status status = picture ? DQ_OK : dq_fail_memory(error, bytes);
  for (int64_t i = 0; status == DQ_OK && i < pictures && i < PICTURES; i++) {
    status = dq_data_read(data, i, picture, NULL, error);
    for (int64_t c = 0; status == DQ_OK && c < channels; c++)
      record_channel(&seen[c], picture + c * (last ? 1 : plane), plane, last ? channels : 1);
  }
  free(picture);
  return status;
}

// ---- Readers ----

// N x H x W x C to N x C x H x W.
static bool puts_channels_first(const dq_node *node) {
  static const int64_t order[] = {0, 3, 1, 2};
  int count = 0;
  const int64_t *given = dq_node_is(node, "Transpose") ? dq_node_ints(node, "perm", &count) : NULL;
  return given && count == 4 && !memcmp(given, order, sizeof order);
}

// The value with its channels in front that is the input, or all that is made of one with its channels last.
static const dq_value *with_channels_first(const dq_value *input) {
  bool turned = input && input->user_count == 1 && puts_channels_first(input->users[0]);
  return turned ? input->users[0]->outputs[0] : input;
}

static bool is_reader(const dq_node *node, const dq_value *input) {
  const dq_value *bias = dq_node_input(node, 2);
  dq_product product;
  return dq_float_product(node, &product) && product.kind == DQ_CONVOLUTION && node->inputs[0] == input &&
         node->inputs[1] != input && (!bias || dq_is_float_constant(bias));
}

static bool is_read_by_convolutions(const dq_value *input) {
  bool all = input && !dq_value_must_stay(input) && input->user_count;
  for (int u = 0; all && u < input->user_count; u++) all = is_reader(input->users[u], input);
  return all;
}

static bool is_padded(const dq_node *conv) {
  int count;
  const int64_t *pads = dq_node_ints(conv, "pads", &count);
  bool padded = false;
  for (int i = 0; i < count; i++) padded |= pads[i] != 0;
  return padded;
}

// Whether no reader pads, or the only one says how much, so that it can be done in front of it.
static bool is_free_of_pads(const dq_value *input) {
  bool padded = false;
  for (int u = 0; u < input->user_count; u++) {
    const char *automatic = dq_node_string(input->users[u], "auto_pad", "NOTSET");
    if (strcmp(automatic, "NOTSET") && strcmp(automatic, "VALID")) return false;
    padded |= is_padded(input->users[u]);
  }
  return !padded || input->user_count == 1;
}

// ---- Steps ----

typedef struct ladder {
  double first, step; // of the channel
  int64_t rungs;      // from the first level to the last
} ladder;

// The smallest gap is the step; the whole length says it more exactly.
static bool is_ladder(const distinct *seen, ladder *found) {
  double gap = INFINITY;
  if (seen->count < 2 || seen->count > LEVELS) return false;
  for (int i = 1; i < seen->count; i++) gap = fmin(gap, (double)seen->values[i] - (double)seen->values[i - 1]);
  double first = (double)seen->values[0], length = (double)seen->values[seen->count - 1] - first;
  if (!(length / gap < LEVELS) || length / gap < FEWEST - 1.5) return false;
  *found = (ladder){first, length / nearbyint(length / gap), (int64_t)nearbyint(length / gap)};
  for (int i = 0; i < seen->count; i++) {
    double rung = ((double)seen->values[i] - first) / found->step;
    if (fabs(rung - nearbyint(rung)) > TOLERANCE) return false;
  }
  return true;
}

// Where the channels start on a grid of steps: each on the point next to it, or all on one. false: they
// need more than 256 levels, or none lies on 0.
static bool place(const ladder *ladders, int64_t channels, bool together, double *starts, double *lowest) {
  double sum = 0, low = 0, high = 0;
  for (int64_t c = 0; c < channels; c++) sum += ladders[c].first / ladders[c].step;
  for (int64_t c = 0; c < channels; c++) {
    starts[c] = nearbyint(together ? sum / (double)channels : ladders[c].first / ladders[c].step);
    low = fmin(low, starts[c]);
    high = fmax(high, starts[c] + (double)ladders[c].rungs);
  }
  double spare = LEVELS - 1 - (high - low);
  *lowest = low - floor(spare / 2); // levels that these pictures do not have
  return spare >= 0;
}

static dq_status set_levels(dq_input_levels *levels, const dq_value *input, const ladder *ladders, int64_t channels,
                            dq_arena *arena, dq_error *error) {
  double *starts = DQ_NEW_ARRAY(arena, channels, double), lowest, step = 0;
  double *factors = DQ_NEW_ARRAY(arena, channels, double), *shifts = DQ_NEW_ARRAY(arena, channels, double);
  if (!starts || !factors || !shifts) return dq_fail_memory(error, 0);
  bool together = !place(ladders, channels, false, starts, &lowest);
  if (together && (!place(ladders, channels, true, starts, &lowest) || !is_free_of_pads(input))) return DQ_OK;
  for (int64_t c = 0; c < channels; c++) step = fmax(step, ladders[c].step);
  for (int64_t c = 0; c < channels; c++) {
    factors[c] = step / ladders[c].step;
    if (fabs(factors[c] - 1) * LEVELS < TOLERANCE) factors[c] = 1;
    shifts[c] = step * starts[c] - factors[c] * ladders[c].first;
    if (fabs(shifts[c]) < TOLERANCE * step) shifts[c] = 0;
  }
  *levels = (dq_input_levels){input->name,
                              channels,
                              factors,
                              shifts,
                              together && is_padded(input->users[0]),
                              {(float)(step * lowest), (float)(step * (lowest + LEVELS - 1))}};
  return DQ_OK;
}

static dq_status measure_input(dq_input_levels *levels, const dq_fed_inputs *inputs, int i, int64_t pictures,
                               dq_arena *arena, dq_error *error) {
  const dq_value *input = inputs->items[i].value, *read = with_channels_first(input);
  const dq_tensor *shape = &inputs->items[i].shape;
  if (!is_read_by_convolutions(read) || input->type != DQ_F32) return DQ_OK;
  bool last = dq_channels_last(shape->rank, shape->dims);
  if (shape->rank != 4 || last != (read != input)) return DQ_OK;
  if (dq_input_set_shape(inputs, i, error) != DQ_OK) return DQ_OK; // said when the network is run
  int64_t channels = shape->dims[last ? 3 : 1];
  distinct *seen = DQ_NEW_ARRAY(arena, channels, distinct);
  ladder *ladders = DQ_NEW_ARRAY(arena, channels, ladder);
  if (!seen || !ladders) return dq_fail_memory(error, 0);
  DQ_TRY(record_pictures(seen, channels, pictures, inputs->items[i].data, shape, error));
  for (int64_t c = 0; c < channels; c++)
    if (!is_ladder(&seen[c], &ladders[c])) return DQ_OK;
  return set_levels(levels, read, ladders, channels, arena, error);
}

dq_status dq_levels_measure(dq_input_levels *levels, const dq_observation *what, dq_arena *arena, dq_error *error) {
  dq_fed_inputs inputs;
  *levels = (dq_input_levels){0};
  if (dq_inputs_open(&inputs, what->graph, what->shapes, what->data, arena, NULL) != DQ_OK)
    return DQ_OK; // said when the network is run
  for (int i = 0; i < inputs.count && !levels->input; i++)
    DQ_TRY(measure_input(levels, &inputs, i, what->pictures, arena, error));
  return DQ_OK;
}

// ---- Applying ----

// `op_type` with a constant per channel at the front; NULL: no memory. Left out when nothing would change.
static dq_value *add_step(dq_graph *graph, dq_value *x, int at, const char *op_type, const dq_input_levels *levels,
                          const double *numbers, double neutral) {
  bool needed = false;
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){1, levels->channels, 1, 1});
  char *base = dq_arena_printf(graph->arena, "%s_%s", levels->input, neutral != 0 ? "factors" : "shifts");
  char *wanted = dq_arena_printf(graph->arena, "%s_levels", levels->input);
  if (!tensor || !base || !wanted) return NULL;
  for (int64_t c = 0; c < levels->channels; c++) {
    ((float *)tensor->data)[c] = (float)numbers[c];
    needed |= numbers[c] != neutral;
  }
  if (!needed) return x;
  dq_value *result = dq_graph_fresh_value(graph, wanted);
  dq_value *operands[] = {x, dq_graph_add_constant(graph, base, tensor)};
  const char *name = dq_graph_fresh_name(graph, wanted);
  bool added = result && operands[1] && name && dq_graph_add_node(graph, at, op_type, name, 2, operands, 1, &result);
  return added ? result : NULL;
}

// The bias as float64 constants of the convolution's own; a convolution without one gets it.
static dq_tensor *private_bias(dq_graph *graph, dq_node *conv) {
  if (dq_node_input(conv, 2)) return dq_private_constant(graph, conv, 2);
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, conv->inputs[1]->constant->dims);
  char *name = dq_arena_printf(graph->arena, "%s_bias", conv->inputs[1]->name);
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 3, dq_value *);
  if (!bias || !name || !inputs) return NULL;
  inputs[0] = conv->inputs[0], inputs[1] = conv->inputs[1];
  inputs[2] = dq_graph_add_constant(graph, name, bias);
  conv->inputs = inputs, conv->input_count = 3;
  return inputs[2] ? bias : NULL;
}

// w x = w / f (f x + s) - s w / f.
static dq_status undo_input_scale(dq_graph *graph, dq_node *conv, const dq_input_levels *levels, dq_error *error) {
  dq_product p;
  dq_tensor *weight = dq_float_product(conv, &p) ? dq_private_constant(graph, conv, 1) : NULL;
  dq_tensor *bias = weight ? private_bias(graph, conv) : NULL;
  if (!bias) return dq_fail_memory(error, 0);
  for (int64_t o = 0; o < dq_product_outputs(&p); o++) {
    double sum = 0;
    for (int64_t i = 0; i < p.inputs; i++)
      for (int64_t t = 0; t < p.taps; t++) {
        int64_t c = o / p.outputs * p.inputs + i;
        float *at = (float *)weight->data + dq_product_at(&p, o, i, t);
        *at = (float)((double)*at / levels->factors[c]);
        sum += (double)*at * levels->shifts[c];
      }
    ((float *)bias->data)[o] = (float)((double)((float *)bias->data)[o] - sum);
  }
  return DQ_OK;
}

// The convolution's pads as a node of their own in front of it; NULL: no memory.
static dq_value *pad_first(dq_graph *graph, dq_value *x, dq_node *conv) {
  enum { PAD_BY_INPUT = 11 }; // opset in which pads became an input
  int count;
  const int64_t *pads = dq_node_ints(conv, "pads", &count);
  int64_t all[8] = {0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}, length = 8;
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_I64, 1, &length);
  char *wanted = dq_arena_printf(graph->arena, "%s_padded", x->name);
  dq_value *result = wanted ? dq_graph_fresh_value(graph, wanted) : NULL, *operands[2] = {x, NULL};
  const char *name = wanted ? dq_graph_fresh_name(graph, wanted) : NULL;
  bool by_input = dq_graph_opset(graph, "") >= PAD_BY_INPUT;
  if (!tensor || !result || !name) return NULL;
  memcpy(tensor->data, all, sizeof all);
  if (by_input && !(operands[1] = dq_graph_add_constant(graph, "pads", tensor))) return NULL;
  dq_node *pad = dq_graph_add_node(graph, conv->index, "Pad", name, by_input ? 2 : 1, operands, 1, &result);
  if (!pad || (!by_input && !dq_node_set_ints(graph, pad, "pads", all, 8))) return NULL;
  dq_node_remove_attribute(conv, "pads");
  return result;
}

static dq_status fail_input(const dq_input_levels *levels, const char *what, dq_error *error) {
  return dq_fail(error, DQ_BAD_INPUT, "levels: '%s' is not an input %s", levels->input, what);
}

static dq_status check_readers(const dq_input_levels *levels, const dq_value *input, dq_error *error) {
  const dq_node *turn = input ? input->producer : NULL;
  bool known = input && (turn ? puts_channels_first(turn) && turn->inputs[0]->is_input : input->is_input);
  if (!known || !is_read_by_convolutions(input)) return fail_input(levels, "that convolutions read", error);
  for (int u = 0; u < input->user_count; u++) {
    dq_product product;
    if (!dq_float_product(input->users[u], &product) || dq_product_inputs(&product) != levels->channels)
      return fail_input(levels, "of as many channels", error);
  }
  int count;
  dq_node_ints(input->users[0], "pads", &count);
  bool can_pad = input->user_count == 1 && count == 4 && is_free_of_pads(input);
  return levels->padded_first && !can_pad ? fail_input(levels, "that one padded convolution reads", error) : DQ_OK;
}

dq_status dq_levels_apply(dq_graph *graph, const dq_input_levels *levels, dq_value **value, dq_error *error) {
  *value = NULL;
  if (!levels->input) return DQ_OK;
  dq_value *input = dq_graph_find(graph, levels->input);
  DQ_TRY(check_readers(levels, input, error));
  int count = input->user_count;
  dq_node **readers = dq_arena_copy(graph->arena, input->users, (size_t)count * sizeof *readers);
  if (!readers) return dq_fail_memory(error, 0);
  dq_value *padded = levels->padded_first ? pad_first(graph, input, readers[0]) : input;
  dq_value *scaled = padded ? add_step(graph, padded, readers[0]->index, "Mul", levels, levels->factors, 1) : NULL;
  *value = scaled ? add_step(graph, scaled, readers[0]->index, "Add", levels, levels->shifts, 0) : NULL;
  if (!*value) return dq_fail_memory(error, 0);
  for (int r = 0; r < count; r++) {
    DQ_TRY(undo_input_scale(graph, readers[r], levels, error));
    readers[r]->inputs[0] = *value; // undo_input_scale gave it an array of its own
  }
  return dq_graph_drop_constants(graph, error);
}

dq_status dq_input_levels_copy(dq_input_levels *copy, const dq_input_levels *levels, dq_arena *arena, dq_error *error) {
  *copy = *levels;
  if (!levels->input) return DQ_OK;
  size_t bytes = (size_t)levels->channels * sizeof *levels->factors;
  copy->input = dq_arena_strdup(arena, levels->input);
  copy->factors = dq_arena_copy(arena, levels->factors, bytes);
  copy->shifts = dq_arena_copy(arena, levels->shifts, bytes);
  return copy->input && copy->factors && copy->shifts ? DQ_OK : dq_fail_memory(error, bytes);
}
