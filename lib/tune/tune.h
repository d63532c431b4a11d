// Tuning: choices (lib/wisdom) are measured in place, in runs of the whole network, against the usual ones.
#ifndef DQ_TUNE_TUNE_H
#define DQ_TUNE_TUNE_H

#include "lib/measure/bench.h"
#include "lib/tune/cost_model.h"
#include "lib/wisdom/wisdom.h"

// ---- The rule ----

// A choice counts as faster where the 95 % confidence interval of its time ratio ends below this.
#define DQ_TUNE_FASTER 0.98
// The machine is too noisy where the interval of two equal plans reaches farther than this from 1.
#define DQ_TUNE_NOISE 0.05
// A round is disturbed where the threads waited for a processor longer than this share of it: as much as a choice has
// to gain.
#define DQ_TUNE_WAIT 0.02
enum { DQ_TUNE_LEAST_ROUNDS = 8, DQ_TUNE_MOST_ROUNDS = 64 };
// Rounds of the finals after which plans are bound anew, as the time of a step depends by some percent on where its
// memory lies.
enum { DQ_TUNE_BOUND_ROUNDS = 16 };
// Numbers of the finals: candidates of a shape, rounds of each, and the difference of time ratios by which two
// candidates count as equal.
enum { DQ_TUNE_FINALISTS = 3, DQ_TUNE_FINAL_LEAST = 16, DQ_TUNE_FINAL_ENOUGH = 256, DQ_TUNE_FINAL_ROUNDS = 2048 };
#define DQ_TUNE_EQUAL 0.02
// A disturbed round takes one from what is left of this, another one gives three back; where nothing is left, the
// machine is too noisy.
enum { DQ_TUNE_PATIENCE = 24 };

typedef enum dq_tune_decision { DQ_TUNE_UNDECIDED, DQ_TUNE_IS_FASTER, DQ_TUNE_NOT_FASTER } dq_tune_decision;

// The decision on a choice after `rounds` rounds with the time ratio `ratio` (median and confidence interval): faster
// where the interval ends below DQ_TUNE_FASTER; not faster where it begins above DQ_TUNE_FASTER or above `best`, the
// upper end of the interval of the best choice so far; else undecided, as with fewer rounds than DQ_TUNE_LEAST_ROUNDS.
// With DQ_TUNE_MOST_ROUNDS an undecided choice is not faster.
dq_tune_decision dq_tune_decide(const dq_time_ratio *ratio, double best, int64_t rounds);
// Whether `control`, the time ratio of two equal plans, has an interval that reaches farther than DQ_TUNE_NOISE from 1.
bool dq_tune_too_noisy(const dq_time_ratio *control);
// Whether a round is disturbed in which the threads together waited for a processor for this share of its time.
bool dq_tune_is_disturbed(double waited);
// Whether an interval has DQ_TUNE_FASTER inside, so that more rounds may tell whether a choice is faster.
bool dq_tune_is_open(const dq_time_ratio *ratio);
// Which of `count` finalists of a shape is taken: of those whose interval ends below DQ_TUNE_FASTER the one with the
// least median time ratio, or one that counts as equal to it (DQ_TUNE_EQUAL) and has an earlier place in the list of
// candidates, so that chance does not choose among equals. -1: none is faster.
int dq_tune_winner(const double *medians, const double *highs, const int *places, int count);
// What is left of DQ_TUNE_PATIENCE after one more round, with `patience` before it; 0 to DQ_TUNE_PATIENCE. 0 says that
// the machine is too noisy: it is reached where fewer than a quarter of the rounds can be used.
int dq_tune_patience(int patience, bool disturbed);

// Rounds that were made.
typedef struct dq_tune_rounds {
  bool are_watched;  // what threads wait for processors is known
  int64_t all;       // with those that are disturbed
  int64_t disturbed; // these are left out
  int patience;      // dq_tune_patience; 0: they end the tuning
  int64_t written;   // records that were written meanwhile
} dq_tune_rounds;

// The quantiles of count > 0 times, in seconds. DQ_SYSTEM: there is no memory.
dq_status dq_tune_quantiles(dq_quantiles *quantiles, const double *times, int64_t count, dq_error *error);

