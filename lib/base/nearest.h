// The nearest known name to a mistyped one, for "did you mean".
#ifndef DQ_BASE_NEAREST_H
#define DQ_BASE_NEAREST_H

// Letters inserted, deleted, replaced or exchanged with their neighbour to make `b` of `a`, upper
// and lower case and - and _ being the same (optimal string alignment: Damerau 1964, Levenshtein
// 1966). Names over 63 bytes are compared in their first 63.
int dq_name_distance(const char *a, const char *b);

// The best candidate so far: offer every known name, then read `name`.
typedef struct dq_nearest {
  const char *wanted;
  const char *name; // NULL while nothing is near enough to be worth saying
  int distance;
} dq_nearest;

static inline dq_nearest dq_nearest_begin(const char *wanted) { return (dq_nearest){.wanted = wanted}; }
void dq_nearest_offer(dq_nearest *nearest, const char *candidate);

#endif
