// The audit's kernels for AMX: numbers that reach bounds, and sums by blocks of taps, as products of tiles.
#include <immintrin.h>
#include <string.h>

#include "lib/kernels/kernels_internal.h"
#include "lib/kernels/tiles_amx.h"

enum { SIDE = 16, LINE = 64 }; // rows of a tile; bytes of a full one

// Stores of vectors come before tiles are loaded: the compiler does not know of it.
static inline void settle(void) {
  __asm__ volatile("" ::: "memory");
}

// ---- Numbers that reach bounds ----
//
//   tile registers   5  numbers x 16 bounds: 1 where one is reached
//   4  windows x     0  windows x bounds
//      numbers

// Each number of a vector against 16 bounds: four numbers a row, [4 numbers][16 bounds][number].
static inline __attribute__((always_inline)) void reach(const uint8_t *numbers, __m512i below, uint8_t *tile) {
  const __m512i one = _mm512_set1_epi8(1);
#pragma GCC unroll 16
  for (int row = 0; row < SIDE; row++) {
    int32_t four;
    memcpy(&four, numbers + 4 * row, sizeof four);
    // Above the number below the bound: at least the bound.
    __m512i more = _mm512_subs_epu8(_mm512_set1_epi32(four), below);
    _mm512_store_si512(tile + row * LINE, _mm512_min_epu8(more, one));
  }
}

static __m512i number_below(const uint8_t *bounds) { // of each, in four bytes
  __m512i four = _mm512_mullo_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)bounds)),
                                    _mm512_set1_epi32(0x01010101));
  return _mm512_subs_epu8(four, _mm512_set1_epi8(1));
}

// 16 bounds, or 32.
static inline __attribute__((always_inline)) void count_reached(const dq_audit_windows *w, const uint8_t *plane,
                                                                uint32_t *counts, int bound, const int tiles) {
  // A tile is loaded after the next one is made: by then its stores have reached the cache.
  _Alignas(64) uint8_t reached[2][2][SIDE * LINE];
  __m512i first = number_below(w->bounds + bound), second = number_below(w->bounds + bound + (tiles - 1) * SIDE);
  _tile_zero(0);
  if (tiles > 1) _tile_zero(1);
  for (int64_t v = 0; v <= w->vectors; v++) {
    if (v < w->vectors) {
      reach(plane + v * DQ_AUDIT_VECTOR, first, reached[v % 2][0]);
      if (tiles > 1) reach(plane + v * DQ_AUDIT_VECTOR, second, reached[v % 2][1]);
    }
    settle();
    if (!v) continue;
    _tile_loadd(4, w->masks + (v - 1) * DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR, LINE);
    _tile_loadd(5, reached[(v - 1) % 2][0], LINE);
    _tile_dpbuud(0, 4, 5);
    if (tiles > 1) {
      _tile_loadd(6, reached[(v - 1) % 2][1], LINE);
      _tile_dpbuud(1, 4, 6);
    }
  }
  _tile_stored(0, counts + bound, (size_t)w->count_stride * sizeof *w->counts);
  if (tiles > 1) _tile_stored(1, counts + bound + SIDE, (size_t)w->count_stride * sizeof *w->counts);
}

void dq_audit_windows_amx(const dq_audit_windows *w) {
  configure_tiles((const int[]){w->windows, w->windows, 0, 0, w->windows, SIDE, SIDE, 0},
                  (const int[]){LINE, LINE, 0, 0, LINE, LINE, LINE, 0});
  for (int64_t i = 0; i < w->planes; i++) {
    const uint8_t *plane = w->plane + i * w->plane_bytes;
    uint32_t *counts = w->counts + i * w->windows * w->count_stride;
    int bound = 0;
    for (; bound + SIDE < w->bound_count; bound += 2 * SIDE) count_reached(w, plane, counts, bound, 2);
    if (bound < w->bound_count) count_reached(w, plane, counts, bound, 1);
  }
  _tile_release();
}

