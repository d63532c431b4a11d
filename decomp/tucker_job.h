// One convolution on its way through dq_tucker_apply: examined, decomposed, put into the graph.
#ifndef DQ_DECOMP_TUCKER_JOB_H
#define DQ_DECOMP_TUCKER_JOB_H

#include "decomp/decomp.h"

typedef struct dq_tucker_job {
  dq_node *node;
  dq_tucker_layer *layer;
  const dq_layer_ranks *given; // NULL: the rule decides
  dq_value *weight;
  const dq_tensor *tensor; // elements of the weight; NULL: not constant
  bool bias;
  int64_t positions_in, positions_out; // relative to each other only when !layer->macs_known
  dq_arena *arena;                     // owns the factors
  dq_tucker2 factors;
  dq_value *input, *core, *output; // initializers made from the factors
  dq_status status;
  dq_error error;
} dq_tucker_job;

// Fills the job and the part of its record that needs no decomposition, with the reason to leave
// the node alone if there is one. Fails for broken input only.
dq_status dq_tucker_examine(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);

// Chooses ranks and makes the factors, or leaves a reason. Touches nothing but the job and its
// record, so jobs may run at the same time.
dq_status dq_tucker_decompose(dq_tucker_job *job, const dq_tucker_options *options,
                              dq_error *error);

#endif
