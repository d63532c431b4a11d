// The readers and writers behind table_formats.def, with the contracts of dq_calibration_table_format.
#ifndef DQ_QUANT_TABLE_INTERNAL_H
#define DQ_QUANT_TABLE_INTERNAL_H

#include <jansson.h>

#include "quant/files/table.h"

#define DQ_TABLE_FORMAT(symbol, help)                                                                                  \
  bool dq_calibration_table_write_##symbol(const dq_calibration_table *table, FILE *to);                               \
  bool dq_calibration_table_is_##symbol(const char *text, size_t size);                                                \
  dq_status dq_calibration_table_read_##symbol(dq_calibration_table *table, const char *path, dq_arena *arena,         \
                                               dq_error *error);
#include "quant/files/table_formats.def"
#undef DQ_TABLE_FORMAT

// table_rounding.c: reads and writes the member "rounding" of the JSON object. Without it every weight is rounded to
// the nearest. The _json functions return a new reference; NULL: there is no memory. DQ_BAD_INPUT: the member is
// broken.
dq_status dq_table_read_rounding(dq_rounding *rounding, json_t *object, dq_arena *arena, dq_error *error);
json_t *dq_table_rounding_json(const dq_rounding *rounding);

// table_levels.c: reads and writes the member "levels", the input grid. Without it the input is quantized as it is.
dq_status dq_table_read_levels(dq_input_levels *levels, json_t *object, dq_arena *arena, dq_error *error);
json_t *dq_table_levels_json(const dq_input_levels *levels);

#endif
