// A program that does through the library what dq-int8, dq-amp, dq-tucker and dq-train do: tests/api/check compares the
// files.
//   ./convert int8|amp|tucker|train MODEL OUT [FIELD=VALUE ...]
// FIELD is a field of the options of the transform, of dq_dataset_options with `data.` in front, of
// dq_engine_options with `engine.`, of dq_model_retrain_options with `retrain.`, or save_ranks; `data`, `eval`,
// `validation` and `check` are opened as data sets. Lists have commas. The exit status is the dq_code; OUT is written
// where a condition does not hold as well.
#include <dq.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 }; // elements of a list
typedef enum kind { TEXT, REAL, INTEGER, LONG, LIST, DATA } kind;
typedef struct field {
  const char *name;
  kind kind;
  size_t offset;
} field;

#define ROW(type, kind, name)                                                                                          \
  { #name, kind, offsetof(type, name) }
#define TRAIN(kind, name) ROW(dq_model_train_options, kind, name)
#define INT8(kind, name) ROW(dq_model_int8_options, kind, name)
#define AMP(kind, name) ROW(dq_model_amp_options, kind, name)
#define TUCKER(kind, name) ROW(dq_model_tucker_options, kind, name)

static const field int8_fields[] = {INT8(TEXT, method),
                                    INT8(REAL, percentile),
                                    INT8(INTEGER, per_tensor),
                                    INT8(INTEGER, signed_activations),
                                    INT8(INTEGER, symmetric),
                                    INT8(LIST, exclude),
                                    INT8(LIST, only),
                                    INT8(LIST, operators),
                                    INT8(LIST, shapes),
                                    INT8(INTEGER, equalize),
                                    INT8(INTEGER, bias_correction),
                                    INT8(TEXT, save_table),
                                    INT8(TEXT, use_table),
                                    INT8(INTEGER, force),
                                    INT8(INTEGER, sums),
                                    INT8(TEXT, rounding),
                                    INT8(INTEGER, bias_absorption),
                                    INT8(INTEGER, range_search),
                                    INT8(INTEGER, form),
                                    INT8(TEXT, table_format),
                                    INT8(TEXT, precision),
                                    INT8(TEXT, save_precision),
                                    INT8(REAL, max_drop),
                                    INT8(DATA, eval),
                                    INT8(TEXT, task),
                                    INT8(TEXT, decode),
                                    INT8(REAL, time_limit),
                                    INT8(REAL, min_sqnr),
                                    INT8(INTEGER, all_int8),
                                    INT8(REAL, max_float),
                                    {0}};
static const field amp_fields[] = {AMP(INTEGER, half_io), AMP(LIST, allow),      AMP(LIST, follow),
                                   AMP(LIST, deny),       AMP(LIST, deny_nodes), AMP(LIST, shapes),
                                   AMP(INTEGER, nearest), AMP(TEXT, policy),     AMP(INTEGER, unguarded),
                                   AMP(REAL, input_max),  AMP(DATA, check),      {0}};
static const field tucker_fields[] = {TUCKER(REAL, ratio),
                                      TUCKER(REAL, energy),
                                      TUCKER(REAL, macs),
                                      TUCKER(TEXT, ranks),
                                      TUCKER(LONG, multiple),
                                      TUCKER(INTEGER, plain),
                                      TUCKER(INTEGER, force),
                                      TUCKER(LIST, shapes),
                                      TUCKER(INTEGER, vbmf),
                                      TUCKER(REAL, weaken),
                                      TUCKER(INTEGER, refine),
                                      TUCKER(INTEGER, matrices),
                                      TUCKER(DATA, data),
                                      TUCKER(INTEGER, never_slower),
                                      TUCKER(REAL, max_drop),
                                      TUCKER(DATA, eval),
                                      TUCKER(TEXT, task),
                                      TUCKER(TEXT, decode),
                                      TUCKER(REAL, time_limit),
                                      TUCKER(LONG, fit_limit),
                                      {0}};
static const field train_fields[] = {TRAIN(DATA, data),
                                     TRAIN(DATA, validation),
                                     TRAIN(LONG, epochs),
                                     TRAIN(LONG, batch),
                                     TRAIN(REAL, rate),
                                     TRAIN(INTEGER, schedule),
                                     TRAIN(REAL, warmup),
                                     TRAIN(INTEGER, optimizer),
                                     TRAIN(REAL, momentum),
                                     TRAIN(REAL, weight_decay),
                                     TRAIN(REAL, label_smoothing),
                                     TRAIN(TEXT, augment),
                                     TRAIN(LIST, freeze),
                                     TRAIN(INTEGER, freeze_statistics),
                                     TRAIN(REAL, temperature),
                                     TRAIN(REAL, feature_loss),
                                     TRAIN(LONG, patience),
                                     TRAIN(INTEGER, keep_last),
                                     TRAIN(TEXT, checkpoint),
                                     TRAIN(LONG, checkpoint_every),
                                     TRAIN(INTEGER, resume),
                                     TRAIN(REAL, time_limit),
                                     TRAIN(INTEGER, quantization_aware),
                                     TRAIN(LIST, shapes),
                                     {0}};
#define RETRAIN(kind, name)                                                                                            \
  { "retrain." #name, kind, offsetof(dq_model_retrain_options, name) }
static const field retrain_fields[] = {
    RETRAIN(TEXT, command), RETRAIN(TEXT, data), RETRAIN(REAL, time_limit), RETRAIN(INTEGER, every), {0}};

#define SOURCE(kind, name)                                                                                             \
  { "data." #name, kind, offsetof(dq_dataset_options, name) }
static const field engine_fields[] = {{"engine.threads", INTEGER, offsetof(dq_engine_options, threads)},
                                      {"engine.seed", LONG, offsetof(dq_engine_options, seed)},
                                      {0}};
static const field data_fields[] = {SOURCE(TEXT, labels),
                                    SOURCE(TEXT, preset),
                                    SOURCE(TEXT, preprocess),
                                    SOURCE(TEXT, norm),
                                    SOURCE(LONG, limit),
                                    SOURCE(INTEGER, strict),
                                    {0}};

typedef struct work {
  dq_engine *engine;
  dq_model *model;
  dq_dataset *data, *other; // NULL: not given; `other`: eval or check
  dq_dataset_options source;
  dq_model_tucker_options tucker;
  dq_failure failure;
} work;

static void set_list(char *value, const char *const **field) {
  const char **names = calloc(MOST + 1, sizeof *names);
  int count = 0;
  for (char *at = strtok(value, ","); at && count < MOST; at = strtok(NULL, ",")) names[count++] = at;
  *field = names;
}

// A data set that an option names has the options of the data but for the limit.
static dq_code set(work *w, const field *row, void *options, char *value) {
  void *to = (char *)options + row->offset;
  dq_dataset_options source = w->source;
  source.limit = 0;
  switch (row->kind) {
  case TEXT: *(const char **)to = value; break;
  case REAL: *(double *)to = strtod_l(value, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0)); break;
  case INTEGER: *(int *)to = atoi(value); break;
  case LONG: *(int64_t *)to = atoll(value); break;
  case LIST: set_list(value, to); break;
  case DATA:
    if (!strcmp(row->name, "data")) *(dq_dataset **)to = w->data;
    else {
      dq_code code = dq_dataset_open(&w->other, w->engine, value, &source, &w->failure);
      if (code != DQ_CODE_OK) return code;
      *(dq_dataset **)to = w->other;
    }
  }
  return DQ_CODE_OK;
}

// The fields of one struct, of all arguments; those of another struct are left alone.
static dq_code read_fields(work *w, const field *fields, void *options, char **arguments) {
  for (; *arguments; arguments++) {
    size_t length = strcspn(*arguments, "=");
    const field *row = fields;
    while (row->name && (strncmp(row->name, *arguments, length) != 0 || row->name[length])) row++;
    if (!row->name || !(*arguments)[length]) continue;
    char *value = strdup(*arguments + length + 1); // for the life of the program
    dq_code code = set(w, row, options, value);
    if (code != DQ_CODE_OK) return code;
  }
  return DQ_CODE_OK;
}

static dq_code open_data(work *w, char **arguments) {
  dq_dataset_defaults(&w->source, sizeof w->source);
  w->source.model = w->model;
  dq_code code = read_fields(w, data_fields, &w->source, arguments);
  for (; code == DQ_CODE_OK && *arguments; arguments++)
    if (!strncmp(*arguments, "data=", 5))
      code = dq_dataset_open(&w->data, w->engine, *arguments + 5, &w->source, &w->failure);
  return code;
}

static dq_code quantize(work *w, char **arguments) {
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  dq_code code = read_fields(w, int8_fields, &options, arguments);
  return code == DQ_CODE_OK ? dq_model_int8(w->model, w->data, &options, NULL, &w->failure) : code;
}

static dq_code halve(work *w, char **arguments) {
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  dq_code code = read_fields(w, amp_fields, &options, arguments);
  return code == DQ_CODE_OK ? dq_model_amp(w->model, &options, NULL, &w->failure) : code;
}

static dq_code decompose(work *w, char **arguments) {
  dq_model_tucker_defaults(&w->tucker, sizeof w->tucker);
  dq_code code = read_fields(w, tucker_fields, &w->tucker, arguments);
  if (code == DQ_CODE_OK) code = dq_model_tucker(w->model, &w->tucker, NULL, &w->failure);
  for (; code == DQ_CODE_OK && *arguments; arguments++)
    if (!strncmp(*arguments, "save_ranks=", 11))
      code = dq_model_tucker_save_ranks(w->model, *arguments + 11, &w->failure);
  return code;
}

// With teacher=MODEL that model is the teacher.
static dq_code train(work *w, char **arguments) {
  dq_model_train_options options;
  dq_model *teacher = NULL;
  dq_model_train_defaults(&options, sizeof options);
  dq_code code = read_fields(w, train_fields, &options, arguments);
  for (; code == DQ_CODE_OK && *arguments; arguments++)
    if (!strncmp(*arguments, "teacher=", 8)) code = dq_model_load(&teacher, w->engine, *arguments + 8, &w->failure);
  options.teacher = teacher;
  if (code == DQ_CODE_OK) code = dq_model_train(w->model, &options, NULL, &w->failure);
  dq_model_free(teacher);
  return code;
}

static dq_code convert(work *w, const char *transform, char **arguments) {
  if (!strcmp(transform, "int8")) return quantize(w, arguments);
  if (!strcmp(transform, "train")) return train(w, arguments);
  return !strcmp(transform, "amp") ? halve(w, arguments) : decompose(w, arguments);
}

static dq_code retrain(work *w, char **arguments) {
  dq_model_retrain_options options;
  dq_model_retrain_defaults(&options, sizeof options);
  options.original = arguments[2];
  options.tucker = &w->tucker;
  options.pictures = w->data;
  dq_code code = read_fields(w, retrain_fields, &options, arguments + 4);
  if (code != DQ_CODE_OK || !options.command) return code;
  return dq_model_retrain(w->model, arguments[3], &options, &w->failure);
}

static int known(const char *argument) {
  static const field own[] = {{.name = "save_ranks"}, {.name = "teacher"}, {0}};
  const field *const all[] = {int8_fields, amp_fields,    tucker_fields,  train_fields,
                              data_fields, engine_fields, retrain_fields, own};
  size_t length = strcspn(argument, "=");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (const field *row = all[i]; row->name; row++)
      if (!strncmp(row->name, argument, length) && !row->name[length]) return 1;
  return 0;
}

int main(int count, char **arguments) {
  work w = {0};
  setlocale(LC_ALL, ""); // files are the same in every locale
  for (int i = 4; i < count; i++)
    if (!known(arguments[i])) return fprintf(stderr, "convert: %s: no such field\n", arguments[i]), DQ_CODE_USAGE;
  if (count < 4)
    return fputs("usage: convert int8|amp|tucker|train MODEL OUT [FIELD=VALUE ...]\n", stderr), DQ_CODE_USAGE;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  dq_code code = read_fields(&w, engine_fields, &options, arguments + 4);
  if (code == DQ_CODE_OK) code = dq_engine_open(&w.engine, &options, &w.failure);
  if (code == DQ_CODE_OK) code = dq_model_load(&w.model, w.engine, arguments[2], &w.failure);
  if (code == DQ_CODE_OK) code = open_data(&w, arguments + 4);
  if (code == DQ_CODE_OK) code = convert(&w, arguments[1], arguments + 4);
  const dq_code condition = code == DQ_CODE_CONDITION ? code : DQ_CODE_OK;
  if (code == condition) code = dq_model_save(w.model, arguments[3], &w.failure);
  if (code == DQ_CODE_OK) code = retrain(&w, arguments);
  if (code == DQ_CODE_OK) code = condition;
  if (code != DQ_CODE_OK) fprintf(stderr, "convert: %s\n", w.failure.message);
  dq_dataset_close(w.other);
  dq_dataset_close(w.data);
  dq_model_free(w.model);
  dq_engine_close(w.engine);
  return (int)code;
}
