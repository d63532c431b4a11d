// Detectors whose boxes are distances from a point of a cell to the four sides, each the mean of a distribution over
// whole numbers of cells (Li et al. 2020, Generalized Focal Loss, section 3): PicoDet (Yu et al. 2021) with the scores
// and distributions of a level in outputs of their own, and NanoDet-Plus (Lyu 2021) with all of them in one.
#include <string.h>

#include "lib/decode/head.h"
#include "lib/decode/metadata.h"

enum { SIDES = 4, MOST_BINS = 256, LEAST_LEVELS = 3, MOST_LEVELS = 4, NANODET_BINS = 8 };

// Cells of 8, 16, 32 and 64 pixels.
static int64_t stride_of(int level) { return INT64_C(8) << level; }

// Sets the cells of so many levels; returns their number together.
static int64_t set_levels(dq_decoder *decoder, int levels) {
  int64_t sum = 0;
  for (int l = 0; l < levels; l++) {
    decoder->levels[l][0] = dq_cells_along(decoder->input_height, stride_of(l));
    decoder->levels[l][1] = dq_cells_along(decoder->input_width, stride_of(l));
    sum += decoder->levels[l][0] * decoder->levels[l][1];
  }
  return sum;
}

// A level as it is decoded: the numbers of the first cell, and how far those of the next one are behind them.
typedef struct level {
  const double *scores, *sides;
  int64_t score_step, side_step, bins;
  double stride, offset; // pixels; offset: of the point of a cell from its corner
  int64_t rows, columns;
} level;

// The mean of the distribution whose logits these are.
static double mean_of(const double *logits, int64_t bins) {
  double most = logits[0], sum = 0, weighted = 0;
  for (int64_t b = 1; b < bins; b++)
    if (logits[b] > most) most = logits[b];
  for (int64_t b = 0; b < bins; b++) {
    const double weight = exp(logits[b] - most);
    sum += weight;
    weighted += weight * (double)b;
  }
  return weighted / sum;
}

static dq_box box_of(const dq_decoder *decoder, const level *l, double x, double y, const double *sides) {
  double distance[SIDES];
  for (int s = 0; s < SIDES; s++) distance[s] = mean_of(sides + s * l->bins, l->bins) * l->stride;
  return dq_box_between(decoder, (double[]){x - distance[0], y - distance[1], x + distance[2], y + distance[3]});
}

// Decodes the cells of a level, row by row, to the candidates from `at` on; returns the one behind the last.
static int64_t decode_level(const dq_decoder *decoder, const level *l, int64_t at, const dq_candidates *to) {
  for (int64_t i = 0; i < l->rows * l->columns; i++, at++) {
    const double *scores = l->scores + i * l->score_step, *sides = l->sides + i * l->side_step;
    const double x = (double)(i % l->columns) * l->stride + l->offset;
    const double y = (double)(i / l->columns) * l->stride + l->offset;
    const bool finite = dq_fields_finite(scores, decoder->classes, 1) && dq_fields_finite(sides, SIDES * l->bins, 1);
    to->boxes[at] = box_of(decoder, l, x, y, sides);
    for (int64_t c = 0; c < decoder->classes; c++) to->scores[at * decoder->classes + c] = finite ? scores[c] : NAN;
  }
  return at;
}

// ---- PicoDet: for each level N x cells x classes, then for each level N x cells x (4 distributions) ----

static bool is_level(const dq_tensor *tensor, int64_t cells) { return tensor->rank == 3 && tensor->dims[1] == cells; }

