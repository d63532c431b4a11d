// Convolutions of 8 bits in C, column by column: what the kernel sees of an output pixel is copied, less the zero
// point, as 16 bits, in the order of the weights; then the sums of two pixels and two output channels are taken
// together, so that each number that is loaded is used twice.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit.h"

enum {
  STACK = 640,
  LEAST_OUTPUTS = 4
}; // bytes of columns that lie on the stack; output channels that are worth a copy

bool dq_emit_suits_columns(const dq_conv_parameters *p) {
  return p->in_channels / p->groups > 1 && p->out_channels / p->groups >= LEAST_OUTPUTS;
}

int64_t dq_emit_column_length(const dq_emission *to, const dq_conv_parameters *p) {
  int64_t depth = p->in_channels / p->groups * p->kernel_height * p->kernel_width;
  return to->target == DQ_EMIT_DSP ? (depth + 3) / 4 * 4 : depth;
}

// Copies all taps of a pixel whose kernel lies inside of the input.
static void copy_inside(dq_emission *to, const dq_conv_parameters *p, int32_t zero) {
  const char *type = dq_emit_type(to->op->inputs[0]->type);
  dq_emit(to, "const %s *x = image + top * %" PRId64 " + left;", type, p->in_width);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->in_channels / p->groups);
  for (int64_t v = 0; v < p->kernel_height; v++)
    for (int64_t u = 0; u < p->kernel_width; u++)
      dq_emit(to, "*to++ = (int16_t)(x[%" PRId64 "] - %d);",
              v * p->dilation_height * p->in_width + u * p->dilation_width, zero);
  dq_emit(to, "x += %" PRId64 ";", p->in_height * p->in_width);
  dq_emit(to, "}");
}

// Copies them one by one, with zeros for those beside the input.
static void copy_checked(dq_emission *to, const dq_conv_parameters *p, int32_t zero, bool unrolled) {
  if (unrolled) dq_emit(to, "} else {");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->in_channels / p->groups);
  dq_emit(to, "const %s *plane = image + i * %" PRId64 ";", dq_emit_type(to->op->inputs[0]->type),
          p->in_height * p->in_width);
  dq_emit(to, "for (int32_t v = top; v < top + %" PRId64 "; v += %" PRId64 ") {",
          (p->kernel_height - 1) * p->dilation_height + 1, p->dilation_height);
  dq_emit(to, "for (int32_t u = left; u < left + %" PRId64 "; u += %" PRId64 ") {",
          (p->kernel_width - 1) * p->dilation_width + 1, p->dilation_width);
  dq_emit(to, "const int inside = v >= 0 && v < %" PRId64 " && u >= 0 && u < %" PRId64 ";", p->in_height, p->in_width);
  dq_emit(to, "*to++ = (int16_t)(inside ? plane[v * %" PRId64 " + u] - %d : 0);", p->in_width, zero);
  dq_emit_close(to, 3);
}

// Fills the column of pixel `at`.
static void fill_column(dq_emission *to, const dq_conv_parameters *p, int32_t zero, int64_t length) {
  enum { MOST_UNROLLED = 25 };
  int64_t taps = p->kernel_height * p->kernel_width, depth = p->in_channels / p->groups * taps;
  int64_t high = p->in_height - (p->kernel_height - 1) * p->dilation_height;
  int64_t wide = p->in_width - (p->kernel_width - 1) * p->dilation_width;
  bool padded = p->pad_top || p->pad_left || (p->out_height - 1) * p->stride_height >= high ||
                (p->out_width - 1) * p->stride_width >= wide;
  bool unrolled = taps <= MOST_UNROLLED && high > 0 && wide > 0;
  dq_emit(to, "const int32_t top = at / %" PRId64 " * %" PRId64 " - %" PRId64 ";", p->out_width, p->stride_height,
          p->pad_top);
  dq_emit(to, "const int32_t left = at %% %" PRId64 " * %" PRId64 " - %" PRId64 ";", p->out_width, p->stride_width,
          p->pad_left);
  dq_emit(to, "int16_t *to = columns + k * %" PRId64 ";", length);
  if (unrolled && padded)
    dq_emit(to, "if (top >= 0 && top < %" PRId64 " && left >= 0 && left < %" PRId64 ") {", high, wide);
  if (unrolled) copy_inside(to, p, zero);
  if (padded || !unrolled) copy_checked(to, p, zero, unrolled);
  if (unrolled && padded) dq_emit(to, "}");
  for (int64_t k = depth; k < length; k++) dq_emit(to, "*to++ = 0;");
}

