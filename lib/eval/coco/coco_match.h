// Which detections of one class in one picture are right, for each overlap and range of sizes. Private to this module.
#ifndef DQ_EVAL_COCO_COCO_MATCH_H
#define DQ_EVAL_COCO_COCO_MATCH_H

#include "lib/eval/coco/coco_measure.h"

enum {
  DQ_COCO_OVERLAPS = 10,
  DQ_COCO_SIZES = 4,            // all, small, medium, large
  DQ_COCO_MOST_DETECTIONS = 100 // of a class in a picture
};

enum { DQ_COCO_WRONG, DQ_COCO_RIGHT, DQ_COCO_LEFT_OUT };

// A detection with what it is at each size and overlap.
typedef struct dq_coco_judged {
  double score;
  int rank; // among the detections of its class in its picture, from 0
  uint8_t verdicts[DQ_COCO_SIZES][DQ_COCO_OVERLAPS];
} dq_coco_judged;

// The objects of one class in one picture.
typedef struct dq_coco_group {
  const dq_coco_truth *truth; // [truth_count], in the order of the file
  const dq_coco_found *found; // [found_count], the highest score first; at most DQ_COCO_MOST_DETECTIONS
  int64_t truth_count, found_count;
} dq_coco_group;

// Memory of dq_coco_match for groups of up to `most` true objects. Initialized with zeros; freed by
// dq_coco_workspace_free.
typedef struct dq_coco_workspace {
  double *overlaps; // [DQ_COCO_MOST_DETECTIONS][most]
  int64_t *order;   // true objects, those that are left out last
  bool *taken;
  int64_t most;
} dq_coco_workspace;
void dq_coco_workspace_free(dq_coco_workspace *workspace);

// Judges the detections of a group, judged[found_count], and adds the true objects of each size that count to
// positives[DQ_COCO_SIZES]. DQ_SYSTEM: there is no memory.
dq_status dq_coco_match(const dq_coco_group *group, dq_coco_judged *judged, int64_t positives[DQ_COCO_SIZES],
                        dq_coco_workspace *workspace, dq_error *error);

#endif
