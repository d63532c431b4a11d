// Facts about a network that are taken from data. Each comes from one of three places, asked in this order: the table
// that is given, what an earlier trial measured, a measurement on the job's pictures, which is kept for later trials.
#ifndef DQ_QUANT_FACTS_H
#define DQ_QUANT_FACTS_H

#include "quant/int8/job.h"

// Factors of channels, before equalization.
dq_status dq_int8_equalization(dq_int8_job *job, dq_equalization *equalization);
// High biases to absorb, after equalization; count 0: none, or the setting wants none.
dq_status dq_int8_absorption(dq_int8_job *job, dq_absorption *absorption);
// Means of the inputs of products, into job->means, in the order that the channels have now; count 0: the setting wants
// no bias correction.
dq_status dq_int8_means(dq_int8_job *job);
// Levels of the input, into job->levels; input NULL: it has none, or activations are symmetric.
dq_status dq_int8_levels(dq_int8_job *job);
// The range that the table has for value `v`; NULL: none.
const dq_calibration_table_range *dq_int8_given_range(const dq_int8_job *job, int v);
// Histograms of the named values, as many as `count`. *found is NULL when there are no names; it is `own`, which the
// caller frees by dq_calibration_deinit in any case, or belongs to job->observed. `names` outlives *found.
dq_status dq_int8_histograms(dq_int8_job *job, const char *const *names, int count, dq_calibration *own,
                             const dq_calibration **found);
// Ranges that an earlier trial found by search, one per histogram; NULL: none did, with this method.
const dq_range_pair *dq_int8_searched_ranges(const dq_int8_job *job);
// Keeps the ranges of all values that have a histogram for later trials.
dq_status dq_int8_keep_searched_ranges(dq_int8_job *job, int histogram_count);
// The rule on sums by which channels were ordered: of a table that it was made with.
const dq_accumulator_choice *dq_int8_order_rule(const dq_int8_job *job);
// Adaptive rounding as the table has it; NULL: it is to be found.
const dq_rounding *dq_int8_given_rounding(const dq_int8_job *job);

#endif
