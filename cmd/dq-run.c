// dq-run: run a model and see the answers.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options/options_rows.h"
#include "cmd/shared/command.h"
#include "cmd/shared/convolutions.h"
#include "cmd/shared/data.h"
#include "cmd/shared/output_names.h"
#include "datasets/npy.h"
#include "lib/base/clock.h"
#include "lib/base/order.h"
#include "lib/document/origin.h"
#include "lib/eval/eval.h"
#include "lib/eval/node_suite.h"
#include "lib/session/batch.h"
#include "lib/session/session.h"
#include "lib/text/nearest.h"

typedef struct run_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_option_list inputs, shapes, convolutions;
  const char *save_output, *onnx_tests, *only;
  int64_t top;
  double time_limit;
  bool plain;
} run_options;

static const dq_option rows[] = {
    {.name = "input",
     .type = DQ_OPTION_LIST,
     .value = "NAME=FILE.npy",
     DQ_INTO(run_options, inputs),
     .help = "an input's elements from a NumPy file"},
    DQ_ROW_SHAPE(run_options, shapes, ""),
    {.name = "save-output",
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     DQ_INTO(run_options, save_output),
     .help = "write every output to DIR/NAME.npy (with --data: DIR/INDEX_NAME.npy); DIR is made where it is missing"},
    {.name = "conv",
     .type = DQ_OPTION_LIST,
     .value = "[PATTERN=]ALGORITHM",
     .choice = dq_convolutions_name,
     DQ_INTO(run_options, convolutions),
     .help = "how convolutions are computed, as for dq-bench (default: auto with --data, direct without)",
     .details = "auto may use winograd, which is faster for 3x3, with rounding errors that are larger but bounded. It "
                "takes longer to prepare, so a single run is not made so."},
    {.name = "top",
     .type = DQ_OPTION_INT,
     .value = "K",
     .minimum = 1,
     .maximum = 1000,
     .preset = "5",
     DQ_INTO(run_options, top),
     .help = "print the K largest elements of a classifier's output"},
    {.name = "plain",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(run_options, plain),
     .help = "run every node as it stands, without folding and fusing"},
    DQ_ROW_TIME_LIMIT(run_options, time_limit, .needs = "data",
                      .help = "after this time stop with the current picture; exit status 1 when pictures are left"),
    {.name = "onnx-tests",
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     DQ_INTO(run_options, onnx_tests),
     .help = "run the cases of an ONNX node test suite instead of a model"},
    {.name = "only",
     .type = DQ_OPTION_STRING,
     .value = "PATTERN",
     DQ_INTO(run_options, only),
     .needs = "onnx-tests",
     .help = "of the test suite: only the cases whose names match"},
};

// ---- The test suite ----

typedef struct case_printer {
  bool verbose;
} case_printer;

static void print_case(void *user, const char *name, dq_case_result result, const char *reason) {
  static const char *const words[] = {"passed", "failed", "skipped"};
  const case_printer *printer = user;
  if (result == DQ_CASE_PASSED && !printer->verbose) return;
  printf("%s %s%s%s\n", words[result], name, reason[0] ? ": " : "", reason);
}

static dq_status run_suite(const run_options *options, const dq_context *context, dq_error *error) {
  case_printer printer = {options->common.verbose};
  dq_suite_counts counts;
  const dq_suite_options suite = {
      .only = options->only, .plain = options->plain, .report = print_case, .user = &printer};
  DQ_TRY(dq_suite_run(options->onnx_tests, &suite, context, &counts, error));
  printf("%d passed, %d failed, %d skipped\n", counts.of[DQ_CASE_PASSED], counts.of[DQ_CASE_FAILED],
         counts.of[DQ_CASE_SKIPPED]);
  if (!counts.of[DQ_CASE_FAILED]) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "%d cases failed", counts.of[DQ_CASE_FAILED]);
}

// ---- Outputs ----

