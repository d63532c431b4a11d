// Time that passes, for limits; never for results.
#ifndef DQ_BASE_CLOCK_H
#define DQ_BASE_CLOCK_H

#include <time.h>

// Seconds from some start, always forward.
static inline double dq_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
