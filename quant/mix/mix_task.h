// The choice of precisions as it is asked for: what dq-mix and the public interface have in common. Each of them fills
// a request; dq_mix_task_check, dq_mix_task_read and dq_mix_task_search follow each other. The caller opens and widens
// (dq_int8_widen) the model in between, and writes the answer.
#ifndef DQ_QUANT_MIX_TASK_H
#define DQ_QUANT_MIX_TASK_H

#include "lib/eval/accuracy_change.h"
#include "quant/mix/mix.h"

// Options as they were given. Texts and lists belong to the caller and outlive the task.
typedef struct dq_mix_request {
  // The options of the search, but for those that other fields of the request or the task give, which are not read:
  // int8, data, eval, labelled, accuracy, before, named.
  dq_mix_options search;
  const char *const *also; // [also_count], as dq_mix_named_read
  int also_count;
  const char *const *shapes; // [shape_count], as dq_input_shape_parse
  int shape_count;
  const char *task, *decode; // as in dq_accuracy_options
  int64_t batch;             // pictures that one run takes; 0: 1
  const char *search_hint;   // as in dq_int8_options
  const char *no_labels;     // a note: answers are compared; NULL: it is not reported
} dq_mix_request;

// DQ_USAGE: an option is out of its range, or is no name of its table. Messages name the fields of lib/dq_mix.h, as a
// command line checks ranges when it is parsed.
dq_status dq_mix_task_check(const dq_mix_request *asked, dq_error *error);

typedef struct dq_mix_task {
  dq_mix_request asked;
  const dq_graph *graph;    // the network in float32, which outlives the task
  dq_data *data, *eval;     // for ranges and noise, and to judge points on; eval NULL: those of `data`
  dq_accuracy_change check; // `data` and `asked` are the caller's; the options are set by dq_mix_task_read
  dq_arena *arena;
  const dq_context *context;
  // Set by dq_mix_task_read. The settings point to the task, which stays where it is.
  dq_int8_options int8;
  dq_mix_options settings;
} dq_mix_task;

// Makes settings of a request that dq_mix_task_check accepts: completes shapes from the data, settles the batch
// (dq_settle_batch) and reads the files of `also`. Statuses as dq_input_shapes_read, dq_complete_shapes,
// dq_settle_batch and dq_mix_named_read.
dq_status dq_mix_task_read(dq_mix_task *task, dq_error *error);

// Measures the accuracy of the network where task->check has labelled pictures, and searches as dq_mix_search does,
// which says who owns what; *answer is NULL after a failure. Without labels the figures of `check` are agreements
// (quant/search/agreement.h). Statuses as dq_accuracy_before and dq_mix_search.
dq_status dq_mix_task_search(dq_graph **answer, dq_mix_report *report, dq_mix_task *task, dq_error *error);

#endif