// Makes the folder of --save-output. *files becomes, in the arena, the name of a file for each output, without a
// suffix; NULL: outputs are not saved.
static dq_status open_folder(const run_options *options, const dq_plan *plan, dq_arena *arena, const char ***files,
                             dq_error *error) {
  int count = dq_plan_output_count(plan);
  *files = NULL;
  if (!options->save_output) return DQ_OK;
  DQ_TRY(dq_make_folder(options->save_output, error));
  const char **names = DQ_NEW_ARRAY(arena, count, const char *);
  if (!names) return dq_fail_memory(error, (size_t)count * sizeof *names);
  for (int i = 0; i < count; i++) names[i] = dq_plan_output_name(plan, i);
  return dq_output_names(names, count, arena, files, error);
}

// Writes `count` outputs to `files`, names of open_folder; index: of the picture, -1: there is none.
static dq_status save_outputs(const run_options *options, const char *const *files, const dq_tensor *outputs, int count,
                              int64_t index, dq_error *error) {
  for (int i = 0; files && i < count; i++) {
    char path[4096];
    if (index < 0) snprintf(path, sizeof path, "%s/%s.npy", options->save_output, files[i]);
    else snprintf(path, sizeof path, "%s/%06" PRId64 "_%s.npy", options->save_output, index, files[i]);
    DQ_TRY(dq_npy_write(path, &outputs[i], error));
  }
  return DQ_OK;
}

// Classifier: one vector of scores per picture.
static bool is_scores(const dq_tensor *output) {
  return output->type == DQ_F32 && output->rank >= 1 && dq_tensor_count(output) > 0 &&
         dq_tensor_count(output) / output->dims[0] <= 100000 &&
         (output->rank <= 2 || dq_tensor_product(output, 2, output->rank) == 1);
}

static dq_status print_scores(const dq_tensor *output, int64_t top, const dq_data *data, dq_error *error) {
  int64_t count = dq_tensor_count(output) / output->dims[0];
  dq_ranked *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  for (int64_t b = 0; b < output->dims[0]; b++) {
    for (int64_t i = 0; i < count; i++)
      sorted[i] = (dq_ranked){(double)((const float *)output->data)[b * count + i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, dq_compare_ranked);
    for (int64_t k = 0; k < top && k < count; k++) {
      const char *name = data ? dq_data_class_name(data, sorted[k].index) : NULL;
      printf("  %5" PRId64 "  %12.6g  ", sorted[k].index, sorted[k].value);
      dq_print_name(stdout, name ? name : "");
      putchar('\n');
    }
  }
  free(sorted);
  return DQ_OK;
}

static void note_odd_scores(const dq_tensor *output) {
  int64_t odd = 0, count = dq_tensor_count(output);
  for (int64_t i = 0; i < count; i++) odd += dq_is_no_score((double)((const float *)output->data)[i]);
  if (odd) printf(", %" PRId64 " of %" PRId64 " scores are NaN or infinite", odd, count);
}

static dq_status print_outputs(const run_options *options, const dq_plan *plan, const dq_tensor *outputs,
                               const dq_data *data, dq_error *error) {
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    const dq_tensor *output = &outputs[i];
    char shape[DQ_SHAPE_TEXT];
    dq_print_name(stdout, dq_plan_output_name(plan, i));
    printf(": %s %s", dq_dtype_name(output->type), dq_tensor_shape_text(output, shape, sizeof shape));
    if (is_scores(output)) note_odd_scores(output);
    putchar('\n');
    if (is_scores(output)) DQ_TRY(print_scores(output, options->top, data, error));
  }
  return DQ_OK;
}

// ---- Inputs from files ----

static dq_status read_inputs(const run_options *options, const dq_graph *graph, dq_arena *arena,
                             dq_shape_request *request, dq_tensor **tensors, dq_error *error) {
  int count = options->inputs.count;
  DQ_TRY(dq_read_shapes(&options->shapes, graph, 1, arena, request, error));
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, count + request->input_count, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++) {
    const char *text = options->inputs.items[i], *equals = strchr(text, '=');
    DQ_TRY(dq_npy_read(&tensors[i], equals ? equals + 1 : text, arena, error));
    shapes[i] = (dq_input_shape){.name = dq_arena_strndup(arena, text, equals ? (size_t)(equals - text) : 0),
                                 .rank = tensors[i]->rank};
    memcpy(shapes[i].dims, tensors[i]->dims, sizeof shapes[i].dims);
  }
  memcpy(shapes + count, request->inputs, (size_t)request->input_count * sizeof *shapes);
  request->inputs = shapes;
  request->input_count += count;
  return DQ_OK;
}

