// Transforms of Winograd's filtering for any machine.
#include "lib/kernels/vector_c.h"

#define WINOGRAD(name) name##_c
#include "lib/kernels/winograd_body.h"
