// What decoders of detectors share when they read the fields of one candidate.
#ifndef DQ_EVAL_DECODE_FIELDS_H
#define DQ_EVAL_DECODE_FIELDS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// exp(x), bounded at exp(20), which keeps the sizes of boxes finite; no box is that large.
static inline double dq_bounded_exp(double x) { return exp(x < 20 ? x : 20); }

// Whether `count` fields, `step` apart, are finite. What comes of one that is NaN or infinite may look like any box
// (the sigmoid of infinity is a score of 1), so that a candidate with such a field is none.
static inline bool dq_fields_finite(const double *fields, int64_t count, int64_t step) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(fields[i * step])) return false;
  return true;
}

#endif
