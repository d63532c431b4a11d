// Measurement of run times: models are opened, run in turns, and looked into.
#ifndef DQ_MEASURE_BENCH_H
#define DQ_MEASURE_BENCH_H

#include "lib/measure/timed_blocks.h"
#include "lib/measure/timeline.h"

typedef struct dq_bench_options {
  dq_shape_request shapes;
  dq_block_options turns;
  bool per_layer;    // then make as many rounds again in which every step is measured
  bool plain;        // no passes, as in dq_session_options
  int timeline_runs; // then run each model as often as this for its timeline; 0: without one
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
  const char *path;           // of the subject
  dq_graph *graph;            // owned
  dq_session session;         // owned
  dq_session_options options; // of the session
  double load_time, plan_time, pack_time,
      first_time;         // seconds; packing is a part of planning, `first` is the first run
  int64_t macs;           // -1: not known
  dq_tensor **inputs;     // random numbers in -1 to 1; integers are 0
  double *times, *least;  // by round and by block, in seconds
  dq_bench_layer *layers; // [layer_count], with per_layer or timeline_runs; `median` with per_layer
  int layer_count;
  dq_timeline timeline; // with timeline_runs
} dq_bench_model;

// Loads and plans `count` subjects into models[count], at sizes that one of them records where the request does not
// give them, then runs them in turns as dq_blocks_run does, which sets *made. Inputs come from context->seed and are
// the same for every model. Arrays are in the arena. The caller closes the models by dq_bench_close, also after a
// failure. Messages begin with the path. Statuses as dq_model_open and dq_session_open.
dq_status dq_bench_run(dq_bench_model *models, const dq_bench_subject *subjects, int count,
                       const dq_bench_options *options, dq_blocks *made, const dq_context *context, dq_arena *arena,
                       dq_error *error);
void dq_bench_close(dq_bench_model *models, int count); // allowed on zeroed structs

#endif
