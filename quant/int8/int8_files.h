// The files beside a quantized model: the calibration table that is applied, and the calibration table and the file of
// precisions that are written.
#ifndef DQ_QUANT_INT8_FILES_H
#define DQ_QUANT_INT8_FILES_H

#include "quant/int8/int8.h"

typedef struct dq_int8_files {
  const char *use_table;                     // path of the calibration table that is applied; NULL: none
  bool force;                                // apply it although it is of another model or other data
  const char *table, *precision;             // paths of files to write: a calibration table, the precision of every
                                             // layer; NULL: none
  const dq_calibration_table_format *format; // of `table`; NULL: by the end of the path
  dq_calibration_table used;                 // set by dq_int8_files_read: the contents of use_table
  const dq_graph *graph;                     // set likewise: the model, whose layers `precision` has
  uint64_t data_hash;                        // set likewise: of the data; without data, as use_table has it
} dq_int8_files;

// Is called before quantization. Hashes the data (NULL: none), which reads all of it, when a table is read or written.
// Reads use_table and sets options->table, which points into *files, and options->method to the method that
// the table names. DQ_BAD_INPUT: the table is broken, or of another model or other data; DQ_SYSTEM: a file cannot be
// read.
dq_status dq_int8_files_read(dq_int8_files *files, const dq_graph *graph, dq_data *data, dq_int8_options *options,
                             dq_arena *arena, dq_error *error);

// Is called after quantization. Stores the hash of the data in report->table and writes the files that *files names;
// a table only when something was quantized. The arena takes temporary tables. DQ_SYSTEM: a file cannot be written;
// also statuses of dq_calibration_table_export.
dq_status dq_int8_files_write(const dq_int8_files *files, dq_int8_report *report, dq_arena *arena, dq_error *error);

#endif
