#include "decomp/search/tucker_task.h"

#include <inttypes.h>

#include "decomp/tucker/ranks_file.h"
#include "lib/decode/decode.h"
#include "lib/session/batch.h"

// Whether trials of max_drop choose ranks on labelled pictures.
static bool searches(const dq_tucker_request *asked) { return asked->max_drop >= 0; }

// ---- Checks ----

static dq_rank_rule rule_of(const dq_tucker_request *asked) {
  return asked->vbmf ? DQ_RANK_VBMF : asked->energy != 0 ? DQ_RANK_ENERGY : DQ_RANK_RATIO;
}

static double parameter_of(const dq_tucker_request *asked) {
  return asked->vbmf ? asked->weaken : asked->energy != 0 ? asked->energy : asked->ratio;
}

static dq_status check_rule(const dq_tucker_request *asked, dq_error *error) {
  int rules =
      (asked->ratio != 0) + (asked->energy != 0) + (asked->macs != 0) + !!asked->ranks + asked->vbmf + searches(asked);
  if (rules != 1)
    return dq_fail(error, DQ_USAGE, "%d of ratio, energy, macs, ranks, vbmf and max_drop are given, expected one",
                   rules);
  if (asked->macs != 0 && !(asked->macs > 0 && asked->macs < 1))
    return dq_fail(error, DQ_USAGE, "macs is %g, expected above 0 and below 1", asked->macs);
  if (asked->ranks && (asked->force || asked->multiple != 1))
    return dq_fail(error, DQ_USAGE, "ranks is given with %s, which changes no rank of the file",
                   asked->force ? "force" : "multiple");
  if (asked->never_slower && (asked->force || asked->ranks))
    return dq_fail(error, DQ_USAGE, "never_slower is given with %s, which leaves it nothing to decide",
                   asked->force ? "force" : "ranks");
  if (asked->weaken != 0 && !asked->vbmf) return dq_fail(error, DQ_USAGE, "weaken is given without vbmf");
  if (asked->ranks || asked->macs != 0 || searches(asked)) return DQ_OK;
  return dq_rank_check(rule_of(asked), parameter_of(asked), asked->multiple, error);
}

