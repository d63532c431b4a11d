#include "lib/report/predictions/predictions_picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/draw/canvas_text.h"
#include "lib/draw/overlay.h"
#include "lib/draw/palette.h"
#include "lib/report/predictions/plane_shares.h"

static const double MASK_ALPHA = 0.45, PLANE_ALPHA = 0.5, MAP_ALPHA = 0.75, LEAST_POINT_SCORE = 0.5;
enum { LEGEND_LINES = 10, LABEL_BYTES = 256 };

// The name of a class, or its number.
static void class_text(char *text, const dq_label_names *names, int64_t label) {
  const char *name = dq_label_name(names, label);
  if (name) snprintf(text, LABEL_BYTES - 16, "%s", name);
  else if (label >= 0) snprintf(text, LABEL_BYTES - 16, "%" PRId64, label);
  else *text = 0;
}

// What objects are drawn with.
typedef struct brush {
  dq_canvas *canvas;
  dq_draw_sizes sizes;
  double scale; // pixels of the canvas for a pixel of the picture
  const dq_label_names *names;
} brush;

static dq_point point_at(const brush *with, double x, double y) { return (dq_point){x * with->scale, y * with->scale}; }

static void draw_mask(const brush *with, const dq_prediction *object, dq_colour colour) {
  const int64_t *box = object->mask_box;
  if (!object->mask || box[2] < 1 || box[3] < 1) return;
  const dq_byte_plane plane = {.width = box[2], .height = box[3], .values = object->mask};
  const dq_point from = point_at(with, (double)box[0], (double)box[1]);
  const dq_point to = point_at(with, (double)(box[0] + box[2]), (double)(box[1] + box[3]));
  dq_canvas_mask(with->canvas, &plane, (dq_draw_box){from.x, from.y, to.x, to.y}, colour, MASK_ALPHA);
}

static void draw_object(const brush *with, const dq_prediction *object, dq_change change) {
  const dq_colour colour = dq_palette_colour(object->label);
  const double thickness = with->sizes.thickness * (change == DQ_CHANGE_KEPT ? 1 : 3);
  const dq_box *box = &object->box;
  const dq_point from = point_at(with, box->x1, box->y1), to = point_at(with, box->x2, box->y2);
  dq_point corners[4];
  for (int k = 0; k < 4; k++) corners[k] = point_at(with, object->corners[k][0], object->corners[k][1]);
  draw_mask(with, object, colour);
  if (object->rotated) dq_canvas_polygon(with->canvas, corners, 4, colour, thickness);
  else dq_canvas_outline(with->canvas, (dq_draw_box){from.x, from.y, to.x, to.y}, colour, thickness);
  for (int64_t k = 0; k < object->keypoints; k++)
    if (object->points[k][2] >= LEAST_POINT_SCORE)
      dq_canvas_disc(with->canvas, point_at(with, object->points[k][0], object->points[k][1]), with->sizes.radius,
                     colour);
}

static void label_object(const brush *with, const dq_prediction *object, dq_change change) {
  static const char *const words[] = {"", "moved ", "alone ", ""};
  char name[LABEL_BYTES], text[LABEL_BYTES + 32];
  if (object->text) snprintf(name, sizeof name, "%s", object->text);
  else class_text(name, with->names, object->label);
  snprintf(text, sizeof text, "%s%s%s%.2f", words[change], name, *name ? " " : "", dq_shown_score(object));
  dq_canvas_label(with->canvas, point_at(with, object->box.x1, object->box.y1), text, with->sizes.text,
                  dq_palette_colour(object->label));
}

// All objects below all labels, the highest scores on top.
static void draw_objects(const brush *with, const dq_predictions *predictions, const dq_change *changes) {
  for (int labels = 0; labels < 2; labels++)
    for (int64_t i = predictions->count - 1; i >= 0; i--) {
      const dq_change change = changes ? changes[i] : DQ_CHANGE_KEPT;
      if (change == DQ_CHANGE_HIDDEN) continue;
      if (labels) label_object(with, &predictions->objects[i], change);
      else draw_object(with, &predictions->objects[i], change);
    }
}

