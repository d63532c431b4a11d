#include "lib/report/predictions/predictions_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/report/predictions/plane_shares.h"
#include "lib/text/print_name.h"

static void print_class(FILE *stream, const dq_label_names *names, int64_t label) {
  const char *name = dq_label_name(names, label);
  if (name) dq_print_name(stream, name);
  else if (label >= 0) fprintf(stream, "class %" PRId64, label);
}

// `mark` stands behind the rest of the line.
static void print_object(FILE *stream, const dq_prediction *object, const dq_label_names *names, const char *mark) {
  const dq_box *box = &object->box;
  fprintf(stream, "  %6.3f  %7.1f %7.1f %7.1f %7.1f  ", dq_shown_score(object), box->x1, box->y1, box->x2, box->y2);
  print_class(stream, names, object->label);
  if (object->text) dq_print_name(stream, object->text);
  if (object->rotated) fputs("  corners", stream);
  for (int k = 0; object->rotated && k < 4; k++)
    fprintf(stream, " %.1f,%.1f", object->corners[k][0], object->corners[k][1]);
  if (object->keypoints) fputs("  keypoints", stream);
  for (int64_t k = 0; k < object->keypoints; k++)
    fprintf(stream, " %.1f,%.1f,%.2f", object->points[k][0], object->points[k][1], object->points[k][2]);
  int64_t pixels = 0;
  for (int64_t i = 0; object->mask && i < object->mask_box[2] * object->mask_box[3]; i++) pixels += object->mask[i];
  if (object->mask) fprintf(stream, "  mask of %" PRId64 " pixels", pixels);
  fprintf(stream, "%s\n", mark);
}

static dq_change change_of(const dq_change *changes, int64_t index) {
  return changes ? changes[index] : DQ_CHANGE_KEPT;
}

static void print_objects(FILE *stream, const dq_predictions *predictions, const dq_label_names *names,
                          const dq_change *changes) {
  static const char *const marks[] = {"", "  moved", "  appeared", ""};
  int64_t shown = 0;
  for (int64_t i = 0; i < predictions->count; i++) shown += change_of(changes, i) != DQ_CHANGE_HIDDEN;
  fprintf(stream, "  %" PRId64 " %s (%s)\n", shown, shown == 1 ? "object" : "objects", predictions->form);
  for (int64_t i = 0; i < predictions->count; i++)
    if (change_of(changes, i) != DQ_CHANGE_HIDDEN)
      print_object(stream, &predictions->objects[i], names, marks[change_of(changes, i)]);
}

void dq_predictions_print_lost(FILE *stream, const dq_predictions *reference, const dq_label_names *names,
                               const dq_change *changes) {
  if (reference->kind != DQ_PREDICT_OBJECTS || !changes) return;
  for (int64_t i = 0; i < reference->count; i++)
    if (changes[i] == DQ_CHANGE_ALONE || changes[i] == DQ_CHANGE_MOVED)
      print_object(stream, &reference->objects[i], names, changes[i] == DQ_CHANGE_MOVED ? "  was here" : "  vanished");
}

static void print_line(FILE *stream, const dq_predictions *predictions) {
  if (!predictions->count) return;
  fprintf(stream, "  %6.3f  ", predictions->objects[0].score);
  dq_print_name(stream, predictions->objects[0].text);
  putc('\n', stream);
}

static void print_shares(FILE *stream, const dq_predictions *predictions, const dq_label_names *names) {
  dq_share *shares;
  const int64_t count = dq_plane_shares(predictions, &shares);
  for (int64_t i = 0; i < count; i++) {
    fprintf(stream, "  %6.2f %% of the points  ", shares[i].percent);
    if (shares[i].label < 0) fputs("no class: NaN or infinite", stream);
    else print_class(stream, names, shares[i].label);
    putc('\n', stream);
  }
  free(shares);
}

static void print_bounds(FILE *stream, const dq_predictions *predictions) {
  const dq_plane_bounds bounds = dq_plane_bounds_of(predictions);
  fprintf(stream, "  map: least %.6g, mean %.6g, greatest %.6g", bounds.least, bounds.mean, bounds.greatest);
  if (bounds.nonfinite) fprintf(stream, ", %" PRId64 " points are NaN or infinite", bounds.nonfinite);
  putc('\n', stream);
}

void dq_predictions_print(FILE *stream, const dq_predictions *predictions, const dq_label_names *names,
                          const dq_change *changes) {
  switch (predictions->kind) {
  case DQ_PREDICT_OBJECTS: print_objects(stream, predictions, names, changes); break;
  case DQ_PREDICT_POINTS: print_shares(stream, predictions, names); break;
  case DQ_PREDICT_MAP: print_bounds(stream, predictions); break;
  case DQ_PREDICT_TEXT: print_line(stream, predictions); break;
  case DQ_PREDICT_CLASSES:
  case DQ_PREDICT_NONE: break;
  }
}
