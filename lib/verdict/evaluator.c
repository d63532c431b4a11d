#include "lib/verdict/evaluator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/graph/saturation.h"
#include "lib/ops/table/product.h"
#include "lib/verdict/sorted_rows.h"

enum { MOST_OUTPUTS = 16 }; // of a detector

static dq_status copy_output(float **to, const dq_tensor *tensor, const dq_context *context, dq_error *error) {
  if (!*to) *to = dq_context_alloc(context, dq_tensor_bytes(tensor));
  if (!*to) return dq_fail_memory(error, dq_tensor_bytes(tensor));
  memcpy(*to, tensor->data, dq_tensor_bytes(tensor));
  return DQ_OK;
}

static dq_status store_exact(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  dq_evaluator *evaluator = user;
  int64_t picture = evaluator->outputs[slot].pictures_done++;
  if (picture == evaluator->what.pictures)
    return dq_fail(error, DQ_UNSUPPORTED, "an output was computed more than once for a picture");
  evaluator->outputs[slot].shape = *tensor;
  if (evaluator->detects)
    DQ_TRY(dq_output_error_add(&evaluator->outputs[slot].exact, tensor, tensor->data, tensor->data, evaluator->arena,
                               evaluator->context, error));
  return copy_output(&evaluator->exact[picture * evaluator->what.count + slot], tensor, evaluator->context, error);
}

// The answers of the current picture, to those of its row.
static void move_answers(dq_evaluator *evaluator, int slot, int64_t picture) {
  dq_answers *answers = &evaluator->outputs[slot].answers;
  dq_row_error *row = dq_picture_errors_at(&evaluator->errors, evaluator->done + picture, slot);
  row->answers += answers->answers, row->equal += answers->equal;
  answers->answers = answers->equal = 0;
}

// When the last output of a picture has come.
static dq_status compare_detections(dq_evaluator *evaluator, int64_t picture, dq_error *error) {
  dq_tensor tensors[2][MOST_OUTPUTS];
  const dq_tensor *pointers[2][MOST_OUTPUTS];
  for (int o = 0; o < evaluator->what.count; o++) {
    tensors[0][o] = tensors[1][o] = evaluator->outputs[o].shape;
    tensors[0][o].data = evaluator->exact[picture * evaluator->what.count + o];
    tensors[1][o].data = evaluator->outputs[o].other;
    for (int i = 0; i < 2; i++) pointers[i][o] = &tensors[i][o];
  }
  DQ_TRY(dq_detection_error_compare(&evaluator->detection, pointers[0], pointers[1], &evaluator->signal[picture],
                                    &evaluator->moved[picture], error));
  dq_answers *answers = &evaluator->outputs[0].answers;
  DQ_TRY(dq_detection_error_add_answers(&evaluator->detection, answers, error));
  move_answers(evaluator, 0, picture);
  return DQ_OK;
}

static void record_broken(dq_evaluator *evaluator, const dq_evaluated_output *output, int64_t picture, double noise) {
  if (!output->features && !(noise < INFINITY)) evaluator->errors.is_broken[evaluator->done + picture] = true;
}

// What is compared with the float output: the elements of the form that runs, sorted rows in its order.
static dq_status align(const dq_evaluator *evaluator, dq_evaluated_output *output, const float *exact,
                       const dq_tensor *given, dq_tensor *aligned, dq_error *error) {
  *aligned = *given;
  if (!output->sorted) return DQ_OK;
  if (!output->matched) output->matched = dq_context_alloc(evaluator->context, dq_tensor_bytes(given));
  if (!output->matched) return dq_fail_memory(error, dq_tensor_bytes(given));
  aligned->data = output->matched;
  return dq_match_rows(output->matched, given, exact, given->data, error);
}