// Where the input of the model lies on the canvas.
static dq_draw_box input_box(const brush *with, const dq_predictions *predictions) {
  const dq_view *view = &predictions->view;
  const double width = (double)predictions->width * with->scale, height = (double)predictions->height * with->scale;
  return (dq_draw_box){-view->offset_x * view->scale_x * width, -view->offset_y * view->scale_y * height,
                       (1 - view->offset_x) * view->scale_x * width, (1 - view->offset_y) * view->scale_y * height};
}

static void draw_line(const brush *with, int64_t line, const char *text, dq_colour colour) {
  const double height = (double)dq_canvas_text_height(with->sizes.text) + 2 * with->sizes.text;
  dq_canvas_label(with->canvas, (dq_point){0, (double)(line + 1) * height}, text, with->sizes.text, colour);
}

// A class in a byte: 0 is left clear, classes from 256 on share the colours of others.
static uint8_t shown_class(int64_t label) {
  return (uint8_t)(label > UINT8_MAX ? 1 + label % UINT8_MAX : label < 0 ? 0 : label);
}

static dq_status draw_legend(const brush *with, const dq_predictions *predictions, dq_error *error) {
  dq_share *shares;
  const int64_t count = dq_plane_shares(predictions, &shares);
  if (count < 0) return dq_fail_memory(error, 0);
  for (int64_t i = 0; i < count && i < LEGEND_LINES; i++) {
    char name[LABEL_BYTES], text[LABEL_BYTES + 16];
    class_text(name, with->names, shares[i].label);
    snprintf(text, sizeof text, "%s %.1f%%", shares[i].label < 0 ? "no class" : name, shares[i].percent);
    draw_line(with, i, text, dq_palette_colour(shown_class(shares[i].label)));
  }
  free(shares);
  return DQ_OK;
}

static dq_status draw_points(const brush *with, const dq_predictions *predictions, dq_error *error) {
  const dq_prediction_plane *plane = &predictions->plane;
  const size_t points = (size_t)(plane->width * plane->height);
  uint8_t *values = malloc(points);
  if (!values) return dq_fail_memory(error, points);
  for (size_t i = 0; i < points; i++) values[i] = shown_class(plane->labels[i]);
  const dq_byte_plane bytes = {.width = plane->width, .height = plane->height, .values = values};
  dq_canvas_classes(with->canvas, &bytes, input_box(with, predictions), 0, PLANE_ALPHA);
  free(values);
  return draw_legend(with, predictions, error);
}

static void draw_map(const brush *with, const dq_predictions *predictions) {
  const dq_prediction_plane *plane = &predictions->plane;
  const dq_float_plane map = {.width = plane->width, .height = plane->height, .values = plane->values};
  dq_canvas_map(with->canvas, &map, input_box(with, predictions), dq_scale_of(&map), MAP_ALPHA);
}

static void draw_classes(const brush *with, const dq_predictions *predictions) {
  for (int64_t i = 0; i < predictions->count && i < LEGEND_LINES; i++) {
    char name[LABEL_BYTES], text[LABEL_BYTES + 16];
    class_text(name, with->names, predictions->objects[i].label);
    snprintf(text, sizeof text, "%s %.3g", name, predictions->objects[i].score);
    draw_line(with, i, text, dq_palette_colour(predictions->objects[i].label));
  }
}

dq_status dq_predictions_draw(dq_canvas *canvas, const dq_predictions *predictions, const dq_label_names *names,
                              const dq_change *changes, dq_error *error) {
  const brush with = {.canvas = canvas,
                      .sizes = dq_draw_sizes_for(canvas->width, canvas->height),
                      .scale = (double)canvas->width / (double)predictions->width,
                      .names = names};
  switch (predictions->kind) {
  case DQ_PREDICT_OBJECTS: draw_objects(&with, predictions, changes); break;
  case DQ_PREDICT_POINTS: return draw_points(&with, predictions, error);
  case DQ_PREDICT_MAP: draw_map(&with, predictions); break;
  case DQ_PREDICT_CLASSES: draw_classes(&with, predictions); break;
  case DQ_PREDICT_TEXT:
    if (predictions->count) draw_line(&with, 0, predictions->objects[0].text, dq_palette_colour(0));
    break;
  case DQ_PREDICT_NONE: break;
  }
  return DQ_OK;
}
