// Two networks side by side on the same pictures, such as one in float and its quantized form.
#ifndef DQ_SESSION_PAIR_H
#define DQ_SESSION_PAIR_H

#include "lib/session/runner.h"

typedef struct dq_network_pair {
  dq_runner runners[2];
} dq_network_pair;

// ends[i]: name of the value that network i is run to; NULL: to its outputs. Fails as dq_runner_open. Safe to close
// when it fails.
dq_status dq_network_pair_open(dq_network_pair *pair, const dq_graph *const graphs[2], const char *const ends[2],
                               dq_data *data, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error);
void dq_network_pair_close(dq_network_pair *pair);
// Runs both on a picture; their outputs are then in the plans.
dq_status dq_network_pair_run(dq_network_pair *pair, int64_t picture, dq_error *error);
static inline dq_plan *dq_network_pair_plan(const dq_network_pair *pair, int network) {
  return pair->runners[network].session.plan;
}

#endif
