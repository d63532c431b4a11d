// How close a detector's answers come to those in float: the boxes and scores that its outputs stand for, picture by
// picture. Outputs themselves say little of it: most scores are next to nothing, and boxes count where scores are high.
#ifndef DQ_QUANT_DETECTION_ERROR_H
#define DQ_QUANT_DETECTION_ERROR_H

#include "lib/eval/decode.h"
#include "lib/schedule/infer.h"

typedef struct dq_detection_error {
  dq_decoder decoder;
  int outputs;       // of the network, float32
  dq_box *boxes[2];  // of both networks on one picture
  double *scores[2]; // candidates x classes
} dq_detection_error;

// For a graph with one picture per run whose outputs are boxes and scores that can be read: `decode` (NULL: nothing
// said) as in dq_task_options, the model's own property, or YOLOX by its shape. `tensors` as from dq_infer. *found
// false: it is no such network. Arrays in the arena; safe to close then.
dq_status dq_detection_error_open(dq_detection_error *detection, bool *found, const dq_graph *graph,
                                  const dq_tensor *tensors, const char *decode, dq_arena *arena, dq_error *error);
void dq_detection_error_close(dq_detection_error *detection); // safe on a zeroed struct

// *noise: sum over candidates of the squared differences of their scores, by class, and of (m (1 - IoU))^2 with the
// highest score m in float and the overlap of both boxes; *signal: sum of squared scores in float. Candidates with
// no score over DQ_LOWEST_SCORE in either network, which detections leave out, do not count. *noise is infinite when an
// element of an output is broken (dq_is_broken). Outputs in the graph's order.
dq_status dq_detection_error_compare(dq_detection_error *detection, const dq_tensor *const *exact,
                                     const dq_tensor *const *other, double *signal, double *noise, dq_error *error);

#endif
