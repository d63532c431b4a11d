// C of reductions over axes, and of what is made of the mean and the variance of a set of elements.
#ifndef DQ_OPS_EMIT_REDUCE_H
#define DQ_OPS_EMIT_REDUCE_H

#include "lib/ops/emit.h"
#include "lib/ops/reduce.h"

// Opens loops over the sets of a reduction; in them `set` is the number of the set and `base` its first element.
// Returns the number of braces, which the caller closes behind the line "set++;".
int dq_emit_sets(dq_emission *to, const dq_reduction *plan);
// Opens loops over the elements of a set; in them `at` is the element. Returns the number of braces.
int dq_emit_members(dq_emission *to, const dq_reduction *plan);

// Results of the Reduce operators; of ArgMax and ArgMin; of CumSum. DQ_UNSUPPORTED: the type has no C.
dq_status dq_emit_reduction(dq_emission *to, const dq_reduction *plan, dq_reduce_kind kind, dq_reduce_finish finish);
dq_status dq_emit_extreme(dq_emission *to, const dq_reduction *plan, bool smallest, bool last);
dq_status dq_emit_running_sum(dq_emission *to, const dq_reduction *plan, bool exclusive, bool reverse);

// Declares the doubles `mean` and `variance` of a set.
void dq_emit_moments(dq_emission *to, const dq_reduction *plan);
// Stores (x - mean) * factor + offset of all elements of a set, all in double; expressions.
void dq_emit_normalized(dq_emission *to, const dq_reduction *plan, const char *mean, const char *factor,
                        const char *offset);

// BatchNormalization; `factors` gives factor and offset of a channel by constant statistics.
dq_status dq_emit_batch(dq_emission *to, int64_t channels, bool training,
                        void (*factors)(const dq_op *op, int64_t channel, double *factor, double *offset));

// InstanceNormalization and GroupNormalization: statistics of `groups` groups of channels of each picture;
// LayerNormalization from `axis` on; MeanVarianceNormalization; LpNormalization by sums of magnitudes or of squares.
dq_status dq_emit_groups(dq_emission *to, int64_t groups, bool per_group);
dq_status dq_emit_layer(dq_emission *to, int axis);
dq_status dq_emit_mean_variance(dq_emission *to, const bool *reduced);
dq_status dq_emit_lp(dq_emission *to, const bool *reduced, bool absolute);

#endif
