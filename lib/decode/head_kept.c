// Networks with a suppression of their own, which keeps another number of boxes for each picture: detectors of
// torchvision, MMDeploy and Paddle, the DetectionOutput of Caffe and OpenVINO, EfficientNMS of TensorRT, and the Object
// Detection API of TensorFlow. Shapes of outputs that depend on their elements are not known before a run (rank -1);
// their types and names tell then.
#include <string.h>

#include "lib/decode/head.h"

enum { BOX_FIELDS = 4, SCORED_FIELDS = 5, PADDLE_FIELDS = 6, OUTPUT_FIELDS = 7 };

// What an output must be.
typedef struct slot {
  const char *name; // its name begins so, where its rank is not known
  int rank;
  int64_t last; // the last dimension; 0: any
  bool integer;
} slot;

static bool is_slot(const slot *wanted, const dq_tensor *output, const char *name) {
  const bool integer = output->type == DQ_I64 || output->type == DQ_I32;
  if (wanted->integer != integer || (!integer && !dq_dtype_is_float(output->type))) return false;
  if (output->rank < 0) return !strncmp(name, wanted->name, strlen(wanted->name));
  return output->rank == wanted->rank && (!wanted->last || output->dims[output->rank - 1] == wanted->last);
}

static const char *name_of(const dq_decode_options *options, int output) {
  return options->output_names ? options->output_names[output] : "";
}

// Finds an output for each of `count` slots, the first that no slot in front has. Sets roles and outputs of the
// decoder, and that the number of rows is that of a run.
static bool find_slots(dq_decoder *decoder, const dq_decode_options *options, const slot *slots, int count) {
  decoder->listed = decoder->suppressed = decoder->variable = true;
  decoder->roles = count;
  for (int s = 0; s < count; s++) {
    int found = -1;
    for (int i = options->output_count - 1; i >= 0; i--) {
      bool taken = false;
      for (int before = 0; before < s; before++) taken = taken || decoder->output[before] == i;
      if (!taken && is_slot(&slots[s], &options->outputs[i], name_of(options, i))) found = i;
    }
    if (found < 0) return false;
    decoder->output[s] = found;
    decoder->elements[s] = slots[s].last ? slots[s].last : 1;
  }
  return true;
}

// Whether dimension `rows` of the first `count` roles is equal, where it is known.
static bool has_equal_rows(const dq_decoder *decoder, const dq_decode_options *options, int count, int rows) {
  int64_t most = -1;
  for (int s = 0; s < count; s++) {
    const dq_tensor *output = &options->outputs[decoder->output[s]];
    if (output->rank < 0) continue;
    if (most >= 0 && output->dims[rows] != most) return false;
    most = output->dims[rows];
  }
  return true;
}

typedef struct kept_box {
  const double *corners;
  double score, label;
  bool relative; // corners are from 0 to 1, not in pixels of the input
} kept_box;

static void set_row(const dq_decoder *decoder, const kept_box *row, int64_t at, const dq_candidates *to) {
  const double *c = row->corners;
  const bool good =
      dq_fields_finite(c, BOX_FIELDS, 1) && isfinite(row->score) && row->label >= 0 && row->label < DQ_MOST_LABELS;
  to->boxes[at] = row->relative ? (dq_box){c[0], c[1], c[2], c[3]} : dq_box_between(decoder, c);
  to->scores[at] = good ? row->score : NAN;
  to->labels[at] = good ? (int64_t)row->label : -1;
}

// Rows are those of the first role along this dimension.
static bool rows_along(const dq_decoder *decoder, const dq_tensor *const *outputs, int rank, int dimension,
                       dq_rows *rows) {
  const dq_tensor *output = outputs[decoder->output[0]];
  if (output->rank != rank) return false;
  rows->count = output->dims[dimension];
  return true;
}

// ---- boxes K x 4, scores K, labels K, in any order; or each with a dimension of pictures in front ----

// The outputs of torchvision have names of numbers in old exports; with an unknown rank their types tell, in its order.
static bool fits_unnamed(dq_decoder *decoder, const dq_decode_options *options) {
  const slot any[] = {{"", 2, BOX_FIELDS, false}, {"", 1, 0, false}, {"", 1, 0, true}};
  return options->output_count == 3 && options->outputs[0].rank < 0 && find_slots(decoder, options, any, 3) &&
         decoder->output[0] == 0 && decoder->output[1] == 2;
}

