// What the files of the fit share: matrices in an arena, the problem of one group, its factors. Results and temporary
// matrices are in the arena of the problem. Functions return DQ_SYSTEM when there is no memory, and DQ_BAD_INPUT when a
// covariance is not positive definite.
#ifndef DQ_DECOMP_FIT_INTERNAL_H
#define DQ_DECOMP_FIT_INTERNAL_H

#include "decomp/fit/fit.h"

// The problem of one group: patches x, responses t.
typedef struct dq_fit_problem {
  int64_t taps, in, out, patch;  // kernel positions; input and output channels; taps * in
  dq_matrix_f32 xx;              // covariances of the patches, patch x patch: those of the moments, without the ridge
  double ridge;                  // to be added to the diagonal of xx
  dq_matrix xt;                  // covariances with the responses, patch x out, with the ridge
  double variance;               // of the responses, summed over the channels, with the ridge
  dq_matrix weight;              // out x patch
  const double *x_mean, *t_mean; // [patch], [out]
  dq_arena *arena;
} dq_fit_problem;

// Opens the problem of a group in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_fit_open_problem(dq_fit_problem *p, const dq_moments *m, const dq_tensor *weight, int64_t group,
                              dq_arena *arena, dq_error *error);

typedef struct dq_fit_factors {
  int64_t rank_out, rank_in;
  bool cut_in, cut_out; // the mode has a factor; false: it stays whole
  dq_matrix v;          // rank_in x in
  dq_matrix u;          // rank_out x out: rows are directions of the responses
  dq_matrix g;          // rank_out x (rank_in, taps)
  double unexplained;   // variance of the responses that the factors miss, in the units of dq_fit_problem.variance
} dq_fit_factors;

// Calls step(p, argument) with an arena of its own in place of p->arena, which is freed: what one step of the fit needs
// does not add up over the steps.
typedef dq_status dq_fit_step(const dq_fit_problem *p, void *argument, dq_error *error);
dq_status dq_fit_beside(const dq_fit_problem *p, dq_fit_step *step, void *argument, dq_error *error);

// fit_input.c: creates *basis, of min(in, out * taps) x in: its rows are directions of the input channels, in
// descending order of what they would contribute to the responses if the kernel positions were not correlated.
dq_status dq_fit_input_basis(const dq_fit_problem *p, dq_matrix *basis, dq_error *error);
// Improves f->v in place, by at most 8 steps of preconditioned conjugate gradients on the normal equations of V,
// towards the least squares solution for the present U and G, which stay as they are. f->cut_in must be set;
// f->unexplained is not computed again. Each step multiplies a rank_out x patch matrix by p->xx. DQ_BAD_INPUT: a matrix
// of the preconditioner is not positive definite; DQ_SYSTEM: there is no memory.
dq_status dq_fit_improve_input(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error);
// Changes f->v so that the channels of V^T x have unit covariance (in the mean over the kernel positions), and f->g so
// that the product of both stays the same.
dq_status dq_fit_whiten(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error);

// fit_matrix.c: dq_fit_matrix is a row-major matrix without gaps over `data`, which is not copied; dq_fit_new_matrix
// makes such a matrix of zeros in the arena. DQ_SYSTEM: there is no memory.
dq_matrix dq_fit_matrix(int64_t rows, int64_t columns, double *data);
dq_status dq_fit_new_matrix(dq_matrix *m, int64_t rows, int64_t columns, dq_arena *arena, dq_error *error);
// Copies the elements of a matrix of float32 into one of the same size, and the other way round.
void dq_fit_widen(const dq_matrix_f32 *from, const dq_matrix *to);
void dq_fit_narrow(const dq_matrix *from, const dq_matrix_f32 *to);
double dq_fit_trace(const dq_matrix *m); // sum of the diagonal of a square matrix

#endif
