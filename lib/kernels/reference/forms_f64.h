// The structs that kernels in double precision take (kernel_table.h).
#ifndef DQ_KERNELS_FORMS_F64_H
#define DQ_KERNELS_FORMS_F64_H

#include <stdbool.h>
#include <stdint.h>

// f64_tile: a tile of sums in double precision, of all rows and columns of the kernel: c[i][j] = start + the sum over
// k, ascending, of a[k][i] * b[k][j], one chain of fused multiply-adds from c[i][j], or from +0 without `accumulate`.
typedef struct dq_f64_tile {
  const double *a, *b; // [depth][rows], [depth][columns]
  double *c;
  int64_t c_stride, depth;
  bool accumulate;
} dq_f64_tile;
typedef void dq_f64_tile_function(const dq_f64_tile *tile);

// f64_rotations: rotates rows of DQ_ROTATED_COLUMNS elements in the order of `rotations`: of the rows a = row and
// b = row + 1, a becomes cosine * a - sine * b and b becomes sine * a + cosine * b, each product and each sum rounded.
enum { DQ_ROTATED_COLUMNS = 32 };
typedef struct dq_rotation {
  int64_t row;
  double cosine, sine;
} dq_rotation;
typedef void dq_f64_rotations_function(const dq_rotation *rotations, int64_t count, double *rows);

// f64_dots: out[r] = the sum of data[r * stride + i] * vector[i], i < columns, in DQ_DOT_LANES sums of every
// DQ_DOT_LANES-th product each, as dq_dot_end adds them up; each product and each sum is rounded.
enum { DQ_DOT_LANES = 8 };
typedef struct dq_f64_dots {
  const double *data, *vector;
  double *out;
  int64_t rows, columns, stride;
} dq_f64_dots;
typedef void dq_f64_dots_function(const dq_f64_dots *dots);

// Adds the last `count` products, fewer than DQ_DOT_LANES, to the first lanes, and returns the sum of all lanes.
static inline double dq_dot_end(double lanes[DQ_DOT_LANES], int64_t count, const double *a, const double *b) {
  for (int64_t i = 0; i < count; i++) lanes[i] += a[i] * b[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

#endif
