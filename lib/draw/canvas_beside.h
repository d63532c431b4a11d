// Two pictures beside each other.
#ifndef DQ_DRAW_CANVAS_BESIDE_H
#define DQ_DRAW_CANVAS_BESIDE_H

#include "lib/draw/canvas.h"

// Makes a canvas with `left` and `right` beside each other, their upper sides in line, a gap between them and a line of
// text in black on white over each; a caption that is wider than its picture is shortened. Scale of the text by
// dq_draw_sizes_for of the left picture. The pixels count against the budget of `left`. The caller calls
// dq_canvas_deinit after success. Statuses as dq_canvas_init.
dq_status dq_canvas_beside(dq_canvas *both, const dq_canvas *left, const dq_canvas *right,
                           const char *const captions[2], dq_error *error);

#endif