// Every --input is for one that the model has; without a name, for its only one.
static dq_status check_names(const dq_graph *graph, const dq_shape_request *request, int count, dq_error *error) {
  const dq_value *only = NULL;
  int inputs = 0;
  for (int p = 0; p < graph->input_count; p++) {
    if (graph->inputs[p]->constant) continue;
    only = graph->inputs[p];
    inputs++;
  }
  for (int i = 0; i < count; i++) {
    const char *name = request->inputs[i].name;
    const dq_value *value = name[0] ? dq_graph_find(graph, name) : inputs == 1 ? only : NULL;
    if (value && value->is_input && !value->constant) continue;
    if (!inputs) return dq_fail(error, DQ_USAGE, "--input: the model has no inputs");
    if (!name[0]) return dq_fail(error, DQ_USAGE, "--input: the model has %d inputs, give NAME=FILE.npy", inputs);
    dq_nearest nearest = dq_nearest_begin(name);
    for (int p = 0; p < graph->input_count; p++)
      if (!graph->inputs[p]->constant) dq_nearest_offer(&nearest, graph->inputs[p]->name);
    dq_fail(error, DQ_USAGE, "--input: the model has no input '%s'", name);
    if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
    else dq_error_hint(error, inputs == 1 ? "its input is '%s'" : "one of its inputs is '%s'", only->name);
    return DQ_USAGE;
  }
  return DQ_OK;
}

static bool has_sizes(const dq_input_shape *file, const dq_input_shape *given) {
  int more = file->rank - given->rank;
  bool same = more == 0 || (more > 0 && given->last);
  for (int i = 0; same && i < given->rank; i++) same = given->dims[i] < 0 || given->dims[i] == file->dims[more + i];
  return same;
}

// Each --shape agrees with the files of --input for the same input. In the request the shapes of these files come
// first, then those of --shape; a name that is left out means the only input.
static dq_status check_sizes(const run_options *options, const dq_shape_request *request, dq_tensor *const *tensors,
                             dq_error *error) {
  int count = options->inputs.count;
  for (int i = 0; i < count; i++) {
    const dq_input_shape *file = &request->inputs[i];
    const char *text = options->inputs.items[i], *equals = strchr(text, '=');
    for (int s = 0; s < options->shapes.count; s++) {
      const dq_input_shape *given = &request->inputs[count + s];
      bool other = given->name[0] && file->name[0] && strcmp(given->name, file->name) != 0;
      if (other || has_sizes(file, given)) continue;
      char shape[DQ_SHAPE_TEXT];
      return dq_fail(error, DQ_USAGE, "--shape %s contradicts %s, whose shape is %s", options->shapes.items[s],
                     equals ? equals + 1 : text, dq_tensor_shape_text(tensors[i], shape, sizeof shape));
    }
  }
  return DQ_OK;
}

static dq_status fill_inputs(const dq_shape_request *request, dq_tensor *const *tensors, int count, dq_plan *plan,
                             dq_error *error) {
  for (int p = 0; p < dq_plan_input_count(plan); p++) {
    const char *name = dq_plan_input_name(plan, p);
    dq_tensor *to = dq_plan_input(plan, p);
    const dq_tensor *from = NULL;
    for (int i = 0; i < count && !from; i++) // shapes that --shape gave follow those of files
      if (!request->inputs[i].name[0] || !strcmp(request->inputs[i].name, name)) from = tensors[i];
    if (!from) return dq_fail(error, DQ_USAGE, "input '%s' is not given (--input %s=FILE.npy)", name, name);
    if (from->type != to->type)
      return dq_fail(error, DQ_BAD_INPUT, "input '%s' is of type %s, expected %s", name, dq_dtype_name(from->type),
                     dq_dtype_name(to->type));
    memcpy(to->data, from->data, dq_tensor_bytes(to));
  }
  return DQ_OK;
}

