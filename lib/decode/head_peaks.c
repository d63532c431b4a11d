// CenterNet (Zhou et al. 2019, Objects as Points): a heat map for each class whose peaks are centres of boxes, with
// maps of sizes and of offsets in points of the map.
#include "lib/decode/head.h"

enum { PLANES = 2 };

// Finds the heat map: of three outputs N x planes x rows x columns of one size the one whose number of planes is not 2;
// where all have 2 the first. The other two are, in their order, sizes and offsets.
static bool fits_centernet(dq_decoder *decoder, const dq_decode_options *options) {
  const dq_tensor *o = options->outputs;
  int heat = 0;
  if (options->output_count != 3) return false;
  for (int i = 0; i < 3; i++) {
    if (o[i].rank != 4 || o[i].dims[2] != o[0].dims[2] || o[i].dims[3] != o[0].dims[3]) return false;
    if (o[i].dims[1] != PLANES) heat = i;
  }
  decoder->roles = 3;
  decoder->output[0] = heat, decoder->output[1] = heat == 0, decoder->output[2] = heat == 2 ? 1 : 2;
  decoder->classes = o[heat].dims[1];
  decoder->levels[0][0] = o[0].dims[2], decoder->levels[0][1] = o[0].dims[3];
  decoder->candidates = o[0].dims[2] * o[0].dims[3];
  decoder->suppressed = true;
  for (int role = 1; role < 3; role++)
    if (o[decoder->output[role]].dims[1] != PLANES) return false;
  // The map is a quarter or so of the input, not the input or a picture of it.
  return decoder->classes > 0 && decoder->candidates > 0 && o[0].dims[2] * 2 <= options->input_height &&
         o[0].dims[3] * 2 <= options->input_width;
}

// Whether no neighbour has a higher score, on a map of one class.
static bool is_peak(const double *map, int64_t rows, int64_t columns, int64_t at) {
  const int64_t row = at / columns, column = at % columns;
  for (int64_t y = row - (row > 0); y <= row + (row + 1 < rows); y++)
    for (int64_t x = column - (column > 0); x <= column + (column + 1 < columns); x++)
      if (map[y * columns + x] > map[at]) return false;
  return true;
}

// Whether the maps are logits: what a sigmoid made is from 0 to 1.
static bool are_logits(const double *map, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (map[i] < 0 || map[i] > 1) return true;
  return false;
}

// Scores of points that are no peak are 0.
static void decode_centernet(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const int64_t rows = decoder->levels[0][0], columns = decoder->levels[0][1], points = rows * columns;
  const bool logits = are_logits(values[0], decoder->classes * points);
  for (int64_t i = 0; i < points; i++) {
    const double *size = values[1] + i, *offset = values[2] + i;
    const double x = ((double)(i % columns) + offset[0]) / (double)columns;
    const double y = ((double)(i / columns) + offset[points]) / (double)rows;
    const double width = size[0] / (double)columns, height = size[points] / (double)rows;
    to->boxes[i] = (dq_box){x - width / 2, y - height / 2, x + width / 2, y + height / 2};
    const bool finite = dq_fields_finite(size, PLANES, points) && dq_fields_finite(offset, PLANES, points) &&
                        dq_fields_finite(values[0] + i, decoder->classes, points);
    for (int64_t c = 0; c < decoder->classes; c++) {
      const double *map = values[0] + c * points, score = logits ? dq_logistic(map[i]) : map[i];
      to->scores[i * decoder->classes + c] = !finite ? NAN : is_peak(map, rows, columns, i) ? score : 0;
    }
  }
}

const dq_head dq_head_centernet = {.name = "centernet",
                                   .expected = "a heat map N x classes x rows x columns, sizes and "
                                               "offsets N x 2 x rows x columns",
                                   .fits = fits_centernet,
                                   .decode = decode_centernet};
