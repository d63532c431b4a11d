// The records of a process, and their file.
#include "lib/wisdom/wisdom.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "version.h"

struct dq_wisdom {
  dq_arena *arena;
  dq_wisdom_place place;
  const char *path;   // NULL: none
  dq_record *records; // [count], sorted by run
  int count, capacity;
};

static int by_run(const void *a, const void *b) {
  return strcmp(((const dq_record *)a)->run, ((const dq_record *)b)->run);
}

static void sort(dq_wisdom *wisdom) {
  if (wisdom->count) qsort(wisdom->records, (size_t)wisdom->count, sizeof *wisdom->records, by_run);
}

// Copies a record to the end.
static dq_status put(dq_wisdom *wisdom, const dq_record *record, dq_error *error) {
  if (wisdom->count == wisdom->capacity) {
    int capacity = wisdom->capacity ? 2 * wisdom->capacity : 64;
    dq_record *more = DQ_NEW_ARRAY(wisdom->arena, capacity, dq_record);
    if (!more) return dq_fail_memory(error, (size_t)capacity * sizeof *more);
    if (wisdom->count) memcpy(more, wisdom->records, (size_t)wisdom->count * sizeof *more);
    wisdom->records = more;
    wisdom->capacity = capacity;
  }
  const char *run = dq_arena_strdup(wisdom->arena, record->run);
  if (!run) return dq_fail_memory(error, strlen(record->run));
  wisdom->records[wisdom->count] = *record;
  wisdom->records[wisdom->count++].run = run;
  return DQ_OK;
}

// ---- Reading ----

typedef struct faults {
  int broken, first_broken; // lines, from 1
  int foreign, later;       // later: of another version of the format
} faults;

static dq_status read_line(dq_wisdom *wisdom, const char *from, size_t length, int number, faults *f, dq_error *error) {
  char line[DQ_WISDOM_LINE];
  dq_record record;
  dq_line_kind kind = DQ_LINE_BROKEN;
  if (length < sizeof line && !memchr(from, 0, length)) {
    memcpy(line, from, length);
    line[length] = 0;
    kind = dq_record_parse(line, &wisdom->place, &record);
  }
  if (kind == DQ_LINE_BROKEN && !f->broken++) f->first_broken = number;
  f->foreign += kind == DQ_LINE_FOREIGN, f->later += kind == DQ_LINE_VERSION;
  return kind == DQ_LINE_RECORD ? put(wisdom, &record, error) : DQ_OK;
}

static dq_status read_lines(dq_wisdom *wisdom, const dq_file *file, faults *f, dq_error *error) {
  const char *at = (const char *)file->data, *end = at + file->size;
  for (int number = 1; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at);
    if (length && *at != '#') DQ_TRY(read_line(wisdom, at, length, number, f, error));
    at += length + 1;
  }
  return DQ_OK;
}

static void report(const dq_wisdom *wisdom, const faults *f, const dq_context *context) {
  const char *path = wisdom->path;
  if (f->broken)
    dq_message(context, DQ_WARNING, "%s: line %d is no record of wisdom; such lines: %d, which are ignored", path,
               f->first_broken, f->broken);
  if (f->foreign)
    dq_message(context, DQ_NOTE,
               "%s: %d records are of another processor, or of another version or build of dq than this one (%s, build "
               "%s), and are ignored",
               path, f->foreign, DQ_VERSION, wisdom->place.build);
  if (f->later)
    dq_message(context, DQ_WARNING,
               "%s: %d records have another format than that of dq %s, version %d, and are ignored", path, f->later,
               DQ_VERSION, DQ_WISDOM_VERSION);
}

static dq_status read_file(dq_wisdom *wisdom, const dq_context *context, dq_error *error) {
  dq_file file;
  faults f = {0};
  if (!wisdom->path || access(wisdom->path, F_OK)) return DQ_OK;
  DQ_TRY(dq_file_open_regular(&file, wisdom->path, error));
  dq_status status = read_lines(wisdom, &file, &f, error);
  dq_file_close(&file);
  if (status == DQ_OK) report(wisdom, &f, context);
  sort(wisdom);
  return status;
}

static const char *user_path(dq_arena *arena) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache == '/') return dq_arena_printf(arena, "%s/dq/wisdom", cache);
  return home && *home ? dq_arena_printf(arena, "%s/.cache/dq/wisdom", home) : NULL;
}

dq_status dq_wisdom_open(dq_wisdom **result, const char *path, const dq_wisdom_place *place, const dq_context *context,
                         dq_error *error) {
  *result = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_wisdom *wisdom = arena ? DQ_NEW(arena, dq_wisdom) : NULL;
  dq_status status = DQ_OK;
  if (wisdom) {
    *wisdom = (dq_wisdom){.arena = arena, .path = path ? dq_arena_strdup(arena, path) : user_path(arena)};
    wisdom->place =
        (dq_wisdom_place){dq_arena_strdup(arena, place->build), dq_arena_strdup(arena, place->machine), place->threads};
  }
  if (!wisdom || dq_arena_exhausted(arena)) status = dq_fail_memory(error, sizeof *wisdom);
  else status = read_file(wisdom, context, error);
  if (status == DQ_OK) *result = wisdom;
  else dq_arena_free(arena);
  return status;
}

