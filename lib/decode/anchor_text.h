// Reads descriptions of YOLO heads with anchors, from a metadata property of a model (JSON) or from the command line.
#ifndef DQ_DECODE_ANCHOR_TEXT_H
#define DQ_DECODE_ANCHOR_TEXT_H

#include "lib/decode/decode.h"

enum { DQ_MAX_ANCHORS = 16 };

typedef struct dq_anchor_head {
  int anchor_count;
  double anchors[DQ_MAX_ANCHORS][2]; // width and height in pixels of the model's input
  int64_t classes;
  double scale; // scale_x_y: how far the centre of a box can leave its cell; 1: not at all
} dq_anchor_head;

// Both fill decoder->anchors, roles and output. DQ_SYSTEM: there is no memory.

// A JSON array with an object for each head: {"name": output, "classes": n, "anchors": [[w, h], ...], "scale_x_y": s}.
// DQ_BAD_INPUT: the text is not such an array, or names an output that the model does not have.
dq_status dq_anchors_from_json(dq_decoder *decoder, const char *json, const dq_decode_options *options,
                               dq_error *error);

// A text such as "yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05", with the heads in the order of the
// outputs and a slash between the anchors of two heads. DQ_USAGE: the text cannot be read.
dq_status dq_anchors_from_text(dq_decoder *decoder, const char *text, const dq_decode_options *options,
                               dq_error *error);

#endif
