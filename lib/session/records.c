#include "lib/session/records.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"

enum { FIRST_CAPACITY = 1 << 16, ALIGNMENT = alignof(max_align_t) };

// The head stands in front of the elements.
typedef struct head {
  dq_tensor tensor; // its pointer means nothing
  int listener, slot;
  size_t bytes; // of the elements, which are followed by padding
} head;

static size_t padded(size_t bytes) { return dq_round_up(bytes, ALIGNMENT); }

static dq_status reserve(dq_records *records, size_t more, dq_error *error) {
  size_t capacity = records->capacity ? records->capacity : FIRST_CAPACITY;
  while (capacity - records->bytes < more) capacity *= 2;
  if (capacity == records->capacity) return DQ_OK;
  char *data = dq_context_alloc(records->context, capacity);
  if (!data) return dq_fail_memory(error, capacity);
  if (records->bytes) memcpy(data, records->data, records->bytes);
  dq_budget_free(records->data);
  records->data = data, records->capacity = capacity;
  return DQ_OK;
}

dq_status dq_records_add(dq_records *records, int listener, int slot, const dq_tensor *tensor, dq_error *error) {
  head first;
  memset(&first, 0, sizeof first);
  first.tensor = *tensor, first.listener = listener, first.slot = slot;
  first.bytes = tensor->data ? dq_tensor_bytes(tensor) : 0;
  DQ_TRY(reserve(records, padded(sizeof first) + padded(first.bytes), error));
  memcpy(records->data + records->bytes, &first, sizeof first);
  records->bytes += padded(sizeof first);
  if (first.bytes) memcpy(records->data + records->bytes, tensor->data, first.bytes);
  records->bytes += padded(first.bytes);
  return DQ_OK;
}

void dq_records_clear(dq_records *records) { records->bytes = 0; }

void dq_records_free(dq_records *records) {
  dq_budget_free(records->data);
  *records = (dq_records){.context = records->context};
}

dq_status dq_records_share(const dq_records *mine, dq_records *all, size_t *largest, dq_error *error) {
  const dq_context *context = mine->context;
  const int count = dq_process_count(context->processes);
  size_t *sizes = calloc((size_t)count, sizeof *sizes);
  *all = (dq_records){.context = context}, *largest = 0;
  if (!sizes) return dq_fail_memory(error, 0);
  dq_status status =
      dq_processes_collect(context->processes, context->budget, mine->data, mine->bytes, &all->data, sizes, error);
  for (int r = 0; status == DQ_OK && r < count; r++) {
    all->bytes += sizes[r];
    if (sizes[r] > *largest) *largest = sizes[r];
  }
  all->capacity = all->bytes;
  free(sizes);
  return status;
}

dq_status dq_records_each(const dq_records *records, dq_record_function each, void *user, dq_error *error) {
  for (size_t at = 0; at < records->bytes;) {
    head first;
    memcpy(&first, records->data + at, sizeof first);
    at += padded(sizeof first);
    first.tensor.data = first.bytes ? records->data + at : NULL;
    at += padded(first.bytes);
    DQ_TRY(each(user, first.listener, first.slot, &first.tensor, error));
  }
  return DQ_OK;
}
