// Second moments of what a convolution reads and should answer: all that least squares needs to know
// of the pictures, whose number therefore costs no memory.
#ifndef DQ_DECOMP_MOMENTS_H
#define DQ_DECOMP_MOMENTS_H

#include "lib/base/arena.h"
#include "lib/base/context.h"
#include "lib/linalg/linalg.h"

// Per group, of vectors z = (patch, answer, 1): a patch is what one output position reads (kernel
// positions in row-major order, the group's input channels within each), an answer its output
// channels. `sums` holds group matrices of size x size, sum z z^T; upper triangle only until
// dq_moments_centre.
typedef struct dq_moments {
  int64_t group, in, out;  // channels of one group
  int64_t kernel[2], taps; // height and width, their product
  int64_t size;            // taps * in + out + 1
  int64_t rows;            // vectors seen
  double *sums;
  dq_budget *budget; // of the arena they are in
} dq_moments;

// Zeros. `dims` are those of the weight: o of all groups, i of one group, kernel height and width.
dq_status dq_moments_init(dq_moments *moments, const int64_t dims[4], int64_t group, dq_arena *arena, dq_error *error);
// Bytes that dq_moments_init takes; SIZE_MAX when they cannot be counted.
size_t dq_moments_bytes(const int64_t dims[4], int64_t group);

// Adds `rows` vectors; vector r of group g begins at vectors + (r * group + g) * size. The result
// does not depend on the threads of `context`.
dq_status dq_moments_add(dq_moments *moments, int64_t rows, double *vectors, const dq_context *context,
                         dq_error *error);

// Turns the sums into covariances, full matrices; the last column and row become the means and 1.
// DQ_BAD_INPUT when nothing was seen or something was not finite.
dq_status dq_moments_centre(dq_moments *moments, dq_error *error);

// Views into the matrix of a group.
static inline dq_matrix dq_moments_view(const dq_moments *m, int64_t group, int64_t row, int64_t rows, int64_t column,
                                        int64_t columns) {
  return (dq_matrix){rows, columns, m->size, m->sums + (group * m->size + row) * m->size + column};
}
static inline int64_t dq_moments_patch(const dq_moments *m) { return m->taps * m->in; }

#endif
