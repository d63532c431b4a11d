// The functions of a row of tasks.def, and those that they share. Private to this module.
#ifndef DQ_EVAL_TASK_INTERNAL_H
#define DQ_EVAL_TASK_INTERNAL_H

#include "lib/eval/eval.h"

typedef struct dq_task_functions {
  // Checks shapes and labels and allocates task->state; NULL: the task has neither checks nor state.
  dq_status (*open)(dq_task *task, const dq_task_options *options, dq_error *error);
  dq_status (*add)(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                   dq_error *error);
  dq_status (*result)(dq_task *task, dq_result *result, dq_error *error);
  void (*close)(dq_task *task);
  // dq_task_share for the state; task->pictures is that of all processes by then. NULL: the task has no state.
  dq_status (*share)(dq_task *task, const dq_processes *processes, dq_error *error);
} dq_task_functions;

struct dq_task {
  const dq_task_functions *functions;
  const char *name;
  const dq_context *context;
  int output_count;
  int64_t first;               // number of the first picture of this process
  int64_t pictures, nonfinite; // as in dq_result
  void *state;
};

#define DQ_TASK(symbol, name, labels) extern const dq_task_functions dq_task_##symbol;
#include "lib/eval/tasks.def"
#undef DQ_TASK

// Replaces counts[count] by their sums over the processes, which have the same `count`; `share` calls it.
dq_status dq_task_share_counts(const dq_processes *processes, int64_t *counts, int64_t count, dq_error *error);
// Replaces items[*count] of `size` bytes each, memory of malloc or NULL, by those of all processes in their order.
// `share` calls it. Returns the new items, which the caller frees by free(); NULL, on all processes: there is no
// memory, and the old items are as they were.
void *dq_task_share_items(const dq_processes *processes, void *items, int64_t *count, size_t size, dq_error *error);

// Appends a figure to a result, which must have fewer than DQ_MAX_FIGURES. `name`, `key` and `unit` are not copied.
void dq_result_add(dq_result *result, const char *name, const char *key, double value, const char *unit, int decimals);

#endif
