// How many answers of a network are those of another, for pictures without labels: what changes no answer can lose
// no accuracy.
#ifndef DQ_QUANT_AGREEMENT_H
#define DQ_QUANT_AGREEMENT_H

#include "datasets/datasets.h"
#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

typedef struct dq_agreement {
  int64_t answers, equal;
} dq_agreement;

// Adds one output of one picture, float32 NxC or NxCxHxW...: an answer per N and position, the channel that is
// highest (the first of equal ones; with one channel: whether it is above 0.5). Where a channel of `other` is NaN or
// infinite and that of `exact` is not, answers differ. DQ_UNSUPPORTED: other outputs.
dq_status dq_agreement_add(dq_agreement *agreement, const dq_tensor *exact, const dq_tensor *other, dq_error *error);

// Runs both graphs on the first `pictures` of the data and compares their first outputs. The result has one figure,
// `agreement`: percent of the answers that are equal.
dq_status dq_agreement_run(dq_result *result, const dq_graph *exact, const dq_graph *other, dq_data *data,
                           int64_t pictures, const dq_shape_request *shapes, const dq_context *context,
                           dq_error *error);

// That of a network with itself.
dq_result dq_agreement_whole(int64_t pictures);

#endif
