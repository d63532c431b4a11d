#include "lib/session/session.h"

#include "lib/exec/check_nodes.h"
#include "lib/passes/passes.h"

static dq_status mark_taps(dq_graph *copy, const dq_session_options *options, dq_error *error) {
  for (int i = 0; options && i < options->tap_count; i++) {
    dq_value *value = dq_graph_find(copy, options->taps[i]);
    if (!value) return dq_fail(error, DQ_BAD_INPUT, "the model has no value '%s'", options->taps[i]);
    value->is_captured = true;
  }
  return DQ_OK;
}

static dq_status open_session(dq_session *session, const dq_session_options *options, const dq_context *context,
                              dq_error *error) {
  DQ_TRY(dq_check_nodes(session->copy, context, error));
  DQ_TRY(mark_taps(session->copy, options, error));
  const dq_shape_request *shapes = options ? &options->shapes : NULL;
  if (!options || !options->plain) DQ_TRY(dq_passes_run(session->copy, shapes, context, error));
  dq_plan_options plan_options = {0};
  if (options)
    plan_options =
        (dq_plan_options){options->shapes, options->convolutions, options->convolution_count, options->spent};
  DQ_TRY(dq_plan_new(&session->plan, session->copy, &plan_options, context, error));
  for (int i = 0; options && i < options->tap_count; i++) dq_plan_tap(session->plan, options->taps[i]);
  return DQ_OK;
}

dq_status dq_session_open(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                          const dq_context *context, dq_error *error) {
  *session = (dq_session){.copy = dq_graph_copy(graph)};
  if (!session->copy) return dq_fail_memory(error, 0);
  dq_status status = open_session(session, options, context, error);
  if (status != DQ_OK) dq_session_close(session);
  return status;
}

void dq_session_close(dq_session *session) {
  dq_plan_free(session->plan);
  dq_graph_free(session->copy);
  *session = (dq_session){0};
}
