// 95 % intervals of figures that were measured on a sample of pictures: what the same figure is on other pictures of
// the same kind. Pictures are drawn independently; what one picture holds belongs together.
#ifndef DQ_VERDICT_INTERVAL_H
#define DQ_VERDICT_INTERVAL_H

#include <stdint.h>

typedef struct dq_interval {
  double low, high; // low <= high; both NAN: there is none
} dq_interval;

extern const dq_interval dq_no_interval;

// The number of standard errors that Student's t distribution with `freedom` (1 or more) degrees of freedom exceeds
// with a probability of `tail` (above 0, below 1/2).
double dq_student_quantile(double tail, int64_t freedom);
// The probability of more than t (0 or more) in the same distribution.
double dq_student_tail(double t, int64_t freedom);

// The interval in dB of 10 log10 (sum signal / sum noise), where signal[i] and noise[i] (0 or more) are the sums of
// picture i of `count`. Its ends are the outermost of two: a studentized bootstrap over the pictures (Efron and
// Tibshirani 1993, section 12.5; of fewer than 8 pictures Student's t distribution), and the interval of the mean of
// log-normal noise (Cox's method, Zhou and Gao 1997), which expects pictures with much more noise than those that were
// seen; it is no lower than with pictures that lose all, as frequent as chance may hide them. The bootstrap has a fixed
// seed. Fewer than 2 pictures, or no signal, have no interval. Without noise both ends are INFINITY; with infinite
// noise -INFINITY. On a failure to get memory the bootstrap is left out.
dq_interval dq_sqnr_interval(const double *signal, const double *noise, int64_t count);

// The interval in percent of 100 sum equal / sum answers: Wilson's (1927), with the number of answers that, drawn
// independently, would scatter as the pictures do (Korn and Graubard 1998); where all pictures agree, or none does,
// with the number of pictures that have answers. No answers: no interval.
dq_interval dq_share_interval(const int64_t *equal, const int64_t *answers, int64_t count);
// The number of pictures, one answer each, all of them equal, from which on the lower end is at least `percent`, above
// 0 and below 100.
int64_t dq_share_pictures(double percent);

#endif
