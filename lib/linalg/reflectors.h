// Householder's reflectors H = I - tau v v^T, many at a time (Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10,
// 1989: H_0 H_1 ... = I - V^T T V with the vectors as the rows of V and an upper triangular T).
#ifndef DQ_LINALG_REFLECTORS_H
#define DQ_LINALG_REFLECTORS_H

#include "lib/linalg/linalg.h"

// The k-th vector is in row k of `rows`, from column k + shift on, where its element is 1; elements before that column
// are no part of it.
typedef struct dq_reflectors {
  dq_matrix rows;
  int64_t shift;
  double *tau; // [rows.rows]; 0: the reflector changes nothing
} dq_reflectors;

enum { DQ_REFLECTORS_TOGETHER = 32 }; // that the functions below and those who call them take at a time

// The sum of a[i] * b[i], in the order of f64_dots.
double dq_dot(int64_t count, const double *a, const double *b);
// Replaces x[count] by the vector of the reflector that maps x to (result, 0, 0, ...), and stores its tau. Elements are
// far enough from the ends of double that their squares are finite.
double dq_reflector(int64_t count, double *x, double *tau);
// z H_first H_(first+1) ... H_(first+count-1), or with `backward` z H_(first+count-1) ... H_first, for every row of z,
// which has as many columns as h->rows. DQ_SYSTEM: there is no memory.
dq_status dq_reflect(const dq_reflectors *h, int64_t first, int64_t count, bool backward, const dq_matrix *z,
                     dq_error *error);
// z H_last ... H_1 H_0 of all reflectors. DQ_SYSTEM: there is no memory.
dq_status dq_reflect_back(const dq_reflectors *h, const dq_matrix *z, dq_error *error);

#endif
