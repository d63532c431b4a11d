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

// Loads of the words of V_WORDS tiles: load k begins at columns[k % vectors] of the line that is k / vectors rows of
// tiles further down, and again m columns to the right.
typedef struct tile_loads {
  int64_t columns[4];
  f32_lanes lanes[4], next[4]; // inside of the line
  int count;                   // tiles that are stored
} tile_loads;

INLINE tile_loads find_loads(const dq_winograd_input *w, int64_t column, const int m, const int vectors) {
  tile_loads loads;
  for (int k = 0; k < vectors; k++) {
    int64_t at = column + k * V_WORDS - w->pad_left;
    loads.columns[k] = at;
    loads.lanes[k] = f32_lanes_between(-at, w->taken - at);
    loads.next[k] = f32_lanes_between(-at - m, w->taken - at - m);
  }
  return loads;
}

// Words of the lines `line`, line + m, ... of as many rows of tiles as fill a vector, at most up to line `last`, to
// to[place in a tile][tiles].
INLINE void split_tiles(const dq_winograd_input *w, const tile_loads *loads, int64_t line, int64_t last, float *to,
                        const int m, const int vectors) {
  static const float zeros[V_WORDS] = {0};
  f32_vector x[4], next[4];
  for (int k = 0; k < m; k++) {
    int64_t of_row = line + k / vectors * m < last ? line + k / vectors * m : last;
    uint64_t row = (uint64_t)(of_row - w->pad_top);
    bool inside = row < (uint64_t)w->lines;
    const float *from = w->rows + (int64_t)row * w->width + loads->columns[k % vectors];
    x[k] = f32_load_lanes(inside ? from : zeros, loads->lanes[k % vectors]);
    next[k] = f32_load_lanes(inside ? from + m : zeros, loads->next[k % vectors]);
  }
  split(x, m);
  split(next, m);
  for (int k = 0; k < m; k++) f32_store_some(to + k * w->part_stride, x[k], loads->count);
  for (int k = 0; k < 2; k++) f32_store_some(to + (m + k) * w->part_stride, next[k], loads->count);
}

// Lines of the input to parts[line % m][place in a tile][tiles], the places of a tile side by side. A line has
// `vectors` of the m vectors that V_WORDS tiles take, or m and more.
INLINE void split_lines(const dq_winograd_input *w, const int m, const int vectors) {
  const int64_t rows = m / vectors;
  for (int64_t t = 0; t < w->tiles_wide; t += V_WORDS) {
    tile_loads loads = find_loads(w, t * m, m, vectors);
    loads.count = vectors < m || w->tiles_wide - t > V_WORDS ? V_WORDS : (int)(w->tiles_wide - t);
    for (int64_t first = 0; first < m; first++) {
      float *to = w->parts + first * (m + 2) * w->part_stride + t;
      const int64_t last = w->tiles_high - (first >= 2); // row of tiles: each has two lines of the next
      for (int64_t row = 0; row <= last; row += rows)
        split_tiles(w, &loads, row * m + first, last * m + first, to + row * w->tiles_wide, m, vectors);
    }
  }
}

INLINE void split_input(const dq_winograd_input *w, const int m) {
  if (w->tiles_wide * m == V_WORDS) split_lines(w, m, 1);
  else if (m == 4 && w->tiles_wide * m == 2 * V_WORDS) split_lines(w, m, 2);
  else split_lines(w, m, m);
}

INLINE void input(const dq_winograd_input *w, const int m) {
  const int side = m + 2;
  const int64_t tiles = w->tiles_high * w->tiles_wide;
  split_input(w, m);
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
