// Measurement of run times: models run in turns, and the statistics say how reliable the times are.
#ifndef DQ_EVAL_BENCH_H
#define DQ_EVAL_BENCH_H

#include <stddef.h>

#include "lib/measure/timeline.h"
#include "lib/session/session.h"

// ---- Statistics of times, in seconds ----

typedef struct dq_spread {
  int64_t count;                     // of times
  double minimum, median, mean, p95; // p95: quantile 0.95
  double deviation;                  // standard deviation of the sample (n - 1); 0 for one value
  double drift;                      // median of the later half / median of the earlier half; 1 below 4 values
} dq_spread;

// Computes the statistics of values[count], which are positive and in the order they were measured; count >= 1.
// Quantiles interpolate linearly at (n - 1) p (type 7 of Hyndman and Fan 1996). DQ_SYSTEM: there is no memory.
dq_status dq_spread_of(dq_spread *spread, const double *values, int64_t count, dq_error *error);

// Sorts `count` numbers, none of them NaN, the least first.
void dq_sort_ascending(double *values, int64_t count);
// The quantile p (0 to 1) of ascending values, count >= 1, interpolated as by dq_spread_of.
double dq_quantile(const double *sorted, int64_t count, double p);

// Why the times are not reliable (too few runs, a long tail, a drift), as a static phrase; NULL when they are steady.
const char *dq_spread_doubt(const dq_spread *spread);

// The ratios of the times of one model to those of a reference, run by run.
typedef struct dq_time_ratio {
  double median;    // of time / reference: below 1 is faster
  double low, high; // confidence interval of the median: the shortest between two ratios, with equally many ratios
                    // outside on either side, whose level is at least DQ_TIME_LEVEL, or the extremes when none is;
                    // Conover, Practical Nonparametric Statistics, 1999, 3.2
  double level;     // the exact probability, 0 to 1, with which the interval holds the median; 0 for one run
} dq_time_ratio;

#define DQ_TIME_LEVEL 0.95

// Computes the ratios values[i] / reference[i] of `count` (>= 1) positive times, measured in turns. DQ_SYSTEM: there is
// no memory.
dq_status dq_time_ratio_of(dq_time_ratio *ratio, const double *values, const double *reference, int64_t count,
                           dq_error *error);

// Writes the conclusion from `runs` ratios to `text`, of `size` bytes, and returns `text`: "faster" or "slower", with
// "in all 5 runs" where the level is below DQ_TIME_LEVEL, or "cannot tell" where the interval contains 1. With five
// runs or more " (unsteady)" follows the first two unless the times of both models are `steady` (dq_spread_doubt gives
// NULL).
const char *dq_time_verdict(const dq_time_ratio *ratio, int64_t runs, bool steady, char *text, size_t size);

// ---- Running ----

typedef struct dq_bench_options {
  dq_shape_request shapes;
  int64_t runs, warmup; // rounds that are measured (>= 1), and rounds before these; a round runs each model once
  double time_limit;    // seconds for the measured rounds, of which at least one is made; 0: none
  bool per_layer;       // then make as many rounds again in which every step is measured
  bool plain;           // no passes, as in dq_session_options
  int timeline_runs;    // then run each model as often as this for its timeline; 0: without one
} dq_bench_options;

// One thing to measure: a model, and how its convolutions are computed.
typedef struct dq_bench_subject {
  const char *path;
  const dq_conv_setting *convolutions; // as in dq_binding
  int convolution_count;
} dq_bench_subject;

typedef struct dq_bench_layer {
  const char *name, *op_type;
  const char *algorithm; // NULL: there is only one way to compute the layer
  int64_t macs;          // -1: not known
  int64_t bytes;         // of inputs, weights and outputs
  bool integer;          // the first input has 8 bits
  double median;         // seconds
} dq_bench_layer;

typedef struct dq_bench_model {
  dq_graph *graph;    // owned
  dq_session session; // owned
  double load_time, plan_time, pack_time,
      warmup_time;        // seconds; packing is a part of planning, warmup is the first run
  int64_t macs;           // -1: not known
  dq_tensor **inputs;     // random numbers in -1 to 1; integers are 0
  double *times;          // by round, in seconds
  dq_bench_layer *layers; // [layer_count], with per_layer or timeline_runs; `median` with per_layer
  int layer_count;
  dq_timeline timeline; // with timeline_runs
} dq_bench_model;

// Loads and plans `count` subjects into models[count], at sizes that one of them records where the request does not
// give them, then runs them in turns (A B A B ...). Only dq_plan_run is measured. Inputs come from context->seed and
// are the same for every model. *rounds receives the number of measured rounds. Arrays are in the arena. The caller
// closes the models by dq_bench_close, also after a failure. Messages begin with the path. Statuses as dq_model_open
// and dq_session_open.
dq_status dq_bench_run(dq_bench_model *models, const dq_bench_subject *subjects, int count,
                       const dq_bench_options *options, int64_t *rounds, const dq_context *context, dq_arena *arena,
                       dq_error *error);
void dq_bench_close(dq_bench_model *models, int count); // allowed on zeroed structs

#endif
