#include "lib/train/loop/builtin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"

static const char word[] = "builtin";
enum { WORD = sizeof word - 1 };

bool dq_is_builtin(const char *text) { return !strncmp(text, word, WORD) && (!text[WORD] || text[WORD] == ','); }

typedef struct setting {
  const char *name;
  double low, high;
  bool whole;
} setting;

enum { EPOCHS, BATCH, RATE, TEMPERATURE, FEATURE_LOSS, SETTINGS };
static const setting settings[SETTINGS] = {{"epochs", 1, 1e6, true},
                                           {"batch", 1, 65536, true},
                                           {"lr", 1e-12, 1e6, false},
                                           {"temperature", 1e-3, 1e6, false},
                                           {"feature-loss", 0, 1e6, false}};

// Reads one field into numbers; false: it is none of the settings.
static bool read_setting(const char *field, double numbers[SETTINGS], dq_status *status, dq_error *error) {
  for (int i = 0; i < SETTINGS; i++) {
    const setting *s = &settings[i];
    const size_t length = strlen(s->name);
    if (strncmp(field, s->name, length) || field[length] != '=') continue;
    char *end;
    const char *value = field + length + 1;
    numbers[i] = strtod(value, &end);
    const bool fits = end != value && !*end && numbers[i] >= s->low && numbers[i] <= s->high;
    *status = DQ_OK;
    if (!fits || (s->whole && numbers[i] != floor(numbers[i])))
      *status = dq_fail(error, DQ_USAGE, "builtin: %s is '%s', expected %s%g to %g", s->name, value,
                        s->whole ? "a whole number from " : "", s->low, s->high);
    return true;
  }
  return false;
}

// The fields that are no settings are changes of pictures, of which `changes` receives the list.
static dq_status read_fields(const char *text, double numbers[SETTINGS], char *changes, size_t size, dq_error *error) {
  size_t used = 0;
  for (text += WORD; *text == ',';) {
    char field[64];
    const size_t length = strcspn(++text, ",");
    dq_status status = DQ_OK;
    snprintf(field, sizeof field, "%.*s", (int)dq_min_i64((int64_t)length, sizeof field - 1), text);
    text += length;
    if (!length) return dq_fail(error, DQ_USAGE, "builtin: a field between two commas is empty");
    if (length >= sizeof field) return dq_fail(error, DQ_USAGE, "builtin: the field '%s...' is too long", field);
    if (read_setting(field, numbers, &status, error)) DQ_TRY(status);
    else used += (size_t)snprintf(changes + used, size - used, "%s%s", used ? "," : "", field);
    if (used >= size) return dq_fail(error, DQ_USAGE, "builtin: the list of changes is too long");
  }
  return DQ_OK;
}

dq_builtin dq_builtin_of(const dq_graph *teacher, dq_data *data, dq_data *validation, dq_builtin_kind kind,
                         const dq_retrain_options *hook, const dq_context *context) {
  return (dq_builtin){.context = context,
                      .usual_rate = kind == DQ_BUILTIN_HALF ? 1e-6 : 0.0003,
                      .options = {.training = {.shapes = hook->shapes ? *hook->shapes : (dq_shape_request){0},
                                               .quantized = kind == DQ_BUILTIN_QUANTIZED},
                                  .data = data,
                                  .validation = validation ? validation : data,
                                  .teacher = teacher,
                                  .match = kind == DQ_BUILTIN_HALF,
                                  .time_limit = hook->time_limit}};
}

dq_status dq_builtin_parse(dq_builtin *builtin, const char *text, dq_error *error) {
  double numbers[SETTINGS] = {10, 32, builtin->usual_rate, 1, 0};
  char changes[256] = "";
  DQ_TRY(read_fields(text, numbers, changes, sizeof changes, error));
  dq_trainer_options *options = &builtin->options;
  options->training.batch = (int64_t)numbers[BATCH];
  options->training.temperature = numbers[TEMPERATURE];
  options->training.feature_loss = numbers[FEATURE_LOSS];
  options->optimizer = dq_optimizer_of(DQ_OPTIMIZER_ADAM, 0, 0);
  options->rate = (dq_rate){.course = DQ_RATE_COSINE, .rate = numbers[RATE]};
  options->epochs = (int64_t)numbers[EPOCHS];
  return *changes ? dq_augmentation_parse(&options->augmentation, changes, error) : DQ_OK;
}

dq_status dq_builtin_train(void *argument, dq_graph *graph, dq_error *error) {
  const dq_builtin *builtin = argument;
  dq_trainer_options options = builtin->options;
  dq_train_report report;
  dq_arena *arena = dq_context_arena(builtin->context);
  if (!arena) return dq_fail_memory(error, 0);
  options.training.batch = dq_min_i64(options.training.batch, dq_data_count(options.data));
  const dq_status status = dq_train(graph, &options, &report, arena, builtin->context, error);
  dq_arena_free(arena);
  return status;
}
