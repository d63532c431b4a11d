// Points: forms of the network that are measured as a whole.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/onnx/onnx.h"
#include "lib/tune/tune.h"
#include "quant/mix/mix_internal.h"
#include "quant/mix/mix_noise.h"
#include "quant/search/agreement.h"

static const double ROUNDING = 1e-9; // of percentages

// ---- Adding ----

// Precisions of all layers in the order of units, by a map, in the arena; NULL: there is no memory. Layers that are not
// named are quantized.
static const uint8_t *layers_of(const dq_mix_search_state *search, const dq_precision_map *map) {
  const dq_mix_network *network = &search->report->network;
  uint8_t *layers = DQ_NEW_ARRAY(search->arena, network->graph->node_count, uint8_t), *to = layers;
  dq_name_list names;
  if (!layers || !dq_name_list_new(&names, map->count, search->arena)) return NULL;
  for (int i = 0; i < map->count; i++) dq_name_list_add(&names, map->layers[i].layer, i);
  dq_name_list_sort(&names);
  for (int u = 0; u < network->unit_count; u++)
    for (int l = 0; l < network->units[u].layer_count; l++) {
      int found = dq_name_list_find(&names, network->units[u].layers[l]);
      *to++ = (uint8_t)(found < 0 ? DQ_PRECISION_INT8 : map->layers[found].precision);
    }
  return layers;
}

static bool are_same(const dq_mix_search_state *search, const uint8_t *a, const uint8_t *b) {
  return !memcmp(a, b, (size_t)search->report->network.graph->node_count);
}

static dq_status add_point(dq_mix_search_state *search, const dq_mix_point *point, dq_mix_point **added) {
  dq_mix_report *report = search->report;
  for (int i = 0; i < report->count; i++)
    if (are_same(search, report->points[i].layers, point->layers)) return DQ_OK;
  if (report->count == report->capacity) {
    int capacity = 2 * report->capacity + 32;
    dq_mix_point *points = DQ_NEW_ARRAY(search->arena, capacity, dq_mix_point);
    if (!points) return dq_fail_memory(search->error, 0);
    if (report->count) memcpy(points, report->points, (size_t)report->count * sizeof *points);
    report->points = points;
    report->capacity = capacity;
  }
  report->points[report->count++] = *point;
  if (added) *added = &report->points[report->count - 1];
  return DQ_OK;
}

dq_status dq_mix_add_choice(dq_mix_search_state *search, const char *name, dq_mix_kind kind, const uint8_t *choice,
                            dq_mix_point **added) {
  dq_mix_report *report = search->report;
  dq_mix_point point = {.kind = kind, .name = dq_arena_strdup(search->arena, name)};
  if (added) *added = NULL;
  point.choice = dq_arena_copy(search->arena, choice, (size_t)report->network.unit_count);
  if (!point.choice || !point.name) return dq_fail_memory(search->error, 0);
  point.predicted = dq_mix_predict(&report->costs, choice);
  DQ_TRY(dq_mix_map(&report->network, choice, search->arena, &point.map, search->error));
  if (!(point.layers = layers_of(search, &point.map))) return dq_fail_memory(search->error, 0);
  return add_point(search, &point, added);
}

// The choice of layers (layers_of) that have one precision in each unit; NULL: there is none.
static uint8_t *choice_of(const dq_mix_search_state *search, const uint8_t *layers) {
  const dq_mix_network *network = &search->report->network;
  uint8_t *choice = DQ_NEW_ARRAY(search->arena, network->unit_count, uint8_t);
  for (int u = 0; choice && u < network->unit_count; layers += network->units[u++].layer_count) {
    choice[u] = network->units[u].layer_count ? layers[0] : (uint8_t)DQ_PRECISION_FP32;
    for (int l = 1; l < network->units[u].layer_count; l++)
      if (layers[l] != choice[u]) return NULL;
  }
  return choice;
}

