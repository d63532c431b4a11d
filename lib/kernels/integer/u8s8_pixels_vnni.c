// Sums of bytes whose lanes are output channels, requantized in registers: words of the input are broadcast from planes
// where they are, so that nothing is packed and a plane of any width fills all lanes.
#include "lib/kernels/simd/byte_results.h"
#include "lib/kernels/simd/vector_vnni.h"

enum { MOST = 2 * DQ_PIXEL_RUN, LANES = V_WORDS };

// What all tiles of a panel have in common.
typedef struct panel {
  const dq_byte_pixels *form;
  __m512i starts[2];
  __m512 multipliers[2];
  byte_bounds bounds;
  byte_form bytes;
  int64_t end; // of the outputs that are stored, within a plane
} panel;

// Two runs, or one.
typedef struct place {
  const uint32_t *from;
  int64_t gap; // words from the first run to the second
  int64_t to[2], counts[2];
  const char *ahead;
  int64_t ahead_step;
} place;

static inline __attribute__((always_inline)) void add_products(const dq_byte_pixels *t, const place *at,
                                                               __m512i sums[][2], const int pixels, const int runs,
                                                               const int vectors) {
  const uint32_t *weights = t->weights, *planes = at->from;
  const int32_t *offset = t->offsets, *end = offset + t->depth;
  const int64_t gap = at->gap, ahead_step = at->ahead_step;
  const char *ahead = at->ahead;
  for (; offset < end; offset++, weights += vectors * LANES, ahead += ahead_step) {
    __builtin_prefetch(ahead, 0, 2);
    const uint32_t *first = planes + *offset, *second = first + gap;
    __asm__("" : "+r"(second)); // or each pixel of the second run gets an address in a register of its own
    __m512i w[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) w[v] = i32_load(weights + v * LANES);
#pragma GCC unroll 14
    for (int i = 0; i < pixels * runs; i++) {
      const __m512i x = i32_broadcast(i < pixels ? first + i : second + i - pixels);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], x, w[v]);
    }
  }
}

// The bytes of up to 16 pixels: pixels of channel 4 l + c side by side in lane l, of 128 bits, of channels[c].
static inline __attribute__((always_inline)) void turn(const panel *p, __m512i sums[][2], const int v, const int count,
                                                       const byte_form form, __m512i channels[4]) {
  const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  __m512i words[4];
#pragma GCC unroll 4
  for (int g = 0; g < 4; g++) {
    __m512i q[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
      q[i] = 4 * g + i < count ? byte_units(&p->bounds, sums[4 * g + i][v], p->multipliers[v], form) : i32_zero();
    words[g] = 4 * g < count ? _mm512_shuffle_epi8(byte_pack(&p->bounds, q, form), order) : i32_zero();
  }
  const __m512i low = _mm512_unpacklo_epi32(words[0], words[1]), high = _mm512_unpackhi_epi32(words[0], words[1]);
  const __m512i low2 = _mm512_unpacklo_epi32(words[2], words[3]), high2 = _mm512_unpackhi_epi32(words[2], words[3]);
  channels[0] = _mm512_unpacklo_epi64(low, low2);
  channels[1] = _mm512_unpackhi_epi64(low, low2);
  channels[2] = _mm512_unpacklo_epi64(high, high2);
  channels[3] = _mm512_unpackhi_epi64(high, high2);
}

// How the bytes of a channel are stored: 16 at once where what is too much is written later, else under masks.
typedef struct byte_store {
  bool whole, second;
  __mmask16 masks[2];
  int64_t to[2];
} byte_store;

static inline __attribute__((always_inline)) byte_store store_of(const panel *p, const place *at, const int pixels,
                                                                 const int runs) {
  const bool joined = runs == 1 || at->to[1] == at->to[0] + pixels;
  const int64_t count = runs == 1 ? at->counts[0] : pixels + at->counts[1];
  byte_store s = {.whole = joined && at->to[0] + 16 <= p->end, .second = !joined, .to = {at->to[0], 0}};
  s.masks[0] = (__mmask16)((1u << (joined ? count : at->counts[0])) - 1);
  if (joined) return s;
  s.masks[1] = (__mmask16)(((1u << at->counts[1]) - 1) << pixels);
  s.to[1] = at->to[1] - pixels;
  return s;
}

static inline __attribute__((always_inline)) void store_channel(const byte_store *s, uint8_t *to, __m128i bytes) {
  if (s->whole) {
    _mm_storeu_si128((void *)(to + s->to[0]), bytes);
    return;
  }
  _mm_mask_storeu_epi8(to + s->to[0], s->masks[0], bytes);
  if (s->second) _mm_mask_storeu_epi8(to + s->to[1], s->masks[1], bytes);
}

// The bytes of channel 4 l + c.
static inline __attribute__((always_inline)) __m128i lane_of(__m512i bytes, const int l) {
  return l == 0   ? _mm512_castsi512_si128(bytes)
         : l == 1 ? _mm512_extracti32x4_epi32(bytes, 1)
         : l == 2 ? _mm512_extracti32x4_epi32(bytes, 2)
                  : _mm512_extracti32x4_epi32(bytes, 3);
}

static inline __attribute__((always_inline)) void end_sums(const panel *p, const place *at, __m512i sums[][2],
                                                           const int pixels, const int runs, const int vectors,
                                                           const byte_form form) {
  const byte_store store = store_of(p, at, pixels, runs);
  const dq_requantize_rows *r = p->form->requantize;
  const int64_t stride = r->output_stride;
#pragma GCC unroll 2
  for (int v = 0; v < vectors; v++) {
    __m512i channels[4];
    turn(p, sums, v, pixels * runs, form, channels);
    uint8_t *to = r->output + v * LANES * stride;
    const int left = p->form->channels - v * LANES;
    if (store.whole && left >= LANES) {
      to += store.to[0];
#pragma GCC unroll 4
      for (int l = 0; l < 4; l++, to += 4 * stride)
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) _mm_storeu_si128((void *)(to + c * stride), lane_of(channels[c], l));
      continue;
    }
#pragma GCC unroll 4
    for (int l = 0; l < 4; l++)
#pragma GCC unroll 4
      for (int c = 0; c < 4; c++, to += stride)
        if (4 * l + c < left) store_channel(&store, to, lane_of(channels[c], l));
  }
}

