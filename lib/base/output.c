// Outputs: written whole or not at all.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"

// A temporary file has one of MOST_WRITERS names of its target; the first USUAL_WRITERS names are looked at for files
// that killed processes left.
enum { USUAL_WRITERS = 8, MOST_WRITERS = 1000 };
enum { MOST_LINKS = 40, READABLE = 0666 }; // less the umask

// ---- Temporary files that a signal handler must remove ----

// A slot is free when NULL.
enum { OPEN_OUTPUTS = 16 };
static _Atomic(char *) open_temporaries[OPEN_OUTPUTS];

static void register_temporary(dq_output *output) {
  for (int i = 0; i < OPEN_OUTPUTS && !output->registered; i++) {
    char *none = NULL;
    output->registered = atomic_compare_exchange_strong(&open_temporaries[i], &none, output->temporary);
  }
}

// A name that is no longer in its slot belongs to a handler, which may run in another thread and ends the process.
static void unregister_temporary(dq_output *output) {
  for (int i = 0; i < OPEN_OUTPUTS && output->registered; i++) {
    char *own = output->temporary;
    output->registered = !atomic_compare_exchange_strong(&open_temporaries[i], &own, NULL);
  }
  if (output->registered) output->temporary = NULL;
  output->registered = false;
}

// ---- Other files that a signal handler must remove ----

enum { REGISTERED_PATHS = 64 };
static _Atomic(const char *) registered_paths[REGISTERED_PATHS];

void dq_output_register_path(const char *path) {
  const char *none = NULL;
  for (int i = 0; i < REGISTERED_PATHS && !atomic_compare_exchange_strong(&registered_paths[i], &none, path); i++)
    none = NULL;
}

void dq_output_forget_path(const char *path) {
  for (int i = 0; i < REGISTERED_PATHS; i++) {
    const char *own = path;
    atomic_compare_exchange_strong(&registered_paths[i], &own, NULL);
  }
}

void dq_output_remove_all(void) {
  for (int i = 0; i < REGISTERED_PATHS; i++) {
    const char *path = atomic_exchange(&registered_paths[i], NULL);
    if (path && unlink(path)) rmdir(path);
  }
  for (int i = 0; i < OPEN_OUTPUTS; i++) {
    const char *path = atomic_exchange(&open_temporaries[i], NULL);
    if (path) unlink(path);
  }
}

// ---- Names ----

// Where a symbolic link at `path` points, from where `path` counts; NULL when it is none.
static char *link_target(const char *path) {
  char to[PATH_MAX], folder[PATH_MAX], *joined;
  ssize_t length = readlink(path, to, sizeof to - 1);
  if (length < 0) return NULL;
  to[length] = 0;
  if (*to == '/') return strdup(to);
  dq_path_folder(path, folder, sizeof folder);
  return asprintf(&joined, "%s/%s", folder, to) < 0 ? NULL : joined;
}

char *dq_output_target(const char *path) {
  char *target = strdup(path);
  struct stat info;
  for (int links = 0; target && !lstat(target, &info) && S_ISLNK(info.st_mode); links++) {
    char *next = links < MOST_LINKS ? link_target(target) : NULL;
    if (links == MOST_LINKS) errno = ELOOP;
    free(target);
    target = next;
  }
  return target;
}

bool dq_same_file(const char *a, const char *b) {
  struct stat of_a, of_b;
  char *targets[] = {dq_output_target(a), dq_output_target(b)}, folder[4096];
  bool known = targets[0] && targets[1] && strcmp(a, "-") != 0 && strcmp(b, "-") != 0, same = false;
  if (known && !stat(targets[0], &of_a) && !stat(targets[1], &of_b)) {
    same = of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  } else if (known) { // one name in one folder
    const char *slash_a = strrchr(targets[0], '/'), *slash_b = strrchr(targets[1], '/');
    same = !strcmp(slash_a ? slash_a + 1 : targets[0], slash_b ? slash_b + 1 : targets[1]);
    dq_path_folder(targets[0], folder, sizeof folder);
    same = same && !stat(folder, &of_a);
    dq_path_folder(targets[1], folder, sizeof folder);
    same = same && !stat(folder, &of_b) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  free(targets[0]);
  free(targets[1]);
  return same;
}

static bool set_temporary_name(dq_output *output, int number) {
  free(output->temporary);
  if (asprintf(&output->temporary, "%s.dq-part%d", output->target, number) < 0) output->temporary = NULL;
  return output->temporary != NULL;
}

static bool is_named(int descriptor, const char *path) {
  struct stat own, named;
  return !fstat(descriptor, &own) && !lstat(path, &named) && own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

// ---- What killed processes left ----

// Whoever has the lock of a file that has its name is the only one to take that name away.
static void remove_unlocked(const char *path) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat info;
  bool file = !fstat(descriptor, &info) && S_ISREG(info.st_mode);
  if (file && !flock(descriptor, LOCK_EX | LOCK_NB) && is_named(descriptor, path)) unlink(path);
  close(descriptor);
}

static void remove_stale(dq_output *output) {
  for (int i = 0; i < USUAL_WRITERS && set_temporary_name(output, i); i++) remove_unlocked(output->temporary);
}

// ---- Opening ----

// A device or a pipe is written to, never replaced by a file.
static dq_status open_device(dq_output *output, const char *path, dq_error *error) {
  output->stream = fopen(path, "wbe");
  if (output->stream) return DQ_OK;
  dq_fail_errno(error, path);
  dq_output_discard(output);
  return DQ_SYSTEM;
}

// A file without a name, which a name can be given to later; -1 where the system cannot do that.
static int open_unnamed(const char *target) {
  char folder[PATH_MAX], link[64];
  dq_path_folder(target, folder, sizeof folder);
  int descriptor = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, READABLE);
  if (descriptor < 0) return -1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  if (!access(link, F_OK)) return descriptor;
  close(descriptor);
  return -1;
}

