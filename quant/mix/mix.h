// The search for one precision for each layer: the fastest form of a network whose loss is within a bound, by measured
// times of units and conversions, and measured noise.
#ifndef DQ_QUANT_MIX_H
#define DQ_QUANT_MIX_H

#include "lib/eval/accuracy.h"
#include "lib/measure/bench.h"
#include "quant/mix/mix_costs.h"

// A form that the caller wants to be measured beside those of the search.
typedef struct dq_mix_named {
  const char *name;
  const dq_precision_map *map;
} dq_mix_named;

// Reads NAME=FILE, a file as dq_precision_load does. The arena owns the result. DQ_USAGE: the text has another form;
// else statuses of dq_precision_load.
dq_status dq_mix_named_read(dq_mix_named *named, const char *text, const dq_graph *graph, dq_arena *arena,
                            dq_error *error);

typedef struct dq_mix_options {
  double drop;                 // the bound: loss of the first figure in percentage points
  bool cautious;               // a point holds it only where it and all with less noise lose or gain at most that
  double most_seconds;         // of a run; 0: no bound
  int64_t most_bytes;          // of all weights; 0: no bound
  int points;                  // of the front that are measured in each of two rounds, 6 or more
  double seconds;              // about how long the measurement of times takes; above 0
  const dq_int8_options *int8; // without precision, table and start
  dq_data *data;               // for ranges and noise
  dq_data *eval;               // pictures to judge points on; NULL: those of `data`
  bool labelled;               // whether these have labels; else agreement with the float network is measured
  dq_accuracy_options accuracy;
  const dq_result *before;   // figures of the float network on the same pictures
  const dq_mix_named *named; // [named_count]
  int named_count;
  const char *cache; // path of the file to which measured times and noises are written; NULL: none
  bool resume;       // reads this file first
  // Called with each point that is the best so far; NULL: none.
  dq_status (*on_better)(void *user, const dq_graph *form, const dq_precision_map *map, dq_error *error);
  void *user;
} dq_mix_options;

// The machine is too noisy where the interval of the time ratio of two equal plans reaches farther than this from 1, in
// four tries with memory at other addresses; the addresses alone change the ratio by up to 5 %.
#define DQ_MIX_NOISE 0.1

typedef enum dq_mix_kind {
  DQ_MIX_UNIFORM, // one precision wherever possible
  DQ_MIX_NAMED,   // of the caller
  DQ_MIX_FOUND,   // of the front
  DQ_MIX_BLIND,   // the fastest with the noise of the answer if conversions took no time; shows what their times change
} dq_mix_kind;

typedef struct dq_mix_point {
  const char *name;
  dq_mix_kind kind;
  uint8_t *choice;       // [unit_count]; NULL: a map of the caller that divides units
  const uint8_t *layers; // precisions of the map, by unit and layer of the unit
  dq_precision_map map;
  // The time was predicted before the point was measured; the noise is that of the costs after all corrections, those
  // by this point included. Without a choice all are 0.
  dq_mix_prediction predicted;
  int changed;         // round, from 1, in which it was found; 0: not by the search
  bool measured;       // the following members are set
  double seconds;      // of a run: the median of `ratio` times costs.float32
  dq_time_ratio ratio; // to the network in float32
  double noise;        // relative noise on the pictures of trials
  double foreseen;     // the noise as the costs predicted it before it was measured; without a choice 0
  double other_noise;  // measured noise on pictures that no trial used, unless there is but one
  int64_t bytes;       // of all weights
  double drop;         // of the first figure, in percentage points
  dq_result figures;
  bool within; // all bounds
  bool best;   // no measured point is faster, loses less noise and has fewer bytes at once
} dq_mix_point;

// The error, in dB, of the predicted noise of a point that has a choice; 0 where the noise is below 2e-10, as that of
// float32 arithmetic is.
double dq_mix_noise_error(const dq_mix_point *point);

typedef struct dq_mix_report {
  dq_mix_network network;
  dq_mix_costs costs;
  dq_mix_point *points; // [count]: uniform, named, then found
  int count, capacity;
  int answer;            // index of the fastest point within the bounds, else of the one that loses least
  bool held;             // whether the answer is within the bounds
  bool noisy;            // two equal plans cannot be told apart (DQ_MIX_NOISE); nothing was found
  bool resumed;          // everything came from the cache
  dq_int8_report int8;   // of the answer
  int64_t tried;         // pictures of trials
  int64_t others;        // pictures of the other noise
  dq_time_ratio control; // of two equal plans
  double exact_gap; // of the last front: the most that a point may be slower than the best choice, as a share of the
                    // time of float32; 0: the front is exact
  int widest;       // dq_mix_front.widest
  // Too many values are open at a time for choices among three precisions: the front has points without float16 only.
  bool no_float16;
  double largest_time_error;  // of the points that were found: share of the time
  double largest_noise_error; // of all points: dq_mix_noise_error
} dq_mix_report;

// Whether no point with as much noise as this one or less loses, or gains, more than `drop` percentage points: on few
// pictures a loss is chance, the more so as the best of many is looked for; a gain through noise is chance too, and a
// loss of the same size is as likely on other pictures.
bool dq_mix_is_sure(const dq_mix_report *report, const dq_mix_point *point, double drop);

// Searches and makes the answer, *answer, a converted copy of the graph, which must outlive it; the caller frees it.
// NULL: the machine is too noisy. Everything in the report is in the arena, names belong to the graph. The graph with
// the answer's map as dq_int8_options.precision gives the same answer in dq_int8_apply.
//
// First the network is quantized as a whole (dq_int8_apply). Then forms with one precision, and forms in which
// neighbouring units have two different precisions, run in turns; the times of their steps are the costs of units and
// of conversions. The noise of units is that of mix_noise.h. The front of all choices (mix_front.h) gives points with
// equal steps of noise between the fastest and the one with least noise. They are made, run in turns with float32, and
// judged on pictures of their own; what was measured corrects times and noises, and a second round finds points anew.
//
// DQ_UNSUPPORTED: no layer can be quantized, the network is quantized already, or a run of it has more than
// DQ_MIX_MOST_STEPS steps; DQ_BAD_INPUT: the cache is of another network, other data or another machine; else statuses
// of dq_int8_apply, dq_session_open and dq_accuracy_run.
dq_status dq_mix_search(dq_graph **answer, const dq_graph *graph, dq_mix_report *report, const dq_mix_options *options,
                        const dq_context *context, dq_arena *arena, dq_error *error);

#endif
