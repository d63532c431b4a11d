// YOLOX (Ge et al. 2021) as its boxes come from the network, and YOLOv5 and YOLOv8 (Ultralytics) whose exports decode
// boxes themselves; all of them with strides 8, 16 and 32.
#include "lib/eval/decode_single.h"

#include <inttypes.h>
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/eval/decode_fields.h"
#include "lib/text/find_row.h"

enum { LEVELS = 3, FIELDS = 5, BOX_FIELDS = 4 };
static const int64_t strides[LEVELS] = {8, 16, 32};

static int64_t count_cells(int64_t height, int64_t width) {
  int64_t sum = 0;
  for (int i = 0; i < LEVELS; i++) sum += (height / strides[i]) * (width / strides[i]);
  return sum;
}

// Centre and size in pixels of the model's input.
static dq_box make_box(const dq_decoder *decoder, double x, double y, double width, double height) {
  double full_width = (double)decoder->input_width, full_height = (double)decoder->input_height;
  return (dq_box){(x - width / 2) / full_width, (y - height / 2) / full_height, (x + width / 2) / full_width,
                  (y + height / 2) / full_height};
}

// ---- YOLOX: N x cells x (centre in cells, logarithm of the size in cells, object, classes) ----

static bool fits_yolox(const int64_t dims[2], int64_t cells, int64_t *classes, int64_t *candidates) {
  *candidates = dims[0];
  *classes = dims[1] - FIELDS;
  return dims[0] == cells && *classes > 0;
}

static void decode_yolox(const dq_decoder *decoder, const double *o, dq_box *boxes, double *scores) {
  for (int level = 0; level < LEVELS; level++) {
    double stride = (double)strides[level];
    for (int64_t y = 0; y < decoder->input_height / strides[level]; y++)
      for (int64_t x = 0; x < decoder->input_width / strides[level]; x++) {
        *boxes++ = make_box(decoder, (o[0] + (double)x) * stride, (o[1] + (double)y) * stride,
                            dq_bounded_exp(o[2]) * stride, dq_bounded_exp(o[3]) * stride);
        bool finite = dq_fields_finite(o, FIELDS + decoder->classes, 1);
        for (int64_t c = 0; c < decoder->classes; c++) *scores++ = finite ? o[4] * o[FIELDS + c] : NAN;
        o += FIELDS + decoder->classes;
      }
  }
}

// ---- YOLOv5: N x (3 anchors x cells) x (centre, size in pixels, object, classes) ----

static bool fits_yolov5(const int64_t dims[2], int64_t cells, int64_t *classes, int64_t *candidates) {
  *candidates = dims[0];
  *classes = dims[1] - FIELDS;
  return dims[0] == 3 * cells && *classes > 0;
}

static void decode_yolov5(const dq_decoder *decoder, const double *o, dq_box *boxes, double *scores) {
  for (int64_t i = 0; i < decoder->candidates; i++, o += FIELDS + decoder->classes) {
    *boxes++ = make_box(decoder, o[0], o[1], o[2], o[3]);
    bool finite = dq_fields_finite(o, FIELDS + decoder->classes, 1);
    for (int64_t c = 0; c < decoder->classes; c++) *scores++ = finite ? o[4] * o[FIELDS + c] : NAN;
  }
}

// ---- YOLOv8: N x (centre, size in pixels, classes) x cells ----

static bool fits_yolov8(const int64_t dims[2], int64_t cells, int64_t *classes, int64_t *candidates) {
  *candidates = dims[1];
  *classes = dims[0] - BOX_FIELDS;
  return dims[1] == cells && *classes > 0;
}

static void decode_yolov8(const dq_decoder *decoder, const double *o, dq_box *boxes, double *scores) {
  int64_t cells = decoder->candidates;
  for (int64_t i = 0; i < cells; i++, o++) {
    *boxes++ = make_box(decoder, o[0], o[cells], o[2 * cells], o[3 * cells]);
    bool finite = dq_fields_finite(o, BOX_FIELDS + decoder->classes, cells);
    for (int64_t c = 0; c < decoder->classes; c++) *scores++ = finite ? o[(BOX_FIELDS + c) * cells] : NAN;
  }
}

// ---- The table ----

static const dq_single_decoder forms[] = {
    {"yolox", "N x CELLS x (5 + classes)", FIELDS, fits_yolox, decode_yolox},
    {"yolov5", "N x (3 CELLS) x (5 + classes)", FIELDS, fits_yolov5, decode_yolov5},
    {"yolov8", "N x (4 + classes) x CELLS", BOX_FIELDS, fits_yolov8, decode_yolov8},
};

const dq_single_decoder *dq_single_decoder_at(int index) {
  return index >= 0 && index < (int)(DQ_COUNT(forms)) ? &forms[index] : NULL;
}

const dq_single_decoder *dq_single_decoder_find(const char *name) {
  const int found = dq_find_row(name, forms, sizeof *forms, DQ_COUNT(forms));
  return found < 0 ? NULL : &forms[found];
}

static bool fits(const dq_single_decoder *form, const dq_task_options *options, int64_t *classes, int64_t *candidates) {
  const dq_tensor *output = &options->outputs[0];
  int64_t cells = count_cells(options->input_height, options->input_width);
  return options->output_count == 1 && output->rank == 3 && cells > 0 &&
         form->fits(&output->dims[1], cells, classes, candidates);
}

const dq_single_decoder *dq_single_decoder_of(const dq_task_options *options) {
  int64_t classes, candidates;
  for (int i = 0; dq_single_decoder_at(i); i++)
    if (fits(&forms[i], options, &classes, &candidates)) return &forms[i];
  return NULL;
}

dq_status dq_single_decoder_init(dq_decoder *decoder, const dq_single_decoder *form, const dq_task_options *options,
                                 dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  decoder->form = form;
  if (fits(form, options, &decoder->classes, &decoder->candidates)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT,
                 "%s: %d output%s, the first of shape %s, expected one of shape %s with CELLS = %" PRId64, form->name,
                 options->output_count, options->output_count == 1 ? "" : "s",
                 dq_tensor_shape_text(&options->outputs[0], text, sizeof text), form->expected,
                 count_cells(options->input_height, options->input_width));
}
