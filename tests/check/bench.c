// dqcheck --bench.
#include "tests/check/check.h"

void bench_all(unsigned cpu, const char *only) { (void)cpu, (void)only; }
