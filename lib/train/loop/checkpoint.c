#include "lib/train/loop/checkpoint.h"

#include <string.h>
#include <xxhash.h>

#include "lib/base/file.h"

static const char first_line[] = "dq-train checkpoint 1\n"; // with the version of the format
enum { FIRST = sizeof first_line - 1, VERSION_AT = FIRST - 2, VERSION = 1 };

// ---- Saving ----

typedef struct writer {
  FILE *stream;
  XXH64_state_t *hash;
  bool failed;
} writer;

static void put(writer *w, const void *data, size_t bytes) {
  if (!bytes) return;
  w->failed = w->failed || fwrite(data, 1, bytes, w->stream) != bytes;
  XXH64_update(w->hash, data, bytes);
}

// The text ends with its zero byte.
static bool write_all(const dq_checkpoint *checkpoint, writer *w) {
  XXH64_reset(w->hash, 0);
  put(w, first_line, FIRST);
  put(w, checkpoint->settings, strlen(checkpoint->settings) + 1);
  for (int i = 0; i < checkpoint->count; i++) put(w, checkpoint->parts[i].data, checkpoint->parts[i].bytes);
  const uint64_t hash = XXH64_digest(w->hash);
  put(w, &hash, sizeof hash);
  return !w->failed && !fflush(w->stream);
}

dq_status dq_checkpoint_save(const dq_checkpoint *checkpoint, dq_error *error) {
  dq_output output = {0};
  DQ_TRY(dq_output_open(&output, checkpoint->path, error));
  writer w = {.stream = output.stream, .hash = XXH64_createState()};
  dq_status status = w.hash ? DQ_OK : dq_fail_memory(error, 0);
  if (status == DQ_OK && !write_all(checkpoint, &w)) status = dq_fail_errno(error, checkpoint->path);
  if (status == DQ_OK) status = dq_output_commit(&output, error);
  dq_output_discard(&output);
  XXH64_freeState(w.hash);
  return status;
}

// ---- Loading ----

// The first line that differs, of both texts, for the message.
static dq_status compare_settings(const dq_checkpoint *checkpoint, const char *there, dq_error *error) {
  const char *here = checkpoint->settings;
  while (*here || *there) {
    const size_t a = strcspn(here, "\n"), b = strcspn(there, "\n");
    if (a != b || memcmp(here, there, a))
      return dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint is of another training: %.*s there, %.*s here",
                     checkpoint->path, (int)b, there, (int)a, here);
    here += a + (here[a] != 0), there += b + (there[b] != 0);
  }
  return DQ_OK;
}

static dq_status read_parts(const dq_checkpoint *checkpoint, const uint8_t *data, size_t bytes, dq_error *error) {
  size_t wanted = 0;
  for (int i = 0; i < checkpoint->count; i++) wanted += checkpoint->parts[i].bytes;
  if (bytes != wanted)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint is of another training: %zu bytes of state, expected %zu",
                   checkpoint->path, bytes, wanted);
  for (int i = 0; i < checkpoint->count; data += checkpoint->parts[i++].bytes)
    if (checkpoint->parts[i].bytes) memcpy(checkpoint->parts[i].data, data, checkpoint->parts[i].bytes);
  return DQ_OK;
}

// The first line: a checkpoint, and of our version.
static dq_status check_first_line(const char *path, const dq_file *file, dq_error *error) {
  const char *line = (const char *)file->data;
  if (file->size >= FIRST && !memcmp(line, first_line, FIRST)) return DQ_OK;
  size_t end = VERSION_AT;
  if (file->size >= FIRST && !memcmp(line, first_line, VERSION_AT))
    while (end < file->size && end < VERSION_AT + 9 && line[end] >= '0' && line[end] <= '9') end++;
  if (end == VERSION_AT) return dq_fail(error, DQ_BAD_INPUT, "%s: not a checkpoint of dq-train", path);
  dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint has version %.*s, expected %d", path, (int)(end - VERSION_AT),
          line + VERSION_AT, VERSION);
  dq_error_hint(error, "go on with the dq that wrote the checkpoint, or train anew without --resume");
  return DQ_BAD_INPUT;
}

static dq_status read_all(const dq_checkpoint *checkpoint, const dq_file *file, dq_error *error) {
  const char *path = checkpoint->path;
  uint64_t hash;
  DQ_TRY(check_first_line(path, file, error));
  if (file->size < FIRST + sizeof hash)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint is truncated after %zu bytes", path, file->size);
  const size_t body = file->size - sizeof hash;
  memcpy(&hash, file->data + body, sizeof hash);
  if (XXH64(file->data, body, 0) != hash)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint is truncated or broken: the hash of its %zu bytes differs",
                   path, file->size);
  const char *settings = (const char *)file->data + FIRST;
  const size_t length = strnlen(settings, body - FIRST);
  if (length == body - FIRST) return dq_fail(error, DQ_BAD_INPUT, "%s: the checkpoint has no end of settings", path);
  DQ_TRY(compare_settings(checkpoint, settings, error));
  return read_parts(checkpoint, file->data + FIRST + length + 1, body - FIRST - length - 1, error);
}

dq_status dq_checkpoint_load(const dq_checkpoint *checkpoint, dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open_regular(&file, checkpoint->path, error));
  dq_status status = read_all(checkpoint, &file, error);
  dq_file_close(&file);
  return status;
}
