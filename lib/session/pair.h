// Two networks side by side on the same pictures, such as one in float and its quantized form.
#ifndef DQ_SESSION_PAIR_H
#define DQ_SESSION_PAIR_H

#include "lib/session/runner.h"

typedef struct dq_network_pair {
  dq_runner runners[2];
} dq_network_pair;

// Opens a runner for each graph. ends[i] is the name of the value that network i computes and then stops; NULL: it
// computes its outputs. Graphs, data and context must outlive the pair. The caller closes the pair, also after a
// failure. Statuses as dq_runner_open.
dq_status dq_network_pair_open(dq_network_pair *pair, const dq_graph *const graphs[2], const char *const ends[2],
                               dq_data *data, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error);
void dq_network_pair_close(dq_network_pair *pair);
// Reads each picture of the range once and runs both networks on it. `after` is called with both outputs in the plans.
// Statuses as dq_picture_loop_run.
dq_status dq_network_pair_each(dq_network_pair *pair, const dq_picture_range *range, dq_runner_function after,
                               void *user, dq_error *error);
// The plan of a network, 0 or 1, which the pair owns.
static inline dq_plan *dq_network_pair_plan(const dq_network_pair *pair, int network) {
  return pair->runners[network].session.plan;
}

#endif
