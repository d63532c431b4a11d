#include "lib/train/loop/validation.h"

#include "lib/session/pair.h"

static dq_status compare(const dq_validation *validation, dq_network_pair *pair, dq_comparison *comparison,
                         const dq_context *context, dq_error *error) {
  for (int64_t i = 0; i < dq_data_count(validation->data); i++) {
    DQ_TRY(dq_check_stop(context, error));
    DQ_TRY(dq_network_pair_run(pair, i, error));
    DQ_TRY(dq_comparison_add(comparison, dq_plan_output(dq_network_pair_plan(pair, 0), 0),
                             dq_plan_output(dq_network_pair_plan(pair, 1), 0), -1, error));
  }
  return DQ_OK;
}

static dq_status validate_by_teacher(const dq_validation *validation, const dq_graph *model, dq_figure *figure,
                                     const dq_context *context, dq_error *error) {
  const dq_graph *graphs[2] = {validation->teacher, model};
  dq_network_pair pair;
  dq_comparison comparison = {0};
  dq_status status = dq_network_pair_open(&pair, graphs, (const char *const[2]){NULL, NULL}, validation->data,
                                          &validation->shapes, context, error);
  if (status == DQ_OK) status = compare(validation, &pair, &comparison, context, error);
  dq_network_pair_close(&pair);
  *figure =
      (dq_figure){.name = "SQNR", .key = "sqnr", .unit = "dB", .decimals = 2, .value = dq_comparison_sqnr(&comparison)};
  return status;
}

// Labels of other classes than the model's, such as those of folders, are none to a training by a teacher.
static bool labels_suit(const dq_validation *validation) {
  const int64_t labels = dq_data_classes(validation->data);
  return dq_data_classes_exact(validation->data) ? labels == validation->classes : labels <= validation->classes;
}

dq_status dq_validate(const dq_validation *validation, const dq_graph *model, dq_figure *figure,
                      const dq_context *context, dq_error *error) {
  const bool labelled = dq_data_labelled(validation->data) == DQ_LABEL_CLASS;
  if (validation->teacher && !(labelled && labels_suit(validation)))
    return validate_by_teacher(validation, model, figure, context, error);
  if (!labelled) {
    dq_fail(error, DQ_BAD_INPUT, "the pictures to validate on have no class labels");
    dq_error_hint(error, "a teacher needs no labels: --teacher MODEL");
    return DQ_BAD_INPUT;
  }
  const dq_accuracy_options options = {.task = "classify", .batch = validation->batch, .shapes = validation->shapes};
  dq_result result = {0};
  DQ_TRY(dq_accuracy_run(&result, model, validation->data, &options, context, error));
  *figure = result.figures[0];
  return DQ_OK;
}
