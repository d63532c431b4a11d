// Depthwise sums of 3x3 kernels of stride 1 in float32 for AVX-512, on planes wider than a vector: a part of
// dq_f32_window_avx512, which leaves them to this function. In a file of its own: the compiler makes slower code of it
// beside functions for other kernels.
#include "lib/kernels/simd/vector_avx512.h"
#include "lib/kernels/table/kernel_table.h"

enum {
  SIDE = 3, // of the kernel
  ROWS = 6, // of outputs at once
  LANES = V_WORDS,
  // Kinds of blocks: no column is in the padding; no row is.
  INNER = 1,
  WHOLE = 2,
};

static const float zeros[(SIDE - 1) * DQ_WINDOW_DILATION + LANES] = {0};

// A vector of columns of outputs.
typedef struct window_strip {
  int64_t output, input; // first column of either
  f32_lanes lanes[SIDE]; // of the load under each tap: those inside of the row
  f32_lanes stored;
} window_strip;

typedef struct window_plane {
  const dq_plane_window *form;
  const float *input;
  float *output;
  f32_vector weights[SIDE * SIDE], bias;
} window_plane;

static inline window_strip strip_at(const dq_plane_window *w, int64_t x) {
  window_strip strip = {.output = x, .input = x - w->pad_left, .stored = f32_lanes_between(0, w->out_width - x)};
  for (int k = 0; k < SIDE; k++) {
    int64_t at = strip.input + k * w->dilation;
    strip.lanes[k] = f32_lanes_between(-at, w->in_width - at);
  }
  return strip;
}

static inline __attribute__((always_inline)) window_plane plane_at(const dq_plane_window *w, int64_t plane) {
  window_plane p = {.form = w,
                    .input = (const float *)w->input + plane * w->in_height * w->in_width,
                    .output = (float *)w->output + plane * w->out_height * w->out_width,
                    .bias = f32_set(w->bias ? ((const float *)w->bias)[plane] : 0)};
  const float *numbers = (const float *)w->weights + plane * SIDE * SIDE;
#pragma GCC unroll 9
  for (int k = 0; k < SIDE * SIDE; k++) p.weights[k] = f32_set(numbers[k]);
  return p;
}

static inline __attribute__((always_inline)) void end_block(const window_plane *p, const window_strip *strip,
                                                            f32_vector *sums, int64_t y, const int rows,
                                                            const int kind) {
  const dq_plane_window *w = p->form;
  float *to = p->output + y * w->out_width + strip->output;
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++, to += w->dilation * w->out_width) {
    if (w->bias) sums[i] = f32_plus(sums[i], p->bias);
    sums[i] =
        w->leaky ? f32_leaky(sums[i], f32_set(w->alpha)) : f32_bounded(sums[i], f32_set(w->low), f32_set(w->high));
    if (kind & INNER) f32_store(to, sums[i]);
    else f32_store_lanes(to, sums[i], strip->stored);
  }
}

// Outputs of `rows` rows from `y` on, as far apart as the dilation. The empty instructions keep the compiler from
// loading a vector again for each product, and from holding the addresses of all rows.
static inline __attribute__((always_inline)) void sum_block(const window_plane *p, const window_strip *strip, int64_t y,
                                                            const int rows, const int kind) {
  const dq_plane_window *w = p->form;
  int64_t row = y - w->pad_top;
  const float *place = p->input + row * w->in_width + strip->input;
  f32_vector sums[ROWS];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++) sums[i] = f32_zero();
#pragma GCC unroll 8
  for (int q = 0; q < rows + SIDE - 1; q++, row += w->dilation, place += w->dilation * w->in_width) {
    __asm__("" : "+r"(place));
    const float *from = !(kind & WHOLE) && (uint64_t)row >= (uint64_t)w->in_height ? zeros : place;
    f32_vector taps[SIDE];
#pragma GCC unroll 3
    for (int k = 0; k < SIDE; k++) {
      const float *at = from + k * w->dilation;
      taps[k] = kind & INNER ? f32_load(at) : f32_load_lanes(at, strip->lanes[k]);
      __asm__("" : "+v"(taps[k]));
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      int ky = q - i;
      if (ky < 0 || ky >= SIDE) continue;
#pragma GCC unroll 3
      for (int k = 0; k < SIDE; k++) sums[i] = f32_dot(sums[i], taps[k], p->weights[ky * SIDE + k]);
    }
  }
  end_block(p, strip, sums, y, rows, kind);
}

// A strip of one plane: rows from `y` on. Two blocks that are alike are faster than a whole one and a small rest.
static inline __attribute__((always_inline)) void sum_rows(const dq_plane_window *w, int64_t plane, int64_t y,
                                                           const window_strip *strip, const int kind) {
  const window_plane p = plane_at(w, plane);
  const int64_t step = w->dilation, reach = (ROWS + SIDE - 2) * step;
  int64_t left = (w->end_row - y + step - 1) / step;
  for (int64_t rows; left > 0; left -= rows, y += rows * step) {
    rows = left <= ROWS ? left : left < 2 * ROWS ? (left + 1) / 2 : ROWS;
    int64_t first = y - w->pad_top;
    switch (rows) {
    case 1: sum_block(&p, strip, y, 1, kind); break;
    case 2: sum_block(&p, strip, y, 2, kind); break;
    case 3: sum_block(&p, strip, y, 3, kind); break;
    case 4: sum_block(&p, strip, y, 4, kind); break;
    case 5: sum_block(&p, strip, y, 5, kind); break;
    default:
      if (first >= 0 && first + reach < w->in_height) sum_block(&p, strip, y, ROWS, kind | WHOLE);
      else sum_block(&p, strip, y, ROWS, kind);
    }
  }
}

static inline __attribute__((always_inline)) void sum_planes(const dq_plane_window *w) {
  for (int64_t x = 0; x < w->out_width; x += LANES) {
    const window_strip strip = strip_at(w, x);
    const int64_t end = strip.input + (SIDE - 1) * w->dilation + LANES;
    const bool inner = strip.input >= 0 && x + LANES <= w->out_width && end <= w->in_width;
    for (int64_t plane = 0; plane < w->planes; plane++)
      for (int64_t y = w->first_row; y < w->first_row + w->dilation; y++)
        if (inner) sum_rows(w, plane, y, &strip, INNER);
        else sum_rows(w, plane, y, &strip, 0);
  }
}

// Copies of the form, which no store can change.
static void sum_near(const dq_plane_window *form) {
  dq_plane_window w = *form;
  w.dilation = 1; // a constant
  sum_planes(&w);
}
static void sum_apart(const dq_plane_window *form) {
  const dq_plane_window w = *form;
  sum_planes(&w);
}

void dq_f32_window3_avx512(const dq_plane_window *w) { (w->dilation == 1 ? sum_near : sum_apart)(w); }
