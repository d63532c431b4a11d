// Plans, tasks and runs of a tuner.
#include <string.h>

#include "lib/base/clock.h"
#include "lib/kernels/conv/conv.h"
#include "lib/measure/feed.h"
#include "lib/tune/tune_internal.h"

enum { PURPOSE = 4 }; // of random numbers

static dq_status bind(dq_tuner *tuner, dq_plan **plan, dq_error *error) {
  const dq_binding binding = {
      .convolutions = &tuner->setting, .convolution_count = 1, .choices = tuner->choices, .places = &tuner->places};
  DQ_TRY(dq_plan_bind(plan, tuner->session.schedule, &binding, tuner->context, error));
  dq_plan_set_timing(*plan, true);
  dq_plan_set_clock(*plan, tuner->clock);
  return DQ_OK;
}

dq_status dq_tuner_bind(dq_tuner *tuner, bool of_best, dq_plan **plan, dq_error *error) {
  for (int s = 0; s < tuner->step_count; s++) {
    const dq_tune_task *task = tuner->task_of[s] < 0 ? NULL : &tuner->tasks[tuner->task_of[s]];
    tuner->choices[s] = !task ? (dq_step_choice){{0}} : of_best ? task->best : task->trial;
  }
  return bind(tuner, plan, error);
}

dq_status dq_tuner_renew(dq_tuner *tuner, dq_error *error) {
  dq_plan *plan;
  memset(tuner->choices, 0, (size_t)tuner->step_count * sizeof *tuner->choices);
  DQ_TRY(bind(tuner, &plan, error));
  dq_plan_free(tuner->usual);
  tuner->usual = plan;
  return DQ_OK;
}

dq_status dq_tuner_run(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error) {
  dq_feed(plan, tuner->inputs);
  tuner->runs++;
  int64_t start = tuner->clock();
  DQ_TRY(dq_plan_run(plan, error));
  *seconds = (double)(tuner->clock() - start) * 1e-9;
  if (!times) return DQ_OK;
  memset(times, 0, (size_t)tuner->task_count * sizeof *times);
  for (int s = 0; s < tuner->step_count; s++) {
    int64_t nanoseconds;
    dq_plan_step(plan, s, &nanoseconds);
    if (tuner->task_of[s] >= 0) times[tuner->task_of[s]] += (double)nanoseconds * 1e-9;
  }
  return DQ_OK;
}

dq_status dq_tuner_run_again(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error) {
  DQ_TRY(dq_tuner_run(tuner, plan, seconds, NULL, error));
  return dq_tuner_run(tuner, plan, seconds, times, error);
}

// The first runs of a plan touch memory that was never used.
dq_status dq_tuner_warm(dq_tuner *tuner, dq_plan *plan, dq_error *error) {
  enum { RUNS = 3 };
  double whole;
  for (int run = 0; run < RUNS; run++) {
    DQ_TRY(dq_tuner_run(tuner, tuner->usual, &whole, NULL, error));
    DQ_TRY(dq_tuner_run(tuner, plan, &whole, NULL, error));
  }
  return DQ_OK;
}

// ---- Rounds ----

void dq_tuner_begin_round(dq_tuner *tuner) { dq_waits_begin(&tuner->waits); }

dq_status dq_tuner_end_round(dq_tuner *tuner, bool *disturbed, dq_error *error) {
  *disturbed = dq_tune_is_disturbed(dq_waits_end(&tuner->waits));
  tuner->rounds.all++;
  tuner->rounds.disturbed += *disturbed;
  tuner->rounds.patience = dq_tune_patience(tuner->rounds.patience, *disturbed);
  return tuner->rounds.patience ? DQ_OK : dq_tune_fail_disturbed(&tuner->rounds, error);
}

// Runs both plans; times[side][t], side 1 being `plan`.
static dq_status run_both(dq_tuner *tuner, dq_plan *plan, double *const *times, bool *disturbed, dq_error *error) {
  double whole;
  dq_tuner_begin_round(tuner);
  for (int turn = 0; turn < 2; turn++) {
    int side = (int)(tuner->duels + turn) % 2;
    DQ_TRY(dq_tuner_run_again(tuner, side ? plan : tuner->usual, &whole, times[side], error));
  }
  tuner->duels++;
  return dq_tuner_end_round(tuner, disturbed, error);
}

dq_status dq_tuner_duel(dq_tuner *tuner, dq_plan *plan, dq_error *error) {
  double times[2][tuner->task_count + 1];
  double *const sides[] = {times[0], times[1]};
  bool disturbed = true;
  while (disturbed) DQ_TRY(run_both(tuner, plan, sides, &disturbed, error));
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    task->usual[task->rounds] = times[0][t] / task->shape.steps;
    task->timed[task->rounds++] = times[1][t] / task->shape.steps;
  }
  return DQ_OK;
}

