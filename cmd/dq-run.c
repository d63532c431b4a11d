// dq-run: run a model and see the answers.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options/options_rows.h"
#include "cmd/run_command.h"
#include "datasets/npy.h"
#include "lib/document/origin.h"
#include "lib/eval/node_suite.h"
#include "lib/text/nearest.h"

static const dq_option rows[] = {
    {.name = "input",
     .type = DQ_OPTION_LIST,
     .value = "NAME=FILE.npy",
     DQ_INTO(dq_run_arguments, inputs),
     .help = "an input's elements from a NumPy file"},
    DQ_ROW_SHAPE(dq_run_arguments, shapes, ""),
    {.name = "save-output",
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     DQ_INTO(dq_run_arguments, save_output),
     .help = "write every output to DIR/NAME.npy (with --data: DIR/INDEX_NAME.npy); DIR is made where it is missing"},
    {.name = "conv",
     .type = DQ_OPTION_LIST,
     .value = "[PATTERN=]ALGORITHM",
     .choice = dq_convolutions_name,
     DQ_INTO(dq_run_arguments, convolutions),
     .help = "how convolutions are computed, as for dq-bench (default: auto with --data, direct without)",
     .details = "auto may use winograd, which is faster for 3x3, with rounding errors that are larger but bounded. It "
                "takes longer to prepare, so a single run is not made so."},
    {.name = "top",
     .type = DQ_OPTION_INT,
     .value = "K",
     .minimum = 1,
     .maximum = 1000,
     .preset = "5",
     DQ_INTO(dq_run_arguments, answers.top),
     .help = "print the K largest elements of a classifier's output"},
    {.name = "decode",
     .type = DQ_OPTION_STRING,
     .value = "HOW",
     .choice = dq_predict_name,
     DQ_INTO(dq_run_arguments, answers.decode),
     .needs = "data",
     .help = "how outputs become answers (default: as the model's metadata and the shapes of its outputs say)",
     .details = "yolo takes classes and anchors from the model, or from what follows it: "
                "yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05, heads with '/' between."},
    {.name = "dictionary",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(dq_run_arguments, answers.dictionary),
     .needs = "data",
     .help = "characters of a text recognizer, one in each line (default: those that the model holds)"},
    {.name = "recognize",
     .type = DQ_OPTION_FILE,
     .value = "MODEL",
     DQ_INTO(dq_run_arguments, answers.recognize),
     .needs = "data",
     .help = "read the regions of text that the model finds by this model"},
    {.name = "score",
     .type = DQ_OPTION_DOUBLE,
     .value = "S",
     .minimum = 0,
     .maximum = 1,
     .open_minimum = true,
     DQ_INTO(dq_run_arguments, answers.score),
     .needs = "data",
     .help = "the lowest score of an object that is shown (default: 0.25, of a region of text 0.5)"},
    {.name = "overlap",
     .type = DQ_OPTION_DOUBLE,
     .value = "IOU",
     .minimum = 0,
     .maximum = 1,
     .open_minimum = true,
     DQ_INTO(dq_run_arguments, answers.overlap),
     .needs = "data",
     .help = "intersection over union above which the lower of two boxes of a class is left out (default: 0.45)"},
    {.name = "ref",
     .type = DQ_OPTION_FILE,
     .value = "MODEL",
     DQ_INTO(dq_run_arguments, answers.pair),
     .needs = "data",
     .help = "run this model on the same pictures, and show what is in one of both answers alone",
     .details = "An object is found again where the other model has one of its class with an intersection over union "
                "of 0.5 or more, whose score is above half of --score. What is left has moved (0.1 or more), vanished "
                "(only MODEL of --ref has it) or appeared. --draw puts the answers of --ref to the left."},
    {.name = "json",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(dq_run_arguments, answers.json),
     .needs = "data",
     .help = "write the answers as JSON, '-' for standard output in place of the text"},
    {.name = "draw",
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     DQ_INTO(dq_run_arguments, answers.draw),
     .needs = "data",
     .help = "draw the answers on each picture, DIR/INDEX_NAME.png; DIR is made where it is missing"},
    {.name = "plain",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(dq_run_arguments, plain),
     .help = "run every node as it stands, without folding and fusing"},
    DQ_ROW_TIME_LIMIT(dq_run_arguments, time_limit, .needs = "data",
                      .help = "after this time stop with the current picture; exit status 1 when pictures are left"),
    {.name = "onnx-tests",
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     DQ_INTO(dq_run_arguments, onnx_tests),
     .help = "run the cases of an ONNX node test suite instead of a model"},
    {.name = "only",
     .type = DQ_OPTION_STRING,
     .value = "PATTERN",
     DQ_INTO(dq_run_arguments, only),
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

static dq_status run_suite(const dq_run_arguments *options, const dq_context *context, dq_error *error) {
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

// ---- Inputs from files ----

static dq_status read_inputs(const dq_run_arguments *options, const dq_graph *graph, dq_arena *arena,
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
static dq_status check_sizes(const dq_run_arguments *options, const dq_shape_request *request,
                             dq_tensor *const *tensors, dq_error *error) {
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

static dq_status give_outputs(const dq_run_arguments *options, const dq_plan *plan, dq_arena *arena, dq_error *error) {
  int count = dq_plan_output_count(plan);
  dq_tensor *outputs = DQ_NEW_ARRAY(arena, count, dq_tensor);
  if (!outputs) return dq_fail_memory(error, (size_t)count * sizeof *outputs);
  for (int i = 0; i < count; i++) outputs[i] = *dq_plan_output(plan, i);
  const char **files;
  DQ_TRY(dq_run_open_folder(options, plan, arena, &files, error));
  DQ_TRY(dq_run_print_outputs(options, plan, outputs, NULL, error));
  return dq_run_save_outputs(options, files, outputs, count, -1, error);
}

static dq_status run_files(const dq_run_arguments *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                           dq_error *error) {
  dq_session_options session_options = {.plain = options->plain, .spent = graph};
  dq_tensor **tensors = DQ_NEW_ARRAY(arena, options->inputs.count, dq_tensor *);
  if (!tensors) return dq_fail_memory(error, 0);
  DQ_TRY(dq_run_set_convolutions(options, graph, "direct", arena, &session_options, error));
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

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const dq_run_arguments *options = parsed;
  if (options->onnx_tests) return run_suite(options, context, error);
  dq_graph *graph = NULL;
  DQ_TRY(dq_model_open(&graph, options->common.operands[0], context, error));
  dq_arena *arena = dq_context_arena(context);
  dq_status status = !arena               ? dq_fail_memory(error, 0)
                     : options->data.data ? dq_run_pictures(options, graph, arena, context, error)
                                          : run_files(options, graph, arena, context, error);
  dq_arena_free(arena);
  dq_graph_free(graph);
  return status == DQ_OK || status == DQ_USAGE ? status
                                               : dq_error_prefix(error, status, "%s", options->common.operands[0]);
}

static dq_status check(const void *parsed, dq_error *error) {
  const dq_run_arguments *options = parsed;
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
    .data_offset = offsetof(dq_run_arguments, data),
    .rules =
        {{DQ_RULE_EXCLUDES,
          "onnx-tests data input shape save-output conv top decode dictionary recognize score overlap ref json draw"},
         {DQ_RULE_AT_MOST_ONE, "input data"}},
    .options_size = sizeof(dq_run_arguments),
    .check = check,
    .run = run,
};
