#include "lib/verdict/answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/eval/eval.h"
#include "lib/graph/saturation.h"

const char *dq_answers_name(const dq_answers *answers) {
  static const char *const names[] = {"", "classes", "scores", "sequences", "points", "mask pixels", "boxes"};
  return answers->guessed ? "maxima" : names[answers->kind];
}

// Whether a matrix of scores holds the steps of a sequence, as the shape of the output says.
static bool is_sequence(const dq_tensor *output, const dq_tensor *compared) {
  return compared->rank == 2 && output->rank == 3 && output->dims[2] == compared->dims[1] &&
         dq_tensor_count(output) == dq_tensor_count(compared);
}

// Points of the map that a Softmax along `axis` computes.
static dq_answers softmax_answers(const dq_node *softmax, int64_t opset, int rank) {
  const dq_answers none = {0};
  int64_t axis = dq_node_int(softmax, "axis", opset < 13 ? 1 : -1);
  if (axis < 0) axis += rank;
  if (axis == rank - 1) return (dq_answers){.kind = rank == 3 ? DQ_ANSWER_SEQUENCE : DQ_ANSWER_POINT, .axis = rank - 1};
  return axis == 1 && rank > 3 ? (dq_answers){.kind = DQ_ANSWER_POINT, .axis = 1} : none;
}

static dq_answers sigmoid_answers(const dq_tensor *tensor, int64_t points, bool argument) {
  const int rank = tensor->rank;
  const bool single = rank < 2 || tensor->dims[1] == 1;
  const dq_answer_kind kind = !single ? DQ_ANSWER_SCORE : points == 1 ? DQ_ANSWER_CLASS : DQ_ANSWER_MASK;
  return (dq_answers){
      .kind = kind == DQ_ANSWER_MASK && rank < 4 ? DQ_ANSWER_SCORE : kind, .axis = 1, .threshold = argument ? 0 : 0.5F};
}

// Channels that are the first input's, as of a network that makes a picture of a picture.
static bool is_picture(const dq_graph *graph, const dq_tensor *tensors, int64_t channels) {
  const dq_tensor *input = graph->input_count ? &tensors[graph->inputs[0]->index] : NULL;
  return input && input->rank == 4 && channels <= 4 &&
         input->dims[dq_channels_last(4, input->dims) ? 3 : 1] == channels;
}

// A map of a network that takes pictures with their channels last has its own there as well.
static dq_answers map_answers(const dq_graph *graph, const dq_tensor *tensors, const dq_tensor *map) {
  const dq_tensor *input = graph->input_count ? &tensors[graph->inputs[0]->index] : NULL;
  const bool last = input && dq_channels_last(input->rank, input->dims);
  const int axis = last ? map->rank - 1 : 1;
  const bool possible = map->rank > 3 && graph->output_count == 1 && map->dims[axis] > 1;
  if (!possible) return (dq_answers){0};
  return (dq_answers){
      .kind = DQ_ANSWER_POINT, .axis = axis, .guessed = true, .picture = is_picture(graph, tensors, map->dims[axis])};
}

