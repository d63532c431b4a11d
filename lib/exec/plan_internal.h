#ifndef DQ_EXEC_PLAN_INTERNAL_H
#define DQ_EXEC_PLAN_INTERNAL_H

#include "lib/exec/plan.h"

typedef struct dq_step {
  dq_op op;
  bool dynamic; // shapes are known only while running
  int64_t nanoseconds;
} dq_step;

// Where a value lives. Values that share elements (views, in place) have one root.
typedef struct dq_place {
  int root;        // value index that owns the memory
  int first, last; // steps between which the memory must be kept; -1: before the first
  size_t bytes;    // of the root: the largest of all that share it
  size_t offset;   // in the block
  bool planned;    // has memory in the block
  bool computed;   // while planning, from constants and shapes: no step makes it
  bool in_place;   // of a root: a value that shares it is written over another
  int joined;      // of a root: the root it lies in, `shift` bytes from its start; -1: none
  size_t shift;
} dq_place;

struct dq_plan {
  dq_arena *arena;
  const dq_graph *graph;
  const dq_context *context;
  dq_tensor *tensors; // by value index
  dq_place *places;   // by value index
  bool *tapped;       // by value index
  dq_step *steps;
  int step_count;
  const dq_value **inputs;
  int input_count;
  void *block;
  size_t block_bytes, live_bytes, scratch_bytes, packed_bytes;
  void *scratch;
  dq_arena *run_arena; // values of dynamic steps, made anew every run
  dq_tap tap;
  void *tap_user;
  bool timing;
  double packing_time;
};

// join.c: puts inputs of concatenations into their results. live: step_count + 2 zeros.
void dq_plan_join(dq_plan *plan, size_t *live);

// memory.c: decides roots, lifetimes and offsets; sets block_bytes and live_bytes.
dq_status dq_plan_places(dq_plan *plan, dq_error *error);

#endif