static bool fits_torchvision(dq_decoder *decoder, const dq_decode_options *options) {
  const slot flat[] = {{"boxes", 2, BOX_FIELDS, false}, {"scores", 1, 0, false}, {"labels", 1, 0, true}};
  const slot batch[] = {{"boxes", 3, BOX_FIELDS, false}, {"scores", 2, 0, false}, {"labels", 2, 0, true}};
  if (options->output_count < 3) return false;
  if (find_slots(decoder, options, flat, 3) || fits_unnamed(decoder, options))
    return decoder->pooled = has_equal_rows(decoder, options, 3, 0);
  return options->output_count == 3 && find_slots(decoder, options, batch, 3) && has_equal_rows(decoder, options, 3, 1);
}

static bool rows_of_torchvision(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item,
                                dq_rows *rows) {
  if (decoder->pooled) return item == 0 && rows_along(decoder, outputs, 2, 0, rows);
  return rows_along(decoder, outputs, 3, 1, rows);
}

// Whether no coordinate of the picture is beyond 2, so that they are from 0 to 1: boxes in pixels are larger.
static bool is_relative(const double *corners, int64_t count) {
  for (int64_t i = 0; i < BOX_FIELDS * count; i++)
    if (fabs(corners[i]) > 2) return false;
  return true;
}

static void decode_apart(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const bool relative = !decoder->pooled && is_relative(values[0], decoder->candidates);
  for (int64_t i = 0; i < decoder->candidates; i++)
    set_row(decoder, &(kept_box){values[0] + BOX_FIELDS * i, values[1][i], values[2][i], relative}, i, to);
}

const dq_head dq_head_torchvision = {.name = "torchvision",
                                     .expected = "boxes K x 4, scores K and integer labels K, or N x K x 4 and N x K",
                                     .fits = fits_torchvision,
                                     .rows = rows_of_torchvision,
                                     .decode = decode_apart};

// ---- MMDeploy: dets N x K x 5 (corners in pixels, score), labels N x K ----

static bool fits_mmdeploy(dq_decoder *decoder, const dq_decode_options *options) {
  const slot slots[] = {{"dets", 3, SCORED_FIELDS, false}, {"labels", 2, 0, true}};
  return options->output_count >= 2 && options->output_count <= 3 && find_slots(decoder, options, slots, 2) &&
         has_equal_rows(decoder, options, 2, 1);
}

static bool rows_of_mmdeploy(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows) {
  (void)item;
  return rows_along(decoder, outputs, 3, 1, rows);
}

static void decode_mmdeploy(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *row = values[0] + SCORED_FIELDS * i;
    set_row(decoder, &(kept_box){.corners = row, .score = row[4], .label = values[1][i]}, i, to);
  }
}

const dq_head dq_head_mmdeploy = {.name = "mmdeploy",
                                  .expected = "dets N x K x 5 and integer labels N x K",
                                  .fits = fits_mmdeploy,
                                  .rows = rows_of_mmdeploy,
                                  .decode = decode_mmdeploy};

// ---- Paddle: K x 6 (class, score, corners in pixels) of all pictures, and how many are of each picture ----

static bool fits_paddle(dq_decoder *decoder, const dq_decode_options *options) {
  const slot slots[] = {{"", 2, PADDLE_FIELDS, false}, {"", 1, 0, true}};
  if (options->output_count != 2 || !find_slots(decoder, options, slots, 2)) return false;
  const bool unknown = options->outputs[0].rank < 0 && options->outputs[1].rank < 0;
  decoder->pooled = true;
  decoder->roles = 1; // output[1] has the numbers of rows
  return !unknown || options->decode || options->outputs[decoder->output[1]].type == DQ_I32;
}

static bool rows_of_paddle(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows) {
  const dq_tensor *counts = outputs[decoder->output[1]];
  if (!rows_along(decoder, outputs, 2, 0, rows) || counts->rank != 1 || item >= counts->dims[0] || !counts->data)
    return false;
  const int64_t all = rows->count;
  for (int64_t i = 0; i <= item; i++) {
    rows->first += i ? rows->count : 0;
    rows->count = dq_tensor_get_i64(counts, i);
    if (rows->count < 0 || rows->count > all - rows->first) return false;
  }
  return true;
}

static void decode_paddle(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *row = values[0] + PADDLE_FIELDS * i;
    set_row(decoder, &(kept_box){.corners = row + 2, .score = row[1], .label = row[0]}, i, to);
  }
}

const dq_head dq_head_paddle = {.name = "paddle",
                                .expected = "K x 6 (class, score, corners) and the integer numbers of rows of N "
                                            "pictures",
                                .fits = fits_paddle,
                                .rows = rows_of_paddle,
                                .decode = decode_paddle};

