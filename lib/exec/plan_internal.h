// The members of a plan, for the files of this module.
#ifndef DQ_EXEC_PLAN_INTERNAL_H
#define DQ_EXEC_PLAN_INTERNAL_H

#include "lib/exec/plan.h"

typedef struct dq_step {
  dq_op op;
  int algorithm; // the dq_conv_choice that a dq_conv_setting asks for
  bool named;    // that setting has a pattern
  dq_step_choice choice;
  int64_t nanoseconds;
} dq_step;

struct dq_plan {
  dq_arena *arena;
  const dq_schedule *schedule;
  dq_schedule *own;      // the same when the plan owns it, else NULL
  const dq_plan *origin; // the plan that owns the packed operands; NULL: this one does
  const dq_graph *graph;
  const dq_context *context;
  dq_context alone;   // the same without threads, for steps that one thread computes
  dq_tensor *tensors; // by value index: those of the schedule, with elements
  bool *tapped;       // by value index
  dq_step *steps;
  int step_count;
  void *block;
  bool lent;         // block and workspace are lent by the caller
  dq_arena *packing; // packed operands and workspace; NULL: packing failed
  size_t workspace_bytes, packed_bytes;
  double packing_time;
  dq_arena *run_arena; // values of dynamic steps, made anew every run
  dq_tap tap;
  void *tap_user;
  bool timing;
  int64_t (*clock)(void); // of timing
};

// Sets `data` of each tensor of plan->tensors whose place is in the block (DQ_STORED_BLOCK) to plan->block plus its
// offset; plan->block is not NULL. Called when the plan is bound and whenever its block changes.
void dq_plan_place_values(dq_plan *plan);

#endif
