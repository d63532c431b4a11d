// Lifetimes of values, which of them share memory, and their places in one block.
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/schedule/offsets.h"
#include "lib/schedule/schedule_internal.h"

enum { ALIGNMENT = 64 };

static int root_of(const dq_schedule *schedule, int value) { return schedule->places[value].root; }

static bool is_planned(const dq_schedule *schedule, int value) {
  return schedule->places[value].storage == DQ_STORED_BLOCK;
}

// Makes `value` live in the memory of `owner`.
static void share(dq_schedule *schedule, int value, int owner) {
  dq_place *place = &schedule->places[value], *root = &schedule->places[root_of(schedule, owner)];
  place->root = root_of(schedule, owner);
  if (place->opened < root->opened) root->opened = place->opened;
  if (place->ended > root->ended) root->ended = place->ended;
}

static void start_places(dq_schedule *schedule) {
  const dq_graph *graph = schedule->graph;
  for (int v = 0; v < graph->value_count; v++) {
    const dq_value *value = graph->values[v];
    dq_place *place = &schedule->places[v];
    *place = (dq_place){.storage = place->storage, .root = v, .first = -1, .last = -1, .joined = -1};
    place->bytes = dq_round_up(dq_tensor_bytes(&schedule->tensors[v]), ALIGNMENT);
    if (!place->bytes) place->bytes = ALIGNMENT;
    if (value->is_output || value->is_input) place->last = schedule->step_count;
  }
}

static void find_lifetimes(dq_schedule *schedule) {
  start_places(schedule);
  for (int s = 0; s < schedule->step_count; s++) {
    const dq_node *node = schedule->steps[s].node;
    for (int i = 0; i < node->input_count; i++)
      if (node->inputs[i] && schedule->places[node->inputs[i]->index].last < s)
        schedule->places[node->inputs[i]->index].last = s;
    for (int i = 0; i < node->output_count; i++) {
      if (!node->outputs[i]) continue;
      dq_place *place = &schedule->places[node->outputs[i]->index];
      place->first = s;
      if (place->last < s) place->last = s;
    }
  }
  for (int v = 0; v < schedule->graph->value_count; v++) {
    dq_place *place = &schedule->places[v];
    place->opened = place->first, place->ended = place->last;
  }
}

// Output 0 lies where input 0 lies when the operator allows it and nothing needs the input later.
static void share_with_input(dq_schedule *schedule, int s) {
  const dq_node *node = schedule->steps[s].node;
  unsigned flags = schedule->steps[s].row->flags;
  const dq_value *input = dq_node_input(node, 0), *output = dq_node_output(node, 0);
  if (!input || !output || !is_planned(schedule, input->index) || !is_planned(schedule, output->index)) return;
  const dq_tensor *from = &schedule->tensors[input->index], *to = &schedule->tensors[output->index];
  if (from->type != to->type || dq_tensor_bytes(from) != dq_tensor_bytes(to)) return;
  bool view = flags & DQ_OP_VIEW;
  bool in_place = (flags & DQ_OP_IN_PLACE) && dq_tensor_same_shape(from, to) &&
                  schedule->places[root_of(schedule, input->index)].ended == s;
  for (int i = 1; in_place && i < node->input_count; i++) // another operand in the same memory
    in_place = !node->inputs[i] || root_of(schedule, node->inputs[i]->index) != root_of(schedule, input->index);
  if (!view && !in_place) return;
  share(schedule, output->index, input->index);
  schedule->places[root_of(schedule, output->index)].in_place |= !view;
}

// The result of a concatenation stands behind the values that lie in it, so it is looked at first.
static void find_joined_offsets(dq_schedule *schedule) {
  for (int s = schedule->step_count - 1; s >= 0; s--) {
    const dq_node *node = schedule->steps[s].node;
    for (int i = 0; i < node->output_count; i++) {
      dq_place *place = node->outputs[i] ? &schedule->places[node->outputs[i]->index] : NULL;
      if (place && place->joined >= 0) place->offset = schedule->places[place->joined].offset + place->shift;
    }
  }
  for (int v = 0; v < schedule->graph->value_count; v++)
    if (is_planned(schedule, v)) schedule->places[v].offset = schedule->places[root_of(schedule, v)].offset;
}

static dq_status find_offsets(dq_schedule *schedule, dq_span *spans, dq_error *error) {
  int count = 0;
  for (int v = 0; v < schedule->graph->value_count; v++) {
    const dq_place *p = &schedule->places[v];
    if (is_planned(schedule, v) && p->root == v && p->joined < 0)
      spans[count++] = (dq_span){.bytes = p->bytes, .value = v, .first = p->opened, .last = p->ended};
  }
  DQ_TRY(dq_offsets_find(spans, count, schedule->step_count, &schedule->live_bytes, &schedule->block_bytes, error));
  for (int i = 0; i < count; i++) schedule->places[spans[i].value].offset = spans[i].offset;
  find_joined_offsets(schedule);
  return DQ_OK;
}

dq_status dq_schedule_places(dq_schedule *schedule, dq_error *error) {
  find_lifetimes(schedule);
  for (int s = 0; s < schedule->step_count; s++) share_with_input(schedule, s);
  DQ_TRY(dq_schedule_join(schedule, error));
  size_t most = (size_t)schedule->graph->value_count + 1;
  dq_span *spans = calloc(most, sizeof *spans);
  if (!spans) return dq_fail_memory(error, most * sizeof *spans);
  dq_status status = find_offsets(schedule, spans, error);
  free(spans);
  return status;
}
