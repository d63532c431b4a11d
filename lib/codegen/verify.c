#include "lib/codegen/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/process/child.h"
#include "lib/base/budget.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/session/runner.h"

// The files of a verification. The source, the program that calls it and the constants lie in folders of their own, so
// that a header or a file of constants of any name is none of the others.
enum { SOURCE, SOURCE_HEADER, MAIN, MAIN_HEADER, WEIGHTS, PROGRAM, INPUTS, EXPECTED, OUTPUTS, FILES };
enum { SOURCE_FOLDER, MAIN_FOLDER, WEIGHTS_FOLDER, TOP, FOLDERS }; // the folder of all others last

typedef struct verification {
  const dq_codegen *made;
  const dq_codegen_verify_options *options;
  const dq_context *context;
  dq_input_shape *shapes; // those of the C, by input
  dq_arena *arena;
  const char *folders[FOLDERS], *files[FILES]; // paths
  const char *source_name, *main_name;         // in their folders
  dq_runner runner;
  FILE *inputs, *expected;
  dq_codegen_comparison *comparison;
} verification;

// ---- Files of the temporary folder ----

static dq_status open_file(const verification *v, int file, FILE **stream, dq_error *error) {
  *stream = fopen(v->files[file], "wb");
  return *stream ? DQ_OK : dq_fail_errno(error, v->files[file]);
}

static dq_status write_file(const verification *v, int file, const char *bytes, size_t count, dq_error *error) {
  FILE *stream;
  DQ_TRY(open_file(v, file, &stream, error));
  bool failed = fwrite(bytes, 1, count, stream) != count;
  return fclose(stream) || failed ? dq_fail_errno(error, v->files[file]) : DQ_OK;
}

static void remove_folder(const verification *v) {
  for (int i = 0; i < FILES; i++) {
    if (!v->files[i]) continue;
    unlink(v->files[i]);
    dq_output_forget_path(v->files[i]);
  }
  for (int i = 0; i < FOLDERS; i++) {
    if (!v->folders[i]) continue;
    rmdir(v->folders[i]);
    dq_output_forget_path(v->folders[i]);
  }
}

static bool name_files(verification *v) {
  const struct {
    int folder;
    const char *name;
  } rows[FILES] = {[SOURCE] = {SOURCE_FOLDER, v->source_name},
                   [SOURCE_HEADER] = {SOURCE_FOLDER, v->made->header_name},
                   [MAIN] = {MAIN_FOLDER, v->main_name},
                   [MAIN_HEADER] = {MAIN_FOLDER, v->made->header_name},
                   [WEIGHTS] = {WEIGHTS_FOLDER, v->made->weights_name ? v->made->weights_name : "none"},
                   [PROGRAM] = {TOP, "program"},
                   [INPUTS] = {TOP, "inputs"},
                   [EXPECTED] = {TOP, "expected"},
                   [OUTPUTS] = {TOP, "outputs"}};
  bool good = true;
  for (int i = 0; i < FILES; i++) {
    v->files[i] = dq_arena_printf(v->arena, "%s/%s", v->folders[rows[i].folder], rows[i].name);
    good = good && v->files[i];
  }
  return good;
}

// A signal that ends the process removes them too.
static void register_files(const verification *v) {
  for (int i = 0; i < FILES; i++) dq_output_register_path(v->files[i]);
  for (int i = 0; i < FOLDERS; i++) dq_output_register_path(v->folders[i]);
}

static dq_status make_folder(verification *v, dq_error *error) {
  static const char *const names[] = {[SOURCE_FOLDER] = "source", [MAIN_FOLDER] = "main", [WEIGHTS_FOLDER] = "weights"};
  const char *base = getenv("TMPDIR");
  char *top = dq_arena_printf(v->arena, "%s/dq-cc-XXXXXX", base && *base ? base : "/tmp");
  v->source_name = strcmp(v->made->header_name, "net.c") != 0 ? "net.c" : "network.c";
  v->main_name = strcmp(v->made->header_name, "main.c") != 0 ? "main.c" : "program.c";
  if (!top) return dq_fail_memory(error, 0);
  if (!mkdtemp(top)) return dq_fail_errno(error, top);
  v->folders[TOP] = top;
  for (int i = 0; i < TOP; i++)
    if (!(v->folders[i] = dq_arena_printf(v->arena, "%s/%s", top, names[i]))) return dq_fail_memory(error, 0);
  if (!name_files(v)) return dq_fail_memory(error, 0);
  register_files(v);
  for (int i = 0; i < TOP; i++)
    if (mkdir(v->folders[i], 0700)) return dq_fail_errno(error, v->folders[i]);
  return DQ_OK;
}

