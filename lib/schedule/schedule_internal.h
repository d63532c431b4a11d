// The members of a schedule, for the files of this module.
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

// places.c: decides roots, lifetimes and offsets of all places; sets block_bytes and live_bytes. Steps and tensors must
// be set. DQ_SYSTEM: there is no memory.
dq_status dq_schedule_places(dq_schedule *schedule, dq_error *error);

// join.c: places inputs of concatenations inside of their results (dq_place.joined). DQ_SYSTEM: there is no memory.
dq_status dq_schedule_join(dq_schedule *schedule, dq_error *error);

#endif
