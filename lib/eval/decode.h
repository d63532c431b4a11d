// Reads boxes and scores from the outputs of a detector.
#ifndef DQ_EVAL_DECODE_H
#define DQ_EVAL_DECODE_H

#include "lib/eval/eval.h"

enum { DQ_MAX_ANCHORS = 16 };
#define DQ_LOWEST_SCORE 0.005 // a score must be above this to count as a detection

typedef struct dq_yolo_head {
  int output; // index of the model's output
  int anchor_count;
  double anchors[DQ_MAX_ANCHORS][2]; // width and height in pixels of the model's input
  int64_t classes;
  int64_t height, width; // of the grid
  double scale;          // scale_x_y: how far the centre of a box can leave its cell; 1: not at all
} dq_yolo_head;

typedef struct dq_decoder {
  const struct dq_single_decoder *form; // how the only output is read; NULL: the outputs are those of `heads`
  int head_count;
  dq_yolo_head *heads; // owned; freed by dq_decoder_deinit
  int64_t input_height, input_width;
  int64_t classes, candidates; // boxes per picture
} dq_decoder;

// DQ_USAGE when `decode` does not begin with the name of a decoder; NULL is allowed. The parameters behind the name are
// not read.
dq_status dq_decoder_check(const char *decode, dq_error *error);

// Chooses the decoder by options->decode, else options->model_decode, else YOLOX, YOLOv5 or YOLOv8 where the only
// output has such a shape. DQ_USAGE: none of these says how to read the outputs, or options->decode is wrong;
// DQ_BAD_INPUT: the shapes of the outputs do not fit the decoder, or model_decode is broken; DQ_SYSTEM: there is no
// memory.
dq_status dq_decoder_init(dq_decoder *decoder, const dq_task_options *options, dq_error *error);
void dq_decoder_deinit(dq_decoder *decoder); // a zeroed struct is allowed
// Whether the options say how to decode, or the only output has the shape of a known detector. dq_decoder_init may
// still fail.
bool dq_decoder_possible(const dq_task_options *options);

// Decodes picture `item` (along dimension 0) of the outputs, in the order of the model, into arrays of the caller:
// boxes[candidates], with coordinates from 0 to 1 relative to the input of the model, and scores[candidates][classes].
// DQ_BAD_INPUT: an output has another shape than at dq_decoder_init; DQ_SYSTEM: there is no memory.
dq_status dq_decode(const dq_decoder *decoder, const dq_tensor *const *outputs, int64_t item, dq_box *boxes,
                    double *scores, dq_error *error);

#endif
