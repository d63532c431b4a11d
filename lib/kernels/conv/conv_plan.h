// The plan of one convolution: what was chosen, with a struct for each algorithm. dq_conv_f32_plan, dq_conv_f16_plan or
// dq_conv_int8_plan makes it; then it is only read. Only files of this folder read the fields, others pass a plan on.
#ifndef DQ_KERNELS_CONV_PLAN_H
#define DQ_KERNELS_CONV_PLAN_H

#include "lib/kernels/table/kernel_table.h"

// What follows a convolution's activation while its outputs are still in the cache.
typedef struct dq_conv_tail {
  bool silu, adds;
  dq_activation activation;       // of the sum
  const struct dq_kernel *kernel; // NULL: nothing follows
} dq_conv_tail;

// Planes of expanded input (conv_internal.h), of the algorithms that expand it.
typedef struct dq_conv_planes {
  int64_t slots_height, slots_width; // distinct stride phases of the taps
  int64_t height, width;             // of one phase, in words
  bool gapless;                      // every kernel column has planes of its own, as wide as the output
} dq_conv_planes;

// conv_tiles.c
typedef struct dq_conv_tiles_plan {
  bool reads_input;      // flat and fp32: panels are packed from the input as it is, without expansion
  int64_t block_columns; // outputs at a time
  int64_t block_words;   // words of depth at a time
  int64_t most_steps;    // sums of 16 bits: words of a panel of weights, at most (conv_sums16.c); 0: sums of 32 bits
} dq_conv_tiles_plan;

// conv_blocks.c
typedef struct dq_conv_blocks_plan {
  bool reads_planes;     // planes are read as they are, without packing
  int64_t block_columns; // outputs at a time
  int64_t tile_words;    // words of a tile of depth, at most DQ_BLOCK_WORDS
} dq_conv_blocks_plan;

// conv_bands.c
typedef struct dq_conv_bands_plan {
  int64_t rows; // output rows of a band
} dq_conv_bands_plan;

// conv_depthwise.c
typedef struct dq_conv_depthwise_plan {
  int64_t rows;         // output rows of a band
  int64_t kernel_words; // words down the rows of the kernel
} dq_conv_depthwise_plan;

// conv_slide.c
typedef struct dq_conv_slide_plan {
  bool one_run;       // stride 1: outputs are numbered as the padded plane is, and the sums of a band are one run
  int64_t row_bytes;  // from one row of the padded plane to the next
  int64_t rows;       // output rows of a band
  int64_t channels;   // whose bands are filled, multiplied and stored together; 1 where a band is not the whole plane
  int64_t runs, sets; // of outputs and of masks, where planes are multiplied where they are (conv_slide_window.c)
} dq_conv_slide_plan;

// conv_channels.c
typedef struct dq_conv_channels_plan {
  int64_t block_words; // words of depth at a time
} dq_conv_channels_plan;

// conv_winograd.c: tiles of size x size outputs each, high x wide of them, `rows` rows of tiles at a time.
typedef struct dq_conv_winograd_plan {
  int size;
  int64_t high, wide, rows;
  bool bytes;                                       // 8 bits: weights less their zero points are int8
  const struct dq_kernel *input, *output, *weights; // the transforms; weights: 8 bits only
} dq_conv_winograd_plan;

typedef struct dq_conv_plan {
  dq_conv_parameters shape;     // its activation is what comes before the tail
  dq_conv_int8_parameters int8; // int8 only (its shape is unused)
  const struct dq_conv_algorithm *algorithm;
  unsigned cpu;      // DQ_CPU_ bits
  bool float32;      // else int8
  bool half;         // float32, but input, weights and output are binary16
  bool half_sums;    // half, and sums of many terms run in binary16 (f16_tile)
  bool flat;         // 1x1 without strides and pads: a plane is one run of outputs
  dq_conv_tail tail; // fp32
  const void *next;  // what is read behind this convolution, which the end of a run prefetches; NULL: not known
  // Set by `prepare` of the algorithm, as far as it needs them.
  const struct dq_kernel *multiply, *expand, *requantize;
  const struct dq_kernel *bytes;          // multiplies and requantizes in registers; NULL: there is none
  const struct dq_kernel *widen, *narrow; // binary16 to float32 and back
  int64_t word_values;                    // input values in a 32-bit word: 1 (fp32), 2 (int16, binary16), 4 (8 bits)
  int64_t group_words;                    // words along the input channels of a group
  int64_t panel_rows;                     // output channels side by side in packed weights
  int64_t depth;                          // words of weights of an output channel
  dq_conv_planes planes;
  union { // of the algorithm
    dq_conv_tiles_plan tiles;
    dq_conv_blocks_plan blocks;
    dq_conv_bands_plan bands;
    dq_conv_depthwise_plan depthwise;
    dq_conv_slide_plan slide;
    dq_conv_channels_plan channels;
    dq_conv_winograd_plan winograd;
  };
} dq_conv_plan;

#endif
