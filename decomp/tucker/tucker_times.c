#include "decomp/tucker/tucker_times.h"

#include <string.h>
#include <sys/stat.h>

static const int64_t MOST_BYTES = (int64_t)1 << 28; // of two more models in memory
enum { ROUNDS = 32, WARM_UP = 3 };
static const double LONGEST = 1; // seconds for all rounds but the first

const char *dq_tucker_unchanged(const dq_tucker_report *report) {
  if (!report->count) return "the model has no convolution";
  for (int i = 1; i < report->count; i++)
    if (strcmp(report->layers[i].reason, report->layers[0].reason))
      return "the column 'left alone' has the reason of each layer";
  return report->layers[0].reason;
}

bool dq_tucker_has_times(const dq_tucker_report *report) {
  for (int i = 0; i < report->count; i++)
    if (report->layers[i].time_before > 0) return true;
  return false;
}

static int64_t bytes_of(const char *path) {
  struct stat info;
  return stat(path, &info) ? INT64_MAX / 2 : info.st_size;
}

static dq_status time_both(dq_tucker_times *times, const dq_bench_subject files[2], const dq_shape_request *shapes,
                           const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_bench_options options = {.turns = {.rounds = ROUNDS, .warmup = WARM_UP, .time_limit = LONGEST}};
  dq_bench_model models[2] = {0};
  dq_spread spreads[2];
  dq_blocks made;
  if (shapes) options.shapes = *shapes;
  dq_status status = dq_bench_run(models, files, 2, &options, &made, context, arena, error);
  for (int i = 0; status == DQ_OK && i < 2; i++)
    status = dq_spread_of(&spreads[i], models[i].times, made.rounds, error);
  if (status == DQ_OK) status = dq_block_ratio_of(&times->ratio, models[1].least, models[0].least, made.count, error);
  dq_bench_close(models, 2);
  DQ_TRY(status);
  times->before = spreads[0].median, times->after = spreads[1].median;
  return DQ_OK;
}

dq_status dq_tucker_time_files(dq_tucker_times *times, const dq_tucker_report *report, const char *before,
                               const char *after, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error) {
  const dq_bench_subject files[] = {{.path = before}, {.path = after}};
  bool named = strcmp(before, "-") != 0 && strcmp(after, "-") != 0;
  *times = (dq_tucker_times){0};
  if (!named || !report->decomposed || !dq_tucker_has_times(report)) return DQ_OK;
  if (bytes_of(before) + bytes_of(after) > MOST_BYTES) return DQ_OK;
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? time_both(times, files, shapes, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  DQ_TRY(status);
  if (times->ratio.low > 1 && times->ratio.level >= DQ_BLOCK_LEVEL)
    dq_message(context, DQ_WARNING, "the whole model became slower: it takes %.2f times as long", times->ratio.median);
  return DQ_OK;
}
