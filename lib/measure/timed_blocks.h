// Plans that run in turns, in blocks. The time of a plan depends by some percent on where its memory lies, so that many
// runs of plans that stay in place tell the time of these places very well, and that of the plan no better. Before each
// block the plans are bound again at other places in memory; a block counts once, however many runs it has.
#ifndef DQ_MEASURE_TIMED_BLOCKS_H
#define DQ_MEASURE_TIMED_BLOCKS_H

#include "lib/measure/spread.h"
#include "lib/session/session.h"

// ---- Running ----

// A plan that takes turns with others.
typedef struct dq_timed_plan {
  const char *name;                  // in front of the messages of its failures; NULL: nothing
  dq_session *session;               // with a plan, which is bound again; the last one stays
  const dq_session_options *options; // as in dq_session_bind_again; NULL: none
  dq_tensor *const *inputs;          // of dq_feed_make
  double *times;                     // [dq_block_rounds]: receives the seconds of each, 1e-9 at least
  double first;                      // receives the seconds of the first run of all
  double *least; // receives the least seconds in each block, runs of its warm-up included, in an array [blocks]
} dq_timed_plan;

typedef struct dq_block_options {
  int64_t rounds;    // that are measured, >= 1; a round runs each plan once
  int64_t quick;     // that are measured in their place where the warm-up saw each plan run in DQ_QUICK_RUN; 0: rounds
  int64_t warmup;    // rounds before the first block; before another one up to as many, but one when it takes 5 ms
  int64_t blocks;    // 0: dq_block_count; no more than rounds are made
  int64_t fewest;    // blocks that are made whatever the time limit is, of one round at least; 0: one
  double time_limit; // seconds for all blocks, each of which has an equal share; 0: none
} dq_block_options;

#define DQ_QUICK_RUN 0.001 // seconds: the bound of short runs, a choice

// What was made.
typedef struct dq_blocks {
  int64_t rounds, count; // that are measured; blocks
} dq_blocks;

// The most rounds that these options ask for.
int64_t dq_block_rounds(const dq_block_options *options);

// The blocks of so many rounds: one for every two of them, at least 12 and at most 100, but no more than rounds.
int64_t dq_block_count(int64_t rounds);

// Which of `count` plans runs at place `turn` (0 <= turn < count) of the rounds of a block: each begins in turn, and
// the circle is run through forwards, then backwards. Two plans change places from block to block.
int dq_plan_in_turn(int count, int64_t block, int turn);

// Runs the plans in turns, each in its place as dq_plan_in_turn says. Before each block but the first all plans are
// freed and bound again, at places in memory that context->seed draws. Only dq_plan_run is measured, by the monotonic
// clock. Reports progress as "timing". Arrays are in the arena. Statuses as dq_plan_run and dq_session_bind_again;
// after a failure a session may be without a plan.
dq_status dq_blocks_run(dq_blocks *made, dq_timed_plan *plans, int count, const dq_block_options *options,
                        const dq_context *context, dq_arena *arena, dq_error *error);

// ---- Comparing ----

// What the interval of a ratio of blocks holds the median with, where there are enough of them (7). A choice: of a
// hundred comparisons of a model with itself at most three are decided in the mean, so that five in a hundred of many
// are a bound that holds.
#define DQ_BLOCK_LEVEL 0.97

// The least difference of times that a verdict speaks of, as a share. A choice: what is the same in all blocks of a
// process, such as the pages of its memory, makes a model of 0.05 ms differ from itself by up to 0.4 %.
#define DQ_BLOCK_DIFFERENCE 0.005

// The ratio of two plans that ran in turns in `blocks` (>= 1) blocks, by their least seconds in each block. The value
// of a block is least / reference: the least time, as whatever disturbs a run only adds time (J. Chen, J. Revels,
// Robust Benchmarking in Noisy Environments, arXiv 1608.04295, 2016). ratio->median is the median of all sqrt(a b) of
// the values a, b of two blocks or twice the same (J. L. Hodges, E. L. Lehmann, Estimates of Location Based on Rank
// Tests, Annals of Mathematical Statistics 34(2), 1963); the interval lies between two of these, with equally many
// outside on either side, as many as a level of DQ_BLOCK_LEVEL allows by the distribution of Wilcoxon's signed ranks,
// or between the extremes (M. Hollander, D. A. Wolfe, Nonparametric Statistical Methods, 1999, 3.3). The level is exact
// where blocks are independent and a value is as likely to be above the median by a factor as below it, as with two
// equal plans, which might change names. Time and memory are blocks^2. DQ_SYSTEM: there is no memory.
dq_status dq_block_ratio_of(dq_time_ratio *ratio, const double *least, const double *reference, int64_t blocks,
                            dq_error *error);

// Writes the conclusion from the ratio of `blocks` blocks to `text`, of `size` bytes, and returns `text`: "faster" or
// "slower", with "in all 5 blocks" where the level is below DQ_BLOCK_LEVEL, or "cannot tell" where the interval
// comes as near to 1 as DQ_BLOCK_DIFFERENCE. " (unsteady)" follows the first two where the times of a model are
// `unsteady`.
const char *dq_time_verdict(const dq_time_ratio *ratio, int64_t blocks, bool unsteady, char *text, size_t size);

#endif
