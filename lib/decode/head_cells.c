// YOLOX (Ge et al. 2021) as its boxes come from the network, and YOLOv5 and YOLOv8 (Ultralytics, to YOLO11 and YOLO12)
// whose exports decode boxes themselves, with masks, keypoints or angles; all of them with strides 8, 16 and 32.
#include <string.h>

#include "lib/decode/head.h"

enum { LEVELS = 3, OBJECT_FIELDS = 5, BOX_FIELDS = 4 };
static const int64_t strides[LEVELS] = {8, 16, 32};

static int64_t count_cells(const dq_decode_options *options) {
  int64_t sum = 0;
  for (int i = 0; i < LEVELS; i++) sum += (options->input_height / strides[i]) * (options->input_width / strides[i]);
  return sum;
}

// The only output, or with `planes` the only one of two beside planes that masks are summed of. Sets the members of
// the decoder that say so. NULL: the outputs are others.
static const dq_tensor *cells_output(dq_decoder *decoder, const dq_decode_options *options, bool planes) {
  if (options->output_count != (planes ? 2 : 1)) return NULL;
  decoder->roles = options->output_count;
  decoder->one_class = true;
  for (int i = 0; i < decoder->roles; i++) {
    const bool is_plane = options->outputs[i].rank == 4;
    decoder->output[is_plane ? 1 : 0] = i;
    if (is_plane) decoder->coefficients = options->outputs[i].dims[1];
    if (is_plane) decoder->mask_height = options->outputs[i].dims[2], decoder->mask_width = options->outputs[i].dims[3];
  }
  const dq_tensor *output = &options->outputs[decoder->output[0]];
  const bool good = output->rank == 3 && count_cells(options) > 0 && (!planes || decoder->coefficients > 0);
  return good ? output : NULL;
}

// Candidates along dimension 1, `per_cell` for each cell, with `fields` numbers in front of the scores of classes.
static bool fits_rows(dq_decoder *decoder, const dq_decode_options *options, int64_t per_cell, bool planes) {
  const dq_tensor *output = cells_output(decoder, options, planes);
  if (!output) return false;
  decoder->candidates = output->dims[1];
  decoder->classes = output->dims[2] - OBJECT_FIELDS - decoder->coefficients;
  decoder->extras = decoder->coefficients;
  return output->dims[1] == per_cell * count_cells(options) && decoder->classes > 0;
}

// Copies the extras behind the scores, `step` apart, of the candidate `index`.
static void copy_extras(const dq_decoder *decoder, const double *from, int64_t step, int64_t index,
                        const dq_candidates *to) {
  for (int64_t e = 0; to->extras && e < decoder->extras; e++) to->extras[index * decoder->extras + e] = from[e * step];
}

// ---- YOLOX: N x cells x (centre in cells, logarithm of the size in cells, object, classes) ----

static bool fits_yolox(dq_decoder *decoder, const dq_decode_options *options) {
  return fits_rows(decoder, options, 1, false);
}

static void scores_of_row(const dq_decoder *decoder, const double *o, double *scores) {
  bool finite = dq_fields_finite(o, OBJECT_FIELDS + decoder->classes, 1);
  for (int64_t c = 0; c < decoder->classes; c++) scores[c] = finite ? o[4] * o[OBJECT_FIELDS + c] : NAN;
}

static void decode_yolox(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const double *o = values[0];
  int64_t at = 0;
  for (int level = 0; level < LEVELS; level++) {
    double stride = (double)strides[level];
    for (int64_t y = 0; y < decoder->input_height / strides[level]; y++)
      for (int64_t x = 0; x < decoder->input_width / strides[level]; x++, at++) {
        to->boxes[at] = dq_box_at(decoder, (o[0] + (double)x) * stride, (o[1] + (double)y) * stride,
                                  dq_bounded_exp(o[2]) * stride, dq_bounded_exp(o[3]) * stride);
        scores_of_row(decoder, o, to->scores + at * decoder->classes);
        o += OBJECT_FIELDS + decoder->classes;
      }
  }
}

const dq_head dq_head_yolox = {.name = "yolox",
                               .expected = "N x CELLS x (5 + classes), with cells of 8, 16 and 32 pixels",
                               .fits = fits_yolox,
                               .decode = decode_yolox};

