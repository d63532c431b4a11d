// The engine, failures, and structs that grow.
#include <stdlib.h>
#include <string.h>

#include "lib/api/api_internal.h"
#include "version.h"

_Static_assert(DQ_CODE_CONDITION == (int)DQ_CONDITION && DQ_CODE_USAGE == (int)DQ_USAGE &&
                   DQ_CODE_BAD_INPUT == (int)DQ_BAD_INPUT && DQ_CODE_UNSUPPORTED == (int)DQ_UNSUPPORTED &&
                   DQ_CODE_SYSTEM == (int)DQ_SYSTEM && DQ_CODE_CANCELLED == (int)DQ_CANCELLED,
               "codes are statuses");
_Static_assert(DQ_NOTICE_WARNING == (int)DQ_WARNING && DQ_NOTICE_DETAIL == (int)DQ_DETAIL, "notices are severities");

const char *dq_version(void) { return DQ_VERSION; }

// ---- Shared by all functions ----

dq_status dq_api_read_options(void *to, size_t size, const void *options, dq_error *error) {
  if (!options) return DQ_OK;
  size_t given;
  memcpy(&given, options, sizeof given);
  if (given < sizeof given || given > 65536)
    return dq_fail(error, DQ_USAGE, "the size of the options is %zu bytes; set them by their _defaults function first",
                   given);
  for (size_t i = size; i < given; i++)
    if (((const char *)options)[i])
      return dq_fail(error, DQ_USAGE, "the options have fields of a later version of the library than %s", DQ_VERSION);
  memcpy(to, options, given < size ? given : size);
  return DQ_OK;
}

dq_status dq_api_check_facts(const void *facts, dq_error *error) {
  if (!facts) return DQ_OK;
  size_t given;
  memcpy(&given, facts, sizeof given);
  if (given >= sizeof given && given <= 65536) return DQ_OK;
  return dq_fail(error, DQ_USAGE,
                 "the size of the results is %zu bytes; set their field 'size' to the size of the struct first", given);
}

void dq_api_copy_results(void *to, const void *facts, size_t size) {
  if (!to) return;
  size_t given;
  memcpy(&given, to, sizeof given);
  if (given < sizeof given) return;
  memset(to, 0, given);
  memcpy(to, facts, given < size ? given : size);
  memcpy(to, &given, sizeof given);
}

void dq_api_set_defaults(void *options, size_t given, const void *defaults, size_t size) {
  if (!options || given < sizeof given) return;
  memcpy(options, &given, sizeof given);
  dq_api_copy_results(options, defaults, size);
}

int dq_api_count(const char *const *names) {
  int count = 0;
  while (names && names[count]) count++;
  return count;
}

dq_status dq_api_shapes(const char *const *texts, const dq_graph *const *graphs, int graph_count, int64_t batch,
                        dq_arena *arena, dq_shape_request *request, dq_error *error) {
  *request = (dq_shape_request){.batch = batch};
  return dq_input_shapes_read(request, texts, dq_api_count(texts), graphs, graph_count, arena, error);
}

// ---- Engine ----

static void pass_message(void *user, dq_severity severity, const char *text) {
  const dq_engine *engine = user;
  const locale_t inner = dq_api_callback_begin();
  engine->message(engine->user, (dq_notice)severity, text);
  dq_api_callback_end(inner);
}

static void pass_progress(void *user, const char *what, int64_t done, int64_t total) {
  const dq_engine *engine = user;
  const locale_t inner = dq_api_callback_begin();
  engine->progress(engine->user, what, done, total);
  dq_api_callback_end(inner);
}

void dq_engine_defaults(dq_engine_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_engine_options){0}, sizeof *options);
}

static void open_wisdom(dq_engine *engine, const char *path) {
  dq_error error = {0};
  if (path && !*path) return;
  if (dq_wisdom_open_here(&engine->wisdom, path, &engine->context, &error) != DQ_OK)
    dq_message(&engine->context, DQ_WARNING, "%s; every step is computed as usual", error.message);
  engine->context.wisdom = engine->wisdom;
}

static dq_status open_engine(dq_engine *engine, const dq_engine_options *options, dq_error *error) {
  dq_engine_options settings = {0};
  unsigned mask;
  DQ_TRY(dq_api_read_options(&settings, sizeof settings, options, error));
  if (settings.threads < 0 || settings.threads > 1024)
    return dq_fail(error, DQ_USAGE, "threads is %d, expected 0 to 1024", settings.threads);
  DQ_TRY(dq_cpu_mask_parse(settings.instructions ? settings.instructions : "native", &mask, error));
  int threads = settings.threads ? settings.threads : dq_processors();
  DQ_TRY(dq_context_init(&engine->context, threads, mask, error));
  engine->budget.limit = settings.memory < SIZE_MAX ? (size_t)settings.memory : SIZE_MAX;
  engine->context.budget = &engine->budget;
  engine->context.seed = settings.seed;
  engine->context.stop = &engine->stop;
  engine->context.user = engine;
  engine->message = settings.message;
  engine->progress = settings.progress;
  engine->user = settings.user;
  if (engine->message) engine->context.message = pass_message;
  if (engine->progress) engine->context.progress = pass_progress;
  open_wisdom(engine, settings.wisdom);
  return DQ_OK;
}

dq_code dq_engine_open(dq_engine **engine, const dq_engine_options *options, dq_failure *failure) {
  dq_call call;
  dq_engine *made = NULL;
  dq_status status = DQ_ENTER(&call, {"engine", engine});
  if (engine) *engine = NULL;
  if (status == DQ_OK && !(made = calloc(1, sizeof *made))) status = dq_fail_memory(&call.error, sizeof *made);
  if (status == DQ_OK) status = open_engine(made, options, &call.error);
  if (status == DQ_OK) *engine = made;
  else free(made);
  return dq_api_leave(&call, status, failure);
}

void dq_engine_close(dq_engine *engine) {
  if (!engine) return;
  dq_wisdom_free(engine->wisdom);
  dq_context_deinit(&engine->context);
  free(engine);
}

void dq_engine_stop(dq_engine *engine, int stop) {
  if (engine) atomic_store(&engine->stop, stop != 0);
}
