// A clock that counts how often it is read, for LD_PRELOAD: commands that measure print the same on every run.
// Each reading is about a millisecond later than the one before, by up to 4 % more. With COUNTED_FAST="PERIOD FROM TO"
// the readings FROM to TO - 1 of every PERIOD come after 0.6 of that: of things that are timed in turns some are
// faster. With COUNTED_EVEN set nothing is added, so that ratios of times are exactly 1. With COUNTED_TIMES=N all that
// is N times as long. With COUNTED_WORK=N each product that kernels in plain C have added in float32 since the reading
// before takes N nanoseconds more, so that a network with fewer multiply-accumulates is faster: the product is a call
// of fmaf, where the compiler has no instruction for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t products; // since the last reading

float fmaf(float x, float y, float z) {
  static float (*next)(float, float, float);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fmaf");
  products++;
  return next(x, y, z);
}

int clock_gettime(clockid_t which, struct timespec *time) {
  static uint64_t state = 1, now = 1000000000;
  static unsigned readings, period = 1, from, to;
  const char *fast = getenv("COUNTED_FAST"), *times = getenv("COUNTED_TIMES"), *work = getenv("COUNTED_WORK");
  (void)which;
  if (!readings && fast && sscanf(fast, "%u %u %u", &period, &from, &to) != 3) abort();
  state = state * 6364136223846793005u + 1442695040888963407u; // Knuth, MMIX
  uint64_t step = 1000000 + (getenv("COUNTED_EVEN") ? 0 : (state >> 33) % 40000);
  if (times) step *= strtoull(times, NULL, 10);
  unsigned place = readings++ % period;
  if (work) now += products * strtoull(work, NULL, 10);
  products = 0;
  now += from <= place && place < to ? step * 6 / 10 : step;
  time->tv_sec = (time_t)(now / 1000000000);
  time->tv_nsec = (long)(now % 1000000000);
  return 0;
}
