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

// Sums by row of one output, with a place for those of a part.
typedef struct rows {
  const dq_picture_errors *errors;
  int output;
  double *signal, *noise;
  int64_t *equal, *answers;
} rows;

static dq_status open_rows(rows *r, const dq_picture_errors *errors, dq_arena *arena, dq_error *error) {
  *r = (rows){.errors = errors,
              .signal = DQ_NEW_ARRAY(arena, errors->rows, double),
              .noise = DQ_NEW_ARRAY(arena, errors->rows, double),
              .equal = DQ_NEW_ARRAY(arena, errors->rows, int64_t),
              .answers = DQ_NEW_ARRAY(arena, errors->rows, int64_t)};
  return r->signal && r->noise && r->equal && r->answers ? DQ_OK : dq_fail_memory(error, 0);
}

static dq_interval interval_of_part(const rows *r, const dq_output_part *part) {
  for (int64_t p = 0; p < r->errors->rows; p++) {
    const dq_output_error *row = &dq_picture_errors_at(r->errors, p, r->output)->error;
    r->signal[p] = r->noise[p] = 0;
    for (int64_t c = part->first; c < part->first + part->count; c++) {
      r->signal[p] += row->signal[c];
      r->noise[p] += row->noise[c];
    }
  }
  return dq_sqnr_interval(r->signal, r->noise, r->errors->rows);
}

static dq_interval interval_of_answers(const rows *r) {
  for (int64_t p = 0; p < r->errors->rows; p++) {
    const dq_row_error *row = dq_picture_errors_at(r->errors, p, r->output);
    r->equal[p] = row->equal, r->answers[p] = row->answers;
  }
  return dq_share_interval(r->equal, r->answers, r->errors->rows);
}

static dq_status add_parts(dq_verdict *verdict, const dq_evaluated_output *output, const rows *r, dq_arena *arena,
                           dq_error *error) {
  dq_output_part parts[2];
  dq_row_error sum = {0};
  DQ_TRY(dq_picture_errors_sum(r->errors, r->output, &sum, arena, error));
  int count = dq_output_error_parts(&sum.error, parts);
  for (int p = 0; p < count; p++) {
    dq_verdict_part *part = &verdict->parts[verdict->count++];
    *part = (dq_verdict_part){.output = dq_arena_strdup(arena, output->name),
                              .function = output->function ? dq_arena_strdup(arena, output->function) : NULL,
                              .first = parts[p].first,
                              .channels = parts[p].count,
                              .whole = count == 1,
                              .sqnr = parts[p].sqnr,
                              .others = interval_of_part(r, &parts[p]),
                              .kept = dq_no_interval};
    if (!part->output || (output->function && !part->function)) return dq_fail_memory(error, 0);
    if (p) continue;
    part->answers = output->answers;
    part->answers.answers = sum.answers, part->answers.equal = sum.equal;
    if (part->answers.kind != DQ_ANSWER_NONE) part->kept = interval_of_answers(r);
  }
  return DQ_OK;
}

dq_status dq_verdict_of(dq_verdict *verdict, const dq_evaluator *evaluator, const dq_picture_errors *errors,
                        dq_arena *arena, dq_error *error) {
  *verdict = (dq_verdict){.parts = DQ_NEW_ARRAY(arena, 2 * evaluator->what.count, dq_verdict_part),
                          .pictures = errors->pictures,
                          .broken = dq_picture_errors_broken(errors)};
  rows r;
  if (!verdict->parts) return dq_fail_memory(error, 0);
  DQ_TRY(open_rows(&r, errors, arena, error));
  for (r.output = 0; r.output < evaluator->what.count; r.output++) {
    const dq_evaluated_output *output = &evaluator->outputs[r.output];
    if (!output->features) DQ_TRY(add_parts(verdict, output, &r, arena, error));
  }
  return DQ_OK;
}

void dq_verdict_of_stand_in(dq_verdict *verdict) {
  const double apart = 1.959964 * DQ_STAND_IN_DEVIATION;
  for (int i = 0; i < verdict->count; i++) {
    dq_verdict_part *part = &verdict->parts[i];
    dq_interval *others = &part->others;
    if (!isfinite(part->sqnr) || !isfinite(others->low) || !isfinite(others->high)) continue;
    others->low = part->sqnr - hypot(part->sqnr - others->low, apart);
    others->high = part->sqnr + hypot(others->high - part->sqnr, apart);
  }
}

