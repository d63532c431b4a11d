// C of reductions over axes, and of what is made of the mean and the variance of a set of elements.
#ifndef DQ_OPS_EMIT_REDUCE_H
#define DQ_OPS_EMIT_REDUCE_H

#include "lib/ops/common/reduction.h"
#include "lib/ops/emit/emit.h"

// Opens loops over the sets of a reduction; in them `set` is the number of the set and `base` its first element.
// Returns the number of braces, which the caller closes after the line "set++;".
int dq_emit_sets(dq_emission *to, const dq_reduction *plan);
// Opens loops over the elements of a set; in them `at` is the element. Returns the number of braces.
int dq_emit_members(dq_emission *to, const dq_reduction *plan);

// Print the bodies of the operators whose elements `plan` divides: the Reduce operators, ArgMax and ArgMin (`last`: of
// equal elements the last), CumSum. DQ_UNSUPPORTED: the type of input 0 has no C.
dq_status dq_emit_reduction(dq_emission *to, const dq_reduction *plan, dq_reduce_kind kind, dq_reduce_finish finish);
dq_status dq_emit_extreme(dq_emission *to, const dq_reduction *plan, bool smallest, bool last);
dq_status dq_emit_running_sum(dq_emission *to, const dq_reduction *plan, bool exclusive, bool reverse);

// Prints declarations of the doubles `mean` and `variance` of the set whose loop is open (dq_emit_sets).
void dq_emit_moments(dq_emission *to, const dq_reduction *plan);
// Prints a loop that stores (x - mean) * factor + offset for each element x of that set, in double; `mean`, `factor`
// and `offset` are expressions.
void dq_emit_normalized(dq_emission *to, const dq_reduction *plan, const char *mean, const char *factor,
                        const char *offset);

// Prints the body of BatchNormalization over `channels` channels. `factors` computes factor and offset of a channel
// from constant statistics; with `training` the statistics are those of the batch. DQ_UNSUPPORTED: the type has no C.
dq_status dq_emit_batch(dq_emission *to, int64_t channels, bool training,
                        void (*factors)(const dq_op *op, int64_t channel, double *factor, double *offset));

// Print the bodies of InstanceNormalization and GroupNormalization (statistics of `groups` groups of channels of each
// picture; `per_group`: scale and bias have an element for each group, else for each channel), of LayerNormalization
// from `axis` on, of MeanVarianceNormalization and of LpNormalization (`absolute`: by sums of magnitudes, else of
// squares) over the axes with reduced[axis]. DQ_UNSUPPORTED: the type has no C.
dq_status dq_emit_groups(dq_emission *to, int64_t groups, bool per_group);
dq_status dq_emit_layer(dq_emission *to, int axis);
dq_status dq_emit_mean_variance(dq_emission *to, const bool *reduced);
dq_status dq_emit_lp(dq_emission *to, const bool *reduced, bool absolute);

#endif
