// What the processor and the operating system offer, found at run time (x86-64: CPUID and XGETBV;
// AArch64: what Linux tells a program of it).
#ifndef DQ_BASE_CPU_H
#define DQ_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

enum dq_cpu_index {
#define DQ_CPU_FEATURE(machine, symbol, ...) DQ_CPU_INDEX_##symbol,
#include "lib/base/cpu.def"
  DQ_CPU_FEATURES
};
enum { // a set of features is an OR of these
#define DQ_CPU_FEATURE(machine, symbol, ...) DQ_CPU_##symbol = 1 << DQ_CPU_INDEX_##symbol,
#include "lib/base/cpu.def"
};

unsigned dq_cpu_detect(void); // all features present
const char *dq_cpu_feature_name(int index);
unsigned dq_cpu_with_implied(unsigned features); // avx512: avx2 and avx512

// A mask from a comma-separated list of c (nothing), native (everything) and names of features, which
// stand for what they imply too.
dq_status dq_cpu_mask_parse(const char *text, unsigned *mask, dq_error *error);

// "avx2,avx512" into `text`; "c" for the empty set. Returns text.
const char *dq_cpu_mask_text(unsigned mask, char *text, size_t size);

#endif
