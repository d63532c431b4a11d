// Products that leave int8, counted without multiplying. For a weight the products that fit belong to an
// interval of inputs, and weights have few different intervals: 127 / w has 21 different whole parts. How many
// inputs under a tap reach every end of an interval gives the count of every interval, and every weight takes
// that of its own.
#include "lib/kernels/audit_internal.h"

#include <string.h>

#include "lib/base/sizes.h"

enum {
  LARGEST = 255, // magnitude of a weight
  FIRST = 16, // of the counts of a window: that of the first bound
};

// ---- Preparation ----

static int64_t floor_div(int64_t x, int64_t y) { // y above 0
  return x >= 0 ? x / y : -((-x + y - 1) / y);
}

// The number of the interval of levels v for which (v + lowest) * weight lies in -128..127. It is put into the
// list if it is new.
static int number_of(dq_audit_intervals *list, int32_t weight, int32_t lowest) {
  int32_t size = weight < 0 ? -weight : weight;
  int64_t from = 0, to = DQ_AUDIT_LEVELS;
  if (weight) {
    int64_t below = weight > 0 ? -floor_div(128, size) : -floor_div(127, size);
    int64_t above = weight > 0 ? floor_div(127, size) : floor_div(128, size);
    from = dq_min_i64(dq_max_i64(below - lowest, 0), DQ_AUDIT_LEVELS);
    to = dq_min_i64(dq_max_i64(above - lowest + 1, from), DQ_AUDIT_LEVELS);
  }
  int i = 0;
  while (i < list->count && (list->from[i] != from || list->to[i] != to)) i++;
  if (i == list->count) {
    list->from[i] = (uint16_t)from;
    list->to[i] = (uint16_t)to;
    list->count++;
  }
  return i;
}

// Lists the different intervals of the weights, in levels; values are `lowest` above levels.
static dq_status list_intervals(dq_audit_intervals *list, const dq_conv_int8_parameters *q,
                                const dq_audit_geometry *g, const int16_t *weights, int32_t lowest,
                                dq_arena *arena, dq_error *error) {
  int64_t all = q->shape.out_channels * g->depth;
  int16_t known[2 * LARGEST + 1];
  memset(known, -1, sizeof known);
  list->by_tap = DQ_NEW_ARRAY(arena, all, uint8_t);
  if (!list->by_tap) return dq_fail_memory(error, (size_t)all);
  for (int64_t o = 0; o < q->shape.out_channels; o++)
    for (int64_t t = 0; t < g->depth; t++) {
      int32_t weight = weights[o * g->depth + t];
      int16_t *number = &known[weight + LARGEST];
      if (*number < 0) *number = (int16_t)number_of(list, weight, lowest);
      list->by_tap[(o / g->out_group * g->depth + t) * g->out_group + o % g->out_group] = (uint8_t)*number;
    }
  return DQ_OK;
}

// Marks the levels at which an interval begins or ends.
static void mark_ends(const dq_audit_intervals *list, bool *ends) {
  for (int i = 0; i < list->count; i++) ends[list->from[i]] = ends[list->to[i]] = true;
}

static void find_bounds(dq_audit_intervals *list, const uint8_t *bound_of) {
  for (int i = 0; i < list->count; i++) {
    list->from_bound[i] = bound_of[list->from[i]];
    list->to_bound[i] = bound_of[list->to[i]];
    list->from_any |= list->from_bound[i] > 0;
  }
}

dq_status dq_audit_bounds_new(dq_audit_bounds *bounds, const dq_conv_int8_parameters *q, const int16_t *values,
                              const int16_t *stored, dq_arena *arena, dq_error *error) {
  dq_audit_geometry g = dq_audit_geometry_of(q);
  int32_t lowest = q->input_signed ? -128 : 0;
  bool ends[DQ_AUDIT_LEVELS + 1] = {0};
  uint8_t bound_of[DQ_AUDIT_LEVELS + 1] = {0};
  *bounds = (dq_audit_bounds){.channels = g.channels, .out_group = g.out_group, .depth = g.depth};
  DQ_TRY(list_intervals(&bounds->values, q, &g, values, lowest - q->input_zero_point, arena, error));
  if (stored) DQ_TRY(list_intervals(&bounds->stored, q, &g, stored, lowest, arena, error));
  mark_ends(&bounds->values, ends);
  mark_ends(&bounds->stored, ends);
  for (int level = 1; level < DQ_AUDIT_LEVELS; level++)
    if (ends[level]) {
      bounds->of[bounds->count++] = (uint8_t)level;
      bound_of[level] = (uint8_t)bounds->count;
    }
  bound_of[DQ_AUDIT_LEVELS] = (uint8_t)(bounds->count + 1);
  find_bounds(&bounds->values, bound_of);
  find_bounds(&bounds->stored, bound_of);
  return DQ_OK;
}

