// Counting functions of the audit in vectors of the compiler. The including file defines AUDIT(name), the symbol of a
// kernel, and AUDIT_WIDTH, the number of int16 in one register.
#include "lib/kernels/table/audit_forms.h"

#include <string.h>

typedef uint16_t lanes_u16 __attribute__((vector_size(2 * AUDIT_WIDTH), aligned(2), may_alias));
typedef uint8_t bytes_of_lanes __attribute__((vector_size(AUDIT_WIDTH), aligned(1), may_alias));

enum { MOST_STEPS = 32767 }; // a counter takes at most one a step

#define WIDEN(from) __builtin_convertvector(*(const bytes_of_lanes *)(from), lanes_u16)

static inline uint64_t add_up(const lanes_u16 *counters) {
  uint64_t sum = 0;
  for (int i = 0; i < AUDIT_WIDTH; i++) sum += (*counters)[i];
  return sum;
}

void AUDIT(dq_audit_fill)(const dq_audit_panel *p) {
  int16_t *to = p->panel;
  const lanes_u16 zero = (lanes_u16){0} + (uint16_t)p->zero;
  for (int64_t k = 0; k < p->taps; k++)
    for (int64_t c = 0; c < p->channels; c++, to += DQ_AUDIT_LANES) {
      const uint8_t *plane = p->planes + c * p->plane_bytes + p->offsets[k];
      // Whole rows are written; what is too much is overwritten by the next piece or the next row.
      for (int i = 0; i < p->pieces; i++)
        for (int lane = 0; lane < DQ_AUDIT_LANES; lane += AUDIT_WIDTH)
          *(lanes_u16 *)(void *)(to + p->lane[i] + lane) = WIDEN(plane + p->from[i] + lane) - zero;
    }
}

static uint64_t count_pairs(const dq_audit_pair *pair, const uint8_t *first, const uint8_t *second, const uint8_t *mask,
                            int64_t count) {
  lanes_u16 counters = {0};
  for (int64_t i = 0; i < count; i += AUDIT_WIDTH) {
    // The sum is at most 255 * 256, which 16 unsigned bits hold exactly.
    lanes_u16 sum = WIDEN(first + i) * pair->first + WIDEN(second + i) * pair->second;
    counters += (lanes_u16)(sum > pair->limit) & WIDEN(mask + i);
  }
  return add_up(&counters);
}

uint64_t AUDIT(dq_audit_pairs)(const dq_audit_pair *pair, const uint8_t *first, const uint8_t *second,
                               const uint8_t *mask, int64_t count) {
  enum { PART = MOST_STEPS / DQ_AUDIT_VECTOR * DQ_AUDIT_VECTOR };
  uint64_t total = 0;
  for (int64_t from = 0; from < count; from += PART)
    total += count_pairs(pair, first + from, second + from, mask + from, count - from < PART ? count - from : PART);
  return total;
}

static void count_plane(const dq_audit_windows *w); // windows of one plane: of the including file

void AUDIT(dq_audit_windows)(const dq_audit_windows *w) {
  dq_audit_windows one = *w;
  for (int64_t i = 0; i < w->planes; i++, one.plane += w->plane_bytes, one.counts += w->windows * w->count_stride)
    count_plane(&one);
}
