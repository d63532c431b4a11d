// Convolutions of 8 bits with one input channel for each output channel, in C: the plane is copied with its padding, so
// that every output is computed alike and all its products are added before it is requantized.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit/emit.h"

enum { KERNEL = 3 };

// The copy: `rows` of `pitch` bytes.
typedef struct plane {
  const dq_emit_convolution *c;
  const dq_conv_parameters *p;
  int64_t rows, pitch;
  const char *type; // of an element
} plane;

bool dq_emit_suits_planes(const dq_conv_parameters *p) {
  return p->in_channels == p->groups && p->kernel_height == KERNEL && p->kernel_width == KERNEL &&
         p->dilation_height == 1 && p->dilation_width == 1 && p->stride_width <= 2;
}

static plane plane_of(const dq_emission *to, const dq_emit_convolution *c) {
  const dq_conv_parameters *p = &c->shape;
  plane f = {.c = c, .p = p, .type = dq_emit_type(to->op->inputs[0]->type)};
  int64_t even = (p->out_width + 1) / 2 * 2; // outputs are computed in twos, of which each reads four elements
  f.rows = (p->out_height - 1) * p->stride_height + KERNEL;
  f.pitch = (even - 1) * p->stride_width + KERNEL + 1;
  if (f.pitch < p->pad_left + p->in_width) f.pitch = p->pad_left + p->in_width;
  return f;
}

static void copy_plane(dq_emission *to, const plane *f) {
  const dq_conv_parameters *p = f->p;
  int64_t rows = dq_min_i64(p->in_height, f->rows - p->pad_top);
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", rows);
  dq_emit(to, "(void)memcpy(plane + r * %" PRId64 " + %" PRId64 ", image + r * %" PRId64 ", %" PRId64 ");", f->pitch,
          p->pad_top * f->pitch + p->pad_left, p->in_width, p->in_width);
  dq_emit(to, "}");
}

// ---- Sums by instructions that multiply and add two numbers of 16 bits ----

static void declare_pairs(dq_emission *to) {
  for (int v = 0; v < KERNEL; v++) {
    dq_emit(to, "const uint32_t outer%d = dq_pair(w[%d], w[%d]);", v, v * KERNEL, v * KERNEL + 2);
    dq_emit(to, "const int32_t middle%d = w[%d];", v, v * KERNEL + 1);
  }
}

// The sums at columns c and c + 1, which share a word of each row; with a stride, that of column c.
static void sum_pairs(dq_emission *to, const plane *f) {
  bool has_sign = to->op->inputs[0]->type == DQ_I8, two = f->p->stride_width == 1;
  dq_emit_need(to, has_sign ? DQ_EMIT_SIGNED_PAIRS : DQ_EMIT_PAIRS);
  dq_emit(to, "int32_t first = addend%s;", two ? ", second = addend" : "");
  for (int v = 0; v < KERNEL; v++) {
    dq_emit(to, "%sword = dq_any_word(x + %" PRId64 ");", v ? "" : "uint32_t ", v * f->pitch);
    dq_emit(to, "%seven = dq_%seven(word), odd = dq_%sodd(word);", v ? "" : "uint32_t ", has_sign ? "signed_" : "",
            has_sign ? "signed_" : "");
    dq_emit(to, "first = dq_bottom(dq_two(first, even, outer%d), odd, middle%d);", v, v);
    if (two) dq_emit(to, "second = dq_top(dq_two(second, odd, outer%d), even, middle%d);", v, v);
  }
}

// ---- Sums by C alone ----

static void declare_weights(dq_emission *to) {
  for (int k = 0; k < KERNEL * KERNEL; k++) dq_emit(to, "const int32_t w%d = w[%d];", k, k);
}

static void sum_products(dq_emission *to, const plane *f) {
  dq_emit(to, "int32_t first = addend;");
  for (int v = 0; v < KERNEL; v++)
    dq_emit(to,
            "first += w%d * (int32_t)x[%" PRId64 "] + w%d * (int32_t)x[%" PRId64 "] + w%d * (int32_t)x[%" PRId64 "];",
            v * KERNEL, v * f->pitch, v * KERNEL + 1, v * f->pitch + 1, v * KERNEL + 2, v * f->pitch + 2);
}

// ---- The end ----

static void correct(dq_emission *to, const plane *f, bool two) {
  const dq_emit_sums *sums = f->c->sums;
  dq_emit_exceptions(to, sums, "o");
  dq_emit_correct(to, sums, "y[0]", "first");
  if (two) dq_emit_correct(to, sums, "y[1]", "second");
  dq_emit_close(to, 1);
}

