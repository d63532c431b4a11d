// The costs of units and conversions, and rounds of points on their front.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "quant/mix/mix_internal.h"
#include "quant/mix/mix_noise.h"
#include "quant/search/max_drop.h"

// ---- Costs ----

// PLACES: of the memory of plans, which changes times; half of them where a run is slow, as forms take long to make
// then.
enum { FORMS = DQ_PRECISIONS * DQ_PRECISIONS, PLACES = 4 };
static const double SLOW = 0.002; // seconds of a run

// Forms that run in turns: pairs of precisions, even * DQ_PRECISIONS + odd, the last one float32 alone.
typedef struct pair_batch {
  int pairs[FORMS], count;
  dq_mix_form forms[FORMS];
  bool adds_last; // the last one is not there for the clock only
} pair_batch;

static dq_status open_pairs(dq_mix_search_state *search, pair_batch *b) {
  const dq_mix_network *network = &search->report->network;
  for (int f = 0; f < b->count; f++) {
    dq_precision_map map;
    uint8_t *choice = DQ_NEW_ARRAY(search->arena, network->unit_count, uint8_t);
    if (!choice) return dq_fail_memory(search->error, 0);
    dq_mix_alternate(network, (dq_precision)(b->pairs[f] / DQ_PRECISIONS), (dq_precision)(b->pairs[f] % DQ_PRECISIONS),
                     choice);
    DQ_TRY(dq_mix_map(network, choice, search->arena, &map, search->error));
    b->forms[f].choice = choice;
    DQ_TRY(dq_mix_form_open(&b->forms[f], &search->maker, &map, &search->options->int8->shapes, search->error));
    dq_progress(search->context, "forms", f + 1, b->count);
  }
  return DQ_OK;
}

static dq_status time_pairs(dq_mix_search_state *search, pair_batch *b) {
  const double part = 0.25 / PLACES * b->count / FORMS;
  dq_mix_rounds rounds = {.rounds = 1};
  double all = 0;
  DQ_TRY(open_pairs(search, b));
  DQ_TRY(dq_mix_form_run(b->forms, b->count, &rounds, search->context, search->arena, search->error));
  for (int f = 0; f < b->count; f++) all += 2 * b->forms[f].seconds; // a run that counts, and the one before it
  double count = part * search->options->seconds / all / 2;          // with and without the times of steps
  rounds.rounds = rounds.step_rounds = count < 9 ? 9 : count > 101 ? 101 : (int64_t)count;
  DQ_TRY(dq_mix_form_run(b->forms, b->count, &rounds, search->context, search->arena, search->error));
  for (int i = b->adds_last ? 0 : 1; i < b->count; i++) // the last one first: uniform forms come before others
    DQ_TRY(dq_mix_costs_add_times(&search->report->costs, &b->forms[(i + b->count - 1) % b->count],
                                  b->forms[b->count - 1].seconds, search->arena, search->error));
  return DQ_OK;
}

// All pairs of precisions, each in units of even and of odd depth; equal pairs, the uniform forms, come first. Of
// networks of many units a few forms are there at a time, each time with float32. *once: the seconds of float32.
static dq_status time_all_pairs(dq_mix_search_state *search, double *once) {
  enum { FLOAT32 = FORMS - 1, UNIFORM = DQ_PRECISIONS };
  static const int others[] = {1, 2, 3, 5, 6, 7}; // pairs of two precisions
  _Static_assert(DQ_PRECISIONS == 3, "the pairs are those of three precisions");
  const bool many = dq_mix_has_many_units(&search->report->network);
  const int all = DQ_COUNT(others), each = many ? DQ_MIX_FEW_FORMS : all;
  dq_status status = DQ_OK;
  bool first = true;
  for (int end = many ? 0 : all; end <= all && status == DQ_OK; end += each, first = false) {
    pair_batch b = {.adds_last = first};
    for (int p = 0; p < UNIFORM - 1 && first; p++) b.pairs[b.count++] = p * (DQ_PRECISIONS + 1);
    for (int i = end < each ? 0 : end - each; i < end; i++) b.pairs[b.count++] = others[i];
    b.pairs[b.count++] = FLOAT32;
    status = time_pairs(search, &b);
    *once = b.forms[b.count - 1].seconds;
    for (int f = 0; f < b.count; f++) dq_mix_form_close(&b.forms[f]);
  }
  return status;
}

