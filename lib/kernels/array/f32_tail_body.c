// What follows the activation of a float32 convolution (dq_tail), written once for every instruction set on top of
// vector_<set>.h. Eight vectors go side by side, as each step of one waits for the step before.
// Sets: avx2 avx512
#include "lib/kernels/reference/function.h"
#include "lib/kernels/simd/vector.h"

enum { SIDE = 8, PAIR = 2 * V_WORDS, ROWS = SIDE / 2 };
#define EACH _Pragma("GCC unroll 8") for (int i = 0; i < count; i++)

// dq_silu_one of each lane, step by step.
static inline __attribute__((always_inline)) void silu(f32_vector x[SIDE], const int count) {
  f32_vector r[SIDE], shifted[SIDE], n[SIDE], p[SIDE], square[SIDE];
  EACH r[i] = f32_bounded(f32_minus(f32_set(-0.0f), x[i]), f32_set(-87.0f), f32_set(89.0f));
  EACH shifted[i] = f32_dot(f32_set(DQ_EXP_MAGIC), r[i], f32_set(1.44269504088896341f));
  EACH n[i] = f32_minus(shifted[i], f32_set(DQ_EXP_MAGIC));
  EACH r[i] = f32_dot(r[i], n[i], f32_set(-0.693359375f));
  EACH r[i] = f32_dot(r[i], n[i], f32_set(2.12194440e-4f));
  EACH p[i] = f32_dot(f32_set(1.3981999507e-3f), r[i], f32_set(1.9875691500e-4f));
  EACH p[i] = f32_dot(f32_set(8.3334519073e-3f), p[i], r[i]);
  EACH p[i] = f32_dot(f32_set(4.1665795894e-2f), p[i], r[i]);
  EACH p[i] = f32_dot(f32_set(1.6666665459e-1f), p[i], r[i]);
  EACH p[i] = f32_dot(f32_set(5.0000001201e-1f), p[i], r[i]);
  EACH square[i] = f32_times(r[i], r[i]);
  EACH p[i] = f32_dot(r[i], p[i], square[i]);
  EACH p[i] = f32_plus(p[i], f32_set(1.0f));
  EACH p[i] = f32_times_power(p[i], shifted[i]);
  EACH p[i] = f32_plus(p[i], f32_set(1.0f));
  EACH p[i] = f32_divided(f32_set(1.0f), p[i]);
  EACH x[i] = f32_times(x[i], p[i]);
}

// What the tail does with `count` vectors; addend: their operands of the sum.
static inline __attribute__((always_inline)) void end_vectors(const dq_tail *t, f32_vector x[SIDE],
                                                              const f32_vector addend[SIDE], const int count,
                                                              const bool has_silu, const bool adds) {
  if (has_silu) silu(x, count);
  if (!adds) return;
  EACH x[i] = f32_plus(x[i], addend[i]);
  if (t->leaky) EACH x[i] = f32_leaky(x[i], f32_set(t->alpha));
  else EACH x[i] = f32_bounded(x[i], f32_set(t->low), f32_set(t->high));
}

// Whole vectors: two at `at`, two more at `at` + next, and so on.
static inline __attribute__((always_inline)) void end_whole(const dq_tail *t, int64_t at, int64_t next, const int count,
                                                            const bool has_silu, const bool adds) {
  f32_vector x[SIDE], addend[SIDE];
  EACH x[i] = f32_load(t->values + at + (i >> 1) * next + (i & 1) * V_WORDS);
  if (adds) EACH addend[i] = f32_load(t->addend + at + (i >> 1) * next + (i & 1) * V_WORDS);
  end_vectors(t, x, addend, count, has_silu, adds);
  EACH f32_store(t->values + at + (i >> 1) * next + (i & 1) * V_WORDS, x[i]);
}

// The rest of a row, less than two vectors.
static inline __attribute__((always_inline)) void end_rest(const dq_tail *t, int64_t at, int64_t left,
                                                           const bool has_silu, const bool adds) {
  for (; left > 0; at += V_WORDS, left -= V_WORDS) {
    const f32_lanes lanes = f32_lanes_between(0, left);
    f32_vector x[SIDE] = {f32_load_lanes(t->values + at, lanes)}, addend[SIDE];
    if (adds) addend[0] = f32_load_lanes(t->addend + at, lanes);
    end_vectors(t, x, addend, 1, has_silu, adds);
    f32_store_lanes(t->values + at, x[0], lanes);
  }
}

static inline __attribute__((always_inline)) void end_all(const dq_tail *form, const bool has_silu, const bool adds) {
  const dq_tail copy = *form, *t = &copy; // which no store can change
  for (int64_t row = 0; row < t->rows; row += ROWS) {
    const int64_t first = row * t->stride, rows = t->rows - row < ROWS ? t->rows - row : ROWS;
    int64_t column = 0;
    if (t->rows == 1)
      for (; column + ROWS * PAIR <= t->columns; column += ROWS * PAIR)
        end_whole(t, first + column, PAIR, SIDE, has_silu, adds);
    for (; column + PAIR <= t->columns; column += PAIR)
      if (rows == 4) end_whole(t, first + column, t->stride, 8, has_silu, adds);
      else if (rows == 3) end_whole(t, first + column, t->stride, 6, has_silu, adds);
      else if (rows == 2) end_whole(t, first + column, t->stride, 4, has_silu, adds);
      else end_whole(t, first + column, 0, 2, has_silu, adds);
    for (int64_t r = 0; r < rows; r++) end_rest(t, first + r * t->stride + column, t->columns - column, has_silu, adds);
  }
}

void DQ_FOR_SET(dq_f32_tail)(const dq_tail *t) {
  if (t->silu && t->addend) end_all(t, true, true);
  else if (t->silu) end_all(t, true, false);
  else if (t->addend) end_all(t, false, true);
}
