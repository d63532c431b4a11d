#include "tests/unit/schedule_harness.h"

#include <stdlib.h>
#include <string.h>

// ---- Places ----

typedef struct living {
  size_t offset, end;
  int value;
} living;

static int by_offset(const void *a, const void *b) {
  const living *left = a, *right = b;
  if (left->offset != right->offset) return left->offset < right->offset ? -1 : 1;
  return left->value - right->value;
}

static living living_of(const dq_schedule *schedule, int value) {
  size_t offset = dq_schedule_place(schedule, value)->offset;
  return (living){offset, offset + dq_tensor_bytes(dq_schedule_tensor(schedule, value)), value};
}

static bool in_block(const dq_schedule *schedule, const dq_value *value) {
  return value && dq_schedule_place(schedule, value->index)->storage == DQ_STORED_BLOCK;
}

static bool overlap(living a, living b) { return a.offset < b.end && b.offset < a.end; }

static const dq_value *value_at(const dq_schedule *schedule, int value) {
  return dq_schedule_graph(schedule)->values[value];
}

static unsigned flags_of(const dq_value *value) { return value->producer ? dq_node_flags(value->producer) : 0; }

// The value whose elements it has, in the same place, through views.
static const dq_value *source_of(const dq_schedule *schedule, const dq_value *value) {
  while ((flags_of(value) & DQ_OP_VIEW) && value == value->producer->outputs[0]) {
    const dq_value *input = value->producer->inputs[0];
    if (!in_block(schedule, input) ||
        dq_schedule_place(schedule, input->index)->offset != dq_schedule_place(schedule, value->index)->offset)
      break;
    value = input;
  }
  return value;
}

// Whether what lies in `part` are elements of `whole`, in the place that a concatenation gives them.
static bool holds(const dq_schedule *schedule, const dq_value *whole, const dq_value *part) {
  whole = source_of(schedule, whole);
  if (whole == source_of(schedule, part)) return true;
  if (!(flags_of(whole) & DQ_OP_JOIN)) return false;
  const dq_node *node = whole->producer;
  living found = living_of(schedule, part->index);
  size_t at = dq_schedule_place(schedule, whole->index)->offset;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *input = node->inputs[i];
    bool there = in_block(schedule, input) && dq_schedule_place(schedule, input->index)->offset == at;
    if (there && overlap(living_of(schedule, input->index), found) && holds(schedule, input, part)) return true;
    at += dq_tensor_bytes(dq_schedule_tensor(schedule, input->index));
  }
  return false;
}

// Whether the step writes `to` over its first operand `from`, which nothing reads later, also through views.
static bool written_over(const dq_schedule *schedule, int step, const dq_value *from, const dq_value *to) {
  const dq_node *node = dq_schedule_step_at(schedule, step)->node;
  const dq_tensor *before = dq_schedule_tensor(schedule, from->index), *after = dq_schedule_tensor(schedule, to->index);
  if (to->producer != node || to != node->outputs[0] || !(flags_of(to) & DQ_OP_IN_PLACE)) return false;
  if (source_of(schedule, node->inputs[0]) != source_of(schedule, from)) return false;
  if (before->type != after->type || dq_tensor_bytes(before) != dq_tensor_bytes(after)) return false;
  for (int i = 1; i < node->input_count; i++)
    if (in_block(schedule, node->inputs[i]) && source_of(schedule, node->inputs[i]) == source_of(schedule, from))
      return false;
  return dq_schedule_place(schedule, from->index)->last == step;
}

static void check_pair(const dq_schedule *schedule, int step, int a, int b) {
  const dq_value *left = value_at(schedule, a), *right = value_at(schedule, b);
  bool same = holds(schedule, left, right) || holds(schedule, right, left);
  if (same || written_over(schedule, step, left, right) || written_over(schedule, step, right, left)) return;
  fail_msg("step %d: values '%s' and '%s' share memory", step, left->name, right->name);
}

static void check_step(const dq_schedule *schedule, int step, living *all) {
  int count = 0;
  for (int v = 0; v < dq_schedule_graph(schedule)->value_count; v++) {
    const dq_place *place = dq_schedule_place(schedule, v);
    if (place->storage == DQ_STORED_BLOCK && place->first <= step && step <= place->last)
      all[count++] = living_of(schedule, v);
  }
  qsort(all, (size_t)count, sizeof *all, by_offset);
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count && all[j].offset < all[i].end; j++)
      if (overlap(all[i], all[j])) check_pair(schedule, step, all[i].value, all[j].value);
}

