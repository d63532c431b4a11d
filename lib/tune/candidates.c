// What may be measured for each shape: every algorithm that fits, with every size of blocks that it reads.
#include <string.h>

#include "lib/base/clock.h"
#include "lib/kernels/conv/conv.h"
#include "lib/tune/tune_internal.h"

void dq_tune_adopt(dq_tune_task *task, const dq_tune_candidate *candidate) {
  if (!candidate->tried || candidate->ratio.high >= DQ_TUNE_FASTER) return;
  if (candidate->ratio.median >= task->ratio.median) return;
  task->best = candidate->choice;
  task->ratio = candidate->ratio;
}

static dq_tune_candidate *new_candidate(dq_tuner *tuner, dq_tune_task *task) {
  if (task->candidate_count == task->candidate_capacity) {
    int capacity = task->candidate_capacity ? 2 * task->candidate_capacity : 8;
    dq_tune_candidate *more = DQ_NEW_ARRAY(tuner->arena, capacity, dq_tune_candidate);
    if (!more) return NULL;
    if (task->candidate_count) memcpy(more, task->candidates, (size_t)task->candidate_count * sizeof *more);
    task->candidates = more, task->candidate_capacity = capacity;
  }
  return &task->candidates[task->candidate_count++];
}

// Whether a choice comes to the usual plan, or to that of a candidate in front of it.
static bool is_known(const dq_tuner *tuner, const dq_tune_task *task, const dq_step_form *form) {
  const dq_step_form usual = dq_plan_step_form(tuner->usual, task->first, &(dq_step_choice){{0}});
  bool known = dq_step_same_form(form, &usual);
  for (int c = 0; c < task->candidate_count; c++) known |= dq_step_same_form(form, &task->candidates[c].form);
  return known;
}

// Adds a candidate whose algorithm fits and whose plan is another than those before, with what an earlier search
// measured of it.
static dq_status add(dq_tuner *tuner, dq_tune_task *task, const dq_step_choice *choice, dq_error *error) {
  const dq_step_form form = dq_plan_step_form(tuner->usual, task->first, choice);
  int algorithm = choice->values[DQ_KNOB_OF_ALGORITHM];
  if (algorithm && strcmp(form.algorithm, dq_conv_choice_name((dq_conv_choice)algorithm))) return DQ_OK;
  if (is_known(tuner, task, &form)) return DQ_OK;
  dq_tune_candidate *candidate = new_candidate(tuner, task);
  if (!candidate) return dq_fail_memory(error, sizeof *candidate);
  *candidate = (dq_tune_candidate){.choice = *choice, .form = form};
  const dq_record *r = dq_wisdom_find_tried(tuner->wisdom, task->shape.run, choice);
  if (!r) return DQ_OK;
  candidate->tried = true;
  candidate->ratio = (dq_time_ratio){.median = r->ratio, .low = r->low, .high = r->high};
  task->tried++;
  if (!task->shape.has_record) dq_tune_adopt(task, candidate);
  return DQ_OK;
}

// Every size and number of threads of one algorithm; 0: of the usual one.
static dq_status add_sizes(dq_tuner *tuner, dq_tune_task *task, int algorithm, dq_error *error) {
  enum { SIZES = 5 };
  static const int sizes[SIZES] = {0, 1, -1, 2, -2};
  unsigned usual = dq_plan_step_knobs(tuner->usual, task->first);
  const dq_step_choice plain = {{[DQ_KNOB_OF_ALGORITHM] = algorithm}};
  unsigned read = dq_plan_step_form(tuner->usual, task->first, &plain).knobs;
  if (!(usual & 1u << DQ_KNOB_OF_ALGORITHM)) read = 0; // the algorithm was asked for
  for (int threads = 0; threads <= (usual & 1u << DQ_KNOB_OF_THREADS ? 1 : 0); threads++)
    for (int d = 0; d < (read & 1u << DQ_KNOB_OF_DEPTH ? SIZES : 1); d++)
      for (int c = 0; c < (read & 1u << DQ_KNOB_OF_COLUMNS ? SIZES : 1); c++) {
        const dq_step_choice choice = {{[DQ_KNOB_OF_ALGORITHM] = algorithm,
                                        [DQ_KNOB_OF_COLUMNS] = sizes[c],
                                        [DQ_KNOB_OF_DEPTH] = sizes[d],
                                        [DQ_KNOB_OF_THREADS] = threads}};
        DQ_TRY(add(tuner, task, &choice, error));
      }
  return DQ_OK;
}

