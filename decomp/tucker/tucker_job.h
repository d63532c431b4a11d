// The state of one layer within dq_tucker_apply, which examines layers, decomposes them and puts factors into the
// graph.
#ifndef DQ_DECOMP_TUCKER_JOB_H
#define DQ_DECOMP_TUCKER_JOB_H

#include "decomp/fit/shrink.h"
#include "decomp/tucker/decomp.h"
#include "lib/ops/table/product.h"

typedef struct dq_tucker_job {
  dq_node *node;
  dq_tucker_layer *layer;      // its entry in the report; layer->reason other than "": the job is over
  const dq_layer_ranks *given; // ranks of a settings file; NULL: the rule decides
  dq_value *weight;
  dq_product product;
  const dq_tensor *tensor;     // elements of the weight as a convolution has them; NULL: not constant
  bool bias;                   // the node has a bias
  bool matrix;                 // a Gemm or MatMul: `tensor` is a copy of its weight as a 1x1 kernel
  bool transposed;             // a ConvTranspose: `tensor` is a copy of its weight with the output channels first
  dq_conv_positions positions; // with !layer->macs_known only their ratios are right
  dq_arena *spectra;           // owns hosvd
  dq_hosvd hosvd;
  dq_arena *arena; // owns the factors
  dq_tucker2 factors;
  dq_value *input, *core, *output;    // initializers made from the factors
  bool shares;                        // they were made for an earlier layer
  dq_value *bias_before, *bias_value; // the bias of the original and the one that replaces it; may be equal
  int64_t input_dims[4];              // N, C, H, W of the input of the layer; the first is 0: not known
  dq_ranks timed;                     // ranks that the times in `layer` are for
  bool refused;                       // layer->reason is that it does not become faster
  bool unfit;                         // layer->reason is its error on pictures that it is not fitted to
  // The fields from here to bias_fitted are used with data only.
  const char *beside;       // the other operand of the addition that alone reads the output; NULL: none
  dq_moments halves[2];     // while the layer is analysed or fitted (dq_response_half)
  dq_arena *sums;           // owns the moments
  dq_fit_table table;       // response errors at all ranks; in_count 0: not known
  double gain;              // output error of the network for each unit of response error of this layer
  double tried;             // response error of the trial that `gain` was measured with; 0: none was made
  dq_tensor *dense, *shift; // weight and bias of a trial for `gain`
  dq_arena *trial;          // owns table, dense and shift
  dq_tensor *bias_fitted;   // bias that belongs to the fitted factors; NULL: that of the original
  dq_status status;         // result of the last step of dq_tucker_run
  dq_error error;
} dq_tucker_job;

// Infers type and shape of every value of the graph, by index, into *tensors, in the arena. *tensors is NULL when they
// depend on sizes of inputs that are not given; a note reports the reason. Other statuses as dq_infer.
dq_status dq_tucker_infer(const dq_graph *graph, const dq_tucker_options *options, dq_arena *arena, dq_tensor **tensors,
                          dq_error *error);

// Stores batch x spatial positions of the input and the output of a convolution. `tensors` may be NULL. False: the
// shapes are not known, and only the ratio of the two numbers is right.
bool dq_tucker_positions(const dq_node *node, const dq_tensor *tensors, int64_t *input, int64_t *output);

// Stores the cost of the whole model in model_before and macs_known of the report; before anything is decomposed.
dq_status dq_tucker_model_cost(const dq_graph *graph, const dq_tucker_options *options, dq_tensor *tensors,
                               dq_tucker_report *report, dq_error *error);
// The number of elements of all float initializers.
int64_t dq_tucker_parameters(const dq_graph *graph);

// Fills the job and job->layer as far as that needs no decomposition; sets the reason when the node cannot be
// decomposed. job->node, job->layer and job->given must be set. `on_data`: factors will be fitted to data. Copies of
// weights are in the arena. DQ_BAD_INPUT: the node is broken; DQ_SYSTEM: there is no memory.
dq_status dq_tucker_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                            dq_error *error);

