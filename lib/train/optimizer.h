// Rules of updates of weights, and the course of the learning rate.
#ifndef DQ_TRAIN_OPTIMIZER_H
#define DQ_TRAIN_OPTIMIZER_H

#include "lib/base/context.h"
#include "lib/base/tensor.h"

typedef enum dq_optimizer_kind {
  // v = momentum v + g + decay w; w = w - rate v
  DQ_OPTIMIZER_SGD,
  // m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w = w - rate (m' / (sqrt(v') + epsilon) + decay w),
  // with m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t) at step t = 1, 2, ... (Kingma and Ba, Adam, 2015, algorithm
  // 1; the decay as in Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019, algorithm 2)
  DQ_OPTIMIZER_ADAM,
} dq_optimizer_kind;

typedef struct dq_optimizer {
  dq_optimizer_kind kind;
  double momentum, decay;       // of SGD; of both
  double beta1, beta2, epsilon; // of Adam
  // State of weight i: moments[i] has as many elements as the weight, for Adam twice as many. Made by
  // dq_optimizer_open.
  float **moments;
  int count;
} dq_optimizer;

// The optimizer with the usual numbers of Adam, 0.9, 0.999 and 1e-8, and without moments.
dq_optimizer dq_optimizer_of(dq_optimizer_kind kind, double momentum, double decay);

// Zeroed moments for `count` weights of sizes[count] elements, in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_optimizer_open(dq_optimizer *optimizer, int count, const int64_t *sizes, dq_arena *arena, dq_error *error);
typedef struct dq_update {
  float *weights;        // [elements]
  const float *gradient; // [elements]
  int64_t elements;
  const float *units; // [elements]: of Adam, what a step of 1 is long; NULL: 1. Steps of SGD follow the gradient alone.
  bool decays;        // weight decay is for this weight
  double rate;
  int64_t step; // from 1
} dq_update;

// Updates weight `i`. The result does not depend on the threads of the pool.
void dq_optimizer_update(const dq_optimizer *optimizer, int i, const dq_update *update, dq_pool *pool);

typedef enum dq_rate_course {
  DQ_RATE_CONSTANT, // rate
  DQ_RATE_STEP,     // a tenth behind one half and a hundredth behind three quarters of the steps
  DQ_RATE_COSINE,   // rate (1 + cos(pi s)) / 2 at the share s of the steps
  DQ_RATE_POLY,     // rate (1 - s)^power
} dq_rate_course;

typedef struct dq_rate {
  dq_rate_course course;
  double rate, power;
  int64_t steps, warmup; // all; the first ones, in which the rate grows linearly from rate / warmup
} dq_rate;

// The learning rate of step `step` (from 0 to rate->steps - 1). s is the share of the steps behind the warm-up that
// were made before.
double dq_rate_at(const dq_rate *rate, int64_t step);

#endif
