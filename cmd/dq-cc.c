// dq-cc: a network as C.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/options/options_rows.h"
#include "lib/base/file.h"
#include "lib/codegen/verify.h"
#include "lib/document/origin.h"
#include "lib/report/report_codegen.h"
#include "lib/session/complete_shapes.h"

typedef struct cc_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  const char *header, *name, *weights, *run, *compiler_flags;
  int target; // dq_emit_target
  bool verify, steps, portable;
  dq_option_list shapes;
} cc_options;

static const dq_option rows[] = {
    {.name = "header",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(cc_options, header),
     .help = "the header (default: OUT with .h in place of .c)"},
    {.name = "name",
     .type = DQ_OPTION_STRING,
     .value = "NAME",
     .preset = "net",
     DQ_INTO(cc_options, name),
     .help = "names in C begin with it: NAME_run, NAME_ARENA_BYTES",
     .details = "A letter, then letters, digits and underscores, and no keyword of C or C++."},
    DQ_ROW_SHAPE(cc_options, shapes, ", which C needs"),
    {.name = "weights-file",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(cc_options, weights),
     .help = "put the constants into a file of their own, which the assembler takes in",
     .details = "The C is then compiled in the folder of the file, for a little-endian machine, by an assembler with "
                ".incbin. Constants of more than 32 MiB need it."},
    {.name = "portable",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(cc_options, portable),
     .help = "constants as arrays in the C, not by .incbin: the default, which every compiler takes",
     .details = "It excludes --weights-file."},
    {.name = "target",
     .type = DQ_OPTION_ENUM,
     .choices = "generic|dsp",
     .preset = "generic",
     DQ_INTO(cc_options, target),
     .help = "the instructions that the C may use: those of C99, or also the SIMD instructions of Armv7E-M (Cortex-M4, "
             "Cortex-M7)"},
    {.name = "steps", .type = DQ_OPTION_FLAG, DQ_INTO(cc_options, steps), .help = "show a table of the steps"},
    {.name = "verify",
     .type = DQ_OPTION_FLAG,
     .group = "Verification",
     DQ_INTO(cc_options, verify),
     .help = "compile and run the C, and compare it with dq-run bit by bit",
     .details = "The compiler is $CC, or cc. Samples are those of --data, or eight of noise. Exit status 1: bits "
                "differ; 5: the C could not be compiled or run."},
    {.name = "run",
     .type = DQ_OPTION_STRING,
     .value = "CMD",
     .group = "Verification",
     .needs = "verify",
     DQ_INTO(cc_options, run),
     .help = "command that runs the compiled program, such as qemu-aarch64",
     .details = "The program and two files are appended to the command."},
    {.name = "compiler-flags",
     .type = DQ_OPTION_STRING,
     .value = "FLAGS",
     .group = "Verification",
     .needs = "verify",
     .preset = "-std=c99 -O2",
     DQ_INTO(cc_options, compiler_flags),
     .help = "flags of the compiler"},
};

typedef struct work {
  const cc_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_graph *graph;
  dq_data *data;
  dq_codegen made;
  dq_shape_request shapes;
  dq_codegen_comparison comparison;
} work;

// The header's path: OUT with .h in place of .c, or behind it.
static const char *header_path(const cc_options *options, dq_arena *arena) {
  const char *out = options->output.output;
  size_t length = strlen(out);
  if (options->header) return options->header;
  if (length > 2 && !strcmp(out + length - 2, ".c")) length -= 2;
  return dq_arena_printf(arena, "%.*s.h", (int)length, out);
}

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// The files that the command writes. None appears under its name before all are complete.
enum { SOURCE, HEADER, WEIGHTS, FILES };
typedef struct cc_files {
  const char *paths[FILES]; // NULL: not wanted
  dq_output outputs[FILES];
} cc_files;

static dq_status open_files(cc_files *files, dq_error *error) {
  for (int i = 0; i < FILES; i++)
    if (files->paths[i]) DQ_TRY(dq_output_open(&files->outputs[i], files->paths[i], error));
  return DQ_OK;
}

