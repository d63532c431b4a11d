// Shares and bounds of maps, as text and JSON show them.
#ifndef DQ_REPORT_PLANE_SHARES_H
#define DQ_REPORT_PLANE_SHARES_H

#include "lib/predict/predict.h"

typedef struct dq_share {
  int64_t label;  // class; -1: points without a class
  double percent; // of the points of the plane that show the picture
} dq_share;

// Counts the classes of the points whose middle lies in the picture (dq_predictions.view), in *shares by descending
// percent, of equal ones by class; the caller frees the array with free(). Returns their number; -1: there is no
// memory.
int64_t dq_plane_shares(const dq_predictions *predictions, dq_share **shares);

typedef struct dq_plane_bounds {
  double least, mean, greatest; // of the finite numbers of the points that show the picture; NaN: there are none
  int64_t nonfinite;            // number of the others
} dq_plane_bounds;

dq_plane_bounds dq_plane_bounds_of(const dq_predictions *predictions);

#endif
