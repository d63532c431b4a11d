// The audit's kernels for AMX: numbers that reach bounds, and sums by blocks of taps, as products of tiles.
#include <immintrin.h>
#include <string.h>

#include "lib/kernels/table/kernel_table.h"
#include "lib/kernels/simd/tiles_amx.h"

enum { SIDE = 16, LINE = 64 }; // rows of a tile; bytes of a full one

// Stores of vectors come before tiles are loaded: the compiler does not know of it.
static inline void settle(void) { __asm__ volatile("" ::: "memory"); }

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
    // A number reaches the bound where the number less (bound - 1), saturated at 0, is above 0.
    __m512i more = _mm512_subs_epu8(_mm512_set1_epi32(four), below);
    _mm512_store_si512(tile + row * LINE, _mm512_min_epu8(more, one));
  }
}

static __m512i number_below(const uint8_t *bounds) { // of each, in four bytes
  __m512i four =
      _mm512_mullo_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)bounds)), _mm512_set1_epi32(0x01010101));
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
static void transpose_square(const uint8_t *from, int64_t channel_bytes, int channels, int places, uint8_t flip,
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
      transpose_square(from + c * channel_bytes + i, channel_bytes, (int)(channels - c < SIDE ? channels - c : SIDE),
                       (int)(count - i < SIDE ? count - i : SIDE), flip, to + i * place_bytes + c, place_bytes);
}

void dq_audit_rows_amx(const uint8_t *from, int64_t from_bytes, int64_t rows, int64_t count, uint8_t *to,
                       int64_t to_bytes) {
  for (int64_t i = 0; i < rows; i++, from += from_bytes, to += to_bytes)
    for (int64_t j = 0; j < count; j += LINE) _mm512_storeu_si512(to + j, _mm512_loadu_si512(from + j));
}

// ---- Sums by blocks ----
//
//   tile registers     6  weights   7  those above 0, and those below with the opposite sign
//   4  values          0  sums      2  what rises within the block
//   5  of 16 more      1            3
//
// A prefix within a block is at most the sum before it and the rise, at least the sum with it less the rise. Sums
// begin at 32768, so that those in int16 are 0 to 65535. A product of tiles is waited for longer than it takes, so
// two squares of 16 outputs and 16 channels are at work at once.

enum {
  CHUNK = 9, // blocks between two looks at what is in doubt, as sums behind settle most of it; they fit the cache
  PAIRS = SIDE / 2, // of outputs
  BLOCK = DQ_AUDIT_BLOCK,
  ZERO = -INT16_MIN, // where sums begin
};

typedef int32_t square[SIDE * SIDE]; // [output][channel]

// Two outputs' 16 channels as 32 bits, in the order of vpackssdw.
typedef struct pair_bits {
  uint32_t of[PAIRS];
} pair_bits;

typedef struct half {                  // 16 of the outputs
  _Alignas(64) square sums[CHUNK + 1]; // before the first block of a chunk, and with every one
  _Alignas(64) square rises[2];
  __m512i outside[PAIRS]; // the high words of two outputs' sums, of all blocks: 0 where none was outside
  pair_bits doubts[CHUNK], left;
  const uint8_t *values;
  int outputs;
} half;

typedef struct block_state {
  const dq_audit_block_rows *rows;
  const dq_audit_block_weights *weights;
  half halves[2];
  uint8_t list[CHUNK * SIDE * SIDE + LINE], block_of[CHUNK * SIDE * SIDE + LINE];
} block_state;

static inline int output_of(int bit) { // of 256
  return 2 * (bit / 32) + bit / 4 % 2;
}
static inline int channel_of(int bit) { return bit % 32 / 8 * 4 + bit % 4; }

static inline __mmask16 outside16(__m512i sums) { return _mm512_cmpgt_epu32_mask(sums, _mm512_set1_epi32(UINT16_MAX)); }

static inline __m512i sixteen_bits(const uint8_t *bytes) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)bytes));
}

// Whether a prefix of the sum `start` leaves int16 within a block.
static inline uint32_t leaves(const uint8_t *values, const int8_t *weights, int32_t start, const bool shifted) {
  const __m512i none = _mm512_setzero_si512();
  __m512i x = sixteen_bits(values);
  if (shifted) x = _mm512_sub_epi16(x, sixteen_bits(values + BLOCK));
  __m512i w = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)weights));
  __m512i second = _mm512_madd_epi16(x, _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000u)));
  __m512i sums = _mm512_madd_epi16(x, w); // of pairs, then of all pairs up to each
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 15));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 14));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 12));
  sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, none, 8));
  sums = _mm512_add_epi32(sums, _mm512_set1_epi32(start));
  return (outside16(sums) | outside16(_mm512_sub_epi32(sums, second))) != 0;
}

