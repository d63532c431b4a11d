#include "lib/session/session.h"

#include "lib/schedule/check_nodes.h"
#include "lib/passes/passes.h"

static dq_status mark_taps(dq_graph *copy, const dq_session_options *options, dq_error *error) {
  for (int i = 0; options && i < options->tap_count; i++) {
    dq_value *value = dq_graph_find(copy, options->taps[i]);
    if (!value) return dq_fail(error, DQ_BAD_INPUT, "the model has no value '%s'", options->taps[i]);
    value->is_tapped = true;
  }
  return DQ_OK;
}

static dq_status make_schedule(dq_session *session, const dq_session_options *options, const dq_context *context,
                               dq_error *error) {
  DQ_TRY(dq_check_nodes(session->copy, context, error));
  DQ_TRY(mark_taps(session->copy, options, error));
  const dq_shape_request *shapes = options ? &options->shapes : NULL;
  if (!options || !options->plain) DQ_TRY(dq_passes_run(session->copy, shapes, context, error));
  return dq_schedule_new(&session->schedule, session->copy, shapes, context, error);
}

static dq_status bind(dq_session *session, const dq_session_options *options, dq_random *places,
                      const dq_context *context, dq_error *error) {
  dq_binding binding = {.places = places};
  if (options)
    binding = (dq_binding){.convolutions = options->convolutions,
                           .convolution_count = options->convolution_count,
                           .spent = options->spent,
                           .lent = options->lent,
                           .places = places};
  DQ_TRY(dq_plan_bind(&session->plan, session->schedule, &binding, context, error));
  for (int i = 0; options && i < options->tap_count; i++) dq_plan_tap(session->plan, options->taps[i]);
  return DQ_OK;
}

dq_status dq_session_schedule(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                              const dq_context *context, dq_error *error) {
  *session = (dq_session){.copy = dq_graph_copy(graph)};
  if (!session->copy) return dq_fail_memory(error, 0);
  dq_status status = make_schedule(session, options, context, error);
  if (status != DQ_OK) dq_session_close(session);
  return status;
}

dq_status dq_session_open(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                          const dq_context *context, dq_error *error) {
  DQ_TRY(dq_session_schedule(session, graph, options, context, error));
  dq_status status = bind(session, options, NULL, context, error);
  if (status != DQ_OK) dq_session_close(session);
  return status;
}

dq_status dq_session_bind_again(dq_session *session, const dq_session_options *options, dq_random *places,
                                const dq_context *context, dq_error *error) {
  dq_plan_free(session->plan);
  session->plan = NULL;
  return bind(session, options, places, context, error);
}

void dq_session_close(dq_session *session) {
  dq_plan_free(session->plan);
  dq_schedule_free(session->schedule);
  dq_graph_free(session->copy);
  *session = (dq_session){0};
}
