// Products that leave int8, counted without multiplying. For a weight the products that fit belong to an
// interval of inputs, and weights have few different intervals: 127 / w has 21 different whole parts. How many
// inputs under a tap reach every end of an interval gives the count of every interval, and every weight takes
// that of its own.
#include "lib/kernels/audit/audit_state.h"

#include <string.h>

#include "lib/base/sizes.h"

enum {
  LARGEST = 255, // magnitude of a weight
  FIRST = 16,    // of the counts of a window: that of the first bound
};

// ---- Preparation ----

// Intervals while they are listed: interval i has the levels from from[i] to to[i] - 1.
typedef struct interval_list {
  uint16_t from[DQ_AUDIT_LEVELS], to[DQ_AUDIT_LEVELS];
  int count;
} interval_list;

// The number of the interval of levels v for which (v + lowest) * weight lies in -128..127. It is put into the
// list if it is new.
static int number_of(interval_list *list, int32_t weight, int32_t lowest) {
  int32_t size = weight < 0 ? -weight : weight;
  int64_t from = 0, to = DQ_AUDIT_LEVELS;
  if (weight) {
    int64_t below = weight > 0 ? -dq_floor_div_i64(128, size) : -dq_floor_div_i64(127, size);
    int64_t above = weight > 0 ? dq_floor_div_i64(127, size) : dq_floor_div_i64(128, size);
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

// Lists the different intervals of the weights, in levels; values are `lowest` above levels. by_tap gets their numbers.
static void list_intervals(interval_list *list, uint8_t *by_tap, const dq_conv_int8_parameters *q,
                           const dq_audit_geometry *g, const int16_t *weights, int32_t lowest) {
  int16_t known[2 * LARGEST + 1];
  memset(known, -1, sizeof known);
  for (int64_t o = 0; o < q->shape.out_channels; o++)
    for (int64_t t = 0; t < g->depth; t++) {
      int32_t weight = weights[o * g->depth + t];
      int16_t *number = &known[weight + LARGEST];
      if (*number < 0) *number = (int16_t)number_of(list, weight, lowest);
      by_tap[(o / g->out_group * g->depth + t) * g->out_group + o % g->out_group] = (uint8_t)*number;
    }
}

// Marks the levels at which an interval begins or ends.
static void mark_ends(const interval_list *list, bool *ends) {
  for (int i = 0; i < list->count; i++) ends[list->from[i]] = ends[list->to[i]] = true;
}

// The bounds at the marked levels. bound_of gets, by level, the number of the bound there, 0 where there is none.
static void list_bounds(dq_audit_bounds *bounds, const bool *ends, uint8_t *bound_of) {
  for (int level = 1; level < DQ_AUDIT_LEVELS; level++)
    if (ends[level]) {
      bounds->of[bounds->count++] = (uint8_t)level;
      bound_of[level] = (uint8_t)bounds->count;
    }
  bound_of[DQ_AUDIT_LEVELS] = (uint8_t)(bounds->count + 1);
}

static dq_status find_bounds(dq_audit_intervals *to, const interval_list *list, const uint8_t *bound_of,
                             int64_t weights, dq_arena *arena, dq_error *error) {
  to->count = list->count;
  to->from_bound = DQ_NEW_ARRAY(arena, list->count, uint8_t);
  to->to_bound = DQ_NEW_ARRAY(arena, list->count, uint8_t);
  if (!to->from_bound || !to->to_bound) return dq_fail_memory(error, (size_t)list->count);
  for (int i = 0; i < list->count; i++) {
    to->from_bound[i] = bound_of[list->from[i]];
    to->to_bound[i] = bound_of[list->to[i]];
    to->from_any |= to->from_bound[i] > 0;
  }
  for (int64_t i = 0; i < weights && list->count && !to->from_any; i++) to->by_tap[i] = to->to_bound[to->by_tap[i]];
  return DQ_OK;
}

dq_status dq_audit_bounds_new(dq_audit_bounds *bounds, const dq_conv_int8_parameters *q, const int16_t *values,
                              const int16_t *stored, dq_arena *arena, dq_error *error) {
  dq_audit_geometry g = dq_audit_geometry_of(q);
  const int64_t weights = q->shape.out_channels * g.depth;
  int32_t lowest = q->input_signed ? -128 : 0;
  bool ends[DQ_AUDIT_LEVELS + 1] = {0};
  uint8_t bound_of[DQ_AUDIT_LEVELS + 1] = {0};
  interval_list of_values = {.count = 0}, of_stored = {.count = 0};
  *bounds = (dq_audit_bounds){.channels = g.channels, .out_group = g.out_group, .depth = g.depth};
  bounds->values.by_tap = DQ_NEW_ARRAY(arena, weights, uint8_t);
  if (stored) bounds->stored.by_tap = DQ_NEW_ARRAY(arena, weights, uint8_t);
  if (!bounds->values.by_tap || (stored && !bounds->stored.by_tap)) return dq_fail_memory(error, (size_t)weights);
  list_intervals(&of_values, bounds->values.by_tap, q, &g, values, lowest - q->input_zero_point);
  if (stored) list_intervals(&of_stored, bounds->stored.by_tap, q, &g, stored, lowest);
  mark_ends(&of_values, ends);
  mark_ends(&of_stored, ends);
  list_bounds(bounds, ends, bound_of);
  DQ_TRY(find_bounds(&bounds->values, &of_values, bound_of, weights, arena, error));
  return find_bounds(&bounds->stored, &of_stored, bound_of, weights, arena, error);
}

// ---- Counting ----

typedef struct job {
  const dq_audit_run_state *run;
  const dq_audit_bounds *bounds;
  dq_audit_product_scratch *scratch;
  dq_audit_windows_function *count_windows;
  dq_audit_reached_function *count_reached;
  dq_audit_trims_function *trim;
  dq_audit_totals_function *add;
} job;

// How many inputs under each tap lie outside of each interval: of all those that do not reach `from`, and those that
// reach `to`; reached: how many inputs reach every bound.
static void find_outside(const dq_audit_intervals *list, int taps, const uint32_t *reached, uint32_t *outside) {
  for (int tap = 0; tap < taps; tap++, reached += DQ_AUDIT_COUNTS, outside += DQ_AUDIT_LEVELS)
    for (int i = 0; i < list->count; i++)
      outside[i] = reached[0] - reached[list->from_bound[i]] + reached[list->to_bound[i]];
}

// Adds to `products`, by output channel of the group, how many inputs of one channel lie outside of the interval of
// their weight under the taps of one set. reached: by tap.
static void add_set(const job *j, const dq_audit_intervals *list, const int64_t *taps, int count,
                    const uint32_t *reached, int64_t channel, uint64_t *products) {
  const dq_audit_bounds *b = j->bounds;
  int64_t group = channel / b->channels;
  uint32_t *totals = j->scratch->totals;
  dq_audit_totals add = {reached,
                         DQ_AUDIT_COUNTS,
                         b->count + 2,
                         count,
                         list->by_tap + (group * b->depth + channel % b->channels) * b->out_group,
                         taps,
                         b->channels * b->out_group,
                         b->out_group,
                         totals};
  if (list->from_any) {
    find_outside(list, count, reached, j->scratch->outside);
    add.tables = j->scratch->outside;
    add.table_stride = DQ_AUDIT_LEVELS;
    add.size = list->count;
  }
  memset(totals, 0, sizeof *totals * (size_t)b->out_group);
  j->add(&add);
  for (int64_t o = 0; o < b->out_group; o++) products[group * b->out_group + o] += totals[o];
}

// The counts of some windows get those of the bounds below and above all numbers; then products are added.
static void add_windows(const job *j, const dq_audit_window_set *set, uint32_t *counts, int64_t channel,
                        uint64_t *products, uint64_t *raw) {
  const dq_audit_bounds *b = j->bounds;
  for (int i = 0; i < set->count; i++) {
    counts[i * DQ_AUDIT_COUNTS + FIRST - 1] = (uint32_t)j->run->a->outputs;
    counts[i * DQ_AUDIT_COUNTS + FIRST + b->count] = 0;
  }
  add_set(j, &b->values, set->taps, set->count, counts + FIRST - 1, channel, products);
  if (b->stored.count) add_set(j, &b->stored, set->taps, set->count, counts + FIRST - 1, channel, raw);
}

static void count_frame(const job *j, int64_t channel, uint64_t *products, uint64_t *raw) {
  const dq_audit *a = j->run->a;
  const dq_audit_frame *f = &a->frame;
  uint8_t *scratch = (uint8_t *)(j->scratch->totals + a->geometry.out_group);
  dq_audit_count_frame(f, &a->bounds, j->run->input + channel * f->height * f->width, j->count_reached, scratch,
                       &j->scratch->lines);
  for (int s = 0; s < a->planes.set_count; s++) {
    const dq_audit_window_set *set = &a->planes.sets[s];
    dq_audit_trim_frame(f, &a->bounds, &j->scratch->lines, set->taps[0], set->count, j->trim,
                        j->scratch->counts + FIRST);
    add_windows(j, set, j->scratch->counts, channel, products, raw);
  }
}

static void count_planes(const job *j, int64_t first, int64_t count, uint64_t *products, uint64_t *raw) {
  const dq_audit *a = j->run->a;
  const dq_audit_planes *p = &a->planes;
  int64_t vectors = dq_audit_phase_vectors(p);
  for (int s = 0; s < p->set_count; s++) {
    const dq_audit_window_set *set = &p->sets[s];
    const uint8_t *plane = j->run->planes + first * p->bytes + set->phase * p->height * p->width;
    dq_audit_windows windows = {plane,           j->run->masks + s * vectors * DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR,
                                count,           p->bytes,
                                vectors,         set->count,
                                a->bounds.of,    a->bounds.count,
                                DQ_AUDIT_COUNTS, j->scratch->counts + FIRST};
    j->count_windows(&windows);
    for (int64_t i = 0; i < count; i++)
      add_windows(j, set, j->scratch->counts + i * set->count * DQ_AUDIT_COUNTS, first + i, products, raw);
  }
}

size_t dq_audit_product_scratch_bytes(const dq_audit *a) {
  return sizeof(dq_audit_product_scratch) + (size_t)a->geometry.out_group * sizeof(uint32_t) +
         dq_audit_frame_bytes(&a->frame);
}

void dq_audit_count_products(const dq_audit_run_state *run, int64_t first, int64_t count,
                             dq_audit_product_scratch *scratch, uint64_t *products, uint64_t *raw) {
  const dq_audit *a = run->a;
  job j = {run,
           &a->bounds,
           scratch,
           DQ_KERNEL_FUNCTION(audit_windows, a->cpu),
           DQ_KERNEL_FUNCTION(audit_reached, a->cpu),
           DQ_KERNEL_FUNCTION(audit_trims, a->cpu),
           DQ_KERNEL_FUNCTION(audit_totals, a->cpu)};
  if (!a->frame.fits) count_planes(&j, first, count, products, raw);
  else
    for (int64_t i = 0; i < count; i++) count_frame(&j, first + i, products, raw);
}