static void next_outputs(dq_emission *to, int64_t inputs, int64_t outputs) {
  dq_emit(to, "x += %" PRId64 ";", inputs);
  dq_emit(to, "y += %" PRId64 ";", outputs);
  dq_emit_close(to, 1);
}

static void store_pairs(dq_emission *to, const plane *f, bool two) {
  const dq_emit_sums *sums = f->c->sums;
  dq_emit_store(to, sums, "y[0]", "first");
  if (two) dq_emit_store(to, sums, "y[1]", "second");
  if (!sums->exceptions) return;
  dq_emit(to, "if (corrected != 0) {");
  correct(to, f, two);
  dq_emit_close(to, 1);
}

// A row of outputs, from the elements at x on; an odd number of columns has a last one alone.
static void output_row_pairs(dq_emission *to, const plane *f) {
  const dq_conv_parameters *p = f->p;
  bool two = p->stride_width == 1;
  int64_t whole = two ? p->out_width / 2 : p->out_width;
  if (whole) {
    dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", whole);
    sum_pairs(to, f);
    store_pairs(to, f, two);
    next_outputs(to, two ? 2 : p->stride_width, two ? 2 : 1);
  }
  if (!two || p->out_width % 2 == 0) return;
  dq_emit(to, "{");
  sum_pairs(to, f);
  dq_emit(to, "(void)second;");
  store_pairs(to, f, false);
  dq_emit(to, "y += 1;");
  dq_emit(to, "}");
}

// The same by C alone. Exceptions, which few channels have, are looked for in a loop of their own, so that compilers
// make vectors of the first one.
static void output_row(dq_emission *to, const plane *f) {
  const dq_conv_parameters *p = f->p;
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", p->out_width);
  sum_products(to, f);
  dq_emit_store(to, f->c->sums, "y[0]", "first");
  next_outputs(to, p->stride_width, 1);
  if (!f->c->sums->exceptions) return;
  dq_emit(to, "if (corrected != 0) {");
  dq_emit(to, "x -= %" PRId64 ";", p->out_width * p->stride_width);
  dq_emit(to, "y -= %" PRId64 ";", p->out_width);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", p->out_width);
  sum_products(to, f);
  correct(to, f, false);
  next_outputs(to, p->stride_width, 1);
  dq_emit_close(to, 1);
}

static void declare_channel(dq_emission *to, const plane *f, bool pairs) {
  const dq_conv_parameters *p = f->p;
  const char *weight = dq_emit_type(to->arrays[f->c->weights].type);
  dq_emit(to, "const %s *image = x0 + (n * %" PRId64 " + o / %" PRId64 ") * %" PRId64 ";", f->type, p->in_channels,
          p->out_channels / p->groups, p->in_height * p->in_width);
  dq_emit(to, "const %s *w = c%d + o * %d;", weight, f->c->weights, KERNEL * KERNEL);
  dq_emit(to, "const int32_t addend = c%d[o];", f->c->sums->first + 1);
  dq_emit(to, "%s *y = y0 + (n * %" PRId64 " + o) * %" PRId64 ";", dq_emit_type(to->op->outputs[0]->type),
          p->out_channels, p->out_height * p->out_width);
  dq_emit_factors(to, f->c->sums, "o");
  dq_emit_next_exception(to, f->c->sums, "o");
  if (f->c->sums->exceptions) {
    dq_emit(to, "int32_t corrected = 0;");
    dq_emit(to, "if ((int32_t)c%d[exception] == o) corrected = 1;", f->c->sums->first_exception);
  }
  if (pairs) declare_pairs(to);
  else declare_weights(to);
}

dq_status dq_emit_planes_body(dq_emission *to, const dq_emit_convolution *c) {
  plane f = plane_of(to, c);
  bool pairs = to->target == DQ_EMIT_DSP && to->arrays[c->weights].type == DQ_I8;
  to->scratch_bytes = (size_t)(f.rows * f.pitch);
  dq_emit(to, "%s *const plane = (%s *)scratch;", f.type, f.type);
  dq_emit(to, "(void)memset(plane, %d, %zu);", c->padding, to->scratch_bytes);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", f.p->batch);
  dq_emit_first_exception(to, c->sums);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", f.p->out_channels);
  declare_channel(to, &f, pairs);
  copy_plane(to, &f);
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", f.p->out_height);
  dq_emit(to, "const %s *x = plane + r * %" PRId64 ";", f.type, f.p->stride_height * f.pitch);
  if (pairs) output_row_pairs(to, &f);
  else output_row(to, &f);
  dq_emit_close(to, 3);
  return DQ_OK;
}
