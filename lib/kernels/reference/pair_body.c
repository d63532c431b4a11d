// Sums and products of quantized operands, by the loops of pair_loops.h.
// Sets: c avx2
#include "lib/kernels/reference/pair_loops.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/set.h"

void DQ_FOR_SET(dq_add_8)(const dq_pair_row *row) {
#ifdef __FMA__
  if (row->is_short && row->a_step && row->b_step) {
    short_sum(row);
    return;
  }
#endif
  pair_row(row, SUM);
}

void DQ_FOR_SET(dq_multiply_8)(const dq_pair_row *row) { pair_row(row, PRODUCT); }
