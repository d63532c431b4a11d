// Adaptive rounding: the weights of an output channel are rounded together, so that its sums on the
// pictures come closest to those of the float weights, with the inputs that the quantized layers before it
// really give.
//
// With weights w, rounded weights q and the covariance H of the inputs x, the error of the sums about their
// mean is E ((q - w) (x - E x))^2 = (q - w) H (q - w)^T; the mean goes into the bias. Layer after layer, q
// is found by Babai's nearest plane algorithm on the Cholesky factor of H, in which the error of rounding
// one weight is made up for by the next ones (this is what GPTQ computes: Frantar et al. 2023), and then
// by single steps up and down until none helps. AdaRound (Nagel et al. 2020, "Up or Down?") states the
// problem and searches by gradients, up or down only.
//
// What the sums should come closest to may also be those of the float network, whose inputs are exact
// (AdaRound's asymmetric reconstruction): in their means, by the bias; or in all, and then w is first replaced
// by the weights that a ridge regression finds for the inputs as they are.
#ifndef DQ_QUANT_ROUNDING_H
#define DQ_QUANT_ROUNDING_H

#include "lib/base/arena.h"
#include "lib/base/context.h"
#include "lib/base/status.h"
#include "quant/numeric/blocks.h"

typedef enum dq_rounding_rule { DQ_ROUND_NEAREST, DQ_ROUND_ADAPTIVE } dq_rounding_rule;

// What became of one layer. Weights are in the order of its 8-bit weight.
typedef struct dq_rounded_layer {
  const char *output; // the value it computes
  int64_t weights;
  const int8_t *offsets; // steps from the nearest, within +-DQ_ROUNDING_REACH
  int64_t channels;      // 0: it has no bias
  const double *bias;    // before it is rounded itself
} dq_rounded_layer;

typedef struct dq_rounding {
  const dq_rounded_layer *layers;
  int count; // 0: all weights are rounded to the nearest
} dq_rounding;

enum { DQ_ROUNDING_REACH = 40 };

// NULL when there is none of that name.
const dq_rounded_layer *dq_rounding_find(const dq_rounding *rounding, const char *output);

// ---- One group of output channels that read the same inputs ----

typedef struct dq_rounding_task {
  int64_t outputs, inputs;
  const double *gram; // sum over samples of x x^T, (inputs + 1) squared; the last of x is the constant 1
  // Sum over samples of y x^T, y the sums that the float network has, outputs x (inputs + 1); NULL: those that
  // the float weights give with x are wanted instead.
  const double *responses;
  bool refit;            // with answers: the weights follow them too, not the bias alone
  const double *weights; // outputs x inputs, in float
  const float *scales;   // one per output
  int8_t *elements;      // outputs x inputs: rounded to the nearest; then as well as can be
  // What blocks of an output channel's weights keep to, and did when rounded to the nearest; NULL: nothing.
  const dq_block_rule *rule;
  const dq_taps *taps; // with a rule: which weights are a block
  // Per output, or NULL: there is none and means count as errors. The bias in float; then the one with
  // which the mean over the samples is that of `answers`, or of the float weights on the same inputs.
  double *bias;
} dq_rounding_task;

// DQ_BAD_INPUT when the covariance has elements that are not finite. The same bits at any number of threads
// and on every machine.
dq_status dq_rounding_solve(const dq_rounding_task *task, const dq_context *context, dq_error *error);

#endif
