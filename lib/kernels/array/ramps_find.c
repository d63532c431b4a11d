// Finds the two lines of a table of 256 bytes, such as LeakyRelu between two quantizations makes, and proves them on
// all bytes. A line fits a run of entries when it passes each within 0.5; of a slope, what is left over is concave, so
// that the best slope is found by thirds. Entries of 0 and 255 may be clipped: only one side of them counts.
#include "lib/kernels/array/array.h"

#include <string.h>

enum { BYTES = 256, THIRDS = 24 };
static const double FAR = 4096; // of the side of an entry that does not count

typedef struct line {
  double slope, at;
  double spare; // how far it stays from the bounds; below 0: it does not fit
} line;

static line line_of_slope(const uint8_t *table, int from, int end, double slope) {
  double least = FAR, most = -FAR;
  for (int x = from; x < end; x++) {
    double y = table[x] - slope * x;
    double above = table[x] == BYTES - 1 ? FAR : y + 0.5, below = table[x] ? y - 0.5 : -FAR;
    if (above < least) least = above;
    if (below > most) most = below;
  }
  return (line){slope, (least + most) / 2, least - most};
}

// The line of entries `from` to end - 1 that stays farthest from their bounds.
static line best_line(const uint8_t *table, int from, int end) {
  int first = from, last = end - 1;
  while (first < last && (table[first] == 0 || table[first] == BYTES - 1)) first++;
  while (first < last && (table[last] == 0 || table[last] == BYTES - 1)) last--;
  double steps = last > first ? last - first : 1, low = (table[last] - table[first] - 1) / steps,
         high = low + 2 / steps;
  for (int i = 0; i < THIRDS; i++) {
    double third = (high - low) / 3;
    if (line_of_slope(table, from, end, low + third).spare < line_of_slope(table, from, end, high - third).spare)
      low += third;
    else high -= third;
  }
  return line_of_slope(table, from, end, (low + high) / 2);
}

// The largest n for which a line fits the first (the last) n entries.
static int run_that_fits(const uint8_t *table, bool last) {
  int fits = 1, fails = BYTES + 1;
  while (fails - fits > 1) {
    int n = (fits + fails) / 2;
    line found = last ? best_line(table, BYTES - n, BYTES) : best_line(table, 0, n);
    if (found.spare > 0) fits = n;
    else fails = n;
  }
  return fits;
}

bool dq_ramps_find(unsigned cpu, const uint8_t *table, dq_ramps *ramps) {
  const dq_kernel *kernel = dq_kernel_find(DQ_OPERATION_ramps, cpu);
  if (!kernel->feature || dq_kernel_find(DQ_OPERATION_lookup, cpu)->feature != kernel->feature) return false;
  int below = run_that_fits(table, false), above = run_that_fits(table, true);
  if (below + above < BYTES) return false;
  int bend = (below + BYTES - above + 1) / 2; // both lines fit here
  line fall = best_line(table, 0, bend), rise = best_line(table, bend, BYTES);
  *ramps = (dq_ramps){(float)rise.slope, (float)rise.at, (float)fall.slope, (float)fall.at};
  uint8_t bytes[BYTES];
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
  ((dq_ramps_function *)kernel->function)(ramps, bytes, bytes, BYTES);
  return !memcmp(bytes, table, BYTES);
}

dq_ramps_function *dq_ramps_of(unsigned cpu) { return DQ_KERNEL_FUNCTION(ramps, cpu); }
