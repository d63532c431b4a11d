// Equalization: which sites a graph has, and what is seen of them on pictures.
#include "quant/equalize/equalize.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "calib/elements.h"
#include "lib/base/sizes.h"
#include "quant/equalize/equalize_internal.h"
#include "quant/rewrite/output_head.h"

// ---- Sites ----

typedef struct site_list {
  dq_site *sites;
  int count;
} site_list;

static bool is_reader(const dq_node *node) {
  dq_product product;
  return dq_node_is(node, "BatchNormalization") ||
         (dq_product_of(node, &product) && !product.integer && product.kind != DQ_MATRIX_PRODUCT);
}

static void find_heads(site_list *list, dq_site_finder *finder, const dq_graph *graph, const bool *in_head) {
  for (int v = 0; v < graph->value_count; v++)
    list->count += dq_output_head_site(&list->sites[list->count], finder, in_head, graph->values[v]);
}

// x Sigmoid(x) takes one more Mul per element, which is worth it only where nothing is lost.
static bool is_worth_it(const dq_site *site) { return site->free_readers || !site->silu_count; }

// The value that a node reads and that may be scaled; NULL: none. Arguments of functions in the head are left to
// find_heads.
static dq_value *site_start(const dq_node *node, const bool *in_head) {
  bool function = dq_begins_site_function(node);
  dq_value *value = is_reader(node) || function ? dq_node_input(node, 0) : NULL;
  return value && !(function && in_head[value->index]) ? value : NULL;
}

static dq_status find_sites(site_list *list, dq_site_finder *finder, const dq_graph *graph, const bool *in_head,
                            dq_equalize_scope scope, dq_arena *arena, dq_error *error) {
  bool *done = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  if (!done) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    dq_value *value = site_start(graph->nodes[n], in_head);
    if (!value || done[value->index]) continue;
    done[value->index] = true;
    dq_site *site = &list->sites[list->count];
    bool found = dq_site_find(site, finder, value);
    for (int v = 0; v < site->value_count; v++) done[site->values[v].value->index] = true;
    if (!found || !is_worth_it(site) || (scope == DQ_EQUALIZE_DEPTHWISE && !site->free_readers) ||
        (scope == DQ_EQUALIZE_NARROW && site->wide))
      continue;
    list->count++;
  }
  return DQ_OK;
}

// What is equalized under a scope, with heads or without.
static dq_status list_sites(site_list *list, const dq_graph *graph, const dq_tensor *tensors, dq_equalize_scope scope,
                            bool heads, dq_arena *arena, dq_error *error) {
  bool *in_head;
  *list = (site_list){DQ_NEW_ARRAY(arena, 2 * graph->node_count, dq_site), 0};
  if (!list->sites) return dq_fail_memory(error, 0);
  DQ_TRY(dq_output_head_values(graph, &in_head, arena, error));
  dq_site_finder *finder = dq_site_finder_new(graph, tensors, arena);
  if (!finder) return dq_fail_memory(error, 0);
  if (scope != DQ_EQUALIZE_NONE) DQ_TRY(find_sites(list, finder, graph, in_head, scope, arena, error));
  if (heads) find_heads(list, finder, graph, in_head);
  return dq_arena_exhausted(arena) ? dq_fail_memory(error, 0) : DQ_OK;
}

// ---- Observing ----

// One value as the pictures show it, per channel.
typedef struct seen {
  const char *name;
  dq_channel_extents extents;
  dq_value_ends ends;
  double *power;           // [channels]: sums of squares
  double *picture;         // [numbers_of]: of one picture
  double *ahead;           // [memory->ahead_pictures][numbers_of]: of pictures that others come before; NULL: none
  int64_t ahead_count;     // that have been stored
  int64_t channels, count; // elements per channel
  int64_t pictures;        // that it was observed on
  bool wanted;             // by the caller at hand
} seen;

struct dq_equalize_memory {
  dq_arena *arena;
  seen *values;
  int count, capacity;
  int64_t ahead_first, ahead_pictures; // the pictures that `ahead` of the values has
  int *slots; // [SLOTS * capacity], open addressing by the name: 1 + its place in `values`; 0: empty
};

