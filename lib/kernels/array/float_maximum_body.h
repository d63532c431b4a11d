// One row of outputs of a max pool in float by vectors: the maximum down the rows under each place of the window, then
// along the window; with a stride of 2 the even elements of two vectors. The body that includes this file includes
// vector_<set>.h and defines MAXIMUM_FUNCTION (the symbol), W(name) (f32_name or f16_name), MAXIMUM_ELEMENT,
// MAXIMUM_LANES (elements in a vector), MAXIMUM_LEAST (-infinity) and MAXIMUM_REST, the function for other strides.
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

static inline __attribute__((always_inline)) void maxima(const dq_maximum_row *r, const int stride) {
  for (int64_t at = 0; at < r->count; at += MAXIMUM_LANES) {
    vector most = W(set)(MAXIMUM_LEAST);
    for (int64_t k = 0; k < r->kernel && r->row_count; k++) {
      int64_t x = at * stride - r->begin + k * r->dilation;
      vector here = down(r, x);
      if (stride == 2) here = W(even)(here, down(r, x + MAXIMUM_LANES));
      most = W(larger)(here, most);
    }
    W(store_lanes)((element *)(void *)r->output + at, most, W(lanes_between)(0, r->count - at));
  }
}

void MAXIMUM_FUNCTION(const dq_maximum_row *given) {
  const dq_maximum_row row = *given; // which no store can change
  if (row.stride == 1) maxima(&row, 1);
  else if (row.stride == 2) maxima(&row, 2);
  else MAXIMUM_REST(given);
}
