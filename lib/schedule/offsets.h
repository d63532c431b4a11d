// Offsets in one block for values that need memory from one step to another.
#ifndef DQ_SCHEDULE_OFFSETS_H
#define DQ_SCHEDULE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

typedef struct dq_span {
  size_t bytes;    // above 0
  size_t offset;   // the result
  size_t breadth;  // 0 when given; the most that is alive at a step of its life
  int value;       // tells spans apart, also where all else is equal
  int first, last; // steps; -1: before the first, the number of steps: after the last
} dq_span;

// Sets the offsets and changes the order of the spans. No two whose steps overlap share a byte. *live: the most bytes
// at any step, a lower bound for *bytes, which is where the highest span ends. DQ_SYSTEM.
dq_status dq_offsets_find(dq_span *spans, int count, int steps, size_t *live, size_t *bytes, dq_error *error);

#endif
