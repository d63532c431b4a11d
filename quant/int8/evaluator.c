#include "quant/int8/evaluator.h"

#include <math.h>
#include <string.h>

#include "lib/graph/saturation.h"

enum { MOST_OUTPUTS = 16 }; // of a detector

static dq_status copy_output(float **to, const dq_tensor *tensor, const dq_context *context, dq_error *error) {
  if (!*to) *to = dq_context_alloc(context, dq_tensor_bytes(tensor));
  if (!*to) return dq_fail_memory(error, dq_tensor_bytes(tensor));
  memcpy(*to, tensor->data, dq_tensor_bytes(tensor));
  return DQ_OK;
}

static dq_status store_exact(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  dq_evaluator *evaluator = user;
  int64_t picture = evaluator->pictures_done[slot]++;
  if (picture == evaluator->what.pictures)
    return dq_fail(error, DQ_UNSUPPORTED, "an output was computed more than once for a picture");
  evaluator->shapes[slot] = *tensor;
  return copy_output(&evaluator->exact[picture * evaluator->what.count + slot], tensor, evaluator->job->in->context,
                     error);
}

// When the last output of a picture has come.
static dq_status compare_detections(dq_evaluator *evaluator, int64_t picture, dq_error *error) {
  dq_tensor tensors[2][MOST_OUTPUTS];
  const dq_tensor *pointers[2][MOST_OUTPUTS];
  for (int o = 0; o < evaluator->what.count; o++) {
    tensors[0][o] = tensors[1][o] = evaluator->shapes[o];
    tensors[0][o].data = evaluator->exact[picture * evaluator->what.count + o];
    tensors[1][o].data = evaluator->others[o];
    for (int i = 0; i < 2; i++) pointers[i][o] = &tensors[i][o];
  }
  return dq_detection_error_compare(&evaluator->detection, pointers[0], pointers[1], &evaluator->signal[picture],
                                    &evaluator->score->noise[picture], error);
}

static dq_status compare_output(dq_evaluator *evaluator, int slot, int64_t picture, const dq_tensor *tensor,
                                dq_error *error) {
  const float *exact = evaluator->exact[picture * evaluator->what.count + slot];
  evaluator->score->noise[picture] += dq_relative_noise(exact, tensor->data, dq_tensor_count(tensor));
  return dq_output_error_add(&evaluator->outputs[slot], tensor, exact, tensor->data, evaluator->job->arena, error);
}

static dq_status compare(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  dq_evaluator *evaluator = user;
  int64_t picture = evaluator->pictures_done[slot]++;
  if (!evaluator->detects) return compare_output(evaluator, slot, picture, tensor, error);
  DQ_TRY(copy_output(&evaluator->others[slot], tensor, evaluator->job->in->context, error));
  for (int o = 0; o < evaluator->what.count; o++)
    if (evaluator->pictures_done[o] <= picture) return DQ_OK;
  return compare_detections(evaluator, picture, error);
}

static dq_status open_detection(dq_evaluator *evaluator, dq_tensor *tensors) {
  const dq_int8_job *job = evaluator->job;
  if (evaluator->what.count != job->graph->output_count || evaluator->what.count > MOST_OUTPUTS) return DQ_OK;
  return dq_detection_error_open(&evaluator->detection, &evaluator->detects, job->graph, tensors,
                                 job->in->options->decode, job->arena, job->error);
}

int64_t dq_evaluated_pictures(int64_t pictures) {
  int64_t half = (pictures + 1) / 2;
  return half < DQ_EVALUATED_PICTURES ? half : DQ_EVALUATED_PICTURES;
}

int64_t dq_trial_pictures(int64_t pictures, int64_t most) {
  int64_t others = pictures - dq_evaluated_pictures(pictures);
  return others < 1 ? pictures : others < most ? others : most;
}

static dq_value *softmax_argument(const dq_value *output) {
  static const char *const functions[] = {"Softmax", "LogSoftmax", NULL};
  return dq_before_function(output, functions);
}

// The names of what is compared in a form of the network, whose outputs have the same names in all forms.
static dq_status name_compared(dq_evaluator *evaluator, const dq_graph *graph) {
  for (int o = 0; o < evaluator->what.count; o++) {
    const dq_value *value = dq_graph_find(graph, evaluator->sources[o]);
    if (evaluator->before_softmax[o]) value = softmax_argument(value);
    if (!value)
      return dq_fail(evaluator->job->error, DQ_UNSUPPORTED, "output '%s' has lost its Softmax", evaluator->sources[o]);
    evaluator->names[o] = value->name;
  }
  return DQ_OK;
}

