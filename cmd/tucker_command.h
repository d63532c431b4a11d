// The command line of dq-tucker, and the run that it describes.
#ifndef DQ_CMD_TUCKER_COMMAND_H
#define DQ_CMD_TUCKER_COMMAND_H

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "lib/verdict/verdict.h"

typedef struct dq_tucker_arguments {
  dq_common_options common;
  dq_output_options output;
  dq_report_options report;
  dq_data_arguments data;
  double ratio, energy, macs, weaken, max_drop, time_limit;
  dq_verdict_bounds bounds;
  const char *ranks, *save_ranks, *retrain;
  dq_eval_arguments eval;
  int64_t multiple, every, fit_limit;
  bool plain, vbmf, untimed, refine, resume, gemm, force;
  dq_option_list shapes;
} dq_tucker_arguments;

// Decomposes the model, writes it and what else the arguments name, and prints the tables. `parsed` is a
// dq_tucker_arguments. DQ_CONDITION: a bound or a condition given by an option does not hold; else statuses as
// dq_model_open, dq_open_data, dq_tucker_apply and dq_onnx_save.
dq_status dq_tucker_command_run(const void *parsed, const dq_context *context, dq_error *error);

#endif
