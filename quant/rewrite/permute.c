// Choosing and applying orders of channels.
#include "quant/rewrite/permute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "quant/numeric/blocks.h"
#include "quant/rewrite/channels.h"
#include "quant/rewrite/private_constant.h"

enum { MOST_CHANNELS = 4096, MOST_SWEEPS = 20 };

// ---- What pairs cost ----

// What the channels of a filter, at one place of its window, would lose as neighbours when 127 steps are the filter's
// largest weight.
typedef struct filter_row {
  const float *weights; // by channel
  double limit;         // of two neighbours' sum
} filter_row;

// Adds what channel i and each of `from` to `end` lose to cost[]. No branches, so that the loop is one of vectors.
static void add_neighbours(const filter_row *row, int i, int from, int end, bool both, double unit, double *cost) {
  const float *weights = row->weights, half = (float)(row->limit / 2);
  const double left = row->limit - fabs((double)weights[i]), sign = weights[i] < 0 ? -1 : 1;
  for (int j = from; j < end; j++) {
    double over = sign * (double)weights[j] - left;
    bool counted = !both & (fabsf(weights[j]) > half);
    cost[j] += ((over > 0) & !counted) ? over * over * unit : 0;
  }
}

// Adds what pairs of channels lose in the rows to cost[count][count], on one side of the diagonal or the other. A pair
// loses only where a weight is above half the limit; where both are, the lower channel counts it. A few channels are
// done at a time, whose costs stay in the cache over all rows.
static void add_rows(const filter_row *rows, int64_t row_count, int count, double unit, double *cost) {
  enum { CHANNELS = 8 };
  for (int first = 0; first < count; first += CHANNELS)
    for (int64_t r = 0; r < row_count; r++)
      for (int i = first; i < first + CHANNELS && i < count; i++) {
        if (fabsf(rows[r].weights[i]) <= (float)(rows[r].limit / 2)) continue;
        double *to = cost + (int64_t)i * count;
        add_neighbours(&rows[r], i, 0, i, false, unit, to);
        add_neighbours(&rows[r], i, i + 1, count, true, unit, to);
      }
}

static double largest_of(const dq_taps *taps, const float *weights, int64_t output) {
  double largest = 0;
  for (int64_t t = 0; t < taps->depth; t++)
    largest = fmax(largest, fabs((double)weights[output * taps->output_step + t * taps->step]));
  return largest;
}

// Adds the costs of one product that reads `count` channels from `first` on, some filters at a time.
static dq_status add_reader(const dq_node *node, int64_t first, int count, double *cost, dq_error *error) {
  enum { ROOM = 1 << 20 }; // elements
  dq_taps taps;
  if (!dq_taps_of(&taps, node) || first % 2 || (taps.channels % 2 && taps.window > 1)) return DQ_OK;
  const float *weights = node->inputs[1]->constant->data;
  const int high = dq_weight_type_int8.high; // safe pairs are pairs of int8 weights
  double squares = 0;
  for (int64_t i = 0; i < taps.outputs * taps.depth; i++) squares += (double)weights[i] * (double)weights[i];
  dq_arena *arena = dq_arena_new(0);
  int64_t most = dq_min_i64(taps.outputs * taps.window, dq_max_i64(taps.window, ROOM / count)), row_count = 0;
  filter_row *rows = arena ? DQ_NEW_ARRAY(arena, most, filter_row) : NULL;
  float *scratch = arena ? DQ_NEW_ARRAY(arena, most * count, float) : NULL;
  for (int64_t o = 0; rows && scratch && squares > 0 && o < taps.outputs; o++) {
    double largest = largest_of(&taps, weights, o);
    if (row_count + taps.window > most) add_rows(rows, row_count, count, 1 / squares, cost), row_count = 0;
    for (int64_t k = 0; largest > 0 && k < taps.window; k++, row_count++) {
      const float *from = weights + dq_tap_at(&taps, o, k * taps.channels + first);
      float *to = scratch + row_count * count;
      for (int c = 0; c < count; c++) to[c] = from[c * taps.window * taps.step];
      rows[row_count] = (filter_row){to, largest * (high + 1) / high};
    }
  }
  if (row_count) add_rows(rows, row_count, count, 1 / squares, cost);
  bool memory = rows && scratch;
  dq_arena_free(arena);
  return memory ? DQ_OK : dq_fail_memory(error, (size_t)(most * count) * sizeof *scratch);
}

