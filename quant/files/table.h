// Calibration tables: everything that a quantization took from data, so that it can be repeated without the data.
//
//   {"schema": "dq-calibration", "version": 1, "model": "0123456789abcdef", "data": "...",
//    "method": "percentile", "pictures": 100, "preprocess": "...",
//    "values": {"conv1_out": {"low": 0.0, "high": 6.5}, "dead": {"low": 0.0, "high": 0.0, "silent":
//    true}, "y": {"low": -1.0, "high": 0.9, "searched": true}}, "equalize": {"conv1_out": [1.0, 2.5]},
//    "absorb": {"relu_1_out": [0.0, 0.7]}, "accumulator": {"rule": "pairs", "noise": 1e9}, "means": {"x": [0.1, 0.2,
//    0.3]}, "levels": {"input": {"factors": [1.0, 1.02], "shifts": [0.0, 0.004], "padded": false}}}
#ifndef DQ_QUANT_TABLE_H
#define DQ_QUANT_TABLE_H

#include <stdio.h>

#include "lib/graph/name_list.h"
#include "quant/equalize/bias_absorption.h"
#include "quant/equalize/equalize.h"
#include "quant/numeric/accumulator.h"
#include "quant/numeric/rounding.h"
#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/levels.h"

typedef struct dq_calibration_table_range {
  const char *value;
  dq_range_pair range;
  bool searched;  // by the range search (quant/int8/range_search.c)
  double clipped; // share (0 to 1) of the elements outside the range; 0 in a table from a file
} dq_calibration_table_range;

typedef struct dq_calibration_table {
  uint64_t model;         // dq_origin_hash
  uint64_t data;          // dq_data_hash
  const char *method;     // name of the observer that made the ranges
  const char *preprocess; // the preprocessing that the converted model stores; "": none
  int64_t pictures;       // of the calibration
  dq_calibration_table_range *ranges;
  int count;
  dq_equalization equalization;
  dq_absorption absorption; // applied after the equalization
  dq_input_levels levels;   // the input grid; levels.input NULL: none. Its range is among the ranges
  dq_accumulator_choice accumulator;
  bool foreign;   // written by another program: the table has no hashes
  bool symmetric; // the ranges are symmetric around 0
  dq_rounding rounding;
  dq_input_means means; // for the bias correction; count 0: biases were not corrected
} dq_calibration_table;

// The hash (XXH64) of all pictures, preprocessed for the input of the graph, in their order. Reads all pictures.
// DQ_BAD_INPUT: the data do not fit the graph; else as dq_data_read.
dq_status dq_data_hash(uint64_t *hash, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                       dq_error *error);

// The range of a value; NULL: the table has none of that name.
const dq_calibration_table_range *dq_calibration_table_find(const dq_calibration_table *table, const char *value);

// The places of all ranges by the names of their values, in the arena, for as long as no range is added. DQ_SYSTEM:
// there is no memory.
dq_status dq_calibration_table_index(dq_name_list *index, const dq_calibration_table *table, dq_arena *arena,
                                     dq_error *error);

// Adds the ranges of `found` whose values the table lacks. The array of all ranges is a new one in the arena, as are
// the added names; the table is as it was where nothing is added. DQ_SYSTEM: there is no memory.
dq_status dq_calibration_table_add(dq_calibration_table *table, const dq_calibration_table *found, dq_arena *arena,
                                   dq_error *error);

// Copies a table with what it holds into the arena, but for the rounding, which the copy shares. DQ_SYSTEM: there is no
// memory.
dq_status dq_calibration_table_copy(dq_calibration_table *copy, const dq_calibration_table *table, dq_arena *arena,
                                    dq_error *error);

// Compares the hashes of the table with those of the network to be quantized: `model` is dq_origin_hash of its graph,
// *data is dq_data_hash of its pictures (`data` NULL: any pictures). DQ_BAD_INPUT, with both hashes: the table was made
// for another model or for other data. DQ_OK for a foreign table, which has no hashes. `path` stands in messages.
dq_status dq_calibration_table_check(const dq_calibration_table *table, const char *path, uint64_t model,
                                     const uint64_t *data, dq_error *error);

// Reads a table in any of the formats of table_formats.def into *table, whatever it held; the contents decide on the
// format, and the last one of the list is tried where no other fits. The arena owns everything in the table, which may
// outlive `path`. DQ_BAD_INPUT, with the path and the line or the value: the file has no known format or another
// schema, an end of a range is not finite, the lower end is above the upper one, or a range has no width and is not
// marked as silent; DQ_SYSTEM: the file cannot be read, or there is no memory.
dq_status dq_calibration_table_load(dq_calibration_table *table, const char *path, dq_arena *arena, dq_error *error);
// Writes a table in the format of dq; the file appears under its name when it is complete. DQ_SYSTEM: writing failed.
dq_status dq_calibration_table_save(const dq_calibration_table *table, const char *path, dq_error *error);

// A format of tables, a row of table_formats.def.
typedef struct dq_calibration_table_format {
  const char *name, *help;
  bool (*write)(const dq_calibration_table *table, FILE *to); // false: there is no memory, or writing failed
  bool (*is)(const char *text, size_t size); // whether the contents of a file are in this format and in none above it
  dq_status (*read)(dq_calibration_table *table, const char *path, dq_arena *arena, dq_error *error);
} dq_calibration_table_format;
const dq_calibration_table_format *dq_calibration_table_format_at(int index); // NULL after the last
// The format that belongs to the name of a file: `*.cache` tensorrt, `calibration.json` onnxruntime, `*.table` ncnn,
// every other name dq.
const dq_calibration_table_format *dq_calibration_table_format_for(const char *path);
// Writes a table in any of the formats; the file appears under its name when it is complete. The formats of other
// programs hold the ranges alone: tensorrt and ncnn the larger end in size, so that reading gives a symmetric range.
// What a format cannot hold is left out without a warning. DQ_SYSTEM: writing failed, or there is no memory.
dq_status dq_calibration_table_export(const dq_calibration_table *table, const dq_calibration_table_format *format,
                                      const char *path, dq_error *error);

#endif
