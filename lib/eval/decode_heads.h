// Reads descriptions of YOLO detection heads, from a metadata property of a model (JSON) or from the command line.
#ifndef DQ_EVAL_DECODE_HEADS_H
#define DQ_EVAL_DECODE_HEADS_H

#include "lib/eval/decode.h"

// Both fill decoder->heads and head_count. DQ_SYSTEM: there is no memory.

// A JSON array with an object for each head: {"name": output, "classes": n, "anchors": [[w, h], ...], "scale_x_y": s}.
// DQ_BAD_INPUT: the text is not such an array, or names an output that the model does not have.
dq_status dq_heads_from_json(dq_decoder *decoder, const char *json, const dq_task_options *options, dq_error *error);

// A text such as "yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05", with the heads in the order of the
// outputs and a slash between the anchors of two heads. DQ_USAGE: the text cannot be read.
dq_status dq_heads_from_text(dq_decoder *decoder, const char *text, const dq_task_options *options, dq_error *error);

#endif
