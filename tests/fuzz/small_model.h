// The network that pictures, tables and settings are tried on.
#ifndef DQ_TESTS_FUZZ_SMALL_MODEL_H
#define DQ_TESTS_FUZZ_SMALL_MODEL_H

#include "tests/fuzz/fuzz.h"

// Input x 1x3x8x8; Conv conv1 3x3 to 4 channels, BatchNormalization bn, Relu act, Conv conv2 3x3 to 12: output y
// 1x12x8x8. To be freed.
dq_model *fuzz_small_model(void);
// The same before anything reads it; `size` receives its bytes. Holds until the end.
const uint8_t *fuzz_small_model_bytes(size_t *size);

#endif
