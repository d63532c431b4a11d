// Detectors of faces: SCRFD (Guo et al. 2021), RetinaFace (Deng et al. 2019, with the priors of its PyTorch version)
// and UltraFace (Linzaer 2019), whose network decodes boxes itself. Faces are one class; landmarks are keypoints
// without scores.
#include "lib/base/sizes.h"
#include "lib/decode/head.h"

enum { BOX_FIELDS = 4, LANDMARKS = 5, LANDMARK_FIELDS = 2 * LANDMARKS, MOST_LEVELS = 5, MOST_PRIORS = 3 };

static int64_t cells_of(const dq_decoder *decoder, int level) {
  const int64_t stride = INT64_C(8) << level;
  return dq_cells_along(decoder->input_height, stride) * dq_cells_along(decoder->input_width, stride);
}

static void set_landmarks(dq_decoder *decoder) {
  decoder->keypoints = LANDMARKS;
  decoder->keypoint_numbers = 2;
  decoder->extras = LANDMARK_FIELDS;
}

// ---- SCRFD: by level scores, then by level distances of sides, then by level offsets of landmarks ----

// Three levels with two anchors at a cell, or five with one; without landmarks there are two outputs for a level.
typedef struct scrfd_form {
  int levels, parts, anchors;
} scrfd_form;

static scrfd_form form_of(int outputs) {
  const bool five = outputs == 10 || outputs == 15;
  const int levels = five ? 5 : 3;
  return (scrfd_form){levels, outputs == 2 * levels || outputs == 3 * levels ? outputs / levels : 0, five ? 1 : 2};
}

static bool fits_scrfd(dq_decoder *decoder, const dq_decode_options *options) {
  static const int64_t fields[3] = {1, BOX_FIELDS, LANDMARK_FIELDS};
  const scrfd_form form = form_of(options->output_count);
  if (!form.parts) return false;
  decoder->roles = options->output_count;
  decoder->pooled = options->outputs[0].rank == 2;
  for (int i = 0; i < decoder->roles; i++) {
    const dq_tensor *output = &options->outputs[i];
    const int rows = decoder->pooled ? 0 : 1;
    const int64_t anchors = form.anchors * cells_of(decoder, i % form.levels);
    if (output->rank != rows + 2 || output->dims[rows] != anchors || output->dims[rows + 1] != fields[i / form.levels])
      return false;
    if (i < form.levels) decoder->candidates += anchors;
    decoder->output[i] = i;
  }
  decoder->classes = 1;
  if (form.parts == 3) set_landmarks(decoder);
  return true;
}

// The numbers of one anchor.
typedef struct face_fields {
  const double *score, *box, *landmarks; // landmarks: NULL: there are none
} face_fields;

static bool is_finite_face(const face_fields *from) {
  return isfinite(*from->score) && dq_fields_finite(from->box, BOX_FIELDS, 1) &&
         (!from->landmarks || dq_fields_finite(from->landmarks, LANDMARK_FIELDS, 1));
}

// Distances and offsets are in cells, from the corner of the cell.
static void decode_scrfd_anchor(const dq_decoder *decoder, const face_fields *from, const double corner[2],
                                double stride, int64_t at, const dq_candidates *to) {
  const double *d = from->box;
  to->boxes[at] = dq_box_between(decoder, (double[]){corner[0] - d[0] * stride, corner[1] - d[1] * stride,
                                                     corner[0] + d[2] * stride, corner[1] + d[3] * stride});
  to->scores[at] = is_finite_face(from) ? *from->score : NAN;
  for (int64_t f = 0; to->extras && from->landmarks && f < LANDMARK_FIELDS; f++)
    to->extras[at * LANDMARK_FIELDS + f] = corner[f % 2] + from->landmarks[f] * stride;
  dq_relative_keypoints(decoder, at, to);
}

static void decode_scrfd(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const scrfd_form form = form_of(decoder->roles);
  int64_t at = 0;
  for (int l = 0; l < form.levels; l++) {
    const double *const *own = values + l;
    const double stride = (double)(INT64_C(8) << l);
    const int64_t columns = dq_cells_along(decoder->input_width, INT64_C(8) << l);
    for (int64_t i = 0; i < form.anchors * cells_of(decoder, l); i++, at++) {
      const int64_t cell = i / form.anchors;
      const double corner[2] = {(double)(cell % columns) * stride, (double)(cell / columns) * stride};
      const face_fields from = {.score = own[0] + i,
                                .box = own[form.levels] + i * BOX_FIELDS,
                                .landmarks = form.parts == 3 ? own[2 * form.levels] + i * LANDMARK_FIELDS : NULL};
      decode_scrfd_anchor(decoder, &from, corner, stride, at, to);
    }
  }
}

const dq_head dq_head_scrfd = {.name = "scrfd",
                               .expected = "by level of cells scores N x (2 CELLS) x 1, then by level boxes with 4 "
                                           "numbers, then by level, or not at all, landmarks with 10; 3 levels from 8 "
                                           "pixels on, or 5 with 1 anchor a cell; without N for single pictures",
                               .fits = fits_scrfd,
                               .decode = decode_scrfd};

// ---- Priors: squares of some sizes in the middle of each cell ----

typedef struct priors {
  int levels, counts[MOST_LEVELS];
  double sizes[MOST_LEVELS][MOST_PRIORS]; // pixels
} priors;

