// Input rows to words, compiled for the instruction set named by the file.
#define EXPAND(name) name##_c
#include "lib/kernels/expand_body.h"