// decomp/tucker/tucker_matrix.c: whether a node is a product with a constant matrix that can be decomposed.
bool dq_tucker_is_matrix(const dq_node *node);
#define DQ_TUCKER_MATRIX_MOMENTS ((size_t)1 << 29) // matrices whose moments take more bytes are not fitted to data
// Does what dq_tucker_examine does, for a product with a constant matrix.
dq_status dq_tucker_matrix_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                                   dq_error *error);
// Replaces job->node, a product with a constant matrix, in the graph by products with the two factors of the job.
// DQ_SYSTEM: there is no memory.
dq_status dq_tucker_matrix_place(dq_graph *graph, dq_tucker_job *job, dq_error *error);
// Replaces `node`, a product with a constant matrix, by MatMul and Add with another weight ([out][in][1][1], copied)
// and another bias ([out], which the graph reads from then on); for copies of a graph that trials run. DQ_SYSTEM: there
// is no memory.
dq_status dq_tucker_matrix_replace(dq_graph *graph, dq_node *node, const dq_tensor *weight, dq_tensor *bias,
                                   dq_error *error);

// The scale of each output channel for dq_hosvd_compute, in the arena: |gamma| / sqrt(variance + epsilon) of the batch
// normalization that alone reads the convolution, but at least a twentieth of their root mean square. NULL: there is no
// such normalization.
const double *dq_tucker_scale(const dq_tucker_job *job, dq_arena *arena);

// The steps of a job without a reason, in this order. They change only the job and its layer, so different jobs may run
// in different threads. DQ_BAD_INPUT: the weight holds NaN or infinity, or given ranks are out of range; DQ_SYSTEM.
// 1. The higher-order SVD, into job->hosvd.
dq_status dq_tucker_analyse(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
// 2. The ranks, by the rule or as given, into job->layer->ranks.
dq_status dq_tucker_choose(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
// Sets the reason of the layer when its ranks make it neither cheaper nor smaller.
void dq_tucker_leave_without_gain(dq_tucker_job *job, const dq_tucker_options *options);
// 3. The factors, or a reason when the ranks gain nothing; frees the higher-order SVD. dq_tucker_factor does all of it;
// dq_tucker_decide computes only energies, costs and the reason, and opens the arena for factors that come from
// elsewhere.
dq_status dq_tucker_decide(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
dq_status dq_tucker_factor(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);

// Chooses, in place of dq_tucker_choose, the ranks of all jobs together so that the whole model has at most the share
// options->macs_share of its multiply-accumulates. DQ_CONDITION: that cannot be reached; the message says what can.
// The multiply-accumulates are not known: DQ_USAGE where sizes are open, DQ_UNSUPPORTED because of an operator.
dq_status dq_tucker_budget(dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                           const dq_tucker_report *report, dq_error *error);

// Whether dq_tucker_budget can succeed at all, from the sizes of the layers alone, in front of everything that takes
// long. Nothing is checked without macs_share. Statuses as dq_tucker_budget.
dq_status dq_tucker_check_reach(const dq_tucker_job *jobs, int count, const dq_tucker_options *options,
                                const dq_tucker_report *report, dq_error *error);

typedef dq_status (*dq_tucker_step)(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);
// Runs a step for all jobs without a reason, on the threads of the context, and returns the first failure in the order
// of the jobs. `what` names the work in reports of progress.
dq_status dq_tucker_run(dq_tucker_job *jobs, int count, dq_tucker_step step, const dq_tucker_options *options,
                        const char *what, dq_error *error);

// A copy of a weight with its first two dimensions exchanged, in the arena; NULL: there is no memory.
dq_tensor *dq_tucker_transposed(const dq_tensor *weight, dq_arena *arena);

// The cost of the layer at these ranks.
dq_conv_cost dq_tucker_cost_at(const dq_tucker_job *job, dq_ranks ranks);

#endif
