// The vector operations of the instruction set that a body is compiled for: vector_<set>.h.
#ifndef DQ_KERNELS_VECTOR_H
#define DQ_KERNELS_VECTOR_H

#ifdef DQ_SET // without it, as an editor may read this file, there is no instruction set

#include "lib/kernels/reference/set.h"

#define DQ_VECTOR_TEXT_(text) #text
#define DQ_VECTOR_TEXT(text) DQ_VECTOR_TEXT_(text)
// A path, no divisions.
// clang-format off
#define DQ_VECTOR_PATH_(set) lib/kernels/simd/vector_##set.h
// clang-format on
#define DQ_VECTOR_PATH(set) DQ_VECTOR_PATH_(set)
#include DQ_VECTOR_TEXT(DQ_VECTOR_PATH(DQ_SET))

#endif

#endif
