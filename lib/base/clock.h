// Time that passes, for limits; never for results.
#ifndef DQ_BASE_CLOCK_H
#define DQ_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

// Nanoseconds from some start, always forward.
static inline int64_t dq_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The same in seconds.
static inline double dq_seconds(void) { return 1e-9 * (double)dq_nanoseconds(); }

#endif
