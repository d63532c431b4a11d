#include "quant/mix/mix_form.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/measure/bench.h"
#include "lib/measure/feed.h"

// ---- Making ----

dq_status dq_mix_make(dq_mix_maker *maker, const dq_precision_map *map, dq_graph **made, dq_int8_report *report,
                      dq_error *error) {
  dq_int8_options options = *maker->int8;
  dq_int8_report own;
  if (!report) report = &own;
  options.precision = map;
  if (!(*made = dq_graph_copy(maker->graph))) return dq_fail_memory(error, 0);
  dq_status status = dq_int8_apply_from(*made, maker->data, &options, &maker->whole, report, maker->context, error);
  if (status == DQ_OK) status = dq_calibration_table_add(&maker->whole.table, &report->table, maker->arena, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*made);
  *made = NULL;
  return status;
}

dq_status dq_mix_form_open(dq_mix_form *form, dq_mix_maker *maker, const dq_precision_map *map,
                           const dq_shape_request *shapes, dq_error *error) {
  const dq_session_options options = {.shapes = *shapes};
  DQ_TRY(dq_mix_make(maker, map, &form->graph, NULL, error));
  return dq_session_open(&form->session, form->graph, &options, maker->context, error);
}

void dq_mix_form_close(dq_mix_form *form) {
  dq_session_close(&form->session);
  dq_graph_free(form->graph);
  form->graph = NULL;
}

// ---- Running ----

typedef struct turns {
  dq_mix_form *forms;
  int count;
  const dq_mix_rounds *rounds;
  dq_tensor ***inputs; // by form
  double **steps;      // by form: [round * steps + step]
  int64_t (*clock)(void);
  double reading; // seconds that reading the clock takes, which every measured step has in it
  const dq_context *context;
  dq_arena *arena; // of the results
  dq_arena *own;
  dq_error *error;
} turns;

// The median of what two readings in a row differ by.
static double reading_time(int64_t (*clock)(void)) {
  enum { PAIRS = 101 };
  double times[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    int64_t start = clock();
    times[i] = (double)(clock() - start) * 1e-9;
  }
  dq_sort_ascending(times, PAIRS);
  return dq_quantile(times, PAIRS, 0.5);
}

static dq_status open_turns(turns *t) {
  t->inputs = DQ_NEW_ARRAY(t->own, t->count, dq_tensor **);
  t->steps = DQ_NEW_ARRAY(t->own, t->count, double *);
  if (!t->inputs || !t->steps) return dq_fail_memory(t->error, 0);
  t->clock = dq_pool_threads(t->context->pool) > 1 ? dq_nanoseconds : dq_thread_nanoseconds;
  t->reading = reading_time(t->clock);
  for (int f = 0; f < t->count; f++) {
    dq_plan *plan = t->forms[f].session.plan;
    int count = dq_plan_step_count(plan);
    t->forms[f].runs = DQ_NEW_ARRAY(t->arena, t->rounds->rounds, double);
    t->forms[f].steps = DQ_NEW_ARRAY(t->arena, count, double);
    t->steps[f] = DQ_NEW_ARRAY(t->own, t->rounds->step_rounds * count, double);
    if (!t->forms[f].runs || !t->forms[f].steps || !t->steps[f]) return dq_fail_memory(t->error, 0);
    dq_plan_set_clock(plan, t->clock);
    DQ_TRY(dq_feed_make(&t->inputs[f], plan, t->context, t->own, t->error));
  }
  return DQ_OK;
}

// Times a run behind one that does not count, so that caches hold what they do when the form runs alone, not what other
// forms left.
static dq_status run_form(turns *t, int f, bool timing, double *seconds) {
  dq_plan *plan = t->forms[f].session.plan;
  dq_plan_set_timing(plan, timing);
  dq_feed(plan, t->inputs[f]);
  DQ_TRY(dq_plan_run(plan, t->error));
  dq_feed(plan, t->inputs[f]);
  int64_t start = t->clock();
  DQ_TRY(dq_plan_run(plan, t->error));
  *seconds = (double)(t->clock() - start) * 1e-9;
  return DQ_OK;
}

static dq_status run_whole(turns *t) {
  for (int64_t round = 0; round < t->rounds->rounds; round++)
    for (int turn = 0; turn < t->count; turn++) {
      int f = (int)((turn + round) % t->count);
      DQ_TRY(run_form(t, f, false, &t->forms[f].runs[round]));
    }
  return DQ_OK;
}

static dq_status run_steps(turns *t) {
  for (int64_t round = 0; round < t->rounds->step_rounds; round++)
    for (int turn = 0; turn < t->count; turn++) {
      int f = (int)((turn + round) % t->count);
      dq_plan *plan = t->forms[f].session.plan;
      int count = dq_plan_step_count(plan);
      double whole;
      DQ_TRY(run_form(t, f, true, &whole));
      for (int s = 0; s < count; s++) {
        int64_t nanoseconds;
        dq_plan_step(plan, s, &nanoseconds);
        t->steps[f][round * count + s] = (double)nanoseconds * 1e-9;
      }
    }
  return DQ_OK;
}

void dq_mix_fit_steps(double *steps, int count, double seconds) {
  double sum = 0;
  for (int s = 0; s < count; s++) sum += steps[s];
  for (int s = 0; s < count && sum > 0; s++) steps[s] *= seconds / sum;
}

static dq_status take_medians(turns *t) {
  int64_t rounds = t->rounds->rounds, step_rounds = t->rounds->step_rounds;
  double sorted[(rounds > step_rounds ? rounds : step_rounds) + 1];
  for (int f = 0; f < t->count; f++) {
    int count = dq_plan_step_count(t->forms[f].session.plan);
    memcpy(sorted, t->forms[f].runs, (size_t)rounds * sizeof *sorted);
    dq_sort_ascending(sorted, rounds);
    if (rounds) t->forms[f].seconds = dq_quantile(sorted, rounds, 0.5);
    for (int s = 0; step_rounds && s < count; s++) {
      for (int64_t round = 0; round < step_rounds; round++) sorted[round] = t->steps[f][round * count + s];
      dq_sort_ascending(sorted, step_rounds);
      t->forms[f].steps[s] = fmax(0, dq_quantile(sorted, step_rounds, 0.5) - t->reading);
    }
    if (rounds) dq_mix_fit_steps(t->forms[f].steps, count, t->forms[f].seconds);
  }
  return DQ_OK;
}

dq_status dq_mix_form_run(dq_mix_form *forms, int count, const dq_mix_rounds *rounds, const dq_context *context,
                          dq_arena *arena, dq_error *error) {
  turns t = {.forms = forms, .count = count, .rounds = rounds, .context = context, .arena = arena, .error = error};
  if (!(t.own = dq_arena_beside(arena))) return dq_fail_memory(error, 0);
  dq_status status = open_turns(&t);
  if (status == DQ_OK) status = run_whole(&t);
  if (status == DQ_OK) status = run_steps(&t);
  if (status == DQ_OK) status = take_medians(&t);
  dq_arena_free(t.own);
  return status;
}