dq_status dq_mix_add_map(dq_mix_search_state *search, const dq_mix_named *named, dq_mix_point **added) {
  dq_mix_point point = {.kind = DQ_MIX_NAMED,
                        .name = dq_arena_strdup(search->arena, named->name),
                        .map = *named->map,
                        .layers = layers_of(search, named->map)};
  if (added) *added = NULL;
  if (!point.name || !point.layers) return dq_fail_memory(search->error, 0);
  point.choice = choice_of(search, point.layers);
  if (point.choice) point.predicted = dq_mix_predict(&search->report->costs, point.choice);
  return add_point(search, &point, added);
}

dq_status dq_mix_add_named(dq_mix_search_state *search, const dq_mix_named *named) {
  const uint8_t *layers = layers_of(search, named->map);
  if (!layers) return dq_fail_memory(search->error, 0);
  for (int i = 0; i < search->report->count; i++) {
    dq_mix_point *other = &search->report->points[i];
    if (!are_same(search, other->layers, layers)) continue;
    if (strstr(other->name, named->name)) return DQ_OK; // known from the cache
    other->name = dq_arena_printf(search->arena, "%s, %s", other->name, named->name);
    return other->name ? DQ_OK : dq_fail_memory(search->error, 0);
  }
  return dq_mix_add_map(search, named, NULL);
}

// ---- Measuring ----

static dq_status judge(dq_mix_search_state *search, dq_mix_point *point, const dq_graph *form) {
  const dq_mix_options *options = search->options;
  dq_evaluator_options judged = search->other.options;
  if (!point->choice) DQ_TRY(dq_mix_noise_of(&search->trial, form, &point->noise, search->arena, search->error));
  DQ_TRY(dq_mix_noise_of(&search->other, form, &point->other_noise, search->arena, search->error));
  if (options->labelled)
    DQ_TRY(dq_accuracy_run(&point->figures, form, options->eval ? options->eval : options->data, &options->accuracy,
                           &search->quiet, search->error));
  else DQ_TRY(dq_agreement_run(&point->figures, form, &judged, &search->quiet, search->error));
  point->drop = dq_accuracy_drop(options->before, &point->figures);
  point->bytes = dq_constant_bytes(form);
  return DQ_OK;
}

static bool is_within(const dq_mix_search_state *search, const dq_mix_point *point) {
  const dq_mix_options *options = search->options;
  return point->drop <= options->drop + ROUNDING &&
         (options->most_seconds <= 0 || point->seconds <= options->most_seconds) &&
         (options->most_bytes <= 0 || point->bytes <= options->most_bytes);
}

bool dq_mix_is_sure(const dq_mix_report *report, const dq_mix_point *point, double drop) {
  for (int p = 0; p < report->count; p++)
    if (report->points[p].noise <= point->noise && fabs(report->points[p].drop) > drop + ROUNDING) return false;
  return true;
}

static bool holds(const dq_mix_search_state *search, const dq_mix_point *point) {
  const dq_mix_options *options = search->options;
  return is_within(search, point) && (!options->cautious || dq_mix_is_sure(search->report, point, options->drop));
}

// Reports a measured point, and gives it to the caller when it is the best so far.
static dq_status report_point(dq_mix_search_state *search, const dq_mix_point *point, const dq_graph *form) {
  const dq_mix_options *options = search->options;
  dq_message(search->context, DQ_DETAIL,
             "%s: %.4f ms, predicted %.4f; noise %.2f dB, before its trial %.2f, on other pictures %.2f; %.4g points "
             "lost",
             point->name, 1e3 * point->seconds, 1e3 * point->predicted.seconds, 10 * log10(point->noise),
             10 * log10(point->foreseen), 10 * log10(point->other_noise), point->drop);
  if (!holds(search, point) || !options->on_better) return DQ_OK;
  if (search->best_seconds > 0 && point->seconds >= search->best_seconds) return DQ_OK;
  search->best_seconds = point->seconds;
  return options->on_better(options->user, form, &point->map, search->error);
}