static void check_lifetime(const dq_schedule *schedule, const dq_value *value, const int *step_of) {
  const dq_place *place = dq_schedule_place(schedule, value->index);
  const dq_tensor *tensor = dq_schedule_tensor(schedule, value->index);
  int steps = dq_schedule_step_count(schedule);
  assert_true((tensor->data != NULL) == (place->storage == DQ_STORED_SCHEDULE));
  if (value->constant) assert_int_equal(place->storage, DQ_STORED_GRAPH);
  if (place->storage != DQ_STORED_BLOCK) return;
  int first = value->producer ? step_of[value->producer->index] : -1, last = first;
  for (int u = 0; u < value->user_count; u++)
    if (step_of[value->users[u]->index] > last) last = step_of[value->users[u]->index];
  if (value->is_input || value->is_output) last = steps;
  assert_int_equal(place->first, first);
  assert_int_equal(place->last, last);
  assert_true(place->offset + dq_tensor_bytes(tensor) <= dq_schedule_bytes(schedule));
  if (place->root == value->index && place->joined < 0) assert_int_equal(place->offset % 64, 0);
}

void check_places(const dq_schedule *schedule) {
  const dq_graph *graph = dq_schedule_graph(schedule);
  int *step_of = malloc(((size_t)graph->node_count + 1) * sizeof *step_of);
  living *all = malloc(((size_t)graph->value_count + 1) * sizeof *all);
  for (int n = 0; n < graph->node_count; n++) step_of[n] = -1;
  for (int s = 0; s < dq_schedule_step_count(schedule); s++) {
    const dq_node *node = dq_schedule_step_at(schedule, s)->node;
    step_of[node->index] = s;
    for (int i = 0; i < node->input_count; i++)
      if (node->inputs[i] && node->inputs[i]->producer) assert_true(step_of[node->inputs[i]->producer->index] < s);
  }
  for (int v = 0; v < graph->value_count; v++) check_lifetime(schedule, graph->values[v], step_of);
  for (int s = 0; s < dq_schedule_step_count(schedule); s++) check_step(schedule, s, all);
  assert_true(dq_schedule_bytes(schedule) >= dq_schedule_live_bytes(schedule));
  free(step_of);
  free(all);
}

// ---- Two schedules ----

static void same_place(const dq_place *a, const dq_place *b) {
  assert_int_equal(a->storage, b->storage);
  assert_int_equal(a->first, b->first);
  assert_int_equal(a->last, b->last);
  assert_int_equal(a->root, b->root);
  assert_int_equal(a->opened, b->opened);
  assert_int_equal(a->ended, b->ended);
  assert_int_equal(a->bytes, b->bytes);
  assert_int_equal(a->offset, b->offset);
  assert_int_equal(a->in_place, b->in_place);
  assert_int_equal(a->joined, b->joined);
  assert_int_equal(a->shift, b->shift);
}

static void same_tensor(const dq_tensor *a, const dq_tensor *b, bool elements) {
  assert_int_equal(a->type, b->type);
  assert_true(dq_tensor_same_shape(a, b));
  assert_int_equal(a->data != NULL, b->data != NULL);
  if (elements && a->data && dq_tensor_bytes(a)) assert_memory_equal(a->data, b->data, dq_tensor_bytes(a));
}

void same_schedule(const dq_schedule *a, const dq_schedule *b, bool elements) {
  const dq_graph *left = dq_schedule_graph(a), *right = dq_schedule_graph(b);
  assert_int_equal(left->value_count, right->value_count);
  assert_int_equal(dq_schedule_step_count(a), dq_schedule_step_count(b));
  assert_int_equal(dq_schedule_bytes(a), dq_schedule_bytes(b));
  assert_int_equal(dq_schedule_live_bytes(a), dq_schedule_live_bytes(b));
  for (int s = 0; s < dq_schedule_step_count(a); s++) {
    const dq_schedule_step *x = dq_schedule_step_at(a, s), *y = dq_schedule_step_at(b, s);
    assert_int_equal(x->node->index, y->node->index);
    assert_ptr_equal(x->row, y->row);
    assert_int_equal(x->version, y->version);
    assert_int_equal(x->dynamic, y->dynamic);
  }
  assert_int_equal(dq_schedule_input_count(a), dq_schedule_input_count(b));
  for (int i = 0; i < dq_schedule_input_count(a); i++)
    assert_int_equal(dq_schedule_input(a, i)->index, dq_schedule_input(b, i)->index);
  for (int v = 0; v < left->value_count; v++) {
    assert_string_equal(left->values[v]->name, right->values[v]->name);
    same_tensor(dq_schedule_tensor(a, v), dq_schedule_tensor(b, v), elements);
    same_place(dq_schedule_place(a, v), dq_schedule_place(b, v));
  }
}
