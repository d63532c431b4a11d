// The part of conv_slide.c that multiplies planes where they are and requantizes sums in registers.
#ifndef DQ_KERNELS_CONV_SLIDE_WINDOW_H
#define DQ_KERNELS_CONV_SLIDE_WINDOW_H

#include "lib/kernels/conv/conv_algorithm.h"

// Finds out whether the processor has the kernel, and divides the outputs of a plane into runs; sets plan->bytes
// (NULL: there is no kernel) and its counts.
void dq_slide_window_prepare(dq_conv_plan *plan);
// The number of words of the tables that dq_slide_window_pack writes; 0 without the kernel.
size_t dq_slide_window_words(const dq_conv_plan *plan);
void dq_slide_window_pack(const dq_conv_plan *plan, uint32_t *tables);

// `channels` channels from `channel` on, counted over all images, which all are of one image.
typedef struct dq_slide_window_call {
  const dq_conv_call *call;
  const uint32_t *tables, *weights, *starts; // weights and starts of all channels
  int64_t channel, channels;
} dq_slide_window_call;
// Computes the outputs of these channels. The call has a requantization.
void dq_slide_window_run(const dq_slide_window_call *call);

#endif