// Measures noises on the pictures of trials, on fewer of them where a run takes longer. Noises on other pictures would
// say less about the trials.
static dq_status measure_noises(dq_mix_search_state *search, double once) {
  static const double SLOWEST = 0.02;     // seconds of a run
  enum { SOME = 32, FEW = 8, TIMES = 4 }; // TIMES: that of the measurement of times
  DQ_TRY(dq_mix_open_evaluators(search));
  int64_t tried = search->report->tried;
  int64_t pictures = once > SLOW ? dq_min_i64(tried, once > SLOWEST ? FEW : SOME) : tried;
  int64_t *spread = DQ_NEW_ARRAY(search->arena, pictures, int64_t);
  dq_mix_noise_options noise = {.seconds_trials = TIMES * search->options->seconds};
  if (!spread) return dq_fail_memory(search->error, 0);
  for (int64_t i = 0; i < pictures; i++) spread[i] = i * tried / pictures;
  DQ_TRY(dq_data_view(&noise.data, search->turns, spread, pictures, search->error));
  dq_status status = dq_mix_noise_measure(&search->report->costs, &search->maker, &noise, search->context,
                                          search->arena, search->error);
  dq_data_free(noise.data);
  return status;
}

dq_status dq_mix_measure_costs(dq_mix_search_state *search) {
  double once = 0;
  DQ_TRY(dq_mix_costs_open(&search->report->costs, &search->report->network, search->arena, search->error));
  for (int i = 0; i < (once > SLOW ? PLACES / 2 : PLACES); i++) DQ_TRY(time_all_pairs(search, &once));
  return measure_noises(search, once);
}

// ---- The front ----

enum { LABELS = 60000, LABELS_WITH_BYTES = 6000 }; // with bytes each label is compared with all of its state

typedef struct chosen_front {
  dq_mix_front front;
  double *place; // by point: how far it is between the fastest and the one with least noise, 0 to 1
  int count;     // all points of the front
} chosen_front;

static dq_status find_choices(dq_mix_search_state *search, bool conversions, dq_mix_front *front, dq_error *error) {
  const bool bytes = search->options->most_bytes > 0;
  const dq_mix_table_options what = {conversions, bytes, search->report->no_float16};
  dq_mix_table table;
  DQ_TRY(dq_mix_costs_table(&search->report->costs, &what, search->of_front, &table, error));
  return dq_mix_front_find(front, &table, bytes ? LABELS_WITH_BYTES : LABELS, search->of_front, error);
}

// Where choices among three precisions are too many, those among float32 and int8, as float16 lies between the two.
static dq_status find_possible(dq_mix_search_state *search, bool conversions, dq_mix_front *front) {
  dq_error error;
  if (!search->report->no_float16) {
    dq_status status = find_choices(search, conversions, front, &error);
    if (status == DQ_OK) return DQ_OK;
    if (status != DQ_UNSUPPORTED) return dq_fail(search->error, status, "%s", error.message);
    search->report->no_float16 = true;
    dq_message(search->context, DQ_NOTE, "%s: points of the front have float32 and int8 only", error.message);
  }
  return find_choices(search, conversions, front, search->error);
}

// Finds a front and frees the one that was found before. The place of a point depends in equal parts on its time and on
// the decibels by which its loss is below the largest one; beyond 25 dB nothing is lost, so that all count as 25.
static dq_status find_front(dq_mix_search_state *search, bool conversions, chosen_front *chosen) {
  static const double RANGE = 25;
  dq_arena_free(search->of_front);
  if (!(search->of_front = dq_arena_beside(search->arena))) return dq_fail_memory(search->error, 0);
  DQ_TRY(find_possible(search, conversions, &chosen->front));
  const dq_mix_front *front = &chosen->front;
  search->report->exact_gap = (double)front->time_gap / DQ_MIX_TIME_PARTS;
  search->report->widest = front->widest;
  if (!(chosen->place = DQ_NEW_ARRAY(search->of_front, front->count, double))) return dq_fail_memory(search->error, 0);
  double first = (double)front->costs[0].time, times = (double)front->costs[front->count - 1].time - first;
  double most = fmax(1, (double)front->costs[0].loss);
  for (chosen->count = 0; chosen->count < front->count; chosen->count++) {
    const dq_mix_cost *cost = &front->costs[chosen->count];
    double decibels = fmin(RANGE, fmax(0, 10 * log10(most / fmax(1, (double)cost->loss))));
    chosen->place[chosen->count] = (decibels / RANGE + (times > 0 ? ((double)cost->time - first) / times : 0)) / 2;
  }
  return DQ_OK;
}

