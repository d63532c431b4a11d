#include "cmd/shared/same_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "cmd/shared/data.h"
#include "lib/base/file.h"
#include "lib/base/order.h"
#include "lib/base/sizes.h"
#include "lib/document/origin.h"
#include "version.h"

// ---- One thing ----

enum { SHOWN = 100 };

typedef struct claim {
  char shown[SHOWN];
  uint64_t hash;
} claim;

// The first thing of this process that differs from that of process 0.
typedef struct comparison {
  const dq_processes *processes;
  const dq_common_options *common;
  const dq_context *context; // silent; of the comparison of inputs
  dq_graph *model;           // the first operand
  dq_status status;
  dq_error error;
} comparison;

static uint64_t hash_text(const char *text) { return XXH64(text, strlen(text), 0); }

// All processes call it for the same things in the same order.
static void compare(comparison *c, dq_status failure, const char *name, const char *shown, uint64_t hash) {
  claim mine = {.hash = hash}, first;
  snprintf(mine.shown, SHOWN, "%s", shown);
  first = mine;
  dq_processes_share(c->processes, &first, sizeof first);
  if (first.hash == mine.hash || c->status != DQ_OK) return;
  c->status = dq_fail(&c->error, failure, "%s is %s, on process 0 it is %s", name, mine.shown, first.shown);
  dq_error_hint(&c->error,
                "the processes of a job need the same options, models and pictures; only the places of files "
                "may differ");
}

static void compare_number(comparison *c, dq_status failure, const char *name, int64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, number);
  compare(c, failure, name, text, hash_text(text));
}

// What all processes have found so far.
static dq_status settle(comparison *c, dq_error *error) {
  dq_status status = dq_processes_agree(c->processes, c->status, &c->error);
  if (status != DQ_OK && error) *error = c->error;
  return status;
}

// ---- Options ----

// The items in sorted order, as no list depends on its order.
static char *list_text(const dq_option_list *list) {
  size_t size = 1, used = 0;
  for (int i = 0; i < list->count; i++) size += strlen(list->items[i]) + 3;
  char *text = calloc(size, 1);
  const char **sorted = calloc((size_t)list->count + 1, sizeof *sorted);
  for (int i = 0; text && sorted && i < list->count; i++) sorted[i] = list->items[i];
  if (sorted && list->count) qsort(sorted, (size_t)list->count, sizeof *sorted, dq_compare_texts);
  for (int i = 0; text && sorted && i < list->count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? " " : "", sorted[i]);
  free(sorted);
  return text;
}

static void number_text(double value, char *text, size_t size) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) return;
  }
}

// The value as text, whatever spelling it had, on the heap; NULL: there is no memory.
static char *value_text(const dq_option *row, const void *target) {
  char text[SHOWN] = "";
  switch (row->type) {
  case DQ_OPTION_INT: snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)target); break;
  case DQ_OPTION_SIZE: snprintf(text, sizeof text, "%zu", *(const size_t *)target); break;
  case DQ_OPTION_DOUBLE:
  case DQ_OPTION_PERCENT:
  case DQ_OPTION_TIME: number_text(*(const double *)target, text, sizeof text); break;
  case DQ_OPTION_ENUM: dq_option_choice(row, *(const int *)target, text, sizeof text); break;
  case DQ_OPTION_LIST: return list_text(target);
  default: return strdup(*(const char *const *)target ? *(const char *const *)target : "");
  }
  return strdup(text);
}

static void compare_option(comparison *c, const dq_option_place *place, bool given) {
  const dq_option *row = place->row;
  const char *shown = given ? "given" : "not given";
  char name[64], *value = NULL;
  if (row->job == DQ_JOB_OWN) return;
  snprintf(name, sizeof name, "--%s", row->name);
  const bool valued = row->job == DQ_JOB_SAME && row->type != DQ_OPTION_FLAG;
  if (valued && (given || row->preset)) shown = value = value_text(row, (const char *)c->common + place->offset);
  if (!shown) shown = ""; // no memory: the processes differ
  compare(c, DQ_USAGE, name, shown, hash_text(shown) + (row->decides && given));
  free(value);
}

