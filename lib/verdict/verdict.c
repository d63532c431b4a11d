#include "lib/verdict/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/schedule/open_sizes.h"
#include "lib/session/runner.h"
#include "lib/verdict/noise.h"

const dq_verdict_bounds dq_no_bounds = {.sqnr = -INFINITY, .agreement = -INFINITY};
const dq_verdict_bounds dq_ruinous_bounds = {.sqnr = 10, .agreement = 90};
static const double DOUBTFUL_SQNR = 20; // dB: below it, many changed answers are ruinous
static const double SEQUENCES = 95;     // percent of an output's sequences

// ---- Measuring ----

dq_status dq_verdict_of(dq_verdict *verdict, const dq_evaluator *evaluator, int64_t pictures, dq_arena *arena,
                        dq_error *error) {
  *verdict = (dq_verdict){.parts = DQ_NEW_ARRAY(arena, 2 * evaluator->what.count, dq_verdict_part),
                          .pictures = pictures,
                          .broken = evaluator->broken};
  if (!verdict->parts) return dq_fail_memory(error, 0);
  for (int o = 0; o < evaluator->what.count; o++) {
    const dq_evaluated_output *output = &evaluator->outputs[o];
    dq_output_part parts[2];
    if (output->features) continue;
    int count = dq_output_error_parts(&output->error, parts);
    for (int p = 0; p < count; p++) {
      dq_verdict_part *part = &verdict->parts[verdict->count++];
      *part = (dq_verdict_part){.output = dq_arena_strdup(arena, output->name),
                                .before_softmax = output->before_softmax,
                                .first = parts[p].first,
                                .channels = parts[p].count,
                                .whole = count == 1,
                                .sqnr = parts[p].sqnr};
      if (!p) part->answers = output->answers;
      if (!part->output) return dq_fail_memory(error, 0);
    }
  }
  return DQ_OK;
}

