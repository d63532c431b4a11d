#include "quant/search/mix_front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/sizes.h"

// How a label came about: the place of the label before it, and the precision of the unit.
typedef struct dq_mix_trail {
  int parent;
  uint8_t precision;
} dq_mix_trail;

// A partial choice: what it costs so far.
typedef struct label {
  dq_mix_cost cost;
  dq_mix_trail trail;
  int state;
} label;

// A key has a byte for each open value: the precision of its producer, and the precisions it was converted to as bits.
enum { MASK_BITS = DQ_MIX_MOST_PRECISIONS };

typedef struct layer {
  uint8_t *keys; // [states * width]
  int states, width;
  int *slots; // [slot_mask + 1]: number of a state + 1 at a place that its key hashes to; 0: free
  unsigned slot_mask;
  label *labels; // [count]: by state, then by time
  int count;
} layer;

typedef struct front_search {
  const dq_mix_table *table;
  int most;
  dq_arena *arena; // of the result
  dq_mix_front *front;
  int *open; // [open_count]: values that are open before the unit, ascending
  int open_count;
  int *next_open;               // behind it
  const int *made, *first_made; // values by producer: those of unit u are made[first_made[u]] to first_made[u + 1] - 1
  int next_count;
  layer now, next;
  int capacity; // of next.labels
  dq_error *error;
} front_search;

enum { MOST_STATES = 1 << 18 };

static void release(layer *l) { free(l->keys), free(l->slots), free(l->labels); }

static dq_mix_cost sum(dq_mix_cost a, dq_mix_cost b) {
  return (dq_mix_cost){a.time + b.time, a.loss + b.loss, a.bytes + b.bytes};
}

static bool reads(const dq_mix_value *value, int unit) {
  int low = 0, high = value->reader_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (value->readers[middle] < unit) low = middle + 1;
    else high = middle;
  }
  return low < value->reader_count && value->readers[low] == unit;
}

dq_mix_cost dq_mix_cost_of(const dq_mix_table *table, const uint8_t *choice) {
  dq_mix_cost cost = {0};
  for (int u = 0; u < table->units; u++) {
    const dq_mix_cost *unit = &table->costs[u * table->precisions + choice[u]];
    if (unit->time < 0) return *unit;
    cost = sum(cost, *unit);
  }
  for (int v = 0; v < table->values; v++) {
    const dq_mix_value *value = &table->value[v];
    unsigned converted = 1u << choice[value->producer];
    for (int r = 0; r < value->reader_count; r++) {
      int to = choice[value->readers[r]];
      if (!(converted & 1u << to)) cost = sum(cost, value->conversions[choice[value->producer]][to]);
      converted |= 1u << to;
    }
  }
  return cost;
}

// ---- States ----

static bool is_open(const front_search *search, int v, int unit) {
  const dq_mix_value *value = &search->table->value[v];
  return value->reader_count && value->readers[value->reader_count - 1] > unit;
}

// The values that are open behind a unit: those that a later one reads. Both lists that they come from are ascending.
static void list_open(front_search *search, int unit) {
  int made = search->first_made[unit], end = search->first_made[unit + 1], i = 0;
  search->next_count = 0;
  while (i < search->open_count || made < end) {
    bool older = made == end || (i < search->open_count && search->open[i] < search->made[made]);
    int v = older ? search->open[i++] : search->made[made++];
    if (is_open(search, v, unit)) search->next_open[search->next_count++] = v;
  }
  if (search->next_count > search->front->widest) search->front->widest = search->next_count;
}

// Lists values by their producers.
static dq_status list_made(front_search *search) {
  const dq_mix_table *table = search->table;
  int *first = DQ_NEW_ARRAY(search->arena, table->units + 2, int),
      *made = DQ_NEW_ARRAY(search->arena, table->values, int);
  if (!first || !made) return dq_fail_memory(search->error, 0);
  for (int v = 0; v < table->values; v++) first[table->value[v].producer + 2]++;
  for (int u = 1; u <= table->units; u++) first[u + 1] += first[u];
  for (int v = 0; v < table->values; v++) made[first[table->value[v].producer + 1]++] = v;
  search->first_made = first, search->made = made;
  return DQ_OK;
}

static int place_of(const int *list, int count, int value) {
  for (int i = 0; i < count; i++)
    if (list[i] == value) return i;
  return -1;
}

