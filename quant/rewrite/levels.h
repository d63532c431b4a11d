// The input grid. Pictures hold whole numbers k from 0 to 255, and preprocessing makes of them, channel by channel, the
// equidistant values ("levels") offset + step k. Quantization with one scale and zero point for all channels rounds
// them once more, unless the levels of all channels lie on its grid. A factor and a shift for each channel in front of
// the quantization bring them there; the weights and biases that read the input undo both. The quantized input is then
// exact.
#ifndef DQ_QUANT_LEVELS_H
#define DQ_QUANT_LEVELS_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

typedef struct dq_input_levels {
  const char *input; // name of the input, or of the Transpose result that has the channels of an input on axis 1; NULL:
                     // no input grid was found
  int64_t channels;
  double *factors;     // [channels], > 0: x becomes factor x + shift
  double *shifts;      // [channels], in units of x
  bool padded_first;   // a Pad with 0 is written in front of factors and shifts, for the padding of the only reader
  dq_range_pair range; // of factor x + shift: 255 steps, one level of which is 0
} dq_input_levels;

// Finds the input grid on the first pictures of `what` (its graph, shapes, data, pictures), preprocessed as the inputs
// of the graph take them; the first input that has one counts. An input with its channels last is represented by the
// result of the Transpose that reads it. levels->input is NULL when no input is a picture, when another operator than a
// convolution with constant weights reads it, when a channel has more than 256 different values or these are not
// equidistant, when a channel spans fewer than 128 levels (others may lie between), or all channels together more than
// 256. The result is in the arena. DQ_BAD_INPUT: a picture cannot be read; DQ_SYSTEM: there is no memory.
dq_status dq_levels_measure(dq_input_levels *levels, const dq_observation *what, dq_arena *arena, dq_error *error);

// Copies all of *levels, also its name and numbers, into the arena. DQ_SYSTEM: there is no memory.
dq_status dq_input_levels_copy(dq_input_levels *copy, const dq_input_levels *levels, dq_arena *arena, dq_error *error);

// Writes factors and shifts in front of the readers of the input, as Mul and Add where they are not 1 and 0, behind a
// Pad with `padded_first`, and changes the weights and biases of the readers. *value receives the value that they read
// now, or NULL when levels->input is NULL. Padding that stays with a convolution stands for -shift / factor from now
// on, at most half a step from 0. DQ_BAD_INPUT: the graph does not have such an input; DQ_SYSTEM: there is no memory.
dq_status dq_levels_apply(dq_graph *graph, const dq_input_levels *levels, dq_value **value, dq_error *error);

#endif
