// Kernels over arrays, compiled for the instruction set named by the file.
#define ARRAY(name) name##_c
#include "lib/kernels/array_body.h"
