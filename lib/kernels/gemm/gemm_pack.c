// Operands of matrix products brought into words in the order of the tiles.
#include "lib/kernels/gemm/gemm_internal.h"

#include <string.h>

// Lines of `depth` floats that lie side by side, to to[k][line], to_stride apart.
static void transpose_lines(const dq_product *p, const uint32_t *from, int64_t from_stride, int64_t lines,
                            int64_t depth, uint32_t *to, int64_t to_stride) {
  dq_columns columns = {.from = (const float *)from,
                        .from_stride = from_stride,
                        .rows = lines,
                        .columns = depth,
                        .to = (float *)to,
                        .to_stride = to_stride};
  ((dq_f32_columns_function *)p->transpose->function)(&columns);
}

static void pack_b_floats(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  int64_t width = p->multiply->columns;
  const uint32_t *b = (const uint32_t *)(const void *)p->b + first * p->b_column + from * p->b_depth;
  if (p->b_column != 1) transpose_lines(p, b, p->b_column, count, end - from, to, width);
  else
    for (int64_t k = from; k < end; k++, b += p->b_depth, to += width) memcpy(to, b, (size_t)count * 4);
}

// Words of count values step apart, as the expand kernels make them.
static uint32_t integer_word(int64_t word_values, const uint8_t *bytes, int64_t step, int64_t count, bool is_signed,
                             int32_t zero) {
  uint32_t word = 0;
  for (int64_t i = 0; i < count; i++) {
    int32_t value = dq_int8_value(bytes[i * step], is_signed);
    if (word_values == 4) word |= (uint32_t)(uint8_t)(value - zero) << (8 * i);
    else word |= ((uint32_t)(value - zero) & 0xffffu) << (16 * i);
  }
  return word;
}

static void pack_b_columns(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  const dq_gemm_int8_parameters *q = p->int8;
  int64_t width = p->multiply->columns;
  for (int64_t j = 0; j < count; j++) {
    int32_t zero = dq_zero_point(q->b_zero_points, q->b_zero_point_count, first + j);
    if (p->word_values == 4) zero = -dq_byte_shift(p->multiply, q->b_signed);
    for (int64_t k = from; k < end; k++) {
      int64_t value = k * p->word_values;
      to[(k - from) * width + j] =
          integer_word(p->word_values, p->b + value * p->b_depth + (first + j) * p->b_column, p->b_depth,
                       dq_min_i64(p->word_values, p->depth - value), q->b_signed, zero);
    }
  }
}

static void pack_b_rows(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  const dq_gemm_int8_parameters *q = p->int8;
  dq_expansion e = {.lines = 1, .width = count, .end = count, .stride = 1, .is_signed = q->b_signed};
  e.flips = dq_byte_shift(p->multiply, q->b_signed) != 0;
  e.zero_point = dq_zero_point(q->b_zero_points, q->b_zero_point_count, 0);
  for (int64_t k = from; k < end; k++, to += p->multiply->columns) {
    e.words = to;
    for (int64_t i = 0; i < p->word_values; i++) { // past the depth the words of A are 0
      int64_t row = dq_min_i64(k * p->word_values + i, p->depth - 1);
      e.rows[i] = p->b + row * p->b_depth + first;
    }
    ((dq_expand_function *)p->expand->function)(&e);
  }
}

void dq_product_pack_b(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  int64_t width = p->multiply->columns;
  if (count < width) memset(to, 0, (size_t)((end - from) * width) * 4);
  bool one_zero_point = !p->float32 && (p->int8->b_zero_point_count <= 1 || p->word_values == 4);
  if (p->float32) pack_b_floats(p, from, end, first, count, to);
  else if (p->b_column == 1 && one_zero_point) pack_b_rows(p, from, end, first, count, to);
  else pack_b_columns(p, from, end, first, count, to);
}

// Bytes of 1 for the values word k has.
static uint32_t ones(const dq_product *p, int64_t k) {
  int64_t values = dq_min_i64(4, p->depth - k * 4);
  return 0x01010101u >> (8 * (4 - values));
}

void dq_product_column_sums(const dq_product *p, const uint32_t *panel, int32_t *sums) {
  int64_t whole = p->depth / 4;
  uint32_t one = 0x01010101u, last = p->depth % 4 ? ones(p, whole) : 0;
  dq_tile tile = {.a = &one,
                  .b = panel,
                  .c = sums,
                  .b_stride = p->multiply->columns,
                  .depth = whole,
                  .rows = 1,
                  .columns = p->multiply->columns};
  dq_tile_function *function = (dq_tile_function *)p->column_sums->function;
  function(&tile);
  if (!last) return;
  tile.a = &last;
  tile.b = panel + whole * tile.b_stride;
  tile.depth = 1;
  tile.accumulate = true;
  function(&tile);
}

