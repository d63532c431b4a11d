// The formats of tables, and those of other programs written: symmetric scales or ranges by value name.
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/base/file.h"
#include "quant/files/table_internal.h"

static const dq_calibration_table_format formats[] = {
#define DQ_TABLE_FORMAT(symbol, help)                                                                                  \
  {#symbol, help, dq_calibration_table_write_##symbol, dq_calibration_table_is_##symbol,                               \
   dq_calibration_table_read_##symbol},
#include "quant/files/table_formats.def"
#undef DQ_TABLE_FORMAT
    {NULL, NULL, NULL, NULL, NULL}};

static const struct {
  const char *pattern, *format;
} names[] = {{"*.cache", "tensorrt"},
             {"calibration.json", "onnxruntime"},
             {"*/calibration.json", "onnxruntime"},
             {"*.table", "ncnn"}};

const dq_calibration_table_format *dq_calibration_table_format_at(int index) {
  return formats[index].name ? &formats[index] : NULL;
}

const dq_calibration_table_format *dq_calibration_table_format_for(const char *path) {
  for (int n = 0; n < DQ_COUNT(names); n++)
    for (int f = 0; formats[f].name; f++)
      if (!strcmp(formats[f].name, names[n].format) && !fnmatch(names[n].pattern, path, 0)) return &formats[f];
  return &formats[0];
}

dq_status dq_calibration_table_export(const dq_calibration_table *table, const dq_calibration_table_format *format,
                                      const char *path, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  if (format->write(table, output.stream)) return dq_output_commit(&output, error);
  dq_status status = dq_fail_errno(error, path);
  dq_output_discard(&output);
  return status;
}

dq_status dq_calibration_table_load(dq_calibration_table *table, const char *path, dq_arena *arena, dq_error *error) {
  *table =
      (dq_calibration_table){.method = "", .preprocess = "", .accumulator = {DQ_ACCUMULATE_INT32, DQ_PAIRS_EVERYWHERE}};
  dq_file file;
  DQ_TRY(dq_file_open(&file, path, error));
  int f = 0;
  while (formats[f + 1].name && !formats[f].is((const char *)file.data, file.size)) f++;
  dq_file_close(&file);
  table->foreign = f > 0;
  return formats[f].read(table, path, arena, error);
}

static double largest(const dq_calibration_table_range *range) {
  return fmax(fabs((double)range->range.low), fabs((double)range->range.high));
}

bool dq_calibration_table_write_tensorrt(const dq_calibration_table *table, FILE *to) {
  fputs("TRT-8600-EntropyCalibration2\n", to);
  for (int i = 0; i < table->count; i++) {
    double end = largest(&table->ranges[i]);
    float scale = end > 0 ? (float)(end / 127) : 1;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    fprintf(to, "%s: %08" PRIx32 "\n", table->ranges[i].value, bits);
  }
  return !ferror(to);
}

bool dq_calibration_table_write_ncnn(const dq_calibration_table *table, FILE *to) {
  for (int i = 0; i < table->count; i++) {
    double end = largest(&table->ranges[i]);
    fprintf(to, "%s %.9g\n", table->ranges[i].value, end > 0 ? 127 / end : 1);
  }
  return !ferror(to);
}

bool dq_calibration_table_write_onnxruntime(const dq_calibration_table *table, FILE *to) {
  json_t *root = json_object();
  for (int i = 0; i < table->count; i++)
    json_object_set_new(root, table->ranges[i].value,
                        json_pack("{s:f, s:f, s:s}", "lowest", (double)table->ranges[i].range.low, "highest",
                                  (double)table->ranges[i].range.high, "CLS", "TensorData"));
  bool written = root && !json_dumpf(root, to, JSON_INDENT(1)) && fputc('\n', to) >= 0;
  json_decref(root);
  return written;
}
