// Tiles and depthwise sums in plain C.
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

#include <math.h>
#include <string.h>

void dq_f32_tile_c(const dq_tile *t) {
  for (int i = 0; i < t->rows; i++) {
    float *c = (float *)t->c + i * t->c_stride;
    for (int j = 0; j < t->columns; j++) {
      const float *a = (const float *)t->a + i, *b = (const float *)t->b + j;
      float sum = t->accumulate ? c[j] : 0.0f;
      for (int64_t k = 0; k < t->depth; k++)
        sum = fmaf(b[t->offsets ? t->offsets[k] : k * t->b_stride], a[k * t->a_stride], sum);
      if (t->finish && t->bias) sum += t->bias[i];
      c[j] = t->finish ? dq_bounded(sum, (dq_bounds){t->leaky, t->low, t->high, t->alpha}) : sum;
    }
  }
}

void dq_f64_tile_c(const dq_f64_tile *t) {
  enum { ROWS = 4, COLUMNS = 4 };
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      double *c = t->c + i * t->c_stride + j, sum = t->accumulate ? *c : 0;
      for (int64_t k = 0; k < t->depth; k++) sum = fma(t->a[k * ROWS + i], t->b[k * COLUMNS + j], sum);
      *c = sum;
    }
}

void dq_f64_dots_c(const dq_f64_dots *d) {
  const int64_t whole = d->columns / DQ_DOT_LANES * DQ_DOT_LANES;
  for (int64_t r = 0; r < d->rows; r++) {
    const double *row = d->data + r * d->stride;
    double lanes[DQ_DOT_LANES] = {0};
    for (int64_t i = 0; i < whole; i += DQ_DOT_LANES)
      for (int lane = 0; lane < DQ_DOT_LANES; lane++) lanes[lane] += row[i + lane] * d->vector[i + lane];
    d->out[r] = dq_dot_end(lanes, d->columns - whole, row + whole, d->vector + whole);
  }
}

void dq_f64_rotations_c(const dq_rotation *rotations, int64_t count, double *rows) {
  for (const dq_rotation *r = rotations; r < rotations + count; r++) {
    double *low = rows + r->row * DQ_ROTATED_COLUMNS, *high = low + DQ_ROTATED_COLUMNS;
    for (int i = 0; i < DQ_ROTATED_COLUMNS; i++) {
      const double a = low[i], b = high[i];
      low[i] = r->cosine * a - r->sine * b;
      high[i] = r->sine * a + r->cosine * b;
    }
  }
}

// Words of two int16, modulo 2^32.
static uint32_t pair_dot(uint32_t sum, const void *b, const void *a) {
  int16_t x[2], w[2];
  memcpy(x, b, sizeof x);
  memcpy(w, a, sizeof w);
  return sum + (uint32_t)(x[0] * w[0]) + (uint32_t)(x[1] * w[1]);
}

void dq_i16_tile_c(const dq_tile *t) {
  for (int i = 0; i < t->rows; i++) {
    uint32_t *c = (uint32_t *)t->c + i * t->c_stride;
    for (int j = 0; j < t->columns; j++) {
      const uint32_t *a = (const uint32_t *)t->a + i, *b = (const uint32_t *)t->b + j;
      uint32_t sum = t->accumulate ? c[j] : t->start ? (uint32_t)t->start[i] : 0;
      for (int64_t k = 0; k < t->depth; k++) sum = pair_dot(sum, b + k * t->b_stride, a + k * t->a_stride);
      c[j] = sum;
    }
  }
}

void dq_f32_correlate_c(const dq_correlation *p) {
  const float *a = p->a;
  for (int64_t j = 0; j < p->count; j++) {
    const float *b = (const float *)p->b + j;
    float sum = 0;
    for (int64_t t = 0; t < p->taps; t++) sum = fmaf(b[p->offsets[t]], a[t], sum);
    if (p->has_bias) sum += p->bias;
    ((float *)p->c)[j] = dq_bounded(sum, (dq_bounds){p->leaky, p->low, p->high, p->alpha});
  }
}

void dq_f32_taps_c(const dq_tap_sums *s) {
  for (int64_t t = 0; t < s->taps; t++)
    for (int64_t r = 0; r < s->rows; r++)
      for (int64_t i = 0; i < s->columns; i++) {
        float *sum = &s->sums[t * DQ_TAP_LANES + i % DQ_TAP_LANES];
        *sum = fmaf(s->plane[s->offsets[t] + r * s->plane_step + i], s->values[r * s->values_step + i], *sum);
      }
}

void dq_i16_correlate_c(const dq_correlation *p) {
  const uint32_t *a = p->a;
  for (int64_t j = 0; j < p->count; j++) {
    const uint32_t *b = (const uint32_t *)p->b + j;
    uint32_t sum = (uint32_t)p->start;
    for (int64_t t = 0; t < p->taps; t++) sum = pair_dot(sum, b + p->offsets[t], a + t);
    ((uint32_t *)p->c)[j] = sum;
  }
}
