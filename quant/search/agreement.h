// The agreement of two networks on pictures without labels: the share of equal predictions. If D percent of the
// predictions differ, accuracy can fall by D percentage points at most.
#ifndef DQ_QUANT_AGREEMENT_H
#define DQ_QUANT_AGREEMENT_H

#include "datasets/datasets.h"
#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

typedef struct dq_agreement {
  int64_t answers, equal; // predictions of each network; pairs of them that are equal
} dq_agreement;

// Adds one output of both networks, float32 of shape NxC or NxCxHxW...: a prediction for each N and each point is the
// channel with the highest element (of equal ones the first), or with one channel whether the element is above 0.5. Two
// predictions differ also where a channel of `other` is NaN or infinite and that of `exact` is not. DQ_UNSUPPORTED: the
// output has another type or shape.
dq_status dq_agreement_add(dq_agreement *agreement, const dq_tensor *exact, const dq_tensor *other, dq_error *error);

// Runs both graphs on the first `pictures` pictures of the data and compares their first outputs. `result` receives one
// figure, `agreement`: the percentage of equal predictions. Statuses as for dq_agreement_add and dq_runner_open.
dq_status dq_agreement_run(dq_result *result, const dq_graph *exact, const dq_graph *other, dq_data *data,
                           int64_t pictures, const dq_shape_request *shapes, const dq_context *context,
                           dq_error *error);

// The result for a network compared with itself: 100 %.
dq_result dq_agreement_whole(int64_t pictures);

#endif