static dq_status write_files(cc_files *files, const dq_codegen *made, dq_error *error) {
  const char *const bytes[] = {made->source, made->header, made->weights};
  const size_t sizes[] = {strlen(made->source), strlen(made->header), made->weights_bytes};
  for (int i = 0; i < FILES; i++)
    if (files->paths[i] &&
        (fwrite(bytes[i], 1, sizes[i], files->outputs[i].stream) != sizes[i] || fflush(files->outputs[i].stream)))
      return dq_fail_errno(error, files->paths[i]);
  for (int i = FILES - 1; i >= 0; i--) // the source last
    if (files->paths[i]) DQ_TRY(dq_output_commit(&files->outputs[i], error));
  return DQ_OK;
}

// The source names the header and the file of weights in quotes. Two question marks begin a trigraph.
static dq_status check_name(const char *role, const char *path, dq_error *error) {
  const char *name = path ? file_part(path) : "w";
  bool good = *name && strcmp(path ? path : "", "-") != 0 && !strpbrk(name, "\"\\'") && !strstr(name, "??");
  for (const char *c = name; *c; c++) good = good && (unsigned char)*c >= ' ' && *c != 0x7f;
  if (good) return DQ_OK;
  return dq_fail(
      error, DQ_USAGE,
      "%s is '%s', and the C names it: expected a file name without quotes, backslashes, pairs of '?' and control "
      "characters",
      role, path);
}

// One file for two purposes would lose one of them.
static dq_status check_paths(const char *model, const cc_files *files, dq_error *error) {
  static const char *const names[] = {"-o", "the header", "--weights-file"};
  DQ_TRY(check_name(names[HEADER], files->paths[HEADER], error));
  DQ_TRY(check_name(names[WEIGHTS], files->paths[WEIGHTS], error));
  for (int i = 0; i < FILES; i++) {
    if (!files->paths[i]) continue;
    if (dq_same_file(files->paths[i], model))
      return dq_fail(error, DQ_USAGE, "%s is '%s', which is the model; give another file", names[i], files->paths[i]);
    for (int k = 0; k < i; k++)
      if (files->paths[k] && dq_same_file(files->paths[i], files->paths[k]))
        return dq_fail(error, DQ_USAGE, "%s and %s are both '%s'; give two files", names[k], names[i], files->paths[i]);
  }
  return DQ_OK;
}

// The status; a message of what fails in the model begins with its file.
static dq_status with_model(const work *w, dq_status status, dq_error *error) {
  if (status == DQ_OK || status == DQ_USAGE) return status;
  return dq_error_prefix(error, status, "%s", w->options->common.operands[0]);
}

static dq_status open_samples(work *w, dq_error *error) {
  dq_data_arguments arguments = w->options->data;
  if (!arguments.data) return DQ_OK; // noise
  dq_recall_preset(&arguments, w->graph, w->context);
  return dq_open_data(&w->data, &arguments, w->options->common.seed, w->context, error);
}

static dq_status verify(work *w, dq_error *error) {
  const dq_codegen_verify_options options = {.graph = w->graph,
                                             .shapes = w->shapes,
                                             .data = w->data,
                                             .seed = (uint64_t)w->options->common.seed,
                                             .flags = w->options->compiler_flags,
                                             .run = w->options->run,
                                             .pictures = w->options->data.limit};
  return with_model(w, dq_codegen_verify(&w->comparison, &w->made, &options, w->context, error), error);
}

static dq_status report(const work *w, dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "C of %s", w->options->common.operands[0]);
  dq_report *shown = dq_report_new("dq-cc", 1, title);
  const dq_report_options *files = &w->options->report;
  bool steps = w->options->steps || files->json || files->csv || files->html;
  dq_report_codegen(shown, &w->made, steps, w->options->verify ? &w->comparison : NULL);
  dq_status status = dq_command_report(&w->options->common, shown, error);
  dq_report_free(shown);
  return status;
}

