// Freeing the elements of constants once steps have packed them, so that a process that plans a network only once does
// not hold its weights twice.
#ifndef DQ_EXEC_SPENT_H
#define DQ_EXEC_SPENT_H

#include "lib/exec/plan_internal.h"

typedef struct dq_holder {
  const void *data;    // elements
  dq_tensor *constant; // a tensor with these elements, of one of both graphs
} dq_holder;

typedef struct dq_spent {
  dq_graph *graph;    // the graph whose copy that of the plan is; NULL: nothing is freed
  dq_holder *holders; // the constants of both graphs, sorted by `data`
  int holder_count;
  const void **readings; // the elements of the inputs of all steps, sorted; one entry for each input
  int reading_count;
} dq_spent;

// Opens *spent, which the caller closes, also after a failure. `graph` is the one whose copy that of the plan is, when
// nothing else will run it; NULL: nothing will be freed. Takes n log n time in the numbers of values and inputs.
// DQ_SYSTEM: there is no memory.
dq_status dq_spent_open(dq_spent *spent, const dq_plan *plan, dq_graph *graph, dq_error *error);
void dq_spent_close(dq_spent *spent);
// Frees the elements of the constants that `step` has packed and no other step reads; their `data` becomes NULL in both
// graphs.
void dq_spent_free(dq_spent *spent, dq_plan *plan, const dq_step *step);

#endif
