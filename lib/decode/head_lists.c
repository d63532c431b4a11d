// Detectors that end with the choice of their boxes: each row is a box with one class.
#include "lib/decode/head.h"

enum { ROW_FIELDS = 6, MOST_ROWS = 10000 };

// Sets the extras that Ultralytics' property "task" or planes of masks beside the rows say.
static void find_extras(dq_decoder *decoder, const dq_decode_options *options, const dq_tensor *planes) {
  if (planes) {
    decoder->coefficients = planes->dims[1];
    decoder->mask_height = planes->dims[2], decoder->mask_width = planes->dims[3];
  } else if (dq_has_task(options, "pose")) {
    dq_keypoint_shape(decoder, options);
  } else {
    decoder->rotated = dq_has_task(options, "obb");
  }
  decoder->extras = decoder->coefficients + decoder->keypoints * decoder->keypoint_numbers + decoder->rotated;
}

// Whether so many rows are a list: where nothing else says so, a multiple of 100 is, as these networks keep 100 or 300.
static bool is_list(const dq_decode_options *options, int64_t rows) {
  const bool said = options->decode || options->metadata.names;
  return rows > 0 && rows <= MOST_ROWS && (said || rows % 100 == 0);
}

static bool fits_end2end(dq_decoder *decoder, const dq_decode_options *options) {
  const int count = options->output_count;
  if (count < 1 || count > 2) return false;
  const bool planes_first = count == 2 && options->outputs[0].rank == 4;
  const dq_tensor *rows = &options->outputs[planes_first],
                  *planes = count == 2 ? &options->outputs[!planes_first] : NULL;
  if (rows->rank != 3 || (planes && (planes->rank != 4 || planes->dims[1] < 1))) return false;
  find_extras(decoder, options, planes);
  decoder->roles = count;
  decoder->output[0] = planes_first, decoder->output[1] = !planes_first;
  decoder->listed = true;
  decoder->suppressed = true;
  decoder->candidates = rows->dims[1];
  return is_list(options, rows->dims[1]) && rows->dims[2] == ROW_FIELDS + decoder->extras;
}

// Rows of corners, or of a rotated box centre and size, then score, class and extras.
static void decode_end2end(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const double *o = values[0];
  for (int64_t i = 0; i < decoder->candidates; i++, o += ROW_FIELDS + decoder->extras) {
    const bool good = dq_fields_finite(o, ROW_FIELDS + decoder->extras, 1) && o[5] >= 0 && o[5] < DQ_MOST_LABELS;
    to->boxes[i] = decoder->rotated ? dq_box_at(decoder, o[0], o[1], o[2], o[3]) : dq_box_between(decoder, o);
    to->scores[i] = good ? o[4] : NAN;
    to->labels[i] = good ? (int64_t)o[5] : -1;
    for (int64_t e = 0; to->extras && e < decoder->extras; e++) to->extras[i * decoder->extras + e] = o[ROW_FIELDS + e];
    dq_relative_keypoints(decoder, i, to);
  }
}

const dq_head dq_head_end2end = {
    .name = "end2end",
    .expected = "N x ROWS x 6 (corners, score, class), with 1 number more for angles (task obb), those of keypoints "
                "(task pose), or PLANES more beside N x PLANES x height x width",
    .fits = fits_end2end,
    .decode = decode_end2end};
