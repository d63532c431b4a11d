// From a detector's raw outputs to boxes and scores.
#ifndef DQ_EVAL_DECODE_H
#define DQ_EVAL_DECODE_H

#include "lib/eval/eval.h"

enum { DQ_MAX_ANCHORS = 16 };
#define DQ_LOWEST_SCORE 0.005 // scores that are no higher do not count as detections

typedef struct dq_yolo_head {
  int output; // index of the model's output
  int anchor_count;
  double anchors[DQ_MAX_ANCHORS][2]; // width and height in pixels of the model's input
  int64_t classes;
  int64_t height, width; // of the grid
  double scale;          // scale_x_y
} dq_yolo_head;

typedef struct dq_decoder {
  bool yolox; // else yolo heads
  int head_count;
  dq_yolo_head *heads; // malloc'ed
  int64_t input_height, input_width;
  int64_t classes, candidates; // boxes per picture
} dq_decoder;

// DQ_USAGE when `decode` (NULL: fine) begins with the name of no decoder.
dq_status dq_decoder_check(const char *decode, dq_error *error);

// Chooses the decoder (see dq_task_options) and checks it against the outputs' shapes.
dq_status dq_decoder_init(dq_decoder *decoder, const dq_task_options *options, dq_error *error);
void dq_decoder_deinit(dq_decoder *decoder);
// Whether the outputs look like something that can be decoded, for guessing.
bool dq_decoder_possible(const dq_task_options *options);

// boxes[candidates], relative to the model's input, and scores[candidates][classes].
dq_status dq_decode(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_box *boxes,
                    double *scores, dq_error *error);

#endif