// ---- The program: samples from one file to another, little endian in both ----

static const char program_start[] =
    "#include <stdio.h>\n#include <stddef.h>\n\n"
    "static void swap(void *data, size_t size, size_t count) {\n"
    "  const uint16_t one = 1;\n"
    "  unsigned char *at = (unsigned char *)data;\n"
    "  if (*(const unsigned char *)&one) return;\n"
    "  for (size_t i = 0; i < count; i++, at += size)\n"
    "    for (size_t b = 0; b < size / 2; b++) {\n"
    "      unsigned char byte = at[b];\n"
    "      at[b] = at[size - 1 - b];\n"
    "      at[size - 1 - b] = byte;\n"
    "    }\n"
    "}\n\n"
    "int main(int count, char **words) {\n"
    "  FILE *from = count == 3 ? fopen(words[1], \"rb\") : NULL, *to = count == 3 ? fopen(words[2], \"wb\") : NULL;\n"
    "  if (!from || !to) return 2;\n"
    "  for (long sample = 0; sample < SAMPLES; sample++) {\n";

static void declare_port(FILE *to, const dq_codegen_port *port) {
  fprintf(to, "static %s b_%s[%" PRId64 "];\n", dq_emit_type(port->tensor.type), port->field,
          dq_tensor_count(&port->tensor) + 1);
}

// The number of runs, each of a batch, that all pictures take.
static int64_t sample_count(const verification *v) {
  return (v->comparison->pictures + v->runner.batch - 1) / v->runner.batch;
}

// The number of samples stands in the program, since a sample of a network without inputs has no bytes to count.
static void print_program(FILE *to, const verification *v) {
  const dq_codegen *made = v->made;
  fprintf(to, "#include <stdint.h>\n#include \"%s\"\n", made->header_name);
  fprintf(to, "#define SAMPLES %" PRId64 "L\n", sample_count(v));
  for (int i = 0; i < made->input_count; i++) declare_port(to, &made->inputs[i]);
  for (int o = 0; o < made->output_count; o++) declare_port(to, &made->outputs[o]);
  fprintf(to, "static uint64_t arena[%zu];\n", made->arena_bytes / 8 + 3);
  fputs(program_start, to);
  for (int i = 0; i < made->input_count; i++) {
    const dq_codegen_port *p = &made->inputs[i];
    int64_t n = dq_tensor_count(&p->tensor);
    fprintf(to, "    if (fread(b_%s, sizeof *b_%s, %" PRId64 ", from) != %" PRId64 ") return 2;\n", p->field, p->field,
            n, n);
    fprintf(to, "    swap(b_%s, sizeof *b_%s, %" PRId64 ");\n", p->field, p->field, n);
  }
  fprintf(to, "    if (%s_run(", made->name);
  for (int i = 0; i < made->input_count; i++) fprintf(to, "b_%s, ", made->inputs[i].field);
  for (int o = 0; o < made->output_count; o++) fprintf(to, "b_%s, ", made->outputs[o].field);
  fputs("(char *)arena + (16 - (uintptr_t)arena % 16) % 16)) return 3;\n", to);
  for (int o = 0; o < made->output_count; o++) {
    const dq_codegen_port *p = &made->outputs[o];
    int64_t n = dq_tensor_count(&p->tensor);
    fprintf(to, "    swap(b_%s, sizeof *b_%s, %" PRId64 ");\n", p->field, p->field, n);
    fprintf(to, "    if (fwrite(b_%s, sizeof *b_%s, %" PRId64 ", to) != %" PRId64 ") return 2;\n", p->field, p->field,
            n, n);
  }
  fputs("  }\n  return fclose(to) ? 2 : 0;\n}\n", to);
}

static dq_status write_sources(const verification *v, dq_error *error) {
  const dq_codegen *made = v->made;
  FILE *stream;
  DQ_TRY(write_file(v, SOURCE, made->source, strlen(made->source), error));
  DQ_TRY(write_file(v, SOURCE_HEADER, made->header, strlen(made->header), error));
  DQ_TRY(write_file(v, MAIN_HEADER, made->header, strlen(made->header), error));
  if (made->weights_name) DQ_TRY(write_file(v, WEIGHTS, made->weights, made->weights_bytes, error));
  DQ_TRY(open_file(v, MAIN, &stream, error));
  print_program(stream, v);
  return fclose(stream) ? dq_fail_errno(error, v->files[MAIN]) : DQ_OK;
}

