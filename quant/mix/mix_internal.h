// The inside of dq-mix: the state of a search, its points, and the file that keeps what was measured.
#ifndef DQ_QUANT_MIX_INTERNAL_H
#define DQ_QUANT_MIX_INTERNAL_H

#include "quant/mix/mix.h"

typedef struct dq_mix_search_state {
  const dq_graph *graph;
  const dq_mix_options *options;
  const dq_context *context;
  dq_context quiet; // says nothing: the same would be said at each form
  dq_mix_report *report;
  dq_mix_maker maker;
  dq_graph *whole; // with all layers in 8 bits, when it was made here: it owns the table; NULL: from the cache
  dq_evaluator trial, other;    // on the pictures of trials, and on as many that no trial sees
  bool evaluates;               // they are open
  dq_mix_observation *observed; // [observed_count]
  int observed_count, observed_capacity;
  int rounds;    // that are over
  uint64_t data; // dq_data_hash of options->data, with a cache
  bool has_costs;
  double best_seconds; // of the points that on_better was told of; 0: none
  dq_arena *arena;
  dq_error *error; // receives the message of every function that takes the state
} dq_mix_search_state;

// ---- mix_points.c ----

// Adds a point with a choice, unless there is one with the same precisions. *added (may be NULL) is the point.
dq_status dq_mix_add_choice(dq_mix_search_state *search, const char *name, dq_mix_kind kind, const uint8_t *choice,
                            dq_mix_point **added);
dq_status dq_mix_add_named(dq_mix_search_state *search, const dq_mix_named *named);
// Measures all points that were not: makes them, runs them in turns with the network in float32 twice, and judges them.
// Adds the times of their steps to the costs, and corrects the noises. Sets report->noisy.
dq_status dq_mix_measure_points(dq_mix_search_state *search);
// Measures the points within the bounds that are about as fast as the answer again, side by side, three times with
// memory that lies elsewhere; their times are then the median of these. Sets report->noisy.
dq_status dq_mix_confirm(dq_mix_search_state *search);
// Marks what is within the bounds and on the front, and finds the answer.
void dq_mix_rank(dq_mix_search_state *search);

// ---- mix_trials.c ----

// Opens both evaluators, if they are not open.
dq_status dq_mix_open_evaluators(dq_mix_search_state *search);
// Appends an observation, whose choice is copied, to search->observed. Nothing is corrected yet (dq_mix_correct).
dq_status dq_mix_observe(dq_mix_search_state *search, const dq_mix_observation *observation);
// Makes a choice and measures its noise on the pictures of trials, unless that is known. `found` may be NULL.
dq_status dq_mix_try(dq_mix_search_state *search, const uint8_t *choice, dq_mix_observation *found);
bool dq_mix_was_tried(const dq_mix_search_state *search, const uint8_t *choice);
// Corrects the noises of the costs by all observations, then by those of points.
dq_status dq_mix_correct(dq_mix_search_state *search);
// Sets predicted.noise of all points that have a choice, by the costs as they are.
void dq_mix_predict_noises(dq_mix_search_state *search);

// ---- mix_rounds.c ----

// Measures the costs of units and conversions.
dq_status dq_mix_measure_costs(dq_mix_search_state *search);
// Measures the noise of some choices of the front, and corrects the costs, a few times: the noises of units alone add
// up to that of a choice but roughly.
dq_status dq_mix_settle_noise(dq_mix_search_state *search);
// Finds points on the front of the costs and tries them, which corrects the costs, until all points were tried, a few
// times; then measures them.
dq_status dq_mix_run_round(dq_mix_search_state *search);
// Points between the answer and the fastest point that loses too much.
dq_status dq_mix_refine(dq_mix_search_state *search);

// ---- mix_cache.c ----

// Reads the file of options->cache. Without options->resume, or a file, nothing is read. DQ_BAD_INPUT: the file is
// broken, or is of something else.
dq_status dq_mix_cache_load(dq_mix_search_state *search);
// The table of the whole network that stands beside the cache; *found: whether it does.
dq_status dq_mix_cache_load_table(dq_mix_search_state *search, bool *found);
// Writes both files. Nothing without options->cache.
dq_status dq_mix_cache_save(dq_mix_search_state *search);

#endif