dq_status dq_same_command(const dq_processes *processes, const dq_common_options *common, dq_error *error) {
  comparison c = {.processes = processes, .common = common};
  dq_option_place places[DQ_OPTION_ROWS];
  if (dq_process_count(processes) == 1) return DQ_OK;
  compare(&c, DQ_USAGE, "the command", common->command->name, hash_text(common->command->name));
  compare(&c, DQ_USAGE, "the version of dq", DQ_VERSION " " DQ_COMMIT, hash_text(DQ_VERSION " " DQ_COMMIT));
  DQ_TRY(settle(&c, error));
  const int count = dq_option_places(common->command, places);
  compare_number(&c, DQ_USAGE, "the number of models", common->operand_count);
  for (int i = 0; i < count; i++) compare_option(&c, &places[i], common->given[i]);
  return settle(&c, error);
}

// ---- Files and models ----

static dq_status hash_file(const char *path, uint64_t *hash, dq_error *error) {
  struct stat info;
  dq_file file;
  if (!strcmp(path, "-") || (!stat(path, &info) && !S_ISREG(info.st_mode)))
    return dq_fail(error, DQ_USAGE, "%s: processes of a job compare their files, expected a regular file", path);
  DQ_TRY(dq_file_open_regular(&file, path, error));
  *hash = XXH64(file.data, file.size, 0);
  dq_file_close(&file);
  return DQ_OK;
}

static void compare_hash(comparison *c, const char *name, const char *path, uint64_t hash) {
  char shown[SHOWN];
  const size_t length = strlen(path), most = 60;
  snprintf(shown, sizeof shown, "'%s' with hash %016" PRIx64, path + (length > most ? length - most : 0), hash);
  compare(c, DQ_BAD_INPUT, name, shown, hash);
}

static dq_status compare_file(comparison *c, const char *name, const char *path, dq_error *error) {
  uint64_t hash = 0;
  c->status = hash_file(path, &hash, &c->error);
  DQ_TRY(settle(c, error));
  compare_hash(c, name, path, hash);
  return settle(c, error);
}

// The bytes of the file, then the weights, some of which other files may hold.
static dq_status compare_model(comparison *c, const char *name, const char *path, dq_graph **graph, dq_error *error) {
  DQ_TRY(compare_file(c, name, path, error));
  c->status = dq_model_open(graph, path, c->context, &c->error);
  dq_status status = settle(c, error);
  if (status == DQ_OK) compare_hash(c, "the weights of the model, with files beside it,", path, dq_origin_hash(*graph));
  return status == DQ_OK ? settle(c, error) : status;
}

// ---- Pictures ----

typedef struct pictures {
  dq_data *data;
  dq_picture_digest *own, *first; // [count]: of this process, of process 0
} pictures;

static void digest_one(void *argument, int64_t i, int thread) {
  pictures *p = argument;
  (void)thread;
  if (dq_data_check_stop(p->data, NULL) == DQ_OK) dq_data_digest(p->data, i, &p->own[i]);
}

static dq_status digest_all(comparison *c, pictures *p) {
  const size_t count = (size_t)dq_data_count(p->data);
  p->own = calloc(count, sizeof *p->own), p->first = calloc(count, sizeof *p->first);
  if (!p->own || !p->first) return dq_fail_memory(&c->error, count * sizeof *p->own);
  dq_pool_run(c->context->pool, (int64_t)count, digest_one, p);
  memcpy(p->first, p->own, count * sizeof *p->own);
  return dq_check_stop(c->context, &c->error);
}

// Names the first picture that differs.
static dq_status compare_pictures(comparison *c, const char *option, pictures *p, dq_error *error) {
  c->status = digest_all(c, p);
  DQ_TRY(settle(c, error));
  const int64_t count = dq_data_count(p->data);
  dq_processes_share(c->processes, p->first, (size_t)count * sizeof *p->first);
  for (int64_t i = 0; i < count && c->status == DQ_OK; i++) {
    const dq_picture_digest *own = &p->own[i], *first = &p->first[i];
    dq_sample_info info = {0};
    const char *what = own->name != first->name ? "another name" : own->label != first->label ? "another label" : "";
    if (!*what && own->bytes != first->bytes) what = "other contents";
    if (!*what) continue;
    dq_data_read(p->data, i, NULL, &info, NULL);
    c->status = dq_fail(&c->error, DQ_BAD_INPUT, "picture %" PRId64 " of %s, '%s', has %s than on process 0", i + 1,
                        option, info.name, what);
  }
  return settle(c, error);
}

