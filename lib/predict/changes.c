#include "lib/predict/changes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/eval/eval.h"

static const double KEPT_OVERLAP = 0.5, MOVED_OVERLAP = 0.1;

// Intersection over union; equal boxes without an area, as at the border of the picture, are the same as well.
static double overlap_of(const dq_box *a, const dq_box *b) {
  const bool equal = a->x1 == b->x1 && a->y1 == b->y1 && a->x2 == b->x2 && a->y2 == b->y2;
  return equal ? 1 : dq_box_iou(a, b);
}

// The object of the class that overlaps most, and how much; NULL: there is none of the class.
static const dq_prediction *nearest(const dq_prediction *object, const dq_predictions *others, double *overlap) {
  const dq_prediction *best = NULL;
  *overlap = 0;
  for (int64_t i = 0; i < others->count; i++) {
    const dq_prediction *other = &others->objects[i];
    if (other->label != object->label) continue;
    const double value = overlap_of(&object->box, &other->box);
    if (best && value <= *overlap) continue;
    best = other, *overlap = value;
  }
  return best;
}

// A pixel of the mask of an object, in pixels of the picture.
static bool mask_at(const dq_prediction *object, int64_t x, int64_t y) {
  const int64_t *box = object->mask_box;
  if (x < box[0] || y < box[1] || x >= box[0] + box[2] || y >= box[1] + box[3]) return false;
  return object->mask[(y - box[1]) * box[2] + x - box[0]];
}

// Intersection over union of two masks; 1 where both are empty.
static double mask_overlap(const dq_prediction *a, const dq_prediction *b) {
  int64_t both = 0, pixels[2] = {0, 0};
  for (int64_t y = 0; y < a->mask_box[3]; y++)
    for (int64_t x = 0; x < a->mask_box[2]; x++) {
      if (!a->mask[y * a->mask_box[2] + x]) continue;
      pixels[0]++;
      both += mask_at(b, a->mask_box[0] + x, a->mask_box[1] + y);
    }
  for (int64_t i = 0; i < b->mask_box[2] * b->mask_box[3]; i++) pixels[1] += b->mask[i];
  const int64_t either = pixels[0] + pixels[1] - both;
  return either ? (double)both / (double)either : 1;
}

// What belongs to an object of the reference and the one that it was found again as.
static void compare_pair(dq_changes *changes, const dq_prediction *object, const dq_prediction *other) {
  if (object->mask && other->mask) {
    changes->masks++;
    changes->mask_overlap += mask_overlap(object, other);
  }
  if (object->text && other->text) {
    changes->texts++;
    changes->equal_texts += !strcmp(object->text, other->text);
  }
}

// The objects of one network, each looked for in the other; `network` is 0 for the reference.
static dq_status find_objects(dq_changes *changes, int network, const dq_predictions *own, const dq_predictions *others,
                              double score, dq_error *error) {
  changes->of[network] = calloc((size_t)own->count + 1, sizeof *changes->of[network]);
  if (!changes->of[network]) return dq_fail_memory(error, (size_t)own->count * sizeof *changes->of[network]);
  for (int64_t i = 0; i < own->count; i++) {
    const dq_prediction *object = &own->objects[i];
    double overlap;
    const dq_prediction *other = nearest(object, others, &overlap);
    dq_change *change = &changes->of[network][i];
    const bool shown = object->score > score, found = other && overlap >= KEPT_OVERLAP;
    *change = found && (shown || other->score > score) ? DQ_CHANGE_KEPT
              : !shown                                 ? DQ_CHANGE_HIDDEN
              : other && overlap >= MOVED_OVERLAP      ? DQ_CHANGE_MOVED
                                                       : DQ_CHANGE_ALONE;
    if (!shown) continue;
    changes->answers++;
    changes->equal += *change == DQ_CHANGE_KEPT;
    changes->moved[network] += *change == DQ_CHANGE_MOVED;
    changes->alone[network] += *change == DQ_CHANGE_ALONE;
    if (!network && *change == DQ_CHANGE_KEPT) compare_pair(changes, object, other);
  }
  return DQ_OK;
}

// The class with the highest score of the vector that output `output` is; NULL: it is none.
static const dq_prediction *class_of(const dq_predictions *predictions, int output) {
  for (int64_t i = 0; i < predictions->count; i++)
    if (predictions->objects[i].output == output) return &predictions->objects[i];
  return NULL;
}

// The class of each vector; objects of a vector follow one another, the highest score first. One without a
// valid score is no class.
static void find_classes(dq_changes *changes, const dq_predictions *reference, const dq_predictions *others) {
  for (int64_t i = 0; i < reference->count; i++) {
    const dq_prediction *object = &reference->objects[i];
    if (i && object->output == object[-1].output) continue;
    const dq_prediction *other = class_of(others, object->output);
    if (!other) continue;
    changes->answers++;
    changes->equal += object->label == other->label && !dq_is_no_score(object->score) && !dq_is_no_score(other->score);
  }
}

static void find_points(dq_changes *changes, const dq_prediction_plane *reference, const dq_prediction_plane *other) {
  if (reference->height != other->height || reference->width != other->width) return;
  changes->answers = reference->height * reference->width;
  for (int64_t i = 0; i < changes->answers; i++)
    changes->equal += reference->labels[i] >= 0 && reference->labels[i] == other->labels[i];
}

dq_status dq_changes_find(dq_changes *changes, const dq_predictions *reference, const dq_predictions *other,
                          double score, dq_error *error) {
  *changes = (dq_changes){0};
  if (reference->kind != other->kind) return DQ_OK;
  switch (reference->kind) {
  case DQ_PREDICT_OBJECTS:
    DQ_TRY(find_objects(changes, 0, reference, other, score, error));
    return find_objects(changes, 1, other, reference, score, error);
  case DQ_PREDICT_CLASSES: find_classes(changes, reference, other); break;
  case DQ_PREDICT_POINTS: find_points(changes, &reference->plane, &other->plane); break;
  case DQ_PREDICT_TEXT:
    changes->answers = 1;
    changes->equal = reference->count && other->count && !strcmp(reference->objects[0].text, other->objects[0].text);
    break;
  case DQ_PREDICT_MAP:
  case DQ_PREDICT_NONE: break;
  }
  return DQ_OK;
}

void dq_changes_deinit(dq_changes *changes) {
  free(changes->of[0]);
  free(changes->of[1]);
  *changes = (dq_changes){0};
}
