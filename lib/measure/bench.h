// Time measured fairly: models take turns, and the figures say how far they can be trusted.
#ifndef DQ_EVAL_BENCH_H
#define DQ_EVAL_BENCH_H

#include <stddef.h>

#include "lib/session/session.h"

// ---- Statistics of times, in seconds ----

typedef struct dq_spread {
  int64_t count;
  double minimum, median, mean, p95;
  double deviation; // standard deviation of the sample (n - 1); 0 for one value
  double drift;     // median of the later half / median of the earlier half; 1 below 4 values
} dq_spread;

// `values` in the order they were measured, count >= 1, positive. Quantiles interpolate linearly at
// (n - 1) p (type 7 of Hyndman and Fan 1996). DQ_SYSTEM without memory.
dq_status dq_spread_of(dq_spread *spread, const double *values, int64_t count, dq_error *error);

// The quantile p (0...1) of ascending values, as above.
double dq_quantile(const double *sorted, int64_t count, double p);

// Why such times do not tell much (long tail, drift), as a phrase; NULL when they are steady.
const char *dq_spread_doubt(const dq_spread *spread);

// How one model's times compare with those measured beside them, run by run.
typedef struct dq_time_ratio {
  double median;    // of time / reference: below 1 is faster
  double low, high; // its confidence interval: the shortest one between two runs, as many outside on either side, that
                    // holds the median with a probability of at least DQ_TIME_LEVEL, or the extremes when not even
                    // they do; Conover, Practical Nonparametric Statistics, 1999, 3.2
  double level;     // that probability, exactly, 0...1; 0 for one run
} dq_time_ratio;

#define DQ_TIME_LEVEL 0.95

dq_status dq_time_ratio_of(dq_time_ratio *ratio, const double *values, const double *reference, int64_t count,
                           dq_error *error);

// What `runs` ratios say, in `text`, which it returns: "faster", "slower in all 5 runs" where the level is below
// DQ_TIME_LEVEL, "cannot tell" where the interval holds 1. With five runs and more " (unsteady)" stands behind the
// first two unless the times of both models are `steady`.
const char *dq_time_verdict(const dq_time_ratio *ratio, int64_t runs, bool steady, char *text, size_t size);

// ---- Running ----

typedef struct dq_bench_options {
  dq_shape_request shapes;
  int64_t runs, warmup; // rounds measured (>= 1) and before that
  double time_limit;    // seconds for the measured rounds, at least one is made; 0: none
  bool per_layer;       // afterwards as many rounds again with every step timed
} dq_bench_options;

// What is run: a model and how its convolutions are computed.
typedef struct dq_bench_subject {
  const char *path;
  const dq_conv_setting *convolutions; // as in dq_binding
  int convolution_count;
} dq_bench_subject;

typedef struct dq_bench_layer {
  const char *name, *op_type;
  const char *algorithm; // NULL: there is one way only
  int64_t macs;          // -1: not known
  int64_t bytes;         // of inputs, weights and outputs
  bool integer;          // the largest input is of 8 bits
  double median;
} dq_bench_layer;

typedef struct dq_bench_model {
  dq_graph *graph;
  dq_session session;
  double load_time, plan_time, pack_time, warmup_time; // packing is a part of planning; the first run
  int64_t macs;                                        // -1: not known
  dq_tensor **inputs;                                  // what is run: random numbers in -1...1, integers zero
  double *times;                                       // one per round
  dq_bench_layer *layers;                              // with per_layer
  int layer_count;
} dq_bench_model;

// Loads and plans `count` subjects, at sizes that one of them remembers where the request does not give them, then runs
// them in turns (A B A B ...); only dq_plan_run is timed. Inputs come from context->seed, the same for every model.
// `*rounds` receives the rounds measured. Arrays are in the arena; close the models with dq_bench_close after either
// outcome. Messages of failures begin with the path.
dq_status dq_bench_run(dq_bench_model *models, const dq_bench_subject *subjects, int count,
                       const dq_bench_options *options, int64_t *rounds, const dq_context *context, dq_arena *arena,
                       dq_error *error);
void dq_bench_close(dq_bench_model *models, int count); // safe on zeroed structs

#endif
