// NonMaxSuppression: greedily keeps the boxes with the highest scores that overlap no kept box of
// the same class too much.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/order.h"
#include "lib/ops/table/operator.h"

typedef struct selection {
  const float *boxes, *scores;
  int64_t batches, classes, count; // boxes per batch
  int64_t most;                    // boxes kept per class
  float iou_threshold, score_threshold;
  bool has_score_threshold, centered;
} selection;

static dq_status check_inputs(const dq_op *op) {
  const dq_tensor *boxes = op->inputs[0], *scores = op->inputs[1];
  if (boxes->type != DQ_F32 || scores->type != DQ_F32)
    return dq_op_fail(op, DQ_BAD_INPUT, "boxes are %s and scores %s, expected float32", dq_dtype_name(boxes->type),
                      dq_dtype_name(scores->type));
  char left[DQ_SHAPE_TEXT], right[DQ_SHAPE_TEXT];
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
      boxes->dims[1] != scores->dims[2])
    return dq_op_fail(op, DQ_BAD_INPUT, "boxes of shape %s do not fit scores of shape %s",
                      dq_tensor_shape_text(boxes, left, sizeof left),
                      dq_tensor_shape_text(scores, right, sizeof right));
  for (int i = 2; i < 5; i++) {
    const dq_tensor *input = dq_op_input(op, i);
    int type = i == 2 ? DQ_I64 : DQ_F32;
    if (input && (input->type != type || dq_tensor_count(input) != 1))
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d is not one element of type %s", i, dq_dtype_name(type));
  }
  return DQ_OK;
}

static bool all_known(const dq_op *op) {
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && !op->inputs[i]->data && dq_tensor_count(op->inputs[i])) return false;
  return true;
}

static dq_status read_selection(const dq_op *op, selection *s) {
  const dq_tensor *most = dq_op_input(op, 2), *iou = dq_op_input(op, 3), *score = dq_op_input(op, 4);
  *s = (selection){.boxes = op->inputs[0]->data,
                   .scores = op->inputs[1]->data,
                   .batches = op->inputs[1]->dims[0],
                   .classes = op->inputs[1]->dims[1],
                   .count = op->inputs[1]->dims[2],
                   .most = most ? dq_tensor_get_i64(most, 0) : 0,
                   .iou_threshold = iou ? (float)dq_tensor_get(iou, 0) : 0,
                   .score_threshold = score ? (float)dq_tensor_get(score, 0) : 0,
                   .has_score_threshold = score != NULL,
                   .centered = dq_node_int(op->node, "center_point_box", 0) != 0};
  if (!(s->iou_threshold >= 0 && s->iou_threshold <= 1))
    return dq_op_fail(op, DQ_BAD_INPUT, "iou_threshold is %g, expected 0 to 1", (double)s->iou_threshold);
  return DQ_OK;
}

// Corners of a box in ascending order: low0, low1, high0, high1.
static void corners(const selection *s, const float *box, float *out) {
  for (int i = 0; i < 2; i++) {
    float a = s->centered ? box[i] - box[2 + i] / 2 : box[i];
    float b = s->centered ? box[i] + box[2 + i] / 2 : box[2 + i];
    out[i] = fminf(a, b);
    out[2 + i] = fmaxf(a, b);
  }
}

static bool overlap(const selection *s, const float *first, const float *second) {
  float a[4], b[4];
  corners(s, first, a);
  corners(s, second, b);
  float height = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
  float width = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
  if (!(height > 0) || !(width > 0)) return false;
  float both = height * width, area_a = (a[2] - a[0]) * (a[3] - a[1]);
  float area_b = (b[2] - b[0]) * (b[3] - b[1]), either = area_a + area_b - both;
  return area_a > 0 && area_b > 0 && either > 0 && both / either > s->iou_threshold;
}

// Kept boxes of one class of one batch into `kept`; returns how many.
static int64_t select_class(const selection *s, int64_t batch, int64_t class, dq_ranked *candidates, int64_t *kept) {
  const float *scores = s->scores + (batch * s->classes + class) * s->count;
  const float *boxes = s->boxes + batch * s->count * 4;
  int64_t found = 0, chosen = 0;
  for (int64_t i = 0; i < s->count; i++)
    if (s->has_score_threshold ? scores[i] > s->score_threshold : scores[i] == scores[i])
      candidates[found++] = (dq_ranked){(double)scores[i], i};
  qsort(candidates, (size_t)found, sizeof *candidates, dq_compare_ranked);
  for (int64_t i = 0; i < found && chosen < s->most; i++) {
    bool free_of_others = true;
    for (int64_t k = 0; k < chosen && free_of_others; k++)
      free_of_others = !overlap(s, boxes + 4 * candidates[i].index, boxes + 4 * kept[k]);
    if (free_of_others) kept[chosen++] = candidates[i].index;
  }
  return chosen;
}

// Number of boxes kept; their triples (batch, class, box) go to `output`, which has memory for
// `capacity` of them, unless it is NULL.
static dq_status select_all(const dq_op *op, int64_t *output, int64_t capacity, int64_t *total) {
  selection s;
  *total = 0;
  DQ_TRY(read_selection(op, &s));
  dq_ranked *candidates = dq_context_alloc(op->context, (size_t)s.count * sizeof *candidates);
  int64_t *kept = dq_context_alloc(op->context, (size_t)s.count * sizeof *kept);
  bool memory = candidates && kept;
  for (int64_t at = 0; memory && s.most > 0 && at < s.batches * s.classes; at++) {
    int64_t chosen = select_class(&s, at / s.classes, at % s.classes, candidates, kept);
    for (int64_t i = 0; output && i < chosen && *total + i < capacity; i++) {
      int64_t *triple = output + 3 * (*total + i);
      triple[0] = at / s.classes;
      triple[1] = at % s.classes;
      triple[2] = kept[i];
    }
    *total += chosen;
  }
  dq_budget_free(candidates);
  dq_budget_free(kept);
  return memory ? DQ_OK : dq_fail_memory(op->error, (size_t)s.count * sizeof *candidates);
}

static dq_status infer(dq_op *op) {
  int64_t dims[2] = {0, 3};
  DQ_TRY(check_inputs(op));
  if (!all_known(op)) return dq_op_unknown(op, 0, DQ_I64);
  DQ_TRY(select_all(op, NULL, 0, &dims[0]));
  return dq_op_shape(op, 0, DQ_I64, 2, dims);
}

static dq_status run(dq_op *op) {
  int64_t total;
  return select_all(op, op->outputs[0]->data, op->outputs[0]->dims[0], &total);
}

const dq_operator dq_op_NonMaxSuppression = {
    .name = "NonMaxSuppression",
    .since = {10, 11},
    .inputs = {2, 5},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32),
    .attributes = (const dq_attribute_rule[]){{"center_point_box", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