dq_answers dq_answers_of(const dq_graph *graph, const dq_value *output, const dq_tensor *tensors,
                         const dq_value *compared) {
  static const char *const functions[] = {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid", NULL};
  const dq_tensor *tensor = &tensors[compared->index];
  const dq_node *function = dq_function_behind(output, functions);
  const bool softmax = dq_is_softmax(output);
  const int rank = tensor->rank;
  if (rank < 1) return (dq_answers){0};
  const int64_t points = rank > 2 ? dq_tensor_product(tensor, 2, rank) : 1;
  if (function && !softmax) return sigmoid_answers(tensor, points, compared != output);
  if (softmax && is_sequence(&tensors[output->index], tensor))
    return (dq_answers){.kind = DQ_ANSWER_SEQUENCE, .axis = 1};
  if (points == 1 && rank > 1 && tensor->dims[1] > 1)
    return (dq_answers){.kind = DQ_ANSWER_CLASS, .axis = 1, .guessed = !softmax};
  if (points == 1) return (dq_answers){0};
  return softmax ? softmax_answers(function, dq_graph_opset(graph, ""), rank) : map_answers(graph, tensors, tensor);
}

void dq_answers_look(const dq_answers *answers, const dq_tensor *shape, const float *exact, dq_score_look *look) {
  static const int64_t MOST = 4096;
  const int axis = answers->axis;
  dq_tensor tensor = *shape;
  if (axis >= shape->rank || !dq_tensor_count(shape)) return;
  tensor.data = (void *)(uintptr_t)exact; // is read
  const int64_t classes = shape->dims[axis], step = dq_tensor_product(shape, axis + 1, shape->rank);
  const int64_t count = dq_tensor_count(shape) / classes, stride = (count + MOST - 1) / MOST;
  for (int64_t i = 0; i < count; i += stride)
    dq_score_look_add(look, &tensor, i / step * classes * step + i % step, classes, step);
}

// The answer at one position, whose scores are `step` apart. -1: all are NaN.
static int64_t answer_of(const float *at, int64_t classes, int64_t step) {
  int64_t best = -1;
  for (int64_t c = 0; c < classes; c++)
    if (!isnan(at[c * step]) && (best < 0 || at[c * step] > at[best * step])) best = c;
  return best;
}

static bool is_broken(const float *exact, const float *other, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count; i++)
    if (dq_is_broken((double)exact[i * step], (double)other[i * step])) return true;
  return false;
}

// ---- Classes, of whole pictures or of points ----

enum { POINTS = 256 }; // neighbours whose scores are read together, since those of one point are far apart

// The answers at `count` neighbours, at most POINTS, as answer_of gives them.
static void answers_at(const float *at, int64_t classes, int64_t step, int count, float threshold, int32_t *answers) {
  float best[POINTS];
  for (int p = 0; p < count; p++) {
    answers[p] = isnan(at[p]) ? -1 : classes == 1 && at[p] > threshold;
    best[p] = isnan(at[p]) ? -INFINITY : at[p];
  }
  at += step;
  for (int32_t c = 1; c < classes; c++, at += step)
    for (int p = 0; p < count; p++) {
      bool taken = (at[p] > best[p]) | ((answers[p] < 0) & (at[p] >= best[p])); // the first that is no NaN, or more
      best[p] = taken ? at[p] : best[p];
      answers[p] = taken ? c : answers[p];
    }
}

static void find_broken(const float *exact, const float *other, int64_t classes, int64_t step, int count,
                        int32_t *broken) {
  for (int p = 0; p < count; p++) broken[p] = 0;
  for (int64_t c = 0; c < classes; c++, exact += step, other += step)
    for (int p = 0; p < count; p++) broken[p] |= (fabsf(exact[p]) < INFINITY) & !(fabsf(other[p]) < INFINITY);
}

static void add_points(dq_answers *answers, const float *exact, const float *other, int64_t classes, int64_t step,
                       int count) {
  int32_t expected[POINTS], found[POINTS], broken[POINTS];
  answers_at(exact, classes, step, count, answers->threshold, expected);
  answers_at(other, classes, step, count, answers->threshold, found);
  find_broken(exact, other, classes, step, count, broken);
  answers->answers += count;
  for (int p = 0; p < count; p++) answers->equal += expected[p] >= 0 && expected[p] == found[p] && !broken[p];
}

static void add_classes(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other) {
  int axis = answers->axis;
  int64_t classes = axis < shape->rank ? shape->dims[axis] : 1;
  int64_t step = axis < shape->rank ? dq_tensor_product(shape, axis + 1, shape->rank) : 1;
  int64_t rows = dq_tensor_product(shape, 0, axis < shape->rank ? axis : shape->rank);
  for (int64_t n = 0; n < rows; n++, exact += classes * step, other += classes * step)
    for (int64_t p = 0; p < step; p += POINTS)
      add_points(answers, exact + p, other + p, classes, step, step - p < POINTS ? (int)(step - p) : POINTS);
}

