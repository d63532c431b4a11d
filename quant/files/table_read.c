// Other programs' tables read: TensorRT's cache, ONNX Runtime's calibration.json, ncnn's activation lines.
// They hold ranges or scales by value name and say nothing of the model or the data.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/settings/settings_file.h"
#include "quant/files/table_internal.h"

enum { LONGEST_LINE = 4096 };
static const char NO_VALUES[] = "no value with its range is in the file, expected one or more";

static const char TRT[] = "TRT-";

// ---- Which one it is ----

static bool starts(const char *text, size_t size, const char *with) {
  return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

static bool is_json(const char *text, size_t size) {
  size_t at = 0;
  while (at < size && strchr(" \t\r\n", text[at])) at++;
  return at == size || text[at] == '{' || text[at] == '[';
}

bool dq_calibration_table_is_dq(const char *text, size_t size) {
  static const char key[] = "\"schema\"";
  return is_json(text, size) && (size < 2 || memmem(text, size, key, sizeof key - 1));
}
bool dq_calibration_table_is_tensorrt(const char *text, size_t size) { return starts(text, size, TRT); }
bool dq_calibration_table_is_onnxruntime(const char *text, size_t size) { return is_json(text, size); }
bool dq_calibration_table_is_ncnn(const char *text, size_t size) { return text != NULL && size > 0; }

// ---- Lines ----

typedef struct line_reader {
  const char *path, *at, *end;
  int number;
  char text[LONGEST_LINE];
} line_reader;

// The next line that is not empty, without its end; false after the last or when it is too long.
static bool next_line(line_reader *reader) {
  while (reader->at < reader->end) {
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    size_t length = (size_t)((stop ? stop : reader->end) - reader->at);
    reader->number++;
    if (length >= sizeof reader->text) length = sizeof reader->text - 1; // the rest cannot be a number
    memcpy(reader->text, reader->at, length);
    reader->text[length] = 0;
    reader->at = stop ? stop + 1 : reader->end;
    reader->text[strcspn(reader->text, "\r")] = 0;
    if (reader->text[0]) return true;
  }
  return false;
}

// Room for a range more; NULL: no memory.
static dq_calibration_table_range *add_range(dq_calibration_table *table, const char *value, dq_arena *arena) {
  if (!(table->count & (table->count - 1))) { // full at powers of two
    int capacity = table->count ? 2 * table->count : 1;
    dq_calibration_table_range *larger = DQ_NEW_ARRAY(arena, capacity, dq_calibration_table_range);
    if (!larger) return NULL;
    if (table->count) memcpy(larger, table->ranges, (size_t)table->count * sizeof *larger);
    table->ranges = larger;
  }
  dq_calibration_table_range *range = &table->ranges[table->count++];
  range->value = dq_arena_strdup(arena, value);
  return range->value ? range : NULL;
}

// A symmetric range from the largest absolute value, which must be a number above 0, as float32 too.
static dq_status add_symmetric(dq_calibration_table *table, const line_reader *reader, const char *value,
                               double magnitude, dq_arena *arena, dq_error *error) {
  const float largest = (float)magnitude;
  if (!isfinite(largest))
    return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: value '%s': the scale is not finite", reader->path,
                   reader->number, value);
  if (!(largest > 0))
    return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: value '%s': the range has no width", reader->path, reader->number,
                   value);
  if (dq_calibration_table_find(table, value))
    return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: value '%s' stands there twice", reader->path, reader->number,
                   value);
  dq_calibration_table_range *range = add_range(table, value, arena);
  if (!range) return dq_fail_memory(error, 0);
  range->range = (dq_range_pair){-largest, largest};
  return DQ_OK;
}

static dq_status fail_line(const line_reader *reader, const char *expected, dq_error *error) {
  return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: expected %s", reader->path, reader->number, expected);
}

// "NAME: 3c010a14": the bits of the float32 scale, the most significant digit first.
static dq_status read_tensorrt_line(dq_calibration_table *table, line_reader *reader, dq_arena *arena,
                                    dq_error *error) {
  char *colon = strrchr(reader->text, ':'), *end = NULL;
  const char *digits = colon ? colon + 1 + strspn(colon + 1, " ") : "";
  if (!colon || strlen(digits) != 8 || strspn(digits, "0123456789abcdefABCDEF") != 8)
    return fail_line(reader, "'name: ' and 8 hexadecimal digits", error);
  uint32_t bits = (uint32_t)strtoul(digits, &end, 16);
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  *colon = 0;
  return add_symmetric(table, reader, reader->text, (double)scale * 127, arena, error);
}

