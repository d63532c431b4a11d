// Counting over panels of the audit, in the compiler's vectors; the including file defines
// AUDIT(name) and AUDIT_WIDTH, the int16 of one register. Counters are 16 bits wide and emptied
// before they can wrap.
#include "lib/kernels/kernels_internal.h"

#include <string.h>

typedef uint16_t lanes_u16 __attribute__((vector_size(2 * AUDIT_WIDTH), aligned(2), may_alias));

enum { MOST_STEPS = 32767 }; // a counter takes at most one a step

#define LOAD_LANES(from) (*(const lanes_u16 *)(from))

static inline uint64_t add_up(const lanes_u16 *counters, int lanes) {
  uint64_t sum = 0;
  for (int i = 0; i < lanes && i < AUDIT_WIDTH; i++) sum += (*counters)[i];
  return sum;
}

static uint64_t count_products(const int16_t *panel, const int16_t *weights, int64_t depth,
                               int16_t shift, int lanes) {
  lanes_u16 counters = {0}, moved = counters + (uint16_t)shift;
  for (int64_t t = 0; t < depth; t++) {
    // Products fit 16 bits, so wrapping ones are exact; -128..127 become 0..255.
    lanes_u16 x = LOAD_LANES(panel + t * DQ_AUDIT_LANES) + moved;
    lanes_u16 product = x * (uint16_t)weights[t] + 128;
    counters -= (lanes_u16)((product >> 8) != 0);
  }
  return add_up(&counters, lanes);
}

uint64_t AUDIT(dq_audit_products)(const int16_t *panel, const int16_t *weights, int64_t depth,
                                  int16_t shift, int lanes) {
  uint64_t total = 0;
  for (int64_t from = 0; from < depth; from += MOST_STEPS) {
    int64_t steps = depth - from < MOST_STEPS ? depth - from : MOST_STEPS;
    for (int lane = 0; lane < lanes; lane += AUDIT_WIDTH)
      total += count_products(panel + from * DQ_AUDIT_LANES + lane, weights + from, steps, shift,
                              lanes - lane);
  }
  return total;
}

static uint64_t count_pairs(const int16_t *panel, const dq_audit_pair *pairs, int64_t count,
                            int16_t zero, int lanes) {
  lanes_u16 counters = {0}, moved = counters + (uint16_t)zero;
  for (int64_t i = 0; i < count; i++) {
    // At most 255 * 256 in magnitude: exact in 16 unsigned bits.
    const int16_t *row = panel + pairs[i].tap * DQ_AUDIT_LANES;
    lanes_u16 first = LOAD_LANES(row) + moved, second = LOAD_LANES(row + DQ_AUDIT_LANES) + moved;
    lanes_u16 sum = first * pairs[i].first + second * pairs[i].second;
    counters -= (lanes_u16)(sum > pairs[i].limit);
  }
  return add_up(&counters, lanes);
}

uint64_t AUDIT(dq_audit_pairs)(const int16_t *panel, const dq_audit_pair *pairs, int64_t count,
                               int16_t zero, int lanes) {
  uint64_t total = 0;
  for (int64_t from = 0; from < count; from += MOST_STEPS) {
    int64_t steps = count - from < MOST_STEPS ? count - from : MOST_STEPS;
    for (int lane = 0; lane < lanes; lane += AUDIT_WIDTH)
      total += count_pairs(panel + lane, pairs + from, steps, zero, lanes - lane);
  }
  return total;
}
