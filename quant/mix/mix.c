#include "quant/mix/mix.h"

#include <stdio.h>
#include <string.h>

#include "lib/render/text.h"
#include "quant/int8/stages.h"
#include "quant/mix/mix_internal.h"

enum { ROUNDS = 2, COMPLETE }; // COMPLETE: points between those of the rounds were measured too

// A copy in which bytes that are not UTF-8, which JSON refuses, are U+FFFD; NULL: there is no memory.
static char *mended_name(const char *name, size_t length, dq_arena *arena) {
  static const char REPLACEMENT[] = "\xef\xbf\xbd";
  char *text = dq_arena_strndup(arena, name, length), *mended = dq_arena_alloc(arena, 3 * length + 1);
  int32_t code;
  if (!text || !mended) return NULL;
  for (char *to = mended; *text;) {
    int bytes = dq_utf8_next(text, &code), written = code < 0 ? (int)sizeof REPLACEMENT - 1 : bytes;
    memcpy(to, code < 0 ? REPLACEMENT : text, (size_t)written);
    to += written, text += bytes;
  }
  return mended;
}

dq_status dq_mix_named_read(dq_mix_named *named, const char *text, const dq_graph *graph, dq_arena *arena,
                            dq_error *error) {
  const char *equals = strchr(text, '=');
  dq_precision_map *map = DQ_NEW(arena, dq_precision_map);
  if (!equals || equals == text || !equals[1])
    return dq_fail(error, DQ_USAGE, "'%.100s' is no NAME=FILE with precisions to measure as well", text);
  *named = (dq_mix_named){mended_name(text, (size_t)(equals - text), arena), map};
  if (!map || !named->name) return dq_fail_memory(error, 0);
  return dq_precision_load(map, equals + 1, graph, arena, error);
}

// The network with all layers in 8 bits, whose decisions and ranges all forms have.
static dq_status open_maker(dq_mix_search_state *search) {
  const dq_mix_options *options = search->options;
  bool found;
  search->maker = (dq_mix_maker){.graph = search->graph,
                                 .data = options->data,
                                 .int8 = options->int8,
                                 .context = &search->quiet,
                                 .arena = search->arena};
  if (dq_int8_is_quantized(search->graph))
    return dq_fail(search->error, DQ_UNSUPPORTED, "the model is quantized already, expected a float32 model");
  if (!(search->whole = dq_graph_copy(search->graph))) return dq_fail_memory(search->error, 0);
  DQ_TRY(dq_mix_cache_load_table(search, &found));
  dq_int8_options whole = *options->int8;
  dq_calibration_table table = search->maker.whole.table;
  if (found) whole.start = &table;
  whole.unjudged = true;
  DQ_TRY(dq_int8_apply(search->whole, options->data, &whole, &search->maker.whole, search->context, search->error));
  if (!search->maker.whole.quantized)
    return dq_fail(search->error, DQ_UNSUPPORTED, "no layer can be quantized, so that there is nothing to choose");
  search->own = search->maker.whole.table;
  if (found) search->maker.whole.table = table; // which has the ranges of other forms as well
  return DQ_OK;
}

static dq_status add_uniform(dq_mix_search_state *search) {
  uint8_t choice[search->report->network.unit_count];
  for (int p = DQ_PRECISIONS - 1; p >= 0; p--) {
    char name[32];
    snprintf(name, sizeof name, "%s_all", dq_precision_name((dq_precision)p));
    dq_mix_alternate(&search->report->network, (dq_precision)p, (dq_precision)p, choice);
    DQ_TRY(dq_mix_add_choice(search, name, DQ_MIX_UNIFORM, choice, NULL));
  }
  for (int n = 0; n < search->options->named_count; n++) DQ_TRY(dq_mix_add_named(search, &search->options->named[n]));
  return DQ_OK;
}

static dq_status save(dq_mix_search_state *search) { return search->report->noisy ? DQ_OK : dq_mix_cache_save(search); }

static dq_status course(dq_mix_search_state *search) {
  dq_mix_report *report = search->report;
  DQ_TRY(open_maker(search));
  DQ_TRY(dq_mix_network_open(&report->network, search->graph, &search->maker.whole, &search->options->int8->shapes,
                             &search->quiet, search->arena, search->error));
  DQ_TRY(dq_mix_cache_load(search));
  report->resumed = search->rounds == COMPLETE;
  if (!search->has_costs) DQ_TRY(dq_mix_measure_costs(search));
  DQ_TRY(save(search));
  DQ_TRY(add_uniform(search));
  DQ_TRY(dq_mix_measure_points(search));
  DQ_TRY(save(search));
  if (!search->rounds && !report->noisy) DQ_TRY(dq_mix_settle_noise(search));
  while (search->rounds < ROUNDS && !report->noisy) {
    DQ_TRY(dq_mix_run_round(search));
    DQ_TRY(save(search));
  }
  if (report->noisy) return DQ_OK;
  dq_mix_rank(search);
  if (report->resumed) return DQ_OK;
  DQ_TRY(dq_mix_refine(search));
  if (!report->noisy) DQ_TRY(dq_mix_confirm(search));
  if (report->noisy) return DQ_OK;
  dq_mix_rank(search);
  search->rounds = COMPLETE;
  return save(search);
}

dq_status dq_mix_search(dq_graph **answer, const dq_graph *graph, dq_mix_report *report, const dq_mix_options *options,
                        const dq_context *context, dq_arena *arena, dq_error *error) {
  *report = (dq_mix_report){0};
  *answer = NULL;
  dq_mix_search_state search = {.graph = graph,
                                .options = options,
                                .context = context,
                                .quiet = *context,
                                .report = report,
                                .arena = arena,
                                .error = error};
  search.quiet.message = NULL, search.quiet.progress = NULL;
  dq_status status = course(&search);
  // The answer has the ranges that dq-int8 measures for the same precisions; those that another form measured may
  // differ in the last digits.
  search.maker.whole.table = search.own;
  if (status == DQ_OK && !report->noisy)
    status = dq_mix_make(&search.maker, &report->points[report->answer].map, answer, &report->int8, error);
  dq_evaluator_close(&search.trial);
  dq_evaluator_close(&search.other);
  dq_arena_free(search.of_front);
  dq_data_free(search.turns);
  dq_graph_free(search.whole);
  return status;
}