static void pack_a_integers(const dq_product *p, int64_t from, int64_t end, int64_t row, uint32_t *to,
                            int32_t *row_sum) {
  const dq_gemm_int8_parameters *q = p->int8;
  bool bytes = p->word_values == 4;
  int32_t zero = bytes ? (q->a_signed ? 0 : 128) // to signed
                       : dq_zero_point(q->a_zero_points, q->a_zero_point_count, row);
  const uint8_t *a = p->a + row * p->a_row;
  uint32_t sum = 0, flip = q->a_signed ? 0 : 0x80808080u;
  int32_t pair_flip = q->a_signed ? 128 : 0, pair_zero = zero + pair_flip;
  for (int64_t k = from; k < end; k++, to += p->panel_rows) {
    int64_t value = k * p->word_values, count = dq_min_i64(p->word_values, p->depth - value);
    if (bytes && count == 4 && p->a_depth == 1) {
      memcpy(to, a + value, 4);
      *to ^= flip;
    } else if (!bytes && count == 2 && p->a_depth == 1) { // signed bytes are unsigned ones less 128
      int32_t first = (a[value] ^ pair_flip) - pair_zero, second = (a[value + 1] ^ pair_flip) - pair_zero;
      *to = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
    } else {
      *to = integer_word(p->word_values, a + value * p->a_depth, p->a_depth, count, q->a_signed, zero);
    }
    if (bytes) sum += (uint32_t)((int8_t)*to + (int8_t)(*to >> 8) + (int8_t)(*to >> 16) + (int8_t)(*to >> 24));
  }
  *row_sum = (int32_t)sum;
}

// Bytes a step apart with the flip, which makes them signed; returns their sum.
static inline __attribute__((always_inline)) int32_t load_signed(const uint8_t *from, const int64_t step, uint8_t flip,
                                                                 uint8_t *to, int64_t count) {
  int32_t sum = 0; // of a tile's row: at most 64
  for (int64_t i = 0; i < count; i++) {
    uint8_t byte = from[i * step] ^ flip;
    to[i] = byte;
    sum += (int8_t)byte;
  }
  return sum;
}

// The row's bytes of every tile; returns their sum modulo 2^32.
static int32_t pack_a_tiles(const dq_product *p, int64_t row, uint32_t *to) {
  const uint8_t *a = p->a + row * p->a_row, flip = p->int8->a_signed ? 0 : 128;
  int64_t most = 4 * p->tile_words, left = p->depth, count;
  uint32_t sum = 0;
  for (int64_t t = 0; t < p->tiles; t++, left -= count, to += p->panel_rows * DQ_BLOCK_WORDS) {
    uint8_t *bytes = (uint8_t *)to;
    count = dq_min_i64(left, most);
    if (p->a_depth == 1 && count == 64) sum += (uint32_t)load_signed(a, 1, flip, bytes, 64);
    else if (p->a_depth == 1) sum += (uint32_t)load_signed(a, 1, flip, bytes, count);
    else sum += (uint32_t)load_signed(a, p->a_depth, flip, bytes, count);
    memset(bytes + count, 0, (size_t)(4 * DQ_BLOCK_WORDS - count));
    a += count * p->a_depth;
  }
  return (int32_t)sum;
}

static void pack_a_floats(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  const uint32_t *a = (const uint32_t *)(const void *)p->a + first * p->a_row + from * p->a_depth;
  if (p->a_depth == 1 && p->panel_rows > 1) transpose_lines(p, a, p->a_row, count, end - from, to, p->panel_rows);
  else
    for (int64_t k = from; k < end; k++, a += p->a_depth, to += p->panel_rows)
      for (int64_t i = 0; i < count; i++) to[i] = a[i * p->a_row];
}

void dq_product_pack_a(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to,
                       int32_t *row_sums) {
  if (p->float32) {
    pack_a_floats(p, from, end, first, count, to);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    if (p->tiles) row_sums[i] = pack_a_tiles(p, first + i, to + i * DQ_BLOCK_WORDS);
    else pack_a_integers(p, from, end, first + i, to + i, row_sums + i);
}
