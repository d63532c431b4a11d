// dq-run on pictures.
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run_command.h"
#include "lib/base/clock.h"
#include "lib/document/origin.h"
#include "lib/predict/form_preset.h"
#include "lib/session/batch.h"
#include "lib/text/print_name.h"

// A model that runs.
typedef struct network {
  const dq_graph *graph;
  dq_runner runner;
  dq_tensor *alone;   // by value index of the graph: as one picture gives it
  dq_tensor *outputs; // of one picture
} network;

typedef struct pictures_job {
  const dq_run_arguments *options;
  const dq_context *context;
  dq_arena *arena;
  network networks[2]; // the model, and that of --ref
  int network_count;
  dq_data *data;
  const char **files; // of dq_run_open_folder
  dq_run_answers answers;
  double start; // dq_seconds
} pictures_job;

static dq_status check_batch(const pictures_job *job, dq_error *error) {
  int64_t wish = job->options->data.batch, batch = job->networks[0].runner.batch;
  if (batch == 1 || wish <= 1 || batch == wish) return DQ_OK;
  dq_fail(error, DQ_UNSUPPORTED, "the network has a fixed batch of %" PRId64 ", expected %" PRId64, batch, wish);
  dq_error_hint(error, "use --batch %" PRId64, batch);
  return DQ_UNSUPPORTED;
}

// Sets network->outputs to those of one picture of the run.
static dq_status take_outputs(network *from, int64_t picture, dq_error *error) {
  dq_plan *plan = from->runner.session.plan;
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    const char *name = dq_plan_output_name(plan, i);
    const dq_tensor *alone = &from->alone[dq_graph_find(from->graph, name)->index];
    DQ_TRY(dq_batch_part(&from->outputs[i], dq_plan_output(plan, i), alone, from->runner.batch, picture, name, error));
  }
  return DQ_OK;
}

static dq_status give_picture(pictures_job *job, int64_t picture, const dq_sample_info *info, dq_error *error) {
  network *model = &job->networks[0];
  const dq_plan *plan = model->runner.session.plan;
  const dq_tensor *outputs[2] = {model->outputs, job->networks[1].outputs};
  for (int i = 0; i < job->network_count; i++) DQ_TRY(take_outputs(&job->networks[i], picture, error));
  if (!dq_run_answers_only_json(&job->options->answers)) {
    dq_print_name(stdout, info->name);
    if (info->label >= 0) printf(" (label %" PRId64 ")", info->label);
    printf("\n");
    DQ_TRY(dq_run_print_outputs(job->options, plan, model->outputs, job->data, error));
  }
  const int64_t index = model->runner.first + picture;
  DQ_TRY(dq_run_answers_picture(&job->answers, outputs, index, info, error));
  return dq_run_save_outputs(job->options, job->files, model->outputs, dq_plan_output_count(plan), index, error);
}

static dq_status give_batch(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  pictures_job *job = user;
  const int64_t done = first + count, all = dq_data_count(job->data);
  const double limit = job->options->time_limit;
  for (int64_t p = 0; p < count; p++) DQ_TRY(give_picture(job, p, &infos[p], error));
  if (done < all && limit > 0 && dq_seconds() - job->start > limit)
    return dq_fail(error, DQ_CONDITION, "--time-limit: the first %" PRId64 " of %" PRId64 " pictures were run", done,
                   all);
  return DQ_OK;
}

static dq_status run_loop(pictures_job *job, dq_error *error) {
  dq_picture_range range = {.step = 1, .count = dq_data_count(job->data)};
  const dq_picture_loop loop = {.first = &job->networks[0].runner,
                                .second = job->network_count > 1 ? &job->networks[1].runner : NULL,
                                .after = give_batch,
                                .user = job};
  if (!isatty(STDOUT_FILENO)) range.doing = "pictures"; // else answers show it
  job->start = dq_seconds();
  dq_status status = dq_picture_loop_run(&loop, &range, error);
  if (status != DQ_OK && status != DQ_CONDITION) return status; // after --time-limit there are answers as well
  DQ_TRY(dq_run_answers_finish(&job->answers, error));
  return status;
}

