// Checks a conversion to float16 on data: the largest and smallest magnitudes of the values that became float16.
#ifndef DQ_QUANT_AMP_CHECK_H
#define DQ_QUANT_AMP_CHECK_H

#include "calib/calib.h"
#include "quant/amp/amp.h"

typedef struct dq_amp_range {
  const char *name, *op_type; // of the node; for an input of the model its name and "input"
  double largest;             // largest finite magnitude in float32
  int64_t elements;           // number of elements over all pictures
  int64_t overflow;           // elements that float16 cannot hold: magnitudes of 65520 and more, infinite and NaN
  int64_t subnormal;          // elements with a magnitude in (0, 2^-14), which are subnormal or zero in float16
} dq_amp_range;

// Runs `original`, the graph before the conversion, in float32 on all pictures, and counts the elements of every value
// in report->half_values that is float32 and does not follow from constants alone. The graph may have been loaded
// again: values are found by name. `shapes` must not be NULL. (*ranges)[*count] is in the arena: first the inputs, then
// the outputs of nodes, both in the order of the graph. Its texts belong to `original`. Statuses as for
// dq_infer_assuming and dq_observe.
dq_status dq_amp_check(const dq_graph *original, const dq_amp_report *report, const dq_shape_request *shapes,
                       dq_data *data, dq_arena *arena, dq_amp_range **ranges, int *count, const dq_context *context,
                       dq_error *error);

// DQ_CONDITION: a range has elements that float16 cannot hold; the message counts these ranges.
dq_status dq_amp_check_overflow(const dq_amp_range *ranges, int count, dq_error *error);

#endif
