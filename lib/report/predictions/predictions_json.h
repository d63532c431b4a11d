// The predictions of a picture for programs.
#ifndef DQ_REPORT_PREDICTIONS_JSON_H
#define DQ_REPORT_PREDICTIONS_JSON_H

#include <stdio.h>

#include "lib/predict/label_names.h"
#include "lib/predict/changes.h"

typedef struct dq_predictions_subject {
  const char *picture;             // its name
  const char *const *output_names; // of the network
  const dq_label_names *names;     // of classes; NULL: none
  const dq_change *changes;        // of the objects (dq_changes.of); NULL: nothing is compared
} dq_predictions_subject;

// Writes a JSON object without a line end: "picture", "width", "height" in pixels, "kind", "form", and by the kind
// "objects" ("class", "name", "score", "box" as [left, top, right, bottom], "corners", "keypoints" as [x, y, score],
// "change" as "kept", "moved" or "alone", "mask" as {"size": [height, width], "counts": runs of 0 and 1 in turns, down
// the columns of the picture}), "classes"
// ("output", "class", "name", "score"), "shares" ("class", "name", "percent") or "map" ("least", "mean", "greatest").
// False: the stream has failed, or there is no memory.
bool dq_predictions_json(FILE *stream, const dq_predictions *predictions, const dq_predictions_subject *subject);

#endif
