// A sign of life where no terminal shows progress: a thread that prints one line to standard error from time to time.
#ifndef DQ_CMD_HEARTBEAT_H
#define DQ_CMD_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DQ_HEARTBEAT_TEXT = 64 };

typedef struct dq_heartbeat {
  pthread_t thread;
  bool runs;  // the thread was started and has to be joined
  int end[2]; // a pipe; the thread ends when the second end is closed
  const char *command;
  double interval;              // seconds between two lines
  pthread_mutex_t mutex;        // of all members from here on
  int64_t beats;                // lines so far, which tell the time: the clock is not read
  char work[DQ_HEARTBEAT_TEXT]; // the name of the work at hand
  char part[DQ_HEARTBEAT_TEXT]; // the name of a part of it
  int64_t done, total;          // steps of the part; total 0: not known
} dq_heartbeat;

// Starts the thread, which prints "COMMAND: TIME: WORK: PART DONE/TOTAL" every `interval` (above 0) seconds, TIME since
// now, as far as these are known. Without memory for the thread nothing is printed. `command` must live until the end.
void dq_heartbeat_start(dq_heartbeat *heartbeat, const char *command, double interval);
// Sets the part and its steps; a part with a total of 1 and none done is the name of the work that parts from here on
// belong to. Allowed on a zeroed struct.
void dq_heartbeat_set(dq_heartbeat *heartbeat, const char *part, int64_t done, int64_t total);
void dq_heartbeat_stop(dq_heartbeat *heartbeat); // ends the thread; allowed on a zeroed struct

// Writes seconds as "1:02:03", "4:05" or "12 s" to `text` and returns it.
const char *dq_duration_text(double seconds, char *text, size_t size);

#endif
