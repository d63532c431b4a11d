// Making a training over data ready.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/document/origin.h"
#include "lib/graph/patterns.h"
#include "lib/session/runner.h"
#include "lib/train/loop/find_features.h"
#include "lib/train/loop/trainer_internal.h"

// ---- Options ----

static dq_status check_frozen(const dq_trainer *t, dq_error *error) {
  const dq_training_options *options = &t->options->training;
  for (int i = 0; i < options->frozen_count; i++) {
    bool fits = false;
    for (int n = 0; n < t->model->node_count; n++)
      fits = fits || dq_pattern_fits(options->frozen[i], t->model->nodes[n]);
    if (!fits)
      return dq_fail(error, DQ_USAGE, "no node fits the pattern '%s' of weights to freeze", options->frozen[i]);
  }
  return DQ_OK;
}

// Chooses the loss. Without a teacher labels name classes, so that it is the cross entropy. What a teacher gives is of
// any form.
static dq_status choose_loss(const dq_trainer *t, dq_training_options *options, dq_error *error) {
  const dq_graph *model = t->model;
  if (model->output_count != 1)
    return dq_fail(error, DQ_UNSUPPORTED, "training of models with %d outputs is not supported", model->output_count);
  const int rank = model->outputs[0]->rank;
  const dq_label_kind labels = dq_data_labelled(t->options->data);
  options->loss = DQ_LOSS_CROSS_ENTROPY;
  if (t->options->teacher && (t->options->match || (rank >= 0 && rank != 2))) options->loss = DQ_LOSS_SQUARED_ERROR;
  if (t->options->teacher || (labels != DQ_LABEL_MASK && labels != DQ_LABEL_BOXES)) return DQ_OK;
  dq_fail(error, DQ_UNSUPPORTED, "training on %s is not supported", labels == DQ_LABEL_MASK ? "masks" : "boxes");
  dq_error_hint(error, "a teacher gives the targets in their place: --teacher MODEL");
  return DQ_UNSUPPORTED;
}

// ---- What is trained ----

// Nodes that need the batch of the model fail with another one: the hint says which it is.
static dq_status hint_at_batch(const dq_trainer *t, dq_status status, dq_error *error) {
  for (int i = 0; i < t->model->input_count; i++) {
    const dq_value *input = t->model->inputs[i];
    if (input->constant || input->rank < 1 || status != DQ_BAD_INPUT) continue;
    if (input->dims[0].size > 0 && input->dims[0].size != t->options->training.batch)
      dq_error_hint(error, "the model has a batch of its own: --batch %lld", (long long)input->dims[0].size);
  }
  return status;
}

static dq_status open_training(dq_trainer *t, dq_error *error) {
  dq_training_options options = t->options->training;
  DQ_TRY(dq_complete_shapes(&options.shapes, t->model, t->options->data, t->arena, error));
  DQ_TRY(choose_loss(t, &options, error));
  DQ_TRY(check_frozen(t, error));
  dq_teacher_options teacher = {.graph = t->options->teacher};
  DQ_TRY(dq_find_features(t, &options, &teacher, error));
  dq_status status = dq_training_open(&t->training, t->model, &options, t->context, error);
  if (status != DQ_OK) return hint_at_batch(t, status, error);
  t->optimizer = t->options->optimizer;
  DQ_TRY(dq_training_optimizer(&t->training, &t->optimizer, error));
  const dq_batches_options batches = {.data = t->options->data,
                                      .augmentation = t->options->augmentation,
                                      .label_smoothing = t->options->label_smoothing,
                                      .unlabelled = t->options->teacher != NULL,
                                      .part = t->training.part};
  const bool scores = t->training.targets->rank == 2 && !t->options->match;
  t->validation = (dq_validation){.data = t->options->validation,
                                  .teacher = t->options->teacher,
                                  .classes = scores ? t->training.targets->dims[1] : 0,
                                  .shapes = options.shapes,
                                  .batch = options.batch};
  DQ_TRY(dq_batches_open(&t->batches, &batches, t->training.input, t->training.targets, t->arena, t->context, error));
  teacher.classes = options.loss == DQ_LOSS_CROSS_ENTROPY;
  teacher.temperature = options.temperature;
  teacher.targets = t->training.features;
  if (!teacher.graph) return DQ_OK;
  status = dq_teacher_open(&t->teacher, &teacher, t->training.input, t->training.targets, t->context, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "teacher");
}

static void set_rate(dq_trainer *t) {
  const double steps = (double)t->batches.per_epoch;
  t->rate = t->options->rate;
  t->rate.steps = t->batches.per_epoch * t->options->epochs;
  t->rate.warmup = llround(t->options->warmup * steps);
}

// ---- The checkpoint ----

