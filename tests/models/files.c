#include "tests/models/files.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/onnx/onnx.h"

int copy_model(const char *from, const char *to) {
  dq_error error = {0};
  dq_graph *graph = NULL;
  dq_status status = dq_onnx_load(&graph, from, NULL, &error);
  if (status == DQ_OK) status = dq_onnx_save(graph, to, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  dq_graph_free(graph);
  return status;
}

int contains(const char *whole, const char *part) {
  dq_file a, b;
  dq_error error = {0};
  if (dq_file_open(&a, whole, &error) != DQ_OK || dq_file_open(&b, part, &error) != DQ_OK) return 5;
  int found = b.size && memmem(a.data, a.size, b.data, b.size);
  dq_file_close(&a);
  dq_file_close(&b);
  return !found;
}
