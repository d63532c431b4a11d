// What processes of a job (lib/base/processes.h) found on their pictures, as tensors one behind the other, which all of
// them get.
#ifndef DQ_SESSION_RECORDS_H
#define DQ_SESSION_RECORDS_H

#include "lib/base/context.h"
#include "lib/base/tensor.h"

typedef struct dq_records {
  char *data; // counts against the budget of the context
  size_t bytes, capacity;
  const dq_context *context;
} dq_records;

// Adds a copy of the tensor, with two numbers for dq_records_each. *records begins with its context alone, and the
// caller frees it. DQ_SYSTEM: there is no memory.
dq_status dq_records_add(dq_records *records, int listener, int slot, const dq_tensor *tensor, dq_error *error);
void dq_records_clear(dq_records *records); // keeps the memory
void dq_records_free(dq_records *records);
// Stores in *all, which is zeroed and which the caller frees, the records of all processes in the order of the
// processes; *largest receives the most bytes that one of them has. All processes of context->processes call it.
// DQ_SYSTEM: there is no memory.
dq_status dq_records_share(const dq_records *mine, dq_records *all, size_t *largest, dq_error *error);
// Calls each(user, listener, slot, tensor) for all records in their order; the elements hold during the call. A status
// other than DQ_OK ends the loop.
typedef dq_status (*dq_record_function)(void *user, int listener, int slot, const dq_tensor *tensor, dq_error *error);
dq_status dq_records_each(const dq_records *records, dq_record_function each, void *user, dq_error *error);

#endif
