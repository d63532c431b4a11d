// The conversion to float16 of the public interface: options in, the transform itself, facts out.
#include "lib/api/api_internal.h"
#include "quant/search/amp_task.h"

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_model_amp_options){0}, sizeof *options);
}

// What a call needs besides the model.
typedef struct work {
  dq_model *model;
  dq_amp_task task; // its arena has the ranges and becomes the model's
  dq_verdict verdict;
} work;

static dq_amp_request asked_of(const dq_model_amp_options *given) {
  return (dq_amp_request){.amp = {.half_io = given->half_io != 0,
                                  .nearest = given->nearest != 0,
                                  .unguarded = given->unguarded != 0,
                                  .input_max = given->input_max,
                                  .allow = given->allow,
                                  .allow_count = dq_api_count(given->allow),
                                  .follow = given->follow,
                                  .follow_count = dq_api_count(given->follow),
                                  .deny = given->deny,
                                  .deny_count = dq_api_count(given->deny),
                                  .deny_nodes = given->deny_nodes,
                                  .deny_node_count = dq_api_count(given->deny_nodes)},
                          .policy = given->policy,
                          .shapes = given->shapes,
                          .shape_count = dq_api_count(given->shapes)};
}

// Observes values of the model as it was, and judges the answer.
static dq_status look(work *w, const dq_graph *answer, dq_error *error) {
  DQ_TRY(dq_amp_task_observe(&w->task, error));
  return dq_amp_task_judge(&w->verdict, answer, DQ_VERDICT_OTHER_PICTURES, &w->task, error);
}

static dq_status amp(work *w, const dq_model_amp_options *options, dq_error *error) {
  dq_model_amp_options given = {0};
  dq_graph *answer = NULL;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  w->task.asked = asked_of(&given);
  w->task.graph = w->model->graph;
  w->task.data = given.check ? given.check->data : NULL;
  DQ_TRY(dq_amp_task_check(&w->task.asked, error));
  DQ_TRY(dq_amp_task_read(&w->task, error));
  DQ_TRY(dq_amp_task_convert(&answer, &w->task, error));
  dq_status status = look(w, answer, error);
  if (status == DQ_OK) return dq_api_take(w->model, DQ_TRANSFORM_AMP, NULL, answer, true, error);
  dq_graph_free(answer);
  return status;
}

// What dq-amp ends with 1 for.
static dq_status check_amp(const work *w, dq_error *error) {
  DQ_TRY(dq_amp_check_overflow(w->task.ranges, w->task.range_count, error));
  return dq_api_check_verdict(&w->verdict, &dq_no_bounds, error);
}

// What the model knows of its conversion from here on.
static void keep(const work *w) {
  dq_model *model = w->model;
  model->amp = w->task.report;
  model->ranges = w->task.ranges;
  model->range_count = w->task.range_count;
  model->range_arena = w->task.arena;
}

static void give_amp(const work *w, dq_model_amp_facts *facts) {
  const dq_model *model = w->model;
  const dq_amp_report *report = &model->amp;
  dq_model_amp_facts known = {.nodes = report->count,
                              .half_nodes = report->halves,
                              .casts = report->casts,
                              .cast_bytes = report->sizes_unknown ? -1 : report->cast_bytes,
                              .weights = report->weights,
                              .lost_to_zero = report->lost_to_zero,
                              .guarded = report->guarded,
                              .kept_weights = report->kept_weights,
                              .pictures = w->task.data ? dq_data_count(w->task.data) : 0,
                              .outputs_sqnr = dq_verdict_sqnr(&w->verdict),
                              .outputs_agreement = dq_verdict_agreement(&w->verdict),
                              .checked = model->range_count};
  for (int i = 0; i < model->range_count; i++) known.overflowed += model->ranges[i].overflow > 0;
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure) {
  dq_call call;
  work w = {.model = model};
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) w.task.context = &model->engine->context;
  if (status == DQ_OK && !(w.task.arena = dq_context_arena(w.task.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = amp(&w, options, &call.error);
  if (status == DQ_OK) {
    keep(&w);
    give_amp(&w, facts);
    status = check_amp(&w, &call.error);
  } else dq_arena_free(w.task.arena);
  return dq_api_leave(&call, status, failure);
}

int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range) {
  if (!model || model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->range_count) return 0;
  const dq_amp_range *seen = &model->ranges[index];
  dq_model_amp_range known = {.name = seen->name,
                              .op_type = seen->op_type,
                              .largest = seen->largest,
                              .elements = seen->elements,
                              .overflow = seen->overflow,
                              .subnormal = seen->subnormal};
  dq_api_copy_results(range, &known, sizeof known);
  return 1;
}

int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row) {
  if (!model || model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->amp.count) return 0;
  const dq_amp_node *node = &model->amp.nodes[index];
  dq_model_amp_row known = {.name = node->name, .op_type = node->op_type, .half = node->half, .reason = node->reason};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
