// Second moments of what a convolution reads and of its responses: all that least squares needs to know of the
// pictures. Their memory does not depend on the number of pictures.
#ifndef DQ_DECOMP_MOMENTS_H
#define DQ_DECOMP_MOMENTS_H

#include "lib/base/arena.h"
#include "lib/base/context.h"
#include "lib/linalg/linalg.h"

// The moments of vectors z = (patch, response, 1), by group. A patch is what one output position reads: the kernel
// positions in row-major order, and within each the input channels of the group. A response has the output channels of
// the group at that position.
typedef struct dq_moments {
  int64_t group, in, out;  // number of groups; input and output channels of one group
  int64_t kernel[2], taps; // height and width, and their product
  int64_t size;            // elements of z: taps * in + out + 1
  int64_t rows;            // number of vectors of each group that were added
  // [group][size][size]: sums of (z - shift) (z - shift)^T, the upper triangle only; covariances after
  // dq_moments_centre. Sums of float32 have relative errors of some 1e-6 (docs/NUMERICS.md).
  float *sums;
  float *shift;      // [group][size]: the mean of the vectors that were added first, 0 for the last element
  double *ridge;     // [group]: the variance that dq_fit_prepare adds to every element of a patch, 0 before that
  dq_budget *budget; // of the arena of `sums`
} dq_moments;

// Opens moments of zero in the arena. `dims` are those of the weight: o of all groups, i of one group, kernel height
// and width. DQ_SYSTEM: there is no memory.
dq_status dq_moments_init(dq_moments *moments, const int64_t dims[4], int64_t group, dq_arena *arena, dq_error *error);
// The bytes that dq_moments_init allocates; SIZE_MAX when their number does not fit size_t.
size_t dq_moments_bytes(const int64_t dims[4], int64_t group);

// Memory for dq_moments_add, for moments of any size: of one user at a time.
typedef struct dq_moments_work {
  dq_pool *pool;
  unsigned cpu;
  float *products;       // for each thread a product and the scratch of dq_gemm_f32
  int64_t thread_floats; // of `products`
} dq_moments_work;

// Opens it in the arena for the threads and instruction sets of `context`; NULL: one thread, all sets. DQ_SYSTEM: there
// is no memory.
dq_status dq_moments_open_work(dq_moments_work *work, const dq_context *context, dq_arena *arena, dq_error *error);

// Adds `rows` vectors; vector r of group g begins at vectors + (r * group + g) * moments->size. The shift is subtracted
// from them where they are. The result depends neither on the number of threads nor on the instruction sets.
void dq_moments_add(dq_moments *moments, int64_t rows, float *vectors, const dq_moments_work *work);

// Converts the sums into covariances, as full symmetric matrices, whose last row and column become the means, and 1 in
// the corner. Sums are divided by `rows` (not rows - 1). To be called once, after the last dq_moments_add.
// DQ_BAD_INPUT: no vector was added, or a covariance is not finite (NaN, infinity or overflow), after which the moments
// are of no use.
dq_status dq_moments_centre(dq_moments *moments, dq_error *error);

// Adds the vectors of `other`, which has the same dimensions, to *moments: both hold covariances, and *moments then
// holds those of all vectors. `other` without vectors changes nothing.
void dq_moments_pool(dq_moments *moments, const dq_moments *other);

// A view of `rows` x `columns` elements of the matrix of a group, from (row, column) on.
static inline dq_matrix_f32 dq_moments_view(const dq_moments *m, int64_t group, int64_t row, int64_t rows,
                                            int64_t column, int64_t columns) {
  return (dq_matrix_f32){rows, columns, m->size, m->sums + (group * m->size + row) * m->size + column};
}
// The number of elements of a patch.
static inline int64_t dq_moments_patch(const dq_moments *m) { return m->taps * m->in; }

#endif