// ---- YOLOv5: N x (3 anchors x cells) x (centre, size in pixels, object, classes, coefficients) ----

static bool fits_yolov5(dq_decoder *decoder, const dq_decode_options *options) {
  return fits_rows(decoder, options, 3, options->output_count == 2);
}

static void decode_yolov5(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const double *o = values[0];
  for (int64_t i = 0; i < decoder->candidates; i++) {
    to->boxes[i] = dq_box_at(decoder, o[0], o[1], o[2], o[3]);
    scores_of_row(decoder, o, to->scores + i * decoder->classes);
    copy_extras(decoder, o + OBJECT_FIELDS + decoder->classes, 1, i, to);
    o += OBJECT_FIELDS + decoder->classes + decoder->extras;
  }
}

const dq_head dq_head_yolov5 = {.name = "yolov5",
                                .expected = "N x (3 CELLS) x (5 + classes), with masks N x PLANES x height x width "
                                            "beside N x (3 CELLS) x (5 + classes + PLANES)",
                                .fits = fits_yolov5,
                                .decode = decode_yolov5};

// ---- YOLOv8: N x (centre, size in pixels, classes, extras) x cells ----

// Whether the rest of the fields, once the extras are set, are classes.
static bool fits_columns(dq_decoder *decoder, const dq_decode_options *options, const dq_tensor *output) {
  decoder->candidates = output->dims[2];
  decoder->classes = output->dims[1] - BOX_FIELDS - decoder->extras;
  return output->dims[2] == count_cells(options) && decoder->classes > 0;
}

static bool fits_yolov8(dq_decoder *decoder, const dq_decode_options *options) {
  const dq_tensor *output = cells_output(decoder, options, options->output_count == 2);
  decoder->extras = decoder->coefficients;
  return output && fits_columns(decoder, options, output);
}

// Whether the head is asked for by its name, or by Ultralytics' property "task".
static bool is_asked(const dq_decode_options *options, const char *name, const char *task) {
  return options->decode ? !strcmp(options->decode, name) : dq_has_task(options, task);
}

static bool fits_pose(dq_decoder *decoder, const dq_decode_options *options) {
  const dq_tensor *output = cells_output(decoder, options, false);
  if (!output || !is_asked(options, "yolov8-pose", "pose")) return false;
  dq_keypoint_shape(decoder, options);
  decoder->extras = decoder->keypoints * decoder->keypoint_numbers;
  return fits_columns(decoder, options, output);
}

static bool fits_obb(dq_decoder *decoder, const dq_decode_options *options) {
  const dq_tensor *output = cells_output(decoder, options, false);
  if (!output || !is_asked(options, "yolov8-obb", "obb")) return false;
  decoder->rotated = true;
  decoder->extras = 1;
  return fits_columns(decoder, options, output);
}

static void decode_yolov8(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const int64_t cells = decoder->candidates;
  const double *o = values[0];
  for (int64_t i = 0; i < cells; i++, o++) {
    to->boxes[i] = dq_box_at(decoder, o[0], o[cells], o[2 * cells], o[3 * cells]);
    bool finite = dq_fields_finite(o, BOX_FIELDS + decoder->classes + decoder->extras, cells);
    double *scores = to->scores + i * decoder->classes;
    for (int64_t c = 0; c < decoder->classes; c++) scores[c] = finite ? o[(BOX_FIELDS + c) * cells] : NAN;
    copy_extras(decoder, o + (BOX_FIELDS + decoder->classes) * cells, cells, i, to);
    dq_relative_keypoints(decoder, i, to);
  }
}

const dq_head dq_head_yolov8 = {.name = "yolov8",
                                .expected = "N x (4 + classes) x CELLS, with masks N x PLANES x height x width beside "
                                            "N x (4 + classes + PLANES) x CELLS",
                                .fits = fits_yolov8,
                                .decode = decode_yolov8};
const dq_head dq_head_yolov8_pose = {.name = "yolov8-pose",
                                     .expected = "N x (4 + classes + numbers of keypoints) x CELLS",
                                     .fits = fits_pose,
                                     .decode = decode_yolov8};
const dq_head dq_head_yolov8_obb = {
    .name = "yolov8-obb", .expected = "N x (4 + classes + 1) x CELLS", .fits = fits_obb, .decode = decode_yolov8};
