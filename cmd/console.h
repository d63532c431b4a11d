// Standard error of a command: messages, errors, hints and progress.
#ifndef DQ_CMD_CONSOLE_H
#define DQ_CMD_CONSOLE_H

#include "cmd/options.h"

typedef struct dq_console {
  const char *command; // in front of every line
  bool verbose, quiet;
  bool bar, plain;    // how progress is shown; neither: not at all
  int width;          // columns of the terminal
  bool color;         // of messages
  bool drawn;         // a bar stands on the line now
  char what[64];      // the work in progress
  double start, last; // seconds: when it began and when it was last shown
} dq_console;

void dq_console_init(dq_console *console, const dq_common_options *common);

// The functions of a dq_context whose user is the console. Called by one thread at a time.
void dq_console_message(void *console, dq_severity severity, const char *text);
void dq_console_progress(void *console, const char *what, int64_t done, int64_t total);

// A name that comes from a file: control characters, which would break the line or the terminal, become '?'.
void dq_print_name(FILE *stream, const char *text);

void dq_console_clear(dq_console *console); // takes the bar off the terminal

// "dq-int8: message" and, when there is one, "hint: ...".
void dq_console_error(dq_console *console, const dq_error *error);

// Whether `stream` wants colour by --color, NO_COLOR and TERM.
bool dq_color_wanted(const dq_common_options *common, FILE *stream);

#endif
