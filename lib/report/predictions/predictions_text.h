// The predictions of a picture for people.
#ifndef DQ_REPORT_PREDICTIONS_TEXT_H
#define DQ_REPORT_PREDICTIONS_TEXT_H

#include <stdio.h>

#include "lib/predict/label_names.h"
#include "lib/predict/changes.h"

// Prints lines with two spaces in front: for objects how many there are and, by descending score, score, box (left,
// top, right, bottom in pixels of the picture), name, and what belongs to the box; for a class of each point the share
// of the points of the picture; for a map its least, mean and greatest number. Classes of whole pictures are not
// printed here. With `changes` (dq_changes.of of the network; NULL: nothing is compared) objects that are not in the
// reference are marked. `names` may be NULL.
void dq_predictions_print(FILE *stream, const dq_predictions *predictions, const dq_label_names *names,
                          const dq_change *changes);
// Prints the objects of the reference that the other network does not have, in the same form.
void dq_predictions_print_lost(FILE *stream, const dq_predictions *reference, const dq_label_names *names,
                               const dq_change *changes);

#endif
