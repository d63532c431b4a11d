// One model over one data set with one task.
#include "lib/eval/accuracy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/decode/metadata.h"
#include "lib/session/runner.h"

typedef struct accuracy_job {
  dq_runner runner;
  dq_task *task;
  dq_data *data;
  const dq_tensor **outputs; // pointers into the plan
  dq_tensor *shapes;         // the same without elements
  const char **names;
  const dq_context *context;
} accuracy_job;

static dq_status allocate(accuracy_job *job, dq_error *error) {
  size_t outputs = (size_t)dq_plan_output_count(job->runner.session.plan);
  job->outputs = calloc(outputs + 1, sizeof *job->outputs);
  job->shapes = calloc(outputs + 1, sizeof *job->shapes);
  job->names = calloc(outputs + 1, sizeof *job->names);
  bool done = job->outputs && job->shapes && job->names;
  return done ? DQ_OK : dq_fail_memory(error, outputs * sizeof *job->shapes);
}

static dq_status open_task(accuracy_job *job, const dq_graph *graph, const dq_accuracy_options *options,
                           dq_error *error) {
  dq_plan *plan = job->runner.session.plan;
  const dq_tensor *input = dq_runner_main_input(&job->runner);
  int count = dq_plan_output_count(plan), rows = dq_channels_last(input->rank, input->dims) ? 1 : 2;
  for (int i = 0; i < count; i++) {
    job->outputs[i] = dq_plan_output(plan, i);
    job->shapes[i] = *job->outputs[i];
    job->shapes[i].data = NULL;
    job->names[i] = dq_plan_output_name(plan, i);
  }
  dq_task_options task = {
      .task = options->task,
      .decode = {.decode = options->decode,
                 .metadata = dq_metadata_of(graph),
                 .output_count = count,
                 .outputs = job->shapes,
                 .output_names = job->names,
                 .input_height = input->rank == 4 ? input->dims[rows] : 1,
                 .input_width = input->rank == 4 ? input->dims[rows + 1] : 1},
      .labels = dq_data_labelled(job->data),
      .classes = dq_data_classes(job->data),
      .classes_exact = dq_data_classes_exact(job->data),
  };
  return dq_task_open(&job->task, &task, job->context, error);
}

static dq_status check_batch(const accuracy_job *job, dq_error *error) {
  for (int i = 0; i < dq_plan_output_count(job->runner.session.plan); i++) {
    const dq_tensor *output = job->outputs[i];
    char text[DQ_SHAPE_TEXT];
    if (output->rank < 0 || (output->rank > 0 && output->dims[0] == job->runner.batch)) continue;
    if (job->runner.batch == 1) continue;
    dq_fail(error, DQ_UNSUPPORTED, "output '%s' is %s: it has no dimension of pictures", job->names[i],
            dq_tensor_shape_text(output, text, sizeof text));
    dq_error_hint(error, "use --batch 1");
    return DQ_UNSUPPORTED;
  }
  return DQ_OK;
}

static dq_status add_pictures(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  (void)first;
  accuracy_job *job = user;
  for (int64_t i = 0; i < count; i++) DQ_TRY(dq_task_add(job->task, job->outputs, i, &infos[i], error));
  return DQ_OK;
}

// Returns the pictures that this process runs.
static dq_picture_range pictures_of(const accuracy_job *job) {
  dq_picture_range range = {.step = 1, .count = dq_data_count(job->data), .doing = "accuracy"};
  int64_t end;
  dq_process_part(dq_processes_of(job->context), range.count, &range.first, &end);
  range.count = end - range.first;
  return range;
}

static dq_status run_pictures(accuracy_job *job, const dq_graph *graph, const dq_accuracy_options *options,
                              dq_error *error) {
  dq_runner_options runner = {.session.shapes = options->shapes, .batch = options->batch};
  DQ_TRY(dq_runner_open(&job->runner, graph, job->data, &runner, job->context, error));
  DQ_TRY(allocate(job, error));
  DQ_TRY(open_task(job, graph, options, error));
  DQ_TRY(check_batch(job, error));
  if (!strcmp(dq_task_name(job->task), "none")) return DQ_OK;
  const dq_picture_range range = pictures_of(job);
  dq_task_begin_at(job->task, range.first);
  return dq_runner_each(&job->runner, &range, add_pictures, job, error);
}

static dq_status run_job(accuracy_job *job, dq_result *result, const dq_graph *graph,
                         const dq_accuracy_options *options, dq_error *error) {
  const dq_processes *processes = dq_processes_of(job->context);
  DQ_TRY(dq_processes_agree(processes, run_pictures(job, graph, options, error), error));
  DQ_TRY(dq_task_share(job->task, processes, error));
  return dq_task_result(job->task, result, error);
}

dq_status dq_accuracy_run(dq_result *result, const dq_graph *graph, dq_data *data, const dq_accuracy_options *options,
                          const dq_context *context, dq_error *error) {
  accuracy_job job = {.data = data, .context = context};
  dq_status status = run_job(&job, result, graph, options, error);
  if (status == DQ_OK && result->nonfinite)
    dq_message(context, DQ_WARNING,
               "outputs are NaN or infinite on %" PRId64 " of %" PRId64 " pictures; scores that are count as wrong",
               result->nonfinite, result->pictures);
  dq_task_free(job.task);
  dq_runner_close(&job.runner);
  free(job.outputs);
  free(job.shapes);
  free(job.names);
  return status;
}

double dq_accuracy_drop(const dq_result *before, const dq_result *after) {
  return (before->figures[0].value - after->figures[0].value) * before->points;
}
