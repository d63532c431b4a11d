// Decoding of YOLO heads (Redmon and Farhadi 2018, with darknet's scale_x_y), and the choice of a decoder.
#include "lib/eval/decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/eval/decode_fields.h"
#include "lib/eval/decode_heads.h"
#include "lib/eval/decode_single.h"
#include "lib/eval/task_internal.h"

enum { FIELDS = 5 };

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

bool dq_decoder_possible(const dq_task_options *options) {
  return options->decode || options->model_decode || dq_single_decoder_of(options);
}

// Takes the grid of a head from its output and checks the number of channels.
static dq_status check_head(dq_yolo_head *head, const dq_task_options *options, dq_error *error) {
  const dq_tensor *output = &options->outputs[head->output];
  char text[DQ_SHAPE_TEXT];
  int64_t channels = head->anchor_count * (FIELDS + head->classes);
  if (output->rank != 4 || output->dims[1] != channels)
    return dq_fail(error, DQ_BAD_INPUT,
                   "yolo: output '%s' is %s, expected Nx%" PRId64 "xHxW for %d anchors and %" PRId64 " classes",
                   options->output_names[head->output], dq_tensor_shape_text(output, text, sizeof text), channels,
                   head->anchor_count, head->classes);
  head->height = output->dims[2];
  head->width = output->dims[3];
  return DQ_OK;
}

static dq_status init_yolo(dq_decoder *decoder, const dq_task_options *options, dq_error *error) {
  const char *text = options->decode && strchr(options->decode, ':') ? options->decode : NULL;
  if (!text && !options->model_decode)
    return dq_fail(error, DQ_USAGE, "yolo: the model does not say its anchors, expected yolo:classes=...,anchors=...");
  DQ_TRY(text ? dq_heads_from_text(decoder, text, options, error)
              : dq_heads_from_json(decoder, options->model_decode, options, error));
  for (int i = 0; i < decoder->head_count; i++) {
    dq_yolo_head *head = &decoder->heads[i];
    DQ_TRY(check_head(head, options, error));
    if (head->classes != decoder->heads[0].classes)
      return dq_fail(error, DQ_BAD_INPUT,
                     "yolo: one head has %" PRId64 " classes, another has %" PRId64 "; expected equal numbers",
                     decoder->heads[0].classes, head->classes);
    decoder->candidates += head->anchor_count * head->height * head->width;
  }
  decoder->classes = decoder->heads[0].classes;
  return DQ_OK;
}

dq_status dq_decoder_check(const char *decode, dq_error *error) {
  if (!decode || dq_single_decoder_find(decode) || !strcmp(decode, "yolo") || !strncmp(decode, "yolo:", 5))
    return DQ_OK;
  return dq_fail(error, DQ_USAGE, "unknown decoder '%s', expected yolo, yolo:..., yolox, yolov5 or yolov8", decode);
}

dq_status dq_decoder_init(dq_decoder *decoder, const dq_task_options *options, dq_error *error) {
  const char *decode = options->decode;
  *decoder = (dq_decoder){.input_height = options->input_height, .input_width = options->input_width};
  if (options->input_height < 1 || options->input_width < 1)
    return dq_fail(error, DQ_BAD_INPUT, "detect: the model's input has no height and width");
  const dq_single_decoder *form = decode ? dq_single_decoder_find(decode) : NULL;
  if (form) return dq_single_decoder_init(decoder, form, options, error);
  DQ_TRY(dq_decoder_check(decode, error));
  if (decode || options->model_decode) return init_yolo(decoder, options, error);
  form = dq_single_decoder_of(options);
  if (form) return dq_single_decoder_init(decoder, form, options, error);
  return dq_fail(error, DQ_USAGE,
                 "detect: the model does not say how its outputs hold boxes; give --decode yolo:..., yolox, yolov5 or "
                 "yolov8");
}

void dq_decoder_deinit(dq_decoder *decoder) {
  free(decoder->heads);
  memset(decoder, 0, sizeof *decoder);
}

// One anchor at one cell of a head.
typedef struct cell {
  const dq_yolo_head *head;
  int anchor;
  int64_t y, x;
} cell;

// t holds the fields of the cell, `plane` apart.
static void decode_cell(const dq_decoder *decoder, const cell *at, const double *t, dq_box *box, double *scores) {
  const dq_yolo_head *head = at->head;
  int64_t plane = head->height * head->width;
  double shift = (head->scale - 1) / 2, object = sigmoid(t[4 * plane]);
  double centre_x = (sigmoid(t[0]) * head->scale - shift + (double)at->x) / (double)head->width;
  double centre_y = (sigmoid(t[plane]) * head->scale - shift + (double)at->y) / (double)head->height;
  double width = dq_bounded_exp(t[2 * plane]) * head->anchors[at->anchor][0] / (double)decoder->input_width;
  double height = dq_bounded_exp(t[3 * plane]) * head->anchors[at->anchor][1] / (double)decoder->input_height;
  *box = (dq_box){centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2};
  bool finite = dq_fields_finite(t, FIELDS + head->classes, plane);
  for (int64_t c = 0; c < head->classes; c++) scores[c] = finite ? sigmoid(t[(FIELDS + c) * plane]) * object : NAN;
}

// Candidates in the order anchor, row, column.
static void decode_head(const dq_decoder *decoder, const dq_yolo_head *head, const double *values, dq_box *boxes,
                        double *scores) {
  int64_t plane = head->height * head->width, fields = FIELDS + head->classes;
  for (int anchor = 0; anchor < head->anchor_count; anchor++)
    for (int64_t y = 0; y < head->height; y++)
      for (int64_t x = 0; x < head->width; x++) {
        const cell at = {head, anchor, y, x};
        decode_cell(decoder, &at, values + anchor * fields * plane + y * head->width + x, boxes++, scores);
        scores += head->classes;
      }
}

dq_status dq_decode(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_box *boxes,
                    double *scores, dq_error *error) {
  double *values;
  if (decoder->form) {
    int64_t expected = decoder->candidates * (decoder->form->fields + decoder->classes);
    DQ_TRY(dq_item_values(&values, outputs[0], item, expected, error));
    decoder->form->decode(decoder, values, boxes, scores);
    free(values);
    return DQ_OK;
  }
  for (int i = 0; i < decoder->head_count; i++) {
    const dq_yolo_head *head = &decoder->heads[i];
    int64_t cells = head->anchor_count * head->height * head->width;
    DQ_TRY(dq_item_values(&values, outputs[head->output], item, cells * (FIELDS + head->classes), error));
    decode_head(decoder, head, values, boxes, scores);
    free(values);
    boxes += cells;
    scores += cells * head->classes;
  }
  return DQ_OK;
}