// Points that are not measured, and in front of them the network in float32 twice.
enum { CONTROLS = 2 };

typedef struct batch {
  dq_mix_form *forms;    // [CONTROLS + count]
  dq_mix_point **points; // [count]
  int count;
  double *float32; // [rounds]: seconds of the network in float32
  double seconds;  // their median
} batch;

static void close_forms(batch *b) {
  for (int f = 0; f < CONTROLS + b->count; f++) dq_mix_form_close(&b->forms[f]);
}

static dq_status open_forms(dq_mix_search_state *search, batch *b) {
  dq_precision_map map;
  const dq_mix_network *network = &search->report->network;
  const dq_shape_request *shapes = &search->options->int8->shapes;
  uint8_t choice[network->unit_count];
  dq_mix_alternate(network, DQ_PRECISION_FP32, DQ_PRECISION_FP32, choice);
  DQ_TRY(dq_mix_map(network, choice, search->arena, &map, search->error));
  for (int f = 0; f < CONTROLS; f++)
    DQ_TRY(dq_mix_form_open(&b->forms[f], &search->maker, &map, shapes, search->error));
  for (int p = 0; p < b->count; p++) {
    b->forms[CONTROLS + p].choice = b->points[p]->choice;
    DQ_TRY(dq_mix_form_open(&b->forms[CONTROLS + p], &search->maker, &b->points[p]->map, shapes, search->error));
  }
  return DQ_OK;
}

// Rounds that take about `seconds` together.
static int64_t rounds_for(double seconds, double once, int64_t least, int64_t most) {
  double rounds = seconds / once;
  return rounds < (double)least ? least : rounds > (double)most ? most : (int64_t)rounds;
}

static dq_status run_forms(dq_mix_search_state *search, batch *b, dq_mix_rounds *rounds) {
  static const double PART = 0.2, STEP_PART = 0.05; // of the time, of each of three batches
  double seconds = search->options->seconds;
  const dq_mix_rounds once = {.rounds = 1};
  double all = 0;
  int count = CONTROLS + b->count;
  DQ_TRY(dq_mix_form_run(b->forms, count, &once, search->context, search->arena, search->error));
  for (int f = 0; f < count; f++) all += 2 * b->forms[f].seconds; // a run that counts, and the one before it
  *rounds = (dq_mix_rounds){rounds_for(PART * seconds, all, 15, 301), rounds_for(STEP_PART * seconds, all, 7, 51)};
  return dq_mix_form_run(b->forms, count, rounds, search->context, search->arena, search->error);
}

// The network in float32 in each round: the mean of both, as two equal plans may differ by where their memory lies.
static dq_status find_reference(dq_mix_search_state *search, batch *b, const dq_mix_rounds *rounds) {
  dq_mix_report *report = search->report;
  const dq_mix_form *first = &b->forms[0], *second = &b->forms[1];
  if (!(b->float32 = DQ_NEW_ARRAY(search->arena, rounds->rounds, double))) return dq_fail_memory(search->error, 0);
  for (int64_t r = 0; r < rounds->rounds; r++) b->float32[r] = (first->runs[r] + second->runs[r]) / 2;
  b->seconds = (first->seconds + second->seconds) / 2;
  DQ_TRY(dq_time_ratio_of(&report->control, second->runs, first->runs, rounds->rounds, search->error));
  report->noisy = report->control.low < 1 - DQ_MIX_NOISE || report->control.high > 1 + DQ_MIX_NOISE;
  return DQ_OK;
}

