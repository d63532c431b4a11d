// Boxes of detectors: their overlap, and the suppression of those that overlap a better one.
#ifndef DQ_DECODE_BOXES_H
#define DQ_DECODE_BOXES_H

#include <stdint.h>

typedef struct dq_box {
  double x1, y1, x2, y2;
} dq_box;

// Intersection over union, 0 to 1; 0 when the union is empty.
double dq_box_iou(const dq_box *a, const dq_box *b);

// Greedy non-maximum suppression: a box is dropped when its intersection over union with a remaining box of a higher
// score is above `threshold`. Stores the indices of the remaining boxes in `keep`, an array of `count` elements, in the
// order of descending scores (stable), and returns their number; -1 when there is no memory. O(count^2) at worst.
int64_t dq_nms(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t *keep);
// Does the same, and ends with the first `most` remaining boxes: O(count * most).
int64_t dq_nms_first(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t most,
                     int64_t *keep);

// A rotated box in pixels: centre, sizes, and the angle of the width against the x axis in radians, clockwise on the
// picture.
typedef struct dq_rotated_box {
  double x, y, width, height, angle;
} dq_rotated_box;

// ProbIoU, 0 to 1, of two rotated boxes as normal distributions of the same centre and covariance: one less their
// Hellinger distance (Llerena et al. 2021, Gaussian Bounding Boxes and Probabilistic Intersection-over-Union, section
// 3.3), with the bounds of Ultralytics. NaN where a field is NaN.
double dq_rotated_overlap(const dq_rotated_box *a, const dq_rotated_box *b);

// Suppression of rotated boxes as Ultralytics has it (Bolya et al. 2019, YOLACT, Fast NMS): a box is dropped when its
// overlap with any box of a higher score, a dropped one too, is above `threshold`. Result and time as of dq_nms.
int64_t dq_nms_rotated(const dq_rotated_box *boxes, const double *scores, int64_t count, double threshold,
                       int64_t *keep);

#endif
