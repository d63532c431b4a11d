// The shapes of AMX's tile registers.
#ifndef DQ_KERNELS_TILES_AMX_H
#define DQ_KERNELS_TILES_AMX_H

#include <stdint.h>
#include <string.h>

typedef struct tile_configuration { // what ldtilecfg reads (Intel SDM, volume 1, chapter 18)
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_configuration;

// rows and row_bytes of the eight registers; those without rows are not used.
static inline void configure_tiles(const int rows[8], const int row_bytes[8]) {
  tile_configuration to;
  memset(&to, 0, sizeof to);
  to.palette = 1;
  for (int i = 0; i < 8; i++) {
    to.rows[i] = (uint8_t)rows[i];
    to.row_bytes[i] = (uint16_t)(rows[i] ? row_bytes[i] : 0);
  }
  // Not _tile_loadconfig, which tells the compiler of the first bytes only.
  __asm__ volatile("ldtilecfg %0" : : "m"(to));
}

#endif