static dq_status compare(void *user, int slot, const dq_tensor *given, dq_error *error) {
  dq_evaluator *evaluator = user;
  dq_evaluated_output *output = &evaluator->outputs[slot];
  int64_t picture = output->pictures_done++;
  const float *exact = evaluator->exact[picture * evaluator->what.count + slot];
  dq_tensor aligned, *tensor = &aligned;
  if (dq_tensor_count(given) != dq_tensor_count(&output->shape))
    return dq_fail(error, DQ_BAD_INPUT, "output '%s' has %" PRId64 " elements, that of the original has %" PRId64,
                   output->name, dq_tensor_count(given), dq_tensor_count(&output->shape));
  DQ_TRY(align(evaluator, output, exact, given, &aligned, error));
  dq_output_error_clear(&output->last);
  DQ_TRY(dq_output_error_add(&output->last, tensor, exact, tensor->data, evaluator->arena, evaluator->context, error));
  DQ_TRY(dq_picture_errors_add(&evaluator->errors, evaluator->done + picture, slot, &output->last, evaluator->arena,
                               error));
  if (!evaluator->detects) {
    double noise = dq_output_error_noise(&output->last);
    evaluator->score->noise[picture] += noise;
    record_broken(evaluator, output, picture, noise);
    if (evaluator->score->plain_noise && !output->features) evaluator->score->plain_noise[picture] += noise;
    DQ_TRY(dq_answers_add(&output->answers, tensor, exact, tensor->data, error));
    move_answers(evaluator, slot, picture);
    return DQ_OK;
  }
  const double pictures = (double)evaluator->what.pictures;
  double share = dq_output_error_share(&output->last, &output->exact);
  evaluator->score->noise[picture] += pictures * share;
  record_broken(evaluator, output, picture, share);
  DQ_TRY(copy_output(&output->other, tensor, evaluator->context, error));
  for (int o = 0; o < evaluator->what.count; o++)
    if (evaluator->outputs[o].pictures_done <= picture) return DQ_OK;
  return compare_detections(evaluator, picture, error);
}

static dq_status open_detection(dq_evaluator *evaluator, dq_tensor *tensors, dq_error *error) {
  const dq_graph *graph = evaluator->options.graph;
  if (evaluator->what.count != graph->output_count || evaluator->what.count > MOST_OUTPUTS) return DQ_OK;
  return dq_detection_error_open(&evaluator->detection, &evaluator->detects, graph, tensors, evaluator->options.decode,
                                 evaluator->context, error);
}

static dq_value *argument_of(const dq_value *output) { return dq_before_function(output, dq_saturating_functions); }

static bool has_lost_function(const dq_graph *other, int position) {
  return other && position < other->output_count && !argument_of(other->outputs[position]);
}

// The data of the matrix product that computes a value, through moves and constants that are added or multiplied; NULL:
// something else computes the value.
static dq_value *features_of(const dq_value *value) {
  const dq_node *node = value->producer;
  dq_product product;
  while (node && !dq_product_of(node, &product)) {
    for (int i = 1; i < node->input_count; i++)
      if (node->inputs[i] && !node->inputs[i]->constant) return NULL;
    const dq_value *input = dq_node_input(node, 0); // NULL: of a Constant
    node = input ? input->producer : NULL;
  }
  dq_value *data = node && product.kind == DQ_MATRIX_PRODUCT ? node->inputs[product.at.data] : NULL;
  return data && data->producer ? data : NULL;
}

// The names of what is compared in a form of the network, whose outputs are in the same order in all forms.
static dq_status name_compared(dq_evaluator *evaluator, const dq_graph *graph, dq_error *error) {
  for (int o = 0; o < evaluator->what.count; o++) {
    const dq_evaluated_output *output = &evaluator->outputs[o];
    const dq_value *value = output->position < graph->output_count ? graph->outputs[output->position] : NULL;
    if (value && output->function) value = argument_of(value);
    if (value && output->features) value = features_of(value);
    if (!value)
      return dq_fail(error, DQ_UNSUPPORTED, "output '%s' is missing, or has lost its %s", output->name,
                     output->function ? output->function : "features");
    evaluator->names[o] = value->name;
  }
  evaluator->what.graph = graph;
  return DQ_OK;
}

