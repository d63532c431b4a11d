#include "quant/search/amp_task.h"

#include "lib/document/stored_preset.h"

dq_status dq_amp_task_check(const dq_amp_request *asked, dq_error *error) {
  const double reach = asked->amp.input_max;
  if (reach == 0 || (reach >= 1e-30 && reach <= 1e30)) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "input_max is %g, expected 1e-30 to 1e30", reach);
}

static dq_status read_policy(dq_amp_task *task, dq_error *error) {
  if (!task->asked.policy) return DQ_OK;
  dq_policy *policy = DQ_NEW(task->arena, dq_policy);
  if (!policy) return dq_fail_memory(error, sizeof *policy);
  task->settings.policy = policy;
  return dq_policy_load(policy, task->asked.policy, task->arena, error);
}

// The magnitude that inputs may reach: as the request says, else by the preprocessing of pictures, else the default.
static dq_status read_reach(dq_amp_task *task, dq_error *error) {
  const dq_amp_request *asked = &task->asked;
  double *reach = &task->settings.input_max;
  if (*reach != 0) return DQ_OK;
  DQ_TRY(dq_input_reach(reach, task->graph, task->data, asked->preset, asked->preprocess, task->context, error));
  task->preprocessed = *reach > 0;
  if (!task->preprocessed) *reach = DQ_AMP_INPUT_MAX;
  return DQ_OK;
}

dq_status dq_amp_task_read(dq_amp_task *task, dq_error *error) {
  const dq_amp_request *asked = &task->asked;
  const dq_graph *graph = task->graph;
  dq_shape_request *shapes = &task->settings.shapes;
  task->settings = asked->amp;
  DQ_TRY(read_policy(task, error));
  *shapes = (dq_shape_request){.batch = 1};
  DQ_TRY(dq_input_shapes_read(shapes, asked->shapes, asked->shape_count, &graph, 1, task->arena, error));
  DQ_TRY(dq_complete_shapes(shapes, graph, task->data, task->arena, error));
  return read_reach(task, error);
}

dq_status dq_amp_task_convert(dq_graph **answer, dq_amp_task *task, dq_error *error) {
  *answer = dq_graph_copy(task->graph);
  if (!*answer) return dq_fail_memory(error, 0);
  dq_status status = dq_amp_apply(*answer, &task->settings, &task->report, task->context, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*answer);
  *answer = NULL;
  return status;
}

dq_status dq_amp_task_observe(dq_amp_task *task, dq_error *error) {
  if (!task->data) return DQ_OK;
  return dq_amp_check(task->graph, &task->report, &task->settings.shapes, task->data, task->arena, &task->ranges,
                      &task->range_count, task->context, error);
}

dq_status dq_amp_task_judge(dq_verdict *verdict, const dq_graph *converted, dq_verdict_data kind,
                            const dq_amp_task *task, dq_error *error) {
  const dq_evaluator_options judged = {.graph = task->graph,
                                       .shapes = &task->settings.shapes,
                                       .data = task->data,
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .noise_largest = task->settings.input_max};
  *verdict = (dq_verdict){0};
  if (task->report.nothing_to_do) return DQ_OK;
  return dq_verdict_conclude(verdict, kind, converted, &judged, task->context, task->arena, error);
}
