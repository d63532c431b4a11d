// The functions of a row of heads.def, and what heads share. Private to this module.
#ifndef DQ_DECODE_HEAD_H
#define DQ_DECODE_HEAD_H

#include <math.h>
#include <stdbool.h>

#include "lib/decode/decode.h"

// The rows of one picture among those that the outputs hold for it, or pooled for all.
typedef struct dq_rows {
  int64_t first, count;
} dq_rows;

typedef struct dq_head {
  const char *name;     // of --decode
  const char *expected; // the outputs, for messages; NULL: `open` says it
  // Whether the outputs have this form. Fills the members of a zeroed decoder from `classes` on, but not `elements`
  // unless the decoder is `variable`.
  // NULL: `open` decides.
  bool (*fits)(dq_decoder *decoder, const dq_decode_options *options);
  // A head that reads parameters from a text has these in place of `fits`: whether the options have one, and reading
  // it.
  bool (*described)(const dq_decode_options *options);
  dq_status (*open)(dq_decoder *decoder, const dq_decode_options *options, dq_error *error);
  // Finds the rows of picture `item` for a decoder that is `variable`; *rows is zeroed. false: the outputs do not have
  // the form of the head.
  bool (*rows)(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_rows *rows);
  // Decodes the elements of one picture: values[role] are those of output[role].
  void (*decode)(const dq_decoder *decoder, const double *const *values, const dq_candidates *to);
} dq_head;

#define DQ_HEAD(symbol) extern const dq_head dq_head_##symbol;
#include "lib/decode/heads.def"
#undef DQ_HEAD

// Whether Ultralytics' property "task" is this one.
bool dq_has_task(const dq_decode_options *options, const char *task);

// Cells of `stride` pixels that cover so many pixels, the last one in part.
static inline int64_t dq_cells_along(int64_t pixels, int64_t stride) { return pixels / stride + (pixels % stride > 0); }

// exp(x), bounded at exp(20), which keeps the sizes of boxes finite; no box is that large.
static inline double dq_bounded_exp(double x) { return exp(x < 20 ? x : 20); }

static inline double dq_logistic(double x) { return 1 / (1 + exp(-x)); }

// Whether `count` fields, `step` apart, are finite. What comes of one that is NaN or infinite may look like any box
// (the sigmoid of infinity is a score of 1), so that a candidate with such a field is none.
static inline bool dq_fields_finite(const double *fields, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(fields[i * step])) return false;
  return true;
}

// A box by its centre and size in pixels of the model's input.
static inline dq_box dq_box_at(const dq_decoder *decoder, double x, double y, double width, double height) {
  double full_width = (double)decoder->input_width, full_height = (double)decoder->input_height;
  return (dq_box){(x - width / 2) / full_width, (y - height / 2) / full_height, (x + width / 2) / full_width,
                  (y + height / 2) / full_height};
}

// A box by its corners in pixels of the model's input.
static inline dq_box dq_box_between(const dq_decoder *decoder, const double corners[4]) {
  double full_width = (double)decoder->input_width, full_height = (double)decoder->input_height;
  return (dq_box){corners[0] / full_width, corners[1] / full_height, corners[2] / full_width, corners[3] / full_height};
}

// Sets keypoints and keypoint_numbers by the property kpt_shape, else the 17 keypoints of COCO with three numbers.
void dq_keypoint_shape(dq_decoder *decoder, const dq_decode_options *options);
// Divides the keypoints of a candidate, in pixels of the model's input, by its sizes.
void dq_relative_keypoints(const dq_decoder *decoder, int64_t index, const dq_candidates *to);

#endif