static dq_status check_comparison(const work *w, dq_error *error) {
  const dq_codegen_comparison *c = &w->comparison;
  if (!c->different) return DQ_OK;
  return dq_fail(error, DQ_CONDITION,
                 "%" PRId64 " of %" PRId64 " elements differ from dq-run, first in output '%s' of "
                 "sample %" PRId64,
                 c->different, c->elements, w->made.outputs[c->first_output].name, c->first_picture);
}

static dq_status emit(work *w, cc_files *files, dq_error *error) {
  const cc_options *options = w->options;
  const char *header = files->paths[HEADER];
  DQ_TRY(dq_read_shapes(&options->shapes, w->graph, options->data.batch, w->arena, &w->shapes, error));
  DQ_TRY(open_samples(w, error));
  DQ_TRY(dq_complete_sizes(&w->shapes, w->graph, w->data, w->arena, error));
  const dq_codegen_options settings = {.session = {.shapes = w->shapes},
                                       .name = options->name,
                                       .header = file_part(header),
                                       .target = (dq_emit_target)options->target,
                                       .weights_name = options->weights ? file_part(options->weights) : NULL};
  DQ_TRY(with_model(w, dq_codegen_open(&w->made, w->graph, &settings, w->context, error), error));
  DQ_TRY(open_files(files, error));
  if (options->verify) DQ_TRY(verify(w, error));
  DQ_TRY(write_files(files, &w->made, error));
  DQ_TRY(report(w, error));
  return check_comparison(w, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const cc_options *options = parsed;
  work w = {.options = options, .context = context, .arena = dq_context_arena(context)};
  cc_files files = {.paths = {NULL}};
  const char *model = options->common.operands[0];
  if (w.arena) files.paths[HEADER] = header_path(options, w.arena);
  files.paths[SOURCE] = options->output.output, files.paths[WEIGHTS] = options->weights;
  dq_status status = files.paths[HEADER] ? check_paths(model, &files, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_model_open(&w.graph, model, context, error);
  if (status == DQ_OK) status = emit(&w, &files, error);
  for (int i = 0; i < FILES; i++) dq_output_discard(&files.outputs[i]);
  dq_data_free(w.data);
  dq_codegen_close(&w.made);
  dq_arena_free(w.arena);
  dq_graph_free(w.graph);
  return status;
}

static dq_status check(const void *parsed, dq_error *error) {
  const cc_options *options = parsed;
  if (options->data.data && !options->verify)
    return dq_fail(error, DQ_USAGE, "--data is for --verify; give both or none");
  if (!strcmp(options->output.output, "-") && !options->header)
    return dq_fail(error, DQ_USAGE, "-o - leaves the header without a name; give --header");
  return DQ_OK;
}

const dq_command dq_verb_cc = {
    .name = "dq-cc",
    .summary = "writes a network as C for machines without a runtime",
    .usage = "MODEL -o OUT.c [options]",
    .description =
        "Writes one C99 file and a header. NAME_run(inputs, outputs, arena) computes the network once; it allocates "
        "nothing, keeps nothing, and needs memcpy and, in float32, fmaf. Networks in 8 bits give the integers of "
        "dq-run "
        "on every machine: their sums are requantized by integers alone, by factors that were proven to give the "
        "result "
        "of the definition in float32 for every sum that the weights allow.\n\n"
        "The table has the bytes that the caller provides (arena, inputs, outputs) and those of the constants.",
    .examples = "# net.c and net.h\n"
                "dq-cc int8.onnx -o net.c\n"
                "# compiled for another machine, and compared with dq-run on pictures\n"
                "CC=aarch64-linux-gnu-gcc dq-cc int8.onnx -o net.c --verify --run 'qemu-aarch64 -L "
                "/usr/aarch64-linux-gnu' --data pictures/ --limit 10",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_OUTPUT | DQ_WITH_REPORT | DQ_WITH_DATA,
    .data_offset = offsetof(cc_options, data),
    .output_offset = offsetof(cc_options, output),
    .report_offset = offsetof(cc_options, report),
    .rules = {{DQ_RULE_REQUIRED, "output"}, {DQ_RULE_AT_MOST_ONE, "portable weights-file"}},
    .options_size = sizeof(cc_options),
    .check = check,
    .run = run,
};