// ---- Channels side by side ----

// 16 places of up to 16 channels: four times the rows of one half are interleaved with those of the other.
static void turn_square(const uint8_t *from, int64_t channel_bytes, int channels, int places, uint8_t flip,
                        uint8_t *to, int64_t place_bytes) {
  __m128i rows[SIDE], next[SIDE];
  __mmask16 taken = (__mmask16)((1u << places) - 1), stored = (__mmask16)((1u << channels) - 1);
#pragma GCC unroll 16
  for (int c = 0; c < SIDE; c++)
    rows[c] = _mm_maskz_loadu_epi8(c < channels ? taken : 0, from + (c < channels ? c : 0) * channel_bytes);
  for (int pass = 0; pass < 4; pass++) {
#pragma GCC unroll 8
    for (int i = 0; i < SIDE / 2; i++) {
      next[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + SIDE / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + SIDE / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i++) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < SIDE; i++)
    if (i < places)
      _mm_mask_storeu_epi8(to + i * place_bytes, stored, _mm_xor_si128(rows[i], _mm_set1_epi8((char)flip)));
}

void dq_audit_turn_amx(const uint8_t *from, int64_t channel_bytes, int64_t channels, int64_t count, uint8_t flip,
                       uint8_t *to, int64_t place_bytes) {
  for (int64_t c = 0; c < channels; c += SIDE)
    for (int64_t i = 0; i < count; i += SIDE)
      turn_square(from + c * channel_bytes + i, channel_bytes, (int)(channels - c < SIDE ? channels - c : SIDE),
                  (int)(count - i < SIDE ? count - i : SIDE), flip, to + i * place_bytes + c, place_bytes);
}

// ---- Sums by blocks ----
//
//   tile registers    3  weights   5, 7  those above, below 0
//   2  values         0  sums
//   4, 6  at least,               1  sums before and what is added to them
//   at most zero

typedef int32_t square[SIDE * SIDE]; // [output][channel]

typedef struct block_state {
  const dq_audit_block_rows *rows;
  const dq_audit_block_weights *weights;
  uint16_t left[SIDE]; // by output, a bit for each channel
  int64_t doubts;
} block_state;

static inline __m512i outside16(__m512i sums) { // above 65535 unsigned: outside
  return _mm512_add_epi32(sums, _mm512_set1_epi32(-INT16_MIN));
}

// Whether a prefix of the sum `start` leaves int16 within a block.
static inline uint32_t leaves(const uint8_t *values, const int8_t *weights, __m512i zero, int32_t start) {
  const __m512i none = _mm512_setzero_si512(), most = _mm512_set1_epi32(UINT16_MAX);
  __m512i x = _mm512_sub_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)values)), zero);
  __m512i w = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)weights));
  __m512i second = _mm512_madd_epi16(x, _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000u)));
  __m512i sums = _mm512_madd_epi16(x, w); // of pairs, then of all pairs up to each
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 15));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 14));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 12));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 8));
  sums = outside16(_mm512_add_epi32(sums, _mm512_set1_epi32(start)));
  __m512i odd = _mm512_sub_epi32(sums, second);
  return (_mm512_cmpgt_epu32_mask(sums, most) | _mm512_cmpgt_epu32_mask(odd, most)) != 0;
}

_Alignas(64) static const uint8_t ascending[LINE] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

