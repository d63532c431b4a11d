// The audit's kernels for AVX2: 3 rows of 32 sums.
#include <immintrin.h>

#define AUDIT(name) name##_avx2
#define AUDIT_WIDTH 16
#include "lib/kernels/audit/audit_body.h"
#include "lib/kernels/audit/audit_sums_body.h"

enum { ROWS = 3, MOST_WINDOWS = 4 };

static inline __attribute__((always_inline)) void running(const dq_audit_sums *s, const int rows) {
  __m256i last[ROWS][2], top[ROWS][2];
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++) last[row][0] = last[row][1] = top[row][0] = top[row][1] = _mm256_setzero_si256();
  const int16_t *panel = s->panel;
  const uint32_t *weights = s->weights;
  for (int64_t t = s->depth; t > 0; t--, panel += DQ_AUDIT_LANES, weights += ROWS) {
    __m256i x[2] = {_mm256_loadu_si256((const void *)panel), _mm256_loadu_si256((const void *)(panel + 16))};
#pragma GCC unroll 3
    for (int row = 0; row < rows; row++) {
      __m256i w = _mm256_set1_epi32((int)weights[row]);
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++) {
        last[row][v] = _mm256_adds_epi16(last[row][v], _mm256_mullo_epi16(x[v], w));
        top[row][v] = _mm256_max_epi16(top[row][v], last[row][v]);
      }
    }
  }
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
      _mm256_storeu_si256((void *)(s->last + row * DQ_AUDIT_LANES + v * 16), last[row][v]);
      _mm256_storeu_si256((void *)(s->top + row * DQ_AUDIT_LANES + v * 16), top[row][v]);
    }
}

void dq_audit_running_avx2(const dq_audit_sums *s) {
  if (s->rows <= 1) running(s, 1);
  else running(s, ROWS);
}

static inline uint32_t add_up_words(__m256i sums) {
  uint64_t parts[4];
  _mm256_storeu_si256((void *)parts, sums);
  return (uint32_t)(parts[0] + parts[1] + parts[2] + parts[3]);
}

// Four bounds at once.
void dq_audit_reached_avx2(const dq_audit_reached *r) {
  enum { STEP = 4, MOST = 255, HALF = DQ_AUDIT_VECTOR / 2 }; // a counter of 8 bits takes at most one a step
  const __m256i zero = _mm256_setzero_si256();
  int64_t halves = 2 * r->vectors;
  for (int bound = 0; bound < r->bound_count; bound += STEP) {
    __m256i least[STEP], sums[STEP];
#pragma GCC unroll 4
    for (int i = 0; i < STEP; i++) least[i] = _mm256_set1_epi8((char)r->bounds[bound + i]), sums[i] = zero;
    for (int64_t from = 0, to; from < halves; from = to) {
      __m256i counters[STEP] = {zero, zero, zero, zero};
      to = halves - from < MOST ? halves : from + MOST;
      for (int64_t v = from; v < to; v++) {
        __m256i x = _mm256_loadu_si256((const void *)(r->numbers + v * HALF));
#pragma GCC unroll 4
        for (int i = 0; i < STEP; i++)
          counters[i] = _mm256_sub_epi8(counters[i], _mm256_cmpeq_epi8(_mm256_max_epu8(x, least[i]), x));
      }
#pragma GCC unroll 4
      for (int i = 0; i < STEP; i++) sums[i] = _mm256_add_epi64(sums[i], _mm256_sad_epu8(counters[i], zero));
    }
#pragma GCC unroll 4
    for (int i = 0; i < STEP; i++) r->counts[bound + i] = add_up_words(sums[i]);
  }
}

// Numbers of `windows` (from the first on) that are at least `bound`.
static inline __attribute__((always_inline)) void count_windows(const dq_audit_windows *w, int bound, int first,
                                                                const int windows) {
  enum { LINE = DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR, HALF = DQ_AUDIT_VECTOR / 2 };
  const __m256i least = _mm256_set1_epi8((char)w->bounds[bound]), zero = _mm256_setzero_si256();
  __m256i sums[MOST_WINDOWS];
#pragma GCC unroll 4
  for (int i = 0; i < windows; i++) sums[i] = zero;
  for (int64_t from = 0; from < w->vectors; from += 127) { // a counter of 8 bits takes at most two a step
    int64_t to = w->vectors - from < 127 ? w->vectors : from + 127;
    __m256i counters[MOST_WINDOWS];
#pragma GCC unroll 4
    for (int i = 0; i < windows; i++) counters[i] = zero;
    for (int64_t v = from; v < to; v++)
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        const uint8_t *masks = w->masks + v * LINE + first * DQ_AUDIT_VECTOR + half * HALF;
        __m256i x = _mm256_loadu_si256((const void *)(w->plane + v * DQ_AUDIT_VECTOR + half * HALF));
        __m256i reached = _mm256_cmpeq_epi8(_mm256_max_epu8(x, least), x);
#pragma GCC unroll 4
        for (int i = 0; i < windows; i++) {
          __m256i mask = _mm256_loadu_si256((const void *)(masks + i * DQ_AUDIT_VECTOR));
          counters[i] = _mm256_add_epi8(counters[i], _mm256_and_si256(mask, reached));
        }
      }
#pragma GCC unroll 4
    for (int i = 0; i < windows; i++) sums[i] = _mm256_add_epi64(sums[i], _mm256_sad_epu8(counters[i], zero));
  }
#pragma GCC unroll 4
  for (int i = 0; i < windows; i++) w->counts[(first + i) * w->count_stride + bound] = add_up_words(sums[i]);
}

static void count_plane(const dq_audit_windows *w) {
  for (int bound = 0; bound < w->bound_count; bound++) {
    int first = 0;
    for (; w->windows - first >= 4; first += 4) count_windows(w, bound, first, 4);
    for (; first < w->windows; first++) count_windows(w, bound, first, 1);
  }
}