// Lists the features of outputs of few numbers, whose error depends on chance otherwise.
static void list_features(dq_evaluator *evaluator, const dq_tensor *tensors) {
  static const int64_t FEW = 64, TIMES = 4;
  int outputs = evaluator->what.count;
  for (int o = 0; o < outputs; o++) {
    dq_evaluated_output output = evaluator->outputs[o];
    const dq_value *value = evaluator->options.graph->outputs[output.position];
    if (output.function) value = argument_of(value);
    const dq_value *features = features_of(value);
    if (!features || dq_tensor_count(&tensors[value->index]) > FEW) continue;
    const dq_tensor *tensor = &tensors[features->index];
    if (tensor->rank < 0 || dq_tensor_count(tensor) < TIMES * dq_tensor_count(&tensors[value->index])) continue;
    output.features = true;
    evaluator->outputs[evaluator->what.count++] = output;
  }
}

// What is compared in place of an output: the argument of the function that computes it, whose results may saturate.
static void choose_compared(const dq_evaluator *evaluator, dq_evaluated_output *output, const dq_tensor *tensors) {
  const dq_graph *graph = evaluator->options.graph;
  const dq_value *value = graph->outputs[output->position], *compared = value, *argument = argument_of(value);
  output->sorted = dq_has_sorted_rows(value, &tensors[value->index]);
  if (evaluator->detects || output->sorted) return;
  if (argument && dq_dtype_is_float(tensors[argument->index].type) && tensors[argument->index].rank >= 0 &&
      !has_lost_function(evaluator->options.other, output->position)) {
    compared = argument;
    output->function = dq_function_behind(value, dq_saturating_functions)->op_type;
  }
  output->answers = dq_answers_of(graph, value, tensors, compared);
}

// Lists the float outputs that are computed, and what is compared in their place.
static dq_status list_outputs(dq_evaluator *evaluator, dq_error *error) {
  const dq_graph *graph = evaluator->options.graph;
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, evaluator->options.shapes, DQ_INFER_TOLERANT, evaluator->context, evaluator->arena, &tensors,
                  error));
  for (int o = 0; o < graph->output_count; o++) {
    const dq_value *output = graph->outputs[o];
    const dq_tensor *tensor = &tensors[output->index];
    if (!output->producer || !dq_dtype_is_float(tensor->type) || tensor->rank < 0) continue;
    evaluator->outputs[evaluator->what.count++] = (dq_evaluated_output){.name = output->name, .position = o};
  }
  DQ_TRY(open_detection(evaluator, tensors, error));
  for (int o = 0; o < evaluator->what.count; o++) {
    dq_evaluated_output *output = &evaluator->outputs[o];
    choose_compared(evaluator, output, tensors);
    if (!o && evaluator->detects) output->answers.kind = DQ_ANSWER_BOX;
  }
  if (evaluator->options.features && !evaluator->detects) list_features(evaluator, tensors);
  return DQ_OK;
}

// Numbers that look like scores of classes on the first pictures are such. Noise shows nothing of them.
static void settle_answers(dq_evaluator *evaluator) {
  const bool labelled = dq_data_labelled(evaluator->options.data) == DQ_LABEL_CLASS;
  for (int o = 0; o < evaluator->what.count && !evaluator->options.noise; o++) {
    dq_evaluated_output *output = &evaluator->outputs[o];
    dq_score_look look = {0};
    if (output->features || !output->answers.guessed) continue;
    for (int64_t p = 0; p < evaluator->what.pictures; p++)
      dq_answers_look(&output->answers, &output->shape, evaluator->exact[p * evaluator->what.count + o], &look);
    const int64_t classes = output->shape.dims[output->answers.axis];
    const bool scores = labelled || dq_score_look_is_classes(&look, classes);
    output->answers.guessed = !scores || output->answers.picture;
  }
}

static void restart(dq_evaluator *evaluator) {
  for (int o = 0; o < evaluator->what.count; o++) evaluator->outputs[o].pictures_done = 0;
}

