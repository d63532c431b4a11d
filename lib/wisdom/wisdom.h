// Wisdom: the measured choices of this machine for the steps of networks. A record has the run (the text of
// dq_plan_step_run: operator, types, shapes, attributes), the choice (a value for each knob of knobs.def), the place
// (build, processor, threads) and the times. Records are lines of a text file, docs/FORMATS.md. A choice never changes
// a bit of a result, whatever the file has: dq_conv_tuning checks the choice of a convolution.
#ifndef DQ_WISDOM_WISDOM_H
#define DQ_WISDOM_WISDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/context.h"
#include "lib/kernels/conv/conv_counts.h"

typedef enum dq_knob {
#define DQ_KNOB(symbol, name, low, high, help) DQ_KNOB_OF_##symbol,
#include "lib/wisdom/knobs.def"
  DQ_KNOBS
} dq_knob;

typedef struct dq_step_choice {
  int values[DQ_KNOBS]; // by dq_knob; 0: the usual value; all 0: the usual choice
} dq_step_choice;

enum { DQ_CHOICE_TEXT = 128, DQ_RUN_TEXT = 1024, DQ_MACHINE_TEXT = 256 };

bool dq_choice_is_usual(const dq_step_choice *choice);                 // whether all values are 0
bool dq_choice_same(const dq_step_choice *a, const dq_step_choice *b); // whether all values are equal
// Writes the choice to text[DQ_CHOICE_TEXT] and returns `text`: "usual", or the knobs whose value is not 0, such as
// "algorithm=tiles,depth=1".
const char *dq_choice_text(const dq_step_choice *choice, char *text);
// Sets *choice from a text of dq_choice_text. False: the text has another form, an unknown knob or a value out of its
// range.
bool dq_choice_parse(const char *text, dq_step_choice *choice);

typedef struct dq_quantiles {
  double p5, median, p95; // of times, in seconds
} dq_quantiles;

typedef struct dq_record {
  const char *run; // what was run, at most DQ_RUN_TEXT - 1 bytes without spaces
  dq_step_choice choice;
  bool withdrawn;             // the choice is not to be used: the network as a whole was not faster with it
  bool tried;                 // the choice was measured in a search that may not be over; it is not to be used for that
  double ratio, low, high;    // time by the choice over the usual time, and its 95 % confidence interval
  dq_quantiles before, after; // times as usual, and by the choice
  int64_t runs;               // number of runs that gave the times
  dq_counts counts;           // of the step with the choice; all 0: not known
} dq_record;

typedef struct dq_wisdom dq_wisdom;

// The build, the machine and the number of threads for which records hold.
typedef struct dq_wisdom_place {
  const char *build, *machine; // without spaces: dq_wisdom_build, dq_wisdom_machine
  int threads;
} dq_wisdom_place;

// The hash of the sources of the kernels and of the options of the compiler, as a static text.
const char *dq_wisdom_build(void);
// Writes the processor, the instruction sets `cpu` (lib/base/cpu.h) and the sizes of the caches, without spaces, to
// text[DQ_MACHINE_TEXT] and returns `text`.
const char *dq_wisdom_machine(unsigned cpu, char *text);

// Reads the records of a file that hold at `place`, which is copied. `path` NULL: the file of the user,
// $XDG_CACHE_HOME/dq/wisdom or ~/.cache/dq/wisdom, or none where neither variable is set. A file that is missing, or
// in a folder that this user may not enter, has no records. Lines that are no records, and records of another
// format, build or machine, are left out; one message reports each of these kinds. DQ_SYSTEM: the file cannot be read,
// or there is no memory; DQ_BAD_INPUT: it is no regular file. The caller frees *wisdom.
dq_status dq_wisdom_open(dq_wisdom **wisdom, const char *path, const dq_wisdom_place *place, const dq_context *context,
                         dq_error *error);
// Does what dq_wisdom_open does at the place of the context: this build, its instruction sets and its number of
// threads.
dq_status dq_wisdom_open_here(dq_wisdom **wisdom, const char *path, const dq_context *context, dq_error *error);
void dq_wisdom_free(dq_wisdom *wisdom);              // NULL is allowed
const char *dq_wisdom_path(const dq_wisdom *wisdom); // NULL: there is no file

// The record of `choice` for `run` that is `tried`; NULL: there is none. It holds as that of dq_wisdom_find; `wisdom`
// NULL: NULL.
const dq_record *dq_wisdom_find_tried(const dq_wisdom *wisdom, const char *run, const dq_step_choice *choice);
// The record for `run` that decides: of the records that are not `tried`, and whose choice no record withdraws, the one
// with the least `high`; where all are withdrawn, one of these. NULL: there is none. It holds until the next
// dq_wisdom_add. `wisdom` NULL: NULL.
const dq_record *dq_wisdom_find(const dq_wisdom *wisdom, const char *run);
// The number of all records, and record `index`, 0 to dq_wisdom_count - 1, in the order of the texts of their runs.
// Records hold as that of dq_wisdom_find.
int dq_wisdom_count(const dq_wisdom *wisdom);
const dq_record *dq_wisdom_at(const dq_wisdom *wisdom, int index);
// Adds a record, which is copied with its run, and appends one line to the file, in one write, after the lines that
// other processes have added meanwhile; folders that are missing are made. *stored is false when there is no file, it
// cannot be written, or the line would be longer than DQ_WISDOM_LINE; the record still counts for this process. Sorts
// all records, in n log n time. DQ_SYSTEM: there is no memory, and nothing was added.
dq_status dq_wisdom_add(dq_wisdom *wisdom, const dq_record *record, bool *stored, dq_error *error);

// ---- For wisdom_text.c and its tests ----

enum { DQ_WISDOM_VERSION = 1 }; // of the format, in the first word of a line
enum { DQ_WISDOM_LINE = 2560 }; // bytes of a line, at most

typedef enum dq_line_kind {
  DQ_LINE_RECORD,        // a record of the place
  DQ_LINE_FOREIGN,       // of another build or machine
  DQ_LINE_OTHER_THREADS, // a record of this build and machine, for another number of threads
  DQ_LINE_VERSION,       // of another version of the format
  DQ_LINE_BROKEN         // no record
} dq_line_kind;

// Writes the line of a record, with its newline and a zero byte, to line[DQ_WISDOM_LINE] and returns the length of the
// whole line without the zero byte; a line of DQ_WISDOM_LINE bytes or more is cut off.
int dq_record_print(const dq_record *record, const dq_wisdom_place *place, char *line);
// Reads a line without its newline and writes zero bytes into it. *record, set for DQ_LINE_RECORD and
// DQ_LINE_OTHER_THREADS, points into the line.
dq_line_kind dq_record_parse(char *line, const dq_wisdom_place *place, dq_record *record);

#endif
