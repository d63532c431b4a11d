#include "lib/verdict/answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/eval/eval.h"
#include "lib/graph/saturation.h"

const char *dq_answer_kind_name(dq_answer_kind kind) {
  static const char *const names[] = {"", "classes", "sequences", "points", "mask pixels", "boxes"};
  return names[kind];
}

static const dq_node *function_of(const dq_value *output, const char *function, const char *other) {
  const char *const functions[] = {function, other, NULL};
  const dq_value *argument = dq_before_function(output, functions);
  for (int i = 0; argument && i < argument->user_count; i++)
    if (dq_node_is(argument->users[i], function) || dq_node_is(argument->users[i], other)) return argument->users[i];
  return NULL;
}

// Whether a matrix of scores holds the steps of a sequence, as the shape of the output says.
static bool is_sequence(const dq_tensor *output, const dq_tensor *compared) {
  return compared->rank == 2 && output->rank == 3 && output->dims[2] == compared->dims[1] &&
         dq_tensor_count(output) == dq_tensor_count(compared);
}

dq_answers dq_answers_of(const dq_graph *graph, const dq_value *output, const dq_tensor *tensors,
                         const dq_tensor *compared) {
  const dq_answers none = {0};
  const dq_node *softmax = function_of(output, "Softmax", "LogSoftmax");
  bool sigmoid = function_of(output, "Sigmoid", "HardSigmoid") != NULL;
  int rank = compared->rank;
  if (compared->type != DQ_F32 || rank < 1) return none;
  int64_t classes = rank > 1 ? compared->dims[1] : 1, points = rank > 2 ? dq_tensor_product(compared, 2, rank) : 1;
  if (softmax && is_sequence(&tensors[output->index], compared))
    return (dq_answers){.kind = DQ_ANSWER_SEQUENCE, .axis = 1};
  if (points == 1) return (dq_answers){.kind = classes > 1 || sigmoid ? DQ_ANSWER_CLASS : DQ_ANSWER_NONE, .axis = 1};
  if (softmax) {
    int64_t axis = dq_node_int(softmax, "axis", dq_graph_opset(graph, "") < 13 ? 1 : -1);
    if (axis < 0) axis += rank;
    if (axis == rank - 1)
      return (dq_answers){.kind = rank == 3 ? DQ_ANSWER_SEQUENCE : DQ_ANSWER_POINT, .axis = rank - 1};
    return axis == 1 && rank > 3 ? (dq_answers){.kind = DQ_ANSWER_POINT, .axis = 1} : none;
  }
  if (rank == 3) return none;
  if (classes == 1) return (dq_answers){.kind = sigmoid ? DQ_ANSWER_MASK : DQ_ANSWER_NONE};
  return graph->output_count == 1 ? (dq_answers){.kind = DQ_ANSWER_POINT, .axis = 1} : none;
}

// The answer at one position, whose scores are `step` apart. -1: all are NaN.
static int64_t answer_of(const float *at, int64_t classes, int64_t step) {
  int64_t best = -1;
  if (classes == 1) return isnan(*at) ? -1 : *at > 0.5F;
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
static void answers_at(const float *at, int64_t classes, int64_t step, int count, int32_t *answers) {
  float best[POINTS];
  for (int p = 0; p < count; p++) {
    answers[p] = classes == 1 ? (int32_t)answer_of(at + p, 1, step) : isnan(at[p]) ? -1 : 0;
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
  answers_at(exact, classes, step, count, expected);
  answers_at(other, classes, step, count, found);
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

// ---- Masks ----

static void add_mask(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other) {
  for (int64_t i = 0; i < dq_tensor_count(shape); i++) {
    bool broken = is_broken(exact + i, other + i, 1, 1);
    answers->answers += broken || exact[i] > 0.5F || other[i] > 0.5F;
    answers->equal += !broken && exact[i] > 0.5F && other[i] > 0.5F;
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
