// Trials of whole choices on the pictures of trials, and the correction of the costs by what they show.
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "quant/mix/mix_internal.h"
#include "quant/mix/mix_noise.h"

// ---- Pictures ----

// The bytes of the float outputs of a picture, which evaluators keep.
static int64_t bytes_of_outputs(const dq_mix_network *network) {
  int64_t bytes = 1;
  for (int v = 0; v < network->value_count; v++)
    for (int r = 0; r < network->values[v].reader_count; r++)
      if (network->values[v].readers[r] == network->unit_count - 1) bytes += 4 * network->elements[v];
  return bytes;
}

// The mean over few pictures is chance; where a run is slow, or outputs are large, fewer must do.
static int64_t most_pictures(const dq_mix_search_state *search) {
  enum { MOST = 128, LEAST = 24, BYTES = 64 << 20 };
  static const double SLOW = 0.02; // seconds of a run
  int64_t fit = BYTES / bytes_of_outputs(&search->report->network);
  int64_t most = search->report->costs.float32 > SLOW ? LEAST : MOST;
  return fit < LEAST ? LEAST : dq_min_i64(fit, most);
}

static dq_status open_one(dq_mix_search_state *search, dq_evaluator *evaluator, int64_t first, int64_t pictures) {
  const dq_int8_options *int8 = search->options->int8;
  const dq_evaluator_options what = {.graph = search->graph,
                                     .shapes = &int8->shapes,
                                     .data = search->turns,
                                     .first = first,
                                     .pictures = pictures,
                                     .decode = int8->decode,
                                     .batch = int8->batch};
  return dq_evaluator_open(evaluator, &what, &search->quiet, search->arena, search->error);
}

// The pictures of trials, and behind them the others; a single picture is both.
static dq_status open_turns(dq_mix_search_state *search, dq_data *data) {
  dq_mix_report *report = search->report;
  int64_t most = most_pictures(search), count = dq_data_count(data);
  report->others = dq_min_i64((count + 1) / 2, most);
  report->tried = dq_min_i64(count / 2, most);
  int64_t *order = DQ_NEW_ARRAY(search->arena, report->tried + report->others, int64_t);
  if (!order) return dq_fail_memory(search->error, 0);
  dq_mix_turns(order, count, report->tried, report->others);
  DQ_TRY(dq_data_view(&search->turns, data, order, report->tried + report->others, search->error));
  if (report->tried) return DQ_OK;
  report->tried = 1;
  dq_message(
      search->context, DQ_WARNING,
      "a single picture to judge on: its noise decides trials, and 'Other pictures' has that of the same picture");
  return DQ_OK;
}

dq_status dq_mix_open_evaluators(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  if (search->evaluates) return DQ_OK;
  search->evaluates = true;
  DQ_TRY(open_turns(search, search->options->eval ? search->options->eval : search->options->data));
  DQ_TRY(open_one(search, &search->trial, 0, report->tried));
  return open_one(search, &search->other, dq_data_count(search->turns) - report->others, report->others);
}

// ---- Trials ----

static const dq_mix_observation *find(const dq_mix_search_state *search, const uint8_t *choice) {
  size_t units = (size_t)search->report->network.unit_count;
  for (int i = 0; i < search->observed_count; i++)
    if (!memcmp(search->observed[i].choice, choice, units)) return &search->observed[i];
  return NULL;
}

bool dq_mix_was_tried(const dq_mix_search_state *search, const uint8_t *choice) { return find(search, choice) != NULL; }

dq_status dq_mix_observe(dq_mix_search_state *search, const dq_mix_observation *observation) {
  const uint8_t *choice = dq_arena_copy(search->arena, observation->choice, (size_t)search->report->network.unit_count);
  if (!choice) return dq_fail_memory(search->error, 0);
  if (search->observed_count == search->observed_capacity) {
    int capacity = 2 * search->observed_capacity + 64;
    dq_mix_observation *observed = DQ_NEW_ARRAY(search->arena, capacity, dq_mix_observation);
    if (!observed) return dq_fail_memory(search->error, 0);
    if (search->observed_count) memcpy(observed, search->observed, (size_t)search->observed_count * sizeof *observed);
    search->observed = observed;
    search->observed_capacity = capacity;
  }
  dq_mix_observation *added = &search->observed[search->observed_count++];
  *added = *observation;
  added->choice = choice;
  return DQ_OK;
}

dq_status dq_mix_try(dq_mix_search_state *search, const uint8_t *choice, dq_mix_observation *found) {
  const dq_mix_observation *known = find(search, choice);
  dq_mix_observation made = {.choice = choice, .before = dq_mix_predict(&search->report->costs, choice).noise};
  if (known && found) *found = *known;
  if (known) return DQ_OK;
  DQ_TRY(dq_mix_open_evaluators(search));
  dq_status status = dq_mix_noise_of_choice(&search->trial, &search->maker, &search->report->network, choice,
                                            &made.noise, search->error);
  if (found) *found = made;
  return status == DQ_OK ? dq_mix_observe(search, &made) : status;
}

// Sums do not describe everything that was tried: those of the points, which are reported, have the last word.
dq_status dq_mix_correct(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  dq_mix_observation *points = DQ_NEW_ARRAY(search->arena, report->count, dq_mix_observation);
  int count = 0;
  if (!points) return dq_fail_memory(search->error, 0);
  for (int p = 0; p < report->count; p++) {
    const dq_mix_observation *tried = report->points[p].choice ? find(search, report->points[p].choice) : NULL;
    if (tried) points[count++] = *tried;
  }
  dq_mix_costs_fit_noise(&report->costs, search->observed, search->observed_count);
  dq_mix_costs_fit_noise(&report->costs, points, count);
  return DQ_OK;
}

// ---- Predictions ----

void dq_mix_predict_noises(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  for (int p = 0; p < report->count; p++) {
    dq_mix_point *point = &report->points[p];
    if (point->choice) point->predicted.noise = dq_mix_predict(&report->costs, point->choice).noise;
  }
}

double dq_mix_noise_error(const dq_mix_point *point) {
  static const double ARITHMETIC = 2e-10; // an SQNR is counted up to 100 dB
  bool known = point->choice && point->noise > ARITHMETIC && point->predicted.noise > 0 && isfinite(point->noise);
  return known ? fabs(10 * log10(point->predicted.noise / point->noise)) : 0;
}
