// Finds the known name that is most similar to a mistyped one, for hints of the form "did you mean".
#ifndef DQ_TEXT_NEAREST_H
#define DQ_TEXT_NEAREST_H

// The edit distance of two names: the least number of letters to insert, delete, replace or exchange with their
// neighbour (optimal string alignment: F. J. Damerau, 1964; V. I. Levenshtein, 1966). Upper and lower case are the
// same letter, so are - and _. Only the first 63 bytes of a name count.
int dq_name_distance(const char *a, const char *b);

// The most similar name so far. The caller offers every known name, and then reads `name`.
typedef struct dq_nearest {
  const char *wanted;
  const char *name; // the caller's pointer; NULL: no name was similar enough for a hint
  int distance;     // of `name` from `wanted`
} dq_nearest;

// Begins a search for the name that is most similar to `wanted`, which must live as long as the search.
static inline dq_nearest dq_nearest_begin(const char *wanted) { return (dq_nearest){.wanted = wanted}; }
// Takes `candidate`, which is not copied, as the most similar name when it is more similar than those before.
void dq_nearest_offer(dq_nearest *nearest, const char *candidate);

#endif
