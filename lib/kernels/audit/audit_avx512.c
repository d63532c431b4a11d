// The audit's kernels for AVX-512: 12 rows of 32 sums; ends of rows by masks.
#include <immintrin.h>

#define AUDIT(name) name##_avx512
#define AUDIT_WIDTH 32
#include "lib/kernels/audit/audit_body.h"

enum { ROWS = 12, MOST_WINDOWS = 9 };

static inline __attribute__((always_inline)) void running(const dq_audit_sums *s, const int rows) {
  __m512i last[ROWS], top[ROWS];
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++) last[row] = top[row] = _mm512_setzero_si512();
  const int16_t *panel = s->panel;
  const uint32_t *weights = s->weights;
  for (int64_t t = s->depth; t > 0; t--, panel += DQ_AUDIT_LANES, weights += ROWS) {
    __m512i x = _mm512_loadu_si512(panel);
#pragma GCC unroll 12
    for (int row = 0; row < rows; row++) {
      __m512i product = _mm512_mullo_epi16(x, _mm512_set1_epi32((int)weights[row]));
      last[row] = _mm512_adds_epi16(last[row], product);
      top[row] = _mm512_max_epi16(top[row], last[row]);
    }
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++) {
    _mm512_storeu_si512(s->last + row * DQ_AUDIT_LANES, last[row]);
    _mm512_storeu_si512(s->top + row * DQ_AUDIT_LANES, top[row]);
  }
}

void dq_audit_running_avx512(const dq_audit_sums *s) {
  if (s->rows <= 1) running(s, 1);
  else if (s->rows <= 4) running(s, 4);
  else if (s->rows <= 8) running(s, 8);
  else running(s, ROWS);
}

static inline __mmask32 joined(__mmask16 low, __mmask16 high) { return (__mmask32)low | (__mmask32)high << 16; }

void dq_audit_compare_avx512(dq_audit_comparison *c) {
  __mmask32 used = c->lanes < DQ_AUDIT_LANES ? (1u << c->lanes) - 1 : ~(__mmask32)0;
  __m512i last = _mm512_loadu_si512(c->last), top = _mm512_loadu_si512(c->top);
  __m512i low = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(last));
  __m512i high = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(last, 1));
  __mmask32 equal =
      joined(_mm512_cmpeq_epi32_mask(_mm512_maskz_loadu_epi32((__mmask16)used, c->sums), low),
             _mm512_cmpeq_epi32_mask(_mm512_maskz_loadu_epi32((__mmask16)(used >> 16), c->sums + 16), high));
  __mmask32 touched = _mm512_cmpeq_epi16_mask(top, _mm512_set1_epi16(INT16_MAX));
  c->different = __builtin_popcount(~equal & used);
  c->unsure = __builtin_popcount(equal & touched & used);
}

static inline uint64_t outside(__m512i sums, __mmask16 used, __m512i least, __m512i most) {
  __mmask16 below = _mm512_mask_cmplt_epi32_mask(used, sums, least);
  return (uint64_t)__builtin_popcount(below | _mm512_mask_cmpgt_epi32_mask(used, sums, most));
}

static inline __mmask16 left_of(int64_t count) { return count < 16 ? (__mmask16)((1u << count) - 1) : (__mmask16)~0u; }

// Bounds that both extremes keep need no counting.
static uint64_t count_outside(const dq_audit_whole *w, int32_t low, int32_t high) {
  __m512i least = _mm512_set1_epi32(low), most = _mm512_set1_epi32(high);
  uint64_t count = 0;
  if (w->lowest >= low && w->highest <= high) return 0;
  for (int64_t i = 0; i < w->count; i += 16) {
    __mmask16 used = left_of(w->count - i);
    count += outside(_mm512_maskz_loadu_epi32(used, w->sums + i), used, least, most);
  }
  return count;
}

void dq_audit_whole_avx512(dq_audit_whole *w) {
  __m512i lowest = _mm512_set1_epi32(INT32_MAX), highest = _mm512_set1_epi32(INT32_MIN);
  for (int64_t i = 0; i < w->count; i += 16) {
    __mmask16 used = left_of(w->count - i);
    __m512i sums = _mm512_maskz_loadu_epi32(used, w->sums + i);
    lowest = _mm512_mask_min_epi32(lowest, used, lowest, sums);
    highest = _mm512_mask_max_epi32(highest, used, highest, sums);
  }
  w->lowest = _mm512_reduce_min_epi32(lowest);
  w->highest = _mm512_reduce_max_epi32(highest);
  w->outside16 = count_outside(w, INT16_MIN, INT16_MAX);
  w->outside_low16 = count_outside(w, w->low16, w->high16);
  w->outside_low32 = count_outside(w, w->low32, w->high32);
}

// Numbers of `windows` (from the first on) that are at least `bound`.
static inline __attribute__((always_inline)) void count_windows(const dq_audit_windows *w, int bound, int first,
                                                                const int windows) {
  const __m512i least = _mm512_set1_epi8((char)w->bounds[bound]), zero = _mm512_setzero_si512();
  const int line = DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR;
  __m512i sums[MOST_WINDOWS];
#pragma GCC unroll 9
  for (int i = 0; i < windows; i++) sums[i] = zero;
  for (int64_t from = 0; from < w->vectors; from += 255) { // a counter of 8 bits takes at most one a step
    int64_t to = w->vectors - from < 255 ? w->vectors : from + 255;
    __m512i counters[MOST_WINDOWS];
#pragma GCC unroll 9
    for (int i = 0; i < windows; i++) counters[i] = zero;
    for (int64_t v = from; v < to; v++) {
      const uint8_t *masks = w->masks + v * line + first * DQ_AUDIT_VECTOR;
      __mmask64 reached = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(w->plane + v * DQ_AUDIT_VECTOR), least);
#pragma GCC unroll 9
      for (int i = 0; i < windows; i++)
        counters[i] =
            _mm512_mask_add_epi8(counters[i], reached, counters[i], _mm512_loadu_si512(masks + i * DQ_AUDIT_VECTOR));
    }
#pragma GCC unroll 9
    for (int i = 0; i < windows; i++) sums[i] = _mm512_add_epi64(sums[i], _mm512_sad_epu8(counters[i], zero));
  }
