// Where the elements of a resized axis come from: coordinates and weights, one table per axis.
#ifndef DQ_OPS_RESIZE_AXIS_H
#define DQ_OPS_RESIZE_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

typedef enum dq_resize_mode { DQ_RESIZE_NEAREST, DQ_RESIZE_LINEAR, DQ_RESIZE_CUBIC } dq_resize_mode;

typedef enum dq_resize_coordinates {
  DQ_HALF_PIXEL,
  DQ_HALF_PIXEL_SYMMETRIC,
  DQ_PYTORCH_HALF_PIXEL,
  DQ_ALIGN_CORNERS,
  DQ_ASYMMETRIC,
  DQ_TF_HALF_PIXEL_FOR_NN,
  DQ_TF_CROP_AND_RESIZE,
} dq_resize_coordinates;

typedef enum dq_resize_nearest {
  DQ_ROUND_PREFER_FLOOR,
  DQ_ROUND_PREFER_CEIL,
  DQ_ROUND_FLOOR,
  DQ_ROUND_CEIL,
  DQ_ROUND_SIMPLE, // before version 11: up when making smaller, else down
} dq_resize_nearest;

typedef struct dq_resize_rules {
  dq_resize_mode mode;
  dq_resize_coordinates coordinates;
  dq_resize_nearest nearest;
  double cubic_coefficient;
  bool exclude_outside, antialias;
} dq_resize_rules;

typedef struct dq_resize_axis {
  int64_t input, output;     // sizes along the axis
  double scale;              // output / input, or the scale that the node gives
  bool scale_given;          // the node gives the scale
  double roi_start, roi_end; // of tf_crop_and_resize, as shares of the input
  // The tables, filled by dq_resize_axis_table:
  int taps;           // input elements that an output element is computed from
  int32_t *index;     // [output][taps] positions in the input; -1 in the first: the element is extrapolated
  double *weight_f64; // [output][taps]; NULL for nearest
  float *weight_f32;  // the same, rounded
  bool extrapolated;  // some element is extrapolated
  bool doubled;       // nearest: output o is input o / 2
  bool same;          // nothing changes along this axis; there are no tables
} dq_resize_axis;

// Fills the tables of an axis, whose input, output, scale, scale_given and roi must be set, with input, output >= 1.
// The tables are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_resize_axis_table(const dq_resize_rules *rules, dq_resize_axis *axis, dq_arena *arena, dq_error *error);

#endif
