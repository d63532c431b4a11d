// Tensors stored beside the model. A path is only followed inside the model's folder.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

typedef struct external_place {
  const char *location;
  uint64_t offset, length;
  bool has_length;
} external_place;

static bool parse_number(const char *text, uint64_t *number) {
  if (!text || text[0] < '0' || text[0] > '9') return false;
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return !errno && !*end;
}

static dq_status read_place(const Onnx__TensorProto *proto, external_place *place, dq_error *error) {
  memset(place, 0, sizeof *place);
  for (size_t i = 0; i < proto->n_external_data; i++) {
    const char *key = proto->external_data[i]->key, *value = proto->external_data[i]->value;
    if (!key || !value) continue;
    bool good = true;
    if (!strcmp(key, "location")) place->location = value;
    else if (!strcmp(key, "offset")) good = parse_number(value, &place->offset);
    else if (!strcmp(key, "length")) good = place->has_length = parse_number(value, &place->length);
    if (!good) return dq_fail(error, DQ_BAD_INPUT, "external data: %s is '%s', expected a number", key, value);
  }
  return place->location ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "external data has no location");
}

static bool path_escapes(const char *location) {
  if (location[0] == '/' || !location[0]) return true;
  for (const char *part = location; *part;) {
    size_t length = strcspn(part, "/");
    if (length == 2 && part[0] == '.' && part[1] == '.') return true;
    part += length;
    if (*part) part++;
  }
  return false;
}

static dq_status open_external(dq_document *document, const char *location, dq_external **opened, dq_error *error) {
  for (*opened = document->externals; *opened; *opened = (*opened)->next)
    if (!strcmp((*opened)->path, location)) return DQ_OK;
  if (path_escapes(location))
    return dq_fail(error, DQ_BAD_INPUT, "external data '%s' is outside the model's folder", location);
  char *folder = realpath(document->folder, NULL);
  char *joined = dq_arena_printf(document->arena, "%s/%s", document->folder, location);
  char *real = joined && folder ? realpath(joined, NULL) : NULL;
  size_t length = folder ? strlen(folder) : 0;
  dq_status status = DQ_OK;
  if (!real) status = dq_fail(error, DQ_BAD_INPUT, "external data '%s': %s", location, strerror(errno));
  else if (strncmp(real, folder, length) || (real[length] != '/' && strcmp(folder, "/")))
    status = dq_fail(error, DQ_BAD_INPUT, "external data '%s' is outside the model's folder", location);
  dq_external *external = status == DQ_OK ? DQ_NEW(document->arena, dq_external) : NULL;
  if (status == DQ_OK && !external) status = dq_fail_memory(error, sizeof *external);
  if (status == DQ_OK) status = dq_file_open_regular(&external->file, real, error);
  free(folder);
  free(real);
  DQ_TRY(status);
  external->path = dq_arena_strdup(document->arena, location);
  external->next = document->externals;
  document->externals = external;
  *opened = external;
  return external->path ? DQ_OK : dq_fail_memory(error, strlen(location));
}

static int compare_spans(const void *a, const void *b) {
  const dq_span *left = a, *right = b;
  int path = strcmp(left->path, right->path);
  if (path) return path;
  if (left->from != right->from) return left->from < right->from ? -1 : 1;
  return (left->to > right->to) - (left->to < right->to);
}

dq_status dq_external_check(dq_document *document, dq_error *error) {
  if (document->span_count) qsort(document->spans, document->span_count, sizeof *document->spans, compare_spans);
  for (size_t i = 1; i < document->span_count; i++) {
    const dq_span *span = &document->spans[i], *before = span - 1; // reaches as far as any before it
    if (strcmp(span->path, before->path) || span->from >= before->to || !compare_spans(span, before)) continue;
    return dq_fail(error, DQ_BAD_INPUT,
                   "tensor '%s': external data '%s': bytes %" PRIu64 " to %" PRIu64 " overlap those of '%s'",
                   span->tensor, span->path, span->from, span->to, before->tensor);
  }
  return DQ_OK;
}

static dq_status add_span(dq_document *document, dq_span span, dq_error *error) {
  if (document->span_count == document->span_capacity) {
    size_t capacity = 2 * document->span_capacity + 16;
    dq_span *larger = DQ_NEW_ARRAY(document->arena, capacity, dq_span);
    if (!larger) return dq_fail_memory(error, capacity * sizeof *larger);
    if (document->span_count) memcpy(larger, document->spans, document->span_count * sizeof *larger);
    document->spans = larger;
    document->span_capacity = capacity;
  }
  document->spans[document->span_count++] = span;
  return DQ_OK;
}

dq_status dq_external_bytes(dq_document *document, const Onnx__TensorProto *proto, const uint8_t **data, size_t *size,
                            dq_error *error) {
  external_place place;
  DQ_TRY(read_place(proto, &place, error));
  dq_external *external;
  DQ_TRY(open_external(document, place.location, &external, error));
  uint64_t capacity = external->file.size;
  if (place.offset > capacity || (place.has_length && place.length > capacity - place.offset))
    return dq_fail(error, DQ_BAD_INPUT,
                   "external data '%s': offset %" PRIu64 " and length %" PRIu64 " reach past its end at %" PRIu64,
                   place.location, place.offset, place.length, capacity);
  uint64_t length = place.has_length ? place.length : capacity - place.offset;
  dq_span span = {external->path, proto->name ? proto->name : "", place.offset, place.offset + length};
  if (length) DQ_TRY(add_span(document, span, error));
  *data = external->file.data + place.offset;
  *size = (size_t)length;
  return DQ_OK;
}
