// Wisdom: how steps are computed fastest on this machine, as it was measured. A record says what was run (a text that
// dq_plan_step_run makes: operator, types, shapes, attributes), how (a choice: a value for each knob of knobs.def), on
// what (build, processor, threads) and how long it took. Records are lines of a text file, docs/FORMATS.md. A choice
// never changes a bit of a result, whatever the file says: who reads it checks that (dq_conv_tuning).
#ifndef DQ_WISDOM_WISDOM_H
#define DQ_WISDOM_WISDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/context.h"

typedef enum dq_knob {
#define DQ_KNOB(symbol, name, low, high, help) DQ_KNOB_OF_##symbol,
#include "lib/wisdom/knobs.def"
  DQ_KNOBS
} dq_knob;

typedef struct dq_step_choice {
  int values[DQ_KNOBS]; // by dq_knob; all 0: as usual
} dq_step_choice;

enum { DQ_CHOICE_TEXT = 128, DQ_RUN_TEXT = 1024, DQ_MACHINE_TEXT = 256 };

bool dq_choice_is_usual(const dq_step_choice *choice);
bool dq_choice_same(const dq_step_choice *a, const dq_step_choice *b);
// Writes "usual", or the knobs that differ from it, such as "algorithm=tiles,depth=1", to `text` of DQ_CHOICE_TEXT
// bytes and returns `text`.
const char *dq_choice_text(const dq_step_choice *choice, char *text);
// Reads such a text. False: it is none.
bool dq_choice_parse(const char *text, dq_step_choice *choice);

typedef struct dq_quantiles {
  double p5, median, p95; // of times, in seconds
} dq_quantiles;

typedef struct dq_record {
  const char *run; // what was run, at most DQ_RUN_TEXT - 1 bytes without spaces
  dq_step_choice choice;
  bool withdrawn;          // the choice is not to be used: with it the network as a whole was not faster
  bool tried;              // it was measured during a search, which may not be over: the record says no more than that
  double ratio, low, high; // time by the choice over the usual time, and its 95 % confidence interval
  dq_quantiles before, after; // times as usual, and by the choice
  int64_t runs;               // from which these come
} dq_record;

typedef struct dq_wisdom dq_wisdom;

// Where records hold.
typedef struct dq_wisdom_place {
  const char *build, *machine; // without spaces: dq_wisdom_build, dq_wisdom_machine
  int threads;
} dq_wisdom_place;

// The hash of the sources of the kernels and of the way they were compiled, static.
const char *dq_wisdom_build(void);
// Writes the processor, the instruction sets `cpu` and the sizes of the caches, without spaces, to `text` of
// DQ_MACHINE_TEXT bytes and returns `text`.
const char *dq_wisdom_machine(unsigned cpu, char *text);

// Reads the records of a file that hold at `place`, which is copied. `path` NULL: the file of the user,
// $XDG_CACHE_HOME/dq/wisdom or ~/.cache/dq/wisdom, or none where neither variable is set. A file that is missing, or
// in a folder that this user may not enter, has no records. One message each says that lines are no records, and that
// records are of another build or machine; these are left out. DQ_SYSTEM: the file cannot be read, or there is no
// memory; DQ_BAD_INPUT: it is no regular file. The caller frees *wisdom.
dq_status dq_wisdom_open(dq_wisdom **wisdom, const char *path, const dq_wisdom_place *place, const dq_context *context,
                         dq_error *error);
// The same at the place of the context: this build, its instruction sets and its number of threads.
dq_status dq_wisdom_open_here(dq_wisdom **wisdom, const char *path, const dq_context *context, dq_error *error);
void dq_wisdom_free(dq_wisdom *wisdom);              // NULL is allowed
const char *dq_wisdom_path(const dq_wisdom *wisdom); // NULL: there is no file

// The record of a choice that was tried for `run`; NULL: there is none. As dq_wisdom_find in all else.
const dq_record *dq_wisdom_find_tried(const dq_wisdom *wisdom, const char *run, const dq_step_choice *choice);
// The record that counts for `run`: of those that are not only tried, and whose choice no record withdraws the one with
// the least `high`; where all are withdrawn, one of these. NULL: there is none. Holds until the next dq_wisdom_add.
// `wisdom` NULL: NULL.
const dq_record *dq_wisdom_find(const dq_wisdom *wisdom, const char *run);
// All records, in the order of their runs; `index` from 0 to dq_wisdom_count - 1. They hold as dq_wisdom_find's.
int dq_wisdom_count(const dq_wisdom *wisdom);
const dq_record *dq_wisdom_at(const dq_wisdom *wisdom, int index);
// Adds a record, which is copied with its run, and appends one line to the file, in one write behind what other
// processes have added meanwhile; folders that are missing are made. *stored is false when there is no file, it cannot
// be written, or the line would be longer than DQ_WISDOM_LINE; the record still counts for this process. Sorts all
// records, in n log n time. DQ_SYSTEM: there is no memory, and nothing was added.
dq_status dq_wisdom_add(dq_wisdom *wisdom, const dq_record *record, bool *stored, dq_error *error);

// ---- For wisdom_text.c and its tests ----

enum { DQ_WISDOM_LINE = 2560 }; // bytes of a line, at most

typedef enum dq_line_kind { DQ_LINE_RECORD, DQ_LINE_FOREIGN, DQ_LINE_OTHER_THREADS, DQ_LINE_BROKEN } dq_line_kind;

// Writes the line of a record, with its newline, to line[DQ_WISDOM_LINE] and returns its bytes.
int dq_record_print(const dq_record *record, const dq_wisdom_place *place, char *line);
// Reads a line without its newline, which it takes apart; record->run points into it.
dq_line_kind dq_record_parse(char *line, const dq_wisdom_place *place, dq_record *record);

#endif
