// Generated pictures: simple shapes with random position, size, rotation, colour and noise. The same seed gives the
// same bytes on every machine, because the generator uses no function of the C library and no contraction.
#ifndef DQ_DATASETS_SYNTH_H
#define DQ_DATASETS_SYNTH_H

#include <stdint.h>

#include "lib/base/status.h"

typedef enum dq_split_kind { DQ_SPLIT_TRAIN, DQ_SPLIT_CALIB, DQ_SPLIT_TEST } dq_split_kind;

enum { DQ_SYNTH_CLASSES = 8 };

typedef struct dq_synth {
  uint64_t seed;
  dq_split_kind split; // different splits have different pictures
  int size;            // pixels along a side, 8 to 512
  int channels;        // 1 or 3
  int noise;           // 0 to 100: the higher, the harder the pictures are to classify
} dq_synth;

// Draws picture `index` (0 or more) into pixels[size][size][channels] and returns its label, index modulo
// DQ_SYNTH_CLASSES, so that every run of pictures has all classes equally often.
int dq_synth_picture(const dq_synth *synth, int64_t index, uint8_t *pixels);

const char *dq_synth_class_name(int label); // NULL after the last class

#endif
