// Presets and their overrides: `resize=256,crop=224,fit=crop,...` to fields and back.
#include "datasets/preprocess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "datasets/reader.h"

#define DQ_ARG(...) __VA_ARGS__

typedef struct preset {
  const char *name;
  dq_preprocess fields;
} preset;

static const preset presets[] = {
#define DQ_PRESET(name, fit, filter, resize, longest, multiple, pad, colour, scale, mean, std, patient)                \
  {name,                                                                                                               \
   {DQ_FIT_##fit, DQ_FILTER_##filter, resize, 0, longest, multiple, pad, DQ_COLOUR_##colour, scale, mean, std,         \
    patient}},
#define DQ_PRESET_ALIAS(name, row)
#include "datasets/presets.def"
#undef DQ_PRESET
#undef DQ_PRESET_ALIAS
};
enum { PRESETS = DQ_COUNT(presets) };

typedef struct alias {
  const char *name, *row;
} alias;

static const alias aliases[] = {
#define DQ_PRESET(name, fit, filter, resize, longest, multiple, pad, colour, scale, mean, std, patient)
#define DQ_PRESET_ALIAS(name, row) {name, row},
#include "datasets/presets.def"
#undef DQ_PRESET
#undef DQ_PRESET_ALIAS
};

const char *dq_preset_name(int index) { return index >= 0 && index < PRESETS ? presets[index].name : NULL; }

typedef struct choice {
  const char *name;
  int value;
} choice;

static const choice fits[] = {{"crop", DQ_FIT_CROP},           {"stretch", DQ_FIT_STRETCH},
                              {"letterbox", DQ_FIT_LETTERBOX}, {"letterbox-corner", DQ_FIT_LETTERBOX_CORNER},
                              {"line", DQ_FIT_LINE},           {NULL, 0}};
static const choice colours[] = {{"rgb", DQ_COLOUR_RGB}, {"bgr", DQ_COLOUR_BGR}, {"grey", DQ_COLOUR_GREY}, {NULL, 0}};
static const choice filters[] = {{"pil-bilinear", DQ_FILTER_BILINEAR}, {"pil-bicubic", DQ_FILTER_BICUBIC}, {NULL, 0}};

static dq_status parse_choice(const char *field, const char *text, const choice *choices, int *value, dq_error *error) {
  char names[128] = "";
  for (const choice *row = choices; row->name; row++) {
    if (!strcmp(row->name, text)) {
      *value = row->value;
      return DQ_OK;
    }
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
  }
  return dq_fail(error, DQ_USAGE, "preprocess: %s is '%s', expected one of %s", field, text, names);
}

// A number or a quotient of two: "0.5", "1/255".
static bool parse_quotient(const char *text, double *value, dq_arena *arena) {
  char **parts;
  double divisor = 1;
  int count = dq_split(arena, text, '/', &parts);
  if (count < 1 || count > 2 || !dq_parse_number(parts[0], value)) return false;
  if (count == 2 && (!dq_parse_number(parts[1], &divisor) || divisor == 0)) return false;
  *value /= divisor;
  return isfinite(*value);
}

static dq_status parse_size(const char *field, const char *text, int64_t lowest, int64_t highest, int *value,
                            dq_error *error) {
  int64_t number;
  if (!dq_parse_integer(text, &number) || number < lowest || number > highest)
    return dq_fail(error, DQ_USAGE, "preprocess: %s is '%s', expected a whole number from %d to %d", field, text,
                   (int)lowest, (int)highest);
  *value = (int)number;
  return DQ_OK;
}

// One number for all channels or three with colons between.
static dq_status parse_three(const char *field, const char *text, double values[3], dq_arena *arena, dq_error *error) {
  char **parts;
  int count = dq_split(arena, text, ':', &parts);
  if (count < 0) return dq_fail_memory(error, strlen(text));
  bool good = count == 1 || count == 3;
  for (int i = 0; i < 3 && good; i++) good = parse_quotient(parts[count == 1 ? 0 : i], &values[i], arena);
  if (!good)
    return dq_fail(error, DQ_USAGE, "preprocess: %s is '%s', expected one number or three as a:b:c, each as 0.5 or 1/2",
                   field, text);
  return DQ_OK;
}

static dq_status parse_pad(const char *text, double values[3], dq_arena *arena, dq_error *error) {
  DQ_TRY(parse_three("pad", text, values, arena, error));
  for (int i = 0; i < 3; i++)
    if (values[i] < 0 || values[i] > 255)
      return dq_fail(error, DQ_USAGE, "preprocess: pad is '%s', expected numbers from 0 to 255", text);
  return DQ_OK;
}