enum { SLOTS = 2 }; // for each value that fits

dq_equalize_memory *dq_equalize_memory_new(dq_arena *arena) {
  dq_equalize_memory *memory = DQ_NEW_ARRAY(arena, 1, dq_equalize_memory);
  if (memory) memory->arena = arena;
  return memory;
}

// How many numbers one picture gives: the power of each channel, what dq_value_ends_of writes, and the number of
// elements of a channel.
static int64_t numbers_of(const seen *value) { return value->channels + dq_value_ends_numbers(value->channels) + 1; }

// The slot of a value of this name, or the empty one where it belongs.
static int *slot_of(const dq_equalize_memory *memory, const char *name) {
  const size_t count = SLOTS * (size_t)memory->capacity;
  size_t at = XXH3_64bits(name, strlen(name)) % count;
  while (memory->slots[at] && strcmp(memory->values[memory->slots[at] - 1].name, name)) at = (at + 1) % count;
  return &memory->slots[at];
}

static seen *find_seen(const dq_equalize_memory *memory, const char *name) {
  int place = memory->capacity ? *slot_of(memory, name) : 0;
  return place ? &memory->values[place - 1] : NULL;
}

// Makes room for one more value.
static bool reserve(dq_equalize_memory *memory) {
  if (memory->count < memory->capacity) return true;
  int capacity = 2 * memory->capacity + 64;
  seen *values = DQ_NEW_ARRAY(memory->arena, capacity, seen);
  int *slots = DQ_NEW_ARRAY(memory->arena, SLOTS * (size_t)capacity, int);
  if (!values || !slots) return false;
  if (memory->count) memcpy(values, memory->values, (size_t)memory->count * sizeof *values);
  memory->values = values, memory->capacity = capacity, memory->slots = slots;
  for (int i = 0; i < memory->count; i++) *slot_of(memory, values[i].name) = i + 1;
  return true;
}

static bool add_seen(dq_equalize_memory *memory, const char *name, int64_t channels) {
  dq_arena *arena = memory->arena;
  seen *known = find_seen(memory, name);
  if (known) return known->wanted = true;
  if (!reserve(memory)) return false;
  void *ends = DQ_NEW_ARRAY(arena, dq_value_ends_bytes(channels), char);
  if (!ends) return false;
  char *copy = dq_arena_strdup(arena, name);
  if (!copy) return false;
  *slot_of(memory, copy) = memory->count + 1;
  seen *s = &memory->values[memory->count++];
  *s = (seen){.name = copy,
              .extents = {DQ_NEW_ARRAY(arena, channels, double), DQ_NEW_ARRAY(arena, channels, double),
                          DQ_NEW_ARRAY(arena, channels, double)},
              .power = DQ_NEW_ARRAY(arena, channels, double),
              .channels = channels,
              .wanted = true};
  s->picture = DQ_NEW_ARRAY(arena, numbers_of(s), double);
  dq_value_ends_init(&s->ends, channels, ends);
  return s->extents.low && s->extents.high && s->extents.power && s->power && s->picture;
}