dq_status dq_verdict_copy(dq_verdict *copy, const dq_verdict *verdict, dq_arena *arena, dq_error *error) {
  *copy = *verdict;
  copy->parts = DQ_NEW_ARRAY(arena, verdict->count, dq_verdict_part);
  if (!copy->parts) return dq_fail_memory(error, 0);
  for (int i = 0; i < verdict->count; i++) {
    copy->parts[i] = verdict->parts[i];
    copy->parts[i].output = dq_arena_strdup(arena, verdict->parts[i].output);
    if (!copy->parts[i].output) return dq_fail_memory(error, 0);
    const char *function = verdict->parts[i].function;
    if (function && !(copy->parts[i].function = dq_arena_strdup(arena, function))) return dq_fail_memory(error, 0);
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
  some.pictures = at_once, some.all_pictures = pictures;
  dq_status status = dq_evaluator_open(&evaluator, &some, context, arena, error);
  for (int64_t done = 0; status == DQ_OK && done < pictures; done += at_once) {
    int64_t left = pictures - done, count = left < at_once ? left : at_once;
    if (done) status = dq_evaluator_move(&evaluator, options->first + done, count, error);
    if (status != DQ_OK) break;
    status = dq_evaluate_more(&evaluator, converted, &score, error);
    verdict->is_broken = status == DQ_BAD_INPUT;
  }
  if (status == DQ_OK) status = dq_verdict_of(verdict, &evaluator, &evaluator.errors, arena, error);
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
  on_noise.first = 0, on_noise.noise = true;
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

bool dq_verdict_tells_of_others(const dq_verdict *verdict) {
  return verdict->data == DQ_VERDICT_OTHER_PICTURES || verdict->data == DQ_VERDICT_GIVEN_PICTURES;
}

// Whether a bound is on other pictures: a conversion is for these.
static bool promises_others(const dq_verdict *verdict) { return verdict->data == DQ_VERDICT_OTHER_PICTURES; }

static double sqnr_of(const dq_verdict *verdict, const dq_verdict_part *part) {
  (void)verdict;
  return part->sqnr;
}

static double least_sqnr_of(const dq_verdict *verdict, const dq_verdict_part *part) {
  if (!promises_others(verdict) || isinf(part->sqnr)) return part->sqnr;
  return isnan(part->others.low) ? -INFINITY : part->others.low;
}

static double agreement_of(const dq_verdict *verdict, const dq_verdict_part *part) {
  (void)verdict;
  return part->answers.kind == DQ_ANSWER_NONE ? NAN : dq_answers_agreement(&part->answers);
}

static double least_agreement_of(const dq_verdict *verdict, const dq_verdict_part *part) {
  if (part->answers.kind == DQ_ANSWER_NONE) return NAN;
  return promises_others(verdict) && part->answers.answers ? part->kept.low : dq_answers_agreement(&part->answers);
}

typedef double figure_function(const dq_verdict *verdict, const dq_verdict_part *part);

// The part with the lowest figure, among all or those whose answers are guessed or not; NULL: none has it.
enum { GUESSED = 1, KNOWN = 2, ALL = GUESSED | KNOWN };
static const dq_verdict_part *worst_among(const dq_verdict *verdict, figure_function *figure, int which) {
  const dq_verdict_part *worst = NULL;
  for (int i = 0; i < verdict->count; i++) {
    const dq_verdict_part *part = &verdict->parts[i];
    if (!(which & (part->answers.guessed ? GUESSED : KNOWN)) || isnan(figure(verdict, part))) continue;
    if (!worst || figure(verdict, part) < figure(verdict, worst)) worst = part;
  }
  return worst;
}

static const dq_verdict_part *worst_by(const dq_verdict *verdict, figure_function *figure) {
  return worst_among(verdict, figure, ALL);
}

// Returns the part with the worst answers; guessed ones count where there are no others.
static const dq_verdict_part *worst_answers(const dq_verdict *verdict, figure_function *figure) {
  const dq_verdict_part *known = worst_among(verdict, figure, KNOWN);
  return known ? known : worst_among(verdict, figure, GUESSED);
}

static double figure_of(const dq_verdict *verdict, const dq_verdict_part *part, figure_function *figure) {
  return part ? figure(verdict, part) : NAN;
}

static double lowest(const dq_verdict *verdict, figure_function *figure) {
  return figure_of(verdict, worst_by(verdict, figure), figure);
}

double dq_verdict_sqnr(const dq_verdict *verdict) { return lowest(verdict, sqnr_of); }
double dq_verdict_least_sqnr(const dq_verdict *verdict) { return lowest(verdict, least_sqnr_of); }
double dq_verdict_agreement(const dq_verdict *verdict) {
  return figure_of(verdict, worst_answers(verdict, agreement_of), agreement_of);
}
double dq_verdict_least_agreement(const dq_verdict *verdict) {
  return figure_of(verdict, worst_answers(verdict, least_agreement_of), least_agreement_of);
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
  const dq_verdict_part *known = worst_among(verdict, agreement_of, KNOWN);
  return dq_verdict_sqnr(verdict) < dq_ruinous_bounds.sqnr ||
         (dq_verdict_is_doubtful(verdict) && figure_of(verdict, known, agreement_of) < dq_ruinous_bounds.agreement);
}

// A figure that is not known (NAN) reaches a bound of -INFINITY as well.
static bool reaches(double figure, double bound) { return figure >= bound || bound == -INFINITY; }

bool dq_verdict_holds(const dq_verdict *verdict, const dq_verdict_bounds *bounds) {
  return !verdict->broken && reaches(dq_verdict_least_sqnr(verdict), bounds->sqnr) &&
         reaches(dq_verdict_least_agreement(verdict), bounds->agreement);
}

bool dq_verdict_is_enough(const dq_verdict *verdict, const dq_verdict_bounds *bounds) {
  if (!dq_verdict_holds(verdict, bounds)) return false;
  const bool bounded = bounds->sqnr > -INFINITY || bounds->agreement > -INFINITY;
  return bounded ? !dq_verdict_is_ruinous(verdict) : !dq_verdict_is_doubtful(verdict);
}

// "output 'y'", "channels 4 to 83 of output 'y'"
static const char *name_part(const dq_verdict_part *part, char *text, size_t size) {
  char front[60] = "";
  if (part->function) snprintf(front, sizeof front, "the argument of the %s of ", part->function);
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

// "; some 53 pictures would tell": with as many the lower end would reach the bound, as its distance from the figure
// falls with the root of their number.
static const char *say_pictures(double pictures, double figure, double least, double bound, char *text, size_t size) {
  const double ratio = (figure - least) / (figure - bound), wanted = ceil(pictures * ratio * ratio);
  if (isfinite(wanted) && wanted < 1e9) snprintf(text, size, "; some %.0f pictures would tell", wanted);
  else snprintf(text, size, "; more pictures are needed to tell");
  return text;
}

static dq_status fail_sqnr(const dq_verdict *verdict, const dq_verdict_bounds *bounds, const char *path,
                           dq_error *error) {
  const dq_verdict_part *part = worst_by(verdict, least_sqnr_of);
  if (!part)
    return dq_fail(error, DQ_UNSUPPORTED, "%s: no output could be compared, which %s needs", path, bounds->sqnr_option);
  const double least = least_sqnr_of(verdict, part), bound = bounds->sqnr;
  char name[300], begin[80], wanted[80];
  if (isfinite(least)) snprintf(begin, sizeof begin, "its 95 %% interval begins at %.4g dB", least);
  else snprintf(begin, sizeof begin, "a single picture tells nothing of others");
  name_part(part, name, sizeof name);
  if (part->sqnr < bound)
    return dq_fail(error, DQ_CONDITION, "%s: %s %s an SQNR of %.4g dB, less than %.4g dB (%s)", path, name,
                   part->whole ? "has" : "have", part->sqnr, bound, bounds->sqnr_option);
  return dq_fail(error, DQ_CONDITION,
                 "%s: %s %s an SQNR of %.4g dB on %" PRId64 " %s, but %s: %.4g dB (%s) are not sure on others%s", path,
                 name, part->whole ? "has" : "have", part->sqnr, verdict->pictures, unit_of(verdict, verdict->pictures),
                 begin, bound, bounds->sqnr_option,
                 say_pictures((double)verdict->pictures, part->sqnr, least, bound, wanted, sizeof wanted));
}

static dq_status fail_agreement(const dq_verdict *verdict, const dq_verdict_bounds *bounds, const char *path,
                                dq_error *error) {
  const dq_verdict_part *part = worst_answers(verdict, least_agreement_of);
  if (!part)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "%s: no output stands for classes, sequences, points, a mask or known boxes, which %s needs", path,
                   bounds->agreement_option);
  const double kept = agreement_of(verdict, part), least = least_agreement_of(verdict, part), bound = bounds->agreement;
  const char *kind = dq_answers_name(&part->answers);
  char wanted[80];
  say_pictures((double)verdict->pictures, kept, least, bound, wanted, sizeof wanted);
  if (!(kept < 100) && bound < 100)
    snprintf(wanted, sizeof wanted, "; some %" PRId64 " pictures would tell", dq_share_pictures(bound));
  if (!(bound < 100)) snprintf(wanted, sizeof wanted, "; no number of pictures makes all answers sure");
  if (kept < bound)
    return dq_fail(error, DQ_CONDITION, "%s: output '%s' keeps %.4g %% of its %s, less than %.4g %% (%s)", path,
                   part->output, kept, kind, bound, bounds->agreement_option);
  return dq_fail(error, DQ_CONDITION,
                 "%s: output '%s' keeps %.4g %% of its %s on %" PRId64
                 " %s, but its 95 %% interval begins at %.4g %%: %.4g %% (%s) are not sure on others%s",
                 path, part->output, kept, kind, verdict->pictures, unit_of(verdict, verdict->pictures), least, bound,
                 bounds->agreement_option, wanted);
}

dq_status dq_verdict_check(const dq_verdict *verdict, const dq_verdict_bounds *bounds, const char *path,
                           dq_error *error) {
  const dq_verdict_part *part = worst_by(verdict, sqnr_of);
  if (part && verdict->broken) {
    char name[300], broken[120];
    return dq_fail(error, DQ_CONDITION, "%s: %s %s", path, name_part(part, name, sizeof name),
                   describe_broken(verdict, part, broken, sizeof broken));
  }
  if (!reaches(dq_verdict_least_sqnr(verdict), bounds->sqnr)) return fail_sqnr(verdict, bounds, path, error);
  if (!reaches(dq_verdict_least_agreement(verdict), bounds->agreement))
    return fail_agreement(verdict, bounds, path, error);
  return DQ_OK;
}

// " (95 % interval 30.8 to 35.6)" for what the figure is on other pictures; "" where nothing is known of them
static const char *describe_interval(const dq_verdict *verdict, const dq_interval *interval, const char *format,
                                     char *text, size_t size) {
  *text = 0;
  if (dq_verdict_tells_of_others(verdict) && isfinite(interval->low) && isfinite(interval->high))
    snprintf(text, size, format, interval->low, interval->high);
  return text;
}

// "has an SQNR of 12.0 dB"
static const char *describe_sqnr(const dq_verdict *verdict, const dq_verdict_part *part, char *text, size_t size) {
  const char *has = part->whole ? "has" : "have", *is = part->whole ? "is" : "are";
  char others[60];
  describe_interval(verdict, &part->others, " (95 %% interval %.1f to %.1f)", others, sizeof others);
  if (verdict->broken) return describe_broken(verdict, part, text, size);
  if (isinf(part->sqnr) && part->sqnr > 0) snprintf(text, size, "%s equal to that of the float model", is);
  else if (verdict->count > 1) snprintf(text, size, "%s the lowest SQNR, %.1f dB%s", has, part->sqnr, others);
  else snprintf(text, size, "%s an SQNR of %.1f dB%s", has, part->sqnr, others);
  return text;
}

const char *dq_verdict_text(const dq_verdict *verdict, char *text, size_t size) {
  static const char *const of[] = {" that nothing was fitted to,", " that the conversion was fitted to,", "",
                                   " of noise"};
  const dq_verdict_part *part = worst_by(verdict, sqnr_of), *answers = worst_among(verdict, agreement_of, KNOWN);
  char name[300], sqnr[160], kept[160] = "", others[60];
  if (!part) return snprintf(text, size, "No output was compared."), text;
  if (answers)
    snprintf(kept, sizeof kept, " %.4g %% of the %s%s are those of the float model.",
             dq_answers_agreement(&answers->answers), dq_answers_name(&answers->answers),
             describe_interval(verdict, &answers->kept, " (95 %% interval %.3g to %.3g)", others, sizeof others));
  snprintf(text, size, "On %" PRId64 " %s%s %s %s.%s", verdict->pictures, unit_of(verdict, verdict->pictures),
           of[verdict->data], name_part(part, name, sizeof name), describe_sqnr(verdict, part, sqnr, sizeof sqnr),
           kept);
  return text;
}
