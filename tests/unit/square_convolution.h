// A convolution whose output is one sum.
#ifndef DQ_TESTS_UNIT_SQUARE_CONVOLUTION_H
#define DQ_TESTS_UNIT_SQUARE_CONVOLUTION_H

#include "lib/kernels/reference/forms.h"

// A kernel of size x size over a plane of that size, to one channel.
static inline dq_conv_parameters square_convolution(int64_t channels, int64_t size) {
  return (dq_conv_parameters){.batch = 1,
                              .groups = 1,
                              .in_channels = channels,
                              .out_channels = 1,
                              .in_height = size,
                              .in_width = size,
                              .kernel_height = size,
                              .kernel_width = size,
                              .stride_height = 1,
                              .stride_width = 1,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .out_height = 1,
                              .out_width = 1};
}

#endif
