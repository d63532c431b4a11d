// Updates of weights, element by element.
#include "lib/train/optimizer.h"

#include <math.h>

#include "lib/base/sizes.h"

dq_optimizer dq_optimizer_of(dq_optimizer_kind kind, double momentum, double decay) {
  return (dq_optimizer){
      .kind = kind, .momentum = momentum, .decay = decay, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

dq_status dq_optimizer_open(dq_optimizer *optimizer, int count, const int64_t *sizes, dq_arena *arena,
                            dq_error *error) {
  optimizer->count = count;
  optimizer->moments = DQ_NEW_ARRAY(arena, count, float *);
  for (int i = 0; optimizer->moments && i < count; i++) {
    const int64_t elements = sizes[i] * (optimizer->kind == DQ_OPTIMIZER_ADAM ? 2 : 1);
    if (!(optimizer->moments[i] = DQ_NEW_ARRAY(arena, elements, float))) return dq_fail_memory(error, 0);
  }
  return optimizer->moments ? DQ_OK : dq_fail_memory(error, 0);
}

typedef struct piece_job {
  float *weights, *first, *second;
  const float *gradient, *units;
  int64_t elements;
  float rate, decay, momentum;                                      // SGD
  float beta1, beta2, epsilon, first_correction, second_correction; // Adam
} piece_job;

enum { PIECE = 16384 }; // elements that one call updates

static void sgd_piece(void *argument, int64_t index, int thread) {
  const piece_job u = *(const piece_job *)argument;
  const int64_t end = dq_min_i64(u.elements, (index + 1) * PIECE);
  (void)thread;
  for (int64_t i = index * PIECE; i < end; i++) {
    u.first[i] = u.momentum * u.first[i] + (u.gradient[i] + u.decay * u.weights[i]);
    u.weights[i] -= u.rate * u.first[i];
  }
}

static void adam_piece(void *argument, int64_t index, int thread) {
  const piece_job u = *(const piece_job *)argument;
  const int64_t end = dq_min_i64(u.elements, (index + 1) * PIECE);
  (void)thread;
  for (int64_t i = index * PIECE; i < end; i++) {
    const float g = u.gradient[i];
    u.first[i] = u.beta1 * u.first[i] + (1 - u.beta1) * g;
    u.second[i] = u.beta2 * u.second[i] + (1 - u.beta2) * (g * g);
    const float step = u.first[i] * u.first_correction / (sqrtf(u.second[i] * u.second_correction) + u.epsilon);
    u.weights[i] -= u.rate * ((u.units ? u.units[i] : 1) * step + u.decay * u.weights[i]);
  }
}

void dq_optimizer_update(const dq_optimizer *optimizer, int i, const dq_update *update, dq_pool *pool) {
  piece_job job = {.weights = update->weights,
                   .first = optimizer->moments[i],
                   .gradient = update->gradient,
                   .units = update->units,
                   .elements = update->elements,
                   .rate = (float)update->rate,
                   .decay = update->decays ? (float)optimizer->decay : 0,
                   .momentum = (float)optimizer->momentum};
  const bool adam = optimizer->kind == DQ_OPTIMIZER_ADAM;
  if (adam) {
    job.second = job.first + update->elements;
    job.beta1 = (float)optimizer->beta1, job.beta2 = (float)optimizer->beta2, job.epsilon = (float)optimizer->epsilon;
    job.first_correction = (float)(1 / (1 - pow(optimizer->beta1, (double)update->step)));
    job.second_correction = (float)(1 / (1 - pow(optimizer->beta2, (double)update->step)));
  }
  dq_pool_run(pool, (update->elements + PIECE - 1) / PIECE, adam ? adam_piece : sgd_piece, &job);
}

double dq_rate_at(const dq_rate *rate, int64_t step) {
  if (step < rate->warmup) return rate->rate * (double)(step + 1) / (double)rate->warmup;
  const double share = (double)(step - rate->warmup) / (double)dq_max_i64(1, rate->steps - rate->warmup);
  switch (rate->course) {
  case DQ_RATE_STEP: return rate->rate * (share < 0.5 ? 1 : share < 0.75 ? 0.1 : 0.01);
  case DQ_RATE_COSINE: return rate->rate * (1 + cos(acos(-1.0) * share)) / 2;
  case DQ_RATE_POLY: return rate->rate * pow(1 - share, rate->power);
  case DQ_RATE_CONSTANT: break;
  }
  return rate->rate;
}