// Runs a command of the shell, in which $DQ_CC_FOLDER is the temporary folder, whatever characters its name has.
static dq_status run_command(const verification *v, const char *command, dq_error *error) {
  const dq_variable folder = {"DQ_CC_FOLDER", v->folders[TOP]};
  if (!command) return dq_fail_memory(error, 0);
  return dq_child_run(command, &(dq_child_options){.variables = &folder, .variable_count = 1}, v->context, error);
}

static dq_status compile(const verification *v, dq_error *error) {
  const char *compiler = v->options->compiler ? v->options->compiler : getenv("CC");
  const char *flags = v->options->flags ? v->options->flags : "-std=c99 -O2";
  if (!compiler || !*compiler) compiler = "cc";
  DQ_TRY(write_sources(v, error));
  dq_status status = run_command(
      v,
      dq_arena_printf(v->arena, "cd \"$DQ_CC_FOLDER/weights\" && %s %s -o ../program ../source/%s ../main/%s -lm",
                      compiler, flags, v->source_name, v->main_name),
      error);
  if (status == DQ_CONDITION)
    return dq_fail(error, DQ_SYSTEM, "the emitted C could not be compiled by '%s %s'", compiler, flags);
  return status;
}

// ---- Samples ----

static dq_status write_tensor(FILE *to, const dq_tensor *tensor, dq_error *error) {
  size_t bytes = dq_tensor_bytes(tensor);
  return !bytes || fwrite(tensor->data, 1, bytes, to) == bytes ? DQ_OK : dq_fail_errno(error, "a temporary file");
}

// Normal noise of deviation 1, for inputs of any size.
static void draw_noise(const verification *v, int64_t sample) {
  dq_plan *plan = v->runner.session.plan;
  const int count = dq_plan_input_count(plan);
  for (int i = 0; i < count; i++) {
    dq_tensor *input = dq_plan_input(plan, i);
    dq_random random = dq_random_start(v->options->seed, (uint64_t)(sample * count + i));
    for (int64_t e = 0; e < dq_tensor_count(input); e++) dq_tensor_set(input, e, (double)dq_random_normal(&random));
  }
}

// Inputs before the run, which may overwrite them, and what the executor answers. No dq_picture_loop, as noise may
// stand in place of pictures.
static dq_status run_samples_of(verification *v, int64_t first, dq_error *error) {
  dq_plan *plan = v->runner.session.plan;
  int64_t left = v->comparison->pictures - first;
  if (!v->options->data) draw_noise(v, first);
  else DQ_TRY(dq_runner_read(&v->runner, first, left < v->runner.batch ? left : v->runner.batch, NULL, error));
  for (int i = 0; i < dq_plan_input_count(plan); i++) DQ_TRY(write_tensor(v->inputs, dq_plan_input(plan, i), error));
  DQ_TRY(dq_plan_run(plan, error));
  for (int o = 0; o < dq_plan_output_count(plan); o++)
    DQ_TRY(write_tensor(v->expected, dq_plan_output(plan, o), error));
  return DQ_OK;
}

static dq_status run_samples(verification *v, dq_error *error) {
  dq_status status = open_file(v, INPUTS, &v->inputs, error);
  if (status == DQ_OK) status = open_file(v, EXPECTED, &v->expected, error);
  for (int64_t p = 0; status == DQ_OK && p < v->comparison->pictures; p += v->runner.batch) {
    status = dq_check_stop(v->context, error);
    if (status == DQ_OK) status = run_samples_of(v, p, error);
    dq_progress(v->context, "running", p + 1, v->comparison->pictures);
  }
  if (v->inputs && fclose(v->inputs) && status == DQ_OK) status = dq_fail_errno(error, "a temporary file");
  if (v->expected && fclose(v->expected) && status == DQ_OK) status = dq_fail_errno(error, "a temporary file");
  return status;
}

static dq_status run_program(const verification *v, dq_error *error) {
  dq_status status = run_command(
      v,
      dq_arena_printf(v->arena, "%s \"$DQ_CC_FOLDER/program\" \"$DQ_CC_FOLDER/inputs\" \"$DQ_CC_FOLDER/outputs\"",
                      v->options->run ? v->options->run : ""),
      error);
  if (status != DQ_CONDITION) return status;
  return dq_error_prefix(error, DQ_SYSTEM, "the program of the emitted C did not run");
}

