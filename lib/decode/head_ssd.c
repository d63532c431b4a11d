// SSD (Liu et al. 2016) with inputs of 300 or 512 pixels: locations and confidences of default boxes, whose sizes are
// those for Pascal VOC or for COCO.
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/head.h"

enum { BOX_FIELDS = 4, MOST_LEVELS = 7, MOST_RATIOS = 3, VOC_NUMBERS = 21, COCO_NUMBERS = 81, COCO_GAPS = 91 };

// Default boxes of one input; sizes in its pixels. A cell of level l has squares of sizes[l] and of
// sqrt(sizes[l] sizes[l + 1]), and for each ratio a box of it and of its inverse, with the area of the first.
typedef struct default_boxes {
  const char *head;
  int64_t input;
  int levels;
  int64_t cells[MOST_LEVELS]; // along each side
  double steps[MOST_LEVELS];
  int ratios[MOST_LEVELS]; // of 2 and 3
  double sizes[MOST_LEVELS + 1];
} default_boxes;

static const default_boxes sets[] = {
    {"ssd-voc",
     300,
     6,
     {38, 19, 10, 5, 3, 1},
     {8, 16, 32, 64, 100, 300},
     {1, 2, 2, 2, 1, 1},
     {30, 60, 111, 162, 213, 264, 315}},
    {"ssd-coco",
     300,
     6,
     {38, 19, 10, 5, 3, 1},
     {8, 16, 32, 64, 100, 300},
     {1, 2, 2, 2, 1, 1},
     {21, 45, 99, 153, 207, 261, 315}},
    {"ssd-voc",
     512,
     7,
     {64, 32, 16, 8, 4, 2, 1},
     {8, 16, 32, 64, 128, 256, 512},
     {1, 2, 2, 2, 2, 1, 1},
     {35.84, 76.8, 153.6, 230.4, 307.2, 384, 460.8, 537.6}},
    {"ssd-coco",
     512,
     7,
     {64, 32, 16, 8, 4, 2, 1},
     {8, 16, 32, 64, 128, 256, 512},
     {1, 2, 2, 2, 2, 1, 1},
     {20.48, 51.2, 133.12, 215.04, 296.96, 378.88, 460.8, 542.72}},
};
enum { SETS = DQ_COUNT(sets) };

static const default_boxes *find_set(const dq_decoder *decoder) {
  for (int i = 0; i < SETS; i++)
    if (!strcmp(sets[i].head, decoder->head->name) && sets[i].input == decoder->input_height &&
        sets[i].input == decoder->input_width)
      return &sets[i];
  return NULL;
}

static int boxes_of_cell(const default_boxes *set, int level) { return 2 + 2 * set->ratios[level]; }

static int64_t count_boxes(const default_boxes *set) {
  int64_t sum = 0;
  for (int l = 0; l < set->levels; l++) sum += set->cells[l] * set->cells[l] * boxes_of_cell(set, l);
  return sum;
}

// N x boxes x 4 and N x boxes x (1 + classes), in any order; where both have four numbers the locations come first.
static bool fits_ssd(dq_decoder *decoder, const dq_decode_options *options) {
  const default_boxes *set = find_set(decoder);
  const dq_tensor *o = options->outputs;
  if (!set || options->output_count != 2 || o[0].rank != 3 || o[1].rank != 3) return false;
  const int locations = o[0].dims[2] == BOX_FIELDS ? 0 : 1;
  decoder->roles = 2;
  decoder->output[0] = locations, decoder->output[1] = !locations;
  decoder->candidates = count_boxes(set);
  const int64_t numbers = o[!locations].dims[2];
  decoder->classes = numbers - 1;
  const bool voc = set->head == sets[0].head;
  const bool usual = voc ? numbers == VOC_NUMBERS : numbers == COCO_NUMBERS || numbers == COCO_GAPS;
  return o[locations].dims[2] == BOX_FIELDS && o[0].dims[1] == decoder->candidates &&
         o[1].dims[1] == decoder->candidates && decoder->classes > 0 && (usual || options->decode);
}

// The softmax without the background, which comes first. Numbers that are from 0 to 1 and sum up to 1 are one already.
static void scores_of(const dq_decoder *decoder, const double *numbers, double *scores) {
  const int64_t count = decoder->classes + 1;
  double most = numbers[0], least = numbers[0], plain = 0, sum = 0;
  for (int64_t c = 0; c < count; c++) {
    most = numbers[c] > most ? numbers[c] : most;
    least = numbers[c] < least ? numbers[c] : least;
    plain += numbers[c];
  }
  const bool done = least >= 0 && fabs(plain - 1) < 1e-3;
  for (int64_t c = 0; c < count; c++) sum += exp(numbers[c] - most);
  for (int64_t c = 1; c < count; c++) scores[c - 1] = done ? numbers[c] : exp(numbers[c] - most) / sum;
}

// Width and height of default box `b` of a cell, in pixels.
static void size_of(const default_boxes *set, int level, int b, double size[2]) {
  const double own = set->sizes[level];
  const double ratio = b < 2 ? 1 : sqrt((double)(2 + (b - 2) / 2)); // of 2, 1/2, 3 and 1/3
  const double side = b == 1 ? sqrt(own * set->sizes[level + 1]) : own;
  size[0] = b % 2 ? side / ratio : side * ratio;
  size[1] = b % 2 ? side * ratio : side / ratio;
}

// Offsets are in tenths of the size of the default box, logarithms of sizes in fifths.
static dq_box box_of(const dq_decoder *decoder, const double *d, const double centre[2], const double size[2]) {
  return dq_box_at(decoder, centre[0] + 0.1 * d[0] * size[0], centre[1] + 0.1 * d[1] * size[1],
                   size[0] * dq_bounded_exp(0.2 * d[2]), size[1] * dq_bounded_exp(0.2 * d[3]));
}

static void decode_ssd(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const default_boxes *set = find_set(decoder);
  int64_t at = 0;
  for (int l = 0; set && l < set->levels; l++)
    for (int64_t i = 0; i < set->cells[l] * set->cells[l] * boxes_of_cell(set, l); i++, at++) {
      const int64_t cell = i / boxes_of_cell(set, l);
      const double centre[2] = {((double)(cell % set->cells[l]) + 0.5) * set->steps[l],
                                ((double)(cell / set->cells[l]) + 0.5) * set->steps[l]};
      const double *offsets = values[0] + BOX_FIELDS * at, *numbers = values[1] + (decoder->classes + 1) * at;
      double size[2], *scores = to->scores + decoder->classes * at;
      size_of(set, l, (int)(i % boxes_of_cell(set, l)), size);
      to->boxes[at] = box_of(decoder, offsets, centre, size);
      scores_of(decoder, numbers, scores);
      if (dq_fields_finite(offsets, BOX_FIELDS, 1) && dq_fields_finite(numbers, decoder->classes + 1, 1)) continue;
      for (int64_t c = 0; c < decoder->classes; c++) scores[c] = NAN;
    }
}

#define EXPECTED "N x BOXES x 4 and N x BOXES x (background + classes), with 8732 boxes for 300 pixels or 24564 for 512"
const dq_head dq_head_ssd_voc = {.name = "ssd-voc", .expected = EXPECTED, .fits = fits_ssd, .decode = decode_ssd};
const dq_head dq_head_ssd_coco = {.name = "ssd-coco", .expected = EXPECTED, .fits = fits_ssd, .decode = decode_ssd};
