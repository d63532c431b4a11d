// The retraining hook on a decomposed model, with all layers at once or with some at a time.
#ifndef DQ_DECOMP_TUCKER_RETRAIN_H
#define DQ_DECOMP_TUCKER_RETRAIN_H

#include "decomp/tucker/decomp.h"
#include "lib/retrain/retrain.h"

// Calls dq_retrain on the decomposed `graph`, which must have been written to `path`. The spec and the nodes for the
// hook come from the report; those in `hook` are ignored. Statuses as dq_retrain.
dq_status dq_tucker_retrain(const dq_graph *graph, const dq_tucker_report *report, const char *path,
                            const dq_retrain_options *hook, const dq_context *context, dq_error *error);

// Decomposes the layers that `report` decomposed once more, `every` (> 0) at a time and at the ranks of the report: the
// first ones in the model of the file hook->original, the next ones in what the hook made of the step before. After
// each step the model is written to `path` and retrained. `options` are those that the report came from. When a step
// fails, `path` holds the model of the steps before. Statuses as dq_tucker_apply and dq_retrain.
dq_status dq_tucker_retrain_steps(const dq_tucker_report *report, const char *path, const dq_retrain_options *hook,
                                  const dq_tucker_options *options, int every, dq_error *error);

#endif
