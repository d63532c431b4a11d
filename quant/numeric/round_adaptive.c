// Adaptive rounding of one group of output channels, from sums over samples to 8-bit weights.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/linalg/linalg.h"
#include "quant/numeric/rounding.h"

enum { SWEEPS = 8 };
// Shares of the mean variance that are added to all variances, as few samples say little: DAMPING; where sums of large
// means cancel and leave no positive definite covariance, DAMPING_STEP times as much again and again, to MOST_DAMPING.
static const double DAMPING = 0.01, MOST_DAMPING = 1, DAMPING_STEP = 10;

typedef struct rounding_state {
  const dq_rounding_task *task;
  double *weigh;         // the damped covariance of the inputs
  double *factor;        // its upper Cholesky factor, inputs in `order`
  int64_t *order;        // inputs by rising variance: the last is rounded first, the others make up for it
  const int8_t *nearest; // the weights, each rounded by itself
  double *error, *push;  // vectors per output
} rounding_state;

// ---- Covariance ----

// Sums of products about the means (about 0 without a bias to take them), per sample, damped. false: no
// sample differs from the others.
static bool covariance(const dq_rounding_task *task, double damping, double *h) {
  int64_t n = task->inputs, stride = n + 1;
  double count = task->gram[n * stride + n], trace = 0;
  if (!(count > 0)) return false;
  for (int64_t i = 0; i < n; i++) {
    double mean = task->bias ? task->gram[i * stride + n] / count : 0;
    for (int64_t j = 0; j < n; j++)
      h[i * n + j] = task->gram[i * stride + j] / count - mean * (task->gram[j * stride + n] / count);
    trace += h[i * n + i];
  }
  for (int64_t i = 0; i < n; i++) h[i * n + i] += damping * trace / (double)n;
  return trace > 0;
}

static dq_status factorize(rounding_state *state, dq_arena *arena, dq_error *error) {
  int64_t n = state->task->inputs;
  dq_ranked *list = DQ_NEW_ARRAY(arena, n, dq_ranked);
  state->factor = DQ_NEW_ARRAY(arena, n * n, double);
  state->order = DQ_NEW_ARRAY(arena, n, int64_t);
  if (!list || !state->factor || !state->order) return dq_fail_memory(error, (size_t)(n * n) * sizeof(double));
  for (int64_t i = 0; i < n; i++) list[i] = (dq_ranked){-state->weigh[i * n + i], i}; // the least variance first
  qsort(list, (size_t)n, sizeof *list, dq_compare_ranked);
  for (int64_t i = 0; i < n; i++) state->order[i] = list[i].index;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) state->factor[i * n + j] = state->weigh[state->order[i] * n + state->order[j]];
  return dq_factor_symmetric(n, state->factor, error);
}

// Factorizes the covariance, with more damping while it is not positive definite.
static dq_status factorize_damped(rounding_state *state, dq_arena *arena, dq_error *error) {
  dq_status status = factorize(state, arena, error);
  for (double damping = DAMPING * DAMPING_STEP; status == DQ_BAD_INPUT && damping <= MOST_DAMPING;
       damping *= DAMPING_STEP) {
    covariance(state->task, damping, state->weigh);
    status = factorize(state, arena, error);
  }
  return status;
}

// ---- Rounding ----

// Rounds one weight after the other, each where the errors made so far are best made up for.
static void nearest_plane(const rounding_state *state, int64_t o, const int8_t *nearest, int8_t *q) {
  int64_t n = state->task->inputs;
  double scale = (double)state->task->scales[o], *push = state->push + o * n;
  for (int64_t k = n - 1; k >= 0; k--) {
    int64_t i = state->order[k];
    const double *row = state->factor + k * n; // of the mirrored half: the factor's column k
    double wanted = state->task->weights[o * n + i];
    q[i] = dq_round_weight(state->task, q, i, (wanted - push[k] / row[k]) / scale, nearest[i]);
    double error = q[i] * scale - wanted;
    for (int64_t j = 0; j < k; j++) push[j] += row[j] * error;
  }
}

