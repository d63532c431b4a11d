#include "lib/ops/emit/emitted_text.h"

#include "lib/base/half.h" // so that a change of these is built; the Makefile has those of emitted_*.h
#include "lib/kernels/reference/function_wide.h"

__asm__(".section .rodata.dq_emitted_text, \"a\"\n"
        ".global dq_emitted_text\n"
        ".hidden dq_emitted_text\n"
        "dq_emitted_text:\n"
        ".incbin \"lib/kernels/reference/function.h\"\n"
        ".incbin \"lib/kernels/reference/function_wide.h\"\n"
        ".incbin \"lib/base/half.h\"\n"
        ".incbin \"lib/ops/emit/emitted_numbers.h\"\n"
        ".incbin \"lib/ops/emit/emitted_products.h\"\n"
        ".incbin \"lib/ops/emit/emitted_dsp.h\"\n"
        ".byte 0\n"
        ".previous\n");