// Those of the outputs of a block that are in doubt.
static inline void look_closely(block_state *s, int64_t block, const uint16_t *doubts, const int32_t *before) {
  const dq_audit_block_rows *r = s->rows;
  const __m512i zero = _mm512_set1_epi16((int16_t)r->zero);
  const int32_t *start = s->weights->starts + block * DQ_AUDIT_CHANNELS;
  uint8_t list[SIDE * SIDE + LINE]; // one list, so that one loop ends where nobody can foresee it
  int count = 0;
  for (int word = 0; word < SIDE / 4; word++) { // four outputs
    uint64_t doubt;
    memcpy(&doubt, doubts + 4 * word, sizeof doubt);
    __m512i numbers = _mm512_add_epi8(_mm512_load_si512(ascending), _mm512_set1_epi8((char)(word * LINE)));
    _mm512_storeu_si512(list + count, _mm512_maskz_compress_epi8(doubt, numbers));
    count += __builtin_popcountll(doubt);
  }
  s->doubts += count;
  for (int i = 0; i < count; i++) {
    int output = list[i] / SIDE, channel = list[i] % SIDE;
    uint32_t found = leaves(r->values + output * r->row_bytes + block * DQ_AUDIT_BLOCK,
                            s->weights->lines + (channel * r->blocks + block) * DQ_AUDIT_BLOCK, zero,
                            before[output * SIDE + channel] + start[channel]);
    s->left[output] = (uint16_t)(s->left[output] | found << channel);
  }
}

// now, before: sums with and without the block; most: those before and every product above 0 of the block.
static inline __attribute__((always_inline)) void look(block_state *s, int64_t block, const int32_t *now,
                                                       const int32_t *before, const int32_t *most,
                                                       const bool shifted) {
  uint16_t doubts[SIDE] = {0};
  const __m512i before_start = _mm512_loadu_si512(s->weights->starts + block * DQ_AUDIT_CHANNELS);
  const __m512i start = _mm512_loadu_si512(s->weights->starts + (block + 1) * DQ_AUDIT_CHANNELS);
  const __m512i highest = _mm512_set1_epi32(INT16_MAX), lowest = _mm512_set1_epi32(INT16_MIN);
  const __m512i widest = _mm512_set1_epi32(UINT16_MAX);
  for (int i = 0; i < s->rows->outputs; i++) {
    __m512i sum = _mm512_load_si512(now + i * SIDE), last = _mm512_load_si512(before + i * SIDE);
    __m512i upper = _mm512_load_si512(most + i * SIDE);
    if (shifted) {
      sum = _mm512_add_epi32(sum, start);
      last = _mm512_add_epi32(last, before_start);
      upper = _mm512_add_epi32(upper, start);
    }
    __m512i lower = _mm512_sub_epi32(_mm512_add_epi32(sum, last), upper); // last and what is below 0
    __mmask16 left = _mm512_cmpgt_epu32_mask(outside16(sum), widest) | s->left[i];
    __mmask16 doubt = _mm512_cmpgt_epi32_mask(upper, highest) | _mm512_cmplt_epi32_mask(lower, lowest);
    s->left[i] = left;
    doubts[i] = (uint16_t)(doubt & ~left);
  }
  look_closely(s, block, doubts, before);
}

// One block: sums with it, and sums before it with what it adds at most.
static inline __attribute__((always_inline)) void add_block(const dq_audit_block_rows *r, int64_t block,
                                                            const int8_t *tiles, int32_t *now,
                                                            const int32_t *before, int32_t *most,
                                                            const bool running, const bool shifted) {
  _tile_loadd(2, r->values + block * DQ_AUDIT_BLOCK, (size_t)r->row_bytes);
  _tile_loadd(3, tiles, LINE);
  _tile_dpbusd(0, 2, 3);
  if (!running) return;
  _tile_loadd(1, before, LINE);
  _tile_loadd(5, tiles + DQ_AUDIT_TILE, LINE);
  if (shifted) {
    _tile_loadd(4, r->above + block * DQ_AUDIT_BLOCK, (size_t)r->row_bytes);
    _tile_loadd(6, r->below + block * DQ_AUDIT_BLOCK, (size_t)r->row_bytes);
    _tile_loadd(7, tiles + 2 * DQ_AUDIT_TILE, LINE);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbusd(1, 6, 7);
  } else {
    _tile_dpbusd(1, 2, 5);
  }
  _tile_stored(0, now, LINE);
  _tile_stored(1, most, LINE);
}

// What tiles have stored is looked at one block later: until then it has reached the cache, and the tiles of
// the next block are at work meanwhile.
typedef struct squares {
  _Alignas(64) square sums[3], most[2];
} squares;

