// The texts of function.h and function_wide.h in lib/kernels/reference, and of lib/base/half.h, so that emitted C has
// the very functions of the executor.
#ifndef DQ_CODEGEN_FUNCTION_TEXT_H
#define DQ_CODEGEN_FUNCTION_TEXT_H

extern const char dq_function_text[]; // ends with a zero byte

#endif
