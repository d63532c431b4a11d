// Comparing the values of two models picture by picture.
#include "lib/eval/layers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/eval/scores.h"
#include "lib/session/divided.h"

// ---- Running both ----

// The candidate runs, and the reference follows it as far as is needed to compare what the candidate
// delivers, so that only few values are kept at any time.

// A value of the reference as floats until the candidate's is compared with it.
typedef struct kept_value {
  float *values;
  int64_t count;
} kept_value;

// What a picture gives, as the processes of a job send it each other.
enum { LAYER, NETWORK_OUTPUT, ANSWER }; // two are a dq_comparison each, the third is an answer
typedef struct answer {
  int64_t classes; // as in compare_job
  dq_score_look look;
} answer;

typedef struct compare_job {
  dq_layer_comparison *result;
  dq_runner reference, candidate;
  dq_divided_loop divided;
  kept_value *kept;     // by layer: what the reference said of this picture
  int step;             // of the reference's plan, the next
  int *reference_layer; // by value index of the session's copy: layer or -1
  int *candidate_layer;
  int *next_layer; // by layer: the next one with the same value of the candidate, or -1
  dq_data *data;
  bool is_softmax;    // output 0 comes from a Softmax
  dq_score_look look; // at the vectors of output 0
  int64_t classes;    // their length; 0: it has none
  const dq_context *context;
} compare_job;

static dq_status store(compare_job *job, kept_value *kept, int64_t count, dq_error *error) {
  size_t bytes = (size_t)count * sizeof *kept->values;
  DQ_TRY(dq_check_memory(job->context, bytes, "the reference's values of one picture", error));
  kept->values = dq_context_alloc(job->context, bytes);
  if (!kept->values) return dq_fail_memory(error, bytes);
  kept->count = count;
  return DQ_OK;
}

static void forget(kept_value *kept) {
  dq_budget_free(kept->values);
  *kept = (kept_value){0};
}

static dq_status store_reference(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  compare_job *job = user;
  int layer = job->reference_layer[value->index];
  if (layer < 0 || !dq_dtype_is_float(tensor->type)) return DQ_OK;
  kept_value *kept = &job->kept[layer];
  DQ_TRY(store(job, kept, dq_tensor_count(tensor), error));
  if (tensor->type == DQ_F32) memcpy(kept->values, tensor->data, dq_tensor_bytes(tensor));
  else
    for (int64_t i = 0; i < kept->count; i++) kept->values[i] = (float)dq_tensor_get(tensor, i);
  return DQ_OK;
}

static dq_status add_picture(void *user, int kind, int index, const dq_tensor *measured, dq_error *error) {
  compare_job *job = user;
  (void)error;
  if (kind == LAYER) dq_comparison_merge(&job->result->layers[index].comparison, measured->data);
  if (kind == NETWORK_OUTPUT) dq_comparison_merge(&job->result->outputs[index].comparison, measured->data);
  if (kind != ANSWER) return DQ_OK;
  const answer *one = measured->data;
  job->classes = one->classes;
  dq_score_look_merge(&job->look, &one->look);
  return DQ_OK;
}

// Channel by channel, where they have moved.
static void compare_channels(dq_comparison *comparison, const dq_layer_pair *pair, const float *kept,
                             const dq_tensor *tensor) {
  int64_t count = pair->channel_count;
  if (tensor->rank < 2 || tensor->dims[1] != count) return;
  const float *at = tensor->data;
  int64_t inner = dq_tensor_product(tensor, 2, tensor->rank);
  for (int64_t n = 0; n < tensor->dims[0]; n++, kept += count * inner)
    for (int64_t c = 0; c < count; c++, at += inner)
      dq_comparison_add_values(comparison, kept + pair->channels[c] * inner, at, inner);
}

static dq_status compare_values(compare_job *job, int layer, const dq_tensor *tensor, dq_error *error) {
  const dq_layer_pair *pair = &job->result->layers[layer];
  const kept_value *kept = &job->kept[layer];
  dq_comparison comparison = {0};
  if (kept->count != dq_tensor_count(tensor)) return DQ_OK;
  if (tensor->type == DQ_F32 && pair->channels) compare_channels(&comparison, pair, kept->values, tensor);
  else if (tensor->type == DQ_F32) dq_comparison_add_values(&comparison, kept->values, tensor->data, kept->count);
  for (int64_t i = 0; tensor->type != DQ_F32 && !pair->channels && i < kept->count; i++) {
    float other = (float)dq_tensor_get(tensor, i);
    dq_comparison_add_values(&comparison, &kept->values[i], &other, 1);
  }
  return dq_divided_give_bytes(&job->divided, LAYER, layer, &comparison, sizeof comparison, error);
}

// Runs the reference until it has delivered a layer's value, or to its end.
static dq_status follow(compare_job *job, const kept_value *awaited, dq_error *error) {
  dq_plan *plan = job->reference.session.plan;
  for (; job->step < dq_plan_step_count(plan) && !(awaited && awaited->values); job->step++)
    DQ_TRY(dq_plan_run_steps(plan, job->step, job->step + 1, error));
  return DQ_OK;
}

static dq_status compare_candidate(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  compare_job *job = user;
  if (!dq_dtype_is_float(tensor->type)) return DQ_OK;
  // Several values of the reference may stand behind one of the candidate's.
  for (int l = job->candidate_layer[value->index]; l >= 0; l = job->next_layer[l]) {
    DQ_TRY(follow(job, &job->kept[l], error));
    DQ_TRY(compare_values(job, l, tensor, error));
    forget(&job->kept[l]);
  }
  return DQ_OK;
}

