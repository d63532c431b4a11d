// Random inputs of runs that are measured.
#ifndef DQ_MEASURE_FEED_H
#define DQ_MEASURE_FEED_H

#include "lib/base/random.h"
#include "lib/exec/plan.h"

// Fills an input with noise: floats in -1 to 1, integers with 0.
void dq_feed_noise(dq_tensor *input, dq_random *random);
// Makes the inputs of a plan in the arena: random numbers in -1 to 1 that come from context->seed; integers are 0.
// DQ_SYSTEM: there is no memory.
dq_status dq_feed_make(dq_tensor ***inputs, dq_plan *plan, const dq_context *context, dq_arena *arena, dq_error *error);
// Copies the inputs of dq_feed_make into their plan, or into another plan of the same schedule; to be called before
// every run, which may overwrite its inputs.
void dq_feed(dq_plan *plan, dq_tensor *const *inputs);

#endif