// Sums of all taps are in the square that is returned.
static inline __attribute__((always_inline)) const int32_t *add_blocks(block_state *s, squares *q,
                                                                       const bool running, const bool shifted) {
  const dq_audit_block_rows *r = s->rows;
  const int8_t *tiles = s->weights->tiles;
  int32_t *now = q->sums[0], *before = q->sums[2], *earlier = q->sums[1];
  memset(before, 0, sizeof q->sums[2]);
  settle();
  _tile_zero(0);
  for (int64_t block = 0; block < r->blocks; block++, tiles += 3 * DQ_AUDIT_TILE) {
    add_block(r, block, tiles, now, before, q->most[block % 2], running, shifted);
    if (running && block) look(s, block - 1, before, earlier, q->most[(block - 1) % 2], shifted);
    int32_t *next = earlier;
    earlier = before, before = now, now = next;
  }
  if (running) look(s, r->blocks - 1, before, earlier, q->most[(r->blocks - 1) % 2], shifted);
  else _tile_stored(0, before, LINE);
  settle();
  return before;
}

static inline __m512i count_one(__m512i counts, __mmask16 lanes) {
  return _mm512_mask_add_epi32(counts, lanes, counts, _mm512_set1_epi32(1));
}

static void count(const block_state *s, const int32_t *sums, dq_audit_block_counts *to) {
  const __m512i start = _mm512_loadu_si512(s->weights->starts + s->rows->blocks * DQ_AUDIT_CHANNELS);
  const __m512i low = _mm512_loadu_si512(s->weights->low16), high = _mm512_loadu_si512(s->weights->high16);
  __m512i left = _mm512_loadu_si512(to->left), outside = _mm512_loadu_si512(to->outside);
  __m512i outside_low = _mm512_loadu_si512(to->outside_low);
  __m512i lowest = _mm512_loadu_si512(to->lowest), highest = _mm512_loadu_si512(to->highest);
  for (int i = 0; i < s->rows->outputs; i++) {
    __m512i sum = _mm512_add_epi32(_mm512_load_si512(sums + i * SIDE), start);
    left = count_one(left, s->left[i]);
    outside = count_one(outside, _mm512_cmpgt_epu32_mask(outside16(sum), _mm512_set1_epi32(UINT16_MAX)));
    outside_low = count_one(outside_low, _mm512_cmplt_epi32_mask(sum, low) | _mm512_cmpgt_epi32_mask(sum, high));
    lowest = _mm512_min_epi32(lowest, sum);
    highest = _mm512_max_epi32(highest, sum);
  }
  _mm512_storeu_si512(to->left, left);
  _mm512_storeu_si512(to->outside, outside);
  _mm512_storeu_si512(to->outside_low, outside_low);
  _mm512_storeu_si512(to->lowest, lowest);
  _mm512_storeu_si512(to->highest, highest);
}

void dq_audit_blocks_amx(const dq_audit_block_rows *rows, const dq_audit_block_weights *weights,
                         const bool *running, int64_t blocks, dq_audit_block_counts *counts) {
  squares room;
  enum { HALF = LINE / 2, WORDS = DQ_AUDIT_BLOCK / 4 };
  configure_tiles((const int[]){SIDE, SIDE, SIDE, WORDS, SIDE, WORDS, SIDE, WORDS},
                  (const int[]){LINE, LINE, HALF, LINE, HALF, LINE, HALF, LINE});
  for (int64_t i = 0; i < blocks; i++) {
    block_state state = {rows, &weights[i], {0}, 0};
    const int32_t *whole;
    if (!running[i]) whole = add_blocks(&state, &room, false, false);
    else if (rows->zero) whole = add_blocks(&state, &room, true, true);
    else whole = add_blocks(&state, &room, true, false);
    count(&state, whole, &counts[i]);
    counts[i].doubts += state.doubts;
  }
  _tile_release();
}