// ---- Matching ----

typedef struct matching {
  int count;
  const double *cost; // [count][count]
  int *partner;       // by channel; -1: alone
} matching;

static double cost_of(const matching *m, int a, int b) {
  return a < 0 || b < 0 ? 0 : m->cost[(int64_t)a * m->count + b];
}

static void pair_up(matching *m, int a, int b) {
  if (a >= 0) m->partner[a] = b;
  if (b >= 0) m->partner[b] = a;
}

static double total(const matching *m) {
  double sum = 0;
  for (int c = 0; c < m->count; c++) sum += cost_of(m, c, m->partner[c]);
  return sum / 2;
}

typedef struct burden {
  double cost;
  int channel;
} burden;

static int heaviest_first(const void *a, const void *b) {
  const burden *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
  return x->channel - y->channel;
}

// The channel that costs most with all others chooses first. `order` has memory for all.
static void match_greedily(matching *m, burden *order) {
  for (int c = 0; c < m->count; c++) {
    order[c] = (burden){0, c};
    for (int d = 0; d < m->count; d++) order[c].cost += cost_of(m, c, d);
    m->partner[c] = -1;
  }
  qsort(order, (size_t)m->count, sizeof *order, heaviest_first);
  for (int i = 0; i < m->count; i++) {
    int c = order[i].channel, best = -1;
    if (m->partner[c] >= 0) continue;
    for (int j = m->count - 1; j > i; j--) { // among equals one that no other needs to fear
      int d = order[j].channel;
      if (m->partner[d] < 0 && (best < 0 || cost_of(m, c, d) < cost_of(m, c, best))) best = d;
    }
    pair_up(m, c, best);
  }
}

// Exchanges partners of two pairs while that helps.
static void improve(matching *m) {
  bool better = true;
  for (int sweep = 0; better && sweep < MOST_SWEEPS; sweep++) {
    better = false;
    for (int a = 0; a < m->count; a++)
      for (int c = a + 1; c < m->count && cost_of(m, a, m->partner[a]) > 0; c++) {
        int b = m->partner[a], d = m->partner[c];
        if (c == b) continue;
        double now = cost_of(m, a, b) + cost_of(m, c, d);
        double straight = d < 0 ? INFINITY : cost_of(m, a, c) + cost_of(m, b, d),
               crossed = cost_of(m, a, d) + cost_of(m, b, c);
        if (fmin(straight, crossed) >= now) continue;
        better = true;
        if (straight <= crossed) pair_up(m, a, c), pair_up(m, b, d);
        else pair_up(m, a, d), pair_up(m, b, c);
      }
  }
}

// Pairs in the order of their lower channel; one that is alone goes last.
static void write_order(const matching *m, int64_t *order) {
  int at = 0;
  for (int c = 0; c < m->count; c++) {
    if (m->partner[c] < 0) order[m->count - 1] = c;
    else if (m->partner[c] > c) order[at++] = c, order[at++] = m->partner[c];
  }
}

// ---- Sets ----

// A product that reads a set, one of a list.
typedef struct set_reader {
  const dq_node *node;
  int64_t first; // of its input channels that are the set
  int next;      // place of the next product in `readers`; 0: this is the last
} set_reader;

typedef struct permuter {
  dq_graph *graph;
  dq_channel_map map;
  set_reader *readers;       // from place 1 on
  int *first_reader;         // by root set: place in `readers`; 0: none
  dq_channel_orders *chosen; // by root set
  dq_arena *arena;
  dq_error *error;
} permuter;

static void make_symmetric(double *cost, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < i; j++) cost[i * count + j] = cost[j * count + i] += cost[i * count + j];
}

// What the products read that mix channels, and how many parts that are.
static int count_parts(const permuter *p) {
  dq_product product;
  int count = 0;
  for (int n = 0; n < p->graph->node_count; n++)
    if (dq_node_mixes_channels(p->graph->nodes[n], &product))
      count += p->map.values[p->graph->nodes[n]->inputs[0]->index].count;
  return count;
}

