// How far factors that are fitted to few samples are drawn to the weight.
//
// The responses are fitted to one half of the pictures and looked at on the other one. With few samples the fit hides
// its errors D = R - W in directions that hardly occur in its half. The ridge stands for their variance, so that the
// fit expects an error of inside + strength * m ||D||^2, where `inside` is the error on its own half, and m the mean
// variance of a patch's elements. The strength is the one with which that is the error on the other half:
//
//   strength = (outside - inside) / (m ||D||^2)
#ifndef DQ_DECOMP_SHRINK_H
#define DQ_DECOMP_SHRINK_H

#include "decomp/fit/fit.h"

// The largest strength: the variance of patches counts next to nothing beside the ridge.
#define DQ_FIT_MOST_RIDGE 100.0

// Errors are mean squares over the vectors of a half, summed over 64 output channels of a group at most, over the
// groups and over both halves.
typedef struct dq_fit_halves {
  double inside, outside; // on the half that was fitted to, and on the other one
  double variance;        // of the responses in `outside`
  double distance;        // m ||D||^2
} dq_fit_halves;

// The strength that these errors ask for, DQ_FIT_RIDGE to DQ_FIT_MOST_RIDGE.
double dq_fit_strength(const dq_fit_halves *halves);

// Adds the error of the factors on the vectors of *moments, without the ridge, to *missed, and the variance of their
// responses to *variance, as dq_fit_halves counts them. DQ_SYSTEM: there is no memory.
dq_status dq_fit_missed(const dq_fit *fit, const dq_moments *moments, const dq_tensor *weight, double *missed,
                        double *variance, dq_error *error);

// What cross-validation found out.
typedef struct dq_fit_cross {
  double strength;
  double error; // share of the variance of the responses that is missed on the half that was not fitted to, both ways
} dq_fit_cross;

// Fits factors at these ranks to either half, without refinement, and looks at them on the other one: with the strength
// DQ_FIT_RIDGE, then with the strengths that the errors ask for, `steps` times at most or until one asks for no more
// than twice and no less than half of itself. *cross receives the last one, or the one before where the error grows by
// more than a tenth: all pictures need a stronger ridge than a half at times, as the error of a fit without one is
// largest where there are about as many samples as unknowns. Both halves must hold covariances; their ridge is changed.
// Where the second has no vectors, nothing is known: the strength is 1 and the error 0. Statuses as dq_fit_solve.
dq_status dq_fit_cross_validate(dq_fit_cross *cross, dq_moments halves[2], const dq_tensor *weight, dq_ranks ranks,
                                int steps, dq_error *error);

#endif
