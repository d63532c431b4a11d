// Records as lines.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wisdom/wisdom.h"

// The words of a line, in this order.
enum { VERSION, BUILD, MACHINE, THREADS, RUN, CHOICE, USE, RATIO, BEFORE, AFTER, RUNS, COUNTS, END, WORDS };
static const char *const beginnings[WORDS] = {
    "dq-wisdom-1", "build=",     "machine=",  "threads=", "run=",    "choice=", "use=",
    "ratio=",      "before_us=", "after_us=", "runs=",    "counts=", "end"};

static const double MICRO = 1e6;

enum { COUNTS_TEXT = 16 * (DQ_COUNTS + 1) };

// " counts=..." with the counts of a record, or nothing where there are none.
static const char *counts_text(const dq_counts *counts, char *text) {
  bool known = false;
  int at = snprintf(text, COUNTS_TEXT, " counts");
  for (int i = 0; i < DQ_COUNTS; i++) {
    known |= counts->values[i] > 0;
    at += snprintf(text + at, (size_t)(COUNTS_TEXT - at), "%c%.6g", i ? ',' : '=', counts->values[i]);
  }
  return known ? text : "";
}

int dq_record_print(const dq_record *r, const dq_wisdom_place *place, char *line) {
  char choice[DQ_CHOICE_TEXT], counts[COUNTS_TEXT];
  return snprintf(line, DQ_WISDOM_LINE,
                  "dq-wisdom-1 build=%s machine=%s threads=%d run=%s choice=%s use=%s ratio=%.6g,%.6g,%.6g "
                  "before_us=%.6g,%.6g,%.6g after_us=%.6g,%.6g,%.6g runs=%" PRId64 "%s end\n",
                  place->build, place->machine, place->threads, r->run, dq_choice_text(&r->choice, choice),
                  r->withdrawn ? "no"
                  : r->tried   ? "tried"
                               : "yes",
                  r->low, r->ratio, r->high, r->before.p5 * MICRO, r->before.median * MICRO, r->before.p95 * MICRO,
                  r->after.p5 * MICRO, r->after.median * MICRO, r->after.p95 * MICRO, r->runs,
                  counts_text(&r->counts, counts));
}

// Cuts a line into the parts of its words behind their beginnings; that of counts may be left out (NULL). False: it has
// other words.
static bool cut(char *line, char *words[WORDS]) {
  char *word = strsep(&line, " ");
  for (int w = 0; w < WORDS; w++) {
    size_t length = strlen(beginnings[w]);
    bool there = word && !strncmp(word, beginnings[w], length);
    if (!there && w != COUNTS) return false;
    words[w] = there ? word + length : NULL;
    if (there && w < END) word = strsep(&line, " ");
  }
  return !line && !*words[VERSION] && !*words[END];
}

// Three ascending numbers above 0 with commas between them.
static bool read_three(const char *text, double *low, double *middle, double *high) {
  char *end;
  *low = strtod(text, &end);
  if (*end != ',') return false;
  *middle = strtod(end + 1, &end);
  if (*end != ',') return false;
  *high = strtod(end + 1, &end);
  return !*end && *low > 0 && *low <= *middle && *middle <= *high && isfinite(*high);
}

static bool read_times(const char *text, dq_quantiles *times) {
  if (!read_three(text, &times->p5, &times->median, &times->p95)) return false;
  times->p5 /= MICRO, times->median /= MICRO, times->p95 /= MICRO;
  return true;
}

static bool read_count(const char *text, int64_t most, int64_t *count) {
  char *end;
  *count = strtoll(text, &end, 10);
  return *text && !*end && *count >= 1 && *count <= most;
}

// Numbers that are not below 0 with commas between them; NULL: none are known.
static bool read_counts(const char *text, dq_counts *counts) {
  char *end = NULL;
  *counts = (dq_counts){{0}};
  for (int i = 0; text && i < DQ_COUNTS; i++, text = end + 1) {
    double number = counts->values[i] = strtod(text, &end);
    bool last = i == DQ_COUNTS - 1;
    if (end == text || *end != (last ? 0 : ',') || !(number >= 0 && isfinite(number))) return false;
  }
  return true;
}

static bool read_record(char *words[WORDS], dq_record *r) {
  const char *use = words[USE];
  *r = (dq_record){.run = words[RUN], .withdrawn = !strcmp(use, "no"), .tried = !strcmp(use, "tried")};
  bool known = r->withdrawn || r->tried || !strcmp(use, "yes");
  return known && *r->run && strlen(r->run) < DQ_RUN_TEXT && dq_choice_parse(words[CHOICE], &r->choice) &&
         read_three(words[RATIO], &r->low, &r->ratio, &r->high) && read_times(words[BEFORE], &r->before) &&
         read_times(words[AFTER], &r->after) && read_count(words[RUNS], INT64_MAX, &r->runs) &&
         read_counts(words[COUNTS], &r->counts);
}

// Whether the first word of a line is "dq-wisdom-N" with another number than ours.
static bool of_another_version(const char *line) {
  static const char name[] = "dq-wisdom-";
  if (strncmp(line, name, sizeof name - 1)) return false;
  char *end;
  long version = strtol(line + sizeof name - 1, &end, 10);
  return version > 0 && version != DQ_WISDOM_VERSION && *end == ' ';
}

dq_line_kind dq_record_parse(char *line, const dq_wisdom_place *place, dq_record *record) {
  char *words[WORDS];
  int64_t threads;
  if (of_another_version(line)) return DQ_LINE_VERSION;
  if (!cut(line, words) || !read_count(words[THREADS], INT32_MAX, &threads)) return DQ_LINE_BROKEN;
  // Names of algorithms and knobs may be those of another build.
  if (strcmp(words[BUILD], place->build) || strcmp(words[MACHINE], place->machine)) return DQ_LINE_FOREIGN;
  if (!read_record(words, record)) return DQ_LINE_BROKEN;
  return threads == place->threads ? DQ_LINE_RECORD : DQ_LINE_OTHER_THREADS;
}
