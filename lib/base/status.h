// The result of every function that can fail: a status, which is also the exit status of a command, and a message of
// one line for the person who gave the command.
//
// Rules that hold for the functions of all headers where a comment says nothing else (lib/dq.h has those of the public
// interface, lib/kernels/table/kernel_table.h those of kernels):
//
// NULL. A pointer argument is not NULL, and a returned pointer is not NULL. `error` may be NULL in every function: then
// only the status is returned.
//
// Arguments. name[count] is an array of `count` elements. Indices count from 0 and lie below the number of elements;
// values of an enum are rows of that enum. The caller sees to all of this; functions do not check it. Texts end with a
// zero byte; names and messages are UTF-8. A tensor has its elements in row-major order without gaps.
//
// Results. A function that opens, makes or fills *result does not read what the struct held before. A function that
// adds to a struct, or whose comment asks for it, needs the struct zeroed at first.
//
// Ownership. What is "in the arena" is allocated from the arena that the function is given, or that the struct names,
// and is freed with this arena as a whole. Memory that a function needs only while it runs may stay in its arena until
// then, also after a failure. A pointer in a result whose comment names no owner points into an argument, which must
// outlive the result.
//
// Failures. The outputs of a function that fails mean nothing, and what it changes in place may be changed in part;
// arguments behind `const` are unchanged. A failed _open or _new leaves nothing to close or free unless its comment
// says "also after a failure". Every function that returns a status and allocates can return DQ_SYSTEM: there is no
// memory, or the budget of the context is used up. Every function with a context that runs a network, or reads many
// pictures, can return DQ_CANCELLED. Comments may leave out these two. "Statuses as f" says that those of f are
// returned as well, with what they mean there.
//
// Threads. A function may be called from any thread, but an object is for one thread at a time while a function changes
// it; several threads may read an object at the same time through `const` pointers. An arena, and a context with
// threads (dq_context.pool runs one loop at a time), are for one thread at a time. docs/ARCHITECTURE.md lists the state
// of the process that lies outside of all objects.
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

// Sets status and message (printf style), clears the hint, and returns the status. Messages and hints that are longer
// than the fields of dq_error are cut off.
dq_status dq_fail(dq_error *error, dq_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Puts the formatted text and ": " in front of the message, sets the status, and returns it.
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
