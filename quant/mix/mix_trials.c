// Trials of whole choices on the pictures of the search, and what they say of the pictures that points are judged on.
#include <math.h>
#include <string.h>

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
  enum { MOST = 192, LEAST = 24, BYTES = 64 << 20 };
  static const double SLOW = 0.02; // seconds of a run
  int64_t fit = BYTES / bytes_of_outputs(&search->report->network);
  int64_t most = search->report->costs.float32 > SLOW ? LEAST : MOST;
  return fit < LEAST ? LEAST : fit < most ? fit : most;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static dq_status open_one(dq_mix_search_state *search, dq_evaluator *evaluator, dq_data *data, int64_t first,
                          int64_t pictures) {
  const dq_int8_options *int8 = search->options->int8;
  const dq_evaluator_options what = {.graph = search->graph,
                                     .shapes = &int8->shapes,
                                     .data = data,
                                     .first = first,
                                     .pictures = pictures,
                                     .decode = int8->decode,
                                     .batch = int8->batch};
  return dq_evaluator_open(evaluator, &what, &search->quiet, search->arena, search->error);
}

dq_status dq_mix_open_evaluators(dq_mix_search_state *search) {
  const dq_mix_options *options = search->options;
  int64_t most = most_pictures(search), count = dq_data_count(options->data);
  if (search->evaluates) return DQ_OK;
  search->evaluates = true;
  if (options->eval) {
    search->report->judged = least(dq_data_count(options->eval), most);
    search->report->searched = least(count, most);
    DQ_TRY(open_one(search, &search->judge, options->eval, 0, search->report->judged));
  } else { // the last half, and the first one; a single picture is both
    search->report->judged = least((count + 1) / 2, most);
    search->report->searched = count > 1 ? least(count / 2, most) : 1;
    DQ_TRY(open_one(search, &search->judge, options->data, count - search->report->judged, search->report->judged));
  }
  return open_one(search, &search->trial, options->data, 0, search->report->searched);
}

// ---- Trials ----

static const dq_mix_observation *find(const dq_mix_search_state *search, const uint8_t *choice) {
  size_t units = (size_t)search->report->network.unit_count;
  for (int i = 0; i < search->observed_count; i++)
    if (!memcmp(search->observed[i].choice, choice, units)) return &search->observed[i];
  return NULL;
}

bool dq_mix_was_tried(const dq_mix_search_state *search, const uint8_t *choice) { return find(search, choice) != NULL; }

dq_status dq_mix_observe(dq_mix_search_state *search, const uint8_t *choice, double noise) {
  const uint8_t *kept = dq_arena_copy(search->arena, choice, (size_t)search->report->network.unit_count);
  if (!kept) return dq_fail_memory(search->error, 0);
  if (search->observed_count == search->observed_capacity) {
    int capacity = 2 * search->observed_capacity + 64;
    dq_mix_observation *observed = DQ_NEW_ARRAY(search->arena, capacity, dq_mix_observation);
    if (!observed) return dq_fail_memory(search->error, 0);
    if (search->observed_count) memcpy(observed, search->observed, (size_t)search->observed_count * sizeof *observed);
    search->observed = observed;
    search->observed_capacity = capacity;
  }
  search->observed[search->observed_count++] = (dq_mix_observation){kept, noise};
  return DQ_OK;
}

dq_status dq_mix_try(dq_mix_search_state *search, const uint8_t *choice, double *noise) {
  const dq_mix_observation *known = find(search, choice);
  dq_precision_map map;
  dq_graph *form;
  if (known) {
    *noise = known->noise;
    return DQ_OK;
  }
  DQ_TRY(dq_mix_open_evaluators(search));
  DQ_TRY(dq_mix_map(&search->report->network, choice, search->arena, &map, search->error));
  DQ_TRY(dq_mix_make(&search->maker, &map, &form, NULL, search->error));
  dq_status status = dq_mix_noise_of(&search->trial, form, noise, search->arena, search->error);
  dq_graph_free(form);
  return status == DQ_OK ? dq_mix_observe(search, choice, *noise) : status;
}

// The sweeps let all observations have their say.
void dq_mix_correct(dq_mix_search_state *search) {
  enum { SWEEPS = 20 };
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (int i = 0; i < search->observed_count; i++)
      dq_mix_costs_correct_noise(&search->report->costs, search->observed[i].choice, search->observed[i].noise);
}

// ---- Predictions ----

// By how much the noise of a point on the pictures that judge is above that of its trial, as a logarithm. False: it
// cannot be told, as there is no noise but that of float32 arithmetic.
static bool excess_of(const dq_mix_point *point, double *excess) {
  static const double ARITHMETIC = 1e-10;
  if (!point->choice || !point->measured || !(point->trial > ARITHMETIC) || !(point->noise > ARITHMETIC)) return false;
  *excess = log(point->noise / point->trial);
  return isfinite(*excess);
}

double dq_mix_noise_error(const dq_mix_point *point) {
  double excess;
  return excess_of(point, &excess) ? fabs(10 * log10(point->predicted.noise / point->noise)) : 0;
}

void dq_mix_predict_noises(dq_mix_point *points, int count) {
  double sum = 0, excess;
  int known = 0;
  for (int p = 0; p < count; p++)
    if (excess_of(&points[p], &excess)) sum += excess, known++;
  for (int p = 0; p < count; p++) {
    if (!excess_of(&points[p], &excess)) continue;
    double others = known > 1 ? (sum - excess) / (known - 1) : 0;
    points[p].predicted.noise = points[p].trial * exp(others);
  }
}
