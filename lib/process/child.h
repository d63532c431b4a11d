// Runs a command of the user in a child process, with a time limit, and ends every process that the command started.
#ifndef DQ_PROCESS_CHILD_H
#define DQ_PROCESS_CHILD_H

#include <stdint.h>

#include "lib/base/context.h"

typedef struct dq_variable {
  const char *name, *value;
} dq_variable;

typedef struct dq_child_options {
  const dq_variable *variables; // added to the environment
  int variable_count;
  double time_limit;    // seconds, 0: none
  int64_t output_limit; // bytes of output passed on; the rest is read and dropped. 0: 1 MB
} dq_child_options;

// Runs `command` by /bin/sh in a process group of its own and waits for its end. Its standard input is empty. Its
// standard output and standard error both go to the standard error of this process, through a pipe that is read all the
// time: output beyond the limit is dropped, and never blocks the command.
//
// When the time is over or context->stop is set, the group gets SIGTERM, and SIGKILL half a second later (0.2 s after
// a stop). When the command ends by itself, processes of the group that still run are killed. A process runs one
// command at a time. `context` may be NULL.
//
// DQ_CONDITION: the command did not exit with status 0; the message has the reason, such as "the command ended
// with exit status 3". DQ_CANCELLED: context->stop was set. DQ_SYSTEM: the command cannot be started.
dq_status dq_child_run(const char *command, const dq_child_options *options, const dq_context *context,
                       dq_error *error);

// Kills the process group of the command that runs now, if there is one. Async-signal-safe, for signal handlers.
void dq_child_kill(void);

#endif
