// Tables of 256 bytes for AArch64: the table lies in sixteen registers, a quarter answers the indices
// below 64, the others leave what is there.
#include <arm_neon.h>

#include "lib/kernels/table/kernel_table.h"

enum { WIDTH = 16, QUARTER = 64 };

void dq_lookup_neon(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  const uint8x16x4_t first = vld1q_u8_x4(table), second = vld1q_u8_x4(table + QUARTER);
  const uint8x16x4_t third = vld1q_u8_x4(table + 2 * QUARTER), last = vld1q_u8_x4(table + 3 * QUARTER);
  const uint8x16_t quarter = vdupq_n_u8(QUARTER);
  int64_t at = 0;
  for (; at + WIDTH <= count; at += WIDTH) {
    uint8x16_t index = vld1q_u8(input + at), found = vqtbl4q_u8(first, index);
    found = vqtbx4q_u8(found, second, index = vsubq_u8(index, quarter));
    found = vqtbx4q_u8(found, third, index = vsubq_u8(index, quarter));
    found = vqtbx4q_u8(found, last, vsubq_u8(index, quarter));
    vst1q_u8(output + at, found);
  }
  dq_lookup_c(input + at, table, output + at, count - at);
}
