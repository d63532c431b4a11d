#include "lib/session/pair.h"

dq_status dq_network_pair_open(dq_network_pair *pair, const dq_graph *const graphs[2], const char *const ends[2],
                               dq_data *data, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error) {
  *pair = (dq_network_pair){0};
  for (int i = 0; i < 2; i++) {
    dq_runner_options options = {.session.shapes = *shapes, .ends = &ends[i], .end_count = ends[i] != NULL};
    DQ_TRY(dq_runner_open(&pair->runners[i], graphs[i], data, &options, context, error));
  }
  return DQ_OK;
}

void dq_network_pair_close(dq_network_pair *pair) {
  for (int i = 0; i < 2; i++) dq_runner_close(&pair->runners[i]);
}

dq_status dq_network_pair_each(dq_network_pair *pair, const dq_picture_range *range, dq_runner_function after,
                               void *user, dq_error *error) {
  const dq_picture_loop loop = {&pair->runners[0], &pair->runners[1], .after = after, .user = user};
  return dq_picture_loop_run(&loop, range, error);
}