static bool fits_picodet(dq_decoder *decoder, const dq_decode_options *options) {
  const int levels = options->output_count / 2;
  const dq_tensor *outputs = options->outputs;
  if (options->output_count % 2 || levels < LEAST_LEVELS || levels > MOST_LEVELS) return false;
  decoder->candidates = set_levels(decoder, levels);
  decoder->roles = options->output_count;
  decoder->classes = outputs[0].rank == 3 ? outputs[0].dims[2] : 0;
  for (int l = 0; l < levels; l++) {
    const int64_t cells = decoder->levels[l][0] * decoder->levels[l][1];
    const dq_tensor *scores = &outputs[l], *sides = &outputs[levels + l];
    if (!is_level(scores, cells) || !is_level(sides, cells)) return false;
    if (scores->dims[2] != decoder->classes || sides->dims[2] != outputs[levels].dims[2]) return false;
    decoder->output[l] = l, decoder->output[levels + l] = levels + l;
  }
  const int64_t numbers = outputs[levels].dims[2];
  return decoder->classes > 0 && numbers % SIDES == 0 && numbers > SIDES && numbers <= SIDES * MOST_BINS;
}

static void decode_picodet(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const int levels = decoder->roles / 2;
  int64_t at = 0;
  for (int l = 0; l < levels; l++) {
    const int64_t rows = decoder->levels[l][0], columns = decoder->levels[l][1];
    const int64_t numbers = decoder->elements[levels + l] / (rows * columns);
    const level own = {.scores = values[l],
                       .sides = values[levels + l],
                       .score_step = decoder->classes,
                       .side_step = numbers,
                       .bins = numbers / SIDES,
                       .stride = (double)stride_of(l),
                       .offset = (double)stride_of(l) / 2,
                       .rows = rows,
                       .columns = columns};
    at = decode_level(decoder, &own, at, to);
  }
}

const dq_head dq_head_picodet = {.name = "picodet",
                                 .expected = "for each level of cells of 8, 16, 32 and, if there are 8 outputs, 64 "
                                             "pixels N x CELLS x classes, then for each N x CELLS x (4 BINS)",
                                 .fits = fits_picodet,
                                 .decode = decode_picodet};

// ---- NanoDet: N x cells of all levels x (classes, 4 distributions) ----

// Four levels are NanoDet-Plus. The three of the first NanoDet have as many cells as YOLOX, so that the number of
// classes in the metadata or --decode has to tell.
static bool fits_nanodet(dq_decoder *decoder, const dq_decode_options *options) {
  const dq_tensor *output = &options->outputs[0];
  if (options->output_count != 1 || output->rank != 3) return false;
  decoder->roles = 1;
  decoder->candidates = output->dims[1];
  decoder->classes = output->dims[2] - SIDES * NANODET_BINS;
  if (output->dims[1] != set_levels(decoder, MOST_LEVELS)) {
    const bool said = options->decode || dq_name_count(options->metadata.names) == decoder->classes;
    memset(decoder->levels, 0, sizeof decoder->levels);
    if (!said || output->dims[1] != set_levels(decoder, LEAST_LEVELS)) return false;
  }
  return decoder->classes > 0 && output->dims[1] > 0;
}

static void decode_nanodet(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const int64_t step = decoder->classes + SIDES * NANODET_BINS;
  const bool plus = decoder->levels[MOST_LEVELS - 1][0] > 0;
  int64_t at = 0;
  for (int l = 0; l < (plus ? MOST_LEVELS : LEAST_LEVELS); l++) {
    const double *fields = values[0] + at * step;
    const level own = {.scores = fields,
                       .sides = fields + decoder->classes,
                       .score_step = step,
                       .side_step = step,
                       .bins = NANODET_BINS,
                       .stride = (double)stride_of(l),
                       .offset = plus ? 0 : (double)stride_of(l) / 2,
                       .rows = decoder->levels[l][0],
                       .columns = decoder->levels[l][1]};
    at = decode_level(decoder, &own, at, to);
  }
}

const dq_head dq_head_nanodet = {.name = "nanodet",
                                 .expected = "N x CELLS x (classes + 32), with cells of 8, 16, 32 and 64 pixels (or of "
                                             "8, 16 and 32)",
                                 .fits = fits_nanodet,
                                 .decode = decode_nanodet};
