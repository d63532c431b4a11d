#include "quant/search/layer_error_runs.h"

#include <stdlib.h>
#include <string.h>

// ---- Steps ----

static void find_steps(dq_layer_error_runs *runs) {
  for (int r = 0; r < runs->row_count; r++) {
    const dq_layer_error_row *row = &runs->rows[r];
    runs->results[r] = row->result ? dq_plan_step_of(runs->exact.session.plan, row->result) : -1;
    runs->products[r] = row->product ? dq_plan_step_of(runs->exact.session.plan, row->product) : -1;
    if (runs->products[r] < 0) runs->products[r] = runs->results[r]; // fused with what follows it
  }
}

static int compare_variants(const void *a, const void *b) {
  const dq_layer_error_variant *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return (int)x->kind - (int)y->kind;
}

static void add_variant(dq_layer_error_runs *runs, int row, dq_layer_error_kind kind) {
  int start = kind == DQ_LAYER_ERROR_RESULT ? runs->results[row] : runs->products[row];
  runs->variants[runs->variant_count++] = (dq_layer_error_variant){row, start, kind};
}

// Rows with their result's step, to be sorted.
static void order_results(dq_layer_error_runs *runs, dq_layer_error_variant *by_start) {
  for (int r = 0; r < runs->row_count; r++)
    by_start[r] = (dq_layer_error_variant){r, runs->results[r], DQ_LAYER_ERROR_ALL};
  qsort(by_start, (size_t)runs->row_count, sizeof *by_start, compare_variants);
  for (int r = 0; r < runs->row_count; r++) runs->by_result[r] = by_start[r].row;
}

static void list_variants(dq_layer_error_runs *runs, bool both) {
  order_results(runs, runs->variants);
  for (int r = 0; r < runs->row_count; r++) {
    if (runs->rows[r].product) add_variant(runs, r, DQ_LAYER_ERROR_WEIGHTS);
    if (runs->rows[r].result) add_variant(runs, r, DQ_LAYER_ERROR_RESULT);
    if (both && runs->rows[r].product && runs->rows[r].result) add_variant(runs, r, DQ_LAYER_ERROR_BOTH);
  }
  qsort(runs->variants, (size_t)runs->variant_count, sizeof *runs->variants, compare_variants);
}

// ---- Opening ----

static dq_status open_sessions(dq_layer_error_runs *runs, const dq_layer_error_input *input, dq_arena *arena,
                               const dq_context *context, dq_error *error) {
  const char **taps = DQ_NEW_ARRAY(arena, runs->row_count + 1, const char *);
  dq_runner_options options = {.session = {.shapes = *input->shapes, .taps = taps}};
  if (!taps) return dq_fail_memory(error, 0);
  for (int r = 0; r < runs->row_count; r++)
    if (runs->rows[r].result) taps[options.session.tap_count++] = runs->rows[r].result;
  DQ_TRY(dq_runner_open(&runs->exact, input->exact, input->data, &options, context, error));
  DQ_TRY(dq_session_open(&runs->rounded, input->rounded, &options.session, context, error));
  size_t bytes = dq_plan_state_bytes(runs->exact.session.plan);
  if (bytes != dq_plan_state_bytes(runs->rounded.plan) ||
      dq_plan_step_count(runs->exact.session.plan) != dq_plan_step_count(runs->rounded.plan))
    return dq_fail(error, DQ_UNSUPPORTED,
                   "the steps of the network with rounded weights differ from those of the float network");
  runs->before = dq_context_alloc(context, bytes + 1);
  runs->between = dq_context_alloc(context, bytes + 1);
  return runs->before && runs->between ? DQ_OK : dq_fail_memory(error, bytes);
}

dq_status dq_layer_error_runs_open(dq_layer_error_runs *runs, const dq_layer_error_input *input, dq_arena *arena,
                                   const dq_context *context, dq_error *error) {
  int count = input->count;
  *runs = (dq_layer_error_runs){.rows = input->rows, .row_count = count, .share = input->share};
  runs->cpu = context ? context->cpu : 0;
  runs->products = DQ_NEW_ARRAY(arena, count + 1, int);
  runs->results = DQ_NEW_ARRAY(arena, count + 1, int);
  runs->by_result = DQ_NEW_ARRAY(arena, count + 1, int);
  runs->variants = DQ_NEW_ARRAY(arena, 3 * count + 1, dq_layer_error_variant);
  if (!runs->products || !runs->results || !runs->by_result || !runs->variants) return dq_fail_memory(error, 0);
  DQ_TRY(open_sessions(runs, input, arena, context, error));
  find_steps(runs);
  list_variants(runs, input->both);
  return DQ_OK;
}

void dq_layer_error_runs_close(dq_layer_error_runs *runs) {
  dq_runner_close(&runs->exact);
  dq_session_close(&runs->rounded);
  dq_budget_free(runs->before);
  dq_budget_free(runs->between);
  *runs = (dq_layer_error_runs){0};
}

// ---- Walking ----

// What QuantizeLinear and DequantizeLinear make of a value, in its place.
static void round_value(const dq_layer_error_runs *runs, dq_plan *plan, const dq_layer_error_row *row) {
  const dq_tensor *tensor = dq_plan_value(plan, row->result);
  dq_round_numbers(&row->parameters, runs->cpu, tensor->data, tensor->data, dq_tensor_count(tensor));
}

static dq_status run_on(dq_plan *plan, int from, dq_error *error) {
  return dq_plan_run_steps(plan, from, dq_plan_step_count(plan), error);
}

// Brings `before` in front of a step.
static dq_status advance(dq_layer_error_runs *runs, int step, dq_error *error) {
  if (step <= runs->at) return DQ_OK;
  dq_plan_restore(runs->exact.session.plan, runs->before);
  DQ_TRY(dq_plan_run_steps(runs->exact.session.plan, runs->at, step, error));
  dq_plan_save(runs->exact.session.plan, runs->before);
  runs->at = step;
  return DQ_OK;
}

