// The parts of dq-mix: the state of a search, its points, and the file of measured times and noises.
#ifndef DQ_QUANT_MIX_INTERNAL_H
#define DQ_QUANT_MIX_INTERNAL_H

#include "quant/mix/mix.h"

typedef struct dq_mix_search_state {
  const dq_graph *graph;
  const dq_mix_options *options;
  const dq_context *context;
  dq_context quiet; // without a receiver of messages, as each form would give the same ones
  dq_mix_report *report;
  dq_mix_maker maker;
  dq_graph *whole;          // with all layers in 8 bits, when it was made here: it owns the table; NULL: from the cache
  dq_calibration_table own; // of that network; maker.whole.table has ranges that other forms measured as well
  dq_data *turns;           // pictures of trials, and behind them others
  dq_evaluator trial, other;    // on the pictures of trials, and on the same number of pictures that no trial uses
  bool evaluates;               // both evaluators are open
  dq_arena *of_front;           // the front that was found last, and its table
  dq_mix_observation *observed; // [observed_count]
  int observed_count, observed_capacity;
  int rounds;    // number of rounds that are complete; 3: so is the search
  uint64_t data; // dq_data_hash of options->data, with a cache
  bool has_costs;
  double best_seconds; // of the last point that on_better was called with; 0: none
  dq_arena *arena;
  dq_error *error; // receives the message of every function that takes the state
} dq_mix_search_state;

// ---- mix_points.c ----

// Adds a point with a choice, unless there is one with the same precisions. *added (may be NULL) receives the new
// point, which stays there until the next one is added; NULL: there was such a point.
dq_status dq_mix_add_choice(dq_mix_search_state *search, const char *name, dq_mix_kind kind, const uint8_t *choice,
                            dq_mix_point **added);
// Likewise with the precisions of a map, whose layers must outlive the search; the layers of a unit may have different
// ones, and the point has no choice then.
dq_status dq_mix_add_map(dq_mix_search_state *search, const dq_mix_named *named, dq_mix_point **added);
// Likewise, and the name is added to that of a point with the same precisions. DQ_SYSTEM: there is no memory.
dq_status dq_mix_add_named(dq_mix_search_state *search, const dq_mix_named *named);
// Measures all points that were not measured yet: makes them, runs them in turns with the network in float32 twice, and
// judges them. Adds the times of their steps to the costs, and corrects the noises. Sets report->noisy. Statuses as
// dq_mix_search.
dq_status dq_mix_measure_points(dq_mix_search_state *search);
// Measures the points within the bounds that are about as fast as the answer again, in turns, three times with memory
// at other addresses; their times are then the median of these. Sets report->noisy. Statuses as dq_mix_search.
dq_status dq_mix_confirm(dq_mix_search_state *search);
// Sets `within` and `best` of all measured points, and report->answer and report->held.
void dq_mix_rank(dq_mix_search_state *search);

// ---- mix_trials.c ----

// Opens both evaluators, if they are not open. Pictures take turns over the list (dq_mix_turns); a warning reports
// where there is a single one, which then is in both. Statuses as dq_evaluator_open.
dq_status dq_mix_open_evaluators(dq_mix_search_state *search);
// Appends an observation, whose choice is copied, to search->observed. Nothing is corrected yet (dq_mix_correct).
dq_status dq_mix_observe(dq_mix_search_state *search, const dq_mix_observation *observation);
// Measures the noise of a choice on the pictures of trials, unless an observation has it, and appends it to
// search->observed. *found, which may be NULL, receives the observation. Statuses as dq_mix_make and dq_evaluate.
dq_status dq_mix_try(dq_mix_search_state *search, const uint8_t *choice, dq_mix_observation *found);
bool dq_mix_was_tried(const dq_mix_search_state *search, const uint8_t *choice); // whether an observation has it
// Fits the noises of report->costs (dq_mix_costs_fit_noise) to all of search->observed, then once more to the
// observations of the choices of report->points. DQ_SYSTEM: there is no memory.
dq_status dq_mix_correct(dq_mix_search_state *search);
// Sets predicted.noise of all points that have a choice, by the costs as they are.
void dq_mix_predict_noises(dq_mix_search_state *search);

// ---- mix_rounds.c ----

// Measures the times and noises of units and conversions (search->report->costs). Statuses as dq_mix_search.
dq_status dq_mix_measure_costs(dq_mix_search_state *search);
// Measures the noise of some choices of the front and corrects the costs, a few times, because the noise of a choice is
// only roughly the sum of the noises of its units. Statuses as dq_mix_search.
dq_status dq_mix_settle_noise(dq_mix_search_state *search);
// Finds points on the front of the costs, measures their noise and corrects the costs by it, a few times, until the
// noise of all points of a front is known; then measures the points (dq_mix_measure_points). Statuses as dq_mix_search.
dq_status dq_mix_run_round(dq_mix_search_state *search);
// Measures further points: what is found without times of conversions, what dq_max_drop_apply leaves in float, and some
// between the answer and the fastest point that loses too much. Statuses as dq_mix_search.
dq_status dq_mix_refine(dq_mix_search_state *search);

// ---- mix_cache.c ----

// Reads the file options->cache into the state and its report. Without options->resume, or a file, nothing happens.
// DQ_BAD_INPUT: the file is broken, or is of another model, other data or another machine; DQ_SYSTEM: it cannot be
// read.
dq_status dq_mix_cache_load(dq_mix_search_state *search);
// Reads the calibration table of the network with all layers in 8 bits, the file PATH.table beside the cache, into
// search->maker.whole. *found: whether it was read. With options->cache it sets search->data. Statuses as dq_data_hash,
// dq_calibration_table_load and dq_calibration_table_check.
dq_status dq_mix_cache_load_table(dq_mix_search_state *search, bool *found);
// Writes both files; without options->cache nothing happens. DQ_SYSTEM: a file cannot be written.
dq_status dq_mix_cache_save(dq_mix_search_state *search);

#endif