static dq_status time_point(dq_mix_search_state *search, batch *b, int p, const dq_mix_rounds *rounds) {
  dq_mix_costs *costs = &search->report->costs;
  dq_mix_form *form = &b->forms[CONTROLS + p];
  dq_mix_point *point = b->points[p];
  DQ_TRY(dq_time_ratio_of(&point->ratio, form->runs, b->float32, rounds->rounds, search->error));
  point->seconds = point->ratio.median * costs->float32;
  bool learns = form->choice && !point->measured;
  return learns ? dq_mix_costs_add_times(costs, form, b->seconds, search->arena, search->error) : DQ_OK;
}

// Runs the forms, which are opened anew, so that their memory lies elsewhere, where two equal ones differ by more than
// dq-tune allows.
static dq_status time_batch(dq_mix_search_state *search, batch *b) {
  enum { TRIES = 4 };
  dq_mix_rounds rounds;
  bool apart = true;
  for (int i = 0; i < TRIES && apart; i++) {
    close_forms(b);
    DQ_TRY(open_forms(search, b));
    DQ_TRY(run_forms(search, b, &rounds));
    DQ_TRY(find_reference(search, b, &rounds));
    apart = dq_tune_too_noisy(&search->report->control);
  }
  for (int p = 0; p < b->count && !search->report->noisy; p++) DQ_TRY(time_point(search, b, p, &rounds));
  return DQ_OK;
}

static dq_status judge_batch(dq_mix_search_state *search, batch *b) {
  for (int p = 0; p < b->count; p++) {
    dq_mix_point *point = b->points[p];
    const dq_graph *form = b->forms[CONTROLS + p].graph;
    DQ_TRY(judge(search, point, form));
    point->measured = true;
    DQ_TRY(report_point(search, point, form));
    dq_progress(search->context, "judging", p + 1, b->count);
  }
  return DQ_OK;
}

static dq_status try_batch(dq_mix_search_state *search, batch *b) {
  dq_mix_observation tried;
  for (int p = 0; p < b->count; p++) {
    dq_mix_point *point = b->points[p];
    if (!point->choice) continue;
    DQ_TRY(dq_mix_try(search, point->choice, &tried));
    point->noise = tried.noise, point->foreseen = tried.before;
    if (point == search->report->points) search->report->costs.other_noise = point->noise; // all in float32
    dq_progress(search->context, "trying", p + 1, b->count);
  }
  return DQ_OK;
}

// Times and judges the points, a few at a time where the network has many units.
static dq_status measure_batch(dq_mix_search_state *search, const batch *all) {
  const int each = dq_mix_has_many_units(&search->report->network) ? DQ_MIX_FEW_FORMS : all->count;
  dq_status status = DQ_OK;
  for (int done = 0; done < all->count && status == DQ_OK && !search->report->noisy; done += each) {
    const int left = all->count - done;
    batch some = {.forms = all->forms, .points = all->points + done, .count = left < each ? left : each};
    status = time_batch(search, &some);
    if (status == DQ_OK && !search->report->noisy) status = judge_batch(search, &some);
    close_forms(&some);
  }
  return status;
}

dq_status dq_mix_measure_points(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  batch b = {.forms = DQ_NEW_ARRAY(search->arena, report->count + CONTROLS, dq_mix_form),
             .points = DQ_NEW_ARRAY(search->arena, report->count, dq_mix_point *)};
  if (!b.forms || !b.points) return dq_fail_memory(search->error, 0);
  for (int p = 0; p < report->count; p++)
    if (!report->points[p].measured) b.points[b.count++] = &report->points[p];
  if (!b.count) return DQ_OK;
  DQ_TRY(dq_mix_open_evaluators(search));
  DQ_TRY(try_batch(search, &b));
  DQ_TRY(measure_batch(search, &b));
  return report->noisy ? DQ_OK : dq_mix_correct(search);
}

// ---- Confirming ----

enum { FINALISTS = 6, MEASUREMENTS = 3 };

