// The audit's kernels for any machine.
#define AUDIT(name) name##_c
#define AUDIT_WIDTH 8
#include "lib/kernels/audit/audit_body.h"
#include "lib/kernels/audit/audit_sums_body.h"

enum { ROWS = 4 };

void dq_audit_running_c(const dq_audit_sums *s) {
  memset(s->last, 0, ROWS * DQ_AUDIT_LANES * sizeof *s->last);
  memset(s->top, 0, ROWS * DQ_AUDIT_LANES * sizeof *s->top);
  for (int64_t t = 0; t < s->depth; t++)
    for (int row = 0; row < s->rows; row++) {
      const int16_t *panel = s->panel + t * DQ_AUDIT_LANES;
      int16_t *last = s->last + row * DQ_AUDIT_LANES, *top = s->top + row * DQ_AUDIT_LANES;
      int16_t weight = (int16_t)(s->weights[t * ROWS + row] & 0xffffu);
      for (int lane = 0; lane < DQ_AUDIT_LANES; lane++) {
        int sum = last[lane] + panel[lane] * weight;
        sum = sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum;
        last[lane] = (int16_t)sum;
        if (sum > top[lane]) top[lane] = (int16_t)sum;
      }
    }
}

// Counts by histograms of the windows.
static void count_plane(const dq_audit_windows *w) {
  uint32_t seen[DQ_AUDIT_WINDOWS][256];
  memset(seen, 0, sizeof *seen * (size_t)w->windows);
  const uint8_t *masks = w->masks;
  for (int64_t v = 0; v < w->vectors; v++, masks += DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR)
    for (int window = 0; window < w->windows; window++)
      for (int i = 0; i < DQ_AUDIT_VECTOR; i++)
        seen[window][w->plane[v * DQ_AUDIT_VECTOR + i]] += masks[window * DQ_AUDIT_VECTOR + i];
  for (int window = 0; window < w->windows; window++) {
    for (int level = 254; level >= 0; level--) seen[window][level] += seen[window][level + 1];
    for (int bound = 0; bound < w->bound_count; bound++)
      w->counts[window * w->count_stride + bound] = seen[window][w->bounds[bound]];
  }
}

// Counts by a histogram.
void dq_audit_reached_c(const dq_audit_reached *r) {
  uint32_t seen[256] = {0};
  for (int64_t i = 0; i < r->vectors * DQ_AUDIT_VECTOR; i++) seen[r->numbers[i]]++;
  for (int level = 254; level >= 0; level--) seen[level] += seen[level + 1];
  for (int bound = 0; bound < r->bound_count; bound++) r->counts[bound] = seen[r->bounds[bound]];
}

void dq_audit_totals_c(const dq_audit_totals *t) {
  for (int tap = 0; tap < t->tap_count; tap++) {
    const uint32_t *table = t->tables + tap * t->table_stride;
    const uint8_t *numbers = t->numbers + t->taps[tap] * t->number_stride;
    for (int64_t i = 0; i < t->count; i++) t->totals[i] += table[numbers[i]];
  }
}
