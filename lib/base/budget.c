#include "lib/base/budget.h"

#include <stdalign.h>
#include <stdlib.h>

#include "lib/base/sizes.h"

bool dq_budget_reserve(dq_budget *budget, size_t bytes) {
  if (!budget) return true;
  size_t used = atomic_load(&budget->used), sum;
  do {
    bool fits = dq_add_size(used, bytes, &sum) && (!budget->limit || sum <= budget->limit);
    if (!fits) {
      atomic_store(&budget->refused, bytes ? bytes : 1);
      return false;
    }
  } while (!atomic_compare_exchange_weak(&budget->used, &used, sum));
  return true;
}

void dq_budget_release(dq_budget *budget, size_t bytes) {
  if (budget) atomic_fetch_sub(&budget->used, bytes);
}

// The header in front of the memory that dq_budget_alloc returns.
typedef struct counted {
  alignas(max_align_t) dq_budget *budget;
  size_t bytes; // with this
} counted;

void *dq_budget_alloc(dq_budget *budget, size_t bytes) {
  if (!dq_add_size(bytes, sizeof(counted), &bytes) || !dq_budget_reserve(budget, bytes)) return NULL;
  counted *made = calloc(1, bytes);
  if (!made) {
    dq_budget_release(budget, bytes);
    return NULL;
  }
  *made = (counted){.budget = budget, .bytes = bytes};
  return made + 1;
}

void *dq_budget_realloc(void *memory, size_t bytes) {
  counted *old = (counted *)memory - 1;
  dq_budget *budget = old->budget;
  size_t before = old->bytes;
  if (!dq_add_size(bytes, sizeof(counted), &bytes)) return NULL;
  size_t more = bytes > before ? bytes - before : 0;
  if (!dq_budget_reserve(budget, more)) return NULL;
  counted *made = realloc(old, bytes);
  if (!made) {
    dq_budget_release(budget, more);
    return NULL;
  }
  if (bytes < before) dq_budget_release(budget, before - bytes);
  made->bytes = bytes;
  return made + 1;
}

void dq_budget_free(void *memory) {
  if (!memory) return;
  counted *old = (counted *)memory - 1;
  dq_budget_release(old->budget, old->bytes);
  free(old);
}
