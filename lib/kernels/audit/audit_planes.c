// The planes of the audit: the padded input of every channel as unsigned bytes, and the windows of the taps.
#include "lib/kernels/audit/audit_state.h"

#include <string.h>

#include "lib/base/sizes.h"

static void add_tap(dq_audit_planes *a, int64_t phase, int64_t tap) {
  for (int i = 0; i < a->set_count; i++)
    if (a->sets[i].phase == phase && a->sets[i].count < DQ_AUDIT_WINDOWS) {
      a->sets[i].taps[a->sets[i].count++] = tap;
      return;
    }
  a->sets[a->set_count++] = (dq_audit_window_set){phase, 1, {tap}};
}

dq_status dq_audit_planes_new(dq_audit_planes *a, const dq_conv_int8_parameters *q, dq_arena *arena, dq_error *error) {
  const dq_conv_parameters *p = &q->shape;
  int64_t rows = (p->out_height - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
  int64_t columns = (p->out_width - 1) * p->stride_width + (p->kernel_width - 1) * p->dilation_width + 1;
  int64_t taps = p->kernel_height * p->kernel_width;
  *a = (dq_audit_planes){.shape = p, .flip = q->input_signed ? 128 : 0};
  a->zero = q->input_zero_point + a->flip;
  a->height = (rows + p->stride_height - 1) / p->stride_height;
  a->width = (columns + p->stride_width - 1) / p->stride_width;
  a->bytes = p->stride_height * p->stride_width * a->height * a->width;
  a->flat = (p->out_height - 1) * a->width + p->out_width;
  a->offsets = DQ_NEW_ARRAY(arena, taps, int64_t);
  a->sets = DQ_NEW_ARRAY(arena, taps, dq_audit_window_set);
  if (!a->offsets || !a->sets) return dq_fail_memory(error, (size_t)taps * sizeof *a->sets);
  for (int64_t k = 0; k < taps; k++) {
    int64_t y = k / p->kernel_width * p->dilation_height, x = k % p->kernel_width * p->dilation_width;
    int64_t phase = y % p->stride_height * p->stride_width + x % p->stride_width;
    a->offsets[k] = (phase * a->height + y / p->stride_height) * a->width + x / p->stride_width;
    add_tap(a, phase, k);
  }
  return DQ_OK;
}

// One row of a phase: elements x = first + i * stride of an input row (NULL: none).
static void expand_row(const dq_audit_planes *a, const uint8_t *from, int64_t first, uint8_t *to) {
  int64_t stride = a->shape->stride_width, i = 0, end = a->width;
  uint8_t flip = a->flip, zero = (uint8_t)a->zero;
  for (; i < end && (!from || first + i * stride < 0); i++) to[i] = zero;
  int64_t left = a->shape->in_width - first;
  int64_t last = dq_min_i64(end, left <= 0 ? 0 : (left + stride - 1) / stride);
  if (stride == 1)
    for (; i < last; i++) to[i] = from[first + i] ^ flip;
  else
    for (; i < last; i++) to[i] = from[first + i * stride] ^ flip;
  for (; i < end; i++) to[i] = zero;
}

void dq_audit_expand(const dq_audit_planes *a, const uint8_t *input, int64_t channel, uint8_t *to) {
  const dq_conv_parameters *p = a->shape;
  const uint8_t *from = input + channel * p->in_height * p->in_width;
  for (int64_t phase_y = 0; phase_y < p->stride_height; phase_y++)
    for (int64_t phase_x = 0; phase_x < p->stride_width; phase_x++)
      for (int64_t i = 0; i < a->height; i++, to += a->width) {
        int64_t y = phase_y + i * p->stride_height - p->pad_top;
        bool inside = y >= 0 && y < p->in_height;
        expand_row(a, inside ? from + y * p->in_width : NULL, phase_x - p->pad_left, to);
      }
}

// Ones under a window at `at` of a plane, its vectors `step` bytes apart.
static void fill_window(const dq_audit_planes *a, int64_t at, int64_t step, uint8_t *mask) {
  for (int64_t y = 0; y < a->shape->out_height; y++)
    for (int64_t i = at + y * a->width, end = i + a->shape->out_width, next; i < end; i = next) {
      next = dq_min_i64(end, (i / DQ_AUDIT_VECTOR + 1) * DQ_AUDIT_VECTOR);
      memset(mask + i / DQ_AUDIT_VECTOR * step + i % DQ_AUDIT_VECTOR, 1, (size_t)(next - i));
    }
}

void dq_audit_fill_masks(const dq_audit_planes *a, uint8_t *masks) {
  enum { LINE = DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR };
  memset(masks, 0, dq_audit_masks_bytes(a));
  for (int s = 0; s < a->set_count; s++, masks += dq_audit_phase_vectors(a) * LINE)
    for (int i = 0; i < a->sets[s].count; i++)
      fill_window(a, a->offsets[a->sets[s].taps[i]] - a->sets[s].phase * a->height * a->width, LINE,
                  masks + i * DQ_AUDIT_VECTOR);
}

void dq_audit_fill_mask(const dq_audit_planes *a, uint8_t *mask) {
  memset(mask, 0, (size_t)(dq_audit_vectors(a->flat) * DQ_AUDIT_VECTOR));
  fill_window(a, 0, DQ_AUDIT_VECTOR, mask);
}
