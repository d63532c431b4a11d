// The best choices of one precision for each unit of a network, when the cost of a choice is a sum: a cost for each
// unit, and a cost for each conversion of a value into a precision that one of its readers has. Dynamic programming
// over the units in the order of the network: the state is the precision of the units whose values are still to be
// read, and the precisions that these values were converted to. Units whose states agree differ in nothing that comes
// later (R. Bellman, Dynamic Programming, 1957; on graphs of small cut width D. M. Thilikos, M. Serna, H. L.
// Bodlaender, Cutwidth I, 2005). Joins and values with several readers need no special case.
#ifndef DQ_QUANT_MIX_FRONT_H
#define DQ_QUANT_MIX_FRONT_H

#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

enum { DQ_MIX_MOST_PRECISIONS = 5 }; // of a table

// Whole numbers, so that sums do not depend on the order of their terms. All are 0 or more, except the time of a
// conversion, which may be below 0 (dq_mix_costs_add_times).
typedef struct dq_mix_cost {
  int64_t time, loss, bytes;
} dq_mix_cost;

// A value that units read. A reader of another precision than the producer's needs one conversion, which all readers of
// that precision share.
typedef struct dq_mix_value {
  int producer;
  const int *readers; // [reader_count]: ascending, each above `producer`
  int reader_count;
  dq_mix_cost conversions[DQ_MIX_MOST_PRECISIONS][DQ_MIX_MOST_PRECISIONS]; // [from][to]; those to itself are not read
} dq_mix_value;

typedef struct dq_mix_table {
  int precisions; // 1 to DQ_MIX_MOST_PRECISIONS
  int units, values;
  const dq_mix_cost *costs; // [units * precisions]; a time below 0: the unit cannot have that precision
  const dq_mix_value *value;
} dq_mix_table;

// The cost of one choice: choice[unit] is its precision. The time is below 0 where a unit cannot have its precision.
dq_mix_cost dq_mix_cost_of(const dq_mix_table *table, const uint8_t *choice);

typedef struct dq_mix_front {
  // [count]: ascending in time. Of two points each is lower in one of the three costs.
  const dq_mix_cost *costs;
  int count;
  // Every choice of the table has a point that loses no more, takes at most `time_gap` more time and at most
  // `bytes_gap` more bytes. Both are 0 when the front is exact.
  int64_t time_gap, bytes_gap;
  int widest;                              // the largest number of values that are open at a time
  const struct dq_mix_trail *const *steps; // how each label of each unit came about
  int units;
} dq_mix_front;

// A table of more than DQ_MIX_FEW_UNITS units has `most` (DQ_MIX_FEW_UNITS / units)^2 labels in place of `most`, but
// not fewer than DQ_MIX_LEAST_LABELS, so that time and memory do not grow with the number of units until those are
// reached; and the fastest label of each state stays, which else may be in a window with one that loses less.
enum { DQ_MIX_FEW_UNITS = 512, DQ_MIX_LEAST_LABELS = 256 };
// Finds the front of all choices. `most` is the largest number of labels (beginnings of choices) that a step of the
// dynamic programming keeps in all its states; where there are more, labels within a window of time and bytes count as
// one, and the gaps are the sums of these windows. The arena owns the front. DQ_UNSUPPORTED: a unit can have no
// precision, a table has more than DQ_MIX_MOST_PRECISIONS, or too many values are open at a time; DQ_SYSTEM: there is
// no memory.
dq_status dq_mix_front_find(dq_mix_front *front, const dq_mix_table *table, int most, dq_arena *arena, dq_error *error);
// Stores the choice of point `point` (0 to front->count - 1) in choice[units], an array of the caller.
void dq_mix_front_choice(const dq_mix_front *front, int point, uint8_t *choice);

#endif
