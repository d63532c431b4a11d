// What convolutions read in a network as it is now, and what they should answer: what they answered
// in the original.
#ifndef DQ_DECOMP_RESPONSES_H
#define DQ_DECOMP_RESPONSES_H

#include "datasets/datasets.h"
#include "decomp/fit/moments.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// One convolution or product with a matrix. Where its output goes into an addition only, the other operand may be
// named: the answer then takes back what that operand has drifted (He, Zhang, Sun, "Channel pruning for accelerating
// very deep neural networks", ICCV 2017, section 3.3, residual branches).
typedef struct dq_response_site {
  const dq_node *node; // for kernel, strides, pads, dilations
  const char *input;   // value of the network as it is now
  const char *output;  // value of the original
  const char *beside;  // value of both; NULL: none
  bool matrix;         // channels are the last dimension of input and output, the others are positions
  dq_moments *moments; // added to
} dq_response_site;

typedef struct dq_response_run {
  const dq_graph *original;
  const dq_graph *current;        // may be the original
  const dq_shape_request *shapes; // may be NULL
  dq_data *data;
  int64_t pictures;  // the first so many
  const char *doing; // for the progress bar
  int64_t batch;     // pictures run at once; 0: 1. A model that fixes its batch keeps that. The result is the same.
} dq_response_run;

// Runs both networks on the pictures, side by side and no further than the sites need, and adds to
// the moments of every site. Of large outputs DQ_RESPONSE_POSITIONS positions per picture are taken,
// spread evenly from a start that depends on the picture's number only. DQ_BAD_INPUT, DQ_UNSUPPORTED
// as dq_runner_open; the result does not depend on the number of threads.
enum { DQ_RESPONSE_POSITIONS = 256 };
dq_status dq_responses_measure(const dq_response_run *run, const dq_response_site *sites, int count,
                               const dq_context *context, dq_error *error);

#endif
