// The limit on the memory that the work of one context may hold at the same time. Arenas and large buffers count
// against it from their allocation until they are freed. All functions may be called from any thread.
#ifndef DQ_BASE_BUDGET_H
#define DQ_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dq_budget {
  size_t limit;           // bytes, 0: none
  _Atomic size_t used;    // bytes
  _Atomic size_t refused; // bytes of the last request that did not fit; 0: every request fitted
} dq_budget;

// Counts `bytes` as used and returns true, or returns false and counts nothing where they would pass the limit. A NULL
// budget has no limit. dq_budget_release subtracts what was counted.
bool dq_budget_reserve(dq_budget *budget, size_t bytes);
void dq_budget_release(dq_budget *budget, size_t bytes);

// calloc, realloc and free that count against a budget (NULL: none), which must outlive the memory. The memory is
// aligned for every type; NULL where the budget or the system has none left. dq_budget_realloc accepts memory of these
// two functions only, does not zero what it adds, and leaves the memory as it is when it fails.
void *dq_budget_alloc(dq_budget *budget, size_t bytes);
void *dq_budget_realloc(void *memory, size_t bytes);
void dq_budget_free(void *memory); // NULL is allowed

#endif
