// What the processor and the operating system offer, found at run time (CPUID and XGETBV).
#ifndef DQ_BASE_CPU_H
#define DQ_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

enum dq_cpu_index {
#define DQ_CPU_FEATURE(symbol, name) DQ_CPU_INDEX_##symbol,
#include "lib/base/cpu.def"
#undef DQ_CPU_FEATURE
  DQ_CPU_FEATURES
};
enum { // a set of features is an OR of these
#define DQ_CPU_FEATURE(symbol, name) DQ_CPU_##symbol = 1 << DQ_CPU_INDEX_##symbol,
#include "lib/base/cpu.def"
#undef DQ_CPU_FEATURE
};

unsigned dq_cpu_detect(void); // all features present
const char *dq_cpu_feature_name(int index);

// A mask from a comma-separated list of names or a preset: c, avx2, avx512, native.
dq_status dq_cpu_mask_parse(const char *text, unsigned *mask, dq_error *error);

// "avx2,avx512" into `text`; "c" for the empty set. Returns text.
const char *dq_cpu_mask_text(unsigned mask, char *text, size_t size);

#endif
