// Winograd's filtering in integers: what conv_winograd.c does otherwise in 8 bits.
#ifndef DQ_KERNELS_CONV_WINOGRAD_INT8_H
#define DQ_KERNELS_CONV_WINOGRAD_INT8_H

#include "lib/kernels/conv/conv_internal.h"

// Whether this machine has no faster products of bytes for these weights.
bool dq_winograd_int8_pays(const dq_conv_plan *plan);
// Whether every output of tiles of this size (2 or 4) is the exact sum, whatever the input. Reads the weights of the
// plan; where they are not known, all of them count as the largest of their type.
bool dq_winograd_int8_is_exact(const dq_conv_plan *plan, int size);
// Finds the kernels of the plan, whose word_values are set.
void dq_winograd_int8_prepare(dq_conv_plan *plan);

// Packed weights: words[place][panel][in word][row of the panel], zeros before.
typedef struct dq_winograd_weights {
  uint32_t *words;
  int64_t place_words;
  int size;
} dq_winograd_weights;
// Transforms and packs weights (OIHW).
void dq_winograd_int8_pack(const dq_conv_plan *plan, const uint8_t *weights, const dq_winograd_weights *to);

// Stores the lines of a word of input channels from input line `first` on in form->plane, and transforms them.
void dq_winograd_int8_input(const dq_conv_call *call, int64_t image, int64_t word, int64_t first,
                            const dq_winograd_input *form);
// Makes rows of an output channel from output row `row` on of the sums of a band; form->to is scratch for these rows.
void dq_winograd_int8_output(const dq_conv_call *call, int64_t image, int64_t channel, int64_t row,
                             const dq_winograd_output *form);

#endif