static dq_status check_search(const dq_tucker_request *asked, bool has_data, dq_error *error) {
  if (!(asked->max_drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100, or less than 0 for no bound", asked->max_drop);
  if (!(asked->time_limit >= 0 && asked->time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", asked->time_limit);
  if (searches(asked) && !has_data)
    return dq_fail(error, DQ_USAGE, "max_drop is given without data, the pictures that trials are fitted to");
  if (searches(asked) || asked->time_limit == 0) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "time_limit is given without max_drop, which alone reads it");
}

dq_status dq_tucker_task_check(const dq_tucker_request *asked, bool has_data, dq_error *error) {
  DQ_TRY(check_rule(asked, error));
  DQ_TRY(check_search(asked, has_data, error));
  DQ_TRY(dq_task_check(asked->task, error));
  DQ_TRY(dq_decoder_check(asked->decode, error));
  if (asked->fit_limit < 0)
    return dq_fail(error, DQ_USAGE, "fit_limit is %" PRId64 ", expected 0 or more", asked->fit_limit);
  if (asked->batch < 0 || asked->batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %" PRId64 ", expected 0 to 65536", asked->batch);
  return DQ_OK;
}

// ---- Pictures ----

dq_status dq_tucker_task_split(dq_tucker_task *task, dq_error *error) {
  const dq_tucker_request *asked = &task->asked;
  if (!task->data || asked->plain || (task->eval && !searches(asked))) return DQ_OK;
  return dq_tucker_split_open(&task->split, task->data, asked->fit_limit, error);
}

void dq_tucker_task_close(dq_tucker_task *task) { dq_tucker_split_close(&task->split); }

static dq_data *fitted_data(const dq_tucker_task *task) { return task->split.fitted ? task->split.fitted : task->data; }

dq_data *dq_tucker_task_measured(const dq_tucker_task *task) {
  if (task->eval) return task->eval;
  return searches(&task->asked) ? fitted_data(task) : task->data;
}

// The pictures for the verdict. *seen: something was fitted to them or chosen on them.
static dq_data *choose_judges(const dq_tucker_task *task, dq_tucker_training training, bool *seen) {
  const bool chosen = searches(&task->asked), trained = training != DQ_TUCKER_UNTRAINED;
  *seen = false;
  if (task->split.apart && !trained) return task->split.apart;
  *seen = chosen || (task->eval ? training == DQ_TUCKER_TRAINED_CHOSEN : !task->asked.plain || trained);
  return task->eval ? task->eval : task->data;
}

// ---- Settings ----

static dq_tucker_options make_settings(const dq_tucker_task *task) {
  const dq_tucker_request *asked = &task->asked;
  return (dq_tucker_options){.rule = rule_of(asked),
                             .parameter = parameter_of(asked),
                             .macs_share = asked->macs,
                             .bound_first = asked->macs != 0,
                             .multiple = asked->multiple,
                             .plain = asked->plain,
                             .force = asked->force,
                             .refine = asked->refine,
                             .matrices = asked->matrices,
                             .never_slower = asked->never_slower,
                             .data = asked->plain ? NULL : fitted_data(task),
                             .pictures = asked->fit_limit,
                             .batch = asked->batch,
                             .context = task->context};
}

dq_status dq_tucker_task_read(dq_tucker_task *task, dq_error *error) {
  const dq_tucker_request *asked = &task->asked;
  const dq_graph *graph = task->graph;
  dq_tucker_options *settings = &task->settings;
  dq_layer_ranks *layers = NULL;
  *settings = make_settings(task);
  task->shapes = (dq_shape_request){0};
  DQ_TRY(dq_input_shapes_read(&task->shapes, asked->shapes, asked->shape_count, &graph, 1, task->arena, error));
  DQ_TRY(dq_complete_shapes(&task->shapes, graph, settings->data, task->arena, error));
  DQ_TRY(dq_settle_batch(&settings->batch, graph, &task->shapes, task->data ? task->data : task->eval, task->context,
                         error));
  if (task->shapes.input_count) settings->shapes = &task->shapes;
  task->check.options = (dq_accuracy_options){asked->task, asked->decode, settings->batch, task->shapes};
  if (!asked->ranks) return DQ_OK;
  DQ_TRY(dq_ranks_load(asked->ranks, task->arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

// ---- The decomposition ----

static dq_status search(dq_graph **answer, dq_tucker_report *report, dq_tucker_search_report *found,
                        dq_tucker_task *task, dq_error *error) {
  dq_tucker_search_options *options = &task->search;
  if (!task->check.before.count) return dq_fail(error, DQ_USAGE, "%s", task->asked.unmeasured);
  options->max_drop = task->asked.max_drop;
  options->tucker = &task->settings;
  options->eval = task->check.data;
  options->accuracy = &task->check.options;
  options->before = &task->check.before;
  options->time_limit = task->asked.time_limit;
  DQ_TRY(dq_tucker_search(answer, task->graph, report, found, options, error));
  task->check.after = found->after;
  return DQ_OK;
}

static dq_status decompose(dq_graph **answer, dq_tucker_report *report, const dq_tucker_task *task, dq_error *error) {
  *answer = dq_graph_copy(task->graph);
  if (!*answer) return dq_fail_memory(error, 0);
  dq_status status = dq_tucker_apply(*answer, &task->settings, report, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*answer);
  *answer = NULL;
  return status;
}

dq_status dq_tucker_task_decompose(dq_graph **answer, dq_tucker_report *report, dq_tucker_search_report *found,
                                   dq_tucker_task *task, dq_error *error) {
  *answer = NULL;
  DQ_TRY(dq_accuracy_before(&task->check, task->graph, task->context, error));
  if (searches(&task->asked)) return search(answer, report, found, task, error);
  return decompose(answer, report, task, error);
}

dq_status dq_tucker_task_judge(dq_verdict *verdict, const dq_graph *decomposed, dq_tucker_training training,
                               const dq_tucker_task *task, dq_error *error) {
  bool seen;
  const dq_evaluator_options judged = {.graph = task->graph,
                                       .shapes = &task->shapes,
                                       .data = choose_judges(task, training, &seen),
                                       .decode = task->asked.decode,
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .batch = task->settings.batch};
  return dq_verdict_conclude(verdict, seen ? DQ_VERDICT_FITTED_PICTURES : DQ_VERDICT_OTHER_PICTURES, decomposed,
                             &judged, task->context, task->arena, error);
}