// ---- DetectionOutput: 1 x 1 x K x 7 (picture, class, score, corners from 0 to 1) ----

static bool fits_output(dq_decoder *decoder, const dq_decode_options *options) {
  const slot only = {"detection_out", 4, OUTPUT_FIELDS, false};
  if (options->output_count != 1 || !find_slots(decoder, options, &only, 1)) return false;
  const dq_tensor *output = &options->outputs[0];
  return output->rank < 0 || (output->dims[0] == 1 && output->dims[1] == 1);
}

static bool rows_of_output(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows) {
  (void)item;
  return rows_along(decoder, outputs, 4, 2, rows);
}

// The rows end at one whose picture is negative.
static void decode_output(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  bool ended = false;
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *row = values[0] + OUTPUT_FIELDS * i;
    ended = ended || !(row[0] >= 0);
    set_row(decoder, &(kept_box){row + 3, row[2], ended ? -1 : row[1], true}, i, to);
  }
}

const dq_head dq_head_detection_output = {.name = "detection-output",
                                          .expected = "1 x 1 x K x 7 (picture, class, score, corners)",
                                          .fits = fits_output,
                                          .rows = rows_of_output,
                                          .decode = decode_output};

// ---- Lists of the same length for each picture, with the number of boxes in them ----

// EfficientNMS: the number comes first, so that one with a single row is not taken for scores or classes.
static bool fits_efficient(dq_decoder *decoder, const dq_decode_options *options) {
  const slot slots[] = {{"det_boxes", 3, BOX_FIELDS, false}, {"det_scores", 2, 0, false}, {"det_classes", 2, 0, true}};
  const slot number = {"num", 2, 1, true};
  if (options->output_count != 4 || !is_slot(&number, &options->outputs[0], name_of(options, 0))) return false;
  dq_decode_options others = *options;
  others.outputs++, others.output_count--;
  if (others.output_names) others.output_names++;
  if (!find_slots(decoder, &others, slots, 3) || !has_equal_rows(decoder, &others, 3, 1)) return false;
  for (int s = 0; s < 3; s++) decoder->output[s]++;
  decoder->output[3] = 0;
  return true;
}

// The Object Detection API, whose names alone tell that corners are y before x, from 0 to 1.
static bool fits_tensorflow(dq_decoder *decoder, const dq_decode_options *options) {
  static const char *const names[] = {"detection_boxes", "detection_scores", "detection_classes", "num_detections"};
  static const int ranks[] = {3, 2, 2, 1};
  decoder->listed = decoder->suppressed = decoder->variable = true;
  decoder->roles = 3;
  for (int s = 0; s < 4; s++) {
    int found = -1;
    for (int i = 0; i < options->output_count && found < 0; i++) {
      const dq_tensor *output = &options->outputs[i];
      const bool named = !strncmp(name_of(options, i), names[s], strlen(names[s]));
      if (named && dq_dtype_computable(output->type) && (output->rank < 0 || output->rank == ranks[s])) found = i;
    }
    if (found < 0) return false;
    decoder->output[s] = found;
    decoder->elements[s] = s ? 1 : BOX_FIELDS;
  }
  const dq_tensor *boxes = &options->outputs[decoder->output[0]];
  return (boxes->rank < 0 || boxes->dims[2] == BOX_FIELDS) && has_equal_rows(decoder, options, 3, 1);
}

static bool rows_of_counted(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows) {
  const dq_tensor *number = outputs[decoder->output[3]];
  if (!rows_along(decoder, outputs, 3, 1, rows) || item >= dq_tensor_count(number) || !number->data) return false;
  const double count = dq_tensor_get(number, item);
  if (count >= 0 && count < (double)rows->count) rows->count = (int64_t)count;
  return true;
}

static void decode_tensorflow(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *box = values[0] + BOX_FIELDS * i, corners[BOX_FIELDS] = {box[1], box[0], box[3], box[2]};
    set_row(decoder, &(kept_box){corners, values[1][i], values[2][i], true}, i, to);
  }
}

const dq_head dq_head_efficient_nms = {.name = "efficient-nms",
                                       .expected = "integer numbers N x 1, boxes N x K x 4, scores N x K and integer "
                                                   "classes N x K",
                                       .fits = fits_efficient,
                                       .rows = rows_of_counted,
                                       .decode = decode_apart};
const dq_head dq_head_tensorflow = {.name = "tensorflow",
                                    .expected = "detection_boxes N x K x 4, detection_scores and detection_classes "
                                                "N x K, num_detections N",
                                    .fits = fits_tensorflow,
                                    .rows = rows_of_counted,
                                    .decode = decode_tensorflow};
