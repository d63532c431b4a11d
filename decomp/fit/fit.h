// Tucker-2 factors by least squares on what a layer really reads and should answer, known through
// second moments (decomp/fit/moments.h).
//
// With x a patch, t the answer, R the weight that the factors stand for and b the bias, E||t - Rx -
// b||^2 is least for b = E t - R E x and
//   - U, G given V: reduced-rank regression of t on the reduced patches z = V^T x (Izenman, J.
//     Multivariate Analysis 5, 1975): U = leading eigenvectors of the covariance of the unrestricted
//     least squares prediction of t from z, G = U^T times that prediction;
//   - V given U, G: a linear least squares problem in V, solved by conjugate gradients.
// V starts from the singular vectors of the weight with its input channels weighted by the square
// root of their covariance, its columns in the order of what they contribute.
//
// A ridge of DQ_FIT_RIDGE times the mean variance of a patch's elements holds R to the weight W where
// the pictures say little: as if independent patches of that variance had been answered by W.
#ifndef DQ_DECOMP_FIT_H
#define DQ_DECOMP_FIT_H

#include "decomp/fit/moments.h"
#include "decomp/ranks/ranks.h"
#include "lib/base/tensor.h"

#define DQ_FIT_RIDGE 1e-3

// Share of the answers' variance that is missed, by ranks. An in-rank equal to the channels means no
// factor there, likewise for out-ranks.
typedef struct dq_fit_table {
  int64_t in_count, out; // out: channels of a group
  int64_t *in_ranks;     // ascending, the last are the channels of a group
  double *errors;        // in_count x out: entry [i][a - 1] at ranks in_ranks[i] and a
  double variance;       // of the answers, all channels together
} dq_fit_table;

// `moments` as dq_moments_centre leaves them; they get the ridge. At most DQ_FIT_IN_RANKS in-ranks
// are looked at, evenly spread over the multiples of `multiple`, and the channels.
enum { DQ_FIT_IN_RANKS = 32 };
dq_status dq_fit_prepare(dq_moments *moments, const dq_tensor *weight, dq_error *error);
dq_status dq_fit_errors(dq_fit_table *table, const dq_moments *moments, const dq_tensor *weight, int64_t multiple,
                        dq_arena *arena, dq_error *error);

// The factors, in the layout of convolution weights; groups one after the other.
typedef struct dq_fit {
  int64_t rank_out, rank_in;
  double *input;  // group r_in x i; NULL: the mode stays whole
  double *core;   // group r_out x r_in x taps
  double *output; // group o x r_out; NULL: the mode stays whole
  double *bias;   // group o
  double error;   // share of the answers' variance that is missed
} dq_fit;

// At these ranks (the channels of a group: no factor), V refined in `rounds` rounds. Owned by the
// arena. DQ_BAD_INPUT when the moments are singular beyond the ridge.
dq_status dq_fit_solve(dq_fit *fit, const dq_moments *moments, const dq_tensor *weight, dq_ranks ranks, int rounds,
                       dq_arena *arena, dq_error *error);

#endif
