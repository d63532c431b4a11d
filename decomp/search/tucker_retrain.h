// The retraining hook on a decomposed model, with all layers at once or with some at a time.
#ifndef DQ_DECOMP_TUCKER_RETRAIN_H
#define DQ_DECOMP_TUCKER_RETRAIN_H

#include "decomp/tucker/decomp.h"
#include "lib/retrain/retrain.h"

// dq_retrain on the decomposed `graph`, which has been written to `path`; the spec and the nodes of the hook are those
// of the report, whatever `hook` has there.
dq_status dq_tucker_retrain(const dq_graph *graph, const dq_tucker_report *report, const char *path,
                            const dq_retrain_options *hook, const dq_context *context, dq_error *error);

// The layers that `report` decomposed are decomposed again, `every` at a time: the first ones in the file
// hook->original, the next ones in what the hook made of the step before. After each step the model is written to
// `path` and retrained. `options` are those that the report came from; ranks are the report's. When a step fails,
// `path` holds the steps until then. Errors as dq_tucker_apply and dq_retrain.
dq_status dq_tucker_retrain_steps(const dq_tucker_report *report, const char *path, const dq_retrain_options *hook,
                                  const dq_tucker_options *options, int every, dq_error *error);

#endif
