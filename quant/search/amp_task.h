// The conversion of a network to float16 as it is asked for: what dq-amp and the public interface have in common. Each
// of them fills a request; dq_amp_task_check, dq_amp_task_read, dq_amp_task_convert, dq_amp_task_observe and
// dq_amp_task_judge follow each other. The caller opens the model and writes the answer.
#ifndef DQ_QUANT_AMP_TASK_H
#define DQ_QUANT_AMP_TASK_H

#include "lib/verdict/verdict.h"
#include "quant/amp/amp.h"
#include "quant/amp/amp_check.h"

// Options as they were given. Texts and lists belong to the caller and outlive the task.
typedef struct dq_amp_request {
  // The options of the transform, but for policy, only, only_count and shapes, which are not read. input_max 0: what
  // the preprocessing of pictures gives (dq_input_reach), else DQ_AMP_INPUT_MAX.
  dq_amp_options amp;
  const char *policy;              // path of a file with categories (quant/amp/policy.h); NULL: none
  const char *preset, *preprocess; // of pictures that there are none of, as in dq_input_reach; NULL: not given
  const char *const *shapes;       // [shape_count], as dq_input_shape_parse
  int shape_count;
} dq_amp_request;

// DQ_USAGE: an option is out of its range. The message names the field of lib/dq_amp.h, as a command line checks ranges
// when it is parsed.
dq_status dq_amp_task_check(const dq_amp_request *asked, dq_error *error);

typedef struct dq_amp_task {
  dq_amp_request asked;
  const dq_graph *graph; // the network as it was, which outlives the task
  dq_data *data;         // pictures on which values are observed; NULL: none
  dq_arena *arena;
  const dq_context *context;
  // Set by dq_amp_task_read.
  dq_amp_options settings;
  bool preprocessed; // settings.input_max is what the preprocessing of pictures gives
  // Set by dq_amp_task_convert.
  dq_amp_report report; // nodes and names belong to the answer
  // Set by dq_amp_task_observe.
  dq_amp_range *ranges;
  int range_count; // 0: nothing was observed
} dq_amp_task;

// Makes settings of a request that dq_amp_task_check accepts: reads the policy, completes shapes from the data, finds
// how far the input reaches. Statuses as dq_policy_load, dq_input_shapes_read, dq_complete_shapes and dq_input_reach.
dq_status dq_amp_task_read(dq_amp_task *task, dq_error *error);

// Converts a copy of the network, *answer, which the caller frees before task->graph; NULL after a failure. Statuses as
// dq_amp_apply.
dq_status dq_amp_task_convert(dq_graph **answer, dq_amp_task *task, dq_error *error);

// Runs the network as it was on the pictures, if there are any, and counts what float16 cannot hold (dq_amp_check). The
// texts of the ranges belong to task->graph. Statuses as dq_amp_check.
dq_status dq_amp_task_observe(dq_amp_task *task, dq_error *error);

// Compares the outputs of `converted` with those of the network as it was, on the pictures, which are `kind`, else on
// noise. *verdict has no part where nothing was converted. The task's arena owns it. Statuses as dq_verdict_conclude.
dq_status dq_amp_task_judge(dq_verdict *verdict, const dq_graph *converted, dq_verdict_data kind,
                            const dq_amp_task *task, dq_error *error);

#endif
