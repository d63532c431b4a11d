// Channels between the factors are free up to an orthogonal matrix. As singular vectors leave them, the
// first carry nearly all, and what has one scale for all channels (8-bit activations) or for a whole
// row (8-bit weights) loses the others. The discrete Hartley transform (Bracewell, J. Opt. Soc. Am. 73,
// 1983), H[j,k] = (cos + sin)(2 pi j k / n) / sqrt(n), is orthogonal and symmetric for every n and gives
// each channel the same share of the first, strongest one.
#include <math.h>

#include "decomp/factor/tucker2.h"
#include "lib/linalg/linalg.h"

// cos a + sin a for a = 2 pi k / n, 0 <= k < n, by Taylor's series below pi / 4, as the functions of the C library give
// other bits from release to release.
static double cosine_plus_sine(int64_t k, int64_t n) {
  enum { TERMS = 9 };
  const int64_t eighth = 8 * k / n, rest = 8 * k % n; // a = (eighth + rest / n) pi / 4
  const double x = M_PI / 4 * (double)(eighth % 2 ? n - rest : rest) / (double)n, square = x * x;
  double cosine = 1, sine = 1;
  for (int i = TERMS; i > 0; i--) {
    cosine = 1 - cosine * square / (2 * i * (2 * i - 1));
    sine = 1 - sine * square / (2 * i * (2 * i + 1));
  }
  sine *= x;
  const bool exchanged = (eighth + 1) / 2 % 2; // pi / 4 to 3 pi / 4, and the same on the other side
  const double c = exchanged ? sine : cosine, s = exchanged ? cosine : sine;
  return (eighth >= 2 && eighth < 6 ? -c : c) + (eighth < 4 ? s : -s);
}

static double *hartley(int64_t n, dq_arena *arena) {
  double *h = DQ_NEW_ARRAY(arena, n * n, double), *sums = DQ_NEW_ARRAY(arena, n, double);
  if (!h || !sums) return NULL;
  for (int64_t k = 0; k < n; k++) sums[k] = cosine_plus_sine(k, n) / sqrt((double)n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = 0; k < n; k++) h[j * n + k] = sums[j * k % n];
  return h;
}

typedef struct mixing {
  int64_t a, b; // ranks out and in of a group
  int64_t inputs, outputs, taps;
  const double *out, *in; // transforms; NULL where there is no factor
  double *scratch;        // for one group's largest factor
} mixing;

// What has the same size takes the place of `to`.
static void put(const mixing *m, dq_matrix to) {
  dq_matrix made = dq_matrix_tight(to.rows, to.columns, m->scratch);
  dq_matrix_copy(&made, &to);
}

// One group. `first`, `last`: the 1x1 factors, or NULL.
static dq_status mix_group(const mixing *m, double *first, double *core, double *last, dq_error *error) {
  int64_t a = m->a, b = m->b, taps = m->taps;
  dq_matrix out = dq_matrix_tight(a, a, m->out), in = dq_matrix_tight(b, b, m->in);
  if (m->out) {
    dq_matrix rows = dq_matrix_tight(a, b * taps, core), columns = dq_matrix_tight(m->outputs, a, last);
    DQ_TRY(dq_multiply(out, rows, m->scratch, error));
    put(m, rows);
    DQ_TRY(dq_multiply(columns, out, m->scratch, error));
    put(m, columns);
  }
  if (!m->in) return DQ_OK;
  for (int64_t k = 0; k < a; k++) {
    dq_matrix one = dq_matrix_tight(b, taps, core + k * b * taps);
    DQ_TRY(dq_multiply(in, one, m->scratch, error));
    put(m, one);
  }
  dq_matrix rows = dq_matrix_tight(b, m->inputs, first);
  DQ_TRY(dq_multiply(in, rows, m->scratch, error));
  put(m, rows);
  return DQ_OK;
}

dq_status dq_tucker2_spread(const dq_tucker2 *factors, const int64_t dims[4], double *input, double *core,
                            double *output, dq_error *error) {
  dq_arena *arena = dq_arena_new(0);
  if (!arena) return dq_fail_memory(error, sizeof(mixing));
  int64_t a = factors->rank_out, b = factors->rank_in, taps = dims[2] * dims[3];
  int64_t in = dims[1], out = dims[0] / factors->group;
  int64_t sizes[] = {a * b * taps, out * a, b * in}, most = 0;
  for (int i = 0; i < 3; i++) most = sizes[i] > most ? sizes[i] : most;
  mixing m = {.a = a, .b = b, .inputs = in, .outputs = out, .taps = taps, .scratch = DQ_NEW_ARRAY(arena, most, double)};
  if (output) m.out = hartley(a, arena);
  if (input) m.in = hartley(b, arena);
  dq_status status = m.scratch && (m.out || !output) && (m.in || !input)
                         ? DQ_OK
                         : dq_fail_memory(error, (size_t)most * sizeof(double));
  for (int64_t g = 0; status == DQ_OK && g < factors->group; g++)
    status = mix_group(&m, input ? input + g * b * in : NULL, core + g * a * b * taps,
                       output ? output + g * out * a : NULL, error);
  dq_arena_free(arena);
  return status;
}
