// The command line of dq-int8, and the run that it describes.
#ifndef DQ_CMD_INT8_COMMAND_H
#define DQ_CMD_INT8_COMMAND_H

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "lib/verdict/verdict.h"

typedef struct dq_int8_arguments {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  int method, activations, format, equalize, bias_absorption, bias_correction, range_search, rounding, table_format,
      accumulator;
  const char *table, *use_table, *precision, *save_precision, *retrain;
  dq_eval_arguments eval;
  double max_drop, percentile, time_limit;
  double max_float; // percent
  dq_verdict_bounds bounds;
  bool per_tensor, symmetric, force, overflow, all_int8;
  dq_option_list exclude, only, operators, shapes;
} dq_int8_arguments;

enum { ACTIVATIONS_U8, ACTIVATIONS_S8 }; // dq_int8_arguments.activations
enum { FORMAT_QDQ, FORMAT_QOPERATOR };   // dq_int8_arguments.format

// Quantizes the model, writes it and what else the arguments name, and prints the tables. `parsed` is a
// dq_int8_arguments. DQ_CONDITION: a condition given by an option does not hold; else statuses as dq_model_open,
// dq_open_data, dq_convert_int8 and dq_onnx_save.
dq_status dq_int8_command_run(const void *parsed, const dq_context *context, dq_error *error);

#endif
