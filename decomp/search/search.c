#include "decomp/search/search.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/settings/settings_file.h"

static const char SCHEMA[] = "dq-tucker-search";
enum { VERSION = 1, MOST_TRIALS = 99 };

typedef struct search {
  const dq_search_options *options;
  dq_search_trial trials[MOST_TRIALS];
  int count, known; // trials so far; those of them that the file knew
} search;

// ---- State ----

static dq_status read_trials(search *s, const json_t *root, dq_error *error) {
  const char *key = json_string_value(json_object_get(root, "key"));
  if (!key || strcmp(key, s->options->key) != 0)
    return dq_fail(error, DQ_BAD_INPUT,
                   "the search was for another model, data or options; remove the file, or leave --resume out");
  const json_t *list = json_object_get(root, "trials"), *trial;
  size_t i;
  json_array_foreach(list, i, trial) {
    json_int_t percent = json_integer_value(json_object_get(trial, "percent"));
    const json_t *drop = json_object_get(trial, "drop");
    if (percent < 1 || percent > 99 || s->count == MOST_TRIALS || (!json_is_number(drop) && !json_is_null(drop)))
      return dq_fail(error, DQ_BAD_INPUT,
                     "trial %zu: expected 'percent' from 1 to 99 and 'drop', a number or null, in at most %d trials",
                     i + 1, MOST_TRIALS);
    s->trials[s->count++] =
        (dq_search_trial){.percent = (int)percent, .possible = json_is_number(drop), .drop = json_number_value(drop)};
  }
  s->known = s->count;
  return DQ_OK;
}

static dq_status load(search *s, dq_error *error) {
  const char *path = s->options->state;
  if (!path || !s->options->resume || access(path, F_OK) != 0) return DQ_OK;
  dq_settings_file file;
  DQ_TRY(dq_settings_open(&file, path, SCHEMA, VERSION, error));
  dq_status status = read_trials(s, file.root, error);
  dq_settings_close(&file);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

static json_t *make_json(const search *s) {
  json_t *list = json_array();
  for (int i = 0; i < s->count; i++) {
    const dq_search_trial *trial = &s->trials[i];
    json_array_append_new(list, json_pack("{s:i, s:o}", "percent", trial->percent, "drop",
                                          trial->possible ? json_real(trial->drop) : json_null()));
  }
  return json_pack("{s:s, s:i, s:s, s:o}", "schema", SCHEMA, "version", VERSION, "key", s->options->key, "trials",
                   list);
}

static dq_status store(const search *s, dq_error *error) {
  if (!s->options->state) return DQ_OK;
  json_t *root = make_json(s);
  if (!root) return dq_fail_memory(error, sizeof *s);
  dq_output output;
  dq_status status = dq_output_open(&output, s->options->state, error);
  if (status == DQ_OK) {
    json_dumpf(root, output.stream, JSON_INDENT(1)); // errors of the stream show at commit
    status = dq_output_commit(&output, error);
  }
  json_decref(root);
  return status;
}

// ---- Search ----

static const double LEAST_SHOWN = 0.05; // percentage points that one digit behind the point shows

static bool holds(const search *s, const dq_search_trial *trial) {
  return trial->possible && trial->drop <= s->options->max_drop;
}

static void report_trial(const search *s, const dq_search_trial *trial) {
  const dq_context *context = s->options->context;
  const char *best = holds(s, trial) ? ", the best so far" : "";
  if (!trial->possible) dq_message(context, DQ_NOTE, "-%d %%: not possible", trial->percent);
  else if (trial->removed < trial->percent - LEAST_SHOWN)
    dq_message(context, DQ_NOTE, "-%d %%: only %.1f %% with the layers that become faster, quality %+.2f points%s",
               trial->percent, trial->removed, -trial->drop, best);
  else dq_message(context, DQ_NOTE, "-%d %%: quality %+.2f points%s", trial->percent, -trial->drop, best);
}

// The trial of this percentage: known, or made now.
static dq_status attempt(search *s, int percent, const dq_search_trial **trial, dq_error *error) {
  const dq_search_options *options = s->options;
  for (int i = 0; i < s->known; i++)
    if (s->trials[i].percent == percent) {
      *trial = &s->trials[i];
      return DQ_OK;
    }
  dq_search_trial *made = &s->trials[s->count];
  *made = (dq_search_trial){.percent = percent, .removed = percent};
  DQ_TRY(options->attempt(options->user, made, error));
  if (holds(s, made)) DQ_TRY(options->store(options->user, made, error));
  s->count++;
  report_trial(s, made);
  *trial = made;
  return store(s, error);
}

// Whether a status is that of a trial which the deadline ended.
static bool is_late(const search *s, dq_status status) {
  const dq_context *context = s->options->context;
  return status == DQ_CANCELLED && !dq_is_stopped(context) && dq_deadline_passed(context);
}

dq_status dq_search(const dq_search_options *options, dq_search_result *result, dq_error *error) {
  search s = {.options = options};
  *result = (dq_search_result){.complete = true};
  DQ_TRY(load(&s, error));
  for (int low = 0, high = 100; high - low > 1;) {
    int middle = (low + high) / 2;
    const dq_search_trial *trial = NULL;
    dq_status status = dq_check_stop(options->context, error);
    if (status == DQ_OK) status = attempt(&s, middle, &trial, error);
    if (is_late(&s, status)) {
      result->complete = false;
      break;
    }
    DQ_TRY(status);
    if (holds(&s, trial)) low = middle, result->percent = middle, result->drop = trial->drop;
    else high = middle;
  }
  result->trials = s.count;
  if (result->complete && options->state) unlink(options->state);
  return DQ_OK;
}
