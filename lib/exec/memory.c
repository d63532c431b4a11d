// Places of values in one block: lifetimes from first to last use, values one after another, each in
// the smallest gap that fits. The order is that of orders[] which needs least, or one that comes of it when
// whatever then lies highest is placed first, again and again: by size and by breadth are from Pisarchyk and Lee,
// "Efficient memory management for deep neural net inference", 2020. Networks of more than MOST_ORDERED values are
// placed once, step by step, which takes time in proportion to how many are alive at once.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/exec/plan_internal.h"

enum { ALIGNMENT = 64, MOST_ORDERED = 4096 };

static int root_of(const dq_plan *plan, int value) { return plan->places[value].root; }

// Makes `value` live in the memory of `owner`.
static void share(dq_plan *plan, int value, int owner) {
  dq_place *place = &plan->places[value], *root = &plan->places[root_of(plan, owner)];
  place->root = root_of(plan, owner);
  if (place->first < root->first) root->first = place->first;
  if (place->last > root->last) root->last = place->last;
  if (place->bytes > root->bytes) root->bytes = place->bytes;
}

static bool is_planned(const dq_plan *plan, int value) { return plan->places[value].planned; }

static void find_lifetimes(dq_plan *plan) {
  const dq_graph *graph = plan->graph;
  for (int v = 0; v < graph->value_count; v++) {
    dq_place *place = &plan->places[v];
    *place = (dq_place){.root = v, .first = -1, .last = -1, .joined = -1};
    place->bytes = dq_round_up(dq_tensor_bytes(&plan->tensors[v]), ALIGNMENT);
    if (!place->bytes) place->bytes = ALIGNMENT;
    const dq_value *value = graph->values[v];
    place->planned = !plan->tensors[v].data && plan->tensors[v].rank >= 0 &&
                     (value->producer || (value->is_input && !value->constant));
    place->computed = plan->tensors[v].data && value->producer;
    if (value->is_output || value->is_input) place->last = plan->step_count;
  }
  for (int s = 0; s < plan->step_count; s++) {
    const dq_node *node = plan->steps[s].op.node;
    for (int i = 0; i < node->input_count; i++)
      if (node->inputs[i] && plan->places[node->inputs[i]->index].last < s)
        plan->places[node->inputs[i]->index].last = s;
    for (int i = 0; i < node->output_count; i++) {
      if (!node->outputs[i]) continue;
      dq_place *place = &plan->places[node->outputs[i]->index];
      place->first = s;
      if (place->last < s) place->last = s;
    }
  }
}

// Output 0 lies where input 0 lies when the operator allows it and nothing needs the input later.
static void share_with_inputs(dq_plan *plan) {
  for (int s = 0; s < plan->step_count; s++) {
    const dq_op *op = &plan->steps[s].op;
    const dq_value *input = dq_node_input(op->node, 0), *output = dq_node_output(op->node, 0);
    if (!input || !output || !is_planned(plan, input->index) || !is_planned(plan, output->index)) continue;
    const dq_tensor *from = op->inputs[0], *to = op->outputs[0];
    if (from->type != to->type || dq_tensor_bytes(from) != dq_tensor_bytes(to)) continue;
    bool view = op->row->flags & DQ_OP_VIEW;
    bool in_place = (op->row->flags & DQ_OP_IN_PLACE) && dq_tensor_same_shape(from, to) &&
                    plan->places[root_of(plan, input->index)].last == s;
    for (int i = 1; in_place && i < op->node->input_count; i++) // another operand in the same memory
      in_place = !op->node->inputs[i] || root_of(plan, op->node->inputs[i]->index) != root_of(plan, input->index);
    if (!view && !in_place) continue;
    share(plan, output->index, input->index);
    plan->places[root_of(plan, output->index)].in_place |= !view;
  }
}

typedef struct sized {
  size_t bytes, breadth; // breadth: the most that is alive at a step of its life
  int value, first, length;
} sized;

