// Detection: mean average precision at an overlap of 0.5 (Everingham et al. 2010, all points), and the figures of COCO.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/decode/detector.h"
#include "lib/eval/coco/coco_measure.h"
#include "lib/eval/task_internal.h"

static const double suppression = 0.45, wanted_overlap = 0.5;

typedef struct found_box {
  double score;
  int64_t class, picture, order; // order: as found
  dq_box box;                    // in pixels of the picture
} found_box;

typedef struct true_box {
  int64_t class, picture;
  dq_box box;
  double width, height, area;   // as the file has them
  bool crowd, difficult, keeps; // as those of dq_object
  bool taken;                   // by a detection
} true_box;

typedef struct detection {
  dq_detector detector;
  found_box *found;
  true_box *truth; // pictures in the order they came
  int64_t found_count, found_room, truth_count, truth_room;
  int64_t picture; // number of the one that is added
} detection;

static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

double dq_average_precision(const uint8_t *hits, int64_t count, int64_t positives) {
  int64_t right = 0;
  double area = 0, highest = 0;
  if (positives < 1) return 0;
  for (int64_t i = 0; i < count; i++) right += hits[i] != 0;
  // The loop goes from the right, so that `highest` is the largest precision at this recall step or a later one.
  for (int64_t i = count - 1; i >= 0; i--) {
    highest = larger(highest, (double)right / (double)(i + 1));
    if (!hits[i]) continue;
    area += highest / (double)positives;
    right--;
  }
  return area;
}

static void *grow(void *items, int64_t count, int64_t *capacity, size_t size, dq_error *error) {
  if (count < *capacity) return items;
  int64_t more = *capacity ? *capacity * 2 : 1024;
  void *larger_items = realloc(items, (size_t)more * size);
  if (larger_items) *capacity = more;
  else dq_fail_memory(error, (size_t)more * size);
  return larger_items;
}

static dq_status open_detect(dq_task *task, const dq_task_options *options, dq_error *error) {
  detection *state = task->state = calloc(1, sizeof *state);
  if (!state) return dq_fail_memory(error, sizeof *state);
  return dq_detector_open(&state->detector, &options->decode, task->context, error);
}

static void close_detect(dq_task *task) {
  detection *state = task->state;
  if (!state) return;
  dq_detector_close(&state->detector);
  free(state->found);
  free(state->truth);
}

static dq_status add_truth(detection *state, const dq_object *object, dq_error *error) {
  true_box *items = grow(state->truth, state->truth_count, &state->truth_room, sizeof *items, error);
  if (!items) return DQ_SYSTEM;
  state->truth = items;
  const int64_t classes = state->detector.decoder.classes;
  if (object->class >= (classes ? classes : DQ_MOST_LABELS))
    return dq_fail(error, DQ_BAD_INPUT, "class %" PRId64 ", the model has %" PRId64 " classes", object->class,
                   classes ? classes : DQ_MOST_LABELS);
  items[state->truth_count++] = (true_box){.class = object->class,
                                           .picture = state->picture,
                                           .box = {object->left, object->top, object->right, object->bottom},
                                           .width = object->width,
                                           .height = object->height,
                                           .area = object->area,
                                           .crowd = object->crowd,
                                           .difficult = object->difficult,
                                           .keeps = object->keeps};
  return DQ_OK;
}

static dq_status read_truth(dq_task *task, const dq_sample_info *info, dq_error *error) {
  dq_objects objects;
  DQ_TRY(dq_sample_objects(&objects, info, dq_budget_of(task->context), error));
  dq_status status = DQ_OK;
  for (int64_t i = 0; i < objects.count && status == DQ_OK; i++) {
    status = add_truth(task->state, &objects.items[i], error);
    if (status != DQ_OK) dq_objects_place(&objects, i, status, error);
  }
  dq_objects_free(&objects);
  return status;
}

static double clip(double value, double offset, double scale) {
  return smaller(larger((value - offset) * scale, 0), 1);
}

// Converts the boxes from coordinates of the model's input to pixels of the picture.
static void place_boxes(detection *state, const dq_sample_info *info) {
  const dq_view *view = &info->view;
  for (int64_t i = 0; i < state->detector.candidate_count; i++) {
    dq_box *box = &state->detector.candidates.boxes[i];
    box->x1 = clip(box->x1, view->offset_x, view->scale_x) * info->width;
    box->x2 = clip(box->x2, view->offset_x, view->scale_x) * info->width;
    box->y1 = clip(box->y1, view->offset_y, view->scale_y) * info->height;
    box->y2 = clip(box->y2, view->offset_y, view->scale_y) * info->height;
  }
}

