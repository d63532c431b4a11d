// Higher-order orthogonal iteration (De Lathauwer, De Moor, Vandewalle: "On the best rank-1 and
// rank-(R1, ..., RN) approximation of higher-order tensors", SIAM J. Matrix Anal. Appl. 21, 2000): the
// vectors of one mode are the leading ones of the weight as the other mode leaves it, in turns.
#include <string.h>

#include "decomp/factor/tucker2.h"
#include "lib/base/sizes.h"
#include "lib/linalg/linalg.h"

enum { MOST_ROUNDS = 50 };
static const double LEAST_GAIN = 1e-6; // of the squares kept, in a round

// One group at these ranks, its vectors changed in place.
typedef struct iteration {
  int64_t out, in, taps, rank_out, rank_in;
  const double *weight;      // out x in x taps
  double *u, *v;             // rank_out x out, rank_in x in
  double *part, *transposed; // at least out x in x taps each
  double *vectors, *values;
} iteration;

// Squares that the leading `rank` left vectors of a tight matrix keep; the vectors to `to`.
static dq_status lead(const iteration *state, dq_matrix m, int64_t rank, double *to, double *kept, dq_error *error) {
  DQ_TRY(dq_left_singular(m.rows, m.columns, m.data, state->vectors, state->values, error));
  memcpy(to, state->vectors, (size_t)(rank * m.rows) * sizeof(double));
  *kept = 0;
  for (int64_t k = 0; k < rank; k++) *kept += state->values[k] * state->values[k];
  return DQ_OK;
}

// U from W x_in V^T, unfolded along the outputs.
static dq_status improve_out(const iteration *state, double *kept, dq_error *error) {
  int64_t columns = state->rank_in * state->taps;
  dq_matrix v = dq_matrix_tight(state->rank_in, state->in, state->v);
  for (int64_t o = 0; o < state->out; o++)
    DQ_TRY(dq_multiply(v, dq_matrix_tight(state->in, state->taps, state->weight + o * state->in * state->taps),
                       state->part + o * columns, error));
  return lead(state, dq_matrix_tight(state->out, columns, state->part), state->rank_out, state->u, kept, error);
}

// V from W x_out U^T, unfolded along the inputs.
static dq_status improve_in(const iteration *state, double *kept, dq_error *error) {
  int64_t rows = state->rank_out;
  DQ_TRY(dq_multiply(dq_matrix_tight(rows, state->out, state->u),
                     dq_matrix_tight(state->out, state->in * state->taps, state->weight), state->part, error));
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < state->in; i++)
      memcpy(state->transposed + (i * rows + r) * state->taps, state->part + (r * state->in + i) * state->taps,
             (size_t)state->taps * sizeof(double));
  return lead(state, dq_matrix_tight(state->in, rows * state->taps, state->transposed), state->rank_in, state->v, kept,
              error);
}

static dq_status iterate(const iteration *state, dq_error *error) {
  double before = 0, kept = 0;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    DQ_TRY(improve_out(state, &kept, error));
    DQ_TRY(improve_in(state, &kept, error));
    if (kept - before <= LEAST_GAIN * kept) break;
    before = kept;
  }
  return DQ_OK;
}

dq_status dq_hosvd_refine(dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in, dq_arena *arena, dq_error *error) {
  dq_mode *out = &hosvd->out, *in = &hosvd->in;
  int64_t taps = hosvd->dims[2] * hosvd->dims[3], count = out->size * in->size * taps;
  int64_t larger = dq_max_i64(out->size, in->size);
  if (rank_out >= out->size || rank_in >= in->size || rank_out > rank_in * taps || rank_in > rank_out * taps)
    return DQ_OK;
  double *u = dq_arena_copy(arena, out->vectors, (size_t)(hosvd->group * out->rank * out->size) * sizeof(double));
  double *v = dq_arena_copy(arena, in->vectors, (size_t)(hosvd->group * in->rank * in->size) * sizeof(double));
  iteration state = {.out = out->size,
                     .in = in->size,
                     .taps = taps,
                     .rank_out = rank_out,
                     .rank_in = rank_in,
                     .part = DQ_NEW_ARRAY(arena, count, double),
                     .transposed = DQ_NEW_ARRAY(arena, count, double),
                     .vectors = DQ_NEW_ARRAY(arena, larger * larger, double),
                     .values = DQ_NEW_ARRAY(arena, larger, double)};
  if (!u || !v || !state.part || !state.transposed || !state.vectors || !state.values)
    return dq_fail_memory(error, (size_t)count * sizeof(double));
  for (int64_t g = 0; g < hosvd->group; g++) {
    state.weight = hosvd->scaled + g * count;
    state.u = u + g * out->rank * out->size;
    state.v = v + g * in->rank * in->size;
    DQ_TRY(iterate(&state, error));
  }
  out->vectors = u, in->vectors = v;
  return DQ_OK;
}
