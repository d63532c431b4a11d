#include "quant/search/sensitivity_walk.h"

#include <stdlib.h>
#include <string.h>

// ---- Steps ----

// The step that computes a value; -1: none does, it is an input or was fused away.
static int step_of(const dq_plan *plan, const char *value) {
  for (int s = 0; s < dq_plan_step_count(plan); s++) {
    const dq_node *node = dq_plan_step(plan, s, NULL);
    for (int o = 0; o < node->output_count; o++)
      if (node->outputs[o] && !strcmp(node->outputs[o]->name, value)) return s;
  }
  return -1;
}

static void find_steps(dq_walk *walk) {
  for (int r = 0; r < walk->row_count; r++) {
    const dq_walk_row *row = &walk->rows[r];
    walk->results[r] = row->result ? step_of(walk->exact.session.plan, row->result) : -1;
    walk->products[r] = row->product ? step_of(walk->exact.session.plan, row->product) : -1;
    if (walk->products[r] < 0) walk->products[r] = walk->results[r]; // fused with what follows it
  }
}

static int compare_variants(const void *a, const void *b) {
  const dq_walk_variant *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return (int)x->kind - (int)y->kind;
}

static void add_variant(dq_walk *walk, int row, dq_walk_kind kind) {
  int start = kind == DQ_WALK_RESULT ? walk->results[row] : walk->products[row];
  walk->variants[walk->variant_count++] = (dq_walk_variant){row, start, kind};
}

// Rows with their result's step, to be sorted.
static void order_results(dq_walk *walk, dq_walk_variant *room) {
  for (int r = 0; r < walk->row_count; r++) room[r] = (dq_walk_variant){r, walk->results[r], DQ_WALK_ALL};
  qsort(room, (size_t)walk->row_count, sizeof *room, compare_variants);
  for (int r = 0; r < walk->row_count; r++) walk->by_result[r] = room[r].row;
}

static void list_variants(dq_walk *walk, bool both) {
  order_results(walk, walk->variants);
  for (int r = 0; r < walk->row_count; r++) {
    if (walk->rows[r].product) add_variant(walk, r, DQ_WALK_WEIGHTS);
    if (walk->rows[r].result) add_variant(walk, r, DQ_WALK_RESULT);
    if (both && walk->rows[r].product && walk->rows[r].result) add_variant(walk, r, DQ_WALK_BOTH);
  }
  qsort(walk->variants, (size_t)walk->variant_count, sizeof *walk->variants, compare_variants);
}

// ---- Opening ----

static dq_status open_sessions(dq_walk *walk, const dq_walk_input *input, dq_arena *arena, const dq_context *context,
                               dq_error *error) {
  const char **taps = DQ_NEW_ARRAY(arena, walk->row_count + 1, const char *);
  dq_runner_options options = {.session = {.shapes = *input->shapes, .taps = taps}};
  if (!taps) return dq_fail_memory(error, 0);
  for (int r = 0; r < walk->row_count; r++)
    if (walk->rows[r].result) taps[options.session.tap_count++] = walk->rows[r].result;
  DQ_TRY(dq_runner_open(&walk->exact, input->exact, input->data, &options, context, error));
  DQ_TRY(dq_session_open(&walk->rounded, input->rounded, &options.session, context, error));
  size_t bytes = dq_plan_state_bytes(walk->exact.session.plan);
  if (bytes != dq_plan_state_bytes(walk->rounded.plan) ||
      dq_plan_step_count(walk->exact.session.plan) != dq_plan_step_count(walk->rounded.plan))
    return dq_fail(error, DQ_UNSUPPORTED, "rounding weights changes how the network is run");
  walk->before = dq_context_alloc(context, bytes + 1);
  walk->between = dq_context_alloc(context, bytes + 1);
  return walk->before && walk->between ? DQ_OK : dq_fail_memory(error, bytes);
}

dq_status dq_walk_open(dq_walk *walk, const dq_walk_input *input, dq_arena *arena, const dq_context *context,
                       dq_error *error) {
  int count = input->count;
  *walk = (dq_walk){.rows = input->rows, .row_count = count};
  walk->products = DQ_NEW_ARRAY(arena, count + 1, int);
  walk->results = DQ_NEW_ARRAY(arena, count + 1, int);
  walk->by_result = DQ_NEW_ARRAY(arena, count + 1, int);
  walk->variants = DQ_NEW_ARRAY(arena, 3 * count + 1, dq_walk_variant);
  if (!walk->products || !walk->results || !walk->by_result || !walk->variants) return dq_fail_memory(error, 0);
  DQ_TRY(open_sessions(walk, input, arena, context, error));
  find_steps(walk);
  list_variants(walk, input->both);
  return DQ_OK;
}

