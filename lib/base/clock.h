// Elapsed time for time limits and measurements. No result of a computation depends on it.
#ifndef DQ_BASE_CLOCK_H
#define DQ_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

// Nanoseconds since an arbitrary moment (the monotonic clock of the system); never decreases.
static inline int64_t dq_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Nanoseconds that a processor has spent on the calling thread.
static inline int64_t dq_thread_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Seconds since the moment of dq_nanoseconds.
static inline double dq_seconds(void) { return 1e-9 * (double)dq_nanoseconds(); }

#endif
