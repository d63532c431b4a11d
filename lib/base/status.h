// Results of everything that can fail: a status (which is also the exit status of a command) and a
// one-line message written for the person who typed the command.
#ifndef DQ_BASE_STATUS_H
#define DQ_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum dq_status {
  DQ_OK = 0,
  DQ_CONDITION = 1,   // done, but a condition the user set does not hold
  DQ_USAGE = 2,       // the command line is wrong
  DQ_BAD_INPUT = 3,   // an input is broken or does not fit
  DQ_UNSUPPORTED = 4, // the input is valid but not supported
  DQ_SYSTEM = 5,      // memory, disk, permission
  DQ_CANCELLED = 130, // the user pressed Ctrl-C
} dq_status;

// Filled by the function that fails; callers up the stack put the place in front ("node 'conv1': ").
typedef struct dq_error {
  dq_status status;
  char message[1024]; // no trailing period, no newline, names in single quotes
  char hint[256];     // optional second line, without "hint: "
} dq_error;

// Sets status and message (printf style) and returns the status. `error` may be NULL.
dq_status dq_fail(dq_error *error, dq_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Puts "prefix: " in front of the message already there; returns error->status.
dq_status dq_error_prefix(dq_error *error, dq_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Sets the hint line.
void dq_error_hint(dq_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The DQ_SYSTEM failure of an allocation of `bytes` bytes.
dq_status dq_fail_memory(dq_error *error, size_t bytes);

// The DQ_SYSTEM failure of a system call on `path`, with the reason of errno.
dq_status dq_fail_errno(dq_error *error, const char *path);

// Passes a failure on to the caller.
#define DQ_TRY(expression)                                                                                             \
  do {                                                                                                                 \
    dq_status dq_try_status = (expression);                                                                            \
    if (dq_try_status != DQ_OK) return dq_try_status;                                                                  \
  } while (0)

#endif