#pragma GCC unroll 9
  for (int i = 0; i < windows; i++)
    w->counts[(first + i) * w->count_stride + bound] = (uint32_t)_mm512_reduce_add_epi64(sums[i]);
}

static void count_plane(const dq_audit_windows *w) {
  for (int bound = 0; bound < w->bound_count; bound++) {
    int first = 0;
    for (; w->windows - first >= 9; first += 9) count_windows(w, bound, first, 9);
    for (; w->windows - first >= 4; first += 4) count_windows(w, bound, first, 4);
    for (; first < w->windows; first++) count_windows(w, bound, first, 1);
  }
}

// Adds to at most 16 totals, from `from` on. `parts`: tables have up to 32 entries (1), up to 64 (2), or more (0).
static inline __attribute__((always_inline)) void add_totals(const dq_audit_totals *t, int64_t from, const int parts) {
  __mmask16 used = left_of(t->count - from);
  __m512i sum = _mm512_maskz_loadu_epi32(used, t->totals + from);
  for (int tap = 0; tap < t->tap_count; tap++) {
    const uint32_t *table = t->tables + tap * t->table_stride;
    const uint8_t *numbers = t->numbers + t->taps[tap] * t->number_stride + from;
    __m512i number = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(used, numbers)), found;
    if (!parts) {
      found = _mm512_i32gather_epi32(number, table, 4);
    } else {
      found = _mm512_permutex2var_epi32(_mm512_loadu_si512(table), number, _mm512_loadu_si512(table + 16));
      if (parts > 1) {
        __m512i more =
            _mm512_permutex2var_epi32(_mm512_loadu_si512(table + 32), number, _mm512_loadu_si512(table + 48));
        found = _mm512_mask_blend_epi32(_mm512_cmpge_epi32_mask(number, _mm512_set1_epi32(32)), found, more);
      }
    }
    sum = _mm512_add_epi32(sum, found);
  }
  _mm512_mask_storeu_epi32(t->totals + from, used, sum);
}

void dq_audit_totals_avx512(const dq_audit_totals *t) {
  for (int64_t i = 0; i < t->count; i += 16)
    if (t->size <= 32) add_totals(t, i, 1);
    else if (t->size <= 64) add_totals(t, i, 2);
    else add_totals(t, i, 0);
}

// Four bounds at once.
void dq_audit_reached_avx512(const dq_audit_reached *r) {
  enum { STEP = 4 };
  for (int bound = 0; bound < r->bound_count; bound += STEP) {
    __m512i least[STEP];
    uint64_t counts[STEP] = {0};
#pragma GCC unroll 4
    for (int i = 0; i < STEP; i++) least[i] = _mm512_set1_epi8((char)r->bounds[bound + i]);
    for (int64_t v = 0; v < r->vectors; v++) {
      __m512i x = _mm512_loadu_si512(r->numbers + v * DQ_AUDIT_VECTOR);
#pragma GCC unroll 4
      for (int i = 0; i < STEP; i++) counts[i] += (uint64_t)__builtin_popcountll(_mm512_cmpge_epu8_mask(x, least[i]));
    }
#pragma GCC unroll 4
    for (int i = 0; i < STEP; i++) r->counts[bound + i] = (uint32_t)counts[i];
  }
}

// Rows and columns are taken from the plane; a number in both was taken twice.
static void trim_window(const dq_audit_trims *t, const dq_audit_trim *trim, int bound, uint32_t *counts) {
  const uint32_t *lines = t->whole + t->count_stride + bound;
  const __m512i bounds = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(t->bounds + bound)));
  __mmask16 padding = _mm512_cmple_epu32_mask(bounds, _mm512_set1_epi32(t->zero));
  __m512i sums = _mm512_loadu_si512(t->whole + bound);
  sums = _mm512_mask_add_epi32(sums, padding, sums, _mm512_set1_epi32((int)trim->padding));
  for (uint32_t rows = trim->rows; rows; rows &= rows - 1)
    sums = _mm512_sub_epi32(sums, _mm512_loadu_si512(lines + __builtin_ctz(rows) * t->count_stride));
  for (uint32_t columns = trim->columns; columns; columns &= columns - 1)
    sums = _mm512_sub_epi32(sums, _mm512_loadu_si512(lines + (t->rows + __builtin_ctz(columns)) * t->count_stride));
  for (uint32_t rows = trim->rows; rows; rows &= rows - 1)
    for (uint32_t columns = trim->columns; columns; columns &= columns - 1) {
      uint8_t corner = t->corners[__builtin_ctz(rows) * t->columns + __builtin_ctz(columns)];
      __mmask16 reached = _mm512_cmple_epu32_mask(bounds, _mm512_set1_epi32(corner));
      sums = _mm512_mask_add_epi32(sums, reached, sums, _mm512_set1_epi32(1));
    }
  _mm512_storeu_si512(counts + bound, sums);
}

void dq_audit_trims_avx512(const dq_audit_trims *t) {
  for (int i = 0; i < t->windows; i++)
    for (int bound = 0; bound < t->bound_count; bound += 16)
      trim_window(t, &t->trims[i], bound, t->counts + i * t->count_stride);
}
