// A roofline as an SVG file: speed over multiply-accumulates per byte, both on logarithmic scales, under the
// ceilings of the machine (Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model
// for Multicore Architectures", CACM 52(4), 2009).
#ifndef DQ_REPORT_ROOFLINE_H
#define DQ_REPORT_ROOFLINE_H

#include "lib/measure/peaks.h"

typedef struct dq_roofline_point {
  const char *label;
  double intensity, speed; // MACs per byte, MACs per second; both above 0
  bool integer;            // its ceiling is that of 8-bit products, else that of float32
} dq_roofline_point;

// Writes the picture to a file, which appears under its name when it is complete; "-" is standard output. A point
// beyond an axis is drawn at the end of that axis. When points lie above their ceiling, sentences below the picture say
// how many and what the reason can be. DQ_SYSTEM: the file cannot be written.
dq_status dq_roofline_write(const char *path, const char *title, const dq_peaks *peaks, const dq_roofline_point *points,
                            int count, dq_error *error);

#endif
