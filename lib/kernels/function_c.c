// Functions over arrays, in plain C.
#define ARRAY(name) name##_c
#include "lib/kernels/function_body.h"