// Makes and locks a temporary file. Another run that takes it for one of a killed process may remove it before it is
// locked; then the next name is tried.
static int open_named(dq_output *output) {
  for (int i = 0; i < MOST_WRITERS && set_temporary_name(output, i); i++) {
    int descriptor = open(output->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, READABLE);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return -1;
    (void)flock(descriptor, LOCK_EX); // where it cannot be locked, nobody removes it either
    if (is_named(descriptor, output->temporary)) {
      output->named = true;
      register_temporary(output);
      return descriptor;
    }
    close(descriptor);
  }
  return -1;
}

static bool open_temporary(dq_output *output) {
  remove_stale(output);
  int descriptor = open_unnamed(output->target);
  if (descriptor >= 0) (void)flock(descriptor, LOCK_EX | LOCK_NB);
  else descriptor = open_named(output);
  if (descriptor < 0) return false;
  output->lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0); // outlives the stream
  output->stream = output->lock < 0 ? NULL : fdopen(descriptor, "wb");
  if (!output->stream) close(descriptor);
  return output->stream != NULL;
}

dq_status dq_output_open(dq_output *output, const char *path, dq_error *error) {
  *output = (dq_output){.lock = -1};
  if (!strcmp(path, "-")) {
    output->stream = stdout;
    return DQ_OK;
  }
  struct stat info;
  bool exists = !stat(path, &info);
  if (exists && S_ISDIR(info.st_mode)) return dq_fail(error, DQ_SYSTEM, "%s: is a folder, expected a file name", path);
  output->path = strdup(path);
  if (!output->path) return dq_fail_memory(error, strlen(path));
  if (exists && !S_ISREG(info.st_mode)) return open_device(output, path, error);
  output->target = dq_output_target(path);
  if (output->target && open_temporary(output)) return DQ_OK;
  dq_fail_errno(error, path);
  dq_output_discard(output);
  return DQ_SYSTEM;
}

// ---- Closing ----

// Gives a file without a name its temporary one.
static bool give_name(dq_output *output) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", output->lock);
  for (int i = 0; i < MOST_WRITERS && !output->named && set_temporary_name(output, i); i++) {
    register_temporary(output);
    output->named = !linkat(AT_FDCWD, link, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
    if (!output->named) unregister_temporary(output);
    if (!output->named && errno != EEXIST) return false;
  }
  return output->named;
}

static bool put_in_place(dq_output *output) {
  if (!give_name(output) || rename(output->temporary, output->target)) return false;
  unregister_temporary(output);
  output->named = false;
  return true;
}

dq_status dq_output_commit(dq_output *output, dq_error *error) {
  const char *path = output->path ? output->path : "standard output";
  bool good = !fflush(output->stream) && !ferror(output->stream);
  if (output->path && good) good = !fsync(fileno(output->stream)) || errno == EINVAL;
  if (good && !output->path) return DQ_OK;
  if (good) {
    good = !fclose(output->stream);
    output->stream = NULL;
  }
  if (good && output->target) good = put_in_place(output);
  if (!good) dq_fail_errno(error, path);
  dq_output_discard(output);
  return good ? DQ_OK : DQ_SYSTEM;
}

void dq_output_discard(dq_output *output) {
  if (output->stream && output->path) fclose(output->stream);
  if (output->named) {
    unlink(output->temporary);
    unregister_temporary(output);
  }
  if (output->target && output->lock >= 0) close(output->lock);
  free(output->temporary);
  free(output->target);
  free(output->path);
  *output = (dq_output){.lock = -1};
}