void dq_walk_close(dq_walk *walk) {
  dq_runner_close(&walk->exact);
  dq_session_close(&walk->rounded);
  dq_budget_free(walk->before);
  dq_budget_free(walk->between);
  *walk = (dq_walk){0};
}

// ---- Walking ----

// What QuantizeLinear and DequantizeLinear make of a value, in its place.
static void round_value(dq_plan *plan, const dq_walk_row *row) {
  const dq_tensor *tensor = dq_plan_value(plan, row->result);
  float *elements = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    int q = dq_quantize_number(elements[i], &row->parameters);
    elements[i] = (float)(q - row->parameters.zero_point) * row->parameters.scale;
  }
}

static dq_status run_on(dq_plan *plan, int from, dq_error *error) {
  return dq_plan_run_steps(plan, from, dq_plan_step_count(plan), error);
}

// Brings `before` in front of a step.
static dq_status advance(dq_walk *walk, int step, dq_error *error) {
  if (step <= walk->at) return DQ_OK;
  dq_plan_restore(walk->exact.session.plan, walk->before);
  DQ_TRY(dq_plan_run_steps(walk->exact.session.plan, walk->at, step, error));
  dq_plan_save(walk->exact.session.plan, walk->before);
  walk->at = step;
  return DQ_OK;
}

static dq_status run_variant(dq_walk *walk, const dq_walk_variant *variant, dq_error *error) {
  dq_plan *plan = walk->exact.session.plan, *rounded = walk->rounded.plan;
  int row = variant->row, next = variant->start < 0 ? 0 : variant->start, result = walk->results[row];
  DQ_TRY(advance(walk, next, error));
  if (variant->kind == DQ_WALK_RESULT) {
    dq_plan_restore(plan, walk->before);
  } else {
    dq_plan_restore(rounded, walk->before);
    DQ_TRY(dq_plan_run_steps(rounded, next, next + 1, error));
    dq_plan_save(rounded, walk->between);
    dq_plan_restore(plan, walk->between);
    next++;
  }
  if (variant->kind != DQ_WALK_WEIGHTS) {
    if (result >= next) DQ_TRY(dq_plan_run_steps(plan, next, result + 1, error));
    if (result >= next) next = result + 1;
    round_value(plan, &walk->rows[row]);
  }
  return run_on(plan, next, error);
}

static dq_status run_all(dq_walk *walk, dq_error *error) {
  dq_plan *plan = walk->rounded.plan;
  int next = 0;
  for (int i = 0; i < walk->row_count; i++) {
    int row = walk->by_result[i], result = walk->results[row];
    if (!walk->rows[row].result) continue;
    if (result >= next) DQ_TRY(dq_plan_run_steps(plan, next, result + 1, error));
    if (result >= next) next = result + 1;
    round_value(plan, &walk->rows[row]);
  }
  return run_on(plan, next, error);
}

static dq_status read_picture(dq_walk *walk, int64_t picture, dq_error *error) {
  DQ_TRY(dq_runner_read(&walk->exact, picture, 1, NULL, error));
  dq_plan_save(walk->exact.session.plan, walk->before);
  dq_plan_restore(walk->rounded.plan, walk->before);
  walk->at = 0;
  return DQ_OK;
}

dq_status dq_walk_picture(dq_walk *walk, int64_t picture, dq_walk_see see, void *user, dq_error *error) {
  dq_plan *plan = walk->exact.session.plan;
  DQ_TRY(read_picture(walk, picture, error));
  DQ_TRY(run_on(plan, 0, error));
  DQ_TRY(see(user, -1, DQ_WALK_EXACT, plan, error));
  DQ_TRY(run_all(walk, error));
  DQ_TRY(see(user, -1, DQ_WALK_ALL, walk->rounded.plan, error));
  for (int v = 0; v < walk->variant_count; v++) {
    const dq_walk_variant *variant = &walk->variants[v];
    DQ_TRY(run_variant(walk, variant, error));
    DQ_TRY(see(user, variant->row, variant->kind, plan, error));
  }
  return DQ_OK;
}