// Opens a session with all layers' values tapped.
static dq_status open_side(compare_job *job, dq_runner *runner, const dq_graph *graph, bool candidate,
                           const dq_layer_options *options, dq_arena *arena, dq_error *error) {
  int count = job->result->layer_count;
  const char **taps = DQ_NEW_ARRAY(arena, count + 1, const char *);
  if (!taps) return dq_fail_memory(error, (size_t)count * sizeof *taps);
  for (int i = 0; i < count; i++) {
    const dq_layer_pair *pair = &job->result->layers[i];
    taps[i] = candidate ? pair->candidate->name : pair->reference->name;
  }
  dq_runner_options runner_options = {.session = {.shapes = options->shapes, .taps = taps, .tap_count = count},
                                      .batch = 1};
  dq_status status = dq_runner_open(runner, graph, job->data, &runner_options, job->context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", graph->path);
  const dq_graph *copy = runner->session.copy;
  int *layers = DQ_NEW_ARRAY(arena, copy->value_count + 1, int), *next = DQ_NEW_ARRAY(arena, count + 1, int);
  if (!layers || !next) return dq_fail_memory(error, (size_t)copy->value_count * sizeof *layers);
  for (int i = 0; i < copy->value_count; i++) layers[i] = -1;
  for (int i = count - 1; i >= 0; i--) {
    const dq_value *value = dq_graph_find(copy, taps[i]);
    if (!value) continue;
    next[i] = layers[value->index];
    layers[value->index] = i;
  }
  if (candidate) job->next_layer = next;
  *(candidate ? &job->candidate_layer : &job->reference_layer) = layers;
  dq_plan_set_tap(runner->session.plan, candidate ? compare_candidate : store_reference, job);
  return DQ_OK;
}

static dq_status look_at(compare_job *job, const dq_tensor *output, dq_error *error) {
  answer one;
  memset(&one, 0, sizeof one);
  one.classes = dq_is_vector(output) ? dq_tensor_count(output) : 0;
  if (one.classes) dq_score_look_add(&one.look, output, 0, one.classes, 1);
  return dq_divided_give_bytes(&job->divided, ANSWER, 0, &one, sizeof one, error);
}

static dq_status compare_outputs(compare_job *job, dq_error *error) {
  for (int i = 0; i < job->result->output_count; i++) {
    dq_comparison comparison = {0};
    if (!dq_plan_output_fixed(job->reference.session.plan, i)) continue; // other elements, not the same ones
    const dq_tensor *reference = dq_plan_output(job->reference.session.plan, i);
    const dq_tensor *candidate = dq_plan_output(job->candidate.session.plan, i);
    dq_status status = dq_comparison_add(&comparison, reference, candidate, -1, error);
    if (status != DQ_OK)
      return dq_error_prefix(error, status, "%s", dq_plan_output_name(job->candidate.session.plan, i));
    DQ_TRY(dq_divided_give_bytes(&job->divided, NETWORK_OUTPUT, i, &comparison, sizeof comparison, error));
    if (i == 0) DQ_TRY(look_at(job, reference, error));
  }
  return DQ_OK;
}

// Whether the vectors of output 0 are scores of classes: by the network, by the labels of the data or by their look.
static bool are_scores(const compare_job *job) {
  return job->is_softmax || dq_data_labelled(job->data) == DQ_LABEL_CLASS ||
         dq_score_look_is_classes(&job->look, job->classes);
}

// Runs the candidate, whose values the reference follows, then the rest of the reference.
static dq_status run_both(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  compare_job *job = user;
  (void)first, (void)count, (void)infos;
  job->step = 0;
  DQ_TRY(dq_runner_run(&job->candidate, error));
  DQ_TRY(follow(job, NULL, error));
  for (int l = 0; l < job->result->layer_count; l++) forget(&job->kept[l]); // the candidate had no such
  return compare_outputs(job, error);
}

static dq_status run_pictures(compare_job *job, int64_t most, dq_error *error) {
  dq_picture_range range = {.step = 1, .count = dq_data_count(job->data), .one_by_one = true, .doing = "comparing"};
  if (most) range.count = dq_min_i64(range.count, most);
  DQ_TRY(dq_divided_run(&job->divided, &range, error));
  job->result->pictures = range.count;
  job->result->scores = job->classes && are_scores(job);
  return DQ_OK;
}

static dq_status open_both(compare_job *job, const dq_graph *reference, const dq_graph *candidate,
                           const dq_layer_options *options, dq_arena *arena, dq_error *error) {
  job->kept = DQ_NEW_ARRAY(arena, job->result->layer_count + 1, kept_value);
  if (!job->kept) return dq_fail_memory(error, sizeof *job->kept);
  DQ_TRY(open_side(job, &job->reference, reference, false, options, arena, error));
  DQ_TRY(open_side(job, &job->candidate, candidate, true, options, arena, error));
  dq_status status = dq_runner_check_share(&job->candidate, &job->reference, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s and %s", candidate->path, reference->path);
}

dq_status dq_compare_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                            dq_data *data, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                            dq_error *error) {
  DQ_TRY(dq_match_layers(result, reference, candidate, options->by_names, context, arena, error));
  compare_job job = {.result = result, .data = data, .context = context};
  job.is_softmax = reference->output_count && dq_is_softmax(reference->outputs[0]);
  job.divided = (dq_divided_loop){
      .loop = {&job.reference, &job.candidate, .run = run_both, .user = &job}, .on_record = add_picture, .user = &job};
  dq_status status = open_both(&job, reference, candidate, options, arena, error);
  status = dq_processes_agree(dq_processes_of(context), status, error);
  if (status == DQ_OK) status = run_pictures(&job, options->pictures, error);
  dq_runner_close(&job.reference);
  dq_runner_close(&job.candidate);
  for (int i = 0; job.kept && i < result->layer_count; i++) forget(&job.kept[i]);
  return status;
}
