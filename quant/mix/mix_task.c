#include "quant/mix/mix_task.h"

#include "lib/decode/decode.h"
#include "lib/session/batch.h"
#include "quant/search/agreement.h"

dq_status dq_mix_task_check(const dq_mix_request *asked, dq_error *error) {
  const dq_mix_options *search = &asked->search;
  if (!(search->drop >= 0 && search->drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100", search->drop);
  if (!(search->most_seconds >= 0 && search->most_seconds <= 1e9))
    return dq_fail(error, DQ_USAGE, "max_time is %g, expected 0 to 1e9", search->most_seconds);
  if (search->most_bytes < 0) return dq_fail(error, DQ_USAGE, "max_size is above the largest size");
  if (search->points < 6 || search->points > 100)
    return dq_fail(error, DQ_USAGE, "points is %d, expected 6 to 100", search->points);
  if (!(search->seconds > 0 && search->seconds <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected more than 0, at most 1e9", search->seconds);
  if (asked->batch < 0 || asked->batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %lld, expected 0 to 65536", (long long)asked->batch);
  DQ_TRY(dq_task_check(asked->task, error));
  return dq_decoder_check(asked->decode, error);
}

static dq_status read_also(dq_mix_task *task, dq_error *error) {
  const dq_mix_request *asked = &task->asked;
  dq_mix_named *named = DQ_NEW_ARRAY(task->arena, asked->also_count, dq_mix_named);
  if (!named) return dq_fail_memory(error, 0);
  for (int i = 0; i < asked->also_count; i++)
    DQ_TRY(dq_mix_named_read(&named[i], asked->also[i], task->graph, task->arena, error));
  task->settings.named = named;
  task->settings.named_count = asked->also_count;
  return DQ_OK;
}

dq_status dq_mix_task_read(dq_mix_task *task, dq_error *error) {
  const dq_mix_request *asked = &task->asked;
  const dq_graph *graph = task->graph;
  dq_int8_options *int8 = &task->int8;
  *int8 = dq_int8_defaults();
  int8->decode = asked->decode, int8->batch = asked->batch, int8->search_hint = asked->search_hint;
  int8->shapes = (dq_shape_request){.batch = 1};
  DQ_TRY(dq_input_shapes_read(&int8->shapes, asked->shapes, asked->shape_count, &graph, 1, task->arena, error));
  DQ_TRY(dq_complete_shapes(&int8->shapes, graph, task->data, task->arena, error));
  DQ_TRY(dq_settle_batch(&int8->batch, graph, &int8->shapes, task->data, task->context, error));
  task->check.options = (dq_accuracy_options){asked->task, asked->decode, int8->batch, int8->shapes};
  task->settings = asked->search;
  task->settings.int8 = int8;
  task->settings.data = task->data, task->settings.eval = task->eval;
  return read_also(task, error);
}

dq_status dq_mix_task_search(dq_graph **answer, dq_mix_report *report, dq_mix_task *task, dq_error *error) {
  dq_accuracy_change *check = &task->check;
  dq_mix_options *settings = &task->settings;
  *answer = NULL;
  DQ_TRY(dq_accuracy_before(check, task->graph, task->context, error));
  settings->labelled = check->before.count > 0;
  if (!settings->labelled) {
    check->before = dq_agreement_whole(1);
    if (task->asked.no_labels) dq_message(task->context, DQ_NOTE, "%s", task->asked.no_labels);
  }
  settings->accuracy = check->options;
  settings->before = &check->before;
  return dq_mix_search(answer, task->graph, report, settings, task->context, task->arena, error);
}