typedef int comparison(const void *a, const void *b);

static int by_size(const void *a, const void *b) {
  const sized *left = a, *right = b;
  if (left->bytes != right->bytes) return left->bytes < right->bytes ? 1 : -1;
  return left->value - right->value;
}
static int by_breadth(const void *a, const void *b) {
  const sized *left = a, *right = b;
  if (left->breadth != right->breadth) return left->breadth < right->breadth ? 1 : -1;
  return by_size(a, b);
}
static int by_length(const void *a, const void *b) {
  const sized *left = a, *right = b;
  if (left->length != right->length) return right->length - left->length;
  return by_size(a, b);
}
static int by_step(const void *a, const void *b) {
  const sized *left = a, *right = b;
  if (left->first != right->first) return left->first - right->first;
  return by_size(a, b);
}
static comparison *const orders[] = {by_size, by_breadth, by_length, by_step};
enum { ORDERS = sizeof orders / sizeof *orders };

typedef struct gap_search {
  size_t best, best_gap, end; // best offset, size of its gap
  bool found;
} gap_search;

// The lowest-waste offset for `place` among those placed already (in order of offset).
static size_t find_offset(const dq_plan *plan, const int *placed, int count, const dq_place *place) {
  gap_search search = {0};
  for (int i = 0; i < count; i++) {
    const dq_place *other = &plan->places[placed[i]];
    if (other->last < place->first || place->last < other->first) continue;
    if (other->offset > search.end) {
      size_t gap = other->offset - search.end;
      if (gap >= place->bytes && (!search.found || gap < search.best_gap))
        search.found = true, search.best = search.end, search.best_gap = gap;
    }
    if (other->offset + other->bytes > search.end) search.end = other->offset + other->bytes;
  }
  return search.found ? search.best : search.end;
}

static void insert_by_offset(const dq_plan *plan, int *placed, int count, int value) {
  int at = count;
  while (at > 0 && plan->places[placed[at - 1]].offset > plan->places[value].offset) {
    placed[at] = placed[at - 1];
    at--;
  }
  placed[at] = value;
}

// `changes` is zeroed, of step_count + 2 elements: what is alive from step to step, by wrapping differences.
static void find_live_bytes(dq_plan *plan, sized *roots, int count, size_t *changes) {
  for (int i = 0; i < count; i++) {
    int end = roots[i].first + roots[i].length;
    changes[roots[i].first < 0 ? 0 : roots[i].first] += roots[i].bytes;
    changes[end < plan->step_count ? end : plan->step_count] -= roots[i].bytes;
  }
  size_t live = 0;
  for (int s = 0; s < plan->step_count; s++) {
    live += changes[s];
    if (live > plan->live_bytes) plan->live_bytes = live;
    for (int i = 0; i < count && count <= MOST_ORDERED; i++)
      if (roots[i].first <= s && s < roots[i].first + roots[i].length && roots[i].breadth < live)
        roots[i].breadth = live;
  }
}

static void find_joined_offsets(dq_plan *plan) {
  for (int v = 0; v < plan->graph->value_count; v++) {
    size_t offset = 0;
    int at = v;
    for (; plan->places[at].joined >= 0; at = plan->places[at].joined) offset += plan->places[at].shift;
    if (at != v) plan->places[v].offset = plan->places[at].offset + offset;
  }
}

// The bytes that all need when they are placed in this order.
static size_t place_all(dq_plan *plan, const sized *roots, int count, int *placed) {
  size_t end = 0;
  for (int i = 0; i < count; i++) {
    dq_place *place = &plan->places[roots[i].value];
    place->offset = find_offset(plan, placed, i, place);
    insert_by_offset(plan, placed, i, roots[i].value);
    if (place->offset + place->bytes > end) end = place->offset + place->bytes;
  }
  return end;
}

