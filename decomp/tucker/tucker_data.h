// Tucker-2 on data: what ranks cost in answers, and factors fitted to the answers of the original.
#ifndef DQ_DECOMP_TUCKER_DATA_H
#define DQ_DECOMP_TUCKER_DATA_H

#include "decomp/tucker/tucker_job.h"

typedef struct dq_tucker_data {
  dq_graph *graph;          // as it is now
  const dq_graph *original; // with batch normalization folded
  const dq_tucker_options *options;
  dq_tucker_job *jobs;
  int count;
} dq_tucker_data;

// Folds the batch normalizations behind convolutions of the document.
dq_status dq_tucker_data_fold(dq_graph *graph, dq_error *error);

// Fills the error table of every job without a reason from one run over the pictures, or several
// when the moments of all layers together would take too much memory; the modes' singular values
// become those of the answers. For a share of multiply-accumulates the gains are measured too.
// The graph must still be the original. Nothing of it for given ranks. An analysis that is kept is taken
// instead, or filled.
dq_status dq_tucker_data_analyse(dq_tucker_data *data, const dq_tucker_report *report, dq_error *error);

// decomp/tucker/tucker_analysis.c: takes what the analysis found out from the jobs; gives it to jobs of the same
// network. false: there is nothing yet.
dq_status dq_tucker_analysis_keep(dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count,
                                  const dq_context *context, dq_error *error);
bool dq_tucker_analysis_recall(const dq_tucker_analysis *analysis, dq_tucker_job *jobs, int count);

// Fits the factors of a job at its ranks: what it reads in the graph as it is now, what it should
// answer in the original. A reason when the ranks gain nothing.
dq_status dq_tucker_data_fit(dq_tucker_data *data, dq_tucker_job *job, dq_error *error);

// Once all factors are in the graph: moves the biases of the last convolutions and Gemms by what is
// left between the means of their outputs and the original's.
dq_status dq_tucker_data_bias(dq_tucker_data *data, dq_error *error);

// Gains (decomp/tucker/judge.h): every layer alone is replaced by its trial.
dq_status dq_tucker_gains(dq_tucker_data *data, dq_error *error);

#endif
