// Input rows to words, compiled for the instruction set named by the file.
#define EXPAND(name) name##_avx2
#include "lib/kernels/expand_body.h"
