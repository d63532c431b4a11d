// PNG files of canvases.
#ifndef DQ_DRAW_CANVAS_PNG_H
#define DQ_DRAW_CANVAS_PNG_H

#include "lib/draw/canvas.h"

// Writes the canvas as a PNG with 8 bits a channel, RGB, which appears under its name only when it is complete; "-" is
// standard output. The memory for it, up to four times that of the pixels and 5 MB, counts against the budget of the
// canvas. DQ_SYSTEM: there is no memory, or the file cannot be written; nothing is left behind.
dq_status dq_canvas_write_png(const dq_canvas *canvas, const char *path, dq_error *error);

#endif
