#include "lib/decode/detector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_candidates(dq_detector *detector) {
  dq_budget_free(detector->candidates.boxes);
  dq_budget_free(detector->candidates.scores);
  dq_budget_free(detector->candidates.labels);
  dq_budget_free(detector->candidates.extras);
  dq_budget_free(detector->near);
  dq_budget_free(detector->near_rotated);
  dq_budget_free(detector->near_scores);
  dq_budget_free(detector->near_candidates);
  dq_budget_free(detector->kept);
  detector->candidates = (dq_candidates){0};
  detector->near = NULL, detector->near_rotated = NULL, detector->near_scores = NULL;
  detector->near_candidates = detector->kept = NULL;
}

// Allocates the arrays for so many candidates.
static dq_status allocate(dq_detector *detector, int64_t candidates, dq_error *error) {
  const dq_decoder *decoder = &detector->decoder;
  const dq_context *context = detector->context;
  const size_t count = (size_t)candidates, scores = count * (size_t)(decoder->listed ? 1 : decoder->classes);
  dq_candidates *to = &detector->candidates;
  to->boxes = dq_context_alloc(context, count * sizeof *to->boxes);
  to->scores = dq_context_alloc(context, scores * sizeof *to->scores);
  to->labels = dq_context_alloc(context, count * sizeof *to->labels);
  to->extras = dq_context_alloc(context, (count * (size_t)decoder->extras + 1) * sizeof *to->extras);
  detector->near = dq_context_alloc(context, count * sizeof *detector->near);
  if (decoder->rotated) detector->near_rotated = dq_context_alloc(context, count * sizeof *detector->near_rotated);
  detector->near_scores = dq_context_alloc(context, count * sizeof *detector->near_scores);
  detector->near_candidates = dq_context_alloc(context, count * sizeof *detector->near_candidates);
  detector->kept = dq_context_alloc(context, count * sizeof *detector->kept);
  const bool memory = to->boxes && to->scores && to->labels && to->extras && detector->near && detector->near_scores &&
                      detector->near_candidates && detector->kept && (detector->near_rotated || !decoder->rotated);
  return memory ? DQ_OK : dq_fail_memory(error, scores * sizeof *to->scores);
}

dq_status dq_detector_open(dq_detector *detector, const dq_decode_options *options, const dq_context *context,
                           dq_error *error) {
  *detector = (dq_detector){0};
  detector->context = context;
  DQ_TRY(dq_decoder_init(&detector->decoder, options, error));
  detector->candidate_room = detector->decoder.candidates;
  return allocate(detector, detector->candidate_room, error);
}

void dq_detector_close(dq_detector *detector) {
  dq_decoder_deinit(&detector->decoder);
  free_candidates(detector);
  free(detector->found);
  memset(detector, 0, sizeof *detector);
}

static dq_status add(dq_detector *detector, int64_t candidate, double score, int64_t label, dq_error *error) {
  if (detector->count == detector->room) {
    const int64_t room = detector->room ? 2 * detector->room : 64;
    dq_detection *found = realloc(detector->found, (size_t)room * sizeof *found);
    if (!found) return dq_fail_memory(error, (size_t)room * sizeof *found);
    detector->found = found, detector->room = room;
  }
  detector->found[detector->count++] = (dq_detection){detector->candidates.boxes[candidate], score, label, candidate};
  return DQ_OK;
}

// Suppression of the [count] in detector->near. Returns as dq_nms_first.
static int64_t suppress(dq_detector *detector, int64_t count, double overlap) {
  const dq_decoder *decoder = &detector->decoder;
  if (!decoder->rotated || decoder->suppressed)
    return dq_nms_first(detector->near, detector->near_scores, count, decoder->suppressed ? INFINITY : overlap,
                        DQ_MOST_OF_CLASS, detector->kept);
  const double full_width = (double)decoder->input_width, full_height = (double)decoder->input_height;
  for (int64_t i = 0; i < count; i++) {
    const dq_box *box = &detector->near[i];
    detector->near_rotated[i] =
        (dq_rotated_box){.x = (box->x1 + box->x2) / 2 * full_width,
                         .y = (box->y1 + box->y2) / 2 * full_height,
                         .width = (box->x2 - box->x1) * full_width,
                         .height = (box->y2 - box->y1) * full_height,
                         .angle = detector->candidates.extras[detector->near_candidates[i] * decoder->extras]};
  }
  return dq_nms_rotated(detector->near_rotated, detector->near_scores, count, overlap, detector->kept);
}

