// Traces: files that say when requests of which network arrive.
#ifndef DQ_MULTI_ARRIVAL_TRACE_H
#define DQ_MULTI_ARRIVAL_TRACE_H

#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

typedef struct dq_arrival {
  double seconds; // after the start, >= 0
  int source;     // index of a name
} dq_arrival;

typedef struct dq_arrival_trace {
  dq_arrival *arrivals; // [count], by time, in the arena
  int64_t count;
} dq_arrival_trace;

// Reads a trace: lines "SECONDS NAME", seconds not descending, with blanks between the two; empty lines and lines that
// begin with # are left out. names[count] are the names that may occur. Arrays are in the arena. Messages name the file
// and the line. DQ_BAD_INPUT: a line has another form or an unknown name, the times descend, or there is no line;
// DQ_SYSTEM: the file cannot be read, or there is no memory.
dq_status dq_arrival_trace_read(dq_arrival_trace *trace, const char *path, const char *const *names, int count,
                                dq_arena *arena, dq_error *error);

#endif
