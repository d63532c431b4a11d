#include "lib/train/teacher.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/ops/table/operator.h"
#include "lib/train/training_graph.h"

// Scores that went through a LogSoftmax are scores still; a Softmax is named by its row.
static enum dq_teacher_output output_of(const dq_graph *graph) {
  const dq_node *last = graph->outputs[0]->producer;
  const dq_operator *row = last ? dq_operator_find(last->domain, last->op_type) : NULL;
  return row && row == dq_operator_find("", "Softmax") ? DQ_TEACHER_SHARES : DQ_TEACHER_SCORES;
}

static dq_status check(const char *what, const dq_tensor *found, const dq_tensor *expected, dq_error *error) {
  char texts[2][DQ_SHAPE_TEXT];
  if (found->type == DQ_F32 && dq_tensor_same_shape(found, expected)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "its %s is %s of shape %s, expected float32 of shape %s as trained", what,
                 dq_dtype_name(found->type), dq_tensor_shape_text(found, texts[0], sizeof *texts),
                 dq_tensor_shape_text(expected, texts[1], sizeof *texts));
}

// Appends the values of the names to the outputs of the copy.
static dq_status add_outputs(dq_graph *graph, const dq_teacher_options *options, dq_error *error) {
  dq_value **outputs = DQ_NEW_ARRAY(graph->arena, graph->output_count + options->feature_count, dq_value *);
  if (!outputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < graph->output_count; i++) outputs[i] = graph->outputs[i];
  for (int i = 0; i < options->feature_count; i++) {
    dq_value *value = dq_graph_find(graph, options->features[i]);
    if (!value) return dq_fail(error, DQ_BAD_INPUT, "it has no value '%s'", options->features[i]);
    value->is_output = true;
    outputs[graph->output_count++] = value;
  }
  graph->outputs = outputs;
  return DQ_OK;
}

static dq_status check_features(const dq_teacher *teacher, const dq_teacher_options *options, dq_error *error) {
  char what[256];
  for (int i = 0; i < options->feature_count; i++) {
    snprintf(what, sizeof what, "value '%s'", options->features[i]);
    DQ_TRY(
        check(what, dq_plan_output(teacher->session.plan, teacher->outputs + i), options->targets[i].targets, error));
  }
  return DQ_OK;
}

static dq_status open_session(dq_teacher *teacher, const dq_tensor *input, const dq_context *context, dq_error *error) {
  dq_graph *graph = teacher->graph;
  dq_input_shape shape = {.name = "", .rank = input->rank};
  for (int i = 0; i < input->rank; i++) shape.dims[i] = input->dims[i];
  const dq_session_options session = {.shapes = {.batch = input->dims[0], .inputs = &shape, .input_count = 1}};
  for (int i = 0; i < graph->input_count; i++)
    if (!graph->inputs[i]->constant) DQ_TRY(dq_open_batch(graph, graph->inputs[i], error));
  return dq_session_open(&teacher->session, graph, &session, context, error);
}

dq_status dq_teacher_open(dq_teacher *teacher, const dq_teacher_options *options, const dq_tensor *input,
                          const dq_tensor *targets, const dq_context *context, dq_error *error) {
  *teacher = (dq_teacher){.graph = dq_graph_copy(options->graph),
                          .temperature = options->temperature > 0 ? options->temperature : 1};
  if (!teacher->graph) return dq_fail_memory(error, 0);
  teacher->outputs = teacher->graph->output_count;
  DQ_TRY(add_outputs(teacher->graph, options, error));
  DQ_TRY(open_session(teacher, input, context, error));
  dq_plan *plan = teacher->session.plan;
  if (dq_plan_input_count(plan) != 1 || dq_plan_output_count(plan) < 1)
    return dq_fail(error, DQ_BAD_INPUT, "it has %d inputs and %d outputs, expected one input and an output",
                   dq_plan_input_count(plan), dq_plan_output_count(plan));
  DQ_TRY(check("input", dq_plan_input(plan, 0), input, error));
  DQ_TRY(check("output", dq_plan_output(plan, 0), targets, error));
  DQ_TRY(check_features(teacher, options, error));
  teacher->output = options->classes ? output_of(options->graph) : DQ_TEACHER_VALUES;
  return DQ_OK;
}

void dq_teacher_close(dq_teacher *teacher) {
  dq_session_close(&teacher->session);
  dq_graph_free(teacher->graph);
  *teacher = (dq_teacher){0};
}

// Shares of the classes. The scores of shares p are log p, where 0 counts as the smallest normal number.
static void soften(const dq_teacher *teacher, const float *scores, float *targets, int64_t classes) {
  double largest = -INFINITY, sum = 0;
  for (int64_t c = 0; c < classes; c++) {
    const double score = (double)scores[c];
    targets[c] = (float)(teacher->output == DQ_TEACHER_SHARES ? log(fmax(score, 0x1p-126)) : score);
    largest = fmax(largest, (double)targets[c]);
  }
  for (int64_t c = 0; c < classes; c++) sum += exp(((double)targets[c] - largest) / teacher->temperature);
  for (int64_t c = 0; c < classes; c++)
    targets[c] = (float)(exp(((double)targets[c] - largest) / teacher->temperature) / sum);
}

// The share 1 / |t|^2 of each picture is 0 where t is 0.
static void give_feature(const dq_tensor *values, const dq_feature *feature) {
  const int64_t elements = dq_tensor_product(values, 1, values->rank);
  const float *from = values->data;
  float *weights = feature->weights->data;
  memcpy(feature->targets->data, from, dq_tensor_bytes(values));
  for (int64_t i = 0; i < values->dims[0]; i++, from += elements) {
    double squares = 0;
    for (int64_t e = 0; e < elements; e++) squares += (double)from[e] * (double)from[e];
    weights[i] = squares > 0 ? (float)(1 / squares) : 0;
  }
}

dq_status dq_teacher_run(dq_teacher *teacher, const dq_tensor *input, dq_tensor *targets, const dq_feature *features,
                         dq_error *error) {
  dq_plan *plan = teacher->session.plan;
  const float *scores = dq_plan_output(plan, 0)->data;
  const int64_t classes = dq_tensor_product(targets, 1, targets->rank);
  float *to = targets->data;
  memcpy(dq_plan_input(plan, 0)->data, input->data, dq_tensor_bytes(input));
  DQ_TRY(dq_plan_run(plan, error));
  for (int i = teacher->outputs; i < dq_plan_output_count(plan); i++)
    give_feature(dq_plan_output(plan, i), &features[i - teacher->outputs]);
  if (teacher->output == DQ_TEACHER_VALUES) memcpy(to, scores, dq_tensor_bytes(targets));
  else
    for (int64_t i = 0; i < targets->dims[0]; i++) soften(teacher, scores + i * classes, to + i * classes, classes);
  return DQ_OK;
}
