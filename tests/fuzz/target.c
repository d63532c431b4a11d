// What targets share: the engine, files, and the checks that every call must pass.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/fuzz/fuzz.h"

void fuzz_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("fuzz: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

int fuzz_answer(dq_code code, const dq_failure *failure, const char *what) {
  if (code == DQ_CODE_OK) return 1;
  if (code != DQ_CODE_CONDITION && code != DQ_CODE_USAGE && code != DQ_CODE_BAD_INPUT && code != DQ_CODE_UNSUPPORTED &&
      code != DQ_CODE_SYSTEM)
    fuzz_fail("%s: code %d", what, (int)code);
  if (failure->code != code) fuzz_fail("%s: code %d, in the failure %d", what, (int)code, (int)failure->code);
  if (!failure->message[0]) fuzz_fail("%s: code %d without a message", what, (int)code);
  for (const char *c = failure->message; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) fuzz_fail("%s: control character %d in '%s'", what, *c, failure->message);
  return 0;
}

static int64_t reached[FUZZ_STAGES];
int64_t *fuzz_reached = reached;

void fuzz_reach(fuzz_stage stage) { fuzz_reached[stage]++; }

dq_engine *fuzz_engine(void) {
  static dq_engine *engine;
  dq_engine_options options;
  dq_failure failure;
  if (engine) return engine;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 1;
  options.memory = FUZZ_MEMORY;
  if (dq_engine_open(&engine, &options, &failure) != DQ_CODE_OK) fuzz_fail("%s", failure.message);
  return engine;
}

// ---- Files ----

static char folder[64];
static pid_t owner;

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (owner == getpid() && system(command)) fprintf(stderr, "%s is left\n", folder);
}

const char *fuzz_path(const char *name) {
  static char paths[8][128];
  static unsigned next;
  if (!owner) { // processes forked from here on use the same one
    snprintf(folder, sizeof folder, "%s/dq-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(folder)) fuzz_fail("no temporary folder");
    atexit(remove_folder);
    owner = getpid();
  }
  char *path = paths[next++ % 8];
  snprintf(path, sizeof *paths, "%s/%s", folder, name);
  return path;
}

void fuzz_write(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file)) fuzz_fail("%s cannot be written", path);
}

uint8_t *fuzz_read(const char *path, size_t *size) {
  dq_file file;
  dq_error error = {0};
  if (dq_file_open(&file, path, &error) != DQ_OK) fuzz_fail("%s", error.message);
  uint8_t *data = malloc(file.size + 1);
  if (!data) fuzz_fail("no memory for %s", path);
  memcpy(data, file.data, file.size);
  data[ *size = file.size] = 0;
  dq_file_close(&file);
  return data;
}

// ---- Models ----

void fuzz_round_trip(const dq_model *model, const char *what) {
  dq_failure failure = {0};
  dq_model *again = NULL;
  const char *first = fuzz_path("first.onnx"), *second = fuzz_path("second.onnx");
  if (dq_model_save(model, first, &failure) != DQ_CODE_OK) fuzz_fail("%s: not saved: %s", what, failure.message);
  if (dq_model_load(&again, fuzz_engine(), first, &failure) != DQ_CODE_OK)
    fuzz_fail("%s: saved, but not loaded: %s", what, failure.message);
  if (dq_model_save(again, second, &failure) != DQ_CODE_OK) fuzz_fail("%s: not saved again: %s", what, failure.message);
  dq_model_free(again);
  size_t size, size_again;
  uint8_t *data = fuzz_read(first, &size), *data_again = fuzz_read(second, &size_again);
  if (size != size_again || memcmp(data, data_again, size))
    fuzz_fail("%s: %zu bytes saved, %zu bytes when saved again, or others", what, size, size_again);
  free(data);
  free(data_again);
}

int fuzz_is_small(dq_model *model, int64_t products) {
  dq_failure failure;
  dq_model_cost_facts facts = {.size = sizeof facts};
  dq_code code = dq_model_cost(model, NULL, &facts, &failure);
  if (!fuzz_answer(code, &failure, "cost")) return 1;
  for (int i = 0; i < 3; i++) {
    dq_model_cost_row row = {.size = sizeof row};
    if (dq_model_cost_at(model, i, &row) && (!row.name || !row.op_type)) fuzz_fail("cost: row %d has no name", i);
  }
  return facts.macs <= products;
}

static void fill(const dq_array *array) {
  for (uint64_t i = 0; array->type == 1 && i < array->bytes / sizeof(float); i++)
    ((float *)array->data)[i] = (float)(i % 13) * 0.25f - 1;
  if (array->type != 1)
    for (uint64_t i = 0; i < array->bytes; i++) ((uint8_t *)array->data)[i] = array->type == 9 ? i & 1 : !(i % 8);
}

dq_code fuzz_run(dq_model *model) {
  dq_failure failure;
  dq_network *network = NULL;
  dq_array array;
  dq_code code = dq_network_open(&network, model, NULL, &failure);
  if (!fuzz_answer(code, &failure, "opening")) return code;
  for (int i = 0; dq_network_input(network, i, &array); i++) fill(&array);
  code = dq_network_run(network, &failure);
  if (fuzz_answer(code, &failure, "running")) fuzz_reach(FUZZ_RUN);
  static volatile uint8_t sum; // outputs are read, so that a tool sees what nobody wrote
  for (int i = 0; code == DQ_CODE_OK && dq_network_output(network, i, &array); i++)
    for (uint64_t k = 0; k < array.bytes; k++) sum = (uint8_t)(sum + ((const uint8_t *)array.data)[k]);
  dq_network_close(network);
  return code;
}
