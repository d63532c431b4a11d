// Tuning: choices (lib/wisdom) are measured in place, in runs of the whole network, against the usual ones.
#ifndef DQ_TUNE_TUNE_H
#define DQ_TUNE_TUNE_H

#include "lib/measure/bench.h"
#include "lib/wisdom/wisdom.h"

// ---- The rule ----

// A choice counts as faster where the 95 % confidence interval of its time ratio ends below this.
#define DQ_TUNE_FASTER 0.98
// The machine is too noisy where the interval of two equal plans reaches farther than this from 1.
#define DQ_TUNE_NOISE 0.05
enum { DQ_TUNE_LEAST_ROUNDS = 8, DQ_TUNE_MOST_ROUNDS = 64 };

typedef enum dq_tune_decision { DQ_TUNE_UNDECIDED, DQ_TUNE_IS_FASTER, DQ_TUNE_NOT_FASTER } dq_tune_decision;

// What `rounds` ratios say, whose median and interval is `ratio`: undecided below DQ_TUNE_LEAST_ROUNDS and where the
// interval holds DQ_TUNE_FASTER, but at DQ_TUNE_MOST_ROUNDS, where a tie is not faster.
dq_tune_decision dq_tune_decide(const dq_time_ratio *ratio, int64_t rounds);
// Whether the interval of two equal plans reaches too far.
bool dq_tune_too_noisy(const dq_time_ratio *control);

// The quantiles of count > 0 times, in seconds. DQ_SYSTEM: there is no memory.
dq_status dq_tune_quantiles(dq_quantiles *quantiles, const double *times, int64_t count, dq_error *error);

// ---- Tuning a network ----

typedef struct dq_tune_options {
  dq_shape_request shapes;
  bool any_sums;     // convolutions are those of DQ_CONV_AUTO, else of DQ_CONV_SAME_BITS
  double time_limit; // seconds, above 0; runs of the network of a second together are made in any case
} dq_tune_options;

// Steps of the network that run the same, of which some choice may change the time.
typedef struct dq_tune_shape {
  const char *run, *name, *op_type; // name: label of the first such step
  const char *algorithm;            // with the choice; NULL: there is one way only
  int steps;
  double share;     // of the usual time of the network, 0 to 1
  bool has_record;  // below; else there was no time for it
  bool was_known;   // the wisdom had it before
  dq_record record; // times are of one step, the mean of all of them in a run
  bool used;        // another choice than the usual one is used from now on
  double gain;      // seconds that its choice saves in a run of the network, by medians; 0: it is the usual one
} dq_tune_shape;

typedef struct dq_tune_report {
  dq_tune_shape *shapes;                    // [shape_count], the largest share first
  int shape_count, known, measured, chosen; // chosen: shapes with another choice than the usual one
  int steps;                                // of the network
  int64_t runs;                             // of the network that were made; 0: nothing was measured
  bool out_of_time;                         // shapes are left
  bool noisy;                               // the machine is too noisy to tell, nothing was written
  bool kept;                                // false: a record could not be written
  bool has_control;
  dq_time_ratio control; // of two equal plans
  bool has_network;      // the network as a whole was measured, now or before
  dq_record network;     // `withdrawn`: with the choices it was not faster, they are not used
} dq_tune_report;

// Tunes a graph: measures what `wisdom` does not know, and adds it. Everything in the report is in the arena. DQ_OK
// also where the machine is too noisy (report->noisy). Statuses as dq_session_open; DQ_CONDITION: the network is too
// slow for the time limit, nothing was written; DQ_CANCELLED: context->stop was set.
dq_status dq_tune(dq_tune_report *report, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                  const dq_context *context, dq_arena *arena, dq_error *error);

#endif
