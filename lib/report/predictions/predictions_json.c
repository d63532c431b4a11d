#include "lib/report/predictions/predictions_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/render/json_text.h"
#include "lib/report/predictions/plane_shares.h"

static void put_number(FILE *stream, double value) {
  if (isfinite(value)) fprintf(stream, "%.9g", value);
  else fputs("null", stream);
}

// "key": [numbers]
static void put_numbers(FILE *stream, const double *values, int64_t count) {
  putc('[', stream);
  for (int64_t i = 0; i < count; i++) {
    if (i) putc(',', stream);
    put_number(stream, values[i]);
  }
  putc(']', stream);
}

// "class" and, where it has one, "name", as the first members of an object.
static bool put_class(FILE *stream, const dq_label_names *names, int64_t label) {
  const char *name = dq_label_name(names, label);
  fprintf(stream, "\"class\":%" PRId64, label);
  if (!name) return true;
  fputs(",\"name\":", stream);
  return dq_json_text(stream, name);
}

// Runs of pixels outside and inside of the mask in turns, down one column after the other.
static void put_mask(FILE *stream, const dq_predictions *predictions, const dq_prediction *object) {
  const int64_t left = object->mask_box[0], top = object->mask_box[1], width = object->mask_box[2];
  const int64_t height = object->mask_box[3], full = predictions->height;
  fprintf(stream, ",\"mask\":{\"size\":[%" PRId64 ",%" PRId64 "],\"counts\":[", full, predictions->width);
  int64_t run = left * full;
  bool inside = false;
  for (int64_t x = 0; x < width; x++) {
    for (int64_t y = -top; y < full - top; y++) {
      const bool pixel = y >= 0 && y < height && object->mask[y * width + x];
      if (pixel != inside) {
        fprintf(stream, "%" PRId64 ",", run);
        run = 0;
        inside = pixel;
      }
      run++;
    }
  }
  const int64_t rest = (predictions->width - left - width) * full;
  if (inside && rest) fprintf(stream, "%" PRId64 ",%" PRId64, run, rest);
  else fprintf(stream, "%" PRId64, run + rest);
  fputs("]}", stream);
}

// An object without its last bracket.
static bool put_object(FILE *stream, const dq_predictions *predictions, const dq_prediction *object,
                       const dq_label_names *names) {
  putc('{', stream);
  bool good = put_class(stream, names, object->label);
  if (object->text) {
    fputs(",\"text\":", stream);
    good = dq_json_text(stream, object->text) && good;
  }
  fputs(",\"score\":", stream);
  put_number(stream, dq_shown_score(object));
  fputs(",\"box\":", stream);
  put_numbers(stream, &object->box.x1, 4);
  if (object->rotated) fputs(",\"corners\":[", stream);
  for (int k = 0; object->rotated && k < 4; k++) {
    put_numbers(stream, object->corners[k], 2);
    putc(k < 3 ? ',' : ']', stream);
  }
  if (object->keypoints) fputs(",\"keypoints\":[", stream);
  for (int64_t k = 0; k < object->keypoints; k++) {
    put_numbers(stream, object->points[k], 3);
    putc(k + 1 < object->keypoints ? ',' : ']', stream);
  }
  if (object->mask) put_mask(stream, predictions, object);
  return good;
}

static bool put_vector(FILE *stream, const dq_prediction *object, const dq_predictions_subject *subject) {
  fputs("{\"output\":", stream);
  bool good = dq_json_text(stream, subject->output_names[object->output]);
  putc(',', stream);
  good = put_class(stream, subject->names, object->label) && good;
  fputs(",\"score\":", stream);
  put_number(stream, object->score);
  putc('}', stream);
  return good;
}

static bool put_vectors(FILE *stream, const dq_predictions *predictions, const dq_predictions_subject *subject) {
  bool good = true;
  fputs(",\"classes\":[", stream);
  for (int64_t i = 0; i < predictions->count && good; i++) {
    if (i) putc(',', stream);
    good = put_vector(stream, &predictions->objects[i], subject);
  }
  putc(']', stream);
  return good;
}

static bool put_objects(FILE *stream, const dq_predictions *predictions, const dq_predictions_subject *subject) {
  static const char *const words[] = {"kept", "moved", "alone"};
  bool good = true, first = true;
  fputs(",\"objects\":[", stream);
  for (int64_t i = 0; i < predictions->count && good; i++) {
    if (subject->changes && subject->changes[i] == DQ_CHANGE_HIDDEN) continue;
    if (!first) putc(',', stream);
    first = false;
    good = put_object(stream, predictions, &predictions->objects[i], subject->names);
    if (subject->changes) fprintf(stream, ",\"change\":\"%s\"", words[subject->changes[i]]);
    putc('}', stream);
  }
  putc(']', stream);
  return good;
}

static bool put_shares(FILE *stream, const dq_predictions *predictions, const dq_label_names *names) {
  dq_share *shares;
  const int64_t count = dq_plane_shares(predictions, &shares);
  bool good = count >= 0;
  fputs(",\"shares\":[", stream);
  for (int64_t i = 0; i < count && good; i++) {
    fputs(i ? ",{" : "{", stream);
    good = put_class(stream, names, shares[i].label);
    fputs(",\"percent\":", stream);
    put_number(stream, shares[i].percent);
    putc('}', stream);
  }
  putc(']', stream);
  free(shares);
  return good;
}

static void put_bounds(FILE *stream, const dq_predictions *predictions) {
  const dq_plane_bounds bounds = dq_plane_bounds_of(predictions);
  fputs(",\"map\":{\"least\":", stream);
  put_number(stream, bounds.least);
  fputs(",\"mean\":", stream);
  put_number(stream, bounds.mean);
  fputs(",\"greatest\":", stream);
  put_number(stream, bounds.greatest);
  fprintf(stream, ",\"nonfinite\":%" PRId64 "}", bounds.nonfinite);
}

bool dq_predictions_json(FILE *stream, const dq_predictions *predictions, const dq_predictions_subject *subject) {
  static const char *const kinds[] = {"none", "classes", "objects", "points", "map", "text"};
  fputs("{\"picture\":", stream);
  bool good = dq_json_text(stream, subject->picture);
  fprintf(stream, ",\"width\":%" PRId64 ",\"height\":%" PRId64 ",\"kind\":\"%s\",\"form\":\"%s\"", predictions->width,
          predictions->height, kinds[predictions->kind], predictions->form);
  switch (predictions->kind) {
  case DQ_PREDICT_CLASSES: good = put_vectors(stream, predictions, subject) && good; break;
  case DQ_PREDICT_TEXT:
  case DQ_PREDICT_OBJECTS: good = put_objects(stream, predictions, subject) && good; break;
  case DQ_PREDICT_POINTS: good = put_shares(stream, predictions, subject->names) && good; break;
  case DQ_PREDICT_MAP: put_bounds(stream, predictions); break;
  case DQ_PREDICT_NONE: break;
  }
  putc('}', stream);
  return good && !ferror(stream);
}