static bool costs_something(const dq_mix_cost *cost) { return cost->time || cost->loss || cost->bytes; }

// What a unit costs with a precision in a state, conversions of what it reads among it; writes the state behind it.
static dq_mix_cost advance(const front_search *search, const uint8_t *key, int unit, int precision, uint8_t *next) {
  const dq_mix_table *table = search->table;
  dq_mix_cost cost = table->costs[unit * table->precisions + precision];
  for (int i = 0; i < search->open_count; i++) {
    const dq_mix_value *value = &table->value[search->open[i]];
    int at = place_of(search->next_open, search->next_count, search->open[i]), from = key[i] >> MASK_BITS;
    uint8_t state = key[i];
    if (reads(value, unit) && !(state & 1u << precision)) {
      const dq_mix_cost *conversion = &value->conversions[from][precision];
      cost = sum(cost, *conversion);
      if (costs_something(conversion)) state = (uint8_t)(state | 1u << precision); // else any number of them may follow
    }
    if (at >= 0) next[at] = state;
  }
  for (int i = 0; i < search->next_count; i++)
    if (table->value[search->next_open[i]].producer == unit)
      next[i] = (uint8_t)(precision << MASK_BITS | 1 << precision);
  return cost;
}

static int find_state(front_search *search, const uint8_t *key) {
  layer *next = &search->next;
  size_t width = (size_t)next->width;
  unsigned slot = (unsigned)XXH64(key, width, 0) & next->slot_mask;
  for (; next->slots[slot]; slot = (slot + 1) & next->slot_mask) {
    int s = next->slots[slot] - 1;
    if (!memcmp(next->keys + (size_t)s * width, key, width)) return s;
  }
  if (width) memcpy(next->keys + (size_t)next->states * width, key, width);
  next->slots[slot] = ++next->states;
  return next->states - 1;
}

// ---- Labels ----

static int by_place(const void *a, const void *b) {
  const label *left = a, *right = b;
  if (left->state != right->state) return left->state < right->state ? -1 : 1;
  if (left->cost.time != right->cost.time) return left->cost.time < right->cost.time ? -1 : 1;
  if (left->cost.loss != right->cost.loss) return left->cost.loss < right->cost.loss ? -1 : 1;
  if (left->cost.bytes != right->cost.bytes) return left->cost.bytes < right->cost.bytes ? -1 : 1;
  if (left->trail.precision != right->trail.precision) return left->trail.precision < right->trail.precision ? -1 : 1;
  return (left->trail.parent > right->trail.parent) - (left->trail.parent < right->trail.parent);
}

static bool is_as_good(const dq_mix_cost *a, const dq_mix_cost *b) {
  return a->time <= b->time && a->loss <= b->loss && a->bytes <= b->bytes;
}

// Drops the labels of each state that another one is as good as; the labels are in the order of by_place.
static void drop_worse(layer *next) {
  int kept = 0, first = 0; // first: of the state, among the kept
  for (int i = 0; i < next->count; i++) {
    bool worse = false;
    if (kept && next->labels[kept - 1].state != next->labels[i].state) first = kept;
    for (int k = kept - 1; k >= first && !worse; k--) worse = is_as_good(&next->labels[k].cost, &next->labels[i].cost);
    if (!worse) next->labels[kept++] = next->labels[i];
  }
  next->count = kept;
}

// Does what drop_worse does where all labels have the same bytes: what is kept of a state descends in loss, so that the
// last kept label decides.
static void drop_worse_in_loss(layer *next) {
  int kept = 0;
  for (int i = 0; i < next->count; i++) {
    const label *last = kept ? &next->labels[kept - 1] : NULL;
    if (last && last->state == next->labels[i].state && is_as_good(&last->cost, &next->labels[i].cost)) continue;
    next->labels[kept++] = next->labels[i];
  }
  next->count = kept;
}

static bool has_bytes(const layer *next) {
  for (int i = 1; i < next->count; i++)
    if (next->labels[i].cost.bytes != next->labels[0].cost.bytes) return true;
  return false;
}

static void filter(layer *next) {
  if (!next->count) return;
  qsort(next->labels, (size_t)next->count, sizeof *next->labels, by_place);
  (has_bytes(next) ? drop_worse : drop_worse_in_loss)(next);
}

// ---- Windows ----

typedef struct window {
  int64_t time, bytes; // widths, 1 or more
} window;

