#include "lib/codegen/function_text.h"

#include "lib/kernels/reference/function.h" // so that a change of it is built

__asm__(".section .rodata.dq_function_text, \"a\"\n"
        ".global dq_function_text\n"
        "dq_function_text:\n"
        ".incbin \"lib/kernels/reference/function.h\"\n"
        ".byte 0\n"
        ".previous\n");