// ---- Predictions ----

// The number of candidates of a shape that are measured without dq_tune_options.exhaustive, of `count`: a fifth,
// rounded to the nearest number, and at least one where there are some.
int dq_tune_part(int count);

// Spearman's rank correlation of two rows of `count` numbers, equal ones with the mean of their ranks: Pearson's
// correlation of the ranks, -1 to 1. NAN: there are fewer than 3, or those of a row are all equal.
double dq_rank_correlation(const double *a, const double *b, int count);

// Shapes with the same operator, type of the first input and kernel.
typedef struct dq_tune_family {
  char name[DQ_FAMILY_TEXT];
  int candidates, measured; // by this call
  double correlation;       // of the time ratios expected and measured, over those measured; NAN: there is none
} dq_tune_family;

// ---- Tuning a network ----

typedef struct dq_tune_options {
  dq_shape_request shapes;
  bool any_sums;     // convolutions have the algorithms of DQ_CONV_AUTO; false: of DQ_CONV_SAME_BITS
  bool exhaustive;   // measures all candidates, also of shapes that are known
  double time_limit; // seconds, above 0; runs of the network of a second together are made in any case
} dq_tune_options;

// Steps of the network that run the same, of which some choice may change the time.
typedef struct dq_tune_shape {
  const char *run, *name, *op_type; // name: label of the first such step
  const char *algorithm;            // of the choice; NULL: there is only one algorithm
  int steps;
  double share;     // of the usual time of the network, 0 to 1
  bool has_record;  // `record` is set; false: the time was over before
  bool was_known;   // the wisdom had it before
  dq_record record; // times are of one step, the mean of all of them in a run
  bool used;        // another choice than the usual one is used from now on
  double gain;      // seconds that its choice saves in a run of the network, by medians; 0: it is the usual one
} dq_tune_shape;

typedef struct dq_tune_report {
  dq_tune_shape *shapes;                    // [shape_count], the largest share first
  int shape_count, known, measured, chosen; // chosen: shapes with another choice than the usual one
  int steps;                                // of the network
  dq_tune_family *families;                 // [family_count], of the shapes that were not known
  int family_count;
  int candidates;     // of these shapes
  int tried_before;   // of the candidates, in earlier searches
  int tried;          // of the candidates, in this one
  bool has_part_loss; // `part_loss` is set: with `exhaustive`, where this call measured all candidates
  double part_loss;   // dq_tune_part_loss
  int64_t runs;       // of the network that were made; 0: nothing was measured
  bool out_of_time;   // shapes are left
  bool noisy;         // the machine is too noisy: no choice was made
  dq_tune_rounds rounds;
  bool kept; // false: a record could not be written
  bool has_control;
  dq_time_ratio control; // of two equal plans
  bool has_network;      // the network as a whole was measured, now or before
  dq_record network;     // `withdrawn`: with the choices it was not faster, they are not used
} dq_tune_report;

// The loss of time when each shape takes the fastest of the first part (dq_tune_part) of its candidates in place of the
// fastest of all: the additional time of the network, as a share of its time with the fastest of all. shares: of the
// usual time, 0 to 1; part[i], all[i]: time ratio of the fastest, 1 where it is the usual choice.
double dq_tune_part_loss(const double *shares, const double *part, const double *all, int count);

// DQ_CONDITION, with a message on the rounds that are disturbed.
dq_status dq_tune_fail_disturbed(const dq_tune_rounds *rounds, dq_error *error);
// DQ_CONDITION, with what makes the machine too noisy by a report that is noisy.
dq_status dq_tune_fail_noisy(const dq_tune_report *report, dq_error *error);

// Tunes a graph: measures what `wisdom` does not know, and adds it. Everything in the report is in the arena. DQ_OK
// also where the machine is too noisy (report->noisy): equal plans differ too much, or other programs have the
// processors; candidates that were measured before that are written. Statuses as dq_session_open; DQ_CONDITION: the
// network is too slow for the time limit, nothing was written; DQ_CANCELLED: context->stop was set.
dq_status dq_tune(dq_tune_report *report, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                  const dq_context *context, dq_arena *arena, dq_error *error);

#endif
