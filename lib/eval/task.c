// Tasks: choosing one, handing pictures to it, its figures.
#include "lib/base/sizes.h"
#include "lib/eval/task_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/decode/item.h"

typedef struct kind {
  const char *name;
  dq_label_kind labels;
  const dq_task_functions *functions;
} kind;

static const kind kinds[] = {
#define DQ_TASK(symbol, name, labels) {name, labels, &dq_task_##symbol},
#include "lib/eval/tasks.def"
#undef DQ_TASK
};
enum { KINDS = DQ_COUNT(kinds) };

const char *dq_task_kind_name(int index) { return index >= 0 && index < KINDS ? kinds[index].name : NULL; }

void dq_result_add(dq_result *result, const char *name, const char *key, double value, const char *unit, int decimals) {
  if (result->count < DQ_MAX_FIGURES) result->figures[result->count++] = (dq_figure){name, key, value, unit, decimals};
}

// The task whose labels the data has, if the outputs can be such a task's; else none.
static const kind *guess(const dq_task_options *options) {
  const dq_tensor *first = &options->decode.outputs[0];
  int64_t plane = first->rank == 4 ? dq_tensor_product(first, 2, 4) : 1;
  bool fits = false;
  switch (options->labels) {
  case DQ_LABEL_CLASS: fits = first->rank >= 1 && plane == 1 && dq_item_count(first) > 1; break;
  case DQ_LABEL_MASK: fits = first->rank == 4 && plane > 1; break;
  case DQ_LABEL_BOXES: fits = dq_decoder_possible(&options->decode); break;
  default: break;
  }
  const kind *opened = kinds;
  while (opened->labels != (fits ? options->labels : DQ_LABEL_NONE)) opened++;
  return opened;
}

dq_status dq_task_check(const char *task, dq_error *error) {
  for (const kind *known = kinds; task && known < kinds + KINDS; known++)
    if (!strcmp(known->name, task)) return DQ_OK;
  if (!task) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "unknown task '%s', expected classify, segment, detect or none", task);
}

static dq_status choose(const dq_task_options *options, const dq_context *context, const kind **chosen,
                        dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  if (!options->task) {
    *chosen = guess(options);
    if (options->labels == DQ_LABEL_NONE) dq_message(context, DQ_NOTE, "task: none, as the data have no labels");
    else
      dq_message(context, DQ_NOTE, "task: %s, guessed from the output %s and the labels", (*chosen)->name,
                 dq_tensor_shape_text(&options->decode.outputs[0], text, sizeof text));
    return DQ_OK;
  }
  DQ_TRY(dq_task_check(options->task, error));
  *chosen = kinds;
  while (strcmp((*chosen)->name, options->task) != 0) (*chosen)++;
  return DQ_OK;
}

static const char *label_text(dq_label_kind labels) {
  static const char *const texts[] = {"no labels", "class labels", "masks", "boxes"};
  return texts[labels];
}

dq_status dq_task_open(dq_task **task, const dq_task_options *options, const dq_context *context, dq_error *error) {
  const kind *chosen;
  *task = NULL;
  if (options->decode.output_count < 1) return dq_fail(error, DQ_BAD_INPUT, "the model has no outputs");
  DQ_TRY(choose(options, context, &chosen, error));
  if (chosen->labels != DQ_LABEL_NONE && chosen->labels != options->labels)
    return dq_fail(error, DQ_BAD_INPUT, "task '%s' needs %s, the data has %s", chosen->name, label_text(chosen->labels),
                   label_text(options->labels));
  dq_task *opened = calloc(1, sizeof *opened);
  if (!opened) return dq_fail_memory(error, sizeof *opened);
  *opened = (dq_task){.functions = chosen->functions,
                      .name = chosen->name,
                      .context = context,
                      .output_count = options->decode.output_count};
  dq_status status = opened->functions->open ? opened->functions->open(opened, options, error) : DQ_OK;
  if (status == DQ_OK) *task = opened;
  else dq_task_free(opened);
  return status;
}

void dq_task_free(dq_task *task) {
  if (!task) return;
  if (task->functions->close) task->functions->close(task);
  free(task->state);
  free(task);
}

const char *dq_task_name(const dq_task *task) { return task->name; }

static bool has_no_scores(const dq_tensor *output, int64_t item) {
  bool floats = dq_dtype_is_float(output->type);
  int64_t count = dq_item_count(output);
  for (int64_t i = 0; floats && i < count; i++)
    if (dq_is_no_score(dq_tensor_get(output, item * count + i))) return true;
  return false;
}

dq_status dq_task_add(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                      dq_error *error) {
  if (task->functions->add) {
    dq_status status = task->functions->add(task, outputs, item, info, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s", info->name);
    bool nonfinite = false;
    for (int o = 0; o < task->output_count; o++) nonfinite = nonfinite || has_no_scores(outputs[o], item);
    task->nonfinite += nonfinite;
  }
  task->pictures++;
  return DQ_OK;
}

void dq_task_begin_at(dq_task *task, int64_t first) { task->first = first; }

// What all processes have in mine[bytes]; *all is freed by dq_budget_free.
static dq_status collect(const dq_processes *processes, const void *mine, size_t bytes, char **all, size_t *sum,
                         dq_error *error) {
  size_t sizes[DQ_MOST_PROCESSES];
  DQ_TRY(dq_processes_collect(processes, NULL, mine, bytes, all, sizes, error));
  *sum = 0;
  for (int r = 0; r < processes->count; r++) *sum += sizes[r];
  return DQ_OK;
}

dq_status dq_task_share_counts(const dq_processes *processes, int64_t *counts, int64_t count, dq_error *error) {
  char *all;
  size_t sum;
  DQ_TRY(collect(processes, counts, (size_t)count * sizeof *counts, &all, &sum, error));
  const int64_t *from = (const void *)all;
  memset(counts, 0, (size_t)count * sizeof *counts);
  for (int64_t i = 0; i < processes->count * count; i++) counts[i % count] += from[i];
  dq_budget_free(all);
  return DQ_OK;
}

void *dq_task_share_items(const dq_processes *processes, void *items, int64_t *count, size_t size, dq_error *error) {
  char *all;
  size_t sum;
  if (collect(processes, items, (size_t)*count * size, &all, &sum, error) != DQ_OK) return NULL;
  void *shared = malloc(sum + 1);
  const dq_status status = shared ? DQ_OK : dq_fail_memory(error, sum);
  if (shared) memcpy(shared, all, sum);
  dq_budget_free(all);
  if (dq_processes_agree(processes, status, error) != DQ_OK) {
    free(shared);
    return NULL;
  }
  free(items);
  *count = (int64_t)(sum / size);
  return shared;
}

dq_status dq_task_share(dq_task *task, const dq_processes *processes, dq_error *error) {
  int64_t counts[] = {task->pictures, task->nonfinite};
  if (dq_process_count(processes) == 1) return DQ_OK;
  DQ_TRY(dq_task_share_counts(processes, counts, DQ_COUNT(counts), error));
  task->pictures = counts[0], task->nonfinite = counts[1];
  return task->functions->share ? task->functions->share(task, processes, error) : DQ_OK;
}

dq_status dq_task_result(dq_task *task, dq_result *result, dq_error *error) {
  *result = (dq_result){.task = task->name, .pictures = task->pictures, .nonfinite = task->nonfinite, .points = 1};
  return task->functions->result ? task->functions->result(task, result, error) : DQ_OK;
}

const dq_task_functions dq_task_none = {.open = NULL};
