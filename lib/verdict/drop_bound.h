// How much accuracy other pictures lose, by the loss of those that were measured.
#ifndef DQ_VERDICT_DROP_BOUND_H
#define DQ_VERDICT_DROP_BOUND_H

#include "lib/eval/eval.h"

typedef struct dq_drop_bound {
  double high; // the upper end of the 95 % interval of the loss on other pictures, percentage points; NAN: not known
  double pictures; // that would tell whether the loss is at most `most`; INFINITY where it is as much on these already
} dq_drop_bound;

// Bounds the loss of figures[0] from `before` to `after`, measured on the same pictures, as dq_accuracy_drop gives it.
// Its standard error is that of the jackknife over the parts of both results (Efron and Tibshirani 1993, section 11.5),
// with Student's t for 15 degrees of freedom; n pictures may by chance not show a kind of pictures that is a share
// 1 - 0.025^(1/n) of all and is lost, so that the end is at least as far from the loss. Of agreement the end is that of
// its own interval. `most` is in percentage points. That the pictures may have chosen what is converted is not in it.
dq_drop_bound dq_drop_bound_of(const dq_result *before, const dq_result *after, double most);

#endif