static dq_status give_outputs(const run_options *options, const dq_plan *plan, dq_arena *arena, dq_error *error) {
  int count = dq_plan_output_count(plan);
  dq_tensor *outputs = DQ_NEW_ARRAY(arena, count, dq_tensor);
  if (!outputs) return dq_fail_memory(error, (size_t)count * sizeof *outputs);
  for (int i = 0; i < count; i++) outputs[i] = *dq_plan_output(plan, i);
  const char **files;
  DQ_TRY(open_folder(options, plan, arena, &files, error));
  DQ_TRY(print_outputs(options, plan, outputs, NULL, error));
  return save_outputs(options, files, outputs, count, -1, error);
}

// One way to compute convolutions: the one asked for, or the usual.
static dq_status set_convolutions(const run_options *options, const dq_graph *graph, const char *usual, dq_arena *arena,
                                  dq_session_options *session, dq_error *error) {
  dq_convolutions *ways;
  int count;
  DQ_TRY(dq_read_convolutions(&options->convolutions, usual, arena, &ways, &count, error));
  if (count > 1) return dq_fail(error, DQ_USAGE, "option '--conv': one algorithm for all layers, %d given", count);
  session->convolutions = ways->settings;
  session->convolution_count = ways->count;
  return dq_conv_settings_check(ways->settings, ways->count, &graph, 1, error);
}

static dq_status run_files(const run_options *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                           dq_error *error) {
  dq_session_options session_options = {.plain = options->plain, .spent = graph};
  dq_tensor **tensors = DQ_NEW_ARRAY(arena, options->inputs.count, dq_tensor *);
  if (!tensors) return dq_fail_memory(error, 0);
  DQ_TRY(set_convolutions(options, graph, "direct", arena, &session_options, error));
  DQ_TRY(read_inputs(options, graph, arena, &session_options.shapes, tensors, error));
  DQ_TRY(check_names(graph, &session_options.shapes, options->inputs.count, error));
  DQ_TRY(check_sizes(options, &session_options.shapes, tensors, error));
  dq_session session;
  DQ_TRY(dq_session_open(&session, graph, &session_options, context, error));
  dq_status status = fill_inputs(&session_options.shapes, tensors, options->inputs.count, session.plan, error);
  for (int i = 0; i < options->inputs.count; i++) dq_arena_release(arena, tensors[i]->data); // the plan has them
  if (status == DQ_OK) status = dq_plan_run(session.plan, error);
  if (status == DQ_OK) status = give_outputs(options, session.plan, arena, error);
  dq_session_close(&session);
  return status;
}

// ---- Pictures ----

typedef struct pictures_job {
  const run_options *options;
  dq_runner runner;
  dq_data *data;
  dq_tensor *alone;   // by value index of the graph: as one picture gives it
  dq_tensor *outputs; // of one picture
  const char **files; // of open_folder
  const dq_graph *graph;
  double start; // dq_seconds
} pictures_job;

static dq_status open_outputs(pictures_job *job, dq_arena *arena, dq_error *error) {
  int64_t wish = job->options->data.batch, batch = job->runner.batch;
  if (batch != 1 && wish > 1 && batch != wish) {
    dq_fail(error, DQ_UNSUPPORTED, "the network has a fixed batch of %" PRId64 ", expected %" PRId64, batch, wish);
    dq_error_hint(error, "use --batch %" PRId64, batch);
    return DQ_UNSUPPORTED;
  }
  job->outputs = DQ_NEW_ARRAY(arena, job->graph->output_count, dq_tensor);
  if (!job->outputs) return dq_fail_memory(error, sizeof *job->outputs);
  return open_folder(job->options, job->runner.session.plan, arena, &job->files, error);
}

static dq_status give_picture(pictures_job *job, int64_t picture, const dq_sample_info *info, dq_error *error) {
  dq_plan *plan = job->runner.session.plan;
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    const char *name = dq_plan_output_name(plan, i);
    const dq_tensor *alone = &job->alone[dq_graph_find(job->graph, name)->index];
    DQ_TRY(dq_batch_part(&job->outputs[i], dq_plan_output(plan, i), alone, job->runner.batch, picture, name, error));
  }
  dq_print_name(stdout, info->name);
  if (info->label >= 0) printf(" (label %" PRId64 ")", info->label);
  printf("\n");
  DQ_TRY(print_outputs(job->options, plan, job->outputs, job->data, error));
  int64_t index = job->runner.first + picture;
  return save_outputs(job->options, job->files, job->outputs, dq_plan_output_count(plan), index, error);
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

