// Instruction sets that the processor has and the operating system permits, detected at run time (x86-64: CPUID and
// XGETBV; AArch64: the auxiliary vector of Linux).
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

unsigned dq_cpu_detect(void);               // the set of all features that this process can use
const char *dq_cpu_feature_name(int index); // a row of cpu.def, as options name it
// The set with all features that its members presuppose; for example avx512 presupposes avx2.
unsigned dq_cpu_with_implied(unsigned features);

// Reads a comma-separated list into a set: `c` stands for no feature, `native` for every feature, and the name of a
// feature for the feature with all that it presupposes. DQ_USAGE: an unknown name.
dq_status dq_cpu_mask_parse(const char *text, unsigned *mask, dq_error *error);

// Writes the names of a set, such as "avx2,avx512", or "c" for the empty set, into text[size], cut off where it is
// longer, and returns `text`.
const char *dq_cpu_mask_text(unsigned mask, char *text, size_t size);

#endif
