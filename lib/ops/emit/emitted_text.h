// The texts of function.h and function_wide.h in lib/kernels/reference, of lib/base/half.h and of the sections of
// emitted_*.h, so that emitted C has the very functions of the executor and those that compilers and tests have seen.
#ifndef DQ_OPS_EMITTED_TEXT_H
#define DQ_OPS_EMITTED_TEXT_H

extern const char dq_emitted_text[]; // ends with a zero byte

#endif
