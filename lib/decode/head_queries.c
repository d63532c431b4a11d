// Detectors whose queries each are one box, so that nothing is suppressed: DETR (Carion et al. 2020), whose scores are
// a softmax with a class for none, and RT-DETR (Zhao et al. 2023) and its kin, whose scores are sigmoids. Boxes are
// centre and size from 0 to 1.
#include <string.h>

#include "lib/decode/head.h"
#include "lib/decode/metadata.h"

enum { BOX_FIELDS = 4, ROW_FIELDS = 6, USUAL_QUERIES = 100, MOST_QUERIES = 1000 };

static dq_box box_of(const double *b) {
  return (dq_box){b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
}

// ---- Logits N x queries x numbers and boxes N x queries x 4, in any order ----

// Finds both; where both have four numbers the logits come first. Stores the numbers of the logits in *numbers.
static bool find_pair(dq_decoder *decoder, const dq_decode_options *options, int64_t *numbers) {
  const dq_tensor *o = options->outputs;
  if (options->output_count != 2 || o[0].rank != 3 || o[1].rank != 3) return false;
  const int boxes = o[1].dims[2] == BOX_FIELDS ? 1 : 0;
  decoder->roles = 2;
  decoder->output[0] = !boxes, decoder->output[1] = boxes;
  decoder->suppressed = true;
  decoder->candidates = o[0].dims[1];
  *numbers = o[!boxes].dims[2];
  return o[boxes].dims[2] == BOX_FIELDS && o[0].dims[1] == o[1].dims[1] && dq_dtype_is_float(o[0].type) &&
         dq_dtype_is_float(o[1].type);
}

// Whether so many queries are usual, where nothing else says that they are.
static bool is_usual(const dq_decode_options *options, int64_t queries, bool said) {
  return queries > 0 && queries <= MOST_QUERIES && (options->decode || said || queries % USUAL_QUERIES == 0);
}

// 100 queries, as DETR has them, or names for all numbers but one.
static bool fits_detr(dq_decoder *decoder, const dq_decode_options *options) {
  int64_t numbers;
  if (!find_pair(decoder, options, &numbers)) return false;
  const int64_t names = dq_name_count(options->metadata.names);
  const bool said = names && names == numbers - 1;
  decoder->classes = numbers - 1;
  decoder->one_class = true;
  if (!options->decode && !said && (names || decoder->candidates != USUAL_QUERIES)) return false;
  return decoder->classes > 0 && is_usual(options, decoder->candidates, said);
}

// The softmax of the logits; the last one is the class for none.
static void scores_of(const dq_decoder *decoder, const double *logits, double *scores) {
  const int64_t count = decoder->classes + 1;
  double most = logits[0], sum = 0;
  for (int64_t c = 1; c < count; c++)
    if (logits[c] > most) most = logits[c];
  for (int64_t c = 0; c < count; c++) sum += exp(logits[c] - most);
  for (int64_t c = 0; c < decoder->classes; c++) scores[c] = exp(logits[c] - most) / sum;
}

static void decode_detr(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *logits = values[0] + i * (decoder->classes + 1), *box = values[1] + BOX_FIELDS * i;
    double *scores = to->scores + i * decoder->classes;
    to->boxes[i] = box_of(box);
    scores_of(decoder, logits, scores);
    if (dq_fields_finite(logits, decoder->classes + 1, 1) && dq_fields_finite(box, BOX_FIELDS, 1)) continue;
    for (int64_t c = 0; c < decoder->classes; c++) scores[c] = NAN;
  }
}

const dq_head dq_head_detr = {.name = "detr",
                              .expected = "logits N x QUERIES x (classes + 1) and boxes N x QUERIES x 4",
                              .fits = fits_detr,
                              .decode = decode_detr};

// ---- RT-DETR: such a pair, or in one output rows of a box and scores, or of a box, a score and a class ----

static bool fits_pair(dq_decoder *decoder, const dq_decode_options *options) {
  const bool found = find_pair(decoder, options, &decoder->classes);
  const int64_t names = dq_name_count(options->metadata.names);
  const bool other = names && names != decoder->classes && !options->decode;
  return found && decoder->classes > 0 && !other && is_usual(options, decoder->candidates, names > 0);
}

// Ultralytics: the property "head" or the name of the decoder tells rows with one class from those of end2end.
static bool fits_rtdetr(dq_decoder *decoder, const dq_decode_options *options) {
  if (options->output_count == 2) return fits_pair(decoder, options);
  const dq_tensor *rows = &options->outputs[0];
  if (options->output_count != 1 || rows->rank != 3) return false;
  const bool said = options->decode || (options->metadata.head && !strcmp(options->metadata.head, "RTDETRDecoder"));
  const int64_t names = dq_name_count(options->metadata.names);
  decoder->roles = 1;
  decoder->suppressed = true;
  decoder->candidates = rows->dims[1];
  decoder->listed = said && rows->dims[2] == ROW_FIELDS && names != ROW_FIELDS - BOX_FIELDS;
  decoder->classes = decoder->listed ? 0 : rows->dims[2] - BOX_FIELDS;
  const bool named = names > ROW_FIELDS - BOX_FIELDS && names == decoder->classes;
  const int64_t queries = rows->dims[1];
  return (decoder->listed || decoder->classes > 0) && (said || named) && queries > 0 && queries <= MOST_QUERIES &&
         queries % USUAL_QUERIES == 0;
}

static void decode_row(const double *row, int64_t at, const dq_candidates *to) {
  const bool good = dq_fields_finite(row, ROW_FIELDS, 1) && row[5] >= 0 && row[5] < DQ_MOST_LABELS;
  to->scores[at] = good ? row[4] : NAN;
  to->labels[at] = good ? (int64_t)row[5] : -1;
}

static void decode_rtdetr(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const bool pair = decoder->roles == 2;
  const int64_t numbers = decoder->listed ? ROW_FIELDS - BOX_FIELDS : decoder->classes;
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *box = pair ? values[1] + BOX_FIELDS * i : values[0] + (BOX_FIELDS + numbers) * i;
    const double *scores = pair ? values[0] + numbers * i : box + BOX_FIELDS;
    to->boxes[i] = box_of(box);
    if (decoder->listed) {
      decode_row(box, i, to);
      continue;
    }
    const bool finite = dq_fields_finite(scores, numbers, 1) && dq_fields_finite(box, BOX_FIELDS, 1);
    for (int64_t c = 0; c < numbers; c++)
      to->scores[i * numbers + c] = !finite ? NAN : pair ? dq_logistic(scores[c]) : scores[c];
  }
}

const dq_head dq_head_rtdetr = {.name = "rtdetr",
                                .expected = "N x QUERIES x (4 + classes), or N x QUERIES x 6 (centre, size, score, "
                                            "class), or logits N x QUERIES x classes and boxes N x QUERIES x 4",
                                .fits = fits_rtdetr,
                                .decode = decode_rtdetr};
