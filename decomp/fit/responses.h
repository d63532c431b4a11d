// What convolutions read in a network as it is now, and their responses in the original network.
#ifndef DQ_DECOMP_RESPONSES_H
#define DQ_DECOMP_RESPONSES_H

#include "datasets/datasets.h"
#include "decomp/fit/moments.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// One convolution or product with a matrix. Where only an addition reads its output, `beside` may name the other
// operand: the response then compensates by how much that operand differs from the original (He, Zhang, Sun, "Channel
// pruning for accelerating very deep neural networks", ICCV 2017, section 3.3, residual branches).
typedef struct dq_response_site {
  const dq_node *node; // gives kernel, strides, pads and dilations
  const char *input;   // name of the value of the current network that the layer reads
  const char *output;  // name of the value of the original network that is the response
  const char *beside;  // name of a value of both networks; NULL: none
  bool matrix;         // channels are the last dimension of input and output, all other dimensions are positions
  dq_moments *halves; // [2]: receive the vectors (dq_moments_add) of the pictures of each half (dq_response_half); of a
                      // single picture those of the first positions and of the others
} dq_response_site;

typedef struct dq_response_run {
  const dq_graph *original;
  const dq_graph *current;        // may be the original
  const dq_shape_request *shapes; // of inputs that the model leaves open; NULL: none
  dq_data *data;
  int64_t pictures;  // number of pictures, from the first
  const char *doing; // name of the work in reports of progress
  int64_t batch;     // pictures that one run takes; 0: 1. A model that fixes its batch keeps that. The result is the
                     // same.
} dq_response_run;

// The half of the picture with that number, 0 or 1. Of pictures 0 and 1, 2 and 3 and so on one is in either half, by
// chance, as the order of pictures may repeat, such as class after class. It is always the same.
int dq_response_half(int64_t picture);

enum { DQ_RESPONSE_POSITIONS = 256 }; // output positions of one picture, at most

// Runs both networks on the pictures, side by side and no further than the sites need, and adds vectors to the moments
// of all `count` sites. Of larger outputs it takes DQ_RESPONSE_POSITIONS positions of each picture, evenly spread from
// a start that depends only on the index of the picture. The result does not depend on the number of threads. Statuses
// as dq_runner_open.
dq_status dq_responses_measure(const dq_response_run *run, const dq_response_site *sites, int count,
                               const dq_context *context, dq_error *error);

#endif
