// A process that runs and converts models for tests/interop/random_common.py: requests come on standard input, answers
// go to standard output, so that thousands of small models need neither files nor processes of their own. Integers are
// those of the machine.
//
// Request: u32 length of `text`, text, u64 length of the model, model, u32 number of arrays, and of each u64 length and
// its elements. `text` has one line for each answer, or is one conversion:
//   run SETTING                              "1" or "2" threads, or "plain" (1 thread, no passes)
//   int8|amp|tucker OUT [FIELD=VALUE ...]    converts the model and saves it as OUT; data=SPEC opens data
// Answer of each line: i32 status, u32 length of the message, message, u32 number of arrays, and of each i32 ONNX type,
// i32 rank, i64 sizes, u64 length and elements.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/dq.h"

enum { MOST_ARRAYS = 64, MOST_TEXT = 4096 };
typedef struct bytes {
  void *data;
  uint64_t size;
} bytes;
typedef struct request {
  char text[MOST_TEXT];
  bytes model, arrays[MOST_ARRAYS];
  uint32_t array_count;
} request;

static dq_engine *engines[2]; // with 1 and 2 threads

// ---- Reading and writing ----

static bool read_all(void *to, size_t size) { return size == 0 || fread(to, size, 1, stdin) == 1; }
static void put(const void *from, size_t size) {
  if (size && fwrite(from, size, 1, stdout) != 1) exit(2);
}

static bool read_bytes(bytes *to) {
  if (!read_all(&to->size, sizeof to->size)) return false;
  to->data = malloc(to->size + 1);
  return to->data && read_all(to->data, to->size);
}

static bool read_request(request *to) {
  uint32_t length;
  *to = (request){0};
  if (!read_all(&length, sizeof length) || length >= MOST_TEXT || !read_all(to->text, length)) return false;
  if (!read_bytes(&to->model) || !read_all(&to->array_count, sizeof to->array_count)) return false;
  for (uint32_t i = 0; i < to->array_count; i++)
    if (i >= MOST_ARRAYS || !read_bytes(&to->arrays[i])) return false;
  return true;
}

static void free_request(request *done) {
  free(done->model.data);
  for (uint32_t i = 0; i < done->array_count; i++) free(done->arrays[i].data);
}

static void put_status(dq_code code, const char *message, uint32_t arrays) {
  int32_t status = (int32_t)code;
  uint32_t length = (uint32_t)strlen(message);
  put(&status, sizeof status);
  put(&length, sizeof length);
  put(message, length);
  put(&arrays, sizeof arrays);
}

static void put_array(const dq_array *array) {
  int32_t head[] = {array->type, array->rank};
  put(head, sizeof head);
  put(array->dims, (size_t)array->rank * sizeof *array->dims);
  put(&array->bytes, sizeof array->bytes);
  put(array->data, array->bytes);
}

// ---- Work ----

static dq_code fill_inputs(dq_network *network, const request *job, dq_failure *failure) {
  for (int i = 0; i < dq_network_inputs(network); i++) {
    dq_array array;
    dq_network_input(network, i, &array);
    if (i >= (int)job->array_count || array.bytes != job->arrays[i].size) {
      snprintf(failure->message, sizeof failure->message, "the arrays do not fit input %d of the network", i);
      return DQ_CODE_USAGE;
    }
    if (array.bytes) memcpy(array.data, job->arrays[i].data, array.bytes);
  }
  return DQ_CODE_OK;
}

static void put_outputs(dq_network *network) {
  int count = dq_network_outputs(network);
  put_status(DQ_CODE_OK, "", (uint32_t)count);
  for (int i = 0; i < count; i++) {
    dq_array array;
    dq_network_output(network, i, &array);
    put_array(&array);
  }
}

static void run(dq_model *model, const char *setting, const request *job) {
  dq_network *network = NULL;
  dq_failure failure = {0};
  dq_network_options options;
  dq_network_defaults(&options, sizeof options);
  options.plain = !strcmp(setting, "plain");
  dq_code code = dq_network_open(&network, model, &options, &failure);
  if (code == DQ_CODE_OK) code = fill_inputs(network, job, &failure);
  if (code == DQ_CODE_OK) code = dq_network_run(network, &failure);
  if (code == DQ_CODE_OK) put_outputs(network);
  else put_status(code, failure.message, 0);
  dq_network_close(network);
}

