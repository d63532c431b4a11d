#ifndef DQ_SCHEDULE_SCHEDULE_INTERNAL_H
#define DQ_SCHEDULE_SCHEDULE_INTERNAL_H

#include "lib/schedule/schedule.h"

struct dq_schedule {
  dq_arena *arena;
  const dq_graph *graph;
  dq_tensor *tensors; // by value index
  dq_place *places;   // by value index
  dq_schedule_step *steps;
  int step_count;
  const dq_value **inputs;
  int input_count;
  size_t block_bytes, live_bytes;
};

// places.c: decides roots, lifetimes and offsets; sets block_bytes and live_bytes.
dq_status dq_schedule_places(dq_schedule *schedule, dq_error *error);

// join.c: puts inputs of concatenations into their results. DQ_SYSTEM.
dq_status dq_schedule_join(dq_schedule *schedule, dq_error *error);

#endif