// Weights beside those of units with layers.
static int64_t other_bytes(const dq_mix_report *report) {
  for (int p = 0; p < report->count; p++)
    if (report->points[p].measured && report->points[p].choice)
      return report->points[p].bytes - report->points[p].predicted.bytes;
  return 0;
}

// The point at or behind a place that fits the bound on bytes; -1: none.
static int point_at(const dq_mix_search_state *search, const chosen_front *chosen, double place) {
  int64_t most = search->options->most_bytes;
  for (int i = 0; i < chosen->count; i++)
    if (chosen->place[i] >= place - 1e-12 &&
        (!most || chosen->front.costs[i].bytes + other_bytes(search->report) <= most))
      return i;
  return -1;
}

dq_status dq_mix_settle_noise(dq_mix_search_state *search) {
  enum { SWEEPS = 3 };
  int points = search->options->points;
  uint8_t choice[search->report->network.unit_count];
  for (int i = 0; i < SWEEPS * points; i++) {
    chosen_front chosen;
    if (i % points == 0) DQ_TRY(find_front(search, true, &chosen));
    // Other places in each sweep.
    int at = point_at(search, &chosen, (i % points + (double)(i / points) / SWEEPS) / points);
    if (at >= 0) dq_mix_front_choice(&chosen.front, at, choice);
    if (at >= 0) DQ_TRY(dq_mix_try(search, choice, NULL));
    dq_progress(search->context, "noise of choices", i + 1, SWEEPS * points);
    if (i % points == points - 1) DQ_TRY(dq_mix_correct(search));
  }
  return DQ_OK;
}

static dq_status add_found(dq_mix_search_state *search, const chosen_front *chosen, int at, int round) {
  uint8_t choice[search->report->network.unit_count];
  dq_mix_point *added;
  char name[32];
  int found = 0;
  for (int p = 0; p < search->report->count; p++) found += search->report->points[p].kind == DQ_MIX_FOUND;
  snprintf(name, sizeof name, "mix-%d", found + 1);
  dq_mix_front_choice(&chosen->front, at, choice);
  DQ_TRY(dq_mix_add_choice(search, name, DQ_MIX_FOUND, choice, &added));
  if (added) added->changed = round;
  return DQ_OK;
}

// Tries the points of a front; *corrected: a trial was new, and the costs are other ones now.
static dq_status try_front(dq_mix_search_state *search, const chosen_front *chosen, bool *corrected) {
  uint8_t choice[search->report->network.unit_count];
  int points = search->options->points;
  *corrected = false;
  for (int i = 0; i < points; i++) {
    int at = point_at(search, chosen, (double)i / points);
    if (at >= 0) dq_mix_front_choice(&chosen->front, at, choice);
    if (at < 0 || dq_mix_was_tried(search, choice)) continue;
    DQ_TRY(dq_mix_try(search, choice, NULL));
    *corrected = true;
    dq_progress(search->context, "trying", i + 1, points);
  }
  return *corrected ? dq_mix_correct(search) : DQ_OK;
}

dq_status dq_mix_run_round(dq_mix_search_state *search) {
  enum { FRONTS = 4 };
  int points = search->options->points, round = ++search->rounds;
  bool corrected = true;
  chosen_front chosen;
  for (int i = 0; i < FRONTS && corrected; i++) {
    DQ_TRY(find_front(search, true, &chosen));
    DQ_TRY(try_front(search, &chosen, &corrected));
  }
  for (int i = 0; i < points; i++) {
    int at = point_at(search, &chosen, (double)i / points);
    if (at >= 0) DQ_TRY(add_found(search, &chosen, at, round));
  }
  dq_message(search->context, DQ_DETAIL, "round %d: a front of %d choices, %d values open at most", round,
             chosen.front.count, chosen.front.widest);
  return dq_mix_measure_points(search);
}

// ---- Between points ----

static int slowest_failure(const dq_mix_report *report) {
  int found = -1;
  double answer = report->points[report->answer].seconds;
  for (int p = 0; p < report->count; p++) {
    const dq_mix_point *point = &report->points[p];
    if (point->within || !point->choice || point->seconds >= answer) continue;
    if (found < 0 || point->seconds > report->points[found].seconds) found = p;
  }
  return found;
}