// Brings the value that reaches highest to the front; false when it stands there.
static bool promote_highest(const dq_plan *plan, sized *roots, int count) {
  int highest = 0;
  size_t end = 0;
  for (int i = 0; i < count; i++) {
    const dq_place *place = &plan->places[roots[i].value];
    if (place->offset + place->bytes <= end) continue;
    end = place->offset + place->bytes;
    highest = i;
  }
  sized moved = roots[highest];
  memmove(roots + 1, roots, (size_t)highest * sizeof *roots);
  roots[0] = moved;
  return highest > 0;
}

// Those that end before `step` are taken out; how many are left.
static int drop_ended(const dq_plan *plan, int *placed, int count, int step) {
  int kept = 0;
  for (int i = 0; i < count; i++)
    if (plan->places[placed[i]].last >= step) placed[kept++] = placed[i];
  return kept;
}

// In the order of steps, among those alive alone.
static void place_by_step(dq_plan *plan, sized *roots, int count, int *placed) {
  int alive = 0;
  plan->block_bytes = 0;
  qsort(roots, (size_t)count, sizeof *roots, by_step);
  for (int i = 0; i < count; i++) {
    dq_place *place = &plan->places[roots[i].value];
    if (i && roots[i - 1].first != roots[i].first) alive = drop_ended(plan, placed, alive, place->first);
    place->offset = find_offset(plan, placed, alive, place);
    insert_by_offset(plan, placed, alive++, roots[i].value);
    if (place->offset + place->bytes > plan->block_bytes) plan->block_bytes = place->offset + place->bytes;
  }
}

// Every order, and what comes of it when whatever lies highest is placed first. `best` holds the order that needs
// least.
static void place_best(dq_plan *plan, sized *roots, sized *best, int count, int *placed) {
  enum { PROMOTIONS = 24 }; // of each order
  plan->block_bytes = SIZE_MAX;
  for (int order = 0; order < ORDERS && plan->block_bytes > plan->live_bytes; order++) {
    qsort(roots, (size_t)count, sizeof *roots, orders[order]);
    bool more = true;
    for (int i = 0; i <= PROMOTIONS && more && plan->block_bytes > plan->live_bytes; i++) {
      size_t bytes = place_all(plan, roots, count, placed);
      if (bytes < plan->block_bytes) {
        plan->block_bytes = bytes;
        memcpy(best, roots, (size_t)count * sizeof *roots);
      }
      more = promote_highest(plan, roots, count);
    }
  }
  (void)place_all(plan, best, count, placed);
}

dq_status dq_plan_places(dq_plan *plan, dq_error *error) {
  int values = plan->graph->value_count, count = 0;
  find_lifetimes(plan);
  share_with_inputs(plan);
  sized *roots = calloc(2 * (size_t)values + 2, sizeof *roots); // and the best order of them
  int *placed = calloc((size_t)values + 1, sizeof *placed);
  size_t *live = calloc((size_t)plan->step_count + 2, sizeof *live);
  if (!roots || !placed || !live) {
    free(roots);
    free(placed);
    free(live);
    return dq_fail_memory(error, (size_t)values * sizeof *roots);
  }
  dq_plan_join(plan, live);
  memset(live, 0, ((size_t)plan->step_count + 2) * sizeof *live);
  for (int v = 0; v < values; v++)
    if (is_planned(plan, v) && root_of(plan, v) == v && plan->places[v].joined < 0) {
      const dq_place *p = &plan->places[v];
      roots[count++] = (sized){.bytes = p->bytes, .value = v, .first = p->first, .length = p->last - p->first + 1};
    }
  find_live_bytes(plan, roots, count, live);
  if (count > MOST_ORDERED) place_by_step(plan, roots, count, placed);
  else place_best(plan, roots, roots + values + 1, count, placed);
  find_joined_offsets(plan);
  free(live);
  free(roots);
  free(placed);
  return DQ_OK;
}
