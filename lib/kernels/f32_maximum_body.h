// One row of outputs of a max pool in float by vectors: down the rows under each place of the window,
// then along it; with a stride of 2 the even elements of two vectors. The including file defines
// MAXIMUM_FUNCTION on top of a vector_<isa>.h.

// The largest of the rows from column x on; lanes outside of them are -infinity.
static inline __attribute__((always_inline)) f32_vector down(const dq_maximum_row *r, int64_t x) {
  const float *const *rows = (const float *const *)(const void *)r->rows;
  if (x >= 0 && x + V_WORDS <= r->width) {
    f32_vector most = f32_load(rows[0] + x);
    for (int64_t i = 1; i < r->row_count; i++) most = f32_larger(f32_load(rows[i] + x), most);
    return most;
  }
  const f32_lanes inside = f32_lanes_between(-x, r->width - x);
  f32_vector most = f32_load_lanes(rows[0] + x, inside);
  for (int64_t i = 1; i < r->row_count; i++)
    most = f32_larger(f32_load_lanes(rows[i] + x, inside), most);
  return f32_choose(inside, most, f32_set(-__builtin_inff()));
}

static inline __attribute__((always_inline)) void maxima(const dq_maximum_row *r, const int stride) {
  for (int64_t at = 0; at < r->count; at += V_WORDS) {
    f32_vector most = f32_set(-__builtin_inff());
    for (int64_t k = 0; k < r->kernel && r->row_count; k++) {
      int64_t x = at * stride - r->begin + k * r->dilation;
      f32_vector here = down(r, x);
      if (stride == 2) here = f32_even(here, down(r, x + V_WORDS));
      most = f32_larger(here, most);
    }
    f32_store_lanes((float *)(void *)r->output + at, most, f32_lanes_between(0, r->count - at));
  }
}

void MAXIMUM_FUNCTION(const dq_maximum_row *given) {
  const dq_maximum_row row = *given; // which no store can change
  if (row.stride == 1) maxima(&row, 1);
  else if (row.stride == 2) maxima(&row, 2);
  else dq_maximum_f32_c(given);
}