static const priors prior_sets[] = {
    {3, {2, 2, 2}, {{16, 32}, {64, 128}, {256, 512}}},                      // RetinaFace
    {4, {3, 2, 2, 3}, {{10, 16, 24}, {32, 48}, {64, 96}, {128, 192, 256}}}, // UltraFace, and such with landmarks
};
enum { PRIOR_SETS = DQ_COUNT(prior_sets) };

static int64_t count_priors(const dq_decoder *decoder, const priors *set) {
  int64_t sum = 0;
  for (int l = 0; l < set->levels; l++) sum += set->counts[l] * cells_of(decoder, l);
  return sum;
}

// The set with as many priors as the decoder has candidates; NULL: there is none.
static const priors *find_priors(const dq_decoder *decoder) {
  for (int i = 0; i < PRIOR_SETS; i++)
    if (count_priors(decoder, &prior_sets[i]) == decoder->candidates) return &prior_sets[i];
  return NULL;
}

// Finds outputs N x candidates x fields[role], whatever their order, where a model has `roles` outputs.
static bool find_roles(dq_decoder *decoder, const dq_decode_options *options, const int64_t *fields, int roles) {
  if (options->output_count != roles) return false;
  decoder->roles = roles;
  decoder->classes = 1;
  for (int role = 0; role < roles; role++) {
    int found = -1;
    for (int i = 0; i < roles; i++) {
      const dq_tensor *output = &options->outputs[i];
      if (output->rank == 3 && output->dims[2] == fields[role]) found = i;
    }
    if (found < 0) return false;
    decoder->output[role] = found;
    if (role && options->outputs[found].dims[1] != decoder->candidates) return false;
    decoder->candidates = options->outputs[found].dims[1];
  }
  return true;
}

// ---- RetinaFace: N x priors x 4, x 2 (background, face; after the softmax) and x 10 ----

static bool fits_retinaface(dq_decoder *decoder, const dq_decode_options *options) {
  if (!find_roles(decoder, options, (const int64_t[]){BOX_FIELDS, 2, LANDMARK_FIELDS}, 3)) return false;
  set_landmarks(decoder);
  return find_priors(decoder) != NULL;
}

// Offsets are in tenths of the side of the prior, logarithms of sizes in fifths (the variances of Liu et al. 2016,
// SSD).
static void decode_prior(const dq_decoder *decoder, const face_fields *from, const double centre[2], double side,
                         int64_t at, const dq_candidates *to) {
  const double *d = from->box;
  to->boxes[at] = dq_box_at(decoder, centre[0] + d[0] * 0.1 * side, centre[1] + d[1] * 0.1 * side,
                            side * dq_bounded_exp(d[2] * 0.2), side * dq_bounded_exp(d[3] * 0.2));
  to->scores[at] = is_finite_face(from) ? *from->score : NAN;
  for (int64_t f = 0; to->extras && f < LANDMARK_FIELDS; f++)
    to->extras[at * LANDMARK_FIELDS + f] = centre[f % 2] + from->landmarks[f] * 0.1 * side;
  dq_relative_keypoints(decoder, at, to);
}

static void decode_retinaface(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  const priors *set = find_priors(decoder);
  int64_t at = 0;
  for (int l = 0; set && l < set->levels; l++) {
    const int64_t stride = INT64_C(8) << l, columns = dq_cells_along(decoder->input_width, stride);
    for (int64_t i = 0; i < set->counts[l] * cells_of(decoder, l); i++, at++) {
      const int64_t cell = i / set->counts[l];
      const double centre[2] = {((double)(cell % columns) + 0.5) * (double)stride,
                                ((double)(cell / columns) + 0.5) * (double)stride};
      const face_fields from = {values[1] + 2 * at + 1, values[0] + BOX_FIELDS * at, values[2] + LANDMARK_FIELDS * at};
      decode_prior(decoder, &from, centre, set->sizes[l][i % set->counts[l]], at, to);
    }
  }
}

const dq_head dq_head_retinaface = {.name = "retinaface",
                                    .expected = "N x PRIORS x 4, N x PRIORS x 2 and N x PRIORS x 10, with 2 priors in "
                                                "cells of 8, 16 and 32 pixels, or 3, 2, 2 and 3 in those of 8 to 64",
                                    .fits = fits_retinaface,
                                    .decode = decode_retinaface};

// ---- UltraFace: N x priors x 2 (background, face) and N x priors x 4, corners from 0 to 1 ----

static bool fits_ultraface(dq_decoder *decoder, const dq_decode_options *options) {
  return find_roles(decoder, options, (const int64_t[]){2, BOX_FIELDS}, 2) && find_priors(decoder) == &prior_sets[1];
}

static void decode_ultraface(const dq_decoder *decoder, const double *const *values, const dq_candidates *to) {
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *box = values[1] + BOX_FIELDS * i;
    const face_fields from = {.score = values[0] + 2 * i + 1, .box = box};
    to->boxes[i] = (dq_box){box[0], box[1], box[2], box[3]};
    to->scores[i] = is_finite_face(&from) ? *from.score : NAN;
  }
}

const dq_head dq_head_ultraface = {.name = "ultraface",
                                   .expected = "N x PRIORS x 2 and N x PRIORS x 4, with 3, 2, 2 and 3 priors in cells "
                                               "of 8, 16, 32 and 64 pixels",
                                   .fits = fits_ultraface,
                                   .decode = decode_ultraface};
