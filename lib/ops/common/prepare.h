// Running operators that pack constants without a plan: preparation and run in one call.
#ifndef DQ_OPS_PREPARE_H
#define DQ_OPS_PREPARE_H

#include "lib/ops/table/operator.h"

// Calls the row's prepare into a temporary arena and runs the row with the state and the scratch it
// asked for. For the run function of a row whose prepare, once all elements are known, always sets
// op->state. DQ_SYSTEM when there is no memory, DQ_BAD_INPUT when prepare leaves no state.
dq_status dq_op_run_unprepared(dq_op *op);

#endif