dq_status dq_evaluator_move(dq_evaluator *evaluator, int64_t first, int64_t count, dq_error *error) {
  evaluator->options.first = evaluator->what.first = first;
  evaluator->options.pictures = evaluator->what.pictures = count;
  restart(evaluator);
  for (int o = 0; o < evaluator->what.count; o++) dq_output_error_clear(&evaluator->outputs[o].exact);
  DQ_TRY(name_compared(evaluator, evaluator->options.graph, error));
  dq_observation exact = evaluator->what;
  exact.also = evaluator->options.also;
  evaluator->options.also = NULL;
  return dq_observe(&exact, store_exact, evaluator, evaluator->context, error);
}

dq_status dq_evaluator_open(dq_evaluator *evaluator, const dq_evaluator_options *options, const dq_context *context,
                            dq_arena *arena, dq_error *error) {
  int outputs = 2 * options->graph->output_count;
  *evaluator = (dq_evaluator){.options = *options, .capacity = options->pictures, .context = context, .arena = arena};
  evaluator->names = DQ_NEW_ARRAY(arena, outputs, const char *);
  evaluator->outputs = DQ_NEW_ARRAY(arena, outputs, dq_evaluated_output);
  evaluator->exact = DQ_NEW_ARRAY(arena, options->pictures * outputs, float *);
  evaluator->signal = DQ_NEW_ARRAY(arena, options->pictures, double);
  evaluator->moved = DQ_NEW_ARRAY(arena, options->pictures, double);
  if (!evaluator->names || !evaluator->outputs || !evaluator->exact || !evaluator->signal || !evaluator->moved)
    return dq_fail_memory(error, 0);
  evaluator->what = (dq_observation){.shapes = options->shapes,
                                     .names = evaluator->names,
                                     .data = options->data,
                                     .doing = "judging",
                                     .any_float = true};
  DQ_TRY(list_outputs(evaluator, error));
  if (!evaluator->detects) evaluator->what.batch = options->batch; // boxes need all outputs of a picture
  const int64_t all = options->all_pictures ? options->all_pictures : options->pictures;
  DQ_TRY(dq_picture_errors_open(&evaluator->errors, evaluator->what.count, all, arena, error));
  DQ_TRY(dq_evaluator_move(evaluator, options->first, options->pictures, error));
  settle_answers(evaluator);
  return DQ_OK;
}

void dq_evaluator_close(dq_evaluator *evaluator) {
  for (int64_t i = 0; evaluator->exact && i < evaluator->capacity * evaluator->what.count; i++)
    dq_budget_free(evaluator->exact[i]);
  for (int o = 0; evaluator->outputs && o < evaluator->what.count; o++) {
    dq_budget_free(evaluator->outputs[o].other), dq_budget_free(evaluator->outputs[o].matched);
    evaluator->outputs[o].other = evaluator->outputs[o].matched = NULL;
  }
  dq_detection_error_close(&evaluator->detection);
  evaluator->detection = (dq_detection_error){0};
  evaluator->exact = NULL; // the arena's
}

static double sum_of(const double *numbers, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += numbers[i];
  return sum;
}

// Adds the noise of the predictions to that of the candidates.
static void score_detections(dq_evaluator *evaluator) {
  dq_score *score = evaluator->score;
  int64_t pictures = evaluator->what.pictures;
  double signal = sum_of(evaluator->signal, pictures) / (double)pictures;
  for (int64_t p = 0; p < pictures; p++)
    if (evaluator->moved[p] > 0) score->noise[p] += signal > 0 ? evaluator->moved[p] / signal : 0;
  double noise = sum_of(score->noise, pictures) / (double)pictures;
  score->decibels = noise > 0 ? -10 * log10(noise) : INFINITY;
}

// The sums of all pictures that were added.
static dq_status sum_pictures(dq_evaluator *evaluator, dq_error *error) {
  for (int o = 0; o < evaluator->what.count; o++) {
    dq_evaluated_output *output = &evaluator->outputs[o];
    dq_output_error_clear(&output->error);
    dq_row_error sum = {.error = output->error};
    DQ_TRY(dq_picture_errors_sum(&evaluator->errors, o, &sum, evaluator->arena, error));
    output->error = sum.error;
    output->answers.answers = sum.answers, output->answers.equal = sum.equal;
  }
  return DQ_OK;
}

