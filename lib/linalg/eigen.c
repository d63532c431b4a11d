// Eigenvalues and eigenvectors of symmetric matrices: Householder's tridiagonal form by blocks (Dongarra, Sorensen,
// Hammarling, J. Comput. Appl. Math. 27, 1989), then implicit QL (Dubrulle, Martin, Wilkinson, Numer. Math. 12, 1968).
#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/sizes.h"
#include "lib/kernels/table/kernel_table.h"
#include "lib/linalg/linalg_internal.h"
#include "lib/linalg/reflectors.h"

// ---- Tridiagonal form ----

// A symmetric matrix whose first rows have become the vectors of reflectors, `count` of them since the elements behind
// were last brought up to date: these are to be A - V^T W - W^T V.
typedef struct reduction {
  dq_reflectors h;        // rows: the matrix; reflector k is that of row k, from column k + 1 on
  double *diagonal, *off; // off[k] is beside diagonal[k] and diagonal[k + 1]
  dq_matrix v, w; // 32 x size each, with zeros up to the diagonal; the rows of v, w and v again follow each other
  int64_t count;
  dq_f64_dots_function *dots;
} reduction;

static double *row_of(const dq_matrix *m, int64_t row, int64_t column) { return m->data + row * m->stride + column; }

static void add(int64_t count, double factor, const double *from, double *to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) to[i] += factor * from[i];
}

// Adds two terms, one after the other: to += by_a * a, then to += by_b * b.
static void add_both(int64_t count, double by_a, const double *a, double by_b, const double *b, double *to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) to[i] = (to[i] + by_a * a[i]) + by_b * b[i];
}

// Brings row k up to date, from the diagonal on.
static void update_row(const reduction *r, int64_t k) {
  const int64_t count = r->h.rows.columns - k;
  for (int64_t i = 0; i < r->count; i++) {
    const double *v = row_of(&r->v, i, k), *w = row_of(&r->w, i, k);
    add_both(count, -*v, w, -*w, v, row_of(&r->h.rows, k, k));
  }
}

// Makes row k a reflector, and adds its rows to V and W.
static void reduce_row(reduction *r, int64_t k) {
  const int64_t first = k + 1, count = r->h.rows.columns - first;
  double *x = row_of(&r->h.rows, k, first), *tau = &r->h.tau[k];
  r->off[k] = dq_reflector(count, x, tau);
  double *v = row_of(&r->v, r->count, first), *w = row_of(&r->w, r->count, first);
  memcpy(v, x, (size_t)count * sizeof(double));
  r->dots(&(dq_f64_dots){row_of(&r->h.rows, first, first), v, w, count, count, r->h.rows.stride});
  double by_v[DQ_REFLECTORS_TOGETHER], by_w[DQ_REFLECTORS_TOGETHER]; // products of the rows so far with v
  r->dots(&(dq_f64_dots){row_of(&r->v, 0, first), v, by_v, r->count, count, r->v.stride});
  r->dots(&(dq_f64_dots){row_of(&r->w, 0, first), v, by_w, r->count, count, r->w.stride});
  for (int64_t i = 0; i < r->count; i++)
    add_both(count, -by_w[i], row_of(&r->v, i, first), -by_v[i], row_of(&r->w, i, first), w);
  for (int64_t i = 0; i < count; i++) w[i] *= *tau;
  add(count, -*tau / 2 * dq_dot(count, w, v), v, w);
  r->count++;
}

// Brings the elements from row and column `first` on up to date.
static dq_status update_rest(reduction *r, int64_t first, dq_error *error) {
  const int64_t size = r->h.rows.columns, rows = r->v.rows;
  const dq_matrix rest = dq_matrix_part(&r->h.rows, first, size - first, first, size - first);
  // V, W and W, V below each other; rows past the count are 0.
  const dq_matrix left = {2 * rows, size - first, size, r->v.data + first};
  const dq_matrix right = {2 * rows, size - first, size, r->w.data + first};
  memcpy(r->w.data + rows * size, r->v.data, (size_t)(rows * size) * sizeof(double));
  DQ_TRY(dq_matrix_multiply(true, &left, false, &right, DQ_PRODUCT_SUBTRACT, &rest, error));
  memset(r->v.data, 0, (size_t)(2 * rows * size) * sizeof(double));
  r->count = 0;
  return DQ_OK;
}

