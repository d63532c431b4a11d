// The result of every function that can fail: a status, which is also the exit status of a command, and a message of
// one line for the person who gave the command.
#ifndef DQ_BASE_STATUS_H
#define DQ_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum dq_status {
  DQ_OK = 0,
  DQ_CONDITION = 1,   // the work is done, and a condition that the user set does not hold
  DQ_USAGE = 2,       // an option or an argument is wrong
  DQ_BAD_INPUT = 3,   // an input is broken, or does not fit another input
  DQ_UNSUPPORTED = 4, // the input is valid, but dq does not support it
  DQ_SYSTEM = 5,      // no memory, no space on the disk, no permission, no such file
  DQ_CANCELLED = 130, // the user interrupted the work, or its deadline passed
} dq_status;

// The function that fails fills the struct; its callers put the place in front of the message ("node 'conv1': ").
typedef struct dq_error {
  dq_status status;
  char message[1024]; // no trailing period, no newline, names in single quotes
  char hint[256];     // optional second line, without "hint: "
} dq_error;

// In all functions `error` may be NULL: then only the status is returned. Longer messages are cut off.

// Sets status and message (printf style), clears the hint, and returns the status.
dq_status dq_fail(dq_error *error, dq_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Puts the formatted text and ": " in front of the message, and returns `status`.
dq_status dq_error_prefix(dq_error *error, dq_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Sets the hint: a second line on what to do. dq_fail must be called before it.
void dq_error_hint(dq_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Reports that an allocation of `bytes` bytes (0: unknown) failed. Returns DQ_SYSTEM.
dq_status dq_fail_memory(dq_error *error, size_t bytes);

// Reports that a system call on `path` failed, with the reason in errno. Returns DQ_SYSTEM.
dq_status dq_fail_errno(dq_error *error, const char *path);

// Evaluates an expression once, and returns its status from the calling function unless it is DQ_OK.
#define DQ_TRY(expression)                                                                                             \
  do {                                                                                                                 \
    dq_status dq_try_status = (expression);                                                                            \
    if (dq_try_status != DQ_OK) return dq_try_status;                                                                  \
  } while (0)

#endif
