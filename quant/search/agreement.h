// The agreement of a quantized network with the float network as a figure, for bounds on accuracy without labels.
#ifndef DQ_QUANT_AGREEMENT_H
#define DQ_QUANT_AGREEMENT_H

#include "lib/eval/eval.h"
#include "lib/verdict/verdict.h"

// Runs `quantized` and options->graph on the pictures of the options. `result` receives one figure, `agreement`: the
// lowest dq_answers_agreement of the outputs, in percent. DQ_UNSUPPORTED: no output stands for answers; else statuses
// as dq_verdict_measure.
dq_status dq_agreement_run(dq_result *result, const dq_graph *quantized, const dq_evaluator_options *options,
                           const dq_context *context, dq_error *error);

// The result for a network compared with itself: 100 %.
dq_result dq_agreement_whole(int64_t pictures);

#endif
