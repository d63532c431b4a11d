// Tucker-2 on data: the response error at each rank, and factors that are fitted to the responses of the original.
// Functions that run networks on the pictures return statuses as dq_runner_open, and DQ_CANCELLED.
#ifndef DQ_DECOMP_TUCKER_DATA_H
#define DQ_DECOMP_TUCKER_DATA_H

#include "decomp/tucker/tucker_job.h"

typedef struct dq_tucker_data {
  dq_graph *graph;          // the graph, which is decomposed layer by layer
  const dq_graph *original; // the graph before that, with batch normalization folded
  const dq_tucker_options *options;
  dq_tucker_job *jobs; // [count], owned by the caller
  int count;
} dq_tucker_data;

// Number of pictures that the factors are fitted to; the options have data.
static inline int64_t dq_tucker_data_pictures(const dq_tucker_options *options) {
  const int64_t all = dq_data_count(options->data);
  return options->pictures && options->pictures < all ? options->pictures : all;
}

// Folds each batch normalization that follows a convolution of the graph into the convolution. DQ_SYSTEM: there is no
// memory.
dq_status dq_tucker_data_fold(dq_graph *graph, dq_error *error);

// Fills the table of response errors of every job without a reason, from one run over the pictures, or from several
// when the moments of all layers together would take too much memory. The singular values of the modes become those of
// the responses. With options->macs_share it also measures the gains (dq_tucker_gains). The graph must still be the
// original. With given ranks nothing happens. options->analysis is read in place of measuring when it is filled, else
// filled.
dq_status dq_tucker_data_analyse(dq_tucker_data *data, const dq_tucker_report *report, dq_error *error);

// decomp/tucker/tucker_analysis.c: moves the tables and gains of the jobs into the analysis, where the jobs still read
// them. DQ_SYSTEM: there is no memory.
dq_status dq_tucker_analysis_store(dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count,
                                   const dq_context *context, dq_error *error);
// Sets the tables and gains of jobs of the same network from the analysis, which must outlive the jobs. False: the
// analysis is not filled, and the jobs are unchanged.
bool dq_tucker_analysis_recall(const dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count);

// Fits the factors of a job at its ranks, between what the layer reads in data->graph as it is now and its responses in
// data->original. Sets the reason of the layer, and no factors, when the ranks gain nothing.
dq_status dq_tucker_data_fit(dq_tucker_data *data, dq_tucker_job *job, dq_error *error);

// Adds to the biases of the last convolutions and Gemms the difference that is left between the means of their outputs
// and those of the original. All factors must be in the graph.
dq_status dq_tucker_data_bias(dq_tucker_data *data, dq_error *error);

// Measures job->gain of every job without a reason: the output error (decomp/tucker/judge.h) of the original with this
// one layer replaced by its trial, divided by the response error of the trial.
dq_status dq_tucker_gains(dq_tucker_data *data, dq_error *error);

#endif
