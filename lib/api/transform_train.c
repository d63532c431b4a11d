// Training of the public interface.
#include "lib/api/api_internal.h"

static const dq_model_train_options train_defaults = {
    .epochs = 10, .batch = 64, .rate = 0.01, .schedule = DQ_TRAIN_COSINE, .momentum = 0.9, .temperature = 1};

void dq_model_train_defaults(dq_model_train_options *options, size_t size) {
  dq_api_set_defaults(options, size, &train_defaults, sizeof *options);
}

static dq_status check_range(const char *name, double value, double low, double high, dq_error *error) {
  if (value >= low && value <= high) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "%s is %g, expected %g to %g", name, value, low, high);
}

static dq_status check(const dq_model *model, const dq_model_train_options *given, dq_error *error) {
  static const double nearly_one = 0.999999;
  if (!given->data || !given->validation)
    return dq_fail(error, DQ_USAGE, "the option %s is missing", given->data ? "validation" : "data");
  if (given->teacher == model) return dq_fail(error, DQ_USAGE, "the teacher is the model itself; load the file twice");
  if (given->resume && !given->checkpoint) return dq_fail(error, DQ_USAGE, "resume is given without checkpoint");
  DQ_TRY(check_range("epochs", (double)given->epochs, 1, 1e6, error));
  DQ_TRY(check_range("batch", (double)given->batch, 1, 65536, error));
  DQ_TRY(check_range("rate", given->rate, 1e-12, 1e6, error));
  DQ_TRY(check_range("warmup", given->warmup, 0, 1e6, error));
  DQ_TRY(check_range("momentum", given->momentum, 0, nearly_one, error));
  DQ_TRY(check_range("weight_decay", given->weight_decay, 0, 1e6, error));
  DQ_TRY(check_range("label_smoothing", given->label_smoothing, 0, nearly_one, error));
  DQ_TRY(check_range("temperature", given->temperature, 1e-3, 1e6, error));
  DQ_TRY(check_range("feature_loss", given->feature_loss, 0, 1e6, error));
  DQ_TRY(check_range("patience", (double)given->patience, 0, 1e9, error));
  DQ_TRY(check_range("checkpoint_every", (double)given->checkpoint_every, 0, 1e12, error));
  DQ_TRY(check_range("time_limit", given->time_limit, 0, 1e9, error));
  DQ_TRY(check_range("schedule", given->schedule, DQ_TRAIN_CONSTANT, DQ_TRAIN_POLY, error));
  return check_range("optimizer", given->optimizer, DQ_TRAIN_SGD, DQ_TRAIN_ADAM, error);
}

static dq_trainer_options settings_of(const dq_model_train_options *given) {
  return (dq_trainer_options){
      .training = {.temperature = given->temperature,
                   .feature_loss = given->feature_loss,
                   .batch = given->batch,
                   .frozen = given->freeze,
                   .frozen_count = dq_api_count(given->freeze),
                   .frozen_statistics = given->freeze_statistics != 0,
                   .quantized = given->quantization_aware != 0},
      .optimizer = dq_optimizer_of((dq_optimizer_kind)given->optimizer, given->momentum, given->weight_decay),
      .rate = {.course = (dq_rate_course)given->schedule, .rate = given->rate, .power = 2},
      .warmup = given->warmup,
      .epochs = given->epochs,
      .label_smoothing = given->label_smoothing,
      .data = given->data->data,
      .validation = given->validation->data,
      .teacher = given->teacher ? given->teacher->graph : NULL,
      .patience = given->patience,
      .last = given->keep_last != 0,
      .checkpoint = given->checkpoint,
      .checkpoint_every = given->checkpoint_every,
      .resume = given->resume != 0,
      .time_limit = given->time_limit};
}

// Trains a copy, which becomes the model where the training was worth it; *trained is the status of the training. The
// table of epochs lives in an arena of the model.
static dq_status train(dq_model *model, const dq_model_train_options *options, dq_status *trained, dq_error *error) {
  dq_model_train_options given = train_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  DQ_TRY(check(model, &given, error));
  const dq_context *context = &model->engine->context;
  if (!(model->training_arena = dq_context_arena(context))) return dq_fail_memory(error, 0);
  dq_trainer_options settings = settings_of(&given);
  if (given.augment) DQ_TRY(dq_augmentation_parse(&settings.augmentation, given.augment, error));
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, 0, model->training_arena,
                       &settings.training.shapes, error));
  dq_graph *answer = dq_graph_copy(model->graph);
  if (!answer) return dq_fail_memory(error, 0);
  *trained = dq_train(answer, &settings, &model->trained, model->training_arena, context, error);
  if (*trained == DQ_OK || *trained == DQ_CONDITION)
    return dq_api_take(model, DQ_TRANSFORM_TRAIN, NULL, answer, true, error);
  dq_graph_free(answer);
  return *trained;
}

static void give_facts(const dq_model *model, dq_model_train_facts *facts) {
  const dq_train_report *report = &model->trained;
  const dq_model_train_facts known = {.figure = report->figure.name,
                                      .unit = report->figure.unit,
                                      .before = report->start,
                                      .after = report->figure.value,
                                      .epochs = report->count,
                                      .kept = report->kept,
                                      .resumed = report->resumed,
                                      .memory = report->memory,
                                      .out_of_time = report->out_of_time,
                                      .out_of_patience = report->out_of_patience};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_train(dq_model *model, const dq_model_train_options *options, dq_model_train_facts *facts,
                       dq_failure *failure) {
  dq_call call;
  dq_status trained = DQ_OK, status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) status = train(model, options, &trained, &call.error);
  if (status == DQ_OK) {
    give_facts(model, facts);
    status = trained; // its reason stands in the error
  }
  return dq_api_leave(&call, status, failure);
}

int dq_model_train_at(const dq_model *model, int index, dq_model_train_row *row) {
  if (!model || model->last != DQ_TRANSFORM_TRAIN || index < 0 || index >= model->trained.count) return 0;
  const dq_train_epoch *epoch = &model->trained.epochs[index];
  const dq_model_train_row known = {.steps = epoch->steps,
                                    .rate = epoch->rate,
                                    .loss = epoch->loss,
                                    .right = epoch->right,
                                    .figure = epoch->figure,
                                    .seconds = epoch->seconds};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