static dq_status parse_field(dq_preprocess *preprocess, const char *field, const char *value, const char **norm,
                             dq_arena *arena, dq_error *error) {
  int number = 0;
  if (!strcmp(field, "resize")) return parse_size(field, value, 0, 65536, &preprocess->resize, error);
  if (!strcmp(field, "crop")) return parse_size(field, value, 1, 65536, &preprocess->crop, error);
  if (!strcmp(field, "longest")) return parse_size(field, value, 0, 65536, &preprocess->longest, error);
  if (!strcmp(field, "multiple")) return parse_size(field, value, 1, 65536, &preprocess->multiple, error);
  if (!strcmp(field, "pad")) return parse_pad(value, preprocess->pad, arena, error);
  if (!strcmp(field, "mean")) return parse_three(field, value, preprocess->mean, arena, error);
  if (!strcmp(field, "std")) return parse_three(field, value, preprocess->std, arena, error);
  if (!strcmp(field, "scale")) {
    if (parse_quotient(value, &preprocess->scale, arena)) return DQ_OK;
    return dq_fail(error, DQ_USAGE, "preprocess: scale is '%s', expected a number such as 0.5 or 1/255", value);
  }
  if (!strcmp(field, "fit")) {
    DQ_TRY(parse_choice(field, value, fits, &number, error));
    preprocess->fit = (dq_picture_fit)number;
    return DQ_OK;
  }
  if (!strcmp(field, "color")) {
    DQ_TRY(parse_choice(field, value, colours, &number, error));
    preprocess->colour = (dq_colour)number;
    return DQ_OK;
  }
  if (!strcmp(field, "filter")) {
    DQ_TRY(parse_choice(field, value, filters, &number, error));
    preprocess->filter = (dq_filter)number;
    return DQ_OK;
  }
  if (!strcmp(field, "norm")) {
    preprocess->per_patient = true;
    if (*value) *norm = value;
    return DQ_OK;
  }
  dq_fail(error, DQ_USAGE, "preprocess: unknown field '%s'", field);
  dq_error_hint(error, "fields are resize, crop, longest, multiple, fit, color, mean, std, scale, filter, pad, norm");
  return DQ_USAGE;
}

static dq_status find_preset(const char *name, dq_preprocess *fields, dq_error *error) {
  char names[384] = "";
  for (size_t i = 0; i < DQ_COUNT(aliases); i++)
    if (!strcmp(aliases[i].name, name)) name = aliases[i].row;
  for (int i = 0; i < PRESETS; i++) {
    if (!strcmp(presets[i].name, name)) {
      *fields = presets[i].fields;
      return DQ_OK;
    }
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", presets[i].name);
  }
  dq_fail(error, DQ_USAGE, "unknown preset '%s'", name);
  dq_error_hint(error, "presets are %s", names);
  return DQ_USAGE;
}

// What byte `x` becomes in channel c.
static double element_of(const dq_preprocess *preprocess, int c, double x) {
  return (x * preprocess->scale - preprocess->mean[c]) / preprocess->std[c];
}

// No byte may become NaN or infinite.
static dq_status check_constants(const dq_preprocess *preprocess, dq_error *error) {
  for (int c = 0; c < 3 && !preprocess->per_patient; c++) {
    double lowest = element_of(preprocess, c, 0), highest = element_of(preprocess, c, 255);
    if (preprocess->std[c] == 0)
      return dq_fail(error, DQ_USAGE, "preprocess: std of channel %d is 0, expected another number", c);
    if (!isfinite((float)lowest) || !isfinite((float)highest))
      return dq_fail(error, DQ_USAGE, "preprocess: scale, mean and std give values beyond float32 in channel %d", c);
  }
  return DQ_OK;
}

// Fields with commas between, the name of a preset first when `named` is set.
static dq_status parse_fields(dq_preprocess *preprocess, const char *text, bool named, const char **norm,
                              dq_arena *arena, dq_error *error) {
  char **fields;
  int count = text && *text ? dq_split(arena, text, ',', &fields) : 0;
  if (count < 0) return dq_fail_memory(error, strlen(text));
  for (int i = 0; i < count; i++) {
    char *equals = strchr(fields[i], '=');
    if (!equals && named && i == 0) {
      DQ_TRY(find_preset(fields[i], preprocess, error));
      continue;
    }
    if (!equals) return dq_fail(error, DQ_USAGE, "preprocess: '%s', expected field=value", fields[i]);
    *equals = 0;
    DQ_TRY(parse_field(preprocess, fields[i], equals + 1, norm, arena, error));
  }
  return DQ_OK;
}

dq_status dq_preprocess_parse(dq_preprocess *preprocess, const char *name, const char *overrides, const char **norm,
                              dq_arena *arena, dq_error *error) {
  *preprocess = (dq_preprocess){.fit = DQ_FIT_STRETCH, .multiple = 1, .scale = 1, .std = {1, 1, 1}};
  *norm = NULL;
  DQ_TRY(parse_fields(preprocess, name, true, norm, arena, error));
  DQ_TRY(parse_fields(preprocess, overrides, !name, norm, arena, error));
  return check_constants(preprocess, error);
}

dq_status dq_preprocess_reach(double *reach, const char *name, const char *overrides, dq_arena *arena,
                              dq_error *error) {
  dq_preprocess preprocess;
  const char *norm;
  *reach = 0;
  DQ_TRY(dq_preprocess_parse(&preprocess, name, overrides, &norm, arena, error));
  for (int c = 0; c < 3 && !preprocess.per_patient; c++)
    *reach = fmax(*reach, fmax(fabs(element_of(&preprocess, c, 0)), fabs(element_of(&preprocess, c, 255))));
  return DQ_OK;
}

const char *dq_preprocess_join(const char *name, const char *overrides, dq_arena *arena) {
  bool both = name && *name && overrides && *overrides;
  char *text = dq_arena_printf(arena, "%s%s%s", name ? name : "", both ? "," : "", overrides ? overrides : "");
  for (char *at = text; at && *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncmp(at, "norm=", 5)) continue;
    char *path = at + 5;
    memmove(path, path + strcspn(path, ","), strlen(path + strcspn(path, ",")) + 1);
  }
  return text;
}
