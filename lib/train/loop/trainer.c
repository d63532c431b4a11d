#include "lib/train/loop/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/document/repair_shapes.h"
#include "lib/train/loop/trainer_internal.h"

// ---- Memory, and the start ----

// Reads a batch of the order that was set, and computes its targets. All processes have the same status.
static dq_status read_batch(dq_trainer *t, int64_t index, dq_error *error) {
  dq_status status = dq_check_stop(t->context, error);
  if (status == DQ_OK) status = dq_batches_read(&t->batches, index, error);
  if (status == DQ_OK && t->options->teacher)
    status = dq_teacher_run(&t->teacher, t->training.input, t->training.targets, t->training.features, error);
  return dq_processes_agree(t->context->processes, status, error);
}

// The most that the process has held so far. Validation has stored the weights in a model, as the end of the training
// will.
static double foretell_memory(void) {
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage); // Linux counts it in kB
  return 1024.0 * (double)usage.ru_maxrss;
}

// A step without its update takes the memory that all steps need, so that it is known before the first one.
static dq_status begin_anew(dq_trainer *t, dq_error *error) {
  dq_figure figure;
  dq_batches_shuffle(&t->batches, 0);
  DQ_TRY(read_batch(t, 0, error));
  DQ_TRY(dq_plan_run(t->training.session.plan, error));
  DQ_TRY(dq_trainer_validate(t, &figure, error));
  t->place.start = t->place.best = figure.value;
  t->place.rate = t->options->rate.rate;
  t->place.memory = foretell_memory();
  dq_training_save(&t->training, t->best);
  return DQ_OK;
}

static dq_status resume(dq_trainer *t, dq_error *error) {
  DQ_TRY(dq_trainer_load(t, error));
  t->training.step = t->report->resumed = t->first = t->place.steps;
  dq_message(t->context, DQ_NOTE, "continues after step %lld of epoch %lld", (long long)t->place.step,
             (long long)t->place.epoch + 1);
  if (t->place.rate != t->options->rate.rate)
    dq_message(t->context, DQ_NOTE, "the learning rate is %g from here on, %g before", t->options->rate.rate,
               t->place.rate);
  t->place.rate = t->options->rate.rate;
  return DQ_OK;
}

// Makes the folder of the checkpoint; *there receives whether it has one. Of several processes the first one looks.
static dq_status open_folder(const dq_trainer *t, bool *there, dq_error *error) {
  const dq_processes *processes = t->context->processes;
  const char *path = t->checkpoint.path;
  dq_status status = DQ_OK;
  *there = false;
  if (!path) return DQ_OK;
  if (dq_process_index(processes) == 0) {
    *there = !access(path, F_OK);
    if (mkdir(t->options->checkpoint, 0777) && errno != EEXIST) status = dq_fail_errno(error, t->options->checkpoint);
  }
  dq_processes_share(processes, there, sizeof *there);
  return dq_processes_agree(processes, status, error);
}

static dq_status begin(dq_trainer *t, dq_error *error) {
  const char *path = t->checkpoint.path;
  bool there;
  DQ_TRY(open_folder(t, &there, error));
  if (there && t->options->resume) return resume(t, error);
  if (there) {
    dq_fail(error, DQ_USAGE, "%s is there already", path);
    dq_error_hint(error, "--resume continues from it; remove it or give another folder for a new training");
    return DQ_USAGE;
  }
  if (t->options->resume) dq_message(t->context, DQ_NOTE, "%s does not exist: the training starts anew", path);
  DQ_TRY(begin_anew(t, error));
  return dq_trainer_save(t, error);
}

// ---- Steps ----

static int64_t highest(const float *values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (values[i] > values[best]) best = i;
  return best;
}

// Pictures of the batch, on all processes, whose highest score is that of the highest target.
static double right_answers(const dq_trainer *t) {
  const dq_training *training = &t->training;
  const dq_tensor *targets = training->targets;
  const int64_t classes = dq_tensor_product(targets, 1, targets->rank);
  const float *wanted = targets->data, *scores = training->scores->data;
  double right = 0;
  if (targets->rank != 2) return NAN;
  for (int64_t i = 0; i < targets->dims[0]; i++)
    right += highest(wanted + i * classes, classes) == highest(scores + i * classes, classes);
  dq_processes_add(t->context->processes, &right, 1);
  return right;
}