static dq_status reduce(reduction *r, dq_error *error) {
  const int64_t size = r->h.rows.columns;
  for (int64_t k = 0; k < size; k++) {
    update_row(r, k);
    r->diagonal[k] = *row_of(&r->h.rows, k, k);
    if (k + 1 == size) break;
    reduce_row(r, k);
    if (r->count == r->v.rows) DQ_TRY(update_rest(r, k + 1, error));
  }
  return DQ_OK;
}

// ---- Implicit QL ----

// A tridiagonal matrix on its way to a diagonal one.
typedef struct iteration {
  int64_t size;
  double *diagonal, *off;
  double negligible; // elements of `off` up to this one, half a unit in the last place of the largest one, count as 0
  dq_matrix vectors; // rows; data NULL: not wanted
  dq_rotation *rotations;
  int64_t count, most_rotations; // that the rows of `vectors` still have to go through
  double *strip;                 // size x STRIP
} iteration;

enum { STRIP = DQ_ROTATED_COLUMNS, MOST_ROTATIONS = 1 << 14, MOST_SWEEPS = 60 }; // sweeps for one eigenvalue

// Rotates the rows of the eigenvectors, some columns after the other: elements then stay in the cache.
static void rotate_all(iteration *t) {
  dq_f64_rotations_function *rotations = DQ_KERNEL_FUNCTION(f64_rotations, dq_linalg_features());
  for (int64_t first = 0; first < t->vectors.columns; first += STRIP) {
    const int64_t count = dq_min_i64(STRIP, t->vectors.columns - first);
    const dq_matrix part = dq_matrix_part(&t->vectors, 0, t->size, first, count);
    const dq_matrix strip = {t->size, count, STRIP, t->strip};
    dq_matrix_copy(&part, &strip);
    rotations(t->rotations, t->count, t->strip);
    dq_matrix_copy(&strip, &part);
  }
  t->count = 0;
}

// The end of the block that begins at `first`: the elements beside the diagonal vanish behind it.
static int64_t block_end(const iteration *t, int64_t first) {
  int64_t end = first;
  while (end + 1 < t->size && fabs(t->off[end]) > t->negligible) end++;
  return end;
}

// One sweep from the end of a block to its first row, with Wilkinson's shift. Where a rotation finds nothing to rotate
// by, the block has become two, and the sweep ends.
static void sweep(iteration *t, int64_t first, int64_t end) {
  double *d = t->diagonal, *e = t->off;
  const double half = (d[first + 1] - d[first]) / (2 * e[first]);
  double g = d[end] - d[first] + e[first] / (half + copysign(sqrt(half * half + 1), half));
  double sine = 1, cosine = 1, shift = 0;
  for (int64_t i = end - 1; i >= first; i--) {
    const double f = sine * e[i], b = cosine * e[i], length = sqrt(f * f + g * g);
    e[i + 1] = length;
    if (length == 0) {
      d[i + 1] -= shift;
      e[end] = 0;
      return;
    }
    sine = f / length, cosine = g / length;
    g = d[i + 1] - shift;
    const double r = (d[i] - g) * sine + 2 * cosine * b;
    shift = sine * r;
    d[i + 1] = g + shift;
    g = cosine * r - b;
    if (t->rotations) t->rotations[t->count++] = (dq_rotation){i, cosine, sine};
  }
  d[first] -= shift;
  e[first] = g;
  e[end] = 0;
}

static dq_status iterate(iteration *t, dq_error *error) {
  for (int64_t i = 0; i < t->size; i++)
    t->negligible = fmax(t->negligible, DBL_EPSILON / 2 * fmax(fabs(t->diagonal[i]), fabs(t->off[i])));
  for (int64_t first = 0; first < t->size; first++) {
    int64_t end, sweeps = 0;
    while ((end = block_end(t, first)) > first) {
      if (sweeps++ == MOST_SWEEPS)
        return dq_fail(error, DQ_BAD_INPUT, "eigenvalue %lld of a %lldx%lld matrix did not converge", (long long)first,
                       (long long)t->size, (long long)t->size);
      if (t->count > t->most_rotations) rotate_all(t);
      sweep(t, first, end);
    }
  }
  if (t->rotations) rotate_all(t);
  return DQ_OK;
}

// ---- Both ----

