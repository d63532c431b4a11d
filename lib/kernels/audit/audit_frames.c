// What the windows of a convolution without stride have in common: each is the whole plane without some rows and
// columns at its edges, and padding. So numbers that reach bounds are counted once for all taps, and those of the
// edges apart.
#include "lib/kernels/audit/audit_state.h"

#include <string.h>

#include "lib/base/sizes.h"

// What a window that begins at `from` and is `size` long lacks of `length` lines: `before` and `behind`.
static void lacks(int64_t from, int64_t size, int64_t length, int64_t *before, int64_t *behind) {
  *before = dq_min_i64(dq_max_i64(from, 0), length);
  *behind = dq_min_i64(dq_max_i64(length - from - size, 0), length);
}

static uint32_t ones(int64_t count) { return (1u << count) - 1; }

// Returns, as bits, which of `all` lines at the edges a window lacks: the first `before` and the last `behind`.
static uint32_t lines_of(int64_t before, int64_t behind, int64_t all) {
  return ones(before) | (ones(all) & ~ones(all - behind));
}

static void trim_tap(dq_audit_frame *f, const dq_conv_parameters *p, int64_t tap) {
  int64_t y = tap / p->kernel_width * p->dilation_height - p->pad_top, top, bottom, left, right;
  int64_t x = tap % p->kernel_width * p->dilation_width - p->pad_left;
  lacks(y, p->out_height, f->height, &top, &bottom);
  lacks(x, p->out_width, f->width, &left, &right);
  int64_t inside = (f->height - top - bottom) * (f->width - left - right);
  f->trims[tap] = (dq_audit_trim){lines_of(top, bottom, f->rows), lines_of(left, right, f->columns),
                                  (uint32_t)(p->out_height * p->out_width - inside)};
}

// The most that any window lacks; false where it is not a few lines at the edges.
static bool measure(dq_audit_frame *f, const dq_conv_parameters *p) {
  int64_t top = 0, bottom = 0, left = 0, right = 0, before, behind;
  if (p->stride_height > 1 || p->stride_width > 1) return false;
  for (int64_t k = 0; k < p->kernel_height; k++) {
    lacks(k * p->dilation_height - p->pad_top, p->out_height, f->height, &before, &behind);
    top = dq_max_i64(top, before);
    bottom = dq_max_i64(bottom, behind);
  }
  for (int64_t k = 0; k < p->kernel_width; k++) {
    lacks(k * p->dilation_width - p->pad_left, p->out_width, f->width, &before, &behind);
    left = dq_max_i64(left, before);
    right = dq_max_i64(right, behind);
  }
  if (top + bottom > f->height || left + right > f->width) return false;
  if (top + bottom + left + right > DQ_AUDIT_EDGES) return false;
  f->top = (int)top;
  f->left = (int)left;
  f->rows = (int)(top + bottom);
  f->columns = (int)(left + right);
  return true;
}

dq_status dq_audit_frame_new(dq_audit_frame *frame, const dq_conv_int8_parameters *q, dq_arena *arena,
                             dq_error *error) {
  const dq_conv_parameters *p = &q->shape;
  int64_t taps = p->kernel_height * p->kernel_width;
  *frame = (dq_audit_frame){.height = p->in_height, .width = p->in_width, .flip = q->input_signed ? 128 : 0};
  frame->zero = (uint8_t)(q->input_zero_point + frame->flip);
  frame->fits = measure(frame, p);
  if (!frame->fits) return DQ_OK;
  frame->trims = DQ_NEW_ARRAY(arena, taps, dq_audit_trim);
  if (!frame->trims) return dq_fail_memory(error, (size_t)taps * sizeof *frame->trims);
  for (int64_t tap = 0; tap < taps; tap++) trim_tap(frame, p, tap);
  return DQ_OK;
}

static int64_t whole_vectors(int64_t count) { return dq_audit_vectors(count) * DQ_AUDIT_VECTOR; }

size_t dq_audit_frame_bytes(const dq_audit_frame *f) {
  int64_t longest = dq_max_i64(f->width, f->height);
  return f->fits ? (size_t)(whole_vectors(f->height * f->width) + whole_vectors(longest)) : 0;
}

// ---- One plane ----

static int64_t row_at(const dq_audit_frame *f, int i) { return i < f->top ? i : f->height - f->rows + i; }
static int64_t column_at(const dq_audit_frame *f, int i) { return i < f->left ? i : f->width - f->columns + i; }

// `count` numbers, `step` apart, in vectors that zeros fill up: these reach no bound.
static void fill_line(const uint8_t *from, int64_t step, int64_t count, uint8_t flip, uint8_t *line) {
  if (step == 1)
    for (int64_t i = 0; i < count; i++) line[i] = from[i] ^ flip;
  else
    for (int64_t i = 0; i < count; i++) line[i] = from[i * step] ^ flip;
  memset(line + count, 0, (size_t)(whole_vectors(count) - count));
}

void dq_audit_count_frame(const dq_audit_frame *f, const dq_audit_bounds *bounds, const uint8_t *input,
                          dq_audit_reached_function *count, uint8_t *scratch, dq_audit_lines *lines) {
  int64_t size = f->height * f->width;
  uint8_t *line = scratch + whole_vectors(size);
  dq_audit_reached plane = {scratch, dq_audit_vectors(size), bounds->of, bounds->count, lines->counts};
  fill_line(input, 1, size, f->flip, scratch);
  count(&plane);
  for (int i = 0; i < f->rows + f->columns; i++) {
    int64_t length = i < f->rows ? f->width : f->height;
    dq_audit_reached edge = {line, dq_audit_vectors(length), bounds->of, bounds->count,
                             lines->counts + (i + 1) * DQ_AUDIT_COUNTS};
    if (i < f->rows) fill_line(scratch + row_at(f, i) * f->width, 1, length, 0, line);
    else fill_line(scratch + column_at(f, i - f->rows), f->width, length, 0, line);
    count(&edge);
  }
  for (int y = 0; y < f->rows; y++)
    for (int x = 0; x < f->columns; x++)
      lines->corners[y * f->columns + x] = scratch[row_at(f, y) * f->width + column_at(f, x)];
}

void dq_audit_trim_frame(const dq_audit_frame *f, const dq_audit_bounds *bounds, const dq_audit_lines *lines,
                         int64_t first, int windows, dq_audit_trims_function *trim, uint32_t *counts) {
  dq_audit_trims trims = {f->trims + first, windows,    f->rows,       f->columns,      lines->counts, lines->corners,
                          f->zero,          bounds->of, bounds->count, DQ_AUDIT_COUNTS, counts};
  trim(&trims);
}
