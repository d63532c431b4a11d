// Files: read whole or mapped, written atomically (temporary file beside the target, then renamed).
#ifndef DQ_BASE_FILE_H
#define DQ_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

// The bytes of a file, mapped when it is a regular file and read into memory otherwise.
typedef struct dq_file {
  const uint8_t *data; // never NULL after a successful open
  size_t size;
  int mapped;
  int heap;
} dq_file;

// `path` "-" reads standard input. Errors name the path and the system's reason (DQ_SYSTEM). A pipe or a
// device is read to its end, up to 64 MB.
dq_status dq_file_open(dq_file *file, const char *path, dq_error *error);
// The same for what may be large: a stream is read up to 2 GB and counts against `budget`, which must outlive the
// file.
dq_status dq_file_open_stream(dq_file *file, const char *path, dq_budget *budget, dq_error *error);
// DQ_BAD_INPUT for anything but a regular file, without waiting for who might write into a pipe.
dq_status dq_file_open_regular(dq_file *file, const char *path, dq_error *error);
void dq_file_close(dq_file *file);
// The bytes from `data` on, part of the file, will hardly be read again: where the file is mapped
// their pages leave memory until somebody does.
void dq_file_forget(const dq_file *file, const uint8_t *data, size_t size);

// A file that appears under its name only when it is complete. Until then it has no name at all where the
// system can do that (O_TMPFILE), else one of its own, PATH.dq-partN, and is locked (flock).
typedef struct dq_output {
  FILE *stream;    // write here
  char *path;      // as given, for messages; NULL: standard output
  char *target;    // where symbolic links lead; NULL: a device or a pipe, written as it is
  char *temporary; // beside the target
  int lock;        // descriptor that holds the lock until the file has its name
  bool named;      // `temporary` exists
  bool registered; // for dq_output_remove_all, which takes `temporary` over
} dq_output;

// Fails when the folder is missing or not writable, or the path is a folder. "-" is standard output. A
// symbolic link stays, what it points to is written. Files that killed processes left beside the target are
// removed: those of its temporary names that nobody has locked.
dq_status dq_output_open(dq_output *output, const char *path, dq_error *error);
// Flushes, syncs and renames; on failure nothing is left behind and the old file stays.
dq_status dq_output_commit(dq_output *output, dq_error *error);
void dq_output_discard(dq_output *output); // safe after commit and on a zeroed struct

// Removes the temporary files of all outputs that are open: for the signal handler of a command, which ends the
// process. Async-signal-safe, in any thread; what other threads do meanwhile with an output fails.
void dq_output_remove_all(void);

// The path of what is written when `path` is: symbolic links are followed, the last of which may lead to a file
// that does not exist yet. For free(); NULL with errno when they lead nowhere or there is no memory.
char *dq_output_target(const char *path);

// Folder part of a path into `folder` ("." when there is none).
void dq_path_folder(const char *path, char *folder, size_t size);

#endif
