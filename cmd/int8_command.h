// The command line of dq-int8, and the run that it describes.
#ifndef DQ_CMD_INT8_COMMAND_H
#define DQ_CMD_INT8_COMMAND_H

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "quant/search/int8_task.h"

typedef struct dq_int8_arguments {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  dq_eval_arguments eval;
  // Values that a row parses as the request has them; dq_int8_asked gives the whole request.
  dq_int8_request asked;
  int method, rounding, table_format; // rows of their tables
  dq_option_list exclude, only, operators, shapes;
  const char *retrain;
  bool overflow;
} dq_int8_arguments;

// The request that the options make, but for the names of operators, which dq_int8_command_run splits. Texts and lists
// belong to `options`.
dq_int8_request dq_int8_asked(const dq_int8_arguments *options);

// Quantizes the model, writes it and what else the arguments name, and prints the tables. `parsed` is a
// dq_int8_arguments. DQ_CONDITION: a condition given by an option does not hold; else statuses as dq_model_open,
// dq_open_data, dq_int8_task_read, dq_int8_task_convert and dq_onnx_save.
dq_status dq_int8_command_run(const void *parsed, const dq_context *context, dq_error *error);

#endif