static void find_softmax(dq_evaluator *evaluator, const dq_tensor *tensors) {
  for (int o = 0; o < evaluator->what.count; o++) {
    const dq_value *argument = softmax_argument(dq_graph_find(evaluator->job->graph, evaluator->sources[o]));
    const dq_tensor *tensor = argument ? &tensors[argument->index] : NULL;
    evaluator->before_softmax[o] = tensor && tensor->type == DQ_F32 && tensor->rank >= 0;
  }
}

dq_status dq_evaluator_open(dq_evaluator *evaluator, const dq_int8_job *job) {
  const dq_graph *graph = job->graph;
  int outputs = graph->output_count;
  int64_t evaluated = dq_evaluated_pictures(job->pictures);
  *evaluator = (dq_evaluator){.job = job};
  evaluator->names = DQ_NEW_ARRAY(job->arena, outputs, const char *);
  evaluator->sources = DQ_NEW_ARRAY(job->arena, outputs, const char *);
  evaluator->before_softmax = DQ_NEW_ARRAY(job->arena, outputs, bool);
  evaluator->shapes = DQ_NEW_ARRAY(job->arena, outputs, dq_tensor);
  evaluator->exact = DQ_NEW_ARRAY(job->arena, evaluated * outputs, float *);
  evaluator->others = DQ_NEW_ARRAY(job->arena, outputs, float *);
  evaluator->pictures_done = DQ_NEW_ARRAY(job->arena, outputs, int64_t);
  evaluator->outputs = DQ_NEW_ARRAY(job->arena, outputs, dq_output_error);
  evaluator->signal = DQ_NEW_ARRAY(job->arena, evaluated, double);
  if (!evaluator->names || !evaluator->sources || !evaluator->before_softmax || !evaluator->shapes ||
      !evaluator->exact || !evaluator->others || !evaluator->pictures_done || !evaluator->outputs || !evaluator->signal)
    return dq_fail_memory(job->error, 0);
  evaluator->what = (dq_observation){.graph = graph,
                                     .shapes = &job->in->options->shapes,
                                     .names = evaluator->names,
                                     .data = job->in->data,
                                     .first = job->pictures - evaluated,
                                     .pictures = evaluated,
                                     .doing = "judging"};
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, &job->in->options->shapes, DQ_INFER_TOLERANT, job->in->context, job->arena, &tensors,
                  job->error));
  for (int o = 0; o < outputs; o++)
    if (graph->outputs[o]->producer && graph->outputs[o]->type == DQ_F32 && tensors[graph->outputs[o]->index].rank >= 0)
      evaluator->sources[evaluator->what.count++] = graph->outputs[o]->name;
  DQ_TRY(open_detection(evaluator, tensors));
  if (!evaluator->detects) {
    evaluator->what.batch = job->in->options->batch; // boxes need all outputs of a picture
    find_softmax(evaluator, tensors);
  }
  DQ_TRY(name_compared(evaluator, graph));
  return dq_observe(&evaluator->what, store_exact, evaluator, job->in->context, job->error);
}

void dq_evaluator_close(dq_evaluator *evaluator) {
  for (int64_t i = 0; evaluator->exact && i < evaluator->what.pictures * evaluator->what.count; i++)
    dq_budget_free(evaluator->exact[i]);
  for (int o = 0; evaluator->others && o < evaluator->what.count; o++) dq_budget_free(evaluator->others[o]);
  dq_detection_error_close(&evaluator->detection);
}

static double sum_of(const double *numbers, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += numbers[i];
  return sum;
}

static double decibels_of(const dq_evaluator *evaluator) {
  if (!evaluator->detects) return dq_output_error_sqnr(evaluator->outputs, evaluator->what.count);
  double noise = sum_of(evaluator->score->noise, evaluator->what.pictures);
  return noise > 0 ? 10 * log10(sum_of(evaluator->signal, evaluator->what.pictures) / noise) : INFINITY;
}

dq_status dq_evaluate(dq_evaluator *evaluator, const dq_graph *quantized, dq_score *score) {
  const dq_int8_job *job = evaluator->job;
  evaluator->score = score;
  evaluator->what.graph = quantized;
  memset(evaluator->pictures_done, 0, (size_t)evaluator->what.count * sizeof *evaluator->pictures_done);
  memset(score->noise, 0, (size_t)evaluator->what.pictures * sizeof *score->noise);
  for (int o = 0; o < evaluator->what.count; o++) dq_output_error_clear(&evaluator->outputs[o]);
  DQ_TRY(name_compared(evaluator, quantized));
  DQ_TRY(dq_observe(&evaluator->what, compare, evaluator, job->in->context, job->error));
  score->decibels = decibels_of(evaluator);
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
