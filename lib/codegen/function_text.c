#include "lib/codegen/function_text.h"

#include "lib/base/half.h" // so that a change of these is built
#include "lib/kernels/reference/function_wide.h"

__asm__(".section .rodata.dq_function_text, \"a\"\n"
        ".global dq_function_text\n"
        "dq_function_text:\n"
        ".incbin \"lib/kernels/reference/function.h\"\n"
        ".incbin \"lib/kernels/reference/function_wide.h\"\n"
        ".incbin \"lib/base/half.h\"\n"
        ".byte 0\n"
        ".previous\n");
