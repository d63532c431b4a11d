// One convolution on its way through dq_tucker_apply: examined, decomposed, put into the graph.
#ifndef DQ_DECOMP_TUCKER_JOB_H
#define DQ_DECOMP_TUCKER_JOB_H

#include "decomp/tucker/decomp.h"
#include "decomp/fit/fit.h"
#include "lib/ops/product.h"

typedef struct dq_tucker_job {
  dq_node *node;
  dq_tucker_layer *layer;
  const dq_layer_ranks *given; // NULL: the rule decides
  dq_value *weight;
  dq_product product;
  const dq_tensor *tensor; // elements of the weight; NULL: not constant
  bool bias;
  bool matrix;                 // a Gemm or MatMul: `tensor` is a copy of its weight as a 1x1 kernel
  bool transposed;             // a ConvTranspose: `tensor` is a copy of its weight with the output channels first
  dq_conv_positions positions; // relative to each other only when !layer->macs_known
  dq_arena *spectra;           // owns hosvd
  dq_hosvd hosvd;
  dq_arena *arena; // owns the factors
  dq_tucker2 factors;
  dq_value *input, *core, *output;    // initializers made from the factors
  dq_value *bias_before, *bias_value; // the original's and the one put in its place; may be equal
  int64_t input_dims[4];              // shape of the layer's input; 0 first: not known
  dq_ranks timed;                     // ranks that the times of the record are for
  // With data only:
  const char *beside;       // the other operand of the addition that alone reads the output, or NULL
  dq_moments moments;       // while the layer is looked at
  dq_arena *sums;           // owns them
  dq_fit_table table;       // errors at all ranks; in_count 0: not known
  double gain;              // noise of the network's outputs per share of the layer's own error
  dq_tensor *dense, *shift; // weight and bias of a trial, for the gain
  dq_arena *trial;          // owns table and trial
  dq_tensor *bias_fitted;   // bias that belongs to the factors; NULL: the original's
  dq_status status;
  dq_error error;
} dq_tucker_job;

// Type and shape of every value of the graph, by index, in `arena`; *tensors is NULL when they
// depend on sizes of inputs that nobody gave (the reason is told as a note).
dq_status dq_tucker_infer(const dq_graph *graph, const dq_tucker_options *options, dq_arena *arena, dq_tensor **tensors,
                          dq_error *error);

// Batch times spatial positions of the convolution's input and output. false: not known, and the
// positions are only right relative to each other.
bool dq_tucker_positions(const dq_node *node, const dq_tensor *tensors, int64_t *input, int64_t *output);

// Cost of the whole model before anything is done, into the report.
dq_status dq_tucker_model_cost(const dq_graph *graph, const dq_tucker_options *options, dq_tensor *tensors,
                               dq_tucker_report *report, dq_error *error);
// Elements of the float initializers.
int64_t dq_tucker_parameters(const dq_graph *graph);

// Fills the job and the part of its record that needs no decomposition, with the reason to leave
// the node alone if there is one; copies of weights in `arena`. Fails for broken input only.
dq_status dq_tucker_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                            dq_error *error);

// decomp/tucker/tucker_matrix.c: whether a node is a product with a matrix that may be decomposed; the same
// as dq_tucker_examine for one, the copy of the weight in `arena`; putting its two factors in its
// place.
bool dq_tucker_is_matrix(const dq_node *node);
#define DQ_TUCKER_MATRIX_MOMENTS ((size_t)1 << 30) // bytes of moments above which none is fitted
dq_status dq_tucker_matrix_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                                   dq_error *error);
dq_status dq_tucker_matrix_place(dq_graph *graph, dq_tucker_job *job, dq_error *error);
// A node of a copy becomes a product with another weight (out x in x 1 x 1) and another bias.
dq_status dq_tucker_matrix_replace(dq_graph *graph, dq_node *node, const dq_tensor *weight, dq_tensor *bias,
                                   dq_error *error);

// Scale per output channel for dq_hosvd_compute: |gamma| / sqrt(variance + epsilon) of the batch
// normalization that alone follows the convolution, not below a twentieth of their root mean
// square. NULL when there is none.
const double *dq_tucker_scale(const dq_tucker_job *job, dq_arena *arena);

// The three steps of a job without a reason. They touch nothing but the job and its record, so jobs
// may run at the same time: the higher-order SVD;
dq_status dq_tucker_analyse(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
// ranks by the rule or as given;
dq_status dq_tucker_choose(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
void dq_tucker_leave_without_gain(dq_tucker_job *job, const dq_tucker_options *options);
// (dq_tucker_leave_without_gain gives the reason to ranks that make nothing cheaper or smaller;)
// the factors, unless the ranks gain nothing: then a reason. Frees the higher-order SVD. The first
// half alone is dq_tucker_decide: energies, costs, the reason or an arena for the factors.
dq_status dq_tucker_decide(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
dq_status dq_tucker_factor(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);

// Instead of dq_tucker_choose: ranks of all jobs together so that the whole model keeps at most the
// share options->macs_share of its multiply-accumulates. DQ_USAGE when that cannot be reached or
// the multiply-accumulates are not known.
dq_status dq_tucker_budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                           const dq_tucker_report *report, dq_error *error);

typedef dq_status (*dq_tucker_step)(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
// A step for all jobs without a reason, spread over the threads; the first failure in the order of
// the jobs. `what` is for the progress bar.
dq_status dq_tucker_run(dq_tucker_job *jobs, int count, dq_tucker_step step, const dq_tucker_options *options,
                        const char *what, dq_error *error);

// A weight with its first two dimensions exchanged; NULL without memory.
dq_tensor *dq_tucker_turned(const dq_tensor *weight, dq_arena *arena);

// Cost of the job's layer at these ranks.
dq_conv_cost dq_tucker_cost_at(const dq_tucker_job *job, dq_ranks ranks);

#endif
