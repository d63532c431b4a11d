// `synth:shapes,count=1000,split=test,size=32,channels=3,noise=50`: generated pictures as a data
// set.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "datasets/reader.h"
#include "datasets/synth.h"
#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

typedef struct synth_reader {
  dq_synth synth;
  const char *split;
} synth_reader;

static const char *const split_names[] = {"train", "calib", "test"};

typedef struct parameter {
  const char *name;
  int64_t lowest, highest;
} parameter;

enum { COUNT, SIZE, CHANNELS, NOISE, PARAMETERS };
static const parameter parameters[PARAMETERS] = {
    {"count", 1, INT64_C(1) << 40}, {"size", 8, 512}, {"channels", 1, 3}, {"noise", 0, 100}};

static dq_status parse_split(synth_reader *reader, const char *value, dq_error *error) {
  const int found = dq_find_row(value, split_names, sizeof *split_names, DQ_COUNT(split_names));
  if (found < 0) return dq_fail(error, DQ_USAGE, "synth: split is '%s', expected train, calib or test", value);
  reader->synth.split = (dq_split_kind)found;
  reader->split = split_names[found];
  return DQ_OK;
}

static dq_status parse_parameter(synth_reader *reader, int64_t numbers[PARAMETERS], char *field, dq_error *error) {
  char *value = strchr(field, '=');
  if (!value) return dq_fail(error, DQ_USAGE, "synth: '%s', expected name=value", field);
  *value++ = 0;
  if (!strcmp(field, "split")) return parse_split(reader, value, error);
  for (int i = 0; i < PARAMETERS; i++) {
    const parameter *p = &parameters[i];
    if (strcmp(field, p->name)) continue;
    if (!dq_parse_integer(value, &numbers[i]) || numbers[i] < p->lowest || numbers[i] > p->highest ||
        (i == CHANNELS && numbers[i] == 2))
      return dq_fail(error, DQ_USAGE, "synth: %s is '%s', expected %" PRId64 " to %" PRId64, field, value, p->lowest,
                     p->highest);
    return DQ_OK;
  }
  dq_fail(error, DQ_USAGE, "synth: unknown parameter '%s'", field);
  dq_error_hint(error, "parameters are count, split, size, channels, noise");
  return DQ_USAGE;
}

static dq_status name_classes(dq_data *data, dq_error *error) {
  const char **names = DQ_NEW_ARRAY(data->arena, DQ_SYNTH_CLASSES, const char *);
  if (!names) return dq_fail_memory(error, sizeof *names);
  for (int i = 0; i < DQ_SYNTH_CLASSES; i++) names[i] = dq_synth_class_name(i);
  data->class_names = names;
  data->classes = data->class_name_count = DQ_SYNTH_CLASSES;
  data->classes_exact = true;
  data->kind = DQ_LABEL_CLASS;
  return DQ_OK;
}

static dq_status open_synth(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  int64_t numbers[PARAMETERS] = {1000, 32, 3, 50};
  char **fields;
  int count = dq_split(data->arena, argument, ',', &fields);
  synth_reader *reader = data->state = DQ_NEW(data->arena, synth_reader);
  if (count < 0 || !reader) return dq_fail_memory(error, sizeof *reader);
  reader->synth.split = DQ_SPLIT_TEST;
  reader->split = split_names[DQ_SPLIT_TEST];
  if (strcmp(fields[0], "shapes"))
    return dq_fail(error, DQ_USAGE, "synth: unknown set '%s', expected shapes", fields[0]);
  for (int i = 1; i < count; i++) DQ_TRY(parse_parameter(reader, numbers, fields[i], error));
  reader->synth.seed = options->seed;
  reader->synth.size = data->fixed_width = data->fixed_height = (int)numbers[SIZE];
  reader->synth.channels = data->fixed_channels = (int)numbers[CHANNELS];
  reader->synth.noise = (int)numbers[NOISE];
  data->found = numbers[COUNT];
  data->generated = dq_arena_printf(
      data->arena, "synth:%s,count=%" PRId64 ",split=%s,size=%" PRId64 ",channels=%" PRId64 ",noise=%" PRId64,
      fields[0], numbers[COUNT], reader->split, numbers[SIZE], numbers[CHANNELS], numbers[NOISE]);
  if (!data->generated) return dq_fail_memory(error, 0);
  return name_classes(data, error);
}

static void describe_synth(const dq_data *data, int64_t index, dq_sample_info *info) {
  const synth_reader *reader = data->state;
  char name[64];
  snprintf(name, sizeof name, "shapes/%s#%" PRId64, reader->split, index);
  dq_sample_name(info, name);
  info->label = index % DQ_SYNTH_CLASSES;
}

static dq_status synth_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  const synth_reader *reader = data->state;
  DQ_TRY(dq_image_init(image, reader->synth.size, reader->synth.size, reader->synth.channels, dq_data_budget(data),
                       error));
  dq_synth_picture(&reader->synth, index, image->pixels);
  return DQ_OK;
}

const dq_reader_functions dq_reader_synth = {.open = open_synth, .describe = describe_synth, .pixels = synth_pixels};
