// The tables that dq-int8 prints.
#ifndef DQ_CMD_INT8_REPORT_H
#define DQ_CMD_INT8_REPORT_H

#include "cmd/shared/accuracy_check.h"
#include "lib/eval/quantization_check.h"
#include "quant/int8/int8.h"

// Prints and writes the tables as the options say, in the first process of a job; all have its status. `overflow`: with
// the audit of each layer. Statuses as dq_command_report.
dq_status dq_int8_print(const dq_common_options *common, const dq_int8_report *found,
                        const dq_quantization_check *layers, const dq_accuracy_change *accuracy, bool overflow,
                        const dq_context *context, dq_error *error);

// Tells in a note which runtimes read the form that the options choose, where these are not all.
void dq_int8_say_readers(const dq_int8_options *options, const dq_context *context);

// Why a model has no layer in 8 bits or float16, for a message; static text.
const char *dq_int8_unchanged(const dq_int8_report *found);

#endif
