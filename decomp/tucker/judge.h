// The output error of a converted network against the original, on pictures.
#ifndef DQ_DECOMP_JUDGE_H
#define DQ_DECOMP_JUDGE_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

typedef struct dq_judge dq_judge;

// Runs the original on `pictures` pictures, evenly spread over the data, and stores its outputs of floats in *judge,
// which the caller frees. In place of an output that a Softmax computes its argument counts. Graph, data, shapes (may
// be NULL) and context must outlive the judge. Statuses as dq_runner_open.
dq_status dq_judge_open(dq_judge **judge, const dq_graph *original, dq_data *data, int64_t pictures,
                        const dq_shape_request *shapes, const dq_context *context, dq_error *error);
void dq_judge_free(dq_judge *judge); // NULL is allowed

// Runs `graph`, a converted copy of the original, on the pictures of the judge. *noise is the mean over the outputs of
// the sum of squared differences from the original, divided by the sum of squares of the original about the mean of
// that output; INFINITY when an element of an output is not finite. Statuses as for dq_runner_open.
dq_status dq_judge_noise(const dq_judge *judge, const dq_graph *graph, double *noise, dq_error *error);

#endif