_Alignas(64) static const uint8_t ascending[LINE] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                     32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                     48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

// Lists what is in doubt within the blocks of a chunk and has not left: one list, so that one loop ends where
// nobody can foresee it.
static inline int list_doubts(block_state *s, const half *h, int blocks) {
  int count = 0;
  for (int b = 0; b < blocks; b++) {
    __m256i left = _mm256_loadu_si256((const void *)&h->left);
    __m256i doubts = _mm256_andnot_si256(left, _mm256_loadu_si256((const void *)&h->doubts[b]));
    uint64_t words[SIDE * SIDE / LINE];
    if (_mm256_testz_si256(doubts, doubts)) continue;
    _mm256_storeu_si256((void *)words, doubts);
#pragma GCC unroll 4
    for (int i = 0; i < SIDE * SIDE / LINE; i++) {
      __m512i numbers = _mm512_add_epi8(_mm512_load_si512(ascending), _mm512_set1_epi8((char)(i * LINE)));
      _mm512_storeu_si512(s->list + count, _mm512_maskz_compress_epi8(words[i], numbers));
      _mm512_storeu_si512(s->block_of + count, _mm512_set1_epi8((char)b));
      count += __builtin_popcountll(words[i]);
    }
  }
  return count;
}

// Tap by tap.
static inline __attribute__((always_inline)) void settle_doubts(const block_state *s, half *h, int64_t first, int count,
                                                                const bool shifted) {
  const dq_audit_block_rows *r = s->rows;
  for (int i = 0; i < count; i++) {
    int bit = s->list[i], b = s->block_of[i], output = output_of(bit), channel = channel_of(bit);
    uint32_t found = leaves(h->values + output * r->row_bytes + (first + b) * r->block_bytes,
                            s->weights->lines + (channel * r->blocks + first + b) * BLOCK,
                            h->sums[b][output * SIDE + channel], shifted);
    h->left.of[bit / 32] |= found << bit % 32;
  }
}

static inline __m512i row_of(const int32_t *sums, int output) { return _mm512_load_si512(sums + output * SIDE); }

// Which prefixes may leave int16 within a block: in 16 bits that saturate, as numbers beyond are in doubt in any
// case. last: sums before it, then with it.
static inline __attribute__((always_inline)) void look(const int32_t *now, const int32_t *rise, __m512i last[PAIRS],
                                                       __m512i outside[PAIRS], pair_bits *doubts) {
  const __m512i ones = _mm512_set1_epi32(-1);
#pragma GCC unroll 8
  for (int i = 0; i < PAIRS; i++) {
    __m512i first = row_of(now, 2 * i), second = row_of(now, 2 * i + 1);
    __m512i high = _mm512_mask_blend_epi16(0x55555555u, first, _mm512_srli_epi32(second, 16));
    __m512i sum = _mm512_packus_epi32(first, second); // the lower bound is below 0 where its complement is above 65535
    __m512i furthest = _mm512_max_epu16(last[i], _mm512_xor_si512(sum, ones));
    __m512i rises = _mm512_packus_epi32(row_of(rise, 2 * i), row_of(rise, 2 * i + 1));
    doubts->of[i] = _mm512_cmpeq_epi16_mask(_mm512_adds_epu16(furthest, rises), ones);
    outside[i] = _mm512_or_si512(outside[i], high);
    last[i] = sum;
  }
}

// Outputs whose sums were outside behind some block have left.
static inline void leave_outside(half *h) {
  for (int i = 0; i < PAIRS; i++) {
    __mmask16 first = _mm512_test_epi32_mask(h->outside[i], _mm512_set1_epi32((int)0xffff0000u));
    __mmask16 second = _mm512_test_epi32_mask(h->outside[i], _mm512_set1_epi32(UINT16_MAX));
    __m512i both = _mm512_packs_epi32(_mm512_maskz_set1_epi32(first, -1), _mm512_maskz_set1_epi32(second, -1));
    h->left.of[i] |= _mm512_movepi16_mask(both);
  }
}

