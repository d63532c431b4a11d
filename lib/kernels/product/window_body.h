// Depthwise sums from planes to planes without expansion (dq_plane_window), written once for every instruction set and
// type. The body that includes this file includes vector_<set>.h and defines WINDOW_FUNCTION (the symbol), W(name)
// (f32_name or f16_name), WINDOW_ELEMENT, WINDOW_LANES (elements in a vector), WINDOW_ROWS (4 to 8) and W(ended),
// which applies the activation. With WINDOW_WIDE_3, a function for 3x3 kernels of stride 1 on planes wider than a
// vector, these are left to it. Several rows of outputs are summed at once, a vector of columns each, so that an input
// row is loaded once for all output rows that read it. The order of the taps of one output is rows, then columns.
// Columns in the padding are lanes that are not loaded; rows in the padding are read from a row of zeros.
typedef WINDOW_ELEMENT element;
typedef W(vector) vector;

enum {
  SOME_ROWS = 4,   // of outputs at once
  WINDOW_TAPS = 5, // side by side, at most
  WINDOW_LOADS = WINDOW_TAPS + 1,
};

static const element zeros[(WINDOW_TAPS - 1) * DQ_WINDOW_DILATION + 2 * WINDOW_LANES] = {0};

// A vector of columns of outputs.
typedef struct window_strip {
  int64_t output, input;        // first column of either
  W(lanes) lanes[WINDOW_LOADS]; // of every load of a row: those inside of it
  W(lanes) stored;
} window_strip;

// Where the loads of a row begin: under every tap, or, with stride 2, at two vectors under every
// pair of taps, whose even and odd elements they are.
static inline __attribute__((always_inline)) int64_t load_at(const dq_plane_window *w, int load, const int stride) {
  return stride == 1 ? load * w->dilation : (load & ~1) + (load & 1) * WINDOW_LANES;
}
static inline __attribute__((always_inline)) int loads(const int kernel, const int stride) {
  return stride == 1 ? kernel : kernel + 1; // kernels are odd
}

static inline window_strip window_columns(const dq_plane_window *w, int64_t x, const int kernel, const int stride) {
  window_strip strip = {.output = x, .input = x * stride - w->pad_left};
  for (int k = 0; k < loads(kernel, stride); k++) {
    int64_t at = strip.input + load_at(w, k, stride);
    strip.lanes[k] = W(lanes_between)(-at, w->in_width - at);
  }
  strip.stored = W(lanes_between)(0, w->out_width - x);
  return strip;
}

// The taps of one input row for a vector of outputs; `from` is its element under the first.
static inline __attribute__((always_inline)) void load_taps(const dq_plane_window *w, const element *from,
                                                            const window_strip *strip, vector *taps, const int kernel,
                                                            const int stride, const bool inner) {
  vector read[WINDOW_LOADS];
#pragma GCC unroll 8
  for (int k = 0; k < loads(kernel, stride); k++) {
    const element *at = from + load_at(w, k, stride);
    read[k] = inner ? W(load)(at) : W(load_lanes)(at, strip->lanes[k]);
  }
#pragma GCC unroll 8
  for (int k = 0; k < kernel; k++)
    taps[k] = stride == 1 ? read[k] : k & 1 ? W(odd)(read[k - 1], read[k]) : W(even)(read[k], read[k + 1]);
}

// Outputs of `rows` rows from `y` on, `step` apart, of one plane; inner: no column is in the padding.
static inline __attribute__((always_inline)) void window_block(const dq_plane_window *w, const element *input,
                                                               element *output, const vector *weights,
                                                               const vector bias, int64_t y, const window_strip *strip,
                                                               const int kernel, const int stride, const int rows,
                                                               const bool inner) {
  const int64_t step = stride == 1 ? w->dilation : 1;
  int64_t row = y * stride - w->pad_top;
  vector sums[WINDOW_ROWS];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++) sums[i] = W(zero)();
#pragma GCC unroll 32
  for (int q = 0; q < (rows - 1) * stride + kernel; q++, row += step) {
    const element *from = input + row * w->in_width + strip->input;
    if ((uint64_t)row >= (uint64_t)w->in_height) from = zeros;
    vector taps[WINDOW_TAPS];
    load_taps(w, from, strip, taps, kernel, stride, inner);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      int ky = q - i * stride;
      if (ky < 0 || ky >= kernel) continue;
#pragma GCC unroll 8
      for (int k = 0; k < kernel; k++) sums[i] = W(dot)(sums[i], taps[k], weights[ky * kernel + k]);
    }
  }
  element *to = output + y * w->out_width + strip->output;
#pragma GCC unroll 4
  for (int i = 0; i < rows; i++, to += step * w->out_width) {
    if (w->bias) sums[i] = W(plus)(sums[i], bias);
    sums[i] = W(ended)(w, sums[i]);
    if (inner) W(store)(to, sums[i]);
    else W(store_lanes)(to, sums[i], strip->stored);
  }
}

