// Rounding methods: how the weights of a layer become integers. The rows of rounding.def round the weights of an output
// channel on pictures; the inputs are those that the quantized layers in front really give.
//
// Adaptive rounding (round_adaptive.c) brings the sums as close as possible to those of the float weights. With float
// weights w, rounded weights q and the covariance H of the inputs x, the variance of the error of the sums
// is E ((q - w) (x - E x))^2 = (q - w) H (q - w)^T; the bias corrects its mean. The layers are rounded one after the
// other. In each, q is found by the nearest plane algorithm (L. Babai, On Lovasz' lattice reduction and the nearest
// lattice point problem, Combinatorica 6, 1986) on the Cholesky factor of H: later weights compensate the error of
// rounding the earlier ones, as in GPTQ (E. Frantar et al., ICLR 2023). Then single weights move by a step as long as
// that decreases the error. AdaRound (M. Nagel et al., Up or Down? Adaptive Rounding for Post-Training Quantization,
// ICML 2020) states the problem.
//
// The target can also be the sums of the float network, which has exact inputs (the asymmetric reconstruction of
// AdaRound). Then either the bias alone makes the means equal, or w is first replaced by the weights that a ridge
// regression from the inputs to these sums gives.
#ifndef DQ_QUANT_ROUNDING_H
#define DQ_QUANT_ROUNDING_H

#include "lib/base/arena.h"
#include "lib/base/context.h"
#include "lib/base/status.h"
#include "quant/numeric/blocks.h"

// The rounding of one layer.
typedef struct dq_rounded_layer {
  const char *output; // name of the value that the layer computes
  int64_t weights;
  const int8_t *offsets; // [weights], in the order of the weight: steps from the nearest integer, +-DQ_ROUNDING_REACH
  int64_t channels;      // number of elements of the bias; 0: the layer has no bias
  const double *bias;    // [channels], before it is quantized
} dq_rounded_layer;

typedef struct dq_rounding {
  const dq_rounded_layer *layers;
  int count; // 0: all weights are rounded to the nearest
} dq_rounding;

enum { DQ_ROUNDING_REACH = 40 }; // the largest offset, in quantization steps

// The rounding of the layer with this output; NULL: there is none.
const dq_rounded_layer *dq_rounding_find(const dq_rounding *rounding, const char *output);

// ---- One group of output channels that read the same inputs ----

typedef struct dq_rounding_task {
  int64_t outputs, inputs;    // output channels; weights of each
  const dq_weight_type *type; // what the weights are rounded to
  // [inputs + 1][inputs + 1]: sum over the samples of x x^T; the last element of x is the constant 1.
  const double *gram;
  // [outputs][inputs + 1]: sum over the samples of y x^T, where y are the sums of the float network; NULL: the target
  // are the sums of the float weights with the inputs x.
  const double *responses;
  bool refit;            // with responses: the weights are fitted to them too, not the bias alone
  const double *weights; // [outputs][inputs], float weights
  const float *scales;   // [outputs]
  int8_t *elements;      // [outputs][inputs]; input: rounded to the nearest; result: rounded together
  // The rule that the blocks of weights obey before and after; NULL: none.
  const dq_block_rule *rule;
  const dq_taps *taps; // with a rule: the taps of the weights
  // [outputs]; input: the float bias; result: the bias with which the mean of the sums over the samples is that of the
  // target. NULL: there is no bias, and the error of the mean counts as well.
  double *bias;
} dq_rounding_task;

// Rounds the weights of a task. The result has the same bits at any number of threads and on every machine, and keeps
// within DQ_ROUNDING_REACH of the nearest and to the rule. DQ_BAD_INPUT: an element of the covariance is not finite;
// DQ_SYSTEM: there is no memory; DQ_CANCELLED.
typedef dq_status dq_round_function(const dq_rounding_task *task, const dq_context *context, dq_error *error);

// Takes O(inputs^3 + outputs inputs^2) operations and two matrices of inputs^2 doubles.
dq_round_function dq_round_adaptive;

typedef struct dq_rounding_method {
  const char *name, *help;
  dq_round_function *round; // NULL: every weight is rounded to the nearest
} dq_rounding_method;

const dq_rounding_method *dq_rounding_method_at(int index); // "nearest", then rounding.def; NULL after the last
const dq_rounding_method *dq_rounding_method_find(const char *name); // NULL: there is none of that name

// Whether the method (NULL: none was chosen) leaves every weight rounded to the nearest.
static inline bool dq_rounds_to_nearest(const dq_rounding_method *method) { return !method || !method->round; }

// ---- For methods ----

// The integer closest to `wanted` that weight `i` of an output channel may have, given the other weights `q` of the
// channel as they are now: within the range of the type, within DQ_ROUNDING_REACH of `nearest`, and to the rule.
int8_t dq_round_weight(const dq_rounding_task *task, const int8_t *q, int64_t i, double wanted, int nearest);

// Sets each bias, where there are any, so that the mean of the sums over the samples is that of the target.
void dq_round_bias(const dq_rounding_task *task);

#endif