static inline __attribute__((always_inline)) void tile(const panel *p, const place *at, const int pixels,
                                                       const int runs, const int vectors) {
  __m512i sums[MOST][2];
#pragma GCC unroll 14
  for (int i = 0; i < pixels * runs; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sums[i][v] = p->starts[v];
  add_products(p->form, at, sums, pixels, runs, vectors);
  // Sums have one type of vector in products and another one here: without this the compiler keeps both of each.
#pragma GCC unroll 14
  for (int i = 0; i < pixels * runs; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) __asm__("" : "+v"(sums[i][v]));
  if (p->form->sums) {
#pragma GCC unroll 14
    for (int i = 0; i < pixels * runs; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) _mm512_storeu_si512(p->form->sums + (i * 2 + v) * LANES, sums[i][v]);
    return;
  }
  switch (p->bytes) {
  case BYTES_ANY: end_sums(p, at, sums, pixels, runs, vectors, BYTES_ANY); return;
  case BYTES_SMALL: end_sums(p, at, sums, pixels, runs, vectors, BYTES_SMALL); return;
  case BYTES_FULL: end_sums(p, at, sums, pixels, runs, vectors, BYTES_FULL); return;
  case BYTES_PLAIN: end_sums(p, at, sums, pixels, runs, vectors, BYTES_PLAIN); return;
  }
}

#define TILES_OF(pixels)                                                                                               \
  static void tile_##pixels##_1_1(const panel *p, const place *at) { tile(p, at, pixels, 1, 1); }                      \
  static void tile_##pixels##_1_2(const panel *p, const place *at) { tile(p, at, pixels, 1, 2); }                      \
  static void tile_##pixels##_2_1(const panel *p, const place *at) { tile(p, at, pixels, 2, 1); }                      \
  static void tile_##pixels##_2_2(const panel *p, const place *at) { tile(p, at, pixels, 2, 2); }
#define TILES(pixels)                                                                                                  \
  { {tile_##pixels##_1_1, tile_##pixels##_1_2}, {tile_##pixels##_2_1, tile_##pixels##_2_2}, }
TILES_OF(4)
TILES_OF(5)
TILES_OF(6)
TILES_OF(7)
static void (*const tiles[][2][2])(const panel *, const place *) = {TILES(4), TILES(5), TILES(6), TILES(7)};

static panel panel_of(const dq_byte_pixels *t) {
  const dq_requantize_rows *r = t->requantize;
  panel p = {.form = t};
  bool small = true;
  for (int v = 0; v < 2; v++) {
    const int left = t->channels - v * LANES;
    const __mmask16 there = (__mmask16)(left >= LANES ? 0xffff : left > 0 ? (1u << left) - 1 : 0);
    p.starts[v] = _mm512_maskz_loadu_epi32(there, t->starts + v * LANES);
    if (!r) continue;
    if (r->bias) p.starts[v] = _mm512_add_epi32(p.starts[v], _mm512_maskz_loadu_epi32(there, r->bias + v * LANES));
    p.multipliers[v] = r->multiplier_row ? _mm512_maskz_loadu_ps(there, r->multipliers + v * LANES)
                                         : _mm512_maskz_mov_ps(there, f32_set(*r->multipliers));
    small = small && _mm512_cmp_ps_mask(_mm512_abs_ps(p.multipliers[v]), f32_set(0.5f), _CMP_LE_OQ) == 0xffff;
  }
  if (!r) return p;
  p.bounds = byte_bounds_of(r->zero_point, r->low, r->high);
  p.bytes = byte_form_of(r->zero_point, r->low, r->high, small);
  return p;
}

// Words and outputs before run `run`; returns its pixels.
static int64_t find_run(const dq_byte_pixels *t, int64_t run, int64_t *words, int64_t *outputs) {
  const int64_t row = run / t->parts, x = run % t->parts * t->pixels, left = t->row_outputs - x;
  *words = row * t->row_words + x;
  *outputs = row * t->row_outputs + x;
  return left < t->pixels ? left : t->pixels;
}

void dq_u8s8_pixels_vnni(const dq_byte_pixels *t) {
  enum { LINE = 64 };
  panel p = panel_of(t);
  const int vectors = t->channels > LANES ? 2 : 1;
  const int64_t end = t->first + t->runs;
  int64_t words, outputs, fetched = 0;
  p.end = find_run(t, end - 1, &words, &outputs);
  p.end += outputs;
  for (int64_t run = t->first; run < end; run += 2) {
    const int runs = run + 1 < end ? 2 : 1;
    place at = {.counts[0] = find_run(t, run, &words, &at.to[0])};
    at.from = t->planes + words;
    if (runs == 2) {
      int64_t second;
      at.counts[1] = find_run(t, run + 1, &second, &at.to[1]);
      at.gap = second - words;
    }
    const bool fetches = t->ahead && fetched < t->depth * vectors;
    at.ahead = fetches ? (const char *)t->ahead + fetched * LINE : (const char *)t->weights;
    at.ahead_step = fetches ? LINE : 0;
    fetched += t->depth;
    tiles[t->pixels - 4][runs - 1][vectors - 1](&p, &at);
  }
}
