// A clock that counts how often it is read, for LD_PRELOAD: commands that measure print the same on every run.
// Each reading is about a millisecond later than the one before, by up to 4 % more. With COUNTED_FAST="PERIOD FROM TO"
// the readings FROM to TO - 1 of every PERIOD come after 0.6 of that: of things that are timed in turns some are
// faster. With COUNTED_EVEN set nothing is added, so that ratios of times are exactly 1. With COUNTED_TIMES=N all that
// is N times as long.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *time) {
  static uint64_t state = 1, now = 1000000000;
  static unsigned readings, period = 1, from, to;
  const char *fast = getenv("COUNTED_FAST"), *times = getenv("COUNTED_TIMES");
  (void)which;
  if (!readings && fast && sscanf(fast, "%u %u %u", &period, &from, &to) != 3) abort();
  state = state * 6364136223846793005u + 1442695040888963407u; // Knuth, MMIX
  uint64_t step = 1000000 + (getenv("COUNTED_EVEN") ? 0 : (state >> 33) % 40000);
  if (times) step *= strtoull(times, NULL, 10);
  unsigned place = readings++ % period;
  now += from <= place && place < to ? step * 6 / 10 : step;
  time->tv_sec = (time_t)(now / 1000000000);
  time->tv_nsec = (long)(now % 1000000000);
  return 0;
}
