// Sums and products of quantized operands, compiled for the instruction set named by the file.
#define PAIR(name) name##_avx2
#include "lib/kernels/pair_body.h"