static dq_status compare_opened(comparison *c, const char *option, pictures *p, dq_error *error) {
  char name[128];
  const char *made = dq_data_generated(p->data), *text = dq_data_preprocess_text(p->data);
  if (!made) made = "read from files";
  compare(c, DQ_USAGE, option, made, hash_text(made));
  snprintf(name, sizeof name, "the preprocessing of %s", option);
  compare(c, DQ_USAGE, name, *text ? text : "none", hash_text(text));
  snprintf(name, sizeof name, "the number of pictures of %s", option);
  compare_number(c, DQ_BAD_INPUT, name, dq_data_count(p->data));
  DQ_TRY(settle(c, error));
  if (!dq_data_generated(p->data)) DQ_TRY(compare_pictures(c, option, p, error));
  snprintf(name, sizeof name, "the hash of the classes and constants of %s", option);
  compare_number(c, DQ_BAD_INPUT, name, (int64_t)(dq_data_facts(p->data) >> 1));
  return settle(c, error);
}

// The pictures of an option as the command opens them, but none is decoded. Labels belong to --data where it is given.
static dq_status compare_data(comparison *c, const char *option, const char *spec, dq_error *error) {
  static const char *const limits[][2] = {{"--val", "val-limit"}, {"--eval", "eval-limit"}};
  pictures p = {0};
  dq_data_arguments arguments =
      *(const dq_data_arguments *)(const void *)((const char *)c->common + c->common->command->data_offset);
  if (arguments.data && strcmp(option, "--data") != 0) arguments.labels = NULL;
  arguments.data = spec;
  for (int i = 0; i < 2; i++)
    if (!strcmp(option, limits[i][0])) {
      const int64_t *limit = dq_option_target(c->common, limits[i][1]);
      arguments.limit = limit ? *limit : 0, arguments.sample = 0;
    }
  dq_recall_preset(&arguments, c->model, c->context);
  dq_data_options options = dq_data_options_of(&arguments, c->common->seed);
  options.unverified = true;
  c->status = dq_data_open(&p.data, &options, c->context, &c->error);
  dq_status status = settle(c, error);
  if (status == DQ_OK) status = compare_opened(c, option, &p, error);
  dq_data_free(p.data);
  free(p.own);
  free(p.first);
  return status;
}

// ---- All inputs ----

static dq_status compare_input(comparison *c, const dq_option_place *place, dq_error *error) {
  const char *value = *(const char *const *)(const void *)((const char *)c->common + place->offset);
  char name[64];
  dq_graph *graph = NULL;
  snprintf(name, sizeof name, "--%s", place->row->name);
  if (place->row->job == DQ_JOB_FILE) return compare_file(c, name, value, error);
  if (place->row->job == DQ_JOB_DATA) return compare_data(c, name, value, error);
  dq_status status = compare_model(c, name, value, &graph, error);
  dq_graph_free(graph);
  return status;
}

static dq_status compare_all(comparison *c, dq_error *error) {
  dq_option_place places[DQ_OPTION_ROWS];
  const int count = dq_option_places(c->common->command, places);
  for (int i = 0; i < c->common->operand_count; i++) {
    dq_graph *graph = NULL;
    dq_status status = compare_model(c, "the model", c->common->operands[i], &graph, error);
    if (i == 0) c->model = graph;
    else dq_graph_free(graph);
    DQ_TRY(status);
  }
  for (int i = 0; i < count; i++)
    if (c->common->given[i] && places[i].row->job >= DQ_JOB_FILE) DQ_TRY(compare_input(c, &places[i], error));
  return DQ_OK;
}

dq_status dq_same_inputs(const dq_common_options *common, const dq_context *context, dq_error *error) {
  if (dq_process_count(context->processes) == 1) return DQ_OK;
  dq_context silent = *context;
  silent.message = NULL, silent.progress = NULL, silent.processes = NULL;
  comparison c = {.processes = context->processes, .common = common, .context = &silent};
  dq_status status = compare_all(&c, error);
  dq_graph_free(c.model);
  return status;
}
