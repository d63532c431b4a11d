#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static dq_status read_stream(dq_file *file, int descriptor, const char *path, dq_error *error) {
  size_t room = 1 << 16, used = 0;
  uint8_t *data = malloc(room);
  for (;;) {
    if (used == room) {
      uint8_t *larger = realloc(data, room *= 2);
      if (!larger) free(data);
      data = larger;
    }
    if (!data) return dq_fail_memory(error, room);
    ssize_t got = read(descriptor, data + used, room - used);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      dq_fail_errno(error, path);
      free(data);
      return DQ_SYSTEM;
    }
    used += (size_t)got;
  }
  *file = (dq_file){.data = data, .size = used, .heap = 1};
  return DQ_OK;
}

static dq_status map_or_read(dq_file *file, int descriptor, const char *path, dq_error *error) {
  struct stat info;
  if (fstat(descriptor, &info)) return dq_fail_errno(error, path);
  if (S_ISDIR(info.st_mode)) return dq_fail(error, DQ_SYSTEM, "%s: is a folder", path);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return read_stream(file, descriptor, path, error);
  void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return read_stream(file, descriptor, path, error);
  *file = (dq_file){.data = data, .size = (size_t)info.st_size, .mapped = 1};
  return DQ_OK;
}

dq_status dq_file_open(dq_file *file, const char *path, dq_error *error) {
  memset(file, 0, sizeof *file);
  if (!strcmp(path, "-")) return read_stream(file, STDIN_FILENO, "standard input", error);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return dq_fail_errno(error, path);
  dq_status status = map_or_read(file, descriptor, path, error);
  close(descriptor);
  return status;
}

void dq_file_forget(const dq_file *file, const uint8_t *data, size_t size) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data;
  uintptr_t start = (from + page - 1) / page * page, end = (from + size) / page * page;
  if (file->mapped && end > start) (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

void dq_file_close(dq_file *file) {
  if (file->mapped) munmap((void *)(uintptr_t)file->data, file->size);
  if (file->heap) free((void *)(uintptr_t)file->data);
  memset(file, 0, sizeof *file);
}

// Names of open temporary files, for the signal handler; a slot is free when NULL.
enum { OPEN_OUTPUTS = 16 };
static char *volatile open_temporaries[OPEN_OUTPUTS];

static void register_temporary(char *path) {
  for (int i = 0; i < OPEN_OUTPUTS; i++)
    if (!open_temporaries[i]) {
      open_temporaries[i] = path;
      return;
    }
}

static void unregister_temporary(const char *path) {
  for (int i = 0; i < OPEN_OUTPUTS; i++)
    if (open_temporaries[i] == path) open_temporaries[i] = NULL;
}

void dq_output_remove_all(void) {
  for (int i = 0; i < OPEN_OUTPUTS; i++)
    if (open_temporaries[i]) unlink(open_temporaries[i]);
}

// A device or a pipe is written to, never replaced by a file.
static dq_status open_device(dq_output *output, const char *path, dq_error *error) {
  output->path = strdup(path);
  if (!output->path) return dq_fail_memory(error, strlen(path));
  output->stream = fopen(path, "wbe");
  if (output->stream) return DQ_OK;
  dq_fail_errno(error, path);
  dq_output_discard(output);
  return DQ_SYSTEM;
}

dq_status dq_output_open(dq_output *output, const char *path, dq_error *error) {
  memset(output, 0, sizeof *output);
  if (!strcmp(path, "-")) {
    output->stream = stdout;
    return DQ_OK;
  }
  struct stat info;
  bool exists = !stat(path, &info);
  if (exists && S_ISDIR(info.st_mode))
    return dq_fail(error, DQ_SYSTEM, "%s: is a folder, expected a file name", path);
  if (exists && !S_ISREG(info.st_mode)) return open_device(output, path, error);
  size_t length = strlen(path);
  output->path = strdup(path);
  output->temporary = malloc(length + 16);
  if (!output->path || !output->temporary) {
    dq_output_discard(output);
    return dq_fail_memory(error, length);
  }
  memcpy(output->temporary, path, length);
  memcpy(output->temporary + length, ".XXXXXX", 8);
  int descriptor = mkostemp(output->temporary, O_CLOEXEC);
  if (descriptor < 0) {
    dq_fail_errno(error, path);
    free(output->temporary);
    output->temporary = NULL;
    dq_output_discard(output);
    return DQ_SYSTEM;
  }
  register_temporary(output->temporary);
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, 0666 & ~mask) || !(output->stream = fdopen(descriptor, "wb"))) {
    dq_fail_errno(error, path);
    close(descriptor);
    dq_output_discard(output);
    return DQ_SYSTEM;
  }
  return DQ_OK;
}

dq_status dq_output_commit(dq_output *output, dq_error *error) {
  const char *path = output->path ? output->path : "standard output";
  int failed = fflush(output->stream) || ferror(output->stream);
  if (output->path && !failed) failed = fsync(fileno(output->stream)) && errno != EINVAL;
  if (failed) {
    dq_fail_errno(error, path);
    dq_output_discard(output);
    return DQ_SYSTEM;
  }
  if (!output->path) return DQ_OK;
  failed = fclose(output->stream);
  output->stream = NULL;
  if (failed || (output->temporary && rename(output->temporary, output->path))) {
    dq_fail_errno(error, path);
    dq_output_discard(output);
    return DQ_SYSTEM;
  }
  if (output->temporary) unregister_temporary(output->temporary);
  free(output->temporary);
  output->temporary = NULL;
  dq_output_discard(output);
  return DQ_OK;
}

void dq_output_discard(dq_output *output) {
  if (output->stream && output->path) fclose(output->stream);
  if (output->temporary) {
    unlink(output->temporary);
    unregister_temporary(output->temporary);
  }
  free(output->temporary);
  free(output->path);
  memset(output, 0, sizeof *output);
}

void dq_path_folder(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  if (!slash) snprintf(folder, size, ".");
  else snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}
