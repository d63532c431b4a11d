// Rows of bytes from one distance to another in plain C.
#include "lib/kernels/reference/reference.h"

#include <string.h>

void dq_copy_rows_c(const dq_row_copy *c) {
  const uint8_t *from = c->from;
  uint8_t *to = c->to;
  for (int64_t row = 0; row < c->rows; row++, from += c->from_step, to += c->to_step) {
    memcpy(to, from, (size_t)c->bytes);
    for (int64_t i = 0; c->flips && i < c->bytes; i++) to[i] ^= 0x80;
  }
}
