// Offsets in one block for values that need memory from one step to another.
#ifndef DQ_SCHEDULE_OFFSETS_H
#define DQ_SCHEDULE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

// One value that needs `bytes` of memory from step `first` to step `last`.
typedef struct dq_span {
  size_t bytes;    // above 0
  size_t offset;   // result: in the block, in bytes
  size_t breadth;  // 0 before the call; then the most bytes that are needed at any of its steps
  int value;       // the index of the value, different for all spans; decides where all else is equal
  int first, last; // inclusive; -1: before the first step, `steps`: after the last
} dq_span;

// Sets the offsets of `count` spans so that no two that are needed at the same step share a byte, and changes the order
// of the spans. `steps` is the number of steps. *bytes receives the end of the highest span, *live the most bytes that
// are needed at any step, which is a lower bound of *bytes. DQ_SYSTEM: there is no memory.
dq_status dq_offsets_find(dq_span *spans, int count, int steps, size_t *live, size_t *bytes, dq_error *error);

#endif
