// Facts about a network that are taken from data. Each comes from one of three places, asked in this order: the
// calibration table that is given (job->in->given), what an earlier job measured (job->observed), or a measurement on
// the pictures of the job, which is stored in job->observed for later jobs. Results belong to the table, to
// job->observed, or to the arena of the job's graph; the caller frees none of them unless stated. Functions that
// measure run the network on the pictures and return statuses as dq_observe; messages go to job->error.
#ifndef DQ_QUANT_FACTS_H
#define DQ_QUANT_FACTS_H

#include "quant/int8/job.h"

// The factors of channels for equalization; job->graph must not be equalized yet.
dq_status dq_int8_equalization(dq_int8_job *job, dq_equalization *equalization);
// The amounts for bias absorption; job->graph must be equalized already. *absorption stays unchanged when the setting
// wants no absorption, so the caller zeroes it before.
dq_status dq_int8_absorption(dq_int8_job *job, dq_absorption *absorption);
// Stores the means of the inputs of products in job->means, in the order that the channels have now. job->means stays
// unchanged when the setting wants no bias correction.
dq_status dq_int8_means(dq_int8_job *job);
// Stores the input grid in *levels, which the caller has zeroed; levels->input is NULL when the input has none or
// activations are symmetric.
dq_status dq_int8_levels(const dq_int8_job *job, dq_input_levels *levels);
// The range that the table has for the value with index `v`; NULL: there is no table, or it lacks the value.
const dq_calibration_table_range *dq_int8_given_range(const dq_int8_job *job, int v);
// The histograms of the `count` values `names`, in their order, in *found. *found is NULL when count is 0; else it is
// `own` or belongs to job->observed. The caller frees `own` by dq_calibration_deinit in all cases, also after a
// failure, and leaves `names` in place as long as it uses *found.
dq_status dq_int8_histograms(dq_int8_job *job, const char *const *names, int count, dq_calibration *own,
                             const dq_calibration **found);
// The ranges that an earlier trial with the same method and margins found by range search, one for each histogram
// (dq_value_choice.slot); NULL: there was no such trial.
const dq_range_pair *dq_int8_searched_ranges(const dq_int8_job *job);
// Stores the ranges of all values that have a histogram in job->observed. `histogram_count` is the number of
// histograms. DQ_SYSTEM: there is no memory.
dq_status dq_int8_store_searched_ranges(dq_int8_job *job, int histogram_count);
// The rule on sums by which the order of channels is chosen: that of the table, else that of the setting.
const dq_accumulator_choice *dq_int8_order_rule(const dq_int8_job *job);
// The rounding of the table that the user gave (options->table), also one of count 0, by which all weights are rounded
// to the nearest. NULL: there is no options->table; then adaptive rounding, if the setting wants it, is found on the
// pictures. The table of options->start does not count.
const dq_rounding *dq_int8_given_rounding(const dq_int8_options *options);

#endif
