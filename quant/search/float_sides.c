#include "quant/search/float_sides.h"

#include <string.h>

#include "quant/int8/stages.h"
#include "quant/int8/trials.h"

// ---- Sides ----

static dq_status open_side(dq_float_sides *sides, const dq_calibration_table *ranges, int64_t judges) {
  dq_float_side *side = &sides->sides[sides->count - 1];
  const dq_int8_options *int8 = sides->setup.int8;
  const dq_evaluator_options judged = {.graph = sides->setup.graph,
                                       .shapes = &int8->shapes,
                                       .data = side->data,
                                       .first = dq_data_count(side->data) - judges,
                                       .pictures = judges,
                                       .decode = int8->decode,
                                       .batch = int8->batch};
  side->first = *sides->setup.whole;
  DQ_TRY(dq_calibration_table_copy(&side->first.table, ranges, sides->arena, sides->error));
  return dq_evaluator_open(&side->evaluator, &judged, sides->context, sides->arena, sides->error);
}

static dq_status open_trial_side(dq_float_sides *sides, bool as_file) {
  const dq_int8_report *whole = sides->setup.whole;
  const int64_t pictures = dq_data_count(sides->setup.data);
  dq_float_side *side = &sides->sides[sides->count++];
  DQ_TRY(dq_trial_data(&side->data, sides->setup.data, pictures, sides->error));
  if (!as_file) side->ranges = dq_trial_pictures(pictures, INT64_MAX);
  return open_side(sides, as_file ? &whole->table : &whole->judged, dq_evaluated_pictures(pictures));
}

static dq_status open_swapped_side(dq_float_sides *sides) {
  const int64_t pictures = dq_data_count(sides->setup.data), judges = dq_swapped_pictures(pictures);
  dq_float_side *side = &sides->sides[sides->count++];
  DQ_TRY(dq_swapped_data(&side->data, sides->setup.data, pictures, sides->error));
  side->ranges = pictures - judges;
  return open_side(sides, &sides->setup.whole->swapped, judges);
}

dq_status dq_float_sides_open(dq_float_sides *sides, const dq_float_setup *setup, const dq_context *context,
                              dq_arena *arena, dq_error *error) {
  *sides = (dq_float_sides){
      .setup = *setup, .context = context, .arena = arena, .error = error, .kind = DQ_VERDICT_OTHER_PICTURES};
  const bool swapped = setup->whole->swapped.count && setup->judges != DQ_FLOAT_AS_FILE;
  const bool both = setup->judges == DQ_FLOAT_BOTH && setup->whole->judged.count && dq_data_count(setup->data) > 1;
  if (swapped) DQ_TRY(open_swapped_side(sides));
  if (both) DQ_TRY(open_trial_side(sides, false));
  if (sides->count) return DQ_OK;
  sides->kind = DQ_VERDICT_FITTED_PICTURES;
  return open_trial_side(sides, true);
}

void dq_float_sides_close(dq_float_sides *sides) {
  for (int s = 0; s < sides->count; s++) {
    dq_evaluator_close(&sides->sides[s].evaluator);
    dq_data_free(sides->sides[s].data);
  }
}

// ---- Trials ----

static dq_status quantize(dq_float_sides *sides, dq_float_side *side, dq_graph *copy, const dq_precision_map *map,
                          bool keeps, dq_int8_report *report) {
  dq_int8_options options = *sides->setup.int8;
  options.rounding = NULL, options.pictures = side->ranges;
  if (side->ranges) options.pictures = dq_trial_limit(side->ranges, side->evaluator.detects);
  if (map->count) options.precision = map, options.precision_found = true;
  DQ_TRY(dq_int8_apply_from(copy, side->data, &options, &side->first, report, sides->context, sides->error));
  if (!map->count || !keeps) return DQ_OK; // a calibration takes as long as all the rest of a trial
  return dq_calibration_table_add(&side->first.table, &report->table, sides->arena, sides->error);
}

static dq_status try_side(dq_float_sides *sides, dq_float_side *side, dq_graph *copy, const dq_precision_map *map,
                          bool keeps, double *noise, dq_int8_report *report) {
  dq_score score = {.noise = DQ_NEW_ARRAY(sides->arena, side->evaluator.what.pictures, double)};
  if (!score.noise) return dq_fail_memory(sides->error, 0);
  DQ_TRY(quantize(sides, side, copy, map, keeps, report));
  DQ_TRY(dq_evaluate(&side->evaluator, copy, &score, sides->error));
  if (noise) memcpy(noise, score.noise, (size_t)side->evaluator.what.pictures * sizeof *noise);
  return DQ_OK;
}

static dq_status try_other_side(dq_float_sides *sides, dq_float_side *side, const dq_precision_map *map, bool keeps) {
  dq_int8_report report;
  dq_graph *copy = dq_graph_copy(sides->setup.graph);
  dq_status status = copy ? try_side(sides, side, copy, map, keeps, NULL, &report) : dq_fail_memory(sides->error, 0);
  dq_graph_free(copy);
  return status;
}

