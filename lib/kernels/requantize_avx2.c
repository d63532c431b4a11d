// Requantization, compiled for the instruction set named by the file.
#define REQUANTIZE_FUNCTION dq_requantize_avx2
#include "lib/kernels/requantize_body.h"