// What blocks of one plane share.
#define WINDOW_PLANE                                                                                                   \
  const int64_t step = stride == 1 ? w->dilation : 1;                                                                  \
  const element *input = (const element *)w->input + plane * w->in_height * w->in_width;                               \
  element *output = (element *)w->output + plane * w->out_height * w->out_width;                                       \
  vector weights[WINDOW_TAPS * WINDOW_TAPS];                                                                           \
  const element *numbers = (const element *)w->weights + plane * kernel * kernel;                                      \
  _Pragma("GCC unroll 25") for (int k = 0; k < kernel * kernel; k++) weights[k] = W(set)(numbers[k]);                  \
  const vector bias = W(set)(w->bias ? ((const element *)w->bias)[plane] : 0)
#define WINDOW_BLOCK(rows) window_block(w, input, output, weights, bias, y, strip, kernel, stride, rows, inner)

// A strip of one plane: rows from `y` on, `step` apart, below the last row.
static inline __attribute__((always_inline)) void window_rows(const dq_plane_window *w, int64_t plane, int64_t y,
                                                              const window_strip *strip, const int kernel,
                                                              const int stride, const bool inner) {
  WINDOW_PLANE;
  for (; y + 3 * step < w->end_row; y += SOME_ROWS * step) WINDOW_BLOCK(4);
  if (y + 2 * step < w->end_row) WINDOW_BLOCK(3);
  else if (y + step < w->end_row) WINDOW_BLOCK(2);
  else if (y < w->end_row) WINDOW_BLOCK(1);
}

// The same with up to WINDOW_ROWS rows at once where loads are of lanes. Two blocks that are alike are faster than a
// whole one and a small rest.
static inline __attribute__((always_inline)) void window_rows_by_case(const dq_plane_window *w, int64_t plane,
                                                                      int64_t y, const window_strip *strip,
                                                                      const int kernel, const int stride,
                                                                      const bool inner) {
  WINDOW_PLANE;
  const int most = stride == 1 && !inner ? WINDOW_ROWS : SOME_ROWS;
  int64_t left = step == 1 ? w->end_row - y : (w->end_row - y + step - 1) / step;
#define WINDOW_CASE(rows)                                                                                              \
  case rows:                                                                                                           \
    if (rows <= most) WINDOW_BLOCK(rows);                                                                              \
    break;
  for (int64_t rows; left > 0; left -= rows, y += rows * step) {
    rows = left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
    switch (rows) {
      WINDOW_CASE(1)
      WINDOW_CASE(2)
      WINDOW_CASE(3)
      WINDOW_CASE(4)
#if WINDOW_ROWS > 4
      WINDOW_CASE(5)
      WINDOW_CASE(6)
      WINDOW_CASE(7)
      WINDOW_CASE(8)
#endif
    }
  }
#undef WINDOW_CASE
}
#undef WINDOW_BLOCK
#undef WINDOW_PLANE

static inline __attribute__((always_inline)) void window_planes(const dq_plane_window *form, const int kernel,
                                                                const int stride, const bool by_case) {
  const dq_plane_window copy = *form, *w = &copy; // which no store can change
  const int64_t step = stride == 1 ? w->dilation : 1;
  const int64_t reach = load_at(w, loads(kernel, stride) - 1, stride) + WINDOW_LANES;
  for (int64_t x = 0; x < w->out_width; x += WINDOW_LANES) {
    const window_strip strip = window_columns(w, x, kernel, stride);
    bool inner = strip.input >= 0 && x + WINDOW_LANES <= w->out_width && strip.input + reach <= w->in_width;
    for (int64_t plane = 0; plane < w->planes; plane++)
      for (int64_t y = w->first_row; y < w->first_row + step; y++)
        if (inner && by_case) window_rows_by_case(w, plane, y, &strip, kernel, stride, true);
        else if (by_case) window_rows_by_case(w, plane, y, &strip, kernel, stride, false);
        else if (inner) window_rows(w, plane, y, &strip, kernel, stride, true);
        else window_rows(w, plane, y, &strip, kernel, stride, false);
  }
}

// Each kernel uses the way that was faster: a case for each number of rows, or a loop of four rows.
#ifdef WINDOW_WIDE_3
static void window_3_1(const dq_plane_window *w) {
  if (w->out_width > WINDOW_LANES) WINDOW_WIDE_3(w);
  else window_planes(w, 3, 1, WINDOW_ROWS > SOME_ROWS);
}
#else
static void window_3_1(const dq_plane_window *w) { window_planes(w, 3, 1, false); }
#endif
static void window_3_2(const dq_plane_window *w) { window_planes(w, 3, 2, true); }
static void window_5_1(const dq_plane_window *w) { window_planes(w, 5, 1, true); }
static void window_5_2(const dq_plane_window *w) { window_planes(w, 5, 2, true); }

void WINDOW_FUNCTION(const dq_plane_window *w) {
  static void (*const windows[2][2])(const dq_plane_window *) = {{window_3_1, window_3_2}, {window_5_1, window_5_2}};
  windows[w->kernel == 5][w->stride - 1](w);
}
