// Raw YOLO heads with anchors (Redmon and Farhadi 2018, with darknet's scale_x_y), which the metadata or --decode
// describe.
#include <inttypes.h>
#include <string.h>

#include "lib/decode/anchor_text.h"
#include "lib/decode/head.h"

enum { FIELDS = 5 };

// Takes the grid of a head from its output and checks the number of channels.
static dq_status check_head(dq_decoder *decoder, int role, const dq_decode_options *options, dq_error *error) {
  dq_anchor_head *head = &decoder->anchors[role];
  const dq_tensor *output = &options->outputs[decoder->output[role]];
  char text[DQ_SHAPE_TEXT];
  int64_t channels = head->anchor_count * (FIELDS + head->classes);
  if (output->rank != 4 || output->dims[1] != channels)
    return dq_fail(error, DQ_BAD_INPUT,
                   "yolo: output '%s' is %s, expected Nx%" PRId64 "xHxW for %d anchors and %" PRId64 " classes",
                   options->output_names[decoder->output[role]], dq_tensor_shape_text(output, text, sizeof text),
                   channels, head->anchor_count, head->classes);
  decoder->levels[role][0] = output->dims[2];
  decoder->levels[role][1] = output->dims[3];
  return DQ_OK;
}

static const char *text_of(const dq_decode_options *options) {
  return options->decode && strchr(options->decode, ':') ? options->decode : NULL;
}

static bool is_described(const dq_decode_options *options) { return text_of(options) || options->metadata.decode; }

static dq_status open_yolo(dq_decoder *decoder, const dq_decode_options *options, dq_error *error) {
  const char *text = text_of(options);
  if (!is_described(options))
    return dq_fail(error, DQ_USAGE, "yolo: the model does not say its anchors, expected yolo:classes=...,anchors=...");
  DQ_TRY(text ? dq_anchors_from_text(decoder, text, options, error)
              : dq_anchors_from_json(decoder, options->metadata.decode, options, error));
  for (int i = 0; i < decoder->roles; i++) {
    const dq_anchor_head *head = &decoder->anchors[i];
    DQ_TRY(check_head(decoder, i, options, error));
    if (head->classes != decoder->anchors[0].classes)
      return dq_fail(error, DQ_BAD_INPUT,
                     "yolo: one head has %" PRId64 " classes, another has %" PRId64 "; expected equal numbers",
                     decoder->anchors[0].classes, head->classes);
    decoder->candidates += head->anchor_count * decoder->levels[i][0] * decoder->levels[i][1];
  }
  decoder->classes = decoder->anchors[0].classes;
  return DQ_OK;
}

// One anchor at one cell of a head.
typedef struct cell {
  int role, anchor;
  int64_t y, x;
} cell;

// t holds the fields of the cell, `plane` apart.
static void decode_cell(const dq_decoder *decoder, const cell *at, const double *t, dq_box *box, double *scores) {
  const dq_anchor_head *head = &decoder->anchors[at->role];
  const int64_t rows = decoder->levels[at->role][0], columns = decoder->levels[at->role][1], plane = rows * columns;
  double shift = (head->scale - 1) / 2, object = dq_logistic(t[4 * plane]);
  double centre_x = (dq_logistic(t[0]) * head->scale - shift + (double)at->x) / (double)columns;
  double centre_y = (dq_logistic(t[plane]) * head->scale - shift + (double)at->y) / (double)rows;
  double width = dq_bounded_exp(t[2 * plane]) * head->anchors[at->anchor][0] / (double)decoder->input_width;
  double height = dq_bounded_exp(t[3 * plane]) * head->anchors[at->anchor][1] / (double)decoder->input_height;
  *box = (dq_box){centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2};
  bool finite = dq_fields_finite(t, FIELDS + head->classes, plane);
  for (int64_t c = 0; c < head->classes; c++) scores[c] = finite ? dq_logistic(t[(FIELDS + c) * plane]) * object : NAN;
}

// Candidates in the order head, anchor, row, column.
static void decode_yolo(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  dq_box *box = to->boxes;
  double *scores = to->scores;
  for (int role = 0; role < decoder->roles; role++) {
    const int64_t rows = decoder->levels[role][0], columns = decoder->levels[role][1];
    const int64_t fields = (FIELDS + decoder->classes) * rows * columns;
    for (int anchor = 0; anchor < decoder->anchors[role].anchor_count; anchor++)
      for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++, scores += decoder->classes) {
          const cell at = {role, anchor, y, x};
          decode_cell(decoder, &at, values[role] + anchor * fields + y * columns + x, box++, scores);
        }
  }
}

const dq_head dq_head_yolo = {.name = "yolo", .described = is_described, .open = open_yolo, .decode = decode_yolo};