static dq_status run_step(dq_trainer *t, dq_error *error) {
  double loss;
  const double begin = dq_seconds(), rate = dq_rate_at(&t->rate, t->place.steps);
  DQ_TRY(read_batch(t, t->place.step, error));
  DQ_TRY(dq_training_step(&t->training, &t->optimizer, rate, &loss, error));
  t->place.step++, t->place.steps++;
  t->place.loss += loss;
  t->place.right += right_answers(t);
  t->place.seconds += dq_seconds() - begin;
  t->report->epochs[t->place.epoch].rate = rate;
  return DQ_OK;
}

static void report_progress(const dq_trainer *t) {
  const double pictures = (double)t->place.step * (double)t->batches.batch;
  char text[64], right[24] = "";
  if (!isnan(t->place.right)) snprintf(right, sizeof right, ", %.1f %%", 100 * t->place.right / pictures);
  snprintf(text, sizeof text, "training: epoch %lld/%lld, loss %.4f%s", (long long)t->place.epoch + 1,
           (long long)t->options->epochs, t->place.loss / (double)t->place.step, right);
  dq_progress(t->context, text, (t->place.steps - t->first) * t->batches.batch,
              (t->rate.steps - t->first) * t->batches.batch);
}

static bool is_out_of_time(const dq_trainer *t) {
  const double limit = t->options->time_limit;
  return limit > 0 && dq_processes_any(t->context->processes, dq_seconds() - t->begin >= limit);
}

// ---- Epochs ----

static void note_epoch(const dq_trainer *t, const dq_train_epoch *epoch) {
  const dq_figure *figure = &t->report->figure;
  char right[48] = "", left[48] = "";
  const double elapsed = dq_seconds() - t->begin, made = (double)(t->place.steps - t->first);
  if (!isnan(epoch->right)) snprintf(right, sizeof right, ", %.2f %% right", epoch->right);
  if (t->place.steps < t->rate.steps)
    snprintf(left, sizeof left, ", %.0f s left", elapsed / made * (double)(t->rate.steps - t->place.steps));
  dq_message(t->context, DQ_NOTE, "epoch %lld of %lld: loss %.4f%s, %s %.*f%s%s, %.0f pictures/s%s",
             (long long)t->place.epoch, (long long)t->options->epochs, epoch->loss, right, figure->name,
             figure->decimals, epoch->figure, *figure->unit ? " " : "", figure->unit,
             (double)(epoch->steps * t->batches.batch) / epoch->seconds, left);
}

// Ends an epoch whose steps have run: validates, and stores the best weights. The next epoch begins.
static dq_status close_epoch(dq_trainer *t, dq_error *error) {
  dq_train_place *place = &t->place;
  dq_train_epoch *epoch = &t->report->epochs[place->epoch];
  const double pictures = (double)(place->step * t->batches.batch);
  DQ_TRY(dq_trainer_validate(t, &t->report->figure, error));
  *epoch = (dq_train_epoch){.steps = place->step,
                            .rate = epoch->rate,
                            .loss = place->loss / (double)place->step,
                            .right = 100 * place->right / pictures,
                            .figure = t->report->figure.value,
                            .seconds = place->seconds};
  place->epoch++, place->since_best++;
  place->step = 0;
  place->loss = place->right = place->seconds = 0;
  if (epoch->figure > place->best || (epoch->figure == place->best && !place->best_epoch)) {
    place->best = epoch->figure, place->best_epoch = place->epoch, place->since_best = 0;
    dq_training_save(&t->training, t->best);
  }
  note_epoch(t, epoch);
  return DQ_OK;
}

// The steps that are left of an epoch. The checkpoint behind the last one lets a validation that was ended be repeated.
static dq_status run_steps(dq_trainer *t, dq_error *error) {
  const int64_t every = t->options->checkpoint_every;
  if (t->batches.epoch != t->place.epoch) dq_batches_shuffle(&t->batches, t->place.epoch);
  while (t->place.step < t->batches.per_epoch && !t->report->out_of_time) {
    DQ_TRY(run_step(t, error));
    report_progress(t);
    if (every && t->place.steps % every == 0) DQ_TRY(dq_trainer_save(t, error));
    t->report->out_of_time = is_out_of_time(t);
  }
  if (t->report->out_of_time) DQ_TRY(dq_trainer_save(t, error));
  return DQ_OK;
}