// "NAME 97.27": 127 / the largest absolute value. Lines of weights, NAME_param_N, have a scale per channel
// and are not needed.
static dq_status read_ncnn_line(dq_calibration_table *table, line_reader *reader, dq_arena *arena, dq_error *error) {
  char *space = strchr(reader->text, ' '), *end = NULL;
  if (!space) return fail_line(reader, "'name' and a scale", error);
  *space = 0;
  if (strstr(reader->text, "_param_")) return DQ_OK;
  double scale = strtod(space + 1, &end);
  if (end == space + 1 || end[strspn(end, " ")]) return fail_line(reader, "'name' and a scale", error);
  if (isnan(scale) || scale < 0) scale = NAN;
  return add_symmetric(table, reader, reader->text, scale > 0 && isinf(scale) ? 0 : 127 / scale, arena, error);
}

static dq_status read_lines(dq_calibration_table *table, const char *path, bool heading,
                            dq_status (*read)(dq_calibration_table *, line_reader *, dq_arena *, dq_error *),
                            dq_arena *arena, dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open(&file, path, error));
  line_reader *reader = DQ_NEW(arena, line_reader);
  dq_status status = reader ? DQ_OK : dq_fail_memory(error, sizeof *reader);
  if (reader) {
    *reader = (line_reader){.path = path, .at = (const char *)file.data, .end = (const char *)file.data + file.size};
    if (heading) next_line(reader);
  }
  while (status == DQ_OK && next_line(reader)) status = read(table, reader, arena, error);
  if (status == DQ_OK && !table->count) status = dq_fail(error, DQ_BAD_INPUT, "%s: %s", path, NO_VALUES);
  dq_file_close(&file);
  table->symmetric = true;
  return status;
}

dq_status dq_calibration_table_read_tensorrt(dq_calibration_table *table, const char *path, dq_arena *arena,
                                             dq_error *error) {
  return read_lines(table, path, true, read_tensorrt_line, arena, error);
}
dq_status dq_calibration_table_read_ncnn(dq_calibration_table *table, const char *path, dq_arena *arena,
                                         dq_error *error) {
  return read_lines(table, path, false, read_ncnn_line, arena, error);
}

// ---- ONNX Runtime ----

// A number, or the array of one element that ONNX Runtime's encoder makes of it.
static double number_of(const json_t *value) {
  if (json_is_object(value)) value = json_object_get(value, "data");
  if (json_is_array(value) && json_array_size(value) == 1) value = json_array_get(value, 0);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static dq_status read_entry(dq_calibration_table *table, const char *name, const json_t *entry, dq_arena *arena,
                            dq_error *error) {
  double low = number_of(json_object_get(entry, "lowest")), high = number_of(json_object_get(entry, "highest"));
  if (!isfinite((float)low) || !isfinite((float)high))
    return dq_fail(error, DQ_BAD_INPUT, "value '%s': '%s' is not a finite number", name,
                   isfinite((float)low) ? "highest" : "lowest");
  if (low > high) return dq_fail(error, DQ_BAD_INPUT, "value '%s': lowest %g is above highest %g", name, low, high);
  if (low == high) return dq_fail(error, DQ_BAD_INPUT, "value '%s': the range has no width", name);
  dq_calibration_table_range *range = add_range(table, name, arena);
  if (!range) return dq_fail_memory(error, 0);
  range->range = (dq_range_pair){(float)low, (float)high};
  return DQ_OK;
}

// Values stand in the object itself or, as newer versions write them, in its member "data".
static dq_status read_entries(dq_calibration_table *table, const json_t *root, dq_arena *arena, dq_error *error) {
  const json_t *data = json_object_get(root, "data");
  if (json_is_object(data) && !json_object_get(data, "lowest")) root = data;
  const char *name;
  json_t *entry;
  json_object_foreach((json_t *)(uintptr_t)root, name, entry) {
    if (json_is_object(entry)) DQ_TRY(read_entry(table, name, entry, arena, error));
  }
  return table->count ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "%s", NO_VALUES);
}

dq_status dq_calibration_table_read_onnxruntime(dq_calibration_table *table, const char *path, dq_arena *arena,
                                                dq_error *error) {
  dq_settings_file settings;
  DQ_TRY(dq_settings_open(&settings, path, NULL, 0, error));
  dq_status status = read_entries(table, settings.root, arena, error);
  dq_settings_close(&settings);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}
