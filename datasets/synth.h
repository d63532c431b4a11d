// Pictures made on the spot: simple shapes with random place, size, turn, colour and noise. The
// same seed gives the same bytes on every machine (no library functions, no contraction).
#ifndef DQ_DATASETS_SYNTH_H
#define DQ_DATASETS_SYNTH_H

#include <stdint.h>

#include "lib/base/status.h"

typedef enum dq_split_kind { DQ_SPLIT_TRAIN, DQ_SPLIT_CALIB, DQ_SPLIT_TEST } dq_split_kind;

enum { DQ_SYNTH_CLASSES = 8 };

typedef struct dq_synth {
  uint64_t seed;
  dq_split_kind split; // pictures of different splits never share their random numbers
  int size;            // pixels along a side, 8...512
  int channels;        // 1 or 3
  int noise;           // 0...100: how hard it is
} dq_synth;

// Picture `index` (any number from 0) into pixels[size][size][channels]; returns its label, which
// is index modulo DQ_SYNTH_CLASSES, so that every stretch of pictures is balanced.
int dq_synth_picture(const dq_synth *synth, int64_t index, uint8_t *pixels);

const char *dq_synth_class_name(int label); // NULL past the end

#endif
