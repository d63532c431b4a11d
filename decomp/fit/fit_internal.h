// What the files of the fit share: matrices in an arena, one group's problem, its factors.
#ifndef DQ_DECOMP_FIT_INTERNAL_H
#define DQ_DECOMP_FIT_INTERNAL_H

#include "decomp/fit/fit.h"

// One group. Everything made on the way belongs to the arena.
typedef struct dq_fit_problem {
  int64_t taps, in, out, patch;
  dq_matrix xx, xt, tt, weight; // covariances of patches and answers; out x patch
  const double *x_mean, *t_mean;
  dq_arena *arena;
} dq_fit_problem;

typedef struct dq_fit_factors {
  int64_t rank_out, rank_in;
  bool cut_in, cut_out;
  dq_matrix v;        // rank_in x in
  dq_matrix u;        // rank_out x out: rows are directions of the answers
  dq_matrix g;        // rank_out x (rank_in, taps)
  double unexplained; // of the trace of tt
} dq_fit_factors;

// fit_input.c: rows of `basis` (count x in) are directions of the input channels by falling
// contribution to the answers, were the kernel positions not correlated.
dq_status dq_fit_input_basis(const dq_fit_problem *p, dq_matrix *basis, dq_error *error);
// Improves f->v in place, by at most 8 steps of preconditioned conjugate gradients on the normal equations of V,
// towards the least squares solution for the present U and G, which stay as they are. f->cut_in must be set;
// f->unexplained is not computed again. Each step multiplies a rank_out x patch matrix by p->xx. DQ_BAD_INPUT: a matrix
// of the preconditioner is not positive definite; DQ_SYSTEM: there is no memory.
dq_status dq_fit_improve_input(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error);
// Gives the channels of V^T x unit covariance (mean over the kernel positions); G takes it back.
dq_status dq_fit_whiten(const dq_fit_problem *p, dq_fit_factors *f, dq_error *error);

// fit_matrix.c
dq_matrix dq_fit_matrix(int64_t rows, int64_t columns, double *data);
dq_status dq_fit_new_matrix(dq_matrix *m, int64_t rows, int64_t columns, dq_arena *arena, dq_error *error);
void dq_fit_transpose(const dq_matrix *from, const dq_matrix *to);
double dq_fit_trace(const dq_matrix *m);

#endif