// A power of two by which elements come between -1 and 1, so that squares neither overflow nor matter where they
// underflow. Its inverse is a number too.
static double common_scale(const dq_matrix *a) {
  enum { FARTHEST = 1000 };
  double largest = 0;
  int exponent = 0;
  for (int64_t i = 0; i < a->rows * a->columns; i++)
    if (fabs(a->data[i]) > largest) largest = fabs(a->data[i]);
  if (largest > 0) (void)frexp(largest, &exponent);
  return ldexp(1, exponent > FARTHEST ? FARTHEST : exponent < -FARTHEST ? -FARTHEST : exponent);
}

static dq_status open_reduction(reduction *r, const dq_matrix *a, dq_arena *arena, dq_error *error) {
  enum { TOGETHER = DQ_REFLECTORS_TOGETHER };
  const int64_t size = a->rows, rows = dq_min_i64(TOGETHER, size);
  double *data = DQ_NEW_ARRAY(arena, (3 + 3 * rows) * size, double);
  if (!data) return dq_fail_memory(error, (size_t)((3 + 3 * rows) * size) * sizeof(double));
  *r = (reduction){.h = {{size - 1, size, size, a->data}, 1, data}, .diagonal = data + size, .off = data + 2 * size};
  r->dots = DQ_KERNEL_FUNCTION(f64_dots, dq_linalg_features());
  r->v = dq_matrix_tight(rows, size, data + 3 * size);
  r->w = dq_matrix_tight(rows, size, r->v.data + rows * size);
  return DQ_OK;
}

static dq_status open_iteration(iteration *t, const reduction *r, bool vectors, dq_arena *arena, dq_error *error) {
  const int64_t size = r->h.rows.columns;
  *t = (iteration){.size = size, .diagonal = r->diagonal, .off = r->off};
  if (!vectors) return DQ_OK;
  double *rows = DQ_NEW_ARRAY(arena, size * size, double);
  t->most_rotations = dq_min_i64(MOST_ROTATIONS, 2 * size * size);
  t->rotations = DQ_NEW_ARRAY(arena, t->most_rotations + size, dq_rotation);
  t->strip = DQ_NEW_ARRAY(arena, size * STRIP, double);
  if (!rows || !t->rotations || !t->strip) return dq_fail_memory(error, (size_t)(size * size) * sizeof(double));
  t->vectors = dq_matrix_tight(size, size, rows);
  for (int64_t i = 0; i < size; i++) rows[i * size + i] = 1;
  return DQ_OK;
}

// Copies values and vectors in descending order; equal values in the order that they have.
static void sort(const iteration *t, double *values, double *vectors) {
  for (int64_t i = 0; i < t->size; i++) {
    int64_t rank = 0;
    for (int64_t j = 0; j < t->size; j++)
      rank += t->diagonal[j] > t->diagonal[i] || (t->diagonal[j] == t->diagonal[i] && j < i);
    values[rank] = t->diagonal[i];
    if (!vectors) continue;
    memcpy(vectors + rank * t->size, t->vectors.data + i * t->size, (size_t)t->size * sizeof(double));
  }
}

static dq_status decompose(int64_t size, double *a, double *values, bool vectors, dq_arena *arena, dq_error *error) {
  const dq_matrix matrix = dq_matrix_tight(size, size, a);
  const double scale = common_scale(&matrix), inverse = 1 / scale;
  reduction r;
  iteration t;
  for (int64_t i = 0; i < size * size; i++) a[i] *= inverse;
  DQ_TRY(open_reduction(&r, &matrix, arena, error));
  DQ_TRY(reduce(&r, error));
  DQ_TRY(open_iteration(&t, &r, vectors, arena, error));
  DQ_TRY(iterate(&t, error));
  if (vectors && size > 1) DQ_TRY(dq_reflect_back(&r.h, &t.vectors, error));
  sort(&t, values, vectors ? a : NULL);
  for (int64_t i = 0; i < size; i++) values[i] *= scale;
  return DQ_OK;
}

dq_status dq_symmetric_eigen(int64_t size, double *a, double *values, bool vectors, dq_error *error) {
  DQ_TRY(dq_check_matrix(size, size, a, error));
  dq_arena *arena = dq_arena_new(NULL);
  if (!arena) return dq_fail_memory(error, sizeof(double));
  dq_status status = size > DQ_OWN_EIGEN_LIMIT ? dq_lapack_eigen(size, a, values, vectors, arena, error)
                                               : decompose(size, a, values, vectors, arena, error);
  dq_arena_free(arena);
  if (status == DQ_OK && vectors) dq_fix_signs(size, size, a);
  return status;
}
