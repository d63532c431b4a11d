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
  int64_t size;          // channels of a group
  int64_t rank;          // full rank: min(size, columns of the unfolding)
  const double *values;  // rank singular values, descending; root of the sum of squares over groups
  const double *vectors; // groups x rank x size: row k of a group is its k-th left singular vector
} dq_mode;

// The higher-order SVD of one weight, before ranks are chosen.
typedef struct dq_hosvd {
  int64_t dims[4]; // of the weight: o of all groups, i of one group, kernel height, kernel width
  int64_t group;
  const double *weight; // o x i x taps
  const double *scale;  // o factors, or NULL: all 1
  const double *scaled; // the weight times the scale of its output channel: what `out`, `in` are of
  double norm;          // Frobenius, of the weight
  bool square;          // a mode at full rank keeps its square orthogonal factor instead of staying whole
  dq_mode out, in;
} dq_hosvd;

// Decomposes a float32 weight of rank 4 of a convolution with `group` groups; everything is owned
// by the arena. `scale`, when not NULL, has one factor above 0 per output channel, for which errors
// of that channel count (a batch normalization that follows); it must live as long as the arena.
// The factors still stand for the weight itself. Errors: DQ_BAD_INPUT for an empty weight, NaN or
// infinity, a group that does not divide the output channels; DQ_UNSUPPORTED for another type, rank
// or too large sizes.
dq_status dq_hosvd_compute(dq_hosvd *hosvd, const dq_tensor *weight, int64_t group, const double *scale,
                           dq_arena *arena, dq_error *error);

// Improves the vectors for these ranks by higher-order orthogonal iteration: the error of the (scaled)
// weight never grows. The first ranks of both modes change, the singular values do not. Nothing where
// a mode stays whole, whose vectors are the best ones already. Owned by the arena.
dq_status dq_hosvd_refine(dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in, dq_arena *arena, dq_error *error);

// Squared singular values of the `rank` first / all; 1 for a mode that is zero throughout.
double dq_mode_energy(const dq_mode *mode, int64_t rank);

// The factors as three convolution weights, float32. A mode at rank == size has no factor (its
// square orthogonal one is absorbed by the core) unless the decomposition is `square`: Tucker-1, or W
// itself when both are so.
typedef struct dq_tucker2 {
  int64_t group, rank_out, rank_in; // ranks of one group
  dq_tensor *input;                 // group r_in x i x 1 x 1, V^T; NULL when r_in == i
  dq_tensor *core;                  // group r_out x r_in x kh x kw
  dq_tensor *output;                // group o x r_out x 1 x 1, U; NULL when r_out == o
  double energy_out, energy_in;
  double error; // ||W - W~|| / ||W|| (Frobenius) with W~ from these float32 factors in double
} dq_tucker2;

// Whether factors can be made at these ranks: 1 to the mode's full rank, or the channels themselves
// for a mode that stays whole (more than the full rank where the unfolding has fewer columns).
bool dq_tucker2_ranks_fit(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in);

// Factors at ranks that fit (else DQ_USAGE), owned by the arena. The factors
// are scaled by powers of two (which rounds nothing) so that their Frobenius norms agree within a
// factor of two: neither the small nor the large end of a narrower type is lost to one of them.
dq_status dq_tucker2_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in,
                             dq_arena *arena, dq_error *error);

// Factors in double, in the layout of the weights.
typedef struct dq_tucker2_exact {
  int64_t rank_out, rank_in;
  double *input, *core, *output; // input, output: NULL for a mode that stays whole
} dq_tucker2_exact;

// The same from factors found otherwise, whose arrays are changed. `hosvd` tells the error and the energies.
dq_status dq_tucker2_store(dq_tucker2 *factors, const dq_hosvd *hosvd, const dq_tucker2_exact *exact, dq_arena *arena,
                           dq_error *error);

// Mixes the channels between the factors by an orthogonal matrix so that all of them carry about the
// same (decomp/factor/balance.c); what the factors stand for stays the same. Of `factors` group and ranks are
// read; `dims` of the weight; `input` and `output` may be NULL. dq_tucker2_factors and
// dq_tucker2_store do it.
dq_status dq_tucker2_spread(const dq_tucker2 *factors, const int64_t dims[4], double *input, double *core,
                            double *output, dq_error *error);

// The weight that the factors stand for, in double, o x i x taps elements.
dq_status dq_tucker2_reconstruct(const dq_tucker2 *factors, double *weight, dq_error *error);

// What a convolution costs. Sums that do not fit in int64_t stay at INT64_MAX.
typedef struct dq_conv_cost {
  int64_t macs;       // multiply-accumulates, taps on padding counted
  int64_t parameters; // weights and bias
} dq_conv_cost;

// A convolution of weight dims (o of all groups, i of one, kh, kw) run on `positions` outputs
// (batch x oh x ow), or inputs when it is transposed. The number of groups changes nothing.
dq_conv_cost dq_conv_cost_whole(const int64_t dims[4], bool bias, int64_t positions);

// How many places (batch x h x w) the first 1x1, the core and the last 1x1 run on: those of the input, of the output,
// of a transposed convolution of the input, and of the output.
typedef struct dq_conv_positions {
  int64_t in, core, out;
} dq_conv_positions;

// The same decomposed; a mode at rank == channels of a group has no 1x1 unless `square`.
dq_conv_cost dq_conv_cost_tucker2(const int64_t dims[4], int64_t group, bool bias, const dq_conv_positions *positions,
                                  int64_t rank_out, int64_t rank_in, bool square);

#endif