// Points within the bounds that take little more time than the answer, the fastest first.
static int list_finalists(const dq_mix_report *report, dq_mix_point *finalists[FINALISTS]) {
  static const double LITTLE = 1.1;
  const int most_points = dq_mix_has_many_units(&report->network) ? DQ_MIX_FEW_FORMS : FINALISTS;
  const double most = report->points[report->answer].seconds * LITTLE;
  int count = 0;
  for (int p = 0; p < report->count; p++) {
    dq_mix_point *point = &report->points[p];
    int at = count;
    if (!point->within || point->seconds > most) continue;
    while (at > 0 && finalists[at - 1]->seconds > point->seconds) at--;
    if (at == most_points) continue;
    if (count < most_points) count++;
    memmove(finalists + at + 1, finalists + at, (size_t)(count - at - 1) * sizeof *finalists);
    finalists[at] = point;
  }
  return count;
}

static int by_median(const void *a, const void *b) {
  double left = ((const dq_time_ratio *)a)->median, right = ((const dq_time_ratio *)b)->median;
  return (left > right) - (left < right);
}

dq_status dq_mix_confirm(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  dq_mix_form forms[CONTROLS + FINALISTS] = {{0}};
  dq_mix_point *finalists[FINALISTS];
  dq_time_ratio ratios[FINALISTS][MEASUREMENTS];
  batch b = {.forms = forms, .points = finalists, .count = report->held ? list_finalists(report, finalists) : 0};
  dq_status status = DQ_OK;
  if (b.count < 2) return DQ_OK;
  for (int m = 0; status == DQ_OK && !report->noisy && m < MEASUREMENTS; m++) {
    status = time_batch(search, &b);
    for (int p = 0; p < b.count; p++) ratios[p][m] = finalists[p]->ratio;
    dq_progress(search->context, "confirming", m + 1, MEASUREMENTS);
  }
  close_forms(&b);
  for (int p = 0; status == DQ_OK && !report->noisy && p < b.count; p++) {
    qsort(ratios[p], MEASUREMENTS, sizeof *ratios[p], by_median);
    finalists[p]->ratio = ratios[p][MEASUREMENTS / 2];
    finalists[p]->seconds = finalists[p]->ratio.median * report->costs.float32;
  }
  return status;
}

// ---- Ranking ----

static bool is_worse(const dq_mix_point *a, const dq_mix_point *b) {
  bool as_good = b->seconds <= a->seconds && b->noise <= a->noise && b->bytes <= a->bytes;
  return as_good && (b->seconds < a->seconds || b->noise < a->noise || b->bytes < a->bytes);
}

// Whether `a` is better than `b`: a point within the bounds is better than another one; of two within them the faster
// one is, of two others the one that loses less.
static bool is_better(const dq_mix_point *a, const dq_mix_point *b) {
  if (a->within != b->within) return a->within;
  if (a->within) return a->seconds < b->seconds;
  return a->drop < b->drop || (!(a->drop > b->drop) && a->seconds < b->seconds);
}

static void raise_to(double *largest, double value) {
  if (value > *largest) *largest = value;
}

static void find_errors(dq_mix_report *report) {
  report->largest_time_error = report->largest_noise_error = 0;
  for (int p = 0; p < report->count; p++) {
    const dq_mix_point *point = &report->points[p];
    raise_to(&report->largest_noise_error, dq_mix_noise_error(point));
    if (point->kind != DQ_MIX_FOUND || !point->measured) continue;
    raise_to(&report->largest_time_error, fabs(point->predicted.seconds / point->seconds - 1));
  }
}

void dq_mix_rank(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  report->answer = 0;
  for (int p = 0; p < report->count; p++) {
    dq_mix_point *point = &report->points[p];
    point->within = holds(search, point);
    point->best = true;
    for (int q = 0; q < report->count; q++) point->best &= !is_worse(point, &report->points[q]);
    if (p && is_better(point, &report->points[report->answer])) report->answer = p;
  }
  dq_mix_predict_noises(search);
  find_errors(report);
  report->held = report->count && report->points[report->answer].within;
}
