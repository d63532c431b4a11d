// Writing the model that a conversion made.
#ifndef DQ_CMD_WRITE_MODEL_H
#define DQ_CMD_WRITE_MODEL_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Tells in one note when the file at `path`, which holds `made`, has over 8 KiB more than that of `original`, with the
// bytes of both, the bytes of their weights and the numbers of their nodes, which tell why. Data in files beside a
// model count. No note is written for files that are no regular ones, such as pipes.
void dq_note_growth(const dq_graph *original, const dq_graph *made, const char *path, const dq_context *context);

// Saves `made` (dq_onnx_save), loads it again (dq_verify_model) and calls dq_note_growth.
dq_status dq_write_model(const dq_graph *original, const dq_graph *made, const char *path, const dq_context *context,
                         dq_error *error);

#endif