// The sums of channels o and o + 1 at pixels p and p + 1; those beyond the end are computed twice and not stored.
static void sum_and_store(dq_emission *to, const dq_emit_convolution *c, int64_t outputs, int64_t plane,
                          int64_t length) {
  const char *result = dq_emit_type(to->op->outputs[0]->type), *weight = dq_emit_type(to->arrays[c->weights].type);
  const char *products = to->arrays[c->weights].type == DQ_I8 ? "dq_products" : "dq_wide_products";
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o += 2) {", outputs);
  dq_emit(to, "const %s *w = weights + o * %" PRId64 ";", weight, length);
  if (outputs % 2) dq_emit(to, "const int32_t next = o + 1 < %" PRId64 " ? %" PRId64 " : 0;", outputs, length);
  else dq_emit(to, "const int32_t next = %" PRId64 ";", length);
  dq_emit(to, "%s(w, w + next, columns, columns + %" PRId64 ", %" PRId64 ", sums);", products, length, length);
  dq_emit(to, "for (int32_t k = 0; k < 2%s; k++) {", outputs % 2 ? " && (k == 0 || next > 0)" : "");
  if (c->shape.groups > 1) dq_emit(to, "const int32_t channel = g * %" PRId64 " + o + k;", outputs);
  else dq_emit(to, "const int32_t channel = o + k;");
  dq_emit(to, "%s *y = y0 + (n * %" PRId64 " + channel) * %" PRId64 " + p;", result, c->shape.out_channels, plane);
  dq_emit_factors(to, c->sums, "channel");
  dq_emit_result(to, c->sums, "channel", "y[0]", "sums[2 * k]");
  if (plane % 2) dq_emit(to, "if (p + 1 < %" PRId64 ") {", plane);
  dq_emit_result(to, c->sums, "channel", "y[1]", "sums[2 * k + 1]");
  dq_emit_close(to, plane % 2 ? 3 : 2);
}

dq_status dq_emit_columns_body(dq_emission *to, const dq_emit_convolution *c) {
  const dq_conv_parameters *p = &c->shape;
  int64_t plane = p->out_height * p->out_width, length = dq_emit_column_length(to, p);
  int64_t inputs = p->in_channels / p->groups, outputs = p->out_channels / p->groups;
  size_t bytes = (size_t)length * 2 * sizeof(int16_t);
  dq_emit_need(to, to->arrays[c->weights].type == DQ_I8 ? DQ_EMIT_PRODUCTS : DQ_EMIT_WIDE_PRODUCTS);
  dq_emit(to, "int32_t sums[4];");
  if (bytes <= STACK) dq_emit(to, "int16_t columns[%" PRId64 "];", 2 * length);
  else dq_emit(to, "int16_t *const columns = (int16_t *)scratch;"), to->scratch_bytes = bytes;
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", p->batch);
  dq_emit(to, "for (int32_t g = 0; g < %" PRId64 "; g++) {", p->groups);
  dq_emit(to, "const %s *image = x0 + (n * %" PRId64 " + g * %" PRId64 ") * %" PRId64 ";",
          dq_emit_type(to->op->inputs[0]->type), p->in_channels, inputs, p->in_height * p->in_width);
  dq_emit(to, "const %s *weights = c%d + g * %" PRId64 ";", dq_emit_type(to->arrays[c->weights].type), c->weights,
          outputs * length);
  dq_emit(to, "for (int32_t p = 0; p < %" PRId64 "; p += 2) {", plane);
  dq_emit(to, "for (int32_t k = 0; k < 2; k++) {");
  if (plane % 2) dq_emit(to, "const int32_t at = p + k < %" PRId64 " ? p + k : p;", plane);
  else dq_emit(to, "const int32_t at = p + k;");
  fill_column(to, p, c->padding, length);
  dq_emit(to, "}");
  sum_and_store(to, c, outputs, plane, length);
  dq_emit_close(to, 3);
  return DQ_OK;
}