// Values of sites, and arguments of their SiLUs.
static dq_status add_sites(dq_equalize_memory *memory, const site_list *list, dq_error *error) {
  for (int s = 0; s < list->count; s++) {
    const dq_site *site = &list->sites[s];
    bool added = true;
    for (int v = 0; added && v < site->value_count; v++)
      added = add_seen(memory, site->values[v].value->name, site->values[v].channels);
    for (int k = 0; added && k < site->silu_count; k++)
      added = add_seen(memory, site->silus[k].conv->outputs[0]->name, site->values[site->silus[k].value].channels);
    if (!added) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

typedef struct watching {
  seen **values;
  const dq_context *context;
} watching;

static void add_power(void *argument, int64_t c, const float *plane, int64_t count, unsigned cpu) {
  double *power = argument;
  power[c] += dq_element_sums_of(plane, count, cpu).power;
}

static dq_status measure_picture(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured, dq_error *error) {
  (void)error;
  const watching *w = user;
  seen *value = w->values[slot];
  const int64_t ends = value->channels, count = numbers_of(value);
  memset(value->picture, 0, (size_t)value->channels * sizeof *value->picture);
  dq_each_plane(w->context, tensor, add_power, value->picture);
  dq_value_ends_of(tensor, value->channels, value->picture + ends, w->context);
  value->picture[count - 1] = (double)(tensor->dims[0] * dq_tensor_product(tensor, 2, tensor->rank));
  *measured = (dq_tensor){.type = DQ_F64, .rank = 1, .dims = {count}, .data = value->picture};
  return DQ_OK;
}

static void add_numbers(seen *value, const double *picture) {
  for (int64_t c = 0; c < value->channels; c++) value->power[c] += picture[c];
  dq_value_ends_add(&value->ends, picture + value->channels, value->channels);
  value->count += (int64_t)picture[numbers_of(value) - 1];
}

static dq_status add_picture(void *user, int slot, const dq_tensor *measured, dq_error *error) {
  (void)error;
  add_numbers(((const watching *)user)->values[slot], measured->data);
  return DQ_OK;
}

static dq_status store_picture(void *user, int slot, const dq_tensor *measured, dq_error *error) {
  (void)error;
  seen *value = ((const watching *)user)->values[slot];
  memcpy(value->ahead + value->ahead_count++ * numbers_of(value), measured->data, dq_tensor_bytes(measured));
  return DQ_OK;
}

static double end_of(const seen *value, const dq_picture_ends *ends, double other) {
  double elements = (double)value->ends.elements / (double)value->channels;
  return dq_end_with_margin(ends, 1, elements, value->ends.pictures, fmax(0, other));
}

// Computes the extents, which have margins: where factors bring the ends of all channels together, every channel may be
// cut off on other pictures.
static void conclude(seen *value) {
  for (int64_t c = 0; value->count && c < value->channels; c++) {
    const dq_picture_ends *high = &value->ends.high[c], *low = &value->ends.low[c];
    value->extents.high[c] = end_of(value, high, (double)low->of[0]);
    value->extents.low[c] = end_of(value, low, (double)high->of[0]);
    value->extents.power[c] = value->power[c] / (double)value->count;
  }
}

// Watches all wanted values that were observed on `first` pictures, and on none ahead that comes next, on those from
// there to end - 1.
static dq_status observe_from(dq_equalize_memory *memory, int64_t first, int64_t end, const dq_observation *what,
                              dq_arena *arena, const dq_context *context, dq_error *error) {
  const char **names = DQ_NEW_ARRAY(arena, memory->count, const char *);
  watching notes = {DQ_NEW_ARRAY(arena, memory->count, seen *), context};
  if (!names || !notes.values) return dq_fail_memory(error, 0);
  dq_observation watched = *what;
  watched.names = names, watched.count = 0, watched.doing = "equalizing", watched.measure = measure_picture;
  watched.first += first, watched.pictures = end - first;
  for (int i = 0; i < memory->count; i++) {
    seen *value = &memory->values[i];
    if (!value->wanted || value->pictures != first) continue;
    names[watched.count] = value->name;
    notes.values[watched.count++] = value;
  }
  DQ_TRY(dq_observe(&watched, add_picture, &notes, context, error));
  for (int i = 0; i < watched.count; i++) {
    notes.values[i]->pictures = end;
    conclude(notes.values[i]);
  }
  return DQ_OK;
}

// Adds the pictures that were observed ahead, where they come next.
static void add_ahead(const dq_equalize_memory *memory, seen *value, int64_t end) {
  const int64_t first = value->pictures;
  while (value->pictures < end && value->pictures - memory->ahead_first < value->ahead_count)
    add_numbers(value, value->ahead + (value->pictures++ - memory->ahead_first) * numbers_of(value));
  if (value->pictures > first) conclude(value);
}

// Observes what wanted values lack. Values that were added later were observed on no picture.
static dq_status observe_wanted(dq_equalize_memory *memory, const dq_observation *what, dq_arena *arena,
                                const dq_context *context, dq_error *error) {
  for (int i = 0; i < memory->count; i++) {
    seen *value = &memory->values[i];
    while (value->wanted && value->pictures < what->pictures) {
      const bool ahead = value->ahead_count && value->pictures < memory->ahead_first + value->ahead_count;
      int64_t end = ahead ? dq_min_i64(memory->ahead_first, what->pictures) : what->pictures;
      if (ahead && value->pictures >= memory->ahead_first) add_ahead(memory, value, what->pictures);
      else DQ_TRY(observe_from(memory, value->pictures, end, what, arena, context, error));
    }
  }
  return DQ_OK;
}

static dq_channel_extents extents_of(const dq_equalize_memory *memory, const dq_value *value) {
  return find_seen(memory, value->name)->extents;
}

// What the factors of a site take: its values', then its SiLUs' arguments'.
static dq_status site_factors(const dq_site *site, const dq_equalize_memory *memory, bool share, float *factors,
                              dq_arena *arena, dq_error *error) {
  dq_channel_extents *extents = DQ_NEW_ARRAY(arena, site->value_count + site->silu_count, dq_channel_extents);
  if (!extents) return dq_fail_memory(error, 0);
  for (int v = 0; v < site->value_count; v++) extents[v] = extents_of(memory, site->values[v].value);
  for (int k = 0; k < site->silu_count; k++)
    extents[site->value_count + k] = extents_of(memory, site->silus[k].conv->outputs[0]);
  return dq_site_factors(site, extents, extents + site->value_count, share, factors, arena, error);
}

// What any scope may need, with heads and without.
static dq_status add_every_site(dq_equalize_memory *memory, const dq_graph *graph, const dq_tensor *tensors,
                                dq_arena *arena, dq_error *error) {
  site_list every;
  if (memory->count) return DQ_OK;
  DQ_TRY(list_sites(&every, graph, tensors, DQ_EQUALIZE_ALL, true, arena, error));
  return add_sites(memory, &every, error);
}

// Sees what the sites need; with a memory that others will look into, what any scope may need.
static dq_status measure_sites(dq_equalize_memory *memory, bool lasting, const site_list *list,
                               const dq_observation *what, const dq_tensor *tensors, dq_arena *arena,
                               const dq_context *context, dq_error *error) {
  for (int i = 0; i < memory->count; i++) memory->values[i].wanted = false;
  if (lasting) DQ_TRY(add_every_site(memory, what->graph, tensors, arena, error));
  DQ_TRY(add_sites(memory, list, error));
  return observe_wanted(memory, what, arena, context, error);
}

// ---- Observing in the runs of others ----

static dq_status watch_all(dq_equalize_memory *memory, dq_listener *listener, const dq_observation *what,
                           const dq_context *context, dq_error *error) {
  const char **names = DQ_NEW_ARRAY(memory->arena, memory->count, const char *);
  watching *notes = DQ_NEW(memory->arena, watching);
  if (!names || !notes) return dq_fail_memory(error, 0);
  *notes = (watching){DQ_NEW_ARRAY(memory->arena, memory->count, seen *), context};
  if (!notes->values) return dq_fail_memory(error, 0);
  for (int i = 0; i < memory->count; i++) {
    seen *value = notes->values[i] = &memory->values[i];
    names[i] = value->name;
    if (!what->first) continue;
    value->ahead = DQ_NEW_ARRAY(memory->arena, what->pictures * numbers_of(value), double);
    if (!value->ahead) return dq_fail_memory(error, 0);
  }
  *listener =
      (dq_listener){names, memory->count, what->first ? store_picture : add_picture, notes, measure_picture, NULL};
  return DQ_OK;
}

// Whether pictures can be stored ahead without that the budget becomes scarce.
static bool has_memory_ahead(const dq_equalize_memory *memory, int64_t pictures, const dq_context *context) {
  enum { SPARE = 8 }; // times as much must be left
  int64_t numbers = 0;
  for (int i = 0; i < memory->count; i++) numbers += numbers_of(&memory->values[i]);
  return dq_check_memory(context, SPARE * (size_t)(numbers * pictures) * sizeof(double), "", NULL) == DQ_OK;
}

dq_status dq_equalize_watch(dq_equalize_memory *memory, dq_listener *listener, const dq_observation *what,
                            const dq_context *context, dq_error *error) {
  dq_tensor *tensors;
  *listener = (dq_listener){0};
  DQ_TRY(dq_infer(what->graph, what->shapes, DQ_INFER_TOLERANT, context, memory->arena, &tensors, error));
  DQ_TRY(add_every_site(memory, what->graph, tensors, memory->arena, error));
  if (!memory->count || memory->values[0].pictures || (what->first && memory->ahead_pictures)) return DQ_OK;
  if (what->first && !has_memory_ahead(memory, what->pictures, context)) return DQ_OK;
  if (what->first) memory->ahead_first = what->first, memory->ahead_pictures = what->pictures;
  return watch_all(memory, listener, what, context, error);
}

void dq_equalize_watched(dq_equalize_memory *memory, const dq_listener *listener, const dq_observation *what) {
  for (int i = 0; !what->first && i < listener->count; i++) {
    memory->values[i].pictures = what->pictures;
    conclude(&memory->values[i]);
  }
}

static bool is_even(const float *factors, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    if (factors[k] != 1) return false;
  return true;
}

dq_status dq_equalize_measure(dq_equalization *equalization, const dq_observation *what, dq_equalize_scope scope,
                              bool heads, dq_equalize_memory *memory, dq_arena *arena, const dq_context *context,
                              dq_error *error) {
  *equalization = (dq_equalization){0};
  if (scope == DQ_EQUALIZE_NONE && !heads) return DQ_OK;
  dq_tensor *tensors;
  site_list list;
  dq_equalize_memory *look = memory ? memory : dq_equalize_memory_new(arena);
  if (!look) return dq_fail_memory(error, 0);
  DQ_TRY(dq_infer(what->graph, what->shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  DQ_TRY(list_sites(&list, what->graph, tensors, scope, heads, arena, error));
  if (!list.count) return DQ_OK;
  dq_equalize_site *sites = DQ_NEW_ARRAY(arena, list.count, dq_equalize_site);
  if (!sites) return dq_fail_memory(error, 0);
  DQ_TRY(measure_sites(look, memory != NULL, &list, what, tensors, arena, context, error));
  int count = 0;
  for (int s = 0; s < list.count; s++) {
    const dq_site *site = &list.sites[s];
    float *factors = DQ_NEW_ARRAY(arena, site->class_count, float);
    if (!factors) return dq_fail_memory(error, 0);
    DQ_TRY(site_factors(site, look, scope != DQ_EQUALIZE_FULL && !site->head, factors, arena, error));
    if (!is_even(factors, site->class_count))
      sites[count++] = (dq_equalize_site){site->values[0].value->name, site->class_count, factors};
  }
  *equalization = (dq_equalization){sites, count};
  return DQ_OK;
}

dq_status dq_equalization_copy(dq_equalization *copy, const dq_equalization *equalization, dq_arena *arena,
                               dq_error *error) {
  dq_equalize_site *sites = DQ_NEW_ARRAY(arena, equalization->count + 1, dq_equalize_site);
  if (!sites) return dq_fail_memory(error, 0);
  for (int s = 0; s < equalization->count; s++) {
    const dq_equalize_site *from = &equalization->sites[s];
    sites[s] = (dq_equalize_site){dq_arena_strdup(arena, from->value), from->channels,
                                  dq_arena_copy(arena, from->factors, (size_t)from->channels * sizeof *from->factors)};
    if (!sites[s].value || !sites[s].factors) return dq_fail_memory(error, 0);
  }
  *copy = (dq_equalization){sites, equalization->count};
  return DQ_OK;
}
