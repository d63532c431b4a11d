// The files beside a quantized model: the table that it is quantized by, and what is written of how it was.
#ifndef DQ_QUANT_INT8_FILES_H
#define DQ_QUANT_INT8_FILES_H

#include "quant/int8/int8.h"

typedef struct dq_int8_files {
  const char *use_table;                     // to quantize by; NULL: none
  bool force;                                // also when it is of another model or other data
  const char *table, *precision;             // to write: calibration table, precision of every layer; NULL: none
  const dq_calibration_table_format *format; // of `table`; NULL: by its name
  dq_calibration_table used;                 // what use_table holds
  uint64_t data_hash;                        // of the data, or of the table's without data
} dq_int8_files;

// Before quantization: hashes the data (NULL: none) where a table is read or written, and reads the table into the
// options, with the method that it was made by. DQ_BAD_INPUT for a table of another model or other data.
dq_status dq_int8_files_read(dq_int8_files *files, const dq_graph *graph, dq_data *data, dq_int8_options *options,
                             dq_arena *arena, dq_error *error);

// After quantization: writes what there is to write of the report, whose table gets the hash of the data.
dq_status dq_int8_files_write(const dq_int8_files *files, dq_int8_report *report, dq_arena *arena, dq_error *error);

#endif
