// Tucker-2 of a convolution weight by the higher-order SVD (De Lathauwer, De Moor, Vandewalle: "A
// multilinear singular value decomposition", SIAM J. Matrix Anal. Appl. 21, 2000), as used for
// convolutions by Kim et al. ("Compression of deep convolutional neural networks for fast and low
// power mobile applications", ICLR 2016):
//   W[o,i,h,w] ~ sum_{a,b} G[a,b,h,w] U[o,a] V[i,b]
// U, V: leading left singular vectors of the unfoldings of W along the output channels (o x i h w)
// and the input channels (i x o h w); G = W x_1 U^T x_2 V^T. A grouped convolution is decomposed
// group by group at common ranks, so that its three parts are grouped convolutions again; o, i and
// ranks then count within a group.
#ifndef DQ_DECOMP_TUCKER2_H
#define DQ_DECOMP_TUCKER2_H

#include "lib/base/arena.h"
#include "lib/base/tensor.h"

// One mode of a weight: the spectrum of its unfolding.
typedef struct dq_mode {
  int64_t size;          // channels of one group
  int64_t rank;          // full rank: min(size, columns of the unfolding)
  const double *values;  // [rank] singular values, descending: of several groups the root of the sum of squares
  const double *vectors; // [groups][rank][size]: row k of a group is its k-th left singular vector
} dq_mode;

// The higher-order SVD of one weight, before ranks are chosen.
typedef struct dq_hosvd {
  int64_t dims[4];      // of the weight: o of all groups, i of one group, kernel height, kernel width
  int64_t group;        // number of groups
  const double *weight; // [o][i][taps]
  const double *scale;  // [o] factors; NULL: all 1
  const double *scaled; // the weight times the scale of its output channel; `out` and `in` are its modes
  double norm;          // Frobenius norm of `weight`
  bool square;          // a mode at full rank gets a square orthogonal factor; false: it gets no factor ("stays whole")
  dq_mode out, in;
} dq_hosvd;

// Decomposes a float32 weight of rank 4 of a convolution with `group` groups. `scale`, when not NULL, has one factor
// above 0 for each output channel, by which the errors of that channel are weighted (that of a batch normalization that
// follows); the factors still stand for the weight itself. Everything is in the arena, except `scale`, which must live
// as long. The time is that of two singular value decompositions for each group. DQ_BAD_INPUT: the weight is empty or
// holds NaN or infinity, or the group does not divide the output channels; DQ_UNSUPPORTED: another type or rank, or too
// large sizes; DQ_SYSTEM: there is no memory.
dq_status dq_hosvd_compute(dq_hosvd *hosvd, const dq_tensor *weight, int64_t group, const double *scale,
                           dq_arena *arena, dq_error *error);

// Improves the vectors for these ranks by higher-order orthogonal iteration; the error of the scaled weight never
// grows. The first rank_out and rank_in vectors of the modes change, the singular values do not. Nothing happens where
// a mode stays whole, because the vectors of the other mode are the best ones already. The new vectors are in the
// arena.
dq_status dq_hosvd_refine(dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in, dq_arena *arena, dq_error *error);

// The energy of the first `rank` singular values: their squares over the squares of all, 0 to 1; 1 for a mode of zeros.
double dq_mode_energy(const dq_mode *mode, int64_t rank);

// The factors as three convolution weights, float32. A mode at rank == size has no factor (its
// square orthogonal one is absorbed by the core) unless the decomposition is `square`: Tucker-1, or W
// itself when both are so.
typedef struct dq_tucker2 {
  int64_t group, rank_out, rank_in; // number of groups; ranks of one group
  dq_tensor *input;                 // [group r_in][i][1][1], V^T; NULL: the mode of the input channels stays whole
  dq_tensor *core;                  // [group r_out][r_in][kernel height][kernel width]
  dq_tensor *output;                // [o][r_out][1][1], U, o of all groups; NULL: the output channels stay whole
  double energy_out, energy_in;     // dq_mode_energy at the ranks
  double error; // ||W - W~|| / ||W|| in the Frobenius norm, with W~ from these float32 factors in double
} dq_tucker2;

// Whether factors can be made at these ranks: 1 to the mode's full rank, or the channels themselves
// for a mode that stays whole (more than the full rank where the unfolding has fewer columns).
bool dq_tucker2_ranks_fit(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in);

// Computes the factors at these ranks of one group; the tensors are in the arena. The factors are scaled by powers of
// two, which rounds nothing, so that their Frobenius norms agree within a factor of two and none of them leaves the
// range of a narrower type before the others. DQ_USAGE: the ranks do not fit (dq_tucker2_ranks_fit); DQ_SYSTEM: there
// is no memory.
dq_status dq_tucker2_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in,
                             dq_arena *arena, dq_error *error);

// Factors in double, in the layout of the tensors of dq_tucker2.
typedef struct dq_tucker2_exact {
  int64_t rank_out, rank_in;
  double *input, *core, *output; // input, output: NULL for a mode that stays whole
} dq_tucker2_exact;

// Does what dq_tucker2_factors does with factors that were found in another way; the function changes the arrays of
// `exact`. The error and the energies are those against `hosvd`.
dq_status dq_tucker2_store(dq_tucker2 *factors, const dq_hosvd *hosvd, const dq_tucker2_exact *exact, dq_arena *arena,
                           dq_error *error);

// Mixes the channels between the factors by an orthogonal matrix, in place, so that all of these channels have similar
// norms (decomp/factor/balance.c); the product of the factors stays the same. Only the group and the ranks of `factors`
// are read; `dims` are those of the weight, and the arrays have the layout of the tensors of dq_tucker2. `input` and
// `output` may be NULL (a mode that stays whole). dq_tucker2_factors and dq_tucker2_store call it. DQ_SYSTEM: there is
// no memory.
dq_status dq_tucker2_spread(const dq_tucker2 *factors, const int64_t dims[4], double *input, double *core,
                            double *output, dq_error *error);

// Computes the weight that the factors stand for in weight[o][i][taps], which the caller provides. DQ_SYSTEM: there is
// no memory.
dq_status dq_tucker2_reconstruct(const dq_tucker2 *factors, double *weight, dq_error *error);

// What a convolution costs. A sum that does not fit int64_t is INT64_MAX.
typedef struct dq_conv_cost {
  int64_t macs;       // multiply-accumulates, also those with padding
  int64_t parameters; // elements of weights and bias
} dq_conv_cost;

// The cost of a convolution whose weight has `dims` (o of all groups, i of one group, kernel height, kernel width).
// `positions` is batch x height x width of the output, or of the input when the convolution is transposed. The cost
// does not depend on the number of groups.
dq_conv_cost dq_conv_cost_whole(const int64_t dims[4], bool bias, int64_t positions);

// Numbers of positions (batch x height x width) that the three convolutions of a decomposition run on.
typedef struct dq_conv_positions {
  int64_t in;   // of the first 1x1: positions of the input
  int64_t core; // of the core: positions of the output, or of the input of a transposed convolution
  int64_t out;  // of the last 1x1: positions of the output
} dq_conv_positions;

// The cost of the decomposed convolution at these ranks of one group. A mode whose rank is the number of channels of a
// group has no 1x1 convolution, unless `square`.
dq_conv_cost dq_conv_cost_tucker2(const int64_t dims[4], int64_t group, bool bias, const dq_conv_positions *positions,
                                  int64_t rank_out, int64_t rank_in, bool square);

#endif
