// Files: read whole or mapped, written atomically (temporary file beside the target, then renamed).
#ifndef DQ_BASE_FILE_H
#define DQ_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

// The bytes of a file. A regular file is mapped into memory; a pipe or a device is read.
typedef struct dq_file {
  const uint8_t *data; // never NULL after a successful open
  size_t size;
  int mapped;
  int heap;
} dq_file;

// Opens a file; `path` "-" is standard input. A pipe or a device is read to its end, at most 64 MB. DQ_SYSTEM, with
// the path and the reason of the system: the file cannot be opened or read, or a stream is longer.
dq_status dq_file_open(dq_file *file, const char *path, dq_error *error);
// Opens a file that may be large, as dq_file_open does: a pipe or a device is read up to 2 GB, and its bytes count
// against `budget` (NULL: none), which must outlive the file.
dq_status dq_file_open_stream(dq_file *file, const char *path, dq_budget *budget, dq_error *error);
// Opens a regular file as dq_file_open does; DQ_BAD_INPUT: it is none. Opening a pipe without a writer does not block.
dq_status dq_file_open_regular(dq_file *file, const char *path, dq_error *error);
// Unmaps or frees the bytes; a zeroed struct is allowed.
void dq_file_close(dq_file *file);
// Tells the system that `size` bytes at `data`, inside the file, are not needed for now. Where the file is mapped the
// system may reuse their memory, and reads the file again when somebody needs them. The contents do not change.
void dq_file_forget(const dq_file *file, const uint8_t *data, size_t size);

// A file that appears under its name only when it is complete. Until then it has no name where the file system supports
// that (O_TMPFILE); elsewhere its name is PATH.dq-partN, and the file is locked (flock).
typedef struct dq_output {
  FILE *stream;    // the caller writes here
  char *path;      // as given, for messages; NULL: standard output
  char *target;    // `path` with symbolic links resolved; NULL: a device or a pipe, which is written directly
  char *temporary; // path of the unfinished file, in the folder of the target
  int lock;        // descriptor that holds the lock until the file has its name
  bool named;      // `temporary` exists
  bool registered; // dq_output_remove_all removes the file `temporary`, whose name it frees nowhere
} dq_output;

// Opens an unfinished file for `path`; "-" is standard output. A symbolic link stays, and the file that it points to is
// written. Unfinished files of killed processes for the same target are removed: those that no process has locked.
// DQ_SYSTEM: the folder is missing or not writable, or the path is a folder.
dq_status dq_output_open(dq_output *output, const char *path, dq_error *error);
// Flushes the file, syncs it to the disk and gives it its name. DQ_SYSTEM: nothing is left behind, and a file that had
// the name before stays.
dq_status dq_output_commit(dq_output *output, dq_error *error);
// Closes and removes the unfinished file. Nothing happens after dq_output_commit and on a zeroed struct.
void dq_output_discard(dq_output *output);

// Registers a file, or a folder behind the files in it, that dq_output_remove_all removes where it exists, until it is
// forgotten. At most 64 paths of a process are; further ones stay. `path` must live until then.
void dq_output_register_path(const char *path);
void dq_output_forget_path(const char *path);
// Removes the unfinished files of all open outputs of the process and what is registered, for a signal handler that
// ends the process.
// Async-signal-safe, in any thread. Operations of other threads on an open output fail afterwards.
void dq_output_remove_all(void);

// The path of the file that is written when `path` is opened: symbolic links are resolved; the last one may lead to a
// file that does not exist yet. The caller frees the result with free(). NULL, with errno set, when a link cannot be
// resolved or there is no memory.
char *dq_output_target(const char *path);

// Whether two paths lead to one file, which need not be there yet. False also when a folder is missing, and for "-".
bool dq_same_file(const char *a, const char *b);

// Copies the folder of a path into `folder` of `size` bytes; "." when the path has no folder.
void dq_path_folder(const char *path, char *folder, size_t size);

#endif
