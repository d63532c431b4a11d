// The course of tuning: what is known, whether times can be told apart, trials, finals, the network as a whole.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/clock.h"
#include "lib/tune/tune_internal.h"

enum { CONTROL_ROUNDS = 24, CONTROL_MOST = 5 * CONTROL_ROUNDS, WHOLE_LEAST = 24, WHOLE_MOST = 200 };
// Shares of the time limit: until when all candidates are measured, until when trials go on, and how much the network
// as a whole may take.
static const double SHORT_PART = 0.1, SEARCH_PART = 0.65, WHOLE_PART = 0.2;
// Seconds that the first runs may take whatever the time limit is.
static const double CONTROL_SECONDS = 1;

// ---- What is known ----

// Takes the record of the wisdom that counts, if there is one.
static bool take_record(const dq_tuner *tuner, dq_tune_task *task) {
  const dq_record *record = dq_wisdom_find(tuner->wisdom, task->shape.run);
  if (!record) return false;
  task->shape.has_record = true;
  task->shape.record = *record;
  task->shape.record.run = task->shape.run; // the wisdom may move its own
  task->best = record->withdrawn ? (dq_step_choice){{0}} : record->choice;
  return true;
}

static void look_up(dq_tuner *tuner, dq_tune_report *report) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_shape *shape = &tuner->tasks[t].shape;
    shape->was_known = take_record(tuner, &tuner->tasks[t]);
    report->known += shape->was_known;
  }
}

// Lets shapes with a candidate that was never measured count as not known, for options->exhaustive.
static void reopen(dq_tuner *tuner, dq_tune_report *report) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (!task->shape.has_record || task->tried == task->candidate_count) continue;
    task->shape.has_record = task->shape.was_known = false;
    task->best = (dq_step_choice){{0}};
    for (int c = 0; c < task->candidate_count; c++) dq_tune_adopt(task, &task->candidates[c]);
    report->known--;
  }
}

// The text of the network with the choices of its tasks: they are judged together.
static const char *network_run(const dq_tuner *tuner, dq_arena *arena) {
  XXH64_hash_t hash = (XXH64_hash_t)tuner->step_count;
  char choice[DQ_CHOICE_TEXT];
  for (int s = 0; s < tuner->step_count; s++) {
    if (tuner->task_of[s] < 0) continue;
    const dq_tune_task *task = &tuner->tasks[tuner->task_of[s]];
    const char *text = dq_choice_text(&task->best, choice);
    hash = XXH64(task->shape.run, strlen(task->shape.run), hash);
    hash = XXH64(text, strlen(text), hash);
  }
  return dq_arena_printf(arena, "Network/%s/%016llx", tuner->options->any_sums ? "any" : "direct",
                         (unsigned long long)hash);
}

static bool all_known(const dq_tuner *tuner) {
  for (int t = 0; t < tuner->task_count; t++)
    if (!tuner->tasks[t].shape.has_record) return false;
  return true;
}

static int count_choices(const dq_tuner *tuner) {
  int count = 0;
  for (int t = 0; t < tuner->task_count; t++) count += !dq_choice_is_usual(&tuner->tasks[t].best);
  return count;
}

// ---- Whole runs ----

// DQ_CONDITION: runs take more than `most` seconds, so that a call would end behind them, as would the next one.
static dq_status check_time(const dq_tuner *tuner, int64_t runs, double seconds, double most, dq_error *error) {
  if (seconds <= most) return DQ_OK;
  dq_fail(error, DQ_CONDITION,
          "%lld runs of the network, which tell how far times can be trusted, take %.1f s, more than the time limit of "
          "%g s; nothing was written",
          (long long)runs, seconds, tuner->options->time_limit);
  dq_error_hint(error, "--time-limit %.0fs leaves time for trials", ceil(seconds / (1 - SEARCH_PART)));
  return DQ_CONDITION;
}

// Runs plans in turns and stores their times, times[p][round], where they take no more than `most` seconds.
static dq_status run_turns(dq_tuner *tuner, dq_plan *const *plans, int count, double *const *times, int64_t rounds,
                           double most, dq_error *error) {
  double once = INFINITY;
  for (int p = 0; p < count; p++) {
    double warm;
    DQ_TRY(dq_tuner_run(tuner, plans[p], &warm, NULL, error));
    once = fmin(once, warm);
  }
  DQ_TRY(check_time(tuner, 2 * count * rounds, (double)(2 * count * rounds) * once, most, error));
  for (int64_t round = 0, tries = 0; round < rounds; tries++) {
    bool disturbed;
    dq_tuner_begin_round(tuner);
    for (int p = 0; p < count; p++) {
      int turn = (int)((p + tries) % count);
      DQ_TRY(dq_tuner_run_again(tuner, plans[turn], &times[turn][round], NULL, error));
    }
    DQ_TRY(dq_tuner_end_round(tuner, &disturbed, error));
    round += !disturbed;
  }
  return DQ_OK;
}

