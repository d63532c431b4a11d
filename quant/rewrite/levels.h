// Levels of the input. Pictures hold whole numbers 0...255, and preprocessing makes of them, channel by
// channel, equidistant levels offset + step k. Quantizing with one scale and zero point for all channels
// rounds them once more, unless the levels of all channels fall on its grid. A factor and a shift per
// channel in front of it see to that; what reads the input takes them back in its weights and bias. Then
// the quantized input is exact.
#ifndef DQ_QUANT_LEVELS_H
#define DQ_QUANT_LEVELS_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

typedef struct dq_input_levels {
  const char *input; // of the graph, or what puts the channels of one in front; NULL: nothing is known of it, or its
                     // levels are not equidistant
  int64_t channels;
  double *factors; // per channel, > 0: x becomes factor x + shift
  double *shifts;
  bool padded_first;   // the only reader's pads are written in front, where they are still 0
  dq_range_pair range; // of the result, 255 steps of which one lies on 0
} dq_input_levels;

// Looks at the first pictures of `what` (its graph, shapes, data, pictures) as the graph's inputs take them, up to the
// first input whose levels are found; of an input with its channels last, the result of the Transpose that reads it
// stands for it. Nothing is found (input NULL) when it is not a picture, when something else than convolutions with
// constant weights reads it, when a channel has more than 256 values or these are not equidistant, when a channel
// reaches over fewer than 128 levels (others may come between them) or all together over more than 256. In the arena.
dq_status dq_levels_measure(dq_input_levels *levels, const dq_observation *what, dq_arena *arena, dq_error *error);

dq_status dq_input_levels_copy(dq_input_levels *copy, const dq_input_levels *levels, dq_arena *arena, dq_error *error);

// Writes the factors and shifts in front of the input's readers, as Mul and Add where they are not 1 and 0,
// after a Pad with `padded_first`. *value: what the readers read now; NULL: nothing was done. Pads that
// stay with a convolution stand for -shift / factor from now on, at most half a step from 0. DQ_BAD_INPUT
// when the graph does not have such an input.
dq_status dq_levels_apply(dq_graph *graph, const dq_input_levels *levels, dq_value **value, dq_error *error);

#endif