// The readers of every set, in the order of the nodes: nodes are taken from the last to the first, each in front of the
// list.
static dq_status list_readers(permuter *p) {
  int used = 0;
  dq_product product;
  p->readers = DQ_NEW_ARRAY(p->arena, count_parts(p) + 1, set_reader);
  p->first_reader = DQ_NEW_ARRAY(p->arena, p->map.set_count + 1, int);
  if (!p->readers || !p->first_reader) return dq_fail_memory(p->error, 0);
  for (int n = p->graph->node_count - 1; n >= 0; n--) {
    const dq_node *node = p->graph->nodes[n];
    if (!dq_node_mixes_channels(node, &product)) continue;
    const dq_value_channels *channels = &p->map.values[node->inputs[0]->index];
    for (int i = channels->count - 1; i >= 0; i--) {
      int *first = &p->first_reader[dq_channel_set_root(&p->map, channels->parts[i].set)];
      p->readers[++used] = (set_reader){node, channels->parts[i].first, *first};
      *first = used;
    }
  }
  return DQ_OK;
}

// The products that read the set, added up.
static dq_status add_costs(const permuter *p, int set, double *cost) {
  for (int r = p->first_reader[set]; r; r = p->readers[r].next)
    DQ_TRY(add_reader(p->readers[r].node, p->readers[r].first, (int)p->map.sets[set].count, cost, p->error));
  return DQ_OK;
}

static dq_status choose_order(permuter *p, int set, double *cost) {
  int count = (int)p->map.sets[set].count;
  if (!p->first_reader[set]) return DQ_OK;
  matching m = {count, cost, DQ_NEW_ARRAY(p->arena, count, int)};
  burden *order = DQ_NEW_ARRAY(p->arena, count, burden);
  int64_t *result = DQ_NEW_ARRAY(p->chosen->arena, count, int64_t);
  if (!m.partner || !order || !result) return dq_fail_memory(p->error, (size_t)count * sizeof *result);
  memset(cost, 0, (size_t)count * (size_t)count * sizeof *cost);
  DQ_TRY(add_costs(p, set, cost));
  make_symmetric(cost, count);
  for (int c = 0; c < count; c++) m.partner[c] = (c ^ 1) < count ? c ^ 1 : -1;
  double before = total(&m);
  match_greedily(&m, order);
  improve(&m);
  if (!(total(&m) < before)) return DQ_OK;
  write_order(&m, result);
  p->chosen->orders[set] = result;
  return DQ_OK;
}

static dq_status choose_orders(permuter *p) {
  int64_t widest = 0;
  p->chosen->orders = DQ_NEW_ARRAY(p->chosen->arena, p->map.set_count + 1, int64_t *);
  if (!p->chosen->orders) return dq_fail_memory(p->error, (size_t)p->map.set_count * sizeof(int64_t *));
  DQ_TRY(list_readers(p));
  for (int s = 0; s < p->map.set_count; s++)
    if (p->map.sets[s].count <= MOST_CHANNELS && p->map.sets[s].count > widest) widest = p->map.sets[s].count;
  double *cost = malloc((size_t)(widest * widest) * sizeof *cost + 1);
  dq_status status = cost ? DQ_OK : dq_fail_memory(p->error, (size_t)(widest * widest) * sizeof *cost);
  for (int s = 0; status == DQ_OK && s < p->map.set_count; s++) {
    const dq_channel_set *set = &p->map.sets[s];
    if (set->joined == s && !set->fixed && set->count > 2 && set->count <= MOST_CHANNELS)
      status = choose_order(p, s, cost);
  }
  free(cost);
  return status;
}

// ---- Applying ----