// ---- Counting ----

// Adds what lies outside of the intervals of the weights of one tap; reached: how many inputs reach every bound.
static void add_outside(const dq_audit_intervals *list, const uint32_t *reached, int bounds,
                        const uint8_t *numbers, int64_t count, dq_audit_totals_function *add, uint32_t *totals) {
  // Of all those that do not reach `from`, and those that reach `to`.
  uint32_t outside[DQ_AUDIT_LEVELS], missing[DQ_AUDIT_LEVELS];
  memset(outside, 0, sizeof *outside * (size_t)list->count);
  if (list->from_any) {
    for (int b = 0; b < bounds; b++) missing[b] = reached[0] - reached[b];
    add(missing, bounds, list->from_bound, list->count, outside);
  }
  add(reached, bounds, list->to_bound, list->count, outside);
  add(outside, list->count, numbers, count, totals);
}

// The taps of one set under one input channel.
static void add_set(const dq_audit_bounds *bounds, const dq_audit_intervals *list, const dq_audit_window_set *set,
                    const uint32_t *counts, int64_t channel, dq_audit_totals_function *add, uint32_t *totals,
                    uint64_t *products) {
  int64_t group = channel / bounds->channels;
  const uint8_t *numbers = list->by_tap + (group * bounds->depth + channel % bounds->channels) * bounds->out_group;
  memset(totals, 0, sizeof *totals * (size_t)bounds->out_group);
  for (int i = 0; i < set->count; i++)
    add_outside(list, counts + i * DQ_AUDIT_COUNTS + FIRST - 1, bounds->count + 2,
                numbers + set->taps[i] * bounds->channels * bounds->out_group, bounds->out_group, add, totals);
  for (int64_t o = 0; o < bounds->out_group; o++) products[group * bounds->out_group + o] += totals[o];
}

void dq_audit_count_products(const dq_audit_bounds *bounds, const dq_audit_planes *planes, const uint8_t *input,
                             const uint8_t *masks, int64_t first, int64_t count, unsigned cpu,
                             dq_audit_product_room *room, uint64_t *products, uint64_t *raw) {
  dq_audit_windows_function *count_windows = DQ_KERNEL_FUNCTION(audit_windows, cpu);
  dq_audit_totals_function *add = DQ_KERNEL_FUNCTION(audit_totals, cpu);
  int64_t vectors = dq_audit_phase_vectors(planes);
  for (int s = 0; s < planes->set_count; s++) {
    const dq_audit_window_set *set = &planes->sets[s];
    const uint8_t *plane = input + first * planes->bytes + set->phase * planes->height * planes->width;
    dq_audit_windows windows = {plane, masks + s * vectors * DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR,
                                count, planes->bytes, vectors, set->count, bounds->of, bounds->count,
                                DQ_AUDIT_COUNTS, room->counts + FIRST};
    count_windows(&windows);
    for (int64_t i = 0; i < count * set->count; i++) {
      uint32_t *counts = room->counts + i * DQ_AUDIT_COUNTS + FIRST;
      counts[-1] = (uint32_t)(planes->shape->out_height * planes->shape->out_width);
      counts[bounds->count] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
      const uint32_t *counts = room->counts + i * set->count * DQ_AUDIT_COUNTS;
      add_set(bounds, &bounds->values, set, counts, first + i, add, room->totals, products);
      if (bounds->stored.count) add_set(bounds, &bounds->stored, set, counts, first + i, add, room->totals, raw);
    }
  }
}
