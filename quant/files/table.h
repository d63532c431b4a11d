// Calibration tables: all that quantization took from data, so that it can be repeated without.
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

#include "quant/numeric/accumulator.h"
#include "quant/rewrite/bias_absorption.h"
#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/equalize.h"
#include "quant/rewrite/levels.h"
#include "quant/numeric/rounding.h"

typedef struct dq_calibration_table_range {
  const char *value;
  dq_range_pair range;
  bool searched;  // found by search (quant/int8/range_search.c)
  double clipped; // share of the values seen outside; 0 when read from a file
} dq_calibration_table_range;

typedef struct dq_calibration_table {
  uint64_t model;         // dq_origin_hash
  uint64_t data;          // dq_data_hash
  const char *method;     // name of the rule that chose the ranges
  const char *preprocess; // that the model written remembers; "": none
  int64_t pictures;
  dq_calibration_table_range *ranges;
  int count;
  dq_equalization equalization;
  dq_absorption absorption; // after it
  dq_input_levels levels;   // input NULL: none; its range is among the ranges
  dq_accumulator_choice accumulator;
  bool foreign;   // another program's: it has no hashes
  bool symmetric; // its ranges are scales of absolute values
  dq_rounding rounding;
  dq_input_means means; // for bias correction; count 0: biases were not corrected
} dq_calibration_table;

// Hash (XXH64) of all pictures as the graph reads them, in order. DQ_BAD_INPUT when they do not
// fit.
dq_status dq_data_hash(uint64_t *hash, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                       dq_error *error);

// NULL when there is none of that name.
const dq_calibration_table_range *dq_calibration_table_find(const dq_calibration_table *table, const char *value);

// DQ_BAD_INPUT with both hashes when the table was made for another model or (data not NULL) other
// data.
dq_status dq_calibration_table_check(const dq_calibration_table *table, const char *path, uint64_t model,
                                     const uint64_t *data, dq_error *error);

// Into the arena, in any of the formats: which one the contents tell. DQ_BAD_INPUT names the path, and line
// or value: not JSON, another schema, bounds that are not finite, low above high, or a range without width
// that is not marked silent.
dq_status dq_calibration_table_load(dq_calibration_table *table, const char *path, dq_arena *arena, dq_error *error);
dq_status dq_calibration_table_save(const dq_calibration_table *table, const char *path, dq_error *error);

// How a table is read and written.
typedef struct dq_calibration_table_format {
  const char *name, *help;
  bool (*write)(const dq_calibration_table *table, FILE *to); // false: no memory, or writing failed
  bool (*is)(const char *text, size_t size);                  // a file's contents, those of earlier rows left out
  dq_status (*read)(dq_calibration_table *table, const char *path, dq_arena *arena, dq_error *error);
} dq_calibration_table_format;
const dq_calibration_table_format *dq_calibration_table_format_at(int index); // NULL after the last
// The format a file name stands for: `*.cache` tensorrt, `calibration.json` onnxruntime, `*.table`
// ncnn, else dq.
const dq_calibration_table_format *dq_calibration_table_format_for(const char *path);
dq_status dq_calibration_table_export(const dq_calibration_table *table, const dq_calibration_table_format *format,
                                      const char *path, dq_error *error);

#endif
