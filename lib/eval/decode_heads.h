// Where YOLO heads are described: a model's metadata property (JSON) or the command line.
#ifndef DQ_EVAL_DECODE_HEADS_H
#define DQ_EVAL_DECODE_HEADS_H

#include "lib/eval/decode.h"

// A JSON array of heads: {"name": output, "classes": n, "anchors": [[w, h], ...], "scale_x_y": s}.
dq_status dq_heads_from_json(dq_decoder *decoder, const char *json, const dq_task_options *options, dq_error *error);

// "yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05": heads in the outputs' order.
dq_status dq_heads_from_text(dq_decoder *decoder, const char *text, const dq_task_options *options, dq_error *error);

#endif