dq_status dq_wisdom_open_here(dq_wisdom **wisdom, const char *path, const dq_context *context, dq_error *error) {
  char machine[DQ_MACHINE_TEXT];
  const dq_wisdom_place place = {dq_wisdom_build(), dq_wisdom_machine(context->cpu, machine),
                                 dq_pool_threads(context->pool)};
  return dq_wisdom_open(wisdom, path, &place, context, error);
}

void dq_wisdom_free(dq_wisdom *wisdom) {
  if (wisdom) dq_arena_free(wisdom->arena);
}

const char *dq_wisdom_path(const dq_wisdom *wisdom) { return wisdom->path; }

// ---- Finding ----

// The records of a run: from the one returned (NULL: none) up to *end.
static const dq_record *range_of(const dq_wisdom *wisdom, const char *run, const dq_record **end) {
  if (!wisdom || !wisdom->count) return NULL;
  const dq_record key = {.run = run}, *all = wisdom->records, *last = all + wisdom->count;
  const dq_record *first = bsearch(&key, all, (size_t)wisdom->count, sizeof key, by_run);
  if (!first) return NULL;
  for (*end = first; *end < last && !strcmp((*end)->run, run);) ++*end;
  while (first > all && !strcmp(first[-1].run, run)) first--;
  return first;
}

static bool is_withdrawn(const dq_record *first, const dq_record *end, const dq_step_choice *choice) {
  for (const dq_record *r = first; r < end; r++)
    if (r->withdrawn && dq_choice_same(&r->choice, choice)) return true;
  return false;
}

// Whether `a` comes before `b`: what may be used before what may not, then the smaller bound.
static bool is_better(const dq_record *a, const dq_record *b) {
  if (a->withdrawn != b->withdrawn) return b->withdrawn;
  return a->high < b->high;
}

const dq_record *dq_wisdom_find(const dq_wisdom *wisdom, const char *run) {
  const dq_record *end, *best = NULL, *first = range_of(wisdom, run, &end);
  for (const dq_record *r = first; first && r < end; r++)
    if (!r->tried && (r->withdrawn || !is_withdrawn(first, end, &r->choice)) && (!best || is_better(r, best))) best = r;
  return best;
}

const dq_record *dq_wisdom_find_tried(const dq_wisdom *wisdom, const char *run, const dq_step_choice *choice) {
  const dq_record *end, *first = range_of(wisdom, run, &end);
  for (const dq_record *r = first; first && r < end; r++)
    if (r->tried && dq_choice_same(&r->choice, choice)) return r;
  return NULL;
}

int dq_wisdom_count(const dq_wisdom *wisdom) { return wisdom->count; }

const dq_record *dq_wisdom_at(const dq_wisdom *wisdom, int index) { return &wisdom->records[index]; }

// ---- Adding ----

// Makes the folders that the file of the user lies in.
static void make_folders(const char *path) {
  char folder[4096];
  if (strlen(path) >= sizeof folder) return;
  strcpy(folder, path);
  for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(folder, 0777);
    *slash = '/';
  }
}

// One write, so that the line is whole whoever else writes. A line that a killed process left unfinished gets its
// newline.
static bool write_line(int file, const char *line, int bytes) {
  char text[DQ_WISDOM_LINE + 1], last = '\n';
  struct stat facts;
  flock(file, LOCK_EX);
  if (!fstat(file, &facts) && facts.st_size > 0 && pread(file, &last, 1, facts.st_size - 1) != 1) last = '\n';
  int begin = last != '\n';
  text[0] = '\n';
  memcpy(text + begin, line, (size_t)bytes);
  return write(file, text, (size_t)(bytes + begin)) == bytes + begin;
}

static bool append(const dq_wisdom *wisdom, const dq_record *record) {
  char line[DQ_WISDOM_LINE];
  int bytes = dq_record_print(record, &wisdom->place, line);
  if (!wisdom->path || bytes >= DQ_WISDOM_LINE) return false;
  make_folders(wisdom->path);
  int file = open(wisdom->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return false;
  bool written = write_line(file, line, bytes);
  return close(file) == 0 && written;
}

dq_status dq_wisdom_add(dq_wisdom *wisdom, const dq_record *record, bool *stored, dq_error *error) {
  DQ_TRY(put(wisdom, record, error));
  sort(wisdom);
  *stored = append(wisdom, record);
  return DQ_OK;
}