// ---- Comparison ----

static bool same_element(int type, const void *a, const void *b, size_t size) {
  if (!memcmp(a, b, size)) return true;
  const dq_tensor x = {.type = type, .data = (void *)(uintptr_t)a}, y = {.type = type, .data = (void *)(uintptr_t)b};
  return (DQ_TYPES_FLOAT & DQ_BIT(type)) && isnan(dq_tensor_get(&x, 0)) && isnan(dq_tensor_get(&y, 0));
}

static void compare_output(verification *v, int64_t picture, int o, const char *a, const char *b) {
  dq_codegen_comparison *c = v->comparison;
  const dq_tensor *tensor = &v->made->outputs[o].tensor;
  size_t size = dq_dtype_size(tensor->type);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    c->elements++;
    if (same_element(tensor->type, a + (size_t)i * size, b + (size_t)i * size, size)) continue;
    if (!c->different) c->first_output = o, c->first_picture = picture;
    c->different++;
  }
}

static dq_status compare(verification *v, dq_error *error) {
  dq_file expected = {0}, outputs = {0};
  DQ_TRY(dq_file_open(&expected, v->files[EXPECTED], error));
  dq_status status = dq_file_open(&outputs, v->files[OUTPUTS], error);
  if (status == DQ_OK && outputs.size != expected.size)
    status = dq_fail(error, DQ_SYSTEM, "the program of the emitted C wrote %zu bytes, expected %zu", outputs.size,
                     expected.size);
  size_t at = 0;
  for (int64_t p = 0; status == DQ_OK && p < v->comparison->pictures; p += v->runner.batch)
    for (int o = 0; o < v->made->output_count; o++) {
      compare_output(v, p, o, (const char *)expected.data + at, (const char *)outputs.data + at);
      at += dq_tensor_bytes(&v->made->outputs[o].tensor);
    }
  dq_file_close(&expected);
  dq_file_close(&outputs);
  return status;
}

static dq_status verify(verification *v, dq_error *error) {
  DQ_TRY(run_samples(v, error));
  DQ_TRY(compile(v, error));
  DQ_TRY(run_program(v, error));
  return compare(v, error);
}

// The shapes that the C was made for, one for each of its inputs.
static void set_shapes(const dq_codegen *made, dq_input_shape *shapes) {
  for (int i = 0; i < made->input_count; i++) {
    const dq_tensor *tensor = &made->inputs[i].tensor;
    shapes[i] = (dq_input_shape){.name = made->inputs[i].name, .rank = tensor->rank};
    memcpy(shapes[i].dims, tensor->dims, sizeof shapes[i].dims);
  }
}

// A runner of the data, or a session whose inputs are filled with noise.
static dq_status open_executor(verification *v, dq_error *error) {
  const dq_codegen_verify_options *options = v->options;
  v->shapes = dq_context_alloc(v->context, (size_t)v->made->input_count * sizeof *v->shapes + 1);
  if (!v->shapes) return dq_fail_memory(error, sizeof *v->shapes);
  set_shapes(v->made, v->shapes);
  const dq_shape_request shapes = {options->shapes.batch, v->shapes, v->made->input_count};
  const dq_runner_options runner = {.session = {.shapes = shapes}, .batch = options->shapes.batch};
  if (options->data) return dq_runner_open(&v->runner, options->graph, options->data, &runner, v->context, error);
  v->runner.batch = 1;
  return dq_session_open(&v->runner.session, options->graph, &runner.session, v->context, error);
}

dq_status dq_codegen_verify(dq_codegen_comparison *comparison, const dq_codegen *made,
                            const dq_codegen_verify_options *options, const dq_context *context, dq_error *error) {
  enum { NOISE = 8 };
  verification v = {.made = made, .options = options, .context = context, .comparison = comparison};
  int64_t all = options->data ? dq_data_count(options->data) : NOISE, pictures = options->pictures;
  *comparison = (dq_codegen_comparison){.pictures = pictures && pictures < all ? pictures : all};
  if (!(v.arena = dq_context_arena(context))) return dq_fail_memory(error, 0);
  dq_status status = make_folder(&v, error);
  if (status == DQ_OK) status = open_executor(&v, error);
  if (status == DQ_OK) status = verify(&v, error);
  dq_runner_close(&v.runner);
  dq_budget_free(v.shapes);
  remove_folder(&v);
  dq_arena_free(v.arena);
  return status;
}