// Returns a hash of the facts of the data, and of the names and labels of all pictures. What they show is not read: a
// folder of millions would take hours.
static uint64_t data_hash(const dq_data *data) {
  uint64_t hash = dq_random_mix(dq_data_facts(data) + (uint64_t)dq_data_count(data));
  for (int64_t i = 0; i < dq_data_count(data); i++) {
    dq_sample_info info = {0};
    if (dq_data_read(data, i, NULL, &info, NULL) != DQ_OK) continue; // is reported when it is read
    for (const char *c = info.name; *c; c++) hash = dq_random_mix(hash + (unsigned char)*c);
    hash = dq_random_mix(hash + (uint64_t)info.label);
  }
  return hash;
}

// What decides on the bytes of the result, but for the rate, which a resumed training may change, and for what the
// pictures show.
static const char *settings_of(const dq_trainer *t) {
  const dq_trainer_options *o = t->options;
  const char *frozen = "";
  char shape[DQ_SHAPE_TEXT];
  dq_tensor input = *t->training.input; // of several processes each has a part of the batch
  input.dims[0] = t->batches.batch;
  for (int i = 0; frozen && i < o->training.frozen_count; i++)
    frozen = dq_arena_printf(t->arena, "%s %s", frozen, o->training.frozen[i]);
  if (!frozen) return NULL;
  return dq_arena_printf(
      t->arena,
      "byte order=%s\nmodel=%016" PRIx64 "\nquantized=%d\ninput=%s\npreprocess=%s\ndata=%016" PRIx64
      "\nvalidation=%016" PRIx64 "\nteacher=%016" PRIx64 "\noutputs matched=%d\ntemperature=%.17g\nfeature loss=%.17g\n"
      "epochs=%" PRId64 "\nbatch=%" PRId64 "\nseed=%" PRIu64 "\noptimizer=%d\nmomentum=%.17g\nweight decay=%.17g\n"
      "schedule=%d\nwarmup=%.17g\nlabel smoothing=%.17g\ncolour=%.17g\ncrop=%" PRId64 "\nflip=%d\ncutout=%" PRId64
      "\nfrozen=%s\nfrozen statistics=%d\n",
      *(const uint8_t *)&(const uint16_t){1} ? "little" : "big", dq_origin_hash(t->model), o->training.quantized,
      dq_tensor_shape_text(&input, shape, sizeof shape), dq_data_preprocess_text(o->data), data_hash(o->data),
      data_hash(o->validation), o->teacher ? dq_origin_hash(o->teacher) : 0, o->match, o->training.temperature,
      o->training.feature_loss, o->epochs, t->batches.batch, t->context->seed, (int)o->optimizer.kind,
      o->optimizer.momentum, o->optimizer.decay, (int)o->rate.course, o->warmup, o->label_smoothing,
      o->augmentation.colour, o->augmentation.crop, o->augmentation.flip, o->augmentation.cutout, frozen,
      o->training.frozen_statistics);
}

// Zeroes what is zero already, so that the memory that is announced before the first update has it.
static void touch(const dq_checkpoint_part *part) { memset(part->data, 0, part->bytes); }