// The usual plan and its like, until the interval is narrow enough or there were enough rounds.
static dq_status compare_equals(dq_tuner *tuner, dq_plan *again, dq_tune_report *report, dq_error *error) {
  double usual[CONTROL_MOST], equal[CONTROL_MOST];
  dq_plan *const plans[] = {tuner->usual, again};
  double most = fmax(tuner->options->time_limit, CONTROL_SECONDS);
  report->noisy = true;
  for (int64_t rounds = 0; report->noisy && rounds < CONTROL_MOST;) {
    double *const times[] = {usual + rounds, equal + rounds};
    DQ_TRY(run_turns(tuner, plans, 2, times, CONTROL_ROUNDS, most, error));
    rounds += CONTROL_ROUNDS;
    DQ_TRY(dq_time_ratio_of(&report->control, equal, usual, rounds, error));
    report->has_control = true;
    report->noisy = dq_tune_too_noisy(&report->control);
  }
  return DQ_OK;
}

// Shares of the usual time and times of steps, of the faster of two runs.
static dq_status measure_shares(dq_tuner *tuner, dq_error *error) {
  double whole[2], times[2][tuner->task_count + 1];
  for (int i = 0; i < 2; i++) DQ_TRY(dq_tuner_run(tuner, tuner->usual, &whole[i], times[i], error));
  for (int t = 0; t < tuner->task_count; t++) {
    double seconds = fmin(times[0][t], times[1][t]);
    tuner->tasks[t].shape.share = fmin(1, seconds / fmin(whole[0], whole[1]));
    tuner->tasks[t].seconds = fmax(seconds, 1e-9) / tuner->tasks[t].shape.steps;
  }
  return DQ_OK;
}

// Two equal plans: whether times can be told apart.
static dq_status run_control(dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  dq_plan *again;
  for (int t = 0; t < tuner->task_count; t++) tuner->tasks[t].trial = (dq_step_choice){{0}};
  DQ_TRY(dq_tuner_bind(tuner, false, &again, error));
  dq_status status = compare_equals(tuner, again, report, error);
  dq_plan_free(again);
  return status == DQ_OK ? measure_shares(tuner, error) : status;
}

static int64_t whole_rounds(const dq_tuner *tuner, double once) {
  double rounds = WHOLE_PART * tuner->options->time_limit / (4 * once);
  return rounds < WHOLE_LEAST ? WHOLE_LEAST : rounds > WHOLE_MOST ? WHOLE_MOST : (int64_t)rounds;
}

static dq_status judge(dq_record *record, const double *usual, const double *tuned, int64_t rounds, dq_error *error) {
  dq_time_ratio ratio;
  DQ_TRY(dq_time_ratio_of(&ratio, tuned, usual, rounds, error));
  DQ_TRY(dq_tune_quantiles(&record->before, usual, rounds, error));
  DQ_TRY(dq_tune_quantiles(&record->after, tuned, rounds, error));
  record->ratio = ratio.median, record->low = ratio.low, record->high = ratio.high, record->runs = rounds;
  record->withdrawn = ratio.high >= 1;
  return DQ_OK;
}

// The network with all choices against the usual ones.
static dq_status run_whole(dq_tuner *tuner, dq_plan *tuned, dq_record *record, dq_error *error) {
  double once;
  DQ_TRY(dq_tuner_run(tuner, tuner->usual, &once, NULL, error));
  int64_t rounds = whole_rounds(tuner, once);
  double times[2][WHOLE_MOST];
  double *const rows[] = {times[0], times[1]};
  DQ_TRY(run_turns(tuner, (dq_plan *const[]){tuner->usual, tuned}, 2, rows, rounds, INFINITY, error));
  return judge(record, times[0], times[1], rounds, error);
}

// ---- The course ----

static dq_status withdraw(dq_tuner *tuner, dq_error *error) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (dq_choice_is_usual(&task->best)) continue;
    task->shape.record.withdrawn = true;
    DQ_TRY(dq_tuner_add(tuner, &task->shape.record, error));
  }
  return DQ_OK;
}