dq_status dq_verdict_copy(dq_verdict *copy, const dq_verdict *verdict, dq_arena *arena, dq_error *error) {
  *copy = *verdict;
  copy->parts = DQ_NEW_ARRAY(arena, verdict->count, dq_verdict_part);
  if (!copy->parts) return dq_fail_memory(error, 0);
  for (int i = 0; i < verdict->count; i++) {
    copy->parts[i] = verdict->parts[i];
    copy->parts[i].output = dq_arena_strdup(arena, verdict->parts[i].output);
    if (!copy->parts[i].output) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

// Bytes for float outputs: 32 MiB, and at most an eighth of what the budget has left, as networks run beside them.
static int64_t bytes_of_outputs(const dq_context *context) {
  static const int64_t MOST = INT64_C(1) << 25;
  const dq_budget *budget = context->budget;
  if (!budget || !budget->limit) return MOST;
  size_t used = budget->used;
  int64_t share = (int64_t)(used < budget->limit ? (budget->limit - used) / 8 : 0);
  return share < MOST ? share : MOST;
}

// Pictures whose float outputs are stored at once. Each round makes both networks ready anew.
static dq_status count_at_once(const dq_evaluator_options *options, const dq_context *context, dq_arena *arena,
                               int64_t *count, dq_error *error) {
  int64_t bytes = 0;
  dq_tensor *tensors;
  DQ_TRY(dq_infer(options->graph, options->shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  for (int o = 0; o < options->graph->output_count; o++) {
    const dq_tensor *tensor = &tensors[options->graph->outputs[o]->index];
    if (tensor->rank >= 0) bytes += dq_tensor_count(tensor) * (int64_t)sizeof(float);
  }
  int64_t fit = bytes ? bytes_of_outputs(context) / bytes : options->pictures;
  *count = fit < 1 ? 1 : fit < options->pictures ? fit : options->pictures;
  return DQ_OK;
}

dq_status dq_verdict_measure(dq_verdict *verdict, const dq_graph *converted, const dq_evaluator_options *options,
                             const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_evaluator evaluator;
  dq_evaluator_options some = *options;
  dq_shape_request shapes = *options->shapes;
  int64_t pictures = options->pictures, at_once;
  DQ_TRY(dq_complete_shapes(&shapes, options->graph, options->data, arena, error));
  some.shapes = &shapes;
  some.other = converted;
  DQ_TRY(count_at_once(&some, context, arena, &at_once, error));
  dq_score score = {.noise = DQ_NEW_ARRAY(arena, at_once, double)};
  if (!score.noise) return dq_fail_memory(error, (size_t)at_once * sizeof(double));
  some.pictures = at_once;
  dq_status status = dq_evaluator_open(&evaluator, &some, context, arena, error);
  for (int64_t done = 0; status == DQ_OK && done < pictures; done += at_once) {
    int64_t left = pictures - done, count = left < at_once ? left : at_once;
    if (done) status = dq_evaluator_move(&evaluator, options->first + done, count, error);
    if (status != DQ_OK) break;
    status = dq_evaluate_more(&evaluator, converted, &score, error);
    verdict->is_broken = status == DQ_BAD_INPUT;
  }
  if (status == DQ_OK) status = dq_verdict_of(verdict, &evaluator, pictures, arena, error);
  dq_evaluator_close(&evaluator);
  return status;
}

int64_t dq_verdict_pictures(dq_data *data) {
  static const int64_t MOST = 64;
  return dq_data_count(data) < MOST ? dq_data_count(data) : MOST;
}

static dq_status conclude_on_noise(dq_verdict *verdict, const dq_graph *converted, const dq_evaluator_options *options,
                                   const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_sizes sizes;
  dq_shape_request shapes;
  dq_evaluator_options on_noise = *options;
  DQ_TRY(dq_sizes_assume(&sizes, options->graph, options->shapes, context, arena, error));
  DQ_TRY(dq_sizes_request(&sizes, options->graph, options->shapes, -1, arena, &shapes, error));
  DQ_TRY(dq_noise_open(&on_noise.data, options->graph, context->seed, options->noise_largest, context, error));
  on_noise.shapes = &shapes;
  on_noise.first = 0;
  if (!on_noise.pictures) on_noise.pictures = dq_data_count(on_noise.data);
  dq_status status = dq_verdict_measure(verdict, converted, &on_noise, context, arena, error);
  dq_data_free(on_noise.data);
  verdict->data = DQ_VERDICT_NOISE;
  return status;
}

dq_status dq_verdict_conclude(dq_verdict *verdict, dq_verdict_data kind, const dq_graph *converted,
                              const dq_evaluator_options *options, const dq_context *context, dq_arena *arena,
                              dq_error *error) {
  dq_evaluator_options on_pictures = *options;
  dq_error reason = {0};
  *verdict = (dq_verdict){0};
  if (options->data) {
    on_pictures.first = 0, on_pictures.pictures = dq_verdict_pictures(options->data);
    DQ_TRY(dq_verdict_measure(verdict, converted, &on_pictures, context, arena, error));
    verdict->data = kind;
    return DQ_OK;
  }
  dq_status status = conclude_on_noise(verdict, converted, options, context, arena, &reason);
  if (status == DQ_OK) return DQ_OK;
  if (verdict->is_broken)
    return dq_fail(error, DQ_UNSUPPORTED, "the converted network does not run as the float one does: %s",
                   reason.message);
  if (status == DQ_CANCELLED) {
    if (error) *error = reason;
    return status;
  }
  dq_message(context, DQ_NOTE, "the outputs were not compared on noise: %s", reason.message);
  *verdict = (dq_verdict){0};
  return DQ_OK;
}

// ---- Judging ----

static const dq_verdict_part *worst_part(const dq_verdict *verdict) {
  const dq_verdict_part *worst = NULL;
  for (int i = 0; i < verdict->count; i++)
    if (!worst || verdict->parts[i].sqnr < worst->sqnr) worst = &verdict->parts[i];
  return worst;
}

static const dq_verdict_part *worst_answers(const dq_verdict *verdict) {
  const dq_verdict_part *worst = NULL;
  for (int i = 0; i < verdict->count; i++) {
    const dq_verdict_part *part = &verdict->parts[i];
    if (part->answers.kind == DQ_ANSWER_NONE) continue;
    if (!worst || dq_answers_agreement(&part->answers) < dq_answers_agreement(&worst->answers)) worst = part;
  }
  return worst;
}

double dq_verdict_sqnr(const dq_verdict *verdict) {
  const dq_verdict_part *worst = worst_part(verdict);
  return worst ? worst->sqnr : NAN;
}

double dq_verdict_agreement(const dq_verdict *verdict) {
  const dq_verdict_part *worst = worst_answers(verdict);
  return worst ? dq_answers_agreement(&worst->answers) : NAN;
}

double dq_verdict_sequences(const dq_verdict *verdict) {
  double lowest = NAN;
  for (int i = 0; i < verdict->count; i++) {
    const dq_answers *answers = &verdict->parts[i].answers;
    if (answers->kind == DQ_ANSWER_SEQUENCE) lowest = fmin(dq_answers_agreement(answers), lowest);
  }
  return lowest;
}

bool dq_verdict_is_doubtful(const dq_verdict *verdict) { return dq_verdict_sqnr(verdict) < DOUBTFUL_SQNR; }

bool dq_verdict_loses_sequences(const dq_verdict *verdict) { return dq_verdict_sequences(verdict) < SEQUENCES; }

bool dq_verdict_is_ruinous(const dq_verdict *verdict) {
  return dq_verdict_sqnr(verdict) < dq_ruinous_bounds.sqnr ||
         (dq_verdict_is_doubtful(verdict) && dq_verdict_agreement(verdict) < dq_ruinous_bounds.agreement);
}

// With a bound of -INFINITY a figure that is not known (NAN) will do as well.
static bool reaches(double figure, double bound) { return figure >= bound || bound == -INFINITY; }

bool dq_verdict_holds(const dq_verdict *verdict, const dq_verdict_bounds *bounds) {
  return !verdict->broken && reaches(dq_verdict_sqnr(verdict), bounds->sqnr) &&
         reaches(dq_verdict_agreement(verdict), bounds->agreement);
}

// "output 'y'", "channels 4 to 83 of output 'y'"
static const char *name_part(const dq_verdict_part *part, char *text, size_t size) {
  const char *front = part->before_softmax ? "the argument of the Softmax of " : "";
  if (part->whole) snprintf(text, size, "%soutput '%s'", front, part->output);
  else
    snprintf(text, size, "channels %" PRId64 " to %" PRId64 " of %soutput '%s'", part->first,
             part->first + part->channels - 1, front, part->output);
  return text;
}

static const char *unit_of(const dq_verdict *verdict, int64_t count) {
  static const char *const names[2][2] = {{"pictures", "picture"}, {"samples", "sample"}};
  return names[verdict->data == DQ_VERDICT_NOISE][count == 1];
}

// "has NaN or infinity where the float model has none, on 1 of 48 pictures", or "on every picture"
static const char *describe_broken(const dq_verdict *verdict, const dq_verdict_part *part, char *text, size_t size) {
  char which[60];
  if (verdict->broken == verdict->pictures) snprintf(which, sizeof which, "every %s", unit_of(verdict, 1));
  else
    snprintf(which, sizeof which, "%" PRId64 " of %" PRId64 " %s", verdict->broken, verdict->pictures,
             unit_of(verdict, 2));
  snprintf(text, size, "%s NaN or infinity where the float model has none, on %s", part->whole ? "has" : "have", which);
  return text;
}

dq_status dq_verdict_check(const dq_verdict *verdict, const dq_verdict_bounds *bounds, const char *path,
                           dq_error *error) {
  char name[300];
  const dq_verdict_part *part = worst_part(verdict), *answers = worst_answers(verdict);
  if (part && verdict->broken) {
    char broken[120];
    return dq_fail(error, DQ_CONDITION, "%s: %s %s", path, name_part(part, name, sizeof name),
                   describe_broken(verdict, part, broken, sizeof broken));
  }
  if (!reaches(dq_verdict_sqnr(verdict), bounds->sqnr)) {
    if (!part)
      return dq_fail(error, DQ_UNSUPPORTED, "%s: no output could be compared, which %s needs", path,
                     bounds->sqnr_option);
    return dq_fail(error, DQ_CONDITION, "%s: %s %s an SQNR of %.4g dB, less than %.4g dB (%s)", path,
                   name_part(part, name, sizeof name), part->whole ? "has" : "have", part->sqnr, bounds->sqnr,
                   bounds->sqnr_option);
  }
  if (reaches(dq_verdict_agreement(verdict), bounds->agreement)) return DQ_OK;
  if (!answers)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "%s: no output stands for classes, sequences, points, a mask or known boxes, which %s needs", path,
                   bounds->agreement_option);
  return dq_fail(error, DQ_CONDITION, "%s: output '%s' keeps %.4g %% of its %s, less than %.4g %% (%s)", path,
                 answers->output, dq_answers_agreement(&answers->answers), dq_answer_kind_name(answers->answers.kind),
                 bounds->agreement, bounds->agreement_option);
}

// "has an SQNR of 12.0 dB"
static const char *describe_sqnr(const dq_verdict *verdict, const dq_verdict_part *part, char *text, size_t size) {
  const char *has = part->whole ? "has" : "have", *is = part->whole ? "is" : "are";
  if (verdict->broken) return describe_broken(verdict, part, text, size);
  if (isinf(part->sqnr) && part->sqnr > 0) snprintf(text, size, "%s equal to that of the float model", is);
  else if (verdict->count > 1) snprintf(text, size, "%s the lowest SQNR, %.1f dB", has, part->sqnr);
  else snprintf(text, size, "%s an SQNR of %.1f dB", has, part->sqnr);
  return text;
}

const char *dq_verdict_text(const dq_verdict *verdict, char *text, size_t size) {
  static const char *const of[] = {" that nothing was fitted to,", " that the conversion was fitted to,", "",
                                   " of noise"};
  const dq_verdict_part *part = worst_part(verdict), *answers = worst_answers(verdict);
  char name[300], sqnr[120], kept[120] = "";
  if (!part) return snprintf(text, size, "No output was compared."), text;
  if (answers)
    snprintf(kept, sizeof kept, " %.4g %% of the %s are those of the float model.",
             dq_answers_agreement(&answers->answers), dq_answer_kind_name(answers->answers.kind));
  snprintf(text, size, "On %" PRId64 " %s%s %s %s.%s", verdict->pictures, unit_of(verdict, verdict->pictures),
           of[verdict->data], name_part(part, name, sizeof name), describe_sqnr(verdict, part, sqnr, sizeof sqnr),
           kept);
  return text;
}
