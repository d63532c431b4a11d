// One row of outputs of a max pool in float by vectors: the maximum down the rows at each place, once for all windows
// that hold it, then along the window; with a stride of 2 the even elements of two vectors. The body that includes this
// file includes vector_<set>.h and defines MAXIMUM_FUNCTION (the symbol), W(name) (f32_name or f16_name),
// MAXIMUM_ELEMENT, MAXIMUM_LANES (elements in a vector), MAXIMUM_LEAST (-infinity) and MAXIMUM_REST, the function for
// other strides.
typedef MAXIMUM_ELEMENT element;
typedef W(vector) vector;

// The largest of the rows from column x on; lanes outside of them are -infinity.
static inline __attribute__((always_inline)) vector down(const dq_maximum_row *r, int64_t x) {
  const element *const *rows = (const element *const *)(const void *)r->rows;
  if (x >= 0 && x + MAXIMUM_LANES <= r->width) {
    vector most = W(load)(rows[0] + x);
    for (int64_t i = 1; i < r->row_count; i++) most = W(larger)(W(load)(rows[i] + x), most);
    return most;
  }
  const W(lanes) inside = W(lanes_between)(-x, r->width - x);
  vector most = W(load_lanes)(rows[0] + x, inside);
  for (int64_t i = 1; i < r->row_count; i++) most = W(larger)(W(load_lanes)(rows[i] + x, inside), most);
  return W(choose)(inside, most, W(set)(MAXIMUM_LEAST));
}

// The maximum along the window from place x of the row on, where `columns` holds the maxima down the rows, if it is
// there.
static inline __attribute__((always_inline)) vector along(const dq_maximum_row *r, const element *columns, int64_t x,
                                                          const int stride) {
  vector most = W(set)(MAXIMUM_LEAST);
  for (int64_t k = 0; k < r->kernel; k++, x += r->dilation) {
    vector here = columns ? W(load)(columns + x) : down(r, x - r->begin);
    if (stride == 2)
      here = W(even)(here, columns ? W(load)(columns + x + MAXIMUM_LANES) : down(r, x - r->begin + MAXIMUM_LANES));
    most = W(larger)(here, most);
  }
  return most;
}

static inline __attribute__((always_inline)) void maxima(const dq_maximum_row *r, const int stride) {
  enum { MOST_COLUMNS = 1024 }; // of a row that are kept; longer ones find the maximum down the rows for each place
  const int64_t vectors = (r->count + MAXIMUM_LANES - 1) / MAXIMUM_LANES;
  const int64_t reached = vectors * MAXIMUM_LANES * stride + (r->kernel - 1) * r->dilation;
  element columns[MOST_COLUMNS + MAXIMUM_LANES];
  // A vector that was just stored in two parts takes long to load: not worth it for few vectors of small windows.
  const bool fits = r->row_count && reached <= MOST_COLUMNS && (r->kernel > 3 || vectors > 2);
  for (int64_t x = 0; fits && x < reached; x += MAXIMUM_LANES) W(store)(columns + x, down(r, x - r->begin));
  for (int64_t at = 0; at < r->count; at += MAXIMUM_LANES) {
    vector most = W(set)(MAXIMUM_LEAST);
    if (fits) most = along(r, columns, at * stride, stride);
    else if (r->row_count) most = along(r, NULL, at * stride, stride);
    W(store_lanes)((element *)(void *)r->output + at, most, W(lanes_between)(0, r->count - at));
  }
}

void MAXIMUM_FUNCTION(const dq_maximum_row *given) {
  const dq_maximum_row row = *given; // which no store can change
  if (row.stride == 1) maxima(&row, 1);
  else if (row.stride == 2) maxima(&row, 2);
  else MAXIMUM_REST(given);
}
