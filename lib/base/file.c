#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Streams are read whole. Neither a model nor an array is larger than this, nor a text than the other.
static const size_t LARGEST_STREAM = (size_t)2 << 30, LARGEST_TEXT = (size_t)64 << 20;

typedef struct stream_reader {
  uint8_t *data; // of dq_budget_alloc
  size_t used, capacity, most;
  dq_budget *budget;
} stream_reader;

static dq_status grow(stream_reader *reader, const char *path, dq_error *error) {
  if (reader->used == reader->most)
    return dq_fail(error, DQ_SYSTEM, "%s: more than %zu MiB, expected a shorter stream", path, reader->most >> 20);
  size_t capacity = reader->capacity + reader->capacity / 2 + (1 << 16);
  if (capacity > reader->most) capacity = reader->most;
  uint8_t *larger =
      reader->data ? dq_budget_realloc(reader->data, capacity) : dq_budget_alloc(reader->budget, capacity);
  if (larger) {
    reader->data = larger, reader->capacity = capacity;
    return DQ_OK;
  }
  dq_fail(error, DQ_SYSTEM, "%s: out of memory after %zu MiB: a stream is read whole, and counts against --memory",
          path, reader->used >> 20);
  dq_error_hint(error, "a regular file is mapped instead");
  return DQ_SYSTEM;
}

static dq_status read_all(stream_reader *reader, int descriptor, const char *path, dq_error *error) {
  for (;;) {
    if (reader->used == reader->capacity) DQ_TRY(grow(reader, path, error));
    ssize_t got = read(descriptor, reader->data + reader->used, reader->capacity - reader->used);
    if (got == 0) return DQ_OK;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return dq_fail_errno(error, path);
    reader->used += (size_t)got;
  }
}

static dq_status read_stream(dq_file *file, int descriptor, const char *path, size_t most, dq_budget *budget,
                             dq_error *error) {
  stream_reader reader = {.most = most, .budget = budget};
  dq_status status = read_all(&reader, descriptor, path, error);
  if (status == DQ_OK) *file = (dq_file){.data = reader.data, .size = reader.used, .heap = 1};
  else dq_budget_free(reader.data);
  return status;
}

typedef struct wanted {
  bool regular; // nothing but a regular file
  size_t most;  // bytes of a stream
  dq_budget *budget;
} wanted;

static dq_status map_or_read(dq_file *file, int descriptor, const char *path, const wanted *how, dq_error *error) {
  struct stat info;
  if (fstat(descriptor, &info)) return dq_fail_errno(error, path);
  if (S_ISDIR(info.st_mode)) return dq_fail(error, DQ_SYSTEM, "%s: is a folder, expected a file", path);
  bool regular = S_ISREG(info.st_mode);
  if (!regular && how->regular)
    return dq_fail(error, DQ_BAD_INPUT, "%s: a pipe or a device, expected a regular file", path);
  if (!regular || info.st_size == 0) return read_stream(file, descriptor, path, how->most, how->budget, error);
  void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return read_stream(file, descriptor, path, SIZE_MAX, how->budget, error);
  *file = (dq_file){.data = data, .size = (size_t)info.st_size, .mapped = 1};
  return DQ_OK;
}

static dq_status open_file(dq_file *file, const char *path, const wanted *how, dq_error *error) {
  memset(file, 0, sizeof *file);
  if (!strcmp(path, "-") && !how->regular)
    return read_stream(file, STDIN_FILENO, "standard input", how->most, how->budget, error);
  // Opening a pipe without O_NONBLOCK would wait for somebody to write into it.
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (how->regular ? O_NONBLOCK : 0));
  if (descriptor < 0) return dq_fail_errno(error, path);
  dq_status status = map_or_read(file, descriptor, path, how, error);
  close(descriptor);
  return status;
}

dq_status dq_file_open(dq_file *file, const char *path, dq_error *error) {
  return open_file(file, path, &(wanted){.most = LARGEST_TEXT}, error);
}

dq_status dq_file_open_regular(dq_file *file, const char *path, dq_error *error) {
  return open_file(file, path, &(wanted){.regular = true, .most = LARGEST_TEXT}, error);
}

dq_status dq_file_open_stream(dq_file *file, const char *path, dq_budget *budget, dq_error *error) {
  return open_file(file, path, &(wanted){.most = LARGEST_STREAM, .budget = budget}, error);
}

void dq_file_forget(const dq_file *file, const uint8_t *data, size_t size) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data;
  uintptr_t start = (from + page - 1) / page * page, end = (from + size) / page * page;
  if (file->mapped && end > start) (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

void dq_file_close(dq_file *file) {
  if (file->mapped) munmap((void *)(uintptr_t)file->data, file->size);
  if (file->heap) dq_budget_free((void *)(uintptr_t)file->data);
  memset(file, 0, sizeof *file);
}

void dq_path_folder(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  if (!slash) snprintf(folder, size, ".");
  else snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}