// Times may be below 0, behind conversions that do.
static bool same_time(const label *a, const label *b, const window *w) {
  return a->state == b->state && dq_floor_div_i64(a->cost.time, w->time) == dq_floor_div_i64(b->cost.time, w->time);
}

static bool same_window(const label *a, const label *b, const window *w) {
  return same_time(a, b, w) && a->cost.bytes / w->bytes == b->cost.bytes / w->bytes;
}

// Keeps the label with the least loss of each window, and returns the number of labels that stay. In the order of
// by_place those of one window of time stand together, and with one window of bytes for each of these few windows are
// searched. With `fastest` the first label of each state, which takes least time, stays as well: windows of thousands
// of units would add up to a large share of it.
static int thin(layer *next, const window *w, bool fastest) {
  int kept = 0, first = -1;
  for (int i = 0; i < next->count; i++) {
    int k = kept - 1;
    const label *at = &next->labels[i];
    if (fastest && (k < 0 || next->labels[k].state != at->state)) first = kept;
    while (k >= 0 && same_time(&next->labels[k], at, w) && !same_window(&next->labels[k], at, w)) k--;
    if (k < 0 || k == first || !same_window(&next->labels[k], at, w)) next->labels[kept++] = *at;
    else if (at->cost.loss < next->labels[k].cost.loss) next->labels[k] = *at;
  }
  return kept;
}

static void extremes(const layer *next, int64_t *time, int64_t *bytes) {
  int64_t low = INT64_MAX, high = INT64_MIN, least = INT64_MAX, largest = 0;
  for (int i = 0; i < next->count; i++) {
    const dq_mix_cost *cost = &next->labels[i].cost;
    if (cost->time < low) low = cost->time;
    if (cost->time > high) high = cost->time;
    if (cost->bytes < least) least = cost->bytes;
    if (cost->bytes > largest) largest = cost->bytes;
  }
  *time = high - low, *bytes = largest - least;
}

// Widens the windows until the labels are no more than `most`.
static void limit(front_search *search) {
  layer *next = &search->next;
  int64_t times, bytes, time_gap = 0, bytes_gap = 0;
  extremes(next, &times, &bytes);
  // A quarter of what the windows may hold, as few of them are full.
  for (int64_t parts = search->most / 4 + 1; next->count > search->most && parts > 0; parts /= 2) {
    const window w = {times / parts + 1, bytes ? bytes * 16 / parts + 1 : 1};
    next->count = thin(next, &w, search->table->units > DQ_MIX_FEW_UNITS);
    filter(next);
    time_gap += w.time - 1, bytes_gap += w.bytes - 1;
  }
  search->front->time_gap += time_gap;
  search->front->bytes_gap += bytes_gap;
}

// ---- Steps ----

static dq_status grow(front_search *search, int more) {
  layer *next = &search->next;
  if (next->count + more <= search->capacity) return DQ_OK;
  int capacity = 2 * (next->count + more);
  label *labels = realloc(next->labels, (size_t)capacity * sizeof *labels);
  if (!labels) return dq_fail_memory(search->error, (size_t)capacity * sizeof *labels);
  next->labels = labels;
  search->capacity = capacity;
  return DQ_OK;
}

// The labels of one state, with the unit in one precision.
static dq_status extend(front_search *search, int state, int first, int end, int unit, int precision) {
  const layer *now = &search->now;
  uint8_t key[search->next_count + 1];
  dq_mix_cost added = advance(search, now->keys + (size_t)state * (size_t)now->width, unit, precision, key);
  int to = find_state(search, key);
  DQ_TRY(grow(search, end - first));
  for (int i = first; i < end; i++)
    search->next.labels[search->next.count++] = (label){sum(now->labels[i].cost, added), {i, (uint8_t)precision}, to};
  return DQ_OK;
}

static dq_status extend_all(front_search *search, int unit) {
  const dq_mix_table *table = search->table;
  const layer *now = &search->now;
  for (int first = 0, end; first < now->count; first = end) {
    for (end = first + 1; end < now->count && now->labels[end].state == now->labels[first].state;) end++;
    for (int p = 0; p < table->precisions; p++)
      if (table->costs[unit * table->precisions + p].time >= 0)
        DQ_TRY(extend(search, now->labels[first].state, first, end, unit, p));
  }
  if (!search->next.count) return dq_fail(search->error, DQ_UNSUPPORTED, "unit %d can have no precision", unit);
  return DQ_OK;
}