// What tiles have stored is looked at one block later: until then it has reached the cache, and the tiles of the
// next block are at work meanwhile.
static inline __attribute__((always_inline)) void look_at(half *h, int block, __m512i last[PAIRS]) {
  look(h->sums[block + 1], h->rises[block % 2], last, h->outside, &h->doubts[block]);
}

// Returns how many outputs were in doubt.
static inline __attribute__((always_inline)) int settle_chunk(block_state *s, half *h, int64_t first, int blocks,
                                                              const bool shifted) {
  leave_outside(h);
  int count = list_doubts(s, h, blocks);
  settle_doubts(s, h, first, count, shifted);
  for (int i = 0; i < SIDE; i++) _mm512_store_si512(h->sums[0] + i * SIDE, row_of(h->sums[blocks], i));
  return count;
}

// One block of both halves, or of the first.
static inline __attribute__((always_inline)) void add_block(block_state *s, int64_t block, const bool two) {
  const dq_audit_block_rows *r = s->rows;
  _tile_loadd(6, s->weights->tiles + block * 2 * r->block_bytes * SIDE, LINE);
  _tile_loadd(4, s->halves[0].values + block * r->block_bytes, (size_t)r->row_bytes);
  _tile_dpbusd(0, 4, 6);
  if (!two) return;
  _tile_loadd(5, s->halves[1].values + block * r->block_bytes, (size_t)r->row_bytes);
  _tile_dpbusd(1, 5, 6);
}

// What rises within it, and both stored as the to-th of the chunk.
static inline __attribute__((always_inline)) void add_rise(block_state *s, int64_t block, int to, const bool two) {
  const dq_audit_block_rows *r = s->rows;
  half *a = &s->halves[0], *b = &s->halves[1];
  _tile_loadd(7, s->weights->tiles + (block * 2 + 1) * r->block_bytes * SIDE, LINE);
  _tile_zero(2);
  _tile_dpbusd(2, 4, 7);
  if (two) {
    _tile_zero(3);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_stored(0, a->sums[to + 1], LINE);
  if (two) _tile_stored(1, b->sums[to + 1], LINE);
  _tile_stored(2, a->rises[to % 2], LINE);
  if (two) _tile_stored(3, b->rises[to % 2], LINE);
}

// Returns how many outputs were in doubt.
static inline __attribute__((always_inline)) int64_t add_running(block_state *s, const bool shifted, const bool two) {
  __m512i last[2][PAIRS];
  int64_t blocks = s->rows->blocks, doubts = 0;
  for (int i = 0; i < PAIRS; i++) last[0][i] = last[1][i] = _mm512_set1_epi16(INT16_MIN);
  for (int64_t first = 0; first < blocks; first += CHUNK) {
    int part = (int)(blocks - first < CHUNK ? blocks - first : CHUNK);
    for (int b = 0; b < part; b++) {
      add_block(s, first + b, two);
      add_rise(s, first + b, b, two);
      if (b) look_at(&s->halves[0], b - 1, last[0]);
      if (b && two) look_at(&s->halves[1], b - 1, last[1]);
    }
    look_at(&s->halves[0], part - 1, last[0]);
    if (two) look_at(&s->halves[1], part - 1, last[1]);
    doubts += settle_chunk(s, &s->halves[0], first, part, shifted);
    if (two) doubts += settle_chunk(s, &s->halves[1], first, part, shifted);
  }
  return doubts;
}

static inline __attribute__((always_inline)) void add_whole(block_state *s, const bool two) {
  for (int64_t block = 0; block < s->rows->blocks; block++) add_block(s, block, two);
  _tile_stored(0, s->halves[0].sums[0], LINE);
  if (two) _tile_stored(1, s->halves[1].sums[0], LINE);
}

// The sums of all taps are in sums[0] behind it. Returns how many outputs were in doubt.
static int64_t add_taps(block_state *s, bool running) {
  bool two = s->halves[1].outputs > 0, shifted = s->rows->block_bytes > BLOCK;
  if (!running && two) add_whole(s, true);
  else if (!running) add_whole(s, false);
  else if (shifted && two) return add_running(s, true, true);
  else if (shifted) return add_running(s, true, false);
  else if (two) return add_running(s, false, true);
  else return add_running(s, false, false);
  return 0;
}

static inline __m512i count_one(__m512i counts, __mmask16 lanes) {
  return _mm512_mask_add_epi32(counts, lanes, counts, _mm512_set1_epi32(1));
}

static void count_sums(const half *h, const dq_audit_block_weights *weights, dq_audit_block_counts *to) {
  const __m512i low = _mm512_loadu_si512(weights->low16), high = _mm512_loadu_si512(weights->high16);
  __m512i outside = _mm512_loadu_si512(to->outside), outside_low = _mm512_loadu_si512(to->outside_low);
  __m512i lowest = _mm512_loadu_si512(to->lowest), highest = _mm512_loadu_si512(to->highest);
  for (int i = 0; i < h->outputs; i++) {
    __m512i from_zero = _mm512_load_si512(h->sums[0] + i * SIDE),
            sum = _mm512_sub_epi32(from_zero, _mm512_set1_epi32(ZERO));
    outside = count_one(outside, outside16(from_zero));
    outside_low = count_one(outside_low, _mm512_cmplt_epi32_mask(sum, low) | _mm512_cmpgt_epi32_mask(sum, high));
    lowest = _mm512_min_epi32(lowest, sum);
    highest = _mm512_max_epi32(highest, sum);
  }
  _mm512_storeu_si512(to->outside, outside);
  _mm512_storeu_si512(to->outside_low, outside_low);
  _mm512_storeu_si512(to->lowest, lowest);
  _mm512_storeu_si512(to->highest, highest);
}

_Alignas(64) static const int32_t zero[SIDE] = {ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO,
                                                ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO};

// The bits of outputs that are there.
static inline uint32_t bits_of_pair(int outputs, int pair) {
  return (outputs > 2 * pair ? 0x0f0f0f0fu : 0) | (outputs > 2 * pair + 1 ? 0xf0f0f0f0u : 0);
}

static void count_left(const half *h, uint32_t *to) {
  __m512i words = _mm512_setzero_si512();
  for (int i = 0; i < PAIRS; i++)
    words = _mm512_mask_add_epi16(words, h->left.of[i] & bits_of_pair(h->outputs, i), words, _mm512_set1_epi16(1));
  // Both outputs of a channel lie in one 128 bits, four channels apart.
  words = _mm512_add_epi16(words, _mm512_bsrli_epi128(words, 8));
  words = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 0, 0, 0, 0), words);
  __m512i channels = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(words));
  _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_loadu_si512(to), channels));
}

