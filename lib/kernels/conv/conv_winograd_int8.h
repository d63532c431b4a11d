// Winograd's filtering in integers: what conv_winograd.c does otherwise in 8 bits.
#ifndef DQ_KERNELS_CONV_WINOGRAD_INT8_H
#define DQ_KERNELS_CONV_WINOGRAD_INT8_H

#include "lib/kernels/conv/conv_algorithm.h"

// Whether it may be faster than products of bytes on this machine for these weights.
bool dq_winograd_int8_pays(const dq_conv_plan *plan);
// Whether this machine has products of these weights as bytes with AVX-512 VNNI, which are twice as fast as of int16.
bool dq_winograd_int8_beside_bytes(const dq_conv_plan *plan);
// Whether every output of tiles of this size (2 or 4) is the exact sum, whatever the input. Reads the weights of the
// plan; where they are not known, all of them count as the largest of their type.
bool dq_winograd_int8_is_exact(const dq_conv_plan *plan, int size);
// Finds the kernels of the plan, whose word_values and size of tiles are set.
void dq_winograd_int8_prepare(dq_conv_plan *plan);

// The number of words of packed weights; the second function packs `weights` (OIHW, 8 bits) into so many words at
// `packed`.
size_t dq_winograd_int8_packed_words(const dq_conv_plan *plan);
void dq_winograd_int8_pack(const dq_conv_plan *plan, const uint8_t *weights, uint32_t *packed);

// Stores the lines of a word of input channels from input line `first` on in form->plane, and transforms them.
void dq_winograd_int8_input(const dq_conv_call *call, int64_t image, int64_t word, int64_t first,
                            const dq_winograd_input *form);

// A band whose values are there.
typedef struct dq_winograd_band {
  const dq_conv_call *call;
  int64_t image, row;     // row: of outputs, the first
  int64_t tiles, columns; // columns: of its workspace, whole panels
  const float *values;
  int64_t value_stride;
  uint32_t *workspace;     // of dq_winograd_int8_workspace
  dq_winograd_output form; // of the outputs of a channel, but for `from` and its stride; `to` is scratch for its rows
} dq_winograd_band;
// Words of the workspace of a thread that computes the outputs of bands of `columns` columns.
size_t dq_winograd_int8_workspace(const dq_conv_plan *plan, int64_t columns);
// Computes the outputs of the panels `from` to end - 1 of output channels.
void dq_winograd_int8_outputs(const dq_winograd_band *band, int64_t from, int64_t end);

// Multiplies a panel of weights, tile->a, by the values of `tiles` tiles at a place and stores the products in `sums`,
// whose rows are tile->c_stride apart.
static inline void dq_winograd_multiply(const dq_conv_plan *plan, dq_tile *tile, const float *values, float *sums,
                                        int64_t tiles) {
  const int64_t width = plan->multiply->columns;
  const void *ahead = tile->ahead;
  for (int64_t at = 0; at < tiles; at += width) {
    tile->b = values + at * plan->group_words;
    tile->c = sums + at;
    tile->columns = (int)dq_min_i64(width, dq_ceil_div(tiles - at, width / 2) * (width / 2));
    tile->ahead = at ? NULL : ahead;
    ((dq_tile_function *)plan->multiply->function)(tile);
  }
}

#endif