// The SQNR of the outputs' channels over all pictures that were added; of detectors that of the last pictures.
static dq_status score_outputs(dq_evaluator *evaluator, dq_error *error) {
  dq_score *score = evaluator->score;
  int count = evaluator->what.count, plain = count;
  if (evaluator->detects) {
    score_detections(evaluator);
    return DQ_OK;
  }
  dq_output_error *errors = DQ_NEW_ARRAY(evaluator->arena, count, dq_output_error);
  if (!errors) return dq_fail_memory(error, 0);
  for (int o = 0; o < count; o++) errors[o] = evaluator->outputs[o].error;
  while (plain && evaluator->outputs[plain - 1].features) plain--;
  score->decibels = dq_output_error_sqnr(errors, count);
  score->plain_decibels = dq_output_error_sqnr(errors, plain);
  return DQ_OK;
}

dq_status dq_evaluate_more(dq_evaluator *evaluator, const dq_graph *other, dq_score *score, dq_error *error) {
  const size_t bytes = (size_t)evaluator->what.pictures * sizeof *score->noise;
  evaluator->score = score;
  restart(evaluator);
  for (int o = 0; o < evaluator->what.count; o++)
    evaluator->outputs[o].answers.answers = evaluator->outputs[o].answers.equal = 0;
  memset(score->noise, 0, bytes);
  if (score->plain_noise) memset(score->plain_noise, 0, bytes);
  DQ_TRY(name_compared(evaluator, other, error));
  DQ_TRY(dq_observe(&evaluator->what, compare, evaluator, evaluator->context, error));
  evaluator->done += evaluator->what.pictures;
  DQ_TRY(sum_pictures(evaluator, error));
  return score_outputs(evaluator, error);
}

dq_status dq_evaluate(dq_evaluator *evaluator, const dq_graph *other, dq_score *score, dq_error *error) {
  dq_picture_errors_clear(&evaluator->errors);
  evaluator->done = 0;
  return dq_evaluate_more(evaluator, other, score, error);
}

// Returns the SQNR of a detector, in dB: that of its mean noise without the picture `left_out`.
static double decibels_of_noise(const double *noise, int64_t pictures, int64_t left_out) {
  double mean = (sum_of(noise, pictures) - noise[left_out]) / (double)(pictures - 1);
  return mean > 0 ? -10 * log10(mean) : INFINITY;
}

dq_status dq_evaluator_decibels(const dq_evaluator *evaluator, const dq_picture_errors *errors, const double *noise,
                                int64_t left_out, double *decibels, dq_arena *arena, dq_error *error) {
  if (evaluator->detects) {
    *decibels = decibels_of_noise(noise, errors->pictures, left_out);
    return DQ_OK;
  }
  dq_output_error *sums = DQ_NEW_ARRAY(arena, errors->outputs, dq_output_error);
  if (!sums) return dq_fail_memory(error, 0);
  for (int o = 0; o < errors->outputs; o++)
    for (int64_t p = 0; p < errors->pictures; p++)
      if (p != left_out)
        DQ_TRY(dq_output_error_join(&sums[o], &dq_picture_errors_at(errors, p, o)->error, arena, error));
  *decibels = dq_output_error_sqnr(sums, errors->outputs);
  return DQ_OK;
}

double dq_score_gain(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score) {
  if (!evaluator->detects) return score->decibels - best->decibels;
  return dq_noise_ratio(best->noise, score->noise, evaluator->what.pictures) * 10 / log(10);
}

double dq_score_gain_by_picture(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score) {
  int64_t pictures = evaluator->what.pictures;
  double sum = 0;
  for (int64_t p = 0; p < pictures; p++)
    if (best->noise[p] > 0 && score->noise[p] > 0 && best->noise[p] < INFINITY)
      sum += 10 * log10(best->noise[p] / score->noise[p]);
  return pictures ? sum / (double)pictures : 0;
}
