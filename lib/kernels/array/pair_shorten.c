// Sums and products of quantized operands: entry points that pick the kernel, and the proof by which sums take
// fewer steps.
//
// A sum dequantizes both operands, adds, divides and rounds. What it gives depends on two bytes, so it can be
// compared with a shorter formula on all pairs. That differs only where the exact quotient lies within a rounding
// of a half; when it does, neighbouring factors are tried.
#include "lib/kernels/array/array.h"

#include <string.h>

enum { BYTES = 256, REACH = 3 };

void dq_add_8(unsigned cpu, const dq_pair_row *row) { DQ_KERNEL_FUNCTION(add_8, cpu)(row); }

void dq_multiply_8(unsigned cpu, const dq_pair_row *row) { DQ_KERNEL_FUNCTION(multiply_8, cpu)(row); }

typedef struct all_pairs {
  dq_add_8_function *add;
  uint8_t a[BYTES], b[BYTES], found[BYTES];
  uint8_t expected[BYTES][BYTES]; // by a, b
} all_pairs;

// The sums of one byte with all others.
static void add_byte(all_pairs *p, dq_pair_row row, int byte, uint8_t *sums) {
  memset(p->a, byte, BYTES);
  row.a = p->a, row.b = p->b, row.output = sums;
  row.a_step = row.b_step = 1;
  row.count = BYTES;
  p->add(&row);
}

static bool holds(all_pairs *p, const dq_pair_row *row) {
  for (int byte = 0; byte < BYTES; byte++) {
    add_byte(p, *row, byte, p->found);
    if (memcmp(p->found, p->expected[byte], BYTES)) return false;
  }
  return true;
}

// The quotients of the scales, so many units in the last place up.
static void set_factors(dq_pair_row *row, int a_units, int b_units) {
  double a = (double)row->a_scale / (double)row->scale, b = (double)row->b_scale / (double)row->scale;
  row->a_factor = (float)a * (1 + (float)a_units * 0x1p-23f);
  row->b_factor = (float)b * (1 + (float)b_units * 0x1p-23f);
  row->offset =
      (float)(row->zero_point - (double)row->a_factor * row->a_zero_point - (double)row->b_factor * row->b_zero_point);
  row->is_short = true;
}

void dq_add_8_shorten(unsigned cpu, dq_pair_row *row) {
  const dq_kernel *kernel = dq_kernel_find(DQ_OPERATION_add_8, cpu);
  all_pairs p = {.add = (dq_add_8_function *)kernel->function};
  row->is_short = false;
  if (!kernel->feature) return; // plain loops know no other way
  for (int byte = 0; byte < BYTES; byte++) p.b[byte] = (uint8_t)byte;
  for (int byte = 0; byte < BYTES; byte++) add_byte(&p, *row, byte, p.expected[byte]);
  for (int reach = 0; reach <= REACH; reach++)
    for (int i = -reach; i <= reach; i++)
      for (int j = -reach; j <= reach; j++) {
        bool inside = i > -reach && i < reach && j > -reach && j < reach;
        if (inside && reach) continue; // was tried
        set_factors(row, i, j);
        if (holds(&p, row)) return;
      }
  row->is_short = false;
}
