// What a task is inside: the functions of a row of tasks.def and the parts they share.
#ifndef DQ_EVAL_TASK_INTERNAL_H
#define DQ_EVAL_TASK_INTERNAL_H

#include "lib/eval/eval.h"

typedef struct dq_task_functions {
  // Checks shapes and labels and allocates the task's state (NULL: it has none).
  dq_status (*open)(dq_task *task, const dq_task_options *options, dq_error *error);
  dq_status (*add)(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                   dq_error *error);
  dq_status (*result)(dq_task *task, dq_result *result, dq_error *error);
  void (*close)(dq_task *task);
} dq_task_functions;

struct dq_task {
  const dq_task_functions *functions;
  const char *name;
  const dq_context *context;
  int output_count;
  int64_t pictures, nonfinite; // as in dq_result
  void *state;
};

#define DQ_TASK(symbol, name, labels) extern const dq_task_functions dq_task_##symbol;
#include "lib/eval/tasks.def"
#undef DQ_TASK

// Elements of one entry along dimension 0.
int64_t dq_item_count(const dq_tensor *tensor);

// The values of entry `item` of a tensor in double, malloc'ed. DQ_BAD_INPUT when there is no such
// entry or it does not have `expected` elements.
dq_status dq_item_values(double **values, const dq_tensor *tensor, int64_t item, int64_t expected, dq_error *error);

// Appends a figure to a result.
void dq_result_add(dq_result *result, const char *name, const char *key, double value, const char *unit, int decimals);

#endif
