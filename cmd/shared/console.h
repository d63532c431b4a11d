// Standard error of a command: messages, errors, hints and progress.
#ifndef DQ_CMD_CONSOLE_H
#define DQ_CMD_CONSOLE_H

#include "cmd/options/options.h"
#include "cmd/shared/heartbeat.h"
#include "lib/text/print_name.h"

typedef struct dq_console {
  const char *command;    // name that stands in front of every line
  bool verbose, quiet;    // -v: also print details; -q: print errors only
  bool bar, plain;        // print progress as a bar, or as lines; both false: not at all
  bool beats;             // print a line from time to time, as no terminal shows progress (dq_heartbeat_start)
  int width;              // columns of the terminal
  bool color;             // print messages in colour
  bool drawn;             // a bar is on the current line
  char what[64];          // name of the work in progress
  double start, last;     // values of dq_seconds() when the work began and when its progress was printed last
  dq_heartbeat heartbeat; // runs while the command does, where `beats` is set
} dq_console;

// Sets *console by the options of the command and by the terminal.
void dq_console_init(dq_console *console, const dq_common_options *common);

// The callbacks of a dq_context whose user is the console; for one thread at a time.
void dq_console_message(void *console, dq_severity severity, const char *text);
void dq_console_progress(void *console, const char *what, int64_t done, int64_t total);

void dq_console_clear(dq_console *console); // removes the bar from the terminal

// Removes the bar from the terminal and prints to standard error, also with -q, "COMMAND: MESSAGE", COMMAND being
// console->command, and when the error has a hint a line "hint: HINT". Control characters become '?' in both. `error`
// is not NULL and has a message.
void dq_console_error(dq_console *console, const dq_error *error);

// Whether to print colours to `stream`, by --color, the variables NO_COLOR and TERM, and whether it is a terminal.
bool dq_color_wanted(const dq_common_options *common, FILE *stream);

#endif