// The fastest point of the front whose noise is at most this.
static int point_below(const dq_mix_search_state *search, const chosen_front *chosen, double noise) {
  uint8_t choice[search->report->network.unit_count];
  int low = 0, high = chosen->count - 1; // noise falls along the front
  while (low < high) {
    int middle = low + (high - low) / 2;
    dq_mix_front_choice(&chosen->front, middle, choice);
    if (dq_mix_predict(&search->report->costs, choice).noise <= noise) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The middle one of the choices of the front that lie between two times and whose noise was not measured; -1: none.
static int point_between(const dq_mix_search_state *search, const chosen_front *chosen, double low, double high) {
  uint8_t choice[search->report->network.unit_count];
  int count = 0, found = -1;
  for (int half = 0; half < 2; half++) { // counts them, then takes the middle one
    int left = count / 2;
    for (int i = 0; i < chosen->count && found < 0; i++) {
      dq_mix_front_choice(&chosen->front, i, choice);
      double seconds = dq_mix_predict(&search->report->costs, choice).seconds;
      if (seconds <= low || seconds >= high || dq_mix_was_tried(search, choice)) continue;
      if (!half) count++;
      else if (!left--) found = i;
    }
  }
  return found;
}

// What is found for the noise of the answer when conversions seem to take no time.
static dq_status add_blind(dq_mix_search_state *search) {
  const dq_mix_point *answer = &search->report->points[search->report->answer];
  uint8_t choice[search->report->network.unit_count];
  chosen_front chosen;
  if (!answer->choice) return DQ_OK;
  DQ_TRY(find_front(search, false, &chosen));
  double noise = dq_mix_predict(&search->report->costs, answer->choice).noise;
  dq_mix_front_choice(&chosen.front, point_below(search, &chosen, noise), choice);
  return dq_mix_add_choice(search, "blind", DQ_MIX_BLIND, choice, NULL);
}

// What dq-int8 --max-drop leaves in float. Points are found by their noise, of which the loss on a few hundred pictures
// is a rough function only; that search asks for the loss.
static dq_status add_greedy(dq_mix_search_state *search) {
  enum { TIMES = 4 }; // its time, over that of the measurement of times
  const dq_mix_options *options = search->options;
  dq_int8_options int8 = *options->int8;
  const dq_max_drop_options asked = {.drop = options->drop,
                                     .int8 = &int8,
                                     .data = options->data,
                                     .eval = options->eval ? options->eval : options->data,
                                     .accuracy = options->accuracy,
                                     .before = options->before,
                                     .time_limit = TIMES * options->seconds};
  dq_graph *made;
  dq_int8_report converted;
  dq_max_drop_report found;
  dq_precision_map *map = DQ_NEW(search->arena, dq_precision_map);
  if (!map) return dq_fail_memory(search->error, 0);
  if (!options->labelled) return DQ_OK;
  int8.start = &search->maker.whole.table;
  DQ_TRY(dq_max_drop_apply(&made, search->graph, &converted, &found, &asked, &search->quiet, search->error));
  dq_status status = DQ_OK;
  if (found.left) status = dq_int8_precision(&converted, search->graph, search->arena, map, search->error);
  for (int i = 0; i < map->count && status == DQ_OK; i++) { // names belong to what was made
    map->layers[i].layer = dq_arena_strdup(search->arena, map->layers[i].layer);
    if (!map->layers[i].layer) status = dq_fail_memory(search->error, 0);
  }
  dq_graph_free(made);
  return status == DQ_OK && found.left ? dq_mix_add_named(search, &(dq_mix_named){"greedy", map}) : status;
}

dq_status dq_mix_refine(dq_mix_search_state *search) {
  enum { TRIES = 4 };
  dq_mix_report *report = search->report;
  DQ_TRY(add_blind(search));
  DQ_TRY(add_greedy(search));
  DQ_TRY(dq_mix_measure_points(search));
  if (report->noisy) return DQ_OK;
  dq_mix_rank(search);
  for (int i = 0; i < TRIES && report->held && !search->options->most_bytes; i++) {
    int failure = slowest_failure(report), count = report->count;
    const dq_mix_point *answer = &report->points[report->answer];
    chosen_front chosen;
    if (failure < 0 || !answer->choice) return DQ_OK;
    DQ_TRY(find_front(search, true, &chosen));
    double low = dq_mix_predict(&report->costs, report->points[failure].choice).seconds;
    int at = point_between(search, &chosen, low, dq_mix_predict(&report->costs, answer->choice).seconds);
    if (at < 0) return DQ_OK;
    DQ_TRY(add_found(search, &chosen, at, search->rounds));
    if (report->count == count) return DQ_OK;
    DQ_TRY(dq_mix_measure_points(search));
    if (report->noisy) return DQ_OK;
    dq_mix_rank(search);
  }
  return DQ_OK;
}