static dq_status open_checkpoint(dq_trainer *t, dq_error *error) {
  enum { FIXED_PARTS = 4 };
  const dq_training *training = &t->training;
  const size_t state = (size_t)dq_training_elements(training) * sizeof(float);
  const int moments = t->optimizer.kind == DQ_OPTIMIZER_ADAM ? 2 : 1;
  dq_checkpoint_part *parts = DQ_NEW_ARRAY(t->arena, FIXED_PARTS + training->trained_count, dq_checkpoint_part);
  t->now = dq_arena_alloc(t->arena, state), t->best = dq_arena_alloc(t->arena, state);
  t->report->epochs = DQ_NEW_ARRAY(t->arena, t->options->epochs, dq_train_epoch);
  if (!parts || !t->now || !t->best || !t->report->epochs) return dq_fail_memory(error, state);
  parts[0] = (dq_checkpoint_part){&t->place, sizeof t->place};
  parts[1] = (dq_checkpoint_part){t->report->epochs, (size_t)t->options->epochs * sizeof *t->report->epochs};
  parts[2] = (dq_checkpoint_part){t->now, state};
  parts[3] = (dq_checkpoint_part){t->best, state};
  for (int i = 0; i < training->trained_count; i++)
    parts[FIXED_PARTS + i] = (dq_checkpoint_part){
        t->optimizer.moments[i], (size_t)moments * (size_t)dq_tensor_bytes(training->trained[i].elements)};
  t->checkpoint = (dq_checkpoint){.parts = parts, .count = FIXED_PARTS + training->trained_count};
  for (int i = FIXED_PARTS - 1; i < t->checkpoint.count; i++) touch(&parts[i]);
  if (!t->options->checkpoint) return DQ_OK;
  touch(&parts[2]);
  t->checkpoint.path = dq_arena_printf(t->arena, "%s/checkpoint", t->options->checkpoint);
  t->checkpoint.settings = settings_of(t);
  return t->checkpoint.path && t->checkpoint.settings ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_trainer_save(dq_trainer *t, dq_error *error) {
  const dq_processes *processes = t->context->processes;
  dq_status status = DQ_OK;
  if (!t->checkpoint.path) return DQ_OK;
  dq_training_save(&t->training, t->now);
  if (dq_process_index(processes) == 0) status = dq_checkpoint_save(&t->checkpoint, error);
  return dq_processes_agree(processes, status, error);
}

// A file whose hash is right may still have been written by somebody else. The numbers count epochs and steps.
static dq_status check_place(const dq_trainer *t, dq_error *error) {
  const dq_train_place *place = &t->place;
  const int64_t epochs = t->options->epochs, each = t->batches.per_epoch;
  const bool inside = place->epoch >= 0 && place->epoch <= epochs && place->step >= 0 && place->step <= each;
  const bool counted = inside && place->steps == place->epoch * each + place->step && place->since_best >= 0 &&
                       place->since_best <= place->epoch;
  const bool sensible = isfinite(place->rate) && place->seconds >= 0 && place->memory >= 0 && place->memory < 0x1p62;
  if (counted && sensible && place->best_epoch >= 0 && place->best_epoch <= place->epoch) return DQ_OK;
  return dq_fail(
      error, DQ_BAD_INPUT,
      "%s: the checkpoint is behind step %lld (%lld in all) of epoch %lld, its best epoch is %lld; expected up "
      "to %lld steps in each of %lld epochs, and sensible numbers",
      t->checkpoint.path, (long long)place->step, (long long)place->steps, (long long)place->epoch,
      (long long)place->best_epoch, (long long)each, (long long)epochs);
}

// The rows of complete epochs are those that a training writes: they are shown, and counts of pictures come from them.
static dq_status check_epochs(const dq_trainer *t, dq_error *error) {
  for (int64_t i = 0; i < t->place.epoch; i++) {
    const dq_train_epoch *epoch = &t->report->epochs[i];
    const bool fits = epoch->steps >= 1 && epoch->steps <= t->batches.per_epoch && isfinite(epoch->rate) &&
                      isfinite(epoch->loss) && epoch->seconds >= 0 && isfinite(epoch->seconds);
    if (!fits)
      return dq_fail(error, DQ_BAD_INPUT,
                     "%s: epoch %lld of the checkpoint has %lld steps in %g s, with a loss of %g and a rate of %g; "
                     "expected 1 to %lld steps and finite numbers",
                     t->checkpoint.path, (long long)i + 1, (long long)epoch->steps, epoch->seconds, epoch->loss,
                     epoch->rate, (long long)t->batches.per_epoch);
  }
  return DQ_OK;
}

dq_status dq_trainer_load(dq_trainer *t, dq_error *error) {
  const dq_processes *processes = t->context->processes;
  dq_status status = DQ_OK;
  if (dq_process_index(processes) == 0) status = dq_checkpoint_load(&t->checkpoint, error);
  if (dq_process_index(processes) == 0 && status == DQ_OK) status = check_place(t, error);
  if (dq_process_index(processes) == 0 && status == DQ_OK) status = check_epochs(t, error);
  DQ_TRY(dq_processes_agree(processes, status, error));
  for (int i = 0; i < t->checkpoint.count; i++)
    dq_processes_share(processes, t->checkpoint.parts[i].data, t->checkpoint.parts[i].bytes);
  dq_training_restore(&t->training, t->now);
  return DQ_OK;
}

// ---- Everything ----

static dq_status open_trainer(dq_trainer *t, dq_error *error) {
  t->silent = *t->context;
  t->silent.message = NULL;
  t->silent.progress = NULL;
  DQ_TRY(open_training(t, error));
  set_rate(t);
  t->report->batch = t->batches.batch;
  return open_checkpoint(t, error);
}

dq_status dq_trainer_open(dq_trainer *t, dq_error *error) {
  return dq_processes_agree(t->context->processes, open_trainer(t, error), error);
}

void dq_trainer_close(dq_trainer *t) {
  dq_teacher_close(&t->teacher);
  dq_training_close(&t->training);
}

dq_status dq_trainer_validate(const dq_trainer *t, dq_figure *figure, dq_error *error) {
  dq_graph *graph = dq_graph_copy(t->model);
  dq_status status = graph ? dq_training_store(&t->training, graph, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_validate(&t->validation, graph, figure, &t->silent, error);
  dq_graph_free(graph);
  return dq_processes_agree(t->context->processes, status, error);
}