// Shapes are inferred first, as they depend on constants, which the plan of the runner frees.
static dq_status open_network(pictures_job *job, dq_graph *graph, dq_error *error) {
  network *opened = &job->networks[job->network_count++];
  dq_runner_options options = {.session = {.plain = job->options->plain, .spent = graph}};
  dq_session_options *session = &options.session;
  opened->graph = graph;
  DQ_TRY(dq_run_set_convolutions(job->options, graph, "auto", job->arena, session, error));
  DQ_TRY(dq_read_shapes(&job->options->shapes, graph, 1, job->arena, &session->shapes, error));
  if (job->options->data.batch > 1) options.batch = job->options->data.batch;
  DQ_TRY(dq_infer_alone(graph, &session->shapes, job->data, job->context, job->arena, &opened->alone, error));
  DQ_TRY(dq_run_answers_add(&job->answers, graph, opened->alone, error));
  DQ_TRY(dq_runner_open(&opened->runner, graph, job->data, &options, job->context, error));
  opened->outputs = DQ_NEW_ARRAY(job->arena, graph->output_count, dq_tensor);
  return opened->outputs ? DQ_OK : dq_fail_memory(error, sizeof *opened->outputs);
}

static dq_status open_reference(pictures_job *job, dq_graph **reference, dq_error *error) {
  const char *path = job->options->answers.pair;
  if (!path) return DQ_OK;
  DQ_TRY(dq_model_open(reference, path, job->context, error));
  dq_status status = open_network(job, *reference, error);
  if (status == DQ_OK) status = dq_runner_check_share(&job->networks[1].runner, &job->networks[0].runner, error);
  if (status == DQ_OK && job->networks[0].runner.batch != job->networks[1].runner.batch)
    status = dq_fail(error, DQ_UNSUPPORTED, "the two networks have batches of other sizes; use --batch 1");
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "--ref %s", path);
}

// Pictures for a model that tells no preprocessing are prepared as for networks with such outputs, which a message
// says.
static void guess_preset(const pictures_job *job, const dq_graph *graph, dq_data_arguments *arguments) {
  const char *form, *spec = arguments->data;
  if (arguments->preset || arguments->preprocess || !strncmp(spec, "npy:", 4) || !strncmp(spec, "pb:", 3)) return;
  arguments->preset = dq_form_preset(graph, job->options->answers.decode, &form, job->context, job->arena);
  if (arguments->preset)
    dq_message(job->context, DQ_NOTE,
               "preprocessing: %s, as networks with such outputs (%s) take it; --preset overrides it",
               arguments->preset, form);
}

static dq_status run_job(pictures_job *job, dq_graph *graph, dq_graph **reference, dq_error *error) {
  const dq_run_arguments *options = job->options;
  dq_data_arguments arguments = options->data;
  dq_recall_preset(&arguments, graph, job->context);
  guess_preset(job, graph, &arguments);
  DQ_TRY(dq_open_data(&job->data, &arguments, options->common.seed, job->context, error));
  job->answers = dq_run_answers_new(job->data, &options->answers, job->context, job->arena);
  DQ_TRY(open_network(job, graph, error));
  DQ_TRY(check_batch(job, error));
  DQ_TRY(open_reference(job, reference, error));
  DQ_TRY(dq_run_open_folder(options, job->networks[0].runner.session.plan, job->arena, &job->files, error));
  DQ_TRY(dq_run_answers_begin(&job->answers, error));
  return run_loop(job, error);
}

dq_status dq_run_pictures(const dq_run_arguments *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                          dq_error *error) {
  pictures_job job = {.options = options, .context = context, .arena = arena};
  dq_graph *reference = NULL;
  dq_status status = run_job(&job, graph, &reference, error);
  dq_run_answers_close(&job.answers);
  for (int i = 0; i < 2; i++) dq_runner_close(&job.networks[i].runner);
  dq_graph_free(reference);
  dq_data_free(job.data);
  return status;
}
