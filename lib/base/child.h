// Commands of the user that run as a child process with a bounded time and everything they started.
#ifndef DQ_BASE_CHILD_H
#define DQ_BASE_CHILD_H

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

// Runs `command` by /bin/sh in a process group of its own and waits for it. Standard input is empty;
// standard output and error both go to the standard error of this process, through a pipe that is
// always read, so that no amount of output fills memory or blocks the command.
//
// When the time is over or context->stop is set, the group gets SIGTERM and half a second (after a
// stop 0.2 s); then, and when the command ends by itself, what is left of the group is killed. One
// command at a time. `context` may be NULL.
// DQ_CONDITION: it did not exit with 0; the message says how it ended ("exit status 3", "killed by
// signal 9", "time limit of 10 s"). DQ_CANCELLED; DQ_SYSTEM when it cannot be started.
dq_status dq_child_run(const char *command, const dq_child_options *options, const dq_context *context,
                       dq_error *error);

// Kills the group of the command that runs now, if any: for the signal handler of a command,
// async-signal-safe.
void dq_child_kill(void);

#endif