// Steps of single weights as long as one lessens (q - w) H (q - w)^T.
static void descend(const rounding_state *state, int64_t o, const int8_t *nearest, int8_t *q) {
  int64_t n = state->task->inputs;
  double scale = (double)state->task->scales[o], *error = state->error + o * n, *slope = state->push + o * n;
  memset(slope, 0, (size_t)n * sizeof *slope);
  for (int64_t i = 0; i < n; i++) {
    error[i] = q[i] * scale - state->task->weights[o * n + i];
    for (int64_t j = 0; j < n; j++) slope[j] += error[i] * state->weigh[i * n + j];
  }
  bool moved = true;
  for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
    moved = false;
    for (int64_t i = 0; i < n; i++) {
      const double *row = state->weigh + i * n;
      int8_t to = dq_round_weight(state->task, q, i, q[i] - slope[i] / (scale * row[i]), nearest[i]);
      if (to == q[i]) continue;
      double by = (to - q[i]) * scale;
      for (int64_t j = 0; j < n; j++) slope[j] += by * row[j];
      q[i] = to;
      moved = true;
    }
  }
}

static void round_row(void *argument, int64_t o, int thread) {
  (void)thread;
  const rounding_state *state = argument;
  int64_t at = o * state->task->inputs;
  nearest_plane(state, o, state->nearest + at, state->task->elements + at);
  descend(state, o, state->nearest + at, state->task->elements + at);
}

// ---- Following the float network ----

// How far y lies from what the weights give, times each input, about the means and per sample.
static void remainder_of(const dq_rounding_task *task, const double *h, int64_t o, double *to) {
  int64_t n = task->inputs, stride = n + 1;
  const double *y = task->responses + o * stride, *means = task->gram + n * stride;
  double count = means[n];
  for (int64_t j = 0; j < n; j++) {
    to[j] = y[j] / count - y[n] / count * (means[j] / count);
    for (int64_t i = 0; i < n; i++) to[j] -= task->weights[o * n + i] * h[i * n + j];
  }
}

// The weights that, with the inputs as they are, come closest to the float network's sums: a ridge regression
// drawn to the float weights. It weakens inputs that are more noise than signal and makes up for errors of the
// layers before, as far as other inputs tell them. Samples are few and alike: without RIDGE it learns them by
// heart.
static dq_status follow(dq_rounding_task *task, dq_arena *arena, dq_error *error) {
  static const double RIDGE = 0.3; // added to the variances, of their mean
  int64_t n = task->inputs;
  double *h = DQ_NEW_ARRAY(arena, n * n, double), *weights = DQ_NEW_ARRAY(arena, task->outputs * n, double);
  if (!h || !weights) return dq_fail_memory(error, (size_t)(n * n) * sizeof *h);
  if (!covariance(task, 0, h)) return DQ_OK;
  for (int64_t o = 0; o < task->outputs; o++) remainder_of(task, h, o, weights + o * n);
  covariance(task, RIDGE, h);
  DQ_TRY(dq_factor_symmetric(n, h, error));
  for (int64_t o = 0; o < task->outputs; o++) {
    dq_solve_factored(n, h, weights + o * n);
    for (int64_t i = 0; i < n; i++) weights[o * n + i] += task->weights[o * n + i];
  }
  task->weights = weights;
  return DQ_OK;
}

static dq_status solve(dq_rounding_task *task, dq_arena *arena, const dq_context *context, dq_error *error) {
  if (task->responses && task->refit && task->bias) DQ_TRY(follow(task, arena, error));
  int64_t n = task->inputs, size = task->outputs * n;
  rounding_state state = {.task = task,
                          .weigh = DQ_NEW_ARRAY(arena, n * n, double),
                          .nearest = dq_arena_copy(arena, task->elements, (size_t)size),
                          .error = DQ_NEW_ARRAY(arena, size, double),
                          .push = DQ_NEW_ARRAY(arena, size, double)};
  if (!state.weigh || !state.nearest || !state.error || !state.push)
    return dq_fail_memory(error, (size_t)(n * n) * sizeof(double));
  if (covariance(task, DAMPING, state.weigh)) {
    DQ_TRY(factorize_damped(&state, arena, error));
    dq_pool_run(task->outputs > 1 ? context->pool : NULL, task->outputs, round_row, &state);
  }
  dq_round_bias(task);
  return DQ_OK;
}

dq_status dq_round_adaptive(const dq_rounding_task *task, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_rounding_task own = *task;
  dq_status status = solve(&own, arena, context, error);
  dq_arena_free(arena);
  return status;
}
