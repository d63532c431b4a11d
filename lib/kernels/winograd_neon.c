// Transforms of Winograd's filtering for AArch64.
#include "lib/kernels/vector_neon.h"

#define WINOGRAD(name) name##_neon
#include "lib/kernels/winograd_body.h"