// Stores how the labels came about, which outlives them.
static const dq_mix_trail *store_trail(front_search *search) {
  dq_mix_trail *trail = DQ_NEW_ARRAY(search->arena, search->next.count, dq_mix_trail);
  for (int i = 0; trail && i < search->next.count; i++) trail[i] = search->next.labels[i].trail;
  return trail;
}

static dq_status step(front_search *search, int unit, const dq_mix_trail **trail) {
  list_open(search, unit);
  int most = search->now.states * search->table->precisions;
  unsigned slots = 1;
  if (search->now.states > MOST_STATES)
    return dq_fail(
        search->error, DQ_UNSUPPORTED,
        "%d values are open at a time, so that more than %d combinations of their precisions would have to be "
        "looked at",
        search->open_count, MOST_STATES);
  while (slots < 2u * (unsigned)most) slots *= 2;
  search->next = (layer){.width = search->next_count,
                         .keys = malloc((size_t)most * (size_t)(search->next_count + 1)),
                         .slots = calloc(slots, sizeof *search->next.slots),
                         .slot_mask = slots - 1};
  search->capacity = 0;
  if (!search->next.keys || !search->next.slots) return dq_fail_memory(search->error, (size_t)most);
  DQ_TRY(extend_all(search, unit));
  filter(&search->next);
  limit(search);
  if (!(*trail = store_trail(search))) return dq_fail_memory(search->error, sizeof **trail);
  release(&search->now);
  search->now = search->next;
  search->next = (layer){0};
  memcpy(search->open, search->next_open, (size_t)search->next_count * sizeof *search->open);
  search->open_count = search->next_count;
  return DQ_OK;
}

static dq_status run(front_search *search) {
  const dq_mix_table *table = search->table;
  dq_mix_front *front = search->front;
  const dq_mix_trail **steps = DQ_NEW_ARRAY(search->arena, table->units + 1, const dq_mix_trail *);
  search->now = (layer){.states = 1, .count = 1, .keys = calloc(1, 1), .labels = calloc(1, sizeof(label))};
  search->open = DQ_NEW_ARRAY(search->arena, table->values + 1, int);
  search->next_open = DQ_NEW_ARRAY(search->arena, table->values + 1, int);
  if (!steps || !search->now.keys || !search->now.labels || !search->open || !search->next_open)
    return dq_fail_memory(search->error, 0);
  DQ_TRY(list_made(search));
  for (int u = 0; u < table->units; u++) DQ_TRY(step(search, u, &steps[u]));
  dq_mix_cost *costs = DQ_NEW_ARRAY(search->arena, search->now.count, dq_mix_cost);
  if (!costs) return dq_fail_memory(search->error, 0);
  for (int i = 0; i < search->now.count; i++) costs[i] = search->now.labels[i].cost;
  front->costs = costs;
  front->count = search->now.count;
  front->steps = steps;
  return DQ_OK;
}

// How each label came about is stored for each unit: of networks of many units fewer labels are kept.
static int labels_of(const dq_mix_table *table, int most) {
  const double share = table->units > DQ_MIX_FEW_UNITS ? (double)DQ_MIX_FEW_UNITS / table->units : 1;
  const double labels = fmax(DQ_MIX_LEAST_LABELS, most * share * share);
  return labels < most ? (int)labels : most;
}

dq_status dq_mix_front_find(dq_mix_front *front, const dq_mix_table *table, int most, dq_arena *arena,
                            dq_error *error) {
  *front = (dq_mix_front){.units = table->units};
  if (table->precisions < 1 || table->precisions > DQ_MIX_MOST_PRECISIONS)
    return dq_fail(error, DQ_UNSUPPORTED, "a table of %d precisions, expected 1 to %d", table->precisions,
                   DQ_MIX_MOST_PRECISIONS);
  front_search search = {
      .table = table, .most = labels_of(table, most), .arena = arena, .front = front, .error = error};
  dq_status status = run(&search);
  release(&search.now);
  release(&search.next);
  return status;
}

void dq_mix_front_choice(const dq_mix_front *front, int point, uint8_t *choice) {
  for (int u = front->units - 1, at = point; u >= 0; u--) {
    const dq_mix_trail *trail = &front->steps[u][at];
    choice[u] = trail->precision;
    at = trail->parent;
  }
}