static double number_of(const char *words, const char *field, double otherwise) {
  const char *found = strstr(words, field);
  return found ? strtod(found + strlen(field), NULL) : otherwise;
}

static dq_code int8(dq_model *model, dq_dataset *data, const char *words, dq_failure *failure) {
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.per_tensor = (int)number_of(words, " per_tensor=", 0);
  options.form = (dq_form)number_of(words, " form=", DQ_FORM_QDQ);
  options.signed_activations = (int)number_of(words, " signed=", 0);
  options.all_int8 = (int)number_of(words, " all_int8=", 0);
  if (number_of(words, " minmax=", 0) != 0) options.method = "minmax";
  return dq_model_int8(model, data, &options, NULL, failure);
}

static dq_code amp(dq_model *model, dq_dataset *data, const char *words, dq_failure *failure) {
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.half_io = (int)number_of(words, " half_io=", 0);
  options.unguarded = (int)number_of(words, " unguarded=", 0);
  options.check = data;
  return dq_model_amp(model, &options, NULL, failure);
}

static dq_code tucker(dq_model *model, dq_dataset *data, const char *words, dq_failure *failure) {
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = number_of(words, " ratio=", 0);
  options.energy = number_of(words, " energy=", 0);
  options.vbmf = (int)number_of(words, " vbmf=", 0);
  options.matrices = (int)number_of(words, " matrices=", 0);
  options.force = (int)number_of(words, " force=", 0);
  options.data = data;
  return dq_model_tucker(model, &options, NULL, failure);
}

static dq_code open_data(dq_dataset **data, const char *words, dq_failure *failure) {
  const char *found = strstr(words, " data=");
  char spec[MOST_TEXT];
  if (!found || sscanf(found + 6, "%4095s", spec) != 1) return DQ_CODE_OK;
  return dq_dataset_open(data, engines[0], spec, NULL, failure);
}

static void convert(dq_model *model, const char *words) {
  dq_dataset *data = NULL;
  dq_failure failure = {0};
  char what[16], out[MOST_TEXT];
  if (sscanf(words, "%15s %4095s", what, out) != 2) exit(2);
  dq_code code = open_data(&data, words, &failure);
  if (code == DQ_CODE_OK && !strcmp(what, "int8")) code = int8(model, data, words, &failure);
  else if (code == DQ_CODE_OK && !strcmp(what, "amp")) code = amp(model, data, words, &failure);
  else if (code == DQ_CODE_OK && !strcmp(what, "tucker")) code = tucker(model, data, words, &failure);
  if (code == DQ_CODE_OK || code == DQ_CODE_CONDITION) {
    dq_code saved = dq_model_save(model, out, &failure);
    if (saved != DQ_CODE_OK) code = saved;
  }
  put_status(code, failure.message, 0);
  dq_dataset_close(data);
}

static void answer(const char *line, const request *job) {
  dq_model *model = NULL;
  dq_failure failure = {0};
  char setting[16] = "";
  bool runs = sscanf(line, "run %15s", setting) == 1;
  dq_engine *engine = engines[!strcmp(setting, "2")];
  dq_code code = dq_model_load_bytes(&model, engine, job->model.data, job->model.size, NULL, &failure);
  if (code != DQ_CODE_OK) put_status(code, failure.message, 0);
  else if (runs) run(model, setting, job);
  else convert(model, line);
  dq_model_free(model);
}

int main(void) {
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.wisdom = "";
  for (int i = 0; i < 2; i++) {
    options.threads = i + 1;
    if (dq_engine_open(&engines[i], &options, NULL) != DQ_CODE_OK) return 2;
  }
  for (request job; read_request(&job); free_request(&job)) {
    char *rest = NULL;
    for (char *line = strtok_r(job.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) answer(line, &job);
    fflush(stdout);
  }
  dq_engine_close(engines[0]);
  dq_engine_close(engines[1]);
  return 0;
}
