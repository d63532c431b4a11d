// The loops of Winograd's transforms (dq_winograd_input, dq_winograd_output), written once for every instruction set
// and type. The body that includes this file includes vector.h, defines INLINE, WINOGRAD_INPUT and WINOGRAD_OUTPUT (the
// symbols), transform_input and transform_output (of m + 2 vectors), and finish (of output (i, k) of a tile of m x m).
// Lanes are tiles side by side; words are moved as float32, whatever they hold.
INLINE void split_2(f32_vector x[2]) {
  f32_vector even = f32_even(x[0], x[1]);
  x[1] = f32_odd(x[0], x[1]);
  x[0] = even;
}

// m vectors of neighbouring words to those at places k, k + m, ..., and the way back.
INLINE void split(f32_vector *x, const int m) {
  split_2(x);
  if (m == 2) return;
  split_2(x + 2);
  f32_vector even[2] = {x[0], x[2]}, odd[2] = {x[1], x[3]};
  split_2(even);
  split_2(odd);
  x[0] = even[0], x[1] = odd[0], x[2] = even[1], x[3] = odd[1];
}

INLINE void merge(f32_vector *x, const int m) {
  if (m == 2) {
    f32_merge_2(x);
    return;
  }
  f32_vector even[2] = {x[0], x[2]}, odd[2] = {x[1], x[3]};
  f32_merge_2(even);
  f32_merge_2(odd);
  x[0] = even[0], x[1] = odd[0], x[2] = even[1], x[3] = odd[1];
  f32_merge_2(x);
  f32_merge_2(x + 2);
}

// Lines of the input into the padded plane; what is written past a line are zeros.
INLINE void pad_lines(const dq_winograd_input *w) {
  for (int64_t line = 0; line < w->lines; line++) {
    const float *from = w->rows + line * w->width;
    float *to = w->plane + (w->pad_top + line) * w->plane_width + w->pad_left;
    const int64_t count = w->taken;
    for (int64_t x = 0; x < count; x += V_WORDS) f32_store(to + x, f32_load_some(from + x, (int)(count - x)));
  }
}

// Lines of the plane to parts[line % m][place in a tile][tiles], the places of a tile side by side.
INLINE void split_plane(const dq_winograd_input *w, const int m) {
  const int64_t wide = w->tiles_wide;
  for (int64_t line = 0; line < w->tiles_high * m + 2; line++) {
    const float *from = w->plane + line * w->plane_width;
    float *to = w->parts + line % m * (m + 2) * w->part_stride + line / m * wide;
    for (int64_t t = 0; t < wide; t += V_WORDS) {
      f32_vector x[4], next[4];
      for (int k = 0; k < m; k++) x[k] = f32_load(from + t * m + k * V_WORDS);
      for (int k = 0; k < m; k++) next[k] = f32_load(from + (t + 1) * m + k * V_WORDS);
      split(x, m);
      split(next, m);
      for (int k = 0; k < m; k++) f32_store(to + k * w->part_stride + t, x[k]);
      for (int k = 0; k < 2; k++) f32_store(to + (m + k) * w->part_stride + t, next[k]);
    }
  }
}

INLINE void input(const dq_winograd_input *w, const int m) {
  const int side = m + 2;
  const int64_t tiles = w->tiles_high * w->tiles_wide;
  pad_lines(w);
  split_plane(w, m);
  for (int64_t t = 0; t < tiles; t += V_WORDS) {
    f32_vector half[MOST][MOST];
    for (int j = 0; j < side; j++) {
      f32_vector x[MOST], y[MOST];
      for (int i = 0; i < side; i++)
        x[i] = f32_load(w->parts + (i % m * side + j) * w->part_stride + i / m * w->tiles_wide + t);
      transform_input(x, y, m);
      for (int i = 0; i < side; i++) half[i][j] = y[i];
    }
    float *to = w->to + t / w->panel * w->panel_stride + t % w->panel;
    for (int i = 0; i < side; i++) {
      f32_vector y[MOST];
      transform_input(half[i], y, m);
      for (int j = 0; j < side; j++) f32_store(to + (i * side + j) * w->place_stride, y[j]);
    }
  }
}

// Rows of the output from lines[row % m][tile][m].
INLINE void store_rows(const dq_winograd_output *w, const int m) {
  for (int64_t row = 0; row < w->rows; row++) {
    const float *from = w->lines + row % m * w->line_stride + row / m * m * w->tiles_wide;
    float *to = w->to + row * w->width;
    int64_t x = 0;
    for (; x + V_WORDS <= w->width; x += V_WORDS) f32_store(to + x, f32_load(from + x));
    if (x < w->width) f32_store_some(to + x, f32_load(from + x), (int)(w->width - x));
  }
}

INLINE void output(const dq_winograd_output *w, const int m) {
  const int side = m + 2;
  const int64_t tiles = w->tiles_high * w->tiles_wide;
  for (int64_t t = 0; t < tiles; t += V_WORDS) {
    f32_vector half[MOST][MOST];
    for (int j = 0; j < side; j++) {
      f32_vector x[MOST], y[MOST];
      for (int i = 0; i < side; i++) x[i] = f32_load(w->from + (i * side + j) * w->place_stride + t);
      transform_output(x, y, m);
      for (int i = 0; i < m; i++) half[i][j] = y[i];
    }
    for (int i = 0; i < m; i++) {
      f32_vector y[4];
      transform_output(half[i], y, m);
      for (int k = 0; k < m; k++) y[k] = finish(w, y[k], m, i, k);
      merge(y, m);
      for (int k = 0; k < m; k++) f32_store(w->lines + i * w->line_stride + t * m + k * V_WORDS, y[k]);
    }
  }
  store_rows(w, m);
}

void WINOGRAD_INPUT(const dq_winograd_input *w) {
  if (w->size == 2) input(w, 2);
  else input(w, 4);
}

void WINOGRAD_OUTPUT(const dq_winograd_output *w) {
  if (w->size == 2) output(w, 2);
  else output(w, 4);
}
