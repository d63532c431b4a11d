// Depthwise convolutions of bytes from plane to plane for AVX-512 VBMI and VNNI: a byte permutation lays four
// neighbouring taps under each of 16 outputs, masked where they lie in the padding; 64 sums are requantized in
// registers.
#include "lib/kernels/simd/byte_results.h"
#include "lib/kernels/simd/vector_vnni.h"

enum {
  VECTORS = DQ_RUN_OUTPUTS / DQ_SLIDE_LANES,
  // Kinds of runs: bytes outside of the input are not read; bit 7 of bytes is inverted; and FORM times a byte_form.
  CAREFUL = 1,
  FLIPPED = 2,
  FORM = 4,
};

typedef struct constants {
  byte_bounds bounds;
  __m512i index, order, pad, flip;
} constants;
typedef struct channel {
  int64_t at; // of its plane
  const uint32_t *weights;
  __m512i start;
  __m512 multiplier;
} channel;

// 64 bytes from place `at` on; those outside of the input are not read.
static inline __m512i load_within(const dq_byte_window *w, int64_t at) {
  const int64_t before = at < 0 ? -at : 0, there = w->bytes - at;
  if (before >= 64 || there <= 0) return i32_zero();
  uint64_t mask = ~0ull << before;
  if (there < 64) mask &= ~0ull >> (64 - there);
  return _mm512_maskz_loadu_epi8(mask, w->input + at);
}

static inline __attribute__((always_inline)) void add_up(const dq_byte_window *w, const constants *c,
                                                         const channel *plane, const dq_byte_run *run, __m512i *sums,
                                                         const int count, const int kind) {
  const uint64_t *masks = w->masks + run->masks * w->words * VECTORS;
  const int64_t from = plane->at + run->from;
  for (int v = 0; v < count; v++) sums[v] = plane->start;
  for (int64_t k = 0; k < w->words; k++, masks += VECTORS) {
    const __m512i weight = i32_set((int32_t)plane->weights[k]);
    const int64_t at = from + w->offsets[k];
#pragma GCC unroll 4
    for (int v = 0; v < count; v++) {
      const int64_t place = at + w->vector_at[v];
      __m512i bytes = kind & CAREFUL ? load_within(w, place) : i32_load(w->input + place);
      if (kind & FLIPPED) bytes = _mm512_xor_si512(bytes, c->flip);
      sums[v] = u8s8_dot(sums[v], _mm512_mask_permutexvar_epi8(c->pad, masks[v], c->index, bytes), weight);
    }
  }
}

static inline __attribute__((always_inline)) __m512i
requantized(const constants *c, __m512 multiplier, const __m512i *sums, const int count, const byte_form form) {
  __m512i q[VECTORS];
#pragma GCC unroll 4
  for (int v = 0; v < VECTORS; v++) {
    if (v >= count) {
      q[v] = i32_zero();
      continue;
    }
    q[v] = byte_units(&c->bounds, sums[v], multiplier, form);
  }
  return _mm512_permutexvar_epi8(c->order, byte_pack(&c->bounds, q, form));
}

static inline __attribute__((always_inline)) void run_of(const dq_byte_window *w, const constants *c,
                                                         const channel *plane, const dq_byte_run *run, uint8_t *to,
                                                         const int count, const int kind) {
  __m512i sums[VECTORS];
  add_up(w, c, plane, run, sums, count, kind);
  __m512i bytes = requantized(c, plane->multiplier, sums, count, (byte_form)(kind / FORM));
  if (run->count == DQ_RUN_OUTPUTS) _mm512_storeu_si512(to, bytes);
  else _mm512_mask_storeu_epi8(to, (1ull << run->count) - 1, bytes);
}

static inline __attribute__((always_inline)) void plane_of(const dq_byte_window *w, const constants *c,
                                                           const channel *plane, uint8_t *to, const int kind) {
  const int64_t lowest = w->offsets[0], highest = w->offsets[w->words - 1] + 64;
  for (const dq_byte_run *run = w->runs, *end = run + w->run_count; run < end; to += run->count, run++) {
    const int64_t from = plane->at + run->from;
    if (from + lowest < 0 || from + highest + w->vector_at[run->vectors - 1] > w->bytes)
      run_of(w, c, plane, run, to, VECTORS, kind | CAREFUL);
    else if (run->vectors == 4) run_of(w, c, plane, run, to, 4, kind);
    else if (run->vectors == 3) run_of(w, c, plane, run, to, 3, kind);
    else if (run->vectors == 2) run_of(w, c, plane, run, to, 2, kind);
    else run_of(w, c, plane, run, to, 1, kind);
  }
}

#define PLANE(name, kind)                                                                                              \
  static void name(const dq_byte_window *w, const constants *c, const channel *plane, uint8_t *to, byte_form form) {   \
    if (form == BYTES_PLAIN) plane_of(w, c, plane, to, (kind) | FORM * BYTES_PLAIN);                                   \
    else if (form == BYTES_ANY) plane_of(w, c, plane, to, (kind) | FORM * BYTES_ANY);                                  \
    else plane_of(w, c, plane, to, (kind) | FORM * BYTES_SMALL);                                                       \
  }
PLANE(plane_as_stored, 0)
PLANE(plane_flipped, FLIPPED)

// Packing works in lanes of 128 bits: where the byte of slot `slot` is behind it.
static __m512i order_of(const uint8_t *order) {
  uint8_t at[DQ_RUN_OUTPUTS];
  for (int i = 0; i < DQ_RUN_OUTPUTS; i++) {
    int vector = order[i] / DQ_SLIDE_LANES, lane = order[i] % DQ_SLIDE_LANES;
    at[i] = (uint8_t)(lane / 4 * 16 + vector * 4 + lane % 4);
  }
  return _mm512_loadu_si512(at);
}

void dq_u8s8_window_vbmi(const dq_byte_window *form) {
  const dq_byte_window w = *form; // a copy that no store can change
  const constants c = {.bounds = byte_bounds_of(w.zero_point, w.low, w.high),
                       .index = _mm512_loadu_si512(w.index),
                       .order = order_of(w.order),
                       .pad = _mm512_set1_epi8((char)w.pad),
                       .flip = _mm512_set1_epi8((char)0x80)};
  const float *multiplier = w.multipliers;
  uint8_t *to = w.output;
  for (int64_t i = 0; i < w.channels; i++, multiplier += w.multiplier_step, to += w.outputs) {
    const uint32_t bias = w.bias ? (uint32_t)w.bias[i] : 0; // sums start from it: what wraps does so either way
    const channel plane = {.at = w.first + i * w.step,
                           .weights = w.weights + i * w.words,
                           .start = i32_set((int32_t)(w.starts[i] + bias)),
                           .multiplier = f32_set(*multiplier)};
    const byte_form bytes = byte_form_of(w.zero_point, w.low, w.high, __builtin_fabsf(*multiplier) <= 0.5f);
    if (w.flips) plane_flipped(&w, &c, &plane, to, bytes);
    else plane_as_stored(&w, &c, &plane, to, bytes);
  }
}
