// A roofline as an SVG file: speed over multiply-accumulates per byte, both on logarithmic scales, under the
// ceilings of the machine (Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model
// for Multicore Architectures", CACM 52(4), 2009).
#ifndef DQ_REPORT_ROOFLINE_H
#define DQ_REPORT_ROOFLINE_H

#include "lib/measure/peaks.h"

typedef struct dq_roofline_point {
  const char *label;
  double intensity, speed; // MACs per byte, MACs per second; both above 0
  bool integer;            // under the 8-bit ceiling
} dq_roofline_point;

// Writes the file atomically; "-" is standard output. Points beyond the scales stand at their ends. Where points lie
// above their roof, sentences below the picture say how many and why that can be.
dq_status dq_roofline_write(const char *path, const char *title, const dq_peaks *peaks, const dq_roofline_point *points,
                            int count, dq_error *error);

#endif
