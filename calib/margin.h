// Margins of ranges: how far values of pictures that were not seen are expected to reach beyond those that were.
//
// Known are the largest values x1 >= x2 >= ... that each of n pictures has in a channel. Where the excess over a high
// value is exponential with mean b, the gaps i (x_i - x_(i+1)) have the mean b (Renyi, "On the theory of order
// statistics", 1953), whatever the distribution below. Another picture passes x1 with probability 1 / (n + 1), and then
// what is above an end u >= x1 has the expected square 2 b^2 e^(-(u - x1) / b).
#ifndef DQ_CALIB_MARGIN_H
#define DQ_CALIB_MARGIN_H

#include "lib/base/context.h"
#include "lib/base/tensor.h"

enum { DQ_PICTURE_ENDS = 4 };
// The largest ends of pictures, the largest first; -infinity where there are fewer pictures.
typedef struct dq_picture_ends {
  float of[DQ_PICTURE_ENDS];
} dq_picture_ends;

// The largest magnitudes of a value above and below 0, by channel.
typedef struct dq_value_ends {
  int64_t channels;            // along axis 1; 1: all elements together
  int64_t elements, pictures;  // elements of the value on one picture; number of pictures that were added
  dq_picture_ends *high, *low; // [channels]: of x, of -x
} dq_value_ends;

// The number of channels of a value whose ends are recorded separately, 1 or more: dims[1] where `tensor`, the value on
// one picture, has two dimensions or four and more; else 1, as axis 1 may be a position. Only rank and dimensions are
// read. dims[1] is at least 1 where it is returned; an unknown rank (-1) gives 1.
int64_t dq_channels_of(const dq_tensor *tensor);
// The memory of dq_value_ends for `channels` channels (1 or more), in bytes.
size_t dq_value_ends_bytes(int64_t channels);
// Fills *ends, of no picture yet, with pointers into `memory` of dq_value_ends_bytes, which the caller owns.
void dq_value_ends_init(dq_value_ends *ends, int64_t channels, void *memory);
// The length of the array of dq_value_ends_of for `channels` channels, and the number of channels of an array of that
// length.
static inline int64_t dq_value_ends_numbers(int64_t channels) { return 2 * channels + 1; }
static inline int64_t dq_value_ends_channels(int64_t numbers) { return (numbers - 1) / 2; }
// Fills numbers[dq_value_ends_numbers(channels)] from the value of one picture, a float32 tensor with `channels`
// channels (dq_channels_of), for dq_value_ends_add: the largest x of each channel, then the largest -x of each channel,
// then the number of elements. Elements that are not finite do not count for ends; a channel without finite elements
// has -infinity. The threads of the context (NULL: the caller alone) do not change the result.
void dq_value_ends_of(const dq_tensor *tensor, int64_t channels, double *numbers, const dq_context *context);
// Adds the numbers of one picture with `channels` channels. Where `ends` has another number of channels, all elements
// count as channel 0.
void dq_value_ends_add(dq_value_ends *ends, const double *numbers, int64_t channels);

// The end >= 0 of a range with the least expected squared error on a picture that was not seen: rounding of all
// `elements` in 8 bits, elements (u + other)^2 / (12 * 255^2) with `other` >= 0 the distance of the other end from 0,
// and what is cut off above u in each channel. The candidates for u are seen (1 + k / 32), k = 0, 1, ..., 64, where
// `seen` is the largest end of all channels; with fewer than two pictures u is `seen`. `ends` has one element for each
// channel.
double dq_end_with_margin(const dq_picture_ends *ends, int64_t channels, double elements, int64_t pictures,
                          double other);

#endif