static dq_status run_pictures(pictures_job *job, dq_error *error) {
  dq_picture_range range = {.step = 1, .count = dq_data_count(job->data)};
  if (!isatty(STDOUT_FILENO)) range.doing = "pictures"; // else answers show it
  job->start = dq_seconds();
  return dq_runner_each(&job->runner, &range, give_batch, job, error);
}

static dq_status run_data(const run_options *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                          dq_error *error) {
  pictures_job job = {.options = options, .graph = graph};
  dq_runner_options runner_options = {.session = {.plain = options->plain, .spent = graph}};
  dq_session_options *session = &runner_options.session;
  DQ_TRY(set_convolutions(options, graph, "auto", arena, session, error));
  DQ_TRY(dq_read_shapes(&options->shapes, graph, 1, arena, &session->shapes, error));
  dq_data_arguments arguments = options->data;
  dq_recall_preset(&arguments, graph, context);
  DQ_TRY(dq_open_data(&job.data, &arguments, options->common.seed, context, error));
  if (options->data.batch > 1) runner_options.batch = options->data.batch;
  // Shapes are inferred first, as they depend on constants, which the plan of the runner frees.
  dq_status status = dq_infer_alone(graph, &session->shapes, job.data, context, arena, &job.alone, error);
  if (status == DQ_OK) status = dq_runner_open(&job.runner, graph, job.data, &runner_options, context, error);
  if (status == DQ_OK) status = open_outputs(&job, arena, error);
  if (status == DQ_OK) status = run_pictures(&job, error);
  dq_runner_close(&job.runner);
  dq_data_free(job.data);
  return status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const run_options *options = parsed;
  if (options->onnx_tests) return run_suite(options, context, error);
  dq_graph *graph = NULL;
  DQ_TRY(dq_model_open(&graph, options->common.operands[0], context, error));
  dq_arena *arena = dq_context_arena(context);
  dq_status status = !arena               ? dq_fail_memory(error, 0)
                     : options->data.data ? run_data(options, graph, arena, context, error)
                                          : run_files(options, graph, arena, context, error);
  dq_arena_free(arena);
  dq_graph_free(graph);
  return status == DQ_OK || status == DQ_USAGE ? status
                                               : dq_error_prefix(error, status, "%s", options->common.operands[0]);
}

static dq_status check(const void *parsed, dq_error *error) {
  const run_options *options = parsed;
  if (options->onnx_tests && options->common.operand_count)
    return dq_fail(error, DQ_USAGE, "--onnx-tests takes no MODEL");
  if (!options->onnx_tests && !options->common.operand_count) return dq_fail(error, DQ_USAGE, "no MODEL given");
  return DQ_OK;
}

const dq_command dq_verb_run = {
    .name = "dq-run",
    .summary = "runs a model and shows the answers",
    .usage = "MODEL (--data SPEC | --input NAME=FILE.npy) [options]",
    .description = "Runs a model on pictures or on arrays and prints each output's type, shape and, "
                   "for a classifier, its largest elements. With --onnx-tests it runs the cases of an "
                   "ONNX node test suite and prints how many passed, failed and were skipped because "
                   "an operator or type is not supported; a failed case gives exit status 1.",
    .examples = "# the five best classes of every picture\n"
                "dq-run model.onnx --data pictures/ --preset imagenet\n"
                "# arrays in, arrays out\n"
                "dq-run model.onnx --input x=x.npy --save-output out/",
    .operand = "MODEL",
    .operands_minimum = 0,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_SUMS | DQ_WITH_WISDOM,
    .data_offset = offsetof(run_options, data),
    .rules = {{DQ_RULE_EXCLUDES, "onnx-tests data input shape save-output conv top"},
              {DQ_RULE_AT_MOST_ONE, "input data"}},
    .options_size = sizeof(run_options),
    .check = check,
    .run = run,
};
