// How much memory the work of one context may hold at once. Arenas and large buffers count against it
// from the moment they are allocated until they are freed, whichever thread does it.
#ifndef DQ_BASE_BUDGET_H
#define DQ_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dq_budget {
  size_t limit;           // bytes, 0: none
  _Atomic size_t used;    // bytes
  _Atomic size_t refused; // bytes of the last request that did not fit; 0: all did
} dq_budget;

// Counts `bytes` as used, or leaves them out and says no where they would pass the limit. A NULL budget
// has no limit.
bool dq_budget_reserve(dq_budget *budget, size_t bytes);
void dq_budget_release(dq_budget *budget, size_t bytes);

// calloc, realloc and free that count; the memory is aligned for every type. NULL where the budget or the
// system has none left. dq_budget_realloc wants memory of dq_budget_alloc, which stays as it is when it
// fails; what it adds is not zeroed. The budget must outlive the memory.
void *dq_budget_alloc(dq_budget *budget, size_t bytes);
void *dq_budget_realloc(void *memory, size_t bytes);
void dq_budget_free(void *memory); // NULL is fine

#endif