static dq_status run_variant(dq_layer_error_runs *runs, const dq_layer_error_variant *variant, dq_error *error) {
  dq_plan *plan = runs->exact.session.plan, *rounded = runs->rounded.plan;
  int row = variant->row, next = variant->start < 0 ? 0 : variant->start, result = runs->results[row];
  DQ_TRY(advance(runs, next, error));
  if (variant->kind == DQ_LAYER_ERROR_RESULT) {
    dq_plan_restore(plan, runs->before);
  } else {
    dq_plan_restore(rounded, runs->before);
    DQ_TRY(dq_plan_run_steps(rounded, next, next + 1, error));
    dq_plan_save(rounded, runs->between);
    dq_plan_restore(plan, runs->between);
    next++;
  }
  if (variant->kind != DQ_LAYER_ERROR_WEIGHTS) {
    if (result >= next) DQ_TRY(dq_plan_run_steps(plan, next, result + 1, error));
    if (result >= next) next = result + 1;
    round_value(runs, plan, &runs->rows[row]);
  }
  return run_on(plan, next, error);
}

static dq_status report(dq_layer_error_runs *runs, int row, dq_layer_error_kind kind, const dq_plan *plan,
                        double *noise, dq_error *error) {
  *noise = 0;
  return runs->on_outputs(runs->user, row, kind, plan, noise, error);
}

// Runs the steps `from` to `to` - 1 of the plan, which stands in front of `from`, with the rows of these steps in 8
// bits. Values that no step computes belong to step 0.
static dq_status run_rounded(dq_layer_error_runs *runs, int from, int to, dq_error *error) {
  dq_plan *plan = runs->rounded.plan;
  int next = from;
  for (int i = 0; i < runs->row_count; i++) {
    int row = runs->by_result[i], result = runs->results[row];
    if (!runs->rows[row].result || (result < from && from) || result >= to) continue;
    if (result >= next) DQ_TRY(dq_plan_run_steps(plan, next, result + 1, error));
    if (result >= next) next = result + 1;
    round_value(runs, plan, &runs->rows[row]);
  }
  return dq_plan_run_steps(plan, next, to, error);
}

static dq_status run_all(dq_layer_error_runs *runs, double *noise, dq_error *error) {
  dq_plan *plan = runs->rounded.plan;
  DQ_TRY(run_rounded(runs, 0, dq_plan_step_count(plan), error));
  return report(runs, -1, DQ_LAYER_ERROR_ALL, plan, noise, error);
}

static dq_status run_segment(dq_layer_error_runs *runs, int from, int to, double *noise, dq_error *error) {
  dq_plan *plan = runs->exact.session.plan, *rounded = runs->rounded.plan;
  DQ_TRY(advance(runs, from, error));
  dq_plan_restore(rounded, runs->before);
  DQ_TRY(run_rounded(runs, from, to, error));
  dq_plan_save(rounded, runs->between);
  dq_plan_restore(plan, runs->between);
  DQ_TRY(run_on(plan, to, error));
  return report(runs, -1, DQ_LAYER_ERROR_SEGMENT, plan, noise, error);
}

// The variants that begin in the steps `from` to `to` - 1.
static dq_status run_variants(dq_layer_error_runs *runs, int from, int to, dq_error *error) {
  double noise;
  for (int v = 0; v < runs->variant_count; v++) {
    const dq_layer_error_variant *variant = &runs->variants[v];
    if ((variant->start < from && from) || variant->start >= to) continue;
    DQ_TRY(run_variant(runs, variant, error));
    DQ_TRY(report(runs, variant->row, variant->kind, runs->exact.session.plan, &noise, error));
  }
  return DQ_OK;
}

// Halves a segment, which makes `noise`, until its parts make less than `least` or are one step, whose variants run.
static dq_status halve(dq_layer_error_runs *runs, int from, int to, double noise, double least, dq_error *error) {
  if (noise < least || noise == 0) return DQ_OK;
  if (to - from < 2) return run_variants(runs, from, to, error);
  for (int half = 0, middle = from + (to - from) / 2; half < 2; half++) {
    int first = half ? middle : from, end = half ? to : middle;
    DQ_TRY(run_segment(runs, first, end, &noise, error));
    DQ_TRY(halve(runs, first, end, noise, least, error));
  }
  return DQ_OK;
}

// No dq_picture_loop: steps of the plan run on the picture once for each variant.
static dq_status read_picture(dq_layer_error_runs *runs, int64_t picture, dq_error *error) {
  DQ_TRY(dq_runner_read(&runs->exact, picture, 1, NULL, error));
  dq_plan_save(runs->exact.session.plan, runs->before);
  dq_plan_restore(runs->rounded.plan, runs->before);
  runs->at = 0;
  return DQ_OK;
}

dq_status dq_layer_error_runs_on_picture(dq_layer_error_runs *runs, int64_t picture,
                                         dq_layer_error_on_outputs on_outputs, void *user, dq_error *error) {
  dq_plan *plan = runs->exact.session.plan;
  int steps = dq_plan_step_count(plan);
  double noise;
  runs->on_outputs = on_outputs, runs->user = user;
  DQ_TRY(read_picture(runs, picture, error));
  DQ_TRY(run_on(plan, 0, error));
  DQ_TRY(report(runs, -1, DQ_LAYER_ERROR_EXACT, plan, &noise, error));
  DQ_TRY(run_all(runs, &noise, error));
  if (runs->share > 0) return halve(runs, 0, steps, noise, runs->share * noise, error);
  return run_variants(runs, 0, steps, error);
}
