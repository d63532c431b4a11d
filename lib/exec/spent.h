// Constants whose elements are given back once steps have packed them, so that a network that is run just once does not
// hold its weights twice.
#ifndef DQ_EXEC_SPENT_H
#define DQ_EXEC_SPENT_H

#include "lib/exec/plan_internal.h"

typedef struct dq_holder {
  const void *data;
  dq_tensor *constant; // of either graph
} dq_holder;

typedef struct dq_spent {
  dq_graph *graph;    // beside the plan's own; NULL: nothing is given back
  dq_holder *holders; // constants of both graphs, by data
  int holder_count;
  const void **readings; // the elements of each input of a step, in order
  int reading_count;
} dq_spent;

// `graph` is that which the plan's is a copy of, when nothing else will run it, or NULL. Time n log n in the numbers of
// values and inputs.
dq_status dq_spent_open(dq_spent *spent, const dq_plan *plan, dq_graph *graph, dq_error *error);
void dq_spent_close(dq_spent *spent);
// Gives back the constants that no step but this one reads, which has packed them.
void dq_spent_give_back(dq_spent *spent, dq_plan *plan, const dq_step *step);

#endif
