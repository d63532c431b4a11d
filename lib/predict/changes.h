// What two networks say of the same picture: which answers both give. The verdict of conversions counts boxes in the
// same way (lib/verdict/detection_error.h).
#ifndef DQ_PREDICT_CHANGES_H
#define DQ_PREDICT_CHANGES_H

#include "lib/predict/predict.h"

typedef enum dq_change {
  DQ_CHANGE_KEPT,   // the other network has an object of the class whose intersection over union is 0.5 or more
  DQ_CHANGE_MOVED,  // it has one whose intersection over union is 0.1 or more
  DQ_CHANGE_ALONE,  // it has none: of the reference vanished, of the other network appeared
  DQ_CHANGE_HIDDEN, // the score is at most `score`, and so is that of the object found again
} dq_change;

typedef struct dq_changes {
  int64_t answers, equal;     // objects, classes of vectors or points of either network; those that the other gives too
  int64_t moved[2], alone[2]; // objects of the reference and of the other network
  int64_t masks;              // pairs of kept objects with masks
  double mask_overlap;        // sum of the intersections over unions of their masks
  int64_t texts, equal_texts; // kept objects of the reference with texts; those whose nearest object has the same
  dq_change *of[2];           // of each object of the reference and of the other; owned
} dq_changes;

// Compares the predictions of two networks on a picture. Objects count whose score is above `score`; those with a score
// above half of it are there to be found again, so that a score that hardly changes does not lose an object. Of each
// vector the class with the highest score is an answer, of a plane every point. Maps of numbers and predictions of two
// kinds or sizes have no answers. The caller frees with dq_changes_deinit, also after a failure. DQ_SYSTEM: there is no
// memory.
dq_status dq_changes_find(dq_changes *changes, const dq_predictions *reference, const dq_predictions *other,
                          double score, dq_error *error);
void dq_changes_deinit(dq_changes *changes); // a zeroed struct is allowed

#endif
