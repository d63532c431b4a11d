// Whether all processes of a job were given the same work: what is compared once, before anything is computed.
#ifndef DQ_CMD_SAME_WORK_H
#define DQ_CMD_SAME_WORK_H

#include "cmd/options/options.h"

// Compares the command, its version, the number of its operands and the values of its options with those of process 0;
// dq_option.job says which options may differ. All processes call it, and all have the same result. NULL: there is one
// process, and nothing is compared. DQ_USAGE: a process has something else; the message names the process, the option
// and both values.
dq_status dq_same_command(const dq_processes *processes, const dq_common_options *common, dq_error *error);

// Compares the bytes of the models (those of external data as well), of the pictures with their names and labels, and
// of the other files that options name, wherever they lie. Reads all of them once. All processes of context->processes
// call it, and all have the same result. DQ_BAD_INPUT: a process has something else; DQ_USAGE: the pictures are
// generated or preprocessed in another way, or a model comes through a pipe; else statuses as dq_model_open and
// dq_data_open.
dq_status dq_same_inputs(const dq_common_options *common, const dq_context *context, dq_error *error);

#endif