static bool is_out_of_patience(const dq_trainer *t) {
  return t->options->patience && t->place.since_best >= t->options->patience;
}

static dq_status run_epochs(dq_trainer *t, dq_error *error) {
  while (t->place.epoch < t->options->epochs && !t->report->out_of_time && !is_out_of_patience(t)) {
    DQ_TRY(run_steps(t, error));
    const bool whole = t->place.step == t->batches.per_epoch;
    DQ_TRY(close_epoch(t, error));
    if (whole) DQ_TRY(dq_trainer_save(t, error));
  }
  t->report->out_of_patience = is_out_of_patience(t);
  return DQ_OK;
}

// ---- The end ----

static dq_status store_result(dq_trainer *t, dq_error *error) {
  const dq_train_place *place = &t->place;
  const bool last = t->options->last && !*t->report->diverged && place->epoch > 0;
  const double figure = last ? t->report->epochs[place->epoch - 1].figure : place->best;
  t->report->count = place->epoch;
  t->report->start = place->start;
  t->report->memory = place->memory;
  t->report->kept = last ? place->epoch : place->best_epoch;
  if (figure < place->start || isnan(figure)) t->report->kept = 0;
  if (!t->report->figure.name) DQ_TRY(dq_trainer_validate(t, &t->report->figure, error)); // nothing was left to do
  t->report->figure.value = t->report->kept ? figure : place->start;
  if (!t->report->kept) return DQ_OK;
  if (!last) dq_training_restore(&t->training, t->best);
  return dq_training_store(&t->training, t->model, error);
}

static dq_status conclude(dq_trainer *t, dq_error *error) {
  const dq_train_report *report = t->report;
  DQ_TRY(store_result(t, error));
  if (*report->diverged) {
    dq_fail(error, DQ_CONDITION, "the training diverged at %s; kept is the model %s", report->diverged,
            report->kept ? "of the best epoch" : "as it was");
    dq_error_hint(error, "a smaller --lr makes smaller steps%s",
                  t->checkpoint.path ? "; with --resume the training goes on from its last checkpoint" : "");
    return DQ_CONDITION;
  }
  if (report->kept || !report->count) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "the training made the model worse; kept is the model as it was");
}

// An interrupted step has changed nothing, so that everything before it can be saved.
static dq_status interrupted(dq_trainer *t, dq_error *error) {
  DQ_TRY(dq_trainer_save(t, error));
  dq_fail(error, DQ_CANCELLED, "interrupted after step %lld of epoch %lld", (long long)t->place.step,
          (long long)t->place.epoch + 1);
  if (t->checkpoint.path) dq_error_hint(error, "the same command with --resume continues from there");
  return DQ_CANCELLED;
}

static dq_status train(dq_trainer *t, dq_error *error) {
  dq_error reason = {0};
  DQ_TRY(dq_trainer_open(t, error));
  DQ_TRY(begin(t, error));
  dq_message(t->context, DQ_NOTE, "%lld weights and statistics are trained, memory %.1f MiB",
             (long long)dq_training_elements(&t->training), t->place.memory / 0x1p20);
  dq_status status = run_epochs(t, &reason);
  if (status == DQ_CANCELLED) return interrupted(t, error);
  if (status == DQ_CONDITION) snprintf(t->report->diverged, sizeof t->report->diverged, "%s", reason.message);
  else if (status != DQ_OK && error) *error = reason;
  return status == DQ_OK || status == DQ_CONDITION ? conclude(t, error) : status;
}

dq_status dq_train(dq_graph *model, const dq_trainer_options *options, dq_train_report *report, dq_arena *arena,
                   const dq_context *context, dq_error *error) {
  DQ_TRY(dq_repair_shapes(model, context, error));
  dq_trainer t = {
      .options = options, .context = context, .arena = arena, .model = model, .report = report, .begin = dq_seconds()};
  *report = (dq_train_report){0};
  dq_status status = train(&t, error);
  dq_trainer_close(&t);
  return status;
}
