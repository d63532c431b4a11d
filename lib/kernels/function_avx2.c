// Functions over arrays, compiled for the instruction set named by the file.
#define ARRAY(name) name##_avx2
#include "lib/kernels/function_body.h"
