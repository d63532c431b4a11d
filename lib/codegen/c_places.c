// Places of values: the schedule's, less those that the caller's memory replaces.
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"
#include "lib/schedule/offsets.h"

enum { ALIGNMENT = 16 };

// The value whose memory holds that of `value`, and the distance from its start.
static int top_of(const dq_schedule *schedule, int value, size_t *shift) {
  const dq_place *place = dq_schedule_place(schedule, value);
  int top = place->root;
  *shift = 0;
  for (place = dq_schedule_place(schedule, top); place->joined >= 0; place = dq_schedule_place(schedule, top)) {
    *shift += place->shift;
    top = dq_schedule_place(schedule, place->joined)->root;
  }
  return top;
}

static size_t bytes_of(const dq_schedule *schedule, int value) {
  return dq_tensor_bytes(dq_schedule_tensor(schedule, value));
}

// Inputs lie with the caller. An output does when it begins where the memory that it lies in begins and fills it.
static void place_ports(const dq_codegen *made, dq_codegen_place *tops) {
  const dq_schedule *schedule = made->session.schedule;
  const dq_graph *graph = dq_schedule_graph(schedule);
  for (int i = 0; i < made->input_count; i++)
    tops[dq_schedule_input(schedule, i)->index] = (dq_codegen_place){DQ_HOME_INPUT, i, 0};
  for (int o = 0; o < graph->output_count; o++) {
    int value = graph->outputs[o]->index;
    size_t shift;
    if (dq_schedule_place(schedule, value)->storage != DQ_STORED_BLOCK) continue;
    int top = top_of(schedule, value, &shift);
    if (tops[top].home == DQ_HOME_NOWHERE && !shift && bytes_of(schedule, top) == bytes_of(schedule, value))
      tops[top] = (dq_codegen_place){DQ_HOME_OUTPUT, o, 0};
  }
}

static dq_status place_rest(dq_codegen *made, dq_codegen_place *tops, dq_span *spans, dq_error *error) {
  const dq_schedule *schedule = made->session.schedule;
  int count = 0, values = dq_schedule_graph(schedule)->value_count;
  size_t live;
  for (int v = 0; v < values; v++) {
    const dq_place *place = dq_schedule_place(schedule, v);
    bool is_top = place->storage == DQ_STORED_BLOCK && place->root == v && place->joined < 0;
    if (!is_top || tops[v].home != DQ_HOME_NOWHERE) continue;
    size_t own = dq_round_up(bytes_of(schedule, v), ALIGNMENT);
    spans[count++] =
        (dq_span){.bytes = own ? own : ALIGNMENT, .value = v, .first = place->opened, .last = place->ended};
  }
  for (int t = 0; t < made->step_count; t++)
    if (made->steps[t].scratch_bytes)
      spans[count++] = (dq_span){
          .bytes = dq_round_up(made->steps[t].scratch_bytes, ALIGNMENT), .value = values + t, .first = t, .last = t};
  made->arena_bytes = 0;
  if (count) DQ_TRY(dq_offsets_find(spans, count, made->step_count, &live, &made->arena_bytes, error));
  for (int i = 0; i < count; i++)
    if (spans[i].value < values) tops[spans[i].value] = (dq_codegen_place){DQ_HOME_ARENA, 0, spans[i].offset};
    else made->steps[spans[i].value - values].scratch_offset = spans[i].offset;
  return DQ_OK;
}

dq_status dq_codegen_places(dq_codegen *made, dq_codegen_place **places, dq_error *error) {
  const dq_schedule *schedule = made->session.schedule;
  int count = dq_schedule_graph(schedule)->value_count;
  dq_codegen_place *tops = DQ_NEW_ARRAY(made->arena, count + 1, dq_codegen_place);
  dq_span *spans = DQ_NEW_ARRAY(made->arena, count + made->step_count + 1, dq_span);
  *places = DQ_NEW_ARRAY(made->arena, count + 1, dq_codegen_place);
  if (!tops || !spans || !*places) return dq_fail_memory(error, (size_t)count * sizeof *tops);
  place_ports(made, tops);
  DQ_TRY(place_rest(made, tops, spans, error));
  for (int v = 0; v < count; v++) {
    size_t shift;
    if (dq_schedule_place(schedule, v)->storage != DQ_STORED_BLOCK) continue;
    (*places)[v] = tops[top_of(schedule, v, &shift)];
    (*places)[v].offset += shift;
  }
  return DQ_OK;
}
