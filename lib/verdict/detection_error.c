#include "lib/verdict/detection_error.h"

#include <math.h>

#include "datasets/datasets.h"
#include "lib/decode/metadata.h"
#include "lib/eval/eval.h"
#include "lib/measure/spread.h"

enum { MOST_OUTPUTS = 64 };

static bool has_outputs_of_detector(const dq_graph *graph, const dq_tensor *tensors) {
  for (int o = 0; o < graph->output_count; o++) {
    const dq_tensor *output = &tensors[graph->outputs[o]->index];
    if (output->type != DQ_F32 || output->rank < 2 || !graph->outputs[o]->producer) return false;
  }
  return graph->output_count > 0 && graph->output_count <= MOST_OUTPUTS;
}

// Whether the outputs hold one picture.
static bool is_single(const dq_decoder *decoder, const dq_decode_options *options) {
  for (int o = 0; o < options->output_count && !decoder->pooled; o++)
    if (options->outputs[o].rank < 3 || options->outputs[o].dims[0] != 1) return false;
  return true;
}

// Opens both detectors where the outputs can be decoded.
static dq_status open_detectors(dq_detection_error *detection, bool *found, const dq_decode_options *options,
                                const dq_context *context, dq_error *error) {
  dq_error reason;
  if (!dq_decoder_possible(options)) return DQ_OK;
  for (int i = 0; i < 2; i++) {
    const dq_status status = dq_detector_open(&detection->detectors[i], options, context, &reason);
    if (status == DQ_SYSTEM) *error = reason;
    if (status != DQ_OK) return status == DQ_SYSTEM ? status : DQ_OK;
  }
  const dq_decoder *decoder = &detection->detectors[0].decoder;
  *found = !decoder->listed && is_single(decoder, options); // rows of lists have no candidate in common
  return DQ_OK;
}

dq_status dq_detection_error_open(dq_detection_error *detection, bool *found, const dq_graph *graph,
                                  const dq_tensor *tensors, const char *decode, const dq_context *context,
                                  dq_error *error) {
  const dq_tensor *input = graph->input_count ? &tensors[graph->inputs[0]->index] : NULL;
  dq_tensor outputs[MOST_OUTPUTS];
  const char *names[MOST_OUTPUTS];
  *detection = (dq_detection_error){.outputs = graph->output_count};
  *found = false;
  if (!input || input->rank != 4 || !has_outputs_of_detector(graph, tensors)) return DQ_OK;
  for (int o = 0; o < graph->output_count; o++) {
    outputs[o] = tensors[graph->outputs[o]->index];
    names[o] = graph->outputs[o]->name;
  }
  const int rows = dq_channels_last(4, input->dims) ? 1 : 2;
  const dq_decode_options options = {.decode = decode,
                                     .metadata = dq_metadata_of(graph),
                                     .output_count = graph->output_count,
                                     .outputs = outputs,
                                     .output_names = names,
                                     .input_height = input->dims[rows],
                                     .input_width = input->dims[rows + 1]};
  return open_detectors(detection, found, &options, context, error);
}

void dq_detection_error_close(dq_detection_error *detection) {
  for (int i = 0; i < 2; i++) dq_detector_close(&detection->detectors[i]);
}

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
  const dq_decoder *decoder = &detection->detectors[0].decoder;
  const dq_candidates *float_candidates = &detection->detectors[0].candidates;
  const dq_candidates *other_candidates = &detection->detectors[1].candidates;
  const int64_t classes = decoder->classes;
  DQ_TRY(dq_detector_decode(&detection->detectors[0], exact, 0, error));
  DQ_TRY(dq_detector_decode(&detection->detectors[1], other, 0, error));
  *signal = *noise = 0;
  for (int64_t i = 0; i < decoder->candidates; i++) {
    const double *wanted = float_candidates->scores + i * classes, *got = other_candidates->scores + i * classes;
    double score = dq_largest(wanted, classes);
    if (score <= DQ_LOWEST_SCORE && dq_largest(got, classes) <= DQ_LOWEST_SCORE) continue;
    double moved = score * (1 - dq_box_iou(&float_candidates->boxes[i], &other_candidates->boxes[i]));
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

static bool is_found(const dq_detection *box, const dq_detector *other) {
  for (int64_t i = 0; i < other->count; i++)
    if (other->found[i].label == box->label && dq_box_iou(&box->box, &other->found[i].box) >= OVERLAP) return true;
  return false;
}

dq_status dq_detection_error_add_answers(dq_detection_error *detection, dq_answers *answers, dq_error *error) {
  for (int i = 0; i < 2; i++) DQ_TRY(dq_detector_select(&detection->detectors[i], MATCH_SCORE, SUPPRESSION, error));
  for (int network = 0; network < 2; network++) {
    const dq_detector *own = &detection->detectors[network];
    for (int64_t i = 0; i < own->count; i++) {
      if (!(own->found[i].score > ANSWER_SCORE)) continue;
      answers->answers++;
      answers->equal += is_found(&own->found[i], &detection->detectors[!network]);
    }
  }
  return DQ_OK;
}
