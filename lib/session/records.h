// Records: the measurements of a process of a job (lib/base/processes.h) on its pictures, as tensors one behind the
// other. dq_records_share gives the records of all processes to each process.
#ifndef DQ_SESSION_RECORDS_H
#define DQ_SESSION_RECORDS_H

#include "lib/base/context.h"
#include "lib/base/tensor.h"

typedef struct dq_records {
  char *data; // counts against the budget of the context
  size_t bytes, capacity;
  const dq_context *context;
} dq_records;

// Adds a copy of the tensor, with the numbers `listener` and `slot`, which dq_records_each passes on. Before the first
// call *records is zeroed except its context; the caller frees it by dq_records_free. DQ_SYSTEM: there is no memory.
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
