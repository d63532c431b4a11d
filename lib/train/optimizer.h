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
  double momentum, decay;       // of SGD; weight decay of both kinds
  double beta1, beta2, epsilon; // of Adam
  // [count]: the state of weight i, made by dq_optimizer_open: as many numbers v as the weight has elements; for Adam
  // as many numbers m, then as many v.
  float **moments;
  int count;
} dq_optimizer;

// An optimizer of this kind with the numbers that Kingma and Ba recommend for Adam, beta1 0.9, beta2 0.999 and epsilon
// 1e-8, and without moments.
dq_optimizer dq_optimizer_of(dq_optimizer_kind kind, double momentum, double decay);

// Zeroed moments for `count` weights of sizes[count] elements, in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_optimizer_open(dq_optimizer *optimizer, int count, const int64_t *sizes, dq_arena *arena, dq_error *error);

typedef struct dq_update {
  float *weights;        // [elements]
  const float *gradient; // [elements]
  int64_t elements;
  const float *units; // [elements], > 0: factors on the steps of Adam; NULL: 1. SGD does not read them.
  bool decays;        // false: no weight decay for this weight
  double rate;        // learning rate
  int64_t step;       // number of the update, from 1
} dq_update;

// Updates update->weights, weight `i` of those that the optimizer was opened for, and its moments. The result does not
// depend on the threads of the pool.
void dq_optimizer_update(const dq_optimizer *optimizer, int i, const dq_update *update, dq_pool *pool);

// The learning rate at the share s of the steps after the warm-up, 0 to below 1.
typedef enum dq_rate_course {
  DQ_RATE_CONSTANT, // rate
  DQ_RATE_STEP,     // rate for s < 1/2, rate / 10 for s < 3/4, then rate / 100
  DQ_RATE_COSINE,   // rate (1 + cos(pi s)) / 2
  DQ_RATE_POLY,     // rate (1 - s)^power
} dq_rate_course;

typedef struct dq_rate {
  dq_rate_course course;
  double rate, power;
  int64_t steps, warmup; // all steps; the first ones, in which the rate grows linearly from rate / warmup to rate
} dq_rate;

// The learning rate of step `step` (from 0 to rate->steps - 1). The share s of dq_rate_course is (step - W) / (steps -
// W) with W = warmup.
double dq_rate_at(const dq_rate *rate, int64_t step);

#endif
