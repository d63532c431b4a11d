// Tucker-2 factors by least squares between what a layer reads and its responses in the original network, both known
// through second moments (decomp/fit/moments.h).
//
// With x a patch, t the response, R the weight that the factors stand for and b the bias, E||t - Rx -
// b||^2 is least for b = E t - R E x and
//   - U, G given V: reduced-rank regression of t on the reduced patches z = V^T x (Izenman, J.
//     Multivariate Analysis 5, 1975): U = leading eigenvectors of the covariance of the unrestricted
//     least squares prediction of t from z, G = U^T times that prediction;
//   - V given U, G: a linear least squares problem in V, solved by conjugate gradients.
// V starts from the singular vectors of the weight with its input channels weighted by the square
// root of their covariance, its columns in the order of what they contribute.
//
// A ridge keeps R close to the weight W in directions that hardly occur on the pictures: as if W had computed the
// responses of independent patches too, of some share of the mean variance of a patch's elements. That share is the
// strength of the ridge. At a large one the factors are those of the weight alone. decomp/fit/shrink.h chooses it.
#ifndef DQ_DECOMP_FIT_H
#define DQ_DECOMP_FIT_H

#include "decomp/fit/moments.h"
#include "decomp/ranks/ranks.h"
#include "lib/base/tensor.h"

#define DQ_FIT_RIDGE 1e-3 // the least strength

// Response errors, by ranks of one group. A response error is the share (0 to 1) of the variance of the responses that
// the factors miss. A rank that is the number of channels means that the mode stays whole.
typedef struct dq_fit_table {
  int64_t in_count, out; // number of in-ranks; output channels of a group
  int64_t *in_ranks;     // [in_count], ascending; the last is the number of input channels of a group
  double *errors;        // [in_count][out]: entry [i][a - 1] is the error at in-rank in_ranks[i] and out-rank a
  double variance;       // of the responses, summed over all channels
} dq_fit_table;

enum { DQ_FIT_IN_RANKS = 32 }; // the largest number of in-ranks of a table besides the last one

// Sets the ridge of *moments to that of a strength, in place of an earlier one; after dq_moments_centre and before the
// functions below. Patches that do not vary at all get a ridge of 1.
void dq_fit_prepare(dq_moments *moments, double strength);
// The mean variance of the elements of a patch of a group, without the ridge; after dq_moments_centre.
double dq_fit_mean_variance(const dq_moments *moments, int64_t group);
// Computes the errors at all out-ranks and at DQ_FIT_IN_RANKS in-ranks or fewer, evenly spread over the multiples of
// `multiple` (>= 1). `weight` is float32 with the dimensions that the moments were opened with. The table is in the
// arena. DQ_BAD_INPUT as dq_fit_solve.
dq_status dq_fit_errors(dq_fit_table *table, const dq_moments *moments, const dq_tensor *weight, int64_t multiple,
                        dq_arena *arena, dq_error *error);

// The lowest in-rank of that table, for a group with `in` input and `out` output channels (1 or more).
int64_t dq_fit_least_in_rank(int64_t in, int64_t out, int64_t taps, int64_t multiple);

// The factors, in the layout of dq_tucker2; groups one after the other.
typedef struct dq_fit {
  int64_t rank_out, rank_in; // of one group
  double *input;             // [group r_in][i]; NULL: the mode stays whole
  double *core;              // [group r_out][r_in][taps]
  double *output;            // [group o][r_out], o of one group; NULL: the mode stays whole
  double *bias;              // [group o]
  double error;              // response error
} dq_fit;

// Computes the factors at these ranks, which are 1 to the number of channels of a group (then the mode stays whole); V
// is refined in `rounds` rounds. The result is in the arena. DQ_BAD_INPUT: the moments are singular in spite of the
// ridge; DQ_SYSTEM: there is no memory.
dq_status dq_fit_solve(dq_fit *fit, const dq_moments *moments, const dq_tensor *weight, dq_ranks ranks, int rounds,
                       dq_arena *arena, dq_error *error);

#endif
