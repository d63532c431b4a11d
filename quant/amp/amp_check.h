// What a conversion to float16 meets on data: how large and how small the values are that became float16.
#ifndef DQ_QUANT_AMP_CHECK_H
#define DQ_QUANT_AMP_CHECK_H

#include "calib/calib.h"
#include "quant/amp/amp.h"

typedef struct dq_amp_range {
  const char *name, *op_type;            // of the node; of the value and "input" for inputs of the model
  double largest;                        // magnitude in float32; infinite and NaN ones count as overflow instead
  int64_t elements, overflow, subnormal; // seen; beyond float16 (65520 and more); in (0, 2^-14)
} dq_amp_range;

// Runs the network as it was before the conversion (`original`, loaded again: node positions may differ from the
// report's) on the pictures, and looks at every value that exists in float16 in the converted model, inputs and values
// that are cast for a float16 node among them. Nothing is changed. Ranges and names in the arena.
dq_status dq_amp_check(const dq_graph *original, const dq_amp_report *report, const dq_shape_request *shapes,
                       dq_data *data, dq_arena *arena, dq_amp_range **ranges, int *count, const dq_context *context,
                       dq_error *error);

#endif
