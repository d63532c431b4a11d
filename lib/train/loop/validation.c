#include "lib/train/loop/validation.h"

#include "lib/session/divided.h"
#include "lib/session/pair.h"

typedef struct teacher_comparison {
  dq_network_pair pair; // the teacher and the model
  dq_divided_loop divided;
  dq_comparison comparison;
} teacher_comparison;

static dq_status compare(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  const teacher_comparison *c = user;
  dq_comparison picture = {0};
  (void)first, (void)count, (void)infos;
  DQ_TRY(dq_comparison_add(&picture, dq_plan_output(dq_network_pair_plan(&c->pair, 0), 0),
                           dq_plan_output(dq_network_pair_plan(&c->pair, 1), 0), -1, error));
  return dq_divided_give_bytes(&c->divided, 0, 0, &picture, sizeof picture, error);
}

static dq_status add_picture(void *user, int listener, int slot, const dq_tensor *picture, dq_error *error) {
  teacher_comparison *c = user;
  (void)listener, (void)slot, (void)error;
  dq_comparison_merge(&c->comparison, picture->data);
  return DQ_OK;
}

static dq_status validate_by_teacher(const dq_validation *validation, const dq_graph *model, dq_figure *figure,
                                     const dq_context *context, dq_error *error) {
  const dq_graph *graphs[2] = {validation->teacher, model};
  const dq_picture_range range = {.step = 1, .count = dq_data_count(validation->data), .one_by_one = true};
  teacher_comparison c = {.comparison = {0}};
  dq_status status = dq_network_pair_open(&c.pair, graphs, (const char *const[2]){NULL, NULL}, validation->data,
                                          &validation->shapes, context, error);
  c.divided = (dq_divided_loop){.loop = {&c.pair.runners[0], &c.pair.runners[1], .after = compare, .user = &c},
                                .on_record = add_picture,
                                .user = &c};
  status = dq_processes_agree(dq_processes_of(context), status, error);
  if (status == DQ_OK) status = dq_divided_run(&c.divided, &range, error);
  dq_network_pair_close(&c.pair);
  *figure = (dq_figure){
      .name = "SQNR", .key = "sqnr", .unit = "dB", .decimals = 2, .value = dq_comparison_sqnr(&c.comparison)};
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
