// The command line of dq-run, and what both ways of running share.
#ifndef DQ_CMD_RUN_COMMAND_H
#define DQ_CMD_RUN_COMMAND_H

#include "cmd/run_answers.h"
#include "cmd/shared/command.h"
#include "cmd/shared/convolutions.h"
#include "cmd/shared/data.h"
#include "lib/exec/plan.h"
#include "lib/session/session.h"

typedef struct dq_run_arguments {
  dq_common_options common;
  dq_data_arguments data;
  dq_option_list inputs, shapes, convolutions;
  const char *save_output, *onnx_tests, *only;
  dq_answer_options answers;
  double time_limit;
  bool plain;
} dq_run_arguments;

// One way to compute convolutions, in the arena: the one asked for, or the usual. DQ_USAGE: the option is wrong.
dq_status dq_run_set_convolutions(const dq_run_arguments *options, const dq_graph *graph, const char *usual,
                                  dq_arena *arena, dq_session_options *session, dq_error *error);

// Makes the folder of --save-output. *files becomes, in the arena, the name of a file for each output, without a
// suffix; NULL: outputs are not saved. Statuses as dq_make_folder and dq_output_names.
dq_status dq_run_open_folder(const dq_run_arguments *options, const dq_plan *plan, dq_arena *arena, const char ***files,
                             dq_error *error);
// Writes `count` outputs to `files`, names of dq_run_open_folder, or nothing with NULL; index: of the picture, -1:
// there is none. Statuses as dq_npy_write.
dq_status dq_run_save_outputs(const dq_run_arguments *options, const char *const *files, const dq_tensor *outputs,
                              int count, int64_t index, dq_error *error);
// Prints type and shape of each output, and the largest elements of vectors, with the names of classes that the data
// has (NULL: none). DQ_SYSTEM: there is no memory.
dq_status dq_run_print_outputs(const dq_run_arguments *options, const dq_plan *plan, const dq_tensor *outputs,
                               const dq_data *data, dq_error *error);

// Runs the model on the pictures of --data, beside the one of --ref. Statuses as dq_open_data, dq_runner_open,
// dq_run_answers_picture and the functions above; DQ_CONDITION: --time-limit ended it.
dq_status dq_run_pictures(const dq_run_arguments *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                          dq_error *error);

#endif