static dq_status add_found(detection *state, const dq_detection *box, dq_error *error) {
  found_box *items = grow(state->found, state->found_count, &state->found_room, sizeof *items, error);
  if (!items) return DQ_SYSTEM;
  state->found = items;
  items[state->found_count] = (found_box){.score = box->score,
                                          .class = box->label,
                                          .picture = state->picture,
                                          .order = state->found_count,
                                          .box = box->box};
  state->found_count++;
  return DQ_OK;
}

static dq_status add_detect(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                            dq_error *error) {
  detection *state = task->state;
  state->picture = task->first + task->pictures;
  DQ_TRY(dq_detector_decode(&state->detector, outputs, item, error));
  place_boxes(state, info);
  DQ_TRY(read_truth(task, info, error));
  DQ_TRY(dq_detector_select(&state->detector, DQ_LOWEST_SCORE, suppression, error));
  for (int64_t i = 0; i < state->detector.count; i++) DQ_TRY(add_found(state, &state->detector.found[i], error));
  return DQ_OK;
}

static int by_class_and_score(const void *left, const void *right) {
  const found_box *a = left, *b = right;
  if (a->class != b->class) return a->class < b->class ? -1 : 1;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_left_out(const true_box *truth) { return truth->crowd || truth->difficult; }

enum { WRONG, RIGHT, LEFT_OUT };

// The first true box of the class that overlaps most among those not taken, or that keep such a detection, decides; it
// must overlap enough.
static int match(detection *state, const found_box *box, const int64_t *first_of_picture) {
  true_box *best = NULL;
  double overlap = -1;
  int64_t end = first_of_picture[box->picture + 1];
  for (int64_t i = first_of_picture[box->picture]; i < end; i++) {
    true_box *truth = &state->truth[i];
    if (truth->class != box->class || (truth->taken && !truth->keeps)) continue;
    double value = dq_box_iou(&box->box, &truth->box);
    if (value > overlap) {
      overlap = value;
      best = truth;
    }
  }
  if (overlap < wanted_overlap) return WRONG;
  if (is_left_out(best)) return LEFT_OUT;
  if (best->taken) return WRONG;
  best->taken = true;
  return RIGHT;
}

// Average precision of one class, whose detections begin at *at.
static double class_precision(detection *state, int64_t class, int64_t positives, int64_t *at,
                              const int64_t *first_of_picture, uint8_t *hits) {
  int64_t count = 0;
  while (*at < state->found_count && state->found[*at].class < class) (*at)++;
  for (; *at < state->found_count && state->found[*at].class == class; (*at)++) {
    const int verdict = match(state, &state->found[*at], first_of_picture);
    if (verdict != LEFT_OUT) hits[count++] = verdict == RIGHT;
  }
  return dq_average_precision(hits, count, positives);
}

typedef struct precision_sums {
  double plain, weighted; // by boxes
  int64_t classes, boxes;
} precision_sums;

// The number of classes of the network; of a network that does not say it, of the labels.
static int64_t classes_of(const detection *state) {
  int64_t classes = state->detector.decoder.classes;
  if (classes) return classes;
  for (int64_t i = 0; i < state->truth_count; i++)
    if (state->truth[i].class >= classes) classes = state->truth[i].class + 1;
  return classes;
}

static precision_sums sum_precisions(detection *state, const int64_t *first_of_picture, const int64_t *positives,
                                     uint8_t *hits) {
  precision_sums sums = {0};
  const int64_t classes = classes_of(state);
  int64_t at = 0;
  for (int64_t class = 0; class < classes; class ++) {
    if (positives[class] == 0) continue;
    double value = class_precision(state, class, positives[class], &at, first_of_picture, hits);
    sums.plain += value;
    sums.weighted += value * (double)positives[class];
    sums.classes++;
    sums.boxes += positives[class];
  }
  return sums;
}

// Adds mAP50. The arrays are for the places of the true boxes of each picture, first_of_picture[pictures + 1] of zeros,
// for the number of true boxes of each class, zeros, and for the detections of one class.
static void add_precision(dq_task *task, dq_result *result, int64_t *first_of_picture, int64_t *positives,
                          uint8_t *hits) {
  detection *state = task->state;
  for (int64_t i = 0; i < state->truth_count; i++) {
    positives[state->truth[i].class] += !is_left_out(&state->truth[i]);
    first_of_picture[state->truth[i].picture + 1] = i + 1;
    state->truth[i].taken = false;
  }
  for (int64_t i = 0; i < task->pictures; i++) // pictures without boxes
    if (first_of_picture[i + 1] < first_of_picture[i]) first_of_picture[i + 1] = first_of_picture[i];
  if (state->found_count) qsort(state->found, (size_t)state->found_count, sizeof *state->found, by_class_and_score);
  precision_sums sums = sum_precisions(state, first_of_picture, positives, hits);
  double classes = sums.classes ? (double)sums.classes : 1, boxes = sums.boxes ? (double)sums.boxes : 1;
  dq_result_add(result, "mAP50", "map50", 100 * sums.plain / classes, "%", 2);
  dq_result_add(result, "AP50 by boxes", "ap50_boxes", 100 * sums.weighted / boxes, "%", 2);
  dq_result_add(result, "boxes", "boxes", (double)sums.boxes, "", 0);
  dq_result_add(result, "detections", "detections", (double)state->found_count, "", 0);
}

// The figures of COCO that are defined: those of sizes need true boxes of that size.
static dq_status add_coco(const detection *state, dq_result *result, dq_error *error) {
  static const char *const names[DQ_COCO_FIGURES][2] = {
      {"mAP50-95", "map50_95"}, {"COCO AP50", "coco_ap50"}, {"COCO AP75", "coco_ap75"},
      {"AP small", "ap_small"}, {"AP medium", "ap_medium"}, {"AP large", "ap_large"},
      {"AR1", "ar1"},           {"AR10", "ar10"},           {"AR100", "ar100"},
      {"AR small", "ar_small"}, {"AR medium", "ar_medium"}, {"AR large", "ar_large"}};
  dq_coco_truth *truth = calloc((size_t)state->truth_count + 1, sizeof *truth);
  dq_coco_found *found = calloc((size_t)state->found_count + 1, sizeof *found);
  dq_coco_figures figures;
  for (int64_t i = 0; truth && i < state->truth_count; i++) {
    const true_box *box = &state->truth[i];
    truth[i] = (dq_coco_truth){box->class,  box->picture, box->box.x1, box->box.y1,   box->width,
                               box->height, box->area,    box->crowd,  box->difficult};
  }
  for (int64_t i = 0; found && i < state->found_count; i++) {
    const found_box *box = &state->found[i];
    found[i] = (dq_coco_found){box->class,
                               box->picture,
                               box->score,
                               box->box.x1,
                               box->box.y1,
                               box->box.x2 - box->box.x1,
                               box->box.y2 - box->box.y1};
  }
  dq_status status = truth && found
                         ? dq_coco_measure(&figures, truth, state->truth_count, found, state->found_count, error)
                         : dq_fail_memory(error, (size_t)state->found_count * sizeof *found);
  for (int i = 0; status == DQ_OK && i < DQ_COCO_FIGURES; i++)
    if (figures.values[i] >= 0) dq_result_add(result, names[i][0], names[i][1], 100 * figures.values[i], "%", 2);
  free(truth), free(found);
  return status;
}

static dq_status result_detect(dq_task *task, dq_result *result, dq_error *error) {
  detection *state = task->state;
  int64_t *first_of_picture = calloc((size_t)task->pictures + 1, sizeof *first_of_picture);
  int64_t *positives = calloc((size_t)classes_of(state) + 1, sizeof *positives);
  uint8_t *hits = malloc((size_t)state->found_count + 1);
  dq_status status = DQ_OK;
  if (first_of_picture && positives && hits) add_precision(task, result, first_of_picture, positives, hits);
  else status = dq_fail_memory(error, (size_t)state->found_count);
  free(first_of_picture);
  free(positives);
  free(hits);
  return status == DQ_OK ? add_coco(state, result, error) : status;
}

static dq_status share_detect(dq_task *task, const dq_processes *processes, dq_error *error) {
  detection *state = task->state;
  found_box *found = dq_task_share_items(processes, state->found, &state->found_count, sizeof *found, error);
  if (!found) return DQ_SYSTEM;
  state->found = found, state->found_room = state->found_count;
  for (int64_t i = 0; i < state->found_count; i++) found[i].order = i;
  true_box *truth = dq_task_share_items(processes, state->truth, &state->truth_count, sizeof *truth, error);
  if (!truth) return DQ_SYSTEM;
  state->truth = truth, state->truth_room = state->truth_count;
  return DQ_OK;
}

const dq_task_functions dq_task_detect = {
    .open = open_detect, .add = add_detect, .result = result_detect, .close = close_detect, .share = share_detect};
