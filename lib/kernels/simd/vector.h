// The vector operations of the instruction set that a body is compiled for: vector_<set>.h. Each of these headers
// defines the same names where its set has the operation: V_WORDS (words in a vector), the types f32_vector,
// i32_vector, f64_vector (V_WORDS / 2 elements) and u8_vector, and static inline functions on them such as f32_load,
// f32_plus and i16_dot. An operation works lane by lane; _some versions read or write only the first `count` lanes,
// _lanes versions the lanes of a range.
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