// Sets the sums and counts of a half to their start. It stores vectors, as the compiler's memset takes longer to begin.
static void begin(half *h) {
  for (int i = 0; i < SIDE; i++) _mm512_store_si512(h->sums[0] + i * SIDE, _mm512_set1_epi32(ZERO));
  for (int i = 0; i < PAIRS; i++) h->outside[i] = _mm512_setzero_si512();
  for (int i = 0; i < PAIRS; i++) h->left.of[i] = ~bits_of_pair(h->outputs, i); // nobody looks at the others
}

// All of 16 output channels under up to 32 outputs.
static void add_part(block_state *s, bool running, dq_audit_block_counts *counts) {
  for (int h = 0; h < 2; h++) begin(&s->halves[h]);
  _tile_loadd(0, zero, 0);
  _tile_loadd(1, zero, 0);
  counts->doubts += add_taps(s, running);
  for (int h = 0; h < 2; h++) {
    if (running) count_left(&s->halves[h], counts->left);
    count_sums(&s->halves[h], s->weights, counts);
  }
}

void dq_audit_blocks_amx(const dq_audit_block_rows *rows, const dq_audit_block_weights *weights, const bool *running,
                         int64_t count, dq_audit_block_counts *counts) {
  block_state state;
  int words = (int)rows->block_bytes / 4, bytes = (int)rows->block_bytes;
  state.rows = rows;
  configure_tiles((const int[]){SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, words, words},
                  (const int[]){LINE, LINE, LINE, LINE, bytes, bytes, LINE, LINE});
  settle();
  for (int first = 0; first < rows->outputs; first += 2 * SIDE) {
    for (int h = 0; h < 2; h++) {
      int left = rows->outputs - first - h * SIDE;
      state.halves[h].values = rows->values + (first + h * SIDE) * rows->row_bytes;
      state.halves[h].outputs = left < SIDE ? left : SIDE;
    }
    for (int64_t i = 0; i < count; i++) {
      state.weights = &weights[i];
      add_part(&state, running[i], &counts[i]);
    }
  }
  _tile_release();
}