dq_status dq_tuner_add(dq_tuner *tuner, const dq_record *record, dq_error *error) {
  bool stored;
  DQ_TRY(dq_wisdom_add(tuner->wisdom, record, &stored, error));
  tuner->rounds.written++;
  tuner->kept = tuner->kept && stored;
  return DQ_OK;
}

// ---- Tasks ----

dq_tune_task *dq_tuner_find(const dq_tuner *tuner, const char *run) {
  for (int t = 0; t < tuner->task_count; t++)
    if (!strcmp(tuner->tasks[t].shape.run, run)) return &tuner->tasks[t];
  return NULL;
}

static dq_status add_task(dq_tuner *tuner, int step, const char *run, dq_error *error) {
  const dq_node *node = dq_plan_step(tuner->usual, step, NULL);
  dq_tune_task *task = &tuner->tasks[tuner->task_count++];
  *task = (dq_tune_task){.first = step, .running = -1, .ratio = {1, 1, 1, 0}};
  task->shape = (dq_tune_shape){.run = dq_arena_strdup(tuner->arena, run),
                                .name = dq_arena_strdup(tuner->arena, dq_node_name(node)),
                                .op_type = dq_arena_strdup(tuner->arena, node->op_type),
                                .algorithm = dq_plan_step_algorithm(tuner->usual, step)};
  task->usual = DQ_NEW_ARRAY(tuner->arena, DQ_TUNE_FINAL_ROUNDS, double);
  task->timed = DQ_NEW_ARRAY(tuner->arena, DQ_TUNE_FINAL_ROUNDS, double);
  return dq_arena_exhausted(tuner->arena) ? dq_fail_memory(error, sizeof *task) : DQ_OK;
}

static dq_status list_tasks(dq_tuner *tuner, dq_error *error) {
  char run[DQ_RUN_TEXT];
  for (int s = 0; s < tuner->step_count; s++) {
    tuner->task_of[s] = -1;
    if (!dq_plan_step_knobs(tuner->usual, s) || !dq_plan_step_run(tuner->usual, s, run)) continue;
    dq_tune_task *task = dq_tuner_find(tuner, run);
    if (!task) {
      DQ_TRY(add_task(tuner, s, run, error));
      task = &tuner->tasks[tuner->task_count - 1];
    }
    task->shape.steps++;
    tuner->task_of[s] = (int)(task - tuner->tasks);
  }
  return DQ_OK;
}

// Threads that have to share processors always wait for one, in every later run as well.
static dq_status open_waits(dq_tuner *tuner, dq_error *error) {
  DQ_TRY(dq_waits_open(&tuner->waits, tuner->context->pool, tuner->arena, error));
  tuner->rounds.are_watched = tuner->waits.known;
  if (!tuner->waits.known)
    dq_message(tuner->context, DQ_WARNING,
               "/proc/thread-self/schedstat cannot be read: whether other programs have the processors is not known");
  return DQ_OK;
}

dq_status dq_tuner_open(dq_tuner *tuner, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                        const dq_context *context, dq_arena *arena, dq_error *error) {
  const dq_session_options session = {.shapes = options->shapes};
  *tuner = (dq_tuner){.options = options, .context = context, .arena = arena, .wisdom = wisdom, .kept = true};
  const int threads = dq_pool_threads(context->pool);
  tuner->clock = threads > 1 ? dq_nanoseconds : dq_thread_nanoseconds;
  tuner->rounds.patience = DQ_TUNE_PATIENCE;
  tuner->places = dq_random_start(context->seed, PURPOSE);
  if (threads > 1 && threads <= dq_processors()) DQ_TRY(open_waits(tuner, error));
  tuner->setting.algorithm = options->any_sums ? DQ_CONV_AUTO : DQ_CONV_SAME_BITS;
  DQ_TRY(dq_session_schedule(&tuner->session, graph, &session, context, error));
  tuner->step_count = dq_schedule_step_count(tuner->session.schedule);
  tuner->task_of = DQ_NEW_ARRAY(arena, tuner->step_count, int);
  tuner->choices = DQ_NEW_ARRAY(arena, tuner->step_count, dq_step_choice);
  tuner->tasks = DQ_NEW_ARRAY(arena, tuner->step_count, dq_tune_task);
  if (!tuner->task_of || !tuner->choices || !tuner->tasks) return dq_fail_memory(error, 0);
  DQ_TRY(bind(tuner, &tuner->usual, error));
  DQ_TRY(dq_feed_make(&tuner->inputs, tuner->usual, context, arena, error));
  return list_tasks(tuner, error);
}

void dq_tuner_close(dq_tuner *tuner) {
  dq_waits_close(&tuner->waits);
  dq_plan_free(tuner->usual);
  dq_session_close(&tuner->session);
}
