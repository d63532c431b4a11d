// Files in the Trace Event Format (Google, "Trace Event Format", JSON object form), which viewers such as Perfetto
// open.
#ifndef DQ_REPORT_TRACE_EVENTS_H
#define DQ_REPORT_TRACE_EVENTS_H

#include <stdint.h>

#include "lib/base/file.h"

typedef struct dq_trace_file {
  dq_output output;
  int64_t start; // nanoseconds of dq_nanoseconds at which the time of the file is 0
  int process;   // of what is written next, from 1
  int64_t lines; // of the array so far
  int arguments; // of the event that is being written
  bool failed;
} dq_trace_file;

// Opens a file that appears under its name when it is complete; "-" is standard output. DQ_SYSTEM: it cannot be
// written.
dq_status dq_trace_open(dq_trace_file *file, const char *path, int64_t start, dq_error *error);
// Completes the file and closes it, also after a failure. DQ_SYSTEM: it cannot be written, or there was no memory.
dq_status dq_trace_close(dq_trace_file *file, dq_error *error);

// Writes the name of the process file->process, or with `track` >= 0 that of one of its tracks.
void dq_trace_name(dq_trace_file *file, int track, const char *name);
// Writes an event from `begin` to `end`, in nanoseconds of dq_nanoseconds, up to its arguments. The caller adds those,
// then calls dq_trace_end. `category` is a plain word.
void dq_trace_begin(dq_trace_file *file, int track, const char *category, const char *name, int64_t begin, int64_t end);
void dq_trace_text(dq_trace_file *file, const char *key, const char *text); // adds an argument; NULL: nothing is added
void dq_trace_number(dq_trace_file *file, const char *key, int64_t number); // adds an argument
void dq_trace_end(dq_trace_file *file);                                     // ends the event

#endif
