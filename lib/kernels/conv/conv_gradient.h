// The gradient of a float32 convolution by its weights. The rules of pointers, scratch and threads are those of
// kernel_table.h.
#ifndef DQ_KERNELS_CONV_GRADIENT_H
#define DQ_KERNELS_CONV_GRADIENT_H

#include "lib/base/pool.h"
#include "lib/kernels/table/kernel_table.h"

// Bytes of the scratch of a run with so many threads. `shape` is the convolution, whole batch, as dq_conv_check accepts
// it; its activations and additions do not count.
size_t dq_conv_gradient_scratch_bytes(const dq_conv_parameters *shape, unsigned cpu, int threads);
// Stores the derivatives by the weights (OIHW) in `weights`: element (o, i, y, x) is the sum over pictures and places
// of `gradient` [batch][out_channels][out_height][out_width] times the element of `input`
// [batch][in_channels][in_height] [in_width] that the weight meets there. Bits: with several input channels in a group
// a shard (shards.h) is one chain of fmaf from +0 over (picture, row, column), and shards are added in float32; with
// one, rows of the output are added by lanes, and rows and shards in double. Both trees are that of shards.h.
void dq_conv_gradient_run(const dq_conv_parameters *shape, unsigned cpu, const float *gradient, const float *input,
                          float *weights, void *scratch, dq_pool *pool);

#endif
