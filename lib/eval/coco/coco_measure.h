// Average precision and recall of boxes as the evaluation of COCO computes them.
#ifndef DQ_EVAL_COCO_COCO_MEASURE_H
#define DQ_EVAL_COCO_COCO_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/status.h"

// A true object. Coordinates and sizes are in pixels.
typedef struct dq_coco_truth {
  int64_t class, picture; // from 0
  double left, top, width, height;
  double area; // that the ranges of sizes mean
  bool crowd;
  bool difficult; // left out as a crowd is, but one object: once it is taken, others do not match it
} dq_coco_truth;

typedef struct dq_coco_found {
  int64_t class, picture;
  double score; // a number
  double left, top, width, height;
} dq_coco_found;

// The twelve figures of `summarize` of pycocotools 2.0 for boxes, 0 to 1; -1: no object is of that size.
enum {
  DQ_COCO_AP, // overlaps 0.5, 0.55, ..., 0.95; at most 100 detections of a class in a picture, as all but two
  DQ_COCO_AP50,
  DQ_COCO_AP75,
  DQ_COCO_AP_SMALL,  // objects of up to 32 * 32 pixels
  DQ_COCO_AP_MEDIUM, // of 32 * 32 to 96 * 96
  DQ_COCO_AP_LARGE,  // of 96 * 96 and more
  DQ_COCO_AR1,       // at most 1 detection
  DQ_COCO_AR10,
  DQ_COCO_AR100,
  DQ_COCO_AR_SMALL,
  DQ_COCO_AR_MEDIUM,
  DQ_COCO_AR_LARGE,
  DQ_COCO_FIGURES
};

typedef struct dq_coco_figures {
  double values[DQ_COCO_FIGURES];
} dq_coco_figures;

// Measures detections against true objects. Pictures count as those of COCO in ascending order of their ids; of equal
// scores the detection of the earlier picture comes first, in a picture the earlier one of `found`. The objects of a
// picture are in the order of their file. Source: T.-Y. Lin et al., Microsoft COCO: Common Objects in Context, 2014,
// and cocoeval.py of pycocotools 2.0.11. A true object whose id is 0 counts as others, where pycocotools takes what was
// matched with it as wrong. DQ_SYSTEM: there is no memory.
dq_status dq_coco_measure(dq_coco_figures *figures, const dq_coco_truth *truth, int64_t truth_count,
                          const dq_coco_found *found, int64_t found_count, dq_error *error);

#endif
