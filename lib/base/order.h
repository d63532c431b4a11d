// Orders for qsort.
#ifndef DQ_BASE_ORDER_H
#define DQ_BASE_ORDER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// A number with its place in a list.
typedef struct dq_ranked {
  double value;
  int64_t index;
} dq_ranked;

// Compares two dq_ranked: the largest value comes first, NaN last, and of equal values the one with the lower index.
static inline int dq_compare_ranked(const void *left, const void *right) {
  const dq_ranked *a = left, *b = right;
  if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
  if (a->value != b->value && !isnan(a->value)) return a->value > b->value ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

// Compares two texts, by their bytes; the elements of the array are pointers to char.
static inline int dq_compare_texts(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

#endif
