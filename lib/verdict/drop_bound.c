#include "lib/verdict/drop_bound.h"

#include "lib/eval/accuracy.h"
#include "lib/verdict/interval.h"

static const double TAIL = 0.025; // above the interval

// The standard error of the loss, by leaving out one part after the other.
static double jackknife_error(const dq_result *before, const dq_result *after) {
  double drops[DQ_RESULT_PARTS], mean = 0, squares = 0;
  for (int p = 0; p < DQ_RESULT_PARTS; p++) {
    drops[p] = (before->without[p] - after->without[p]) * before->points;
    mean += drops[p] / DQ_RESULT_PARTS;
  }
  for (int p = 0; p < DQ_RESULT_PARTS; p++) squares += (drops[p] - mean) * (drops[p] - mean);
  return sqrt(squares * (DQ_RESULT_PARTS - 1) / DQ_RESULT_PARTS);
}

// Returns the number of pictures at which `half`, the distance of the upper end from the loss, falls to `room`: it
// falls with the root of their number.
static double pictures_for(const dq_result *after, double half, double room) {
  return room > 0 ? (double)after->pictures * (half / room) * (half / room) : INFINITY;
}

static dq_drop_bound agreement_bound(const dq_result *after, double drop, double most) {
  const double high = 100 - after->low, room = most - drop;
  if (drop > 0 || !(most > 0) || !(most < 100)) return (dq_drop_bound){high, pictures_for(after, high - drop, room)};
  return (dq_drop_bound){high, (double)dq_share_pictures(100 - most)};
}

dq_drop_bound dq_drop_bound_of(const dq_result *before, const dq_result *after, double most) {
  const double drop = dq_accuracy_drop(before, after), room = most - drop, n = (double)after->pictures;
  if (after->low > 0) return agreement_bound(after, drop, most);
  if (!before->has_parts || !after->has_parts) return (dq_drop_bound){NAN, NAN};
  const double half = dq_student_quantile(TAIL, DQ_RESULT_PARTS - 1) * jackknife_error(before, after);
  const double hidden = 100 * (1 - pow(TAIL, 1 / n));
  const double least = room > 0 && room < 100 ? log(TAIL) / log1p(-room / 100) : room > 0 ? 1 : INFINITY;
  return (dq_drop_bound){drop + fmax(half, hidden), fmax(pictures_for(after, half, room), least)};
}
