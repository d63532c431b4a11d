// The detection error: the difference of a converted detector from the float network, measured on the boxes and scores
// that its outputs stand for, picture by picture. The raw outputs are a poor measure, because most scores are close to
// 0, and errors of boxes matter only where the scores are high.
#ifndef DQ_VERDICT_DETECTION_ERROR_H
#define DQ_VERDICT_DETECTION_ERROR_H

#include "lib/decode/detector.h"
#include "lib/schedule/infer.h"
#include "lib/verdict/answers.h"

typedef struct dq_detection_error {
  dq_detector detectors[2]; // of the float network and of the other network
  int outputs;              // number of outputs of the network, all float32
} dq_detection_error;

// Prepares the comparison for a graph with a batch of 1 whose outputs can be decoded: by `decode` (as in
// dq_decode_options; NULL: not given), by the property `decode` of the model, or as YOLOX by their shapes. `tensors` is
// the result of dq_infer. *found is false when the graph is not such a network; that is no failure. The memory counts
// against the limit of the context (NULL: none). dq_detection_error_close may be called in every case. DQ_SYSTEM: there
// is no memory.
dq_status dq_detection_error_open(dq_detection_error *detection, bool *found, const dq_graph *graph,
                                  const dq_tensor *tensors, const char *decode, const dq_context *context,
                                  dq_error *error);
void dq_detection_error_close(dq_detection_error *detection); // safe on a zeroed struct

// Compares the outputs of both networks on one picture, in the order of the graph. Over the candidates with a score
// above DQ_LOWEST_SCORE in either network, *signal is the sum of the squared scores of the float network over all
// classes, and *noise the sum of the squared differences of the scores and of (m (1 - IoU))^2, where m is the highest
// score of the candidate in the float network and IoU the overlap of its two boxes. *noise is infinite when an element
// of an output is broken (dq_is_broken). Statuses as for dq_decode.
dq_status dq_detection_error_compare(dq_detection_error *detection, const dq_tensor *const *exact,
                                     const dq_tensor *const *other, double *signal, double *noise, dq_error *error);

// Adds the boxes of the picture that dq_detection_error_compare was called for last. The answers are the boxes of each
// network with a score above 0.25 that dq_nms leaves with a threshold of 0.45, by class; one is equal when the other
// network has a box of the class with a score above 0.125 whose intersection over union with it is 0.5 or more.
// DQ_SYSTEM: there is no memory.
dq_status dq_detection_error_add_answers(dq_detection_error *detection, dq_answers *answers, dq_error *error);

#endif
