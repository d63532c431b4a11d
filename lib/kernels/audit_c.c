// The audit's kernels for any machine.
#define AUDIT(name) name##_c
#define AUDIT_WIDTH 8
#include "lib/kernels/audit_body.h"
#include "lib/kernels/audit_sums_body.h"

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