// The order of all channels of a value; NULL when none has moved (or there is no memory: *error).
static const int64_t *order_of(permuter *p, const dq_value *value, int64_t *count, dq_status *status) {
  const dq_value_channels *channels = &p->map.values[value->index];
  bool any = false;
  *count = 0;
  for (int i = 0; i < channels->count; i++) {
    int set = dq_channel_set_root(&p->map, channels->parts[i].set);
    any |= p->chosen->orders[set] != NULL;
    *count += p->map.sets[set].count;
  }
  if (!any) return NULL;
  int64_t *order = DQ_NEW_ARRAY(p->arena, *count, int64_t);
  if (!order) *status = dq_fail_memory(p->error, (size_t)*count * sizeof *order);
  for (int i = 0; order && i < channels->count; i++) {
    int set = dq_channel_set_root(&p->map, channels->parts[i].set);
    int64_t first = channels->parts[i].first;
    for (int64_t c = 0; c < p->map.sets[set].count; c++)
      order[first + c] = first + (p->chosen->orders[set] ? p->chosen->orders[set][c] : c);
  }
  return order;
}

// Gives the node an initializer of its own in which slice i of `axis` is what was slice order[i].
static dq_status permute_constant(const permuter *p, dq_node *node, int input, int axis, const int64_t *order) {
  dq_tensor *tensor = dq_private_constant(p->graph, node, input);
  int64_t count = node->inputs[input]->constant->dims[axis];
  int64_t inner = dq_tensor_product(node->inputs[input]->constant, axis + 1, node->inputs[input]->constant->rank);
  float *before = malloc((size_t)(count * inner) * sizeof *before);
  dq_status status = tensor && before ? DQ_OK : dq_fail_memory(p->error, (size_t)(count * inner) * sizeof *before);
  int64_t outer = status == DQ_OK ? dq_tensor_product(tensor, 0, axis) : 0;
  for (int64_t o = 0; o < outer; o++) {
    float *to = (float *)tensor->data + o * count * inner;
    memcpy(before, to, (size_t)(count * inner) * sizeof *before);
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * inner, before + order[i] * inner, (size_t)inner * sizeof *before);
  }
  free(before);
  return status;
}

static dq_status permute_node(permuter *p, dq_node *node) {
  dq_product product;
  bool mixes = dq_node_mixes_channels(node, &product), depthwise = !mixes && dq_node_is_depthwise(node, &product);
  if (!mixes && !depthwise) return DQ_OK;
  int64_t in_count, out_count;
  dq_status status = DQ_OK;
  const int64_t *in = order_of(p, node->inputs[0], &in_count, &status);
  const int64_t *out = order_of(p, node->outputs[0], &out_count, &status);
  DQ_TRY(status);
  if (in && mixes) DQ_TRY(permute_constant(p, node, 1, product.input_axis, in));
  if (!out) return DQ_OK;
  DQ_TRY(permute_constant(p, node, 1, product.output_axis, out));
  return dq_node_input(node, product.at.bias) ? permute_constant(p, node, product.at.bias, 0, out) : DQ_OK;
}

static dq_status list_values(permuter *p, const dq_permuted_value **values, int *count) {
  dq_permuted_value *list = DQ_NEW_ARRAY(p->arena, p->graph->value_count + 1, dq_permuted_value);
  dq_status status = DQ_OK;
  if (!list) return dq_fail_memory(p->error, (size_t)p->graph->value_count * sizeof *list);
  for (int v = 0; v < p->graph->value_count; v++) {
    int64_t channels;
    const int64_t *order = order_of(p, p->graph->values[v], &channels, &status);
    DQ_TRY(status);
    if (order) list[(*count)++] = (dq_permuted_value){p->graph->values[v]->name, channels, order};
  }
  *values = list;
  return DQ_OK;
}

dq_status dq_permute_for_pairs(dq_graph *graph, const dq_shape_request *shapes, dq_channel_orders *known,
                               const dq_permuted_value **values, int *count, dq_arena *arena, const dq_context *context,
                               dq_error *error) {
  dq_channel_orders own = {.arena = arena};
  permuter p = {.graph = graph, .chosen = known ? known : &own, .arena = arena, .error = error};
  dq_tensor *tensors;
  int nodes = graph->node_count;
  *values = NULL, *count = 0;
  DQ_TRY(dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  DQ_TRY(dq_channel_map_find(&p.map, graph, tensors, arena, error));
  if (!p.chosen->orders) DQ_TRY(choose_orders(&p));
  DQ_TRY(list_values(&p, values, count));
  if (!*count) return DQ_OK;
  for (int n = 0; n < nodes; n++) DQ_TRY(permute_node(&p, graph->nodes[n]));
  return dq_graph_drop_constants(graph, error);
}