// The candidates of a task: those that keep the usual algorithm, then those of others that fit.
static dq_status list_task(dq_tuner *tuner, dq_tune_task *task, dq_error *error) {
  const char *usual = dq_plan_step_algorithm(tuner->usual, task->first);
  bool chosen = dq_plan_step_knobs(tuner->usual, task->first) & 1u << DQ_KNOB_OF_ALGORITHM;
  int *named = &task->named.values[DQ_KNOB_OF_ALGORITHM];
  for (int a = DQ_CONV_AUTO + 1; chosen && a < DQ_CONV_CHOICES; a++)
    if (dq_conv_is_candidate((dq_conv_choice)a) && !strcmp(usual, dq_conv_choice_name((dq_conv_choice)a))) *named = a;
  DQ_TRY(add_sizes(tuner, task, *named, error));
  for (int a = DQ_CONV_AUTO + 1; chosen && a < DQ_CONV_CHOICES; a++)
    if (a != *named && dq_conv_is_candidate((dq_conv_choice)a)) DQ_TRY(add_sizes(tuner, task, a, error));
  return DQ_OK;
}

dq_status dq_tune_list(dq_tuner *tuner, dq_error *error) {
  for (int t = 0; t < tuner->task_count; t++) DQ_TRY(list_task(tuner, &tuner->tasks[t], error));
  return DQ_OK;
}

bool dq_tune_takes_all(const dq_tuner *tuner) { return tuner->options->exhaustive || dq_seconds() < tuner->short_end; }

bool dq_tune_is_left(const dq_tuner *tuner, const dq_tune_task *task) {
  return task->tried < (dq_tune_takes_all(tuner) ? task->candidate_count : dq_tune_part(task->candidate_count));
}

// ---- Counting ----

static dq_tune_family *find_family(dq_tune_report *report, const char *name) {
  int f = 0;
  while (f < report->family_count && strcmp(report->families[f].name, name)) f++;
  dq_tune_family *family = &report->families[f];
  if (f < report->family_count) return family;
  *family = (dq_tune_family){.candidates = 0};
  memcpy(family->name, name, sizeof family->name);
  report->family_count++;
  return family;
}

// The time ratios of the candidates of a family that were measured: into expected[] and measured[].
static int collect(const dq_tuner *tuner, const char *family, double *expected, double *measured) {
  int count = 0;
  for (int t = 0; t < tuner->task_count; t++) {
    const dq_tune_task *task = &tuner->tasks[t];
    dq_run_shape shape;
    if (!dq_run_shape_read(&shape, task->shape.run) || strcmp(shape.family, family)) continue;
    for (int c = 0; c < task->candidate_count; c++)
      if (task->candidates[c].measured) {
        expected[count] = task->candidates[c].expected;
        measured[count++] = task->candidates[c].ratio.median;
      }
  }
  return count;
}

static void count_task(dq_tune_report *report, const dq_tune_task *task) {
  dq_run_shape shape;
  if (task->shape.was_known || !task->candidate_count || !dq_run_shape_read(&shape, task->shape.run)) return;
  dq_tune_family *family = find_family(report, shape.family);
  int measured = 0;
  for (int c = 0; c < task->candidate_count; c++) measured += task->candidates[c].measured;
  family->candidates += task->candidate_count;
  family->measured += measured;
  report->candidates += task->candidate_count;
  report->tried += measured;
  report->tried_before += task->tried - measured;
}

// The least time ratio that proved faster among the first `most` that were measured.
static double fastest(const dq_tune_task *task, int most) {
  dq_tune_task seen = {.ratio = {.median = 1}};
  for (int c = 0; c < task->candidate_count; c++)
    if (task->candidates[c].turn < most) dq_tune_adopt(&seen, &task->candidates[c]);
  return seen.ratio.median;
}

static dq_status find_loss(const dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  int count = tuner->task_count;
  double *shares = DQ_NEW_ARRAY(tuner->arena, count, double), *part = DQ_NEW_ARRAY(tuner->arena, count, double);
  double *all = DQ_NEW_ARRAY(tuner->arena, count, double);
  if (!shares || !part || !all) return dq_fail_memory(error, 0);
  for (int t = 0; t < count; t++) {
    const dq_tune_task *task = &tuner->tasks[t];
    shares[t] = task->shape.share;
    part[t] = fastest(task, dq_tune_part(task->candidate_count)), all[t] = fastest(task, task->candidate_count);
  }
  report->part_loss = dq_tune_part_loss(shares, part, all, count);
  return DQ_OK;
}

dq_status dq_tune_count(const dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  report->families = DQ_NEW_ARRAY(tuner->arena, tuner->task_count, dq_tune_family);
  if (!report->families) return dq_fail_memory(error, 0);
  for (int t = 0; t < tuner->task_count; t++) count_task(report, &tuner->tasks[t]);
  double *expected = DQ_NEW_ARRAY(tuner->arena, report->tried, double);
  double *measured = DQ_NEW_ARRAY(tuner->arena, report->tried, double);
  if (!expected || !measured) return dq_fail_memory(error, 0);
  for (int f = 0; f < report->family_count; f++) {
    int count = collect(tuner, report->families[f].name, expected, measured);
    report->families[f].correlation = dq_rank_correlation(expected, measured, count);
  }
  report->has_part_loss = tuner->options->exhaustive && report->tried == report->candidates && !report->known;
  return report->has_part_loss ? find_loss(tuner, report, error) : DQ_OK;
}