// ---- Masks and scores ----

static void add_mask(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other) {
  for (int64_t i = 0; i < dq_tensor_count(shape); i++) {
    bool broken = is_broken(exact + i, other + i, 1, 1);
    answers->answers += broken || exact[i] > answers->threshold || other[i] > answers->threshold;
    answers->equal += !broken && exact[i] > answers->threshold && other[i] > answers->threshold;
  }
}

// ---- Sequences ----

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// The most frequent of `count` numbers, of equally frequent ones the smallest. Sorts them.
static int64_t most_frequent(int64_t *numbers, int64_t count) {
  int64_t best = -1, longest = 0;
  qsort(numbers, (size_t)count, sizeof *numbers, by_number);
  for (int64_t from = 0, to; from < count; from = to) {
    for (to = from; to < count && numbers[to] == numbers[from]; to++) continue;
    if (to - from > longest) longest = to - from, best = numbers[from];
  }
  return best;
}

// Stores the answers of all steps in `text`.
static void read_steps(const float *scores, int64_t steps, int64_t classes, int64_t *text) {
  for (int64_t s = 0; s < steps; s++) text[s] = answer_of(scores + s * classes, classes, 1);
}

// Merges equal steps in succession and takes out the blank; returns how many are left.
static int64_t merge_steps(int64_t *text, int64_t steps, int64_t blank) {
  int64_t count = 0, before = -1;
  for (int64_t s = 0; s < steps; s++) {
    int64_t step = text[s];
    if (step != before && step != blank) text[count++] = step;
    before = step;
  }
  return count;
}

static dq_status add_sequences(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other,
                               dq_error *error) {
  int64_t steps = shape->dims[shape->rank - 2], classes = shape->dims[shape->rank - 1];
  int64_t sequences = shape->rank == 2 ? 1 : shape->dims[0];
  size_t bytes = (size_t)(steps + 1) * sizeof(int64_t);
  int64_t *texts[3] = {malloc(bytes), malloc(bytes), malloc(bytes)};
  bool memory = texts[0] && texts[1] && texts[2];
  for (int64_t n = 0; memory && n < sequences; n++, exact += steps * classes, other += steps * classes) {
    read_steps(exact, steps, classes, texts[0]);
    read_steps(other, steps, classes, texts[1]);
    memcpy(texts[2], texts[0], (size_t)steps * sizeof **texts);
    int64_t blank = most_frequent(texts[2], steps), length = merge_steps(texts[0], steps, blank);
    bool equal =
        length == merge_steps(texts[1], steps, blank) && !memcmp(texts[0], texts[1], (size_t)length * sizeof **texts);
    answers->answers++;
    answers->equal += equal && !is_broken(exact, other, steps * classes, 1);
  }
  for (int i = 0; i < 3; i++) free(texts[i]);
  return memory ? DQ_OK : dq_fail_memory(error, bytes);
}

dq_status dq_answers_add(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other,
                         dq_error *error) {
  switch (answers->kind) {
  case DQ_ANSWER_CLASS:
  case DQ_ANSWER_POINT: add_classes(answers, shape, exact, other); break;
  case DQ_ANSWER_SCORE:
  case DQ_ANSWER_MASK: add_mask(answers, shape, exact, other); break;
  case DQ_ANSWER_SEQUENCE: return add_sequences(answers, shape, exact, other, error);
  case DQ_ANSWER_BOX:
  case DQ_ANSWER_NONE: break;
  }
  return DQ_OK;
}

double dq_answers_agreement(const dq_answers *answers) {
  return answers->answers ? 100.0 * (double)answers->equal / (double)answers->answers : 100;
}