// Measures the network with its choices as report->network where it has choices, unless the wisdom knows that, or
// report->network is that already.
static dq_status measure_network(dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  const char *run = network_run(tuner, tuner->arena);
  const dq_record *known = run ? dq_wisdom_find(tuner->wisdom, run) : NULL;
  dq_plan *tuned;
  if (!run) return dq_fail_memory(error, 0);
  if (report->network.run && !strcmp(report->network.run, run)) return DQ_OK;
  DQ_TRY(dq_tuner_bind(tuner, true, &tuned, error));
  for (int t = 0; t < tuner->task_count; t++)
    tuner->tasks[t].shape.algorithm = dq_plan_step_algorithm(tuned, tuner->tasks[t].first);
  report->network = known ? *known : (dq_record){.run = run};
  report->network.run = run;
  report->has_network = known || count_choices(tuner);
  tuner->network_is_new = !known && report->has_network;
  dq_status status = tuner->network_is_new ? run_whole(tuner, tuned, &report->network, error) : DQ_OK;
  report->has_network &= status == DQ_OK;
  dq_plan_free(tuned);
  return status;
}

// Adds what measure_network measured.
static dq_status settle(dq_tuner *tuner, const dq_tune_report *report, dq_error *error) {
  if (!tuner->network_is_new) return DQ_OK;
  if (report->network.withdrawn) DQ_TRY(withdraw(tuner, error));
  return dq_tuner_add(tuner, &report->network, error);
}

static dq_status keep_new(dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  for (int t = 0; t < tuner->task_count; t++) {
    const dq_tune_shape *shape = &tuner->tasks[t].shape;
    if (!shape->has_record || shape->was_known) continue;
    report->measured++;
    DQ_TRY(dq_tuner_add(tuner, &shape->record, error));
  }
  // A shape that was opened again may have an earlier record that counts more, or that is all there is.
  for (int t = 0; t < tuner->task_count; t++) take_record(tuner, &tuner->tasks[t]);
  return DQ_OK;
}

static dq_status course(dq_tuner *tuner, dq_tune_report *report, dq_error *error) {
  look_up(tuner, report);
  if (tuner->options->exhaustive || !all_known(tuner)) DQ_TRY(dq_tune_list(tuner, error));
  if (tuner->options->exhaustive) reopen(tuner, report);
  if (!all_known(tuner)) {
    tuner->search_end = dq_seconds() + SEARCH_PART * tuner->options->time_limit;
    tuner->short_end = dq_seconds() + SHORT_PART * tuner->options->time_limit;
    DQ_TRY(run_control(tuner, report, error));
    if (report->noisy) return DQ_OK;
    DQ_TRY(dq_tune_check_threads(tuner, error));
    DQ_TRY(dq_tune_search(tuner, &report->out_of_time, error));
    DQ_TRY(dq_tune_finals(tuner, report->out_of_time, error));
    DQ_TRY(measure_network(tuner, report, error)); // first: a choice is not used before the network was measured
    DQ_TRY(keep_new(tuner, report, error));
    DQ_TRY(dq_tune_count(tuner, report, error));
  }
  DQ_TRY(measure_network(tuner, report, error));
  return settle(tuner, report, error);
}

static int larger_first(const void *a, const void *b) {
  const dq_tune_shape *left = a, *right = b;
  return (left->share < right->share) - (left->share > right->share);
}

// Shares and gains from the records, where there are some.
static void give_shapes(const dq_tuner *tuner, dq_tune_report *report) {
  report->shape_count = tuner->task_count;
  report->steps = tuner->step_count;
  report->runs = tuner->runs;
  report->rounds = tuner->rounds;
  report->kept = tuner->kept;
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_shape *shape = &report->shapes[t];
    const dq_record *record = &shape->record;
    *shape = tuner->tasks[t].shape;
    shape->has_record &= shape->was_known || !report->noisy;
    double whole = report->has_network ? report->network.before.median : 0;
    if (shape->has_record && whole > 0) shape->share = fmin(1, record->before.median * shape->steps / whole);
    shape->used = shape->has_record && !record->withdrawn && !dq_choice_is_usual(&record->choice);
    report->chosen += shape->used;
    if (shape->used) shape->gain = (record->before.median - record->after.median) * shape->steps;
  }
  if (report->shape_count) qsort(report->shapes, (size_t)report->shape_count, sizeof *report->shapes, larger_first);
}

dq_status dq_tune(dq_tune_report *report, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                  const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_tuner tuner;
  *report = (dq_tune_report){0};
  dq_status status = dq_tuner_open(&tuner, graph, options, wisdom, context, arena, error);
  if (status == DQ_OK) status = course(&tuner, report, error);
  if (status == DQ_CONDITION && !tuner.rounds.patience) {
    report->noisy = true;
    status = DQ_OK;
  }
  if (status == DQ_OK && !(report->shapes = DQ_NEW_ARRAY(arena, tuner.task_count, dq_tune_shape)))
    status = dq_fail_memory(error, sizeof *report->shapes);
  if (status == DQ_OK) give_shapes(&tuner, report);
  dq_tuner_close(&tuner);
  return status;
}
