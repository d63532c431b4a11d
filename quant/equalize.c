// Equalization: which sites a graph has, and what is seen of them on pictures.
#include "quant/equalize.h"

#include <math.h>

#include "calib/elements.h"
#include "quant/equalize_internal.h"
#include "quant/head.h"

// ---- Sites ----

typedef struct site_list {
  dq_site *sites;
  int count;
  int slots; // values and SiLU arguments of all sites
} site_list;

static bool is_reader(const dq_node *node) {
  return dq_node_is(node, "Conv") || dq_node_is(node, "ConvTranspose") ||
         dq_node_is(node, "BatchNormalization");
}

static dq_status find_heads(site_list *list, const dq_graph *graph, const dq_tensor *tensors,
                            dq_arena *arena, dq_error *error) {
  bool *in_head;
  DQ_TRY(dq_head_values(graph, &in_head, arena, error));
  for (int v = 0; v < graph->value_count; v++) {
    dq_site *site = &list->sites[list->count];
    if (!dq_head_find(site, graph, tensors, in_head, graph->values[v], arena)) continue;
    list->slots += site->value_count;
    list->count++;
  }
  return DQ_OK;
}

// x Sigmoid(x) takes one more Mul per element, which is worth it only where nothing is lost.
static bool is_worth_it(const dq_site *site) { return site->free_readers || !site->silu_count; }

static dq_status find_sites(site_list *list, const dq_graph *graph, const dq_tensor *tensors,
                            dq_equalize_scope scope, dq_arena *arena, dq_error *error) {
  bool *done = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  if (!done) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    dq_value *value = is_reader(node) ? dq_node_input(node, 0) : NULL;
    if (!value || done[value->index]) continue;
    done[value->index] = true;
    dq_site *site = &list->sites[list->count];
    bool found = dq_site_find(site, graph, tensors, value, arena);
    for (int v = 0; v < site->value_count; v++) done[site->values[v].value->index] = true;
    if (!found || !is_worth_it(site) || (scope == DQ_EQUALIZE_DEPTHWISE && !site->free_readers) ||
        (scope == DQ_EQUALIZE_NARROW && site->wide))
      continue;
    list->slots += site->value_count + site->silu_count;
    list->count++;
  }
  return DQ_OK;
}

// ---- Observing ----

// One value of a site as the pictures show it, per channel.
typedef struct seen {
  dq_channel_extents extents;
  int64_t channels, count; // elements per channel
} seen;

static dq_status note(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  seen *it = (seen *)user + slot;
  const float *at = tensor->data;
  int64_t inner = dq_tensor_product(tensor, 2, tensor->rank);
  for (int64_t n = 0; n < tensor->dims[0]; n++)
    for (int64_t c = 0; c < tensor->dims[1]; c++, at += inner) {
      dq_extremes reach = dq_extremes_of(at, inner);
      it->extents.low[c] = fmax(it->extents.low[c], -(double)reach.low);
      it->extents.high[c] = fmax(it->extents.high[c], (double)reach.high);
      it->extents.power[c] += dq_power_of(at, inner);
    }
  it->count += tensor->dims[0] * inner;
  return DQ_OK;
}

static bool open_seen(seen *it, int64_t channels, dq_arena *arena) {
  *it = (seen){{DQ_NEW_ARRAY(arena, channels, double), DQ_NEW_ARRAY(arena, channels, double),
                DQ_NEW_ARRAY(arena, channels, double)},
               channels,
               0};
  return it->extents.low && it->extents.high && it->extents.power;
}

static dq_status open_slots(const site_list *list, const char **names, seen *all, dq_arena *arena,
                            dq_error *error) {
  int slot = 0;
  for (int s = 0; s < list->count; s++) {
    const dq_site *site = &list->sites[s];
    for (int v = 0; v < site->value_count; v++, slot++) {
      names[slot] = site->values[v].value->name;
      if (!open_seen(&all[slot], site->values[v].channels, arena)) return dq_fail_memory(error, 0);
    }
    for (int k = 0; k < site->silu_count; k++, slot++) {
      names[slot] = site->silus[k].conv->outputs[0]->name;
      if (!open_seen(&all[slot], site->values[site->silus[k].value].channels, arena))
        return dq_fail_memory(error, 0);
    }
  }
  return DQ_OK;
}

// Watches all values of all sites at once.
static dq_status observe_sites(const site_list *list, const dq_observation *what,
                               dq_channel_extents *extents, dq_arena *arena,
                               const dq_context *context, dq_error *error) {
  const char **names = DQ_NEW_ARRAY(arena, list->slots, const char *);
  seen *all = DQ_NEW_ARRAY(arena, list->slots, seen);
  if (!names || !all) return dq_fail_memory(error, 0);
  DQ_TRY(open_slots(list, names, all, arena, error));
  dq_observation watched = *what;
  watched.names = names, watched.count = list->slots, watched.doing = "equalizing";
  DQ_TRY(dq_observe(&watched, note, all, context, error));
  for (int slot = 0; slot < list->slots; slot++) {
    extents[slot] = all[slot].extents;
    for (int64_t c = 0; all[slot].count && c < all[slot].channels; c++)
      extents[slot].power[c] /= (double)all[slot].count;
  }
  return DQ_OK;
}

dq_status dq_equalize_measure(dq_equalization *equalization, const dq_observation *what,
                              dq_equalize_scope scope, bool heads, dq_arena *arena,
                              const dq_context *context, dq_error *error) {
  *equalization = (dq_equalization){0};
  if (scope == DQ_EQUALIZE_NONE && !heads) return DQ_OK;
  dq_tensor *tensors;
  site_list list;
  DQ_TRY(dq_infer(what->graph, what->shapes, true, context, arena, &tensors, error));
  list = (site_list){DQ_NEW_ARRAY(arena, 2 * what->graph->node_count, dq_site), 0, 0};
  if (!list.sites) return dq_fail_memory(error, 0);
  if (scope != DQ_EQUALIZE_NONE) DQ_TRY(find_sites(&list, what->graph, tensors, scope, arena, error));
  if (heads) DQ_TRY(find_heads(&list, what->graph, tensors, arena, error));
  if (!list.count) return DQ_OK;
  dq_channel_extents *extents = DQ_NEW_ARRAY(arena, list.slots, dq_channel_extents);
  dq_equalize_site *sites = DQ_NEW_ARRAY(arena, list.count, dq_equalize_site);
  if (!extents || !sites) return dq_fail_memory(error, 0);
  DQ_TRY(observe_sites(&list, what, extents, arena, context, error));
  for (int s = 0; s < list.count; s++) {
    const dq_site *site = &list.sites[s];
    float *factors = DQ_NEW_ARRAY(arena, site->class_count, float);
    if (!factors) return dq_fail_memory(error, 0);
    DQ_TRY(dq_site_factors(site, extents, extents + site->value_count, scope != DQ_EQUALIZE_FULL && !site->head,
                           factors, arena, error));
    sites[s] = (dq_equalize_site){site->values[0].value->name, site->class_count, factors};
    extents += site->value_count + site->silu_count;
  }
  *equalization = (dq_equalization){sites, list.count};
  return DQ_OK;
}