// Adds those of a class that suppression leaves; its candidates are [count] in detector->near.
static dq_status add_class(dq_detector *detector, int64_t label, int64_t count, double overlap, dq_error *error) {
  const int64_t kept = suppress(detector, count, overlap);
  if (kept < 0) return dq_fail_memory(error, (size_t)count * sizeof *detector->kept);
  for (int64_t k = 0; k < kept; k++) {
    const int64_t at = detector->kept[k];
    DQ_TRY(add(detector, detector->near_candidates[at], detector->near_scores[at], label, error));
  }
  return DQ_OK;
}

static int64_t take(dq_detector *detector, int64_t count, int64_t candidate, double score) {
  detector->near[count] = detector->candidates.boxes[candidate];
  detector->near_scores[count] = score;
  detector->near_candidates[count] = candidate;
  return count + 1;
}

// Whether no class of the candidate has a higher score, and none in front the same.
static bool is_best(const dq_detector *detector, int64_t candidate, int64_t class) {
  const int64_t classes = detector->decoder.classes;
  const double *scores = detector->candidates.scores + candidate * classes;
  for (int64_t c = 0; c < classes; c++)
    if (scores[c] > scores[class] || (c < class && scores[c] == scores[class])) return false;
  return true;
}

static dq_status detect_dense(dq_detector *detector, double lowest, double overlap, dq_error *error) {
  const int64_t classes = detector->decoder.classes;
  for (int64_t class = 0; class < classes; class ++) {
    int64_t count = 0;
    for (int64_t i = 0; i < detector->candidate_count; i++) {
      const double score = detector->candidates.scores[i * classes + class];
      if (score > lowest && (!detector->best_class || is_best(detector, i, class)))
        count = take(detector, count, i, score);
    }
    DQ_TRY(add_class(detector, class, count, overlap, error));
  }
  return DQ_OK;
}

// The least class above `class` of a row with a score above the bound; -1: there is none.
static int64_t next_class(const dq_detector *detector, int64_t class, double lowest) {
  int64_t next = -1;
  for (int64_t i = 0; i < detector->candidate_count; i++) {
    const int64_t label = detector->candidates.labels[i];
    if (detector->candidates.scores[i] > lowest && label > class && (next < 0 || label < next)) next = label;
  }
  return next;
}

static dq_status detect_listed(dq_detector *detector, double lowest, double overlap, dq_error *error) {
  for (int64_t class = next_class(detector, -1, lowest); class >= 0; class = next_class(detector, class, lowest)) {
    int64_t count = 0;
    for (int64_t i = 0; i < detector->candidate_count; i++) {
      const double score = detector->candidates.scores[i];
      if (score > lowest && detector->candidates.labels[i] == class) count = take(detector, count, i, score);
    }
    DQ_TRY(add_class(detector, class, count, overlap, error));
  }
  return DQ_OK;
}

dq_status dq_detector_decode(dq_detector *detector, const dq_tensor *const *outputs, int64_t item, dq_error *error) {
  int64_t count;
  detector->candidate_count = 0;
  DQ_TRY(dq_decoder_count(&detector->decoder, outputs, item, &count, error));
  if (count > detector->candidate_room) {
    free_candidates(detector);
    detector->candidate_room = 0;
    DQ_TRY(allocate(detector, count, error));
    detector->candidate_room = count;
  }
  detector->candidate_count = count;
  return dq_decode(&detector->decoder, outputs, item, &detector->candidates, error);
}

dq_status dq_detect(dq_detector *detector, const dq_tensor *const *outputs, int64_t item, double lowest, double overlap,
                    dq_error *error) {
  DQ_TRY(dq_detector_decode(detector, outputs, item, error));
  return dq_detector_select(detector, lowest, overlap, error);
}

dq_status dq_detector_select(dq_detector *detector, double lowest, double overlap, dq_error *error) {
  detector->count = 0;
  return detector->decoder.listed ? detect_listed(detector, lowest, overlap, error)
                                  : detect_dense(detector, lowest, overlap, error);
}