dq_status dq_float_sides_try(dq_float_sides *sides, dq_graph *copy, const dq_precision_map *map, bool keeps,
                             dq_picture_errors *errors, double *noise, dq_int8_report *report) {
  int64_t pictures = 0, place = 0;
  for (int s = 0; s < sides->count; s++) pictures += sides->sides[s].evaluator.what.pictures;
  DQ_TRY(dq_picture_errors_open(errors, sides->sides[0].evaluator.what.count, pictures, sides->arena, sides->error));
  for (int s = 0; s < sides->count; s++) {
    dq_float_side *side = &sides->sides[s];
    DQ_TRY(s ? try_other_side(sides, side, map, keeps) : try_side(sides, side, copy, map, keeps, noise, report));
    for (int64_t p = 0; p < side->evaluator.what.pictures; p++)
      DQ_TRY(dq_picture_errors_take(errors, place++, &side->evaluator.errors, p, sides->arena, sides->error));
  }
  return DQ_OK;
}

dq_status dq_float_sides_verdict(const dq_float_sides *sides, const dq_picture_errors *errors, dq_verdict *verdict,
                                 dq_arena *arena) {
  DQ_TRY(dq_verdict_of(verdict, &sides->sides[0].evaluator, errors, arena, sides->error));
  verdict->data = sides->kind;
  if (sides->kind == DQ_VERDICT_OTHER_PICTURES) dq_verdict_of_stand_in(verdict); // the ranges are not the file's
  return DQ_OK;
}

// ---- Choices without a picture ----

dq_status dq_float_sides_record(dq_float_sides *sides, int number, const dq_picture_errors *errors) {
  if (sides->tried_count == sides->capacity) {
    const int capacity = 2 * sides->capacity + 16;
    dq_float_tried *tried = DQ_NEW_ARRAY(sides->arena, capacity, dq_float_tried);
    if (!tried) return dq_fail_memory(sides->error, 0);
    if (sides->tried_count) memcpy(tried, sides->tried, (size_t)sides->tried_count * sizeof *tried);
    sides->tried = tried, sides->capacity = capacity;
  }
  int at = sides->tried_count++;
  for (; at && sides->tried[at - 1].number > number; at--) sides->tried[at] = sides->tried[at - 1];
  sides->tried[at] = (dq_float_tried){number, *errors};
  return DQ_OK;
}

// Whether a form holds the bounds on all pictures but one.
static dq_status holds_without(const dq_float_sides *sides, const dq_picture_errors *errors, int64_t left_out,
                               const dq_verdict_bounds *bounds, bool *holds, dq_arena *arena) {
  dq_picture_errors others;
  dq_verdict verdict;
  DQ_TRY(dq_picture_errors_open(&others, errors->outputs, errors->pictures - 1, arena, sides->error));
  for (int64_t p = 0; p < errors->pictures; p++)
    if (p != left_out) DQ_TRY(dq_picture_errors_take(&others, p - (p > left_out), errors, p, arena, sides->error));
  DQ_TRY(dq_float_sides_verdict(sides, &others, &verdict, arena));
  *holds = dq_verdict_is_enough(&verdict, bounds);
  return DQ_OK;
}

static dq_status choose_without(const dq_float_sides *sides, int least, int most, int64_t left_out,
                                const dq_verdict_bounds *bounds, int *chosen, dq_arena *arena) {
  bool holds = false;
  *chosen = 0;
  for (int t = 0; t < sides->tried_count && sides->tried[t].number <= most && !holds; t++) {
    if (sides->tried[t].number < least) continue;
    *chosen = t;
    DQ_TRY(holds_without(sides, &sides->tried[t].errors, left_out, bounds, &holds, arena));
  }
  return DQ_OK;
}

dq_status dq_float_sides_cross_fit(dq_float_sides *sides, int least, int most, const dq_verdict_bounds *bounds,
                                   dq_picture_errors *errors) {
  const dq_picture_errors *any = &sides->tried[0].errors;
  DQ_TRY(dq_picture_errors_open(errors, any->outputs, any->pictures, sides->arena, sides->error));
  for (int64_t p = 0; p < any->pictures; p++) {
    int chosen = 0;
    dq_arena *arena = dq_context_arena(sides->context);
    if (!arena) return dq_fail_memory(sides->error, 0);
    dq_status status = any->pictures > 1 ? choose_without(sides, least, most, p, bounds, &chosen, arena) : DQ_OK;
    dq_arena_free(arena);
    if (status == DQ_OK)
      status = dq_picture_errors_take(errors, p, &sides->tried[chosen].errors, p, sides->arena, sides->error);
    DQ_TRY(status);
  }
  return DQ_OK;
}
