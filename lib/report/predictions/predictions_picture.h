// The predictions of a picture, drawn on it.
#ifndef DQ_REPORT_PREDICTIONS_PICTURE_H
#define DQ_REPORT_PREDICTIONS_PICTURE_H

#include "lib/draw/canvas.h"
#include "lib/predict/label_names.h"
#include "lib/predict/changes.h"

// Draws on a canvas with the picture, which may be enlarged: objects with box or corners, name, score, mask and
// keypoints in the colour of the class, those of the highest scores on top; a class of each point, but for class 0 of
// two or more, as a veil with a legend of the ten largest shares; a map in a scale of colours; classes of the whole
// picture as lines in the upper left corner. With `changes` (dq_changes.of of the network; NULL: nothing is compared)
// objects that the other network does not have are drawn with thick lines and named so. `names` may be NULL. DQ_SYSTEM:
// there is no memory.
dq_status dq_predictions_draw(dq_canvas *canvas, const dq_predictions *predictions, const dq_label_names *names,
                              const dq_change *changes, dq_error *error);

#endif
