// The gradient of a float32 convolution by its weights. The rules of pointers, scratch and threads are those of
// kernel_table.h.
#ifndef DQ_KERNELS_CONV_GRADIENT_H
#define DQ_KERNELS_CONV_GRADIENT_H

#include <stdbool.h>

#include "lib/base/pool.h"
#include "lib/kernels/table/kernel_table.h"

typedef struct dq_conv_gradient {
  const dq_conv_parameters *shape; // of the convolution, as dq_conv_check accepts it; its activations and additions do
                                   // not count
  const float *gradient;           // [batch][out_channels][out_height][out_width]
  const float *input;              // [batch][in_channels][in_height][in_width]
  int64_t first_shard;             // with `blocks`: place of the batch in a larger one
  float *weights;                  // receives the sums; NULL: `blocks` does
  void *blocks; // receives the sums of the blocks of the batch (dq_shard_blocks), one array behind the other, of
                // float64 where dq_conv_gradient_is_wide, else of float32
} dq_conv_gradient;

// Whether the sums of shards are float64.
bool dq_conv_gradient_is_wide(const dq_conv_parameters *shape);
// Bytes of the scratch of a run on a pool of `threads` threads.
size_t dq_conv_gradient_scratch_bytes(const dq_conv_parameters *shape, int64_t first_shard, unsigned cpu, int threads);
// Stores the derivatives by the weights (OIHW): element (o, i, y, x) is the sum over pictures and places of `gradient`
// times the element of `input` that the weight meets there. Bits: with several input channels in a group a shard
// (shards.h) is one chain of fmaf from +0 over (picture, row, column), and shards are added in float32; with one,
// conv_gradient_internal.h has the order, and shards are added in double. Both trees are that of shards.h.
void dq_conv_gradient_run(const dq_conv_gradient *job, unsigned cpu, void *scratch, dq_pool *pool);

#endif
