#include "lib/verdict/detection_error.h"

#include <math.h>

#include "datasets/datasets.h"
#include "lib/decode/metadata.h"
#include "lib/eval/eval.h"
#include "lib/measure/spread.h"

static dq_status open_decoder(dq_detection_error *detection, bool *found, const dq_graph *graph,
                              const dq_tensor *tensors, const char *decode, dq_arena *arena, dq_error *error) {
  const dq_tensor *input = graph->input_count ? &tensors[graph->inputs[0]->index] : NULL;
  dq_tensor *outputs = DQ_NEW_ARRAY(arena, graph->output_count, dq_tensor);
  const char **names = DQ_NEW_ARRAY(arena, graph->output_count, const char *);
  if (!outputs || !names) return dq_fail_memory(error, 0);
  for (int o = 0; o < graph->output_count; o++) {
    outputs[o] = tensors[graph->outputs[o]->index];
    names[o] = graph->outputs[o]->name;
    if (outputs[o].type != DQ_F32 || outputs[o].rank < 3 || outputs[o].dims[0] != 1 || !graph->outputs[o]->producer)
      return DQ_OK;
  }
  if (!input || input->rank != 4 || !graph->output_count) return DQ_OK;
  const int rows = dq_channels_last(4, input->dims) ? 1 : 2;
  dq_decode_options options = {.decode = decode,
                               .metadata = dq_metadata_of(graph),
                               .output_count = graph->output_count,
                               .outputs = outputs,
                               .output_names = names,
                               .input_height = input->dims[rows],
                               .input_width = input->dims[rows + 1]};
  dq_error reason;
  const bool opened = dq_decoder_possible(&options) && dq_decoder_init(&detection->decoder, &options, &reason) == DQ_OK;
  *found = opened && !detection->decoder.listed; // rows of lists have no candidate in common
  return DQ_OK;
}

dq_status dq_detection_error_open(dq_detection_error *detection, bool *found, const dq_graph *graph,
                                  const dq_tensor *tensors, const char *decode, dq_arena *arena, dq_error *error) {
  *detection = (dq_detection_error){.outputs = graph->output_count};
  *found = false;
  DQ_TRY(open_decoder(detection, found, graph, tensors, decode, arena, error));
  for (int i = 0; *found && i < 2; i++) {
    detection->boxes[i] = DQ_NEW_ARRAY(arena, detection->decoder.candidates, dq_box);
    detection->scores[i] = DQ_NEW_ARRAY(arena, detection->decoder.candidates * detection->decoder.classes, double);
    detection->kept[i] = DQ_NEW_ARRAY(arena, detection->decoder.candidates, int64_t);
    if (!detection->boxes[i] || !detection->scores[i] || !detection->kept[i]) return dq_fail_memory(error, 0);
  }
  if (!*found) return DQ_OK;
  detection->near = DQ_NEW_ARRAY(arena, detection->decoder.candidates, dq_box);
  detection->near_scores = DQ_NEW_ARRAY(arena, detection->decoder.candidates, double);
  detection->near_candidates = DQ_NEW_ARRAY(arena, detection->decoder.candidates, int64_t);
  bool memory = detection->near && detection->near_scores && detection->near_candidates;
  return memory ? DQ_OK : dq_fail_memory(error, 0);
}

void dq_detection_error_close(dq_detection_error *detection) { dq_decoder_deinit(&detection->decoder); }

// Whether an element is NaN or infinite though it is not in float. What is decoded from it may look like any box: the
// sigmoid of infinity is a score of 1.
static bool is_broken(const dq_tensor *exact, const dq_tensor *other) {
  const float *a = exact->data, *b = other->data;
  for (int64_t i = 0; i < dq_tensor_count(exact); i++)
    if (dq_is_broken((double)a[i], (double)b[i])) return true;
  return false;
}

dq_status dq_detection_error_compare(dq_detection_error *detection, const dq_tensor *const *exact,
                                     const dq_tensor *const *other, double *signal, double *noise, dq_error *error) {
  int64_t classes = detection->decoder.classes;
  const dq_tensor *const *const outputs[2] = {exact, other};
  for (int i = 0; i < 2; i++) {
    const dq_candidates candidates = {.boxes = detection->boxes[i], .scores = detection->scores[i]};
    DQ_TRY(dq_decode(&detection->decoder, outputs[i], 0, &candidates, error));
  }
  *signal = *noise = 0;
  for (int64_t i = 0; i < detection->decoder.candidates; i++) {
    const double *wanted = detection->scores[0] + i * classes, *got = detection->scores[1] + i * classes;
    double score = dq_largest(wanted, classes);
    if (score <= DQ_LOWEST_SCORE && dq_largest(got, classes) <= DQ_LOWEST_SCORE) continue;
    double moved = score * (1 - dq_box_iou(&detection->boxes[0][i], &detection->boxes[1][i]));
    *noise += dq_squared_signal(moved);
    for (int64_t c = 0; c < classes; c++) {
      *signal += dq_squared_signal(wanted[c]);
      *noise += dq_squared_error(wanted[c], got[c]);
    }
  }
  for (int o = 0; o < detection->outputs; o++)
    if (is_broken(exact[o], other[o])) *noise = INFINITY;
  return DQ_OK;
}

// ---- Boxes as answers ----

static const double ANSWER_SCORE = 0.25, MATCH_SCORE = 0.125, SUPPRESSION = 0.45, OVERLAP = 0.5;

// Stores in detection->kept[network] the candidates of a class above MATCH_SCORE that suppression leaves.
static int64_t select_boxes(dq_detection_error *detection, int network, int64_t class) {
  int64_t classes = detection->decoder.classes, count = 0, *kept = detection->kept[network];
  for (int64_t i = 0; i < detection->decoder.candidates; i++) {
    double score = detection->scores[network][i * classes + class];
    if (!(score > MATCH_SCORE)) continue;
    detection->near[count] = detection->boxes[network][i];
    detection->near_scores[count] = score;
    detection->near_candidates[count++] = i;
  }
  int64_t left = dq_nms(detection->near, detection->near_scores, count, SUPPRESSION, kept);
  for (int64_t k = 0; k < left; k++) kept[k] = detection->near_candidates[kept[k]];
  return left;
}

static bool is_found(const dq_detection_error *detection, const dq_box *box, int network, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    if (dq_box_iou(box, &detection->boxes[network][detection->kept[network][k]]) >= OVERLAP) return true;
  return false;
}

dq_status dq_detection_error_add_answers(dq_detection_error *detection, dq_answers *answers, dq_error *error) {
  int64_t classes = detection->decoder.classes;
  for (int64_t class = 0; class < classes; class ++) {
    const int64_t counts[2] = {select_boxes(detection, 0, class), select_boxes(detection, 1, class)};
    if (counts[0] < 0 || counts[1] < 0) return dq_fail_memory(error, 0);
    for (int network = 0; network < 2; network++)
      for (int64_t k = 0; k < counts[network]; k++) {
        int64_t candidate = detection->kept[network][k];
        if (!(detection->scores[network][candidate * classes + class] > ANSWER_SCORE)) continue;
        answers->answers++;
        answers->equal += is_found(detection, &detection->boxes[network][candidate], !network, counts[!network]);
      }
  }
  return DQ_OK;
}
