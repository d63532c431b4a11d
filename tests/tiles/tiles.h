// The tile registers of AMX in memory, for machines without them: each source of kernels for AMX is compiled with this
// in front of it (tests/rules.mk), which takes the place of the intrinsics and of lib/kernels/simd/tiles_amx.h. What
// the processor refuses ends the program (Intel SDM, volume 1, chapter 18; volume 2, TDPB*, TILE*, LDTILECFG).
#ifndef DQ_KERNELS_TILES_AMX_H
#define DQ_KERNELS_TILES_AMX_H

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, TILE_ROWS = 16, TILE_BYTES = 64 };

typedef struct tile_register {
  int rows, row_bytes; // 0: not configured
  uint8_t bytes[TILE_ROWS][TILE_BYTES];
} tile_register;
static _Thread_local tile_register tile_registers[TILES];

static inline void refuse_unless(int condition) {
  if (!condition) abort();
}

static inline tile_register *tile_of(int number) {
  refuse_unless(number >= 0 && number < TILES && tile_registers[number].rows && tile_registers[number].row_bytes);
  return &tile_registers[number];
}

static inline void configure_tiles(const int rows[TILES], const int row_bytes[TILES]) {
  memset(tile_registers, 0, sizeof tile_registers);
  for (int i = 0; i < TILES; i++) {
    refuse_unless(rows[i] >= 0 && rows[i] <= TILE_ROWS && row_bytes[i] >= 0 && row_bytes[i] <= TILE_BYTES);
    if (rows[i]) tile_registers[i].rows = rows[i], tile_registers[i].row_bytes = row_bytes[i];
  }
}

static inline void tile_release(void) { memset(tile_registers, 0, sizeof tile_registers); }

static inline void tile_zero(int number) { memset(tile_of(number)->bytes, 0, sizeof tile_registers[0].bytes); }

static inline void tile_load(int number, const void *from, size_t stride) {
  tile_register *to = tile_of(number);
  tile_zero(number);
  for (int row = 0; row < to->rows; row++)
    memcpy(to->bytes[row], (const char *)from + (size_t)row * stride, (size_t)to->row_bytes);
}

static inline void tile_store(int number, void *to, size_t stride) {
  const tile_register *from = tile_of(number);
  for (int row = 0; row < from->rows; row++)
    memcpy((char *)to + (size_t)row * stride, from->bytes[row], (size_t)from->row_bytes);
}

static inline int32_t tile_byte(uint8_t byte, int is_signed) { return is_signed ? (int8_t)byte : byte; }

// sums += left x right: four bytes of a row of `left` by four of a column of `right`, modulo 2^32.
static inline void tile_multiply(int sums, int left, int right, int left_signed, int right_signed) {
  tile_register *c = tile_of(sums);
  const tile_register *a = tile_of(left), *b = tile_of(right);
  refuse_unless(sums != left && sums != right && left != right);
  refuse_unless(a->rows == c->rows && b->row_bytes == c->row_bytes && a->row_bytes == 4 * b->rows &&
                c->row_bytes % 4 == 0);
  for (int row = 0; row < c->rows; row++)
    for (int column = 0; column < c->row_bytes / 4; column++) {
      uint32_t sum;
      memcpy(&sum, &c->bytes[row][4 * column], sizeof sum);
      for (int k = 0; k < b->rows; k++)
        for (int i = 0; i < 4; i++)
          sum += (uint32_t)(tile_byte(a->bytes[row][4 * k + i], left_signed) *
                            tile_byte(b->bytes[k][4 * column + i], right_signed));
      memcpy(&c->bytes[row][4 * column], &sum, sizeof sum);
    }
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#define _tile_zero tile_zero
#define _tile_loadd tile_load
#define _tile_stored tile_store
#define _tile_release tile_release
#define _tile_dpbssd(c, a, b) tile_multiply(c, a, b, 1, 1)
#define _tile_dpbsud(c, a, b) tile_multiply(c, a, b, 1, 0)
#define _tile_dpbusd(c, a, b) tile_multiply(c, a, b, 0, 1)
#define _tile_dpbuud(c, a, b) tile_multiply(c, a, b, 0, 0)

#endif
