#include "cmd/shared/write_model.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cmd/shared/data.h"
#include "lib/base/tensor.h"
#include "lib/onnx/onnx.h"

enum { KIB = 1024, LITTLE = 8 * KIB }; // bytes; names and scales of a small network take LITTLE

static int64_t bytes_of(const char *path) {
  struct stat found;
  return path && !stat(path, &found) && S_ISREG(found.st_mode) ? (int64_t)found.st_size : -1;
}

// The file, or its weights where these stand in files beside it.
static int64_t size_of(const char *path, int64_t weights) {
  int64_t bytes = bytes_of(path);
  return bytes >= 0 && bytes < weights ? weights : bytes;
}

void dq_note_growth(const dq_graph *original, const dq_graph *made, const char *path, const dq_context *context) {
  int64_t weights[] = {dq_constant_bytes(original), dq_constant_bytes(made)};
  int64_t before = size_of(original->path, weights[0]), after = size_of(path, weights[1]);
  if (before <= 0 || after <= before + LITTLE) return;
  dq_message(context, DQ_NOTE,
             "%s is larger than its model, %.1f KiB in place of %.1f KiB (%.0f %%): weights take %.1f KiB in place of "
             "%.1f KiB, and there are %d nodes in place of %d",
             path, (double)after / KIB, (double)before / KIB, 100 * (double)after / (double)before,
             (double)weights[1] / KIB, (double)weights[0] / KIB, made->node_count, original->node_count);
}

dq_status dq_write_model(const dq_graph *original, const dq_graph *made, const char *path, const dq_context *context,
                         dq_error *error) {
  DQ_TRY(dq_onnx_save(made, path, error));
  DQ_TRY(dq_verify_model(path, context, error));
  dq_note_growth(original, made, path, context);
  return DQ_OK;
}
