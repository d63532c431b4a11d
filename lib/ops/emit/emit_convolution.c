// Convolutions in C: sums of a row of outputs, of as many taps at a time as registers hold, then their end. Places
// beside the input are left out of loops: the few columns that see them have statements of their own.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit/emit.h"

enum { TAPS = 8, CHANNELS = 4, STACK = 896, COLUMNS = 128 };

// The convolution as it is printed: 1x1 kernels without stride and padding see the plane in rows of another length.
typedef struct frame {
  const dq_emit_convolution *c;
  dq_conv_parameters p;
  bool pointwise, half; // half: float16
  int64_t group_inputs, group_outputs, in_plane, out_plane;
  const char *type; // of the sums
} frame;

static int64_t row_length(int64_t plane) {
  for (int64_t length = dq_min_i64(plane, COLUMNS); length > 1; length--)
    if (plane % length == 0) return length;
  return 1;
}

static frame frame_of(const dq_emission *to, const dq_emit_convolution *c) {
  frame f = {.c = c, .p = c->shape, .half = to->op->inputs[0]->type == DQ_F16, .type = c->sums ? "int32_t" : "float"};
  dq_conv_parameters *p = &f.p;
  f.group_inputs = p->in_channels / p->groups;
  f.group_outputs = p->out_channels / p->groups;
  f.in_plane = p->in_height * p->in_width;
  f.out_plane = p->out_height * p->out_width;
  f.pointwise = p->kernel_height == 1 && p->kernel_width == 1 && f.in_plane == f.out_plane && !p->pad_top &&
                !p->pad_left && p->stride_height == 1 && p->stride_width == 1;
  if (f.pointwise) {
    p->in_width = p->out_width = row_length(f.in_plane);
    p->in_height = p->out_height = f.in_plane / p->in_width;
  }
  return f;
}

// ---- One group of taps ----

// Taps of one row of the kernel, or of neighbouring channels at its one place: for output column c, tap k reads
// x[offset[k] + c * stride], which is column `column[k]` of the input for c = 0 and may lie outside.
typedef struct taps {
  int count;
  int64_t offset[TAPS], column[TAPS];
} taps;

enum { ANY_COLUMN = -1 }; // the variable c of a loop

static bool inside(const frame *f, const taps *t, int k, int64_t column) {
  int64_t at = t->column[k] + column * f->p.stride_width;
  return column == ANY_COLUMN || (at >= 0 && at < f->p.in_width);
}

static bool all_inside(const frame *f, const taps *t, int64_t column) {
  for (int k = 0; k < t->count; k++)
    if (!inside(f, t, k, column)) return false;
  return true;
}

// The element that tap k reads for a column.
static const char *element(const frame *f, const taps *t, int k, int64_t column, char text[64]) {
  int64_t stride = f->p.stride_width, offset = t->offset[k];
  const char *widen = f->half ? "dq_half_to_float(" : f->c->sums ? "(int32_t)" : "", *end = f->half ? ")" : "";
  if (column != ANY_COLUMN) {
    snprintf(text, 64, "%sx[%" PRId64 "]%s", widen, offset + column * stride, end);
    return text;
  }
  int at = snprintf(text, 64, stride == 1 ? "%sx[c" : "%sx[c * %" PRId64, widen, stride);
  if (offset)
    at += snprintf(text + at, (size_t)(64 - at), " %c %" PRId64, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
  snprintf(text + at, (size_t)(64 - at), "]%s", end);
  return text;
}

static const char *place_of(int64_t column, char text[32]) {
  snprintf(text, 32, column == ANY_COLUMN ? "c" : "%" PRId64, column);
  return text;
}

// Integers: adds the products of all taps; taps outside multiply the padding.
static void add_products(dq_emission *to, const frame *f, const taps *t, int64_t column) {
  char line[TAPS * 80] = "", source[64], place[32];
  int at = 0;
  for (int k = 0; k < t->count; k++) {
    bool is_inside = inside(f, t, k, column);
    if (!is_inside && !f->c->padding) continue;
    if (!is_inside) snprintf(source, sizeof source, "%d", f->c->padding);
    else element(f, t, k, column, source);
    at += snprintf(line + at, sizeof line - (size_t)at, "%sw%d * %s", at ? " + " : "", k, source);
  }
  if (at) dq_emit(to, "sums[%s] += %s;", place_of(column, place), line);
}

// float32: one chain of fused multiply-adds, the first tap innermost; taps outside are left out.
static void chain_products(dq_emission *to, const frame *f, const taps *t, int64_t column) {
  char line[TAPS * 96], inner[TAPS * 96], source[64], place[32];
  snprintf(line, sizeof line, "sums[%s]", place_of(column, place));
  bool any = false;
  for (int k = 0; k < t->count; k++) {
    if (!inside(f, t, k, column)) continue;
    any = true;
    strcpy(inner, line);
    snprintf(line, sizeof line, "fmaf(w%d, %s, %.600s)", k, element(f, t, k, column, source), inner);
  }
  if (any) dq_emit(to, "sums[%s] = %s;", place, line);
}

static void sum_taps(dq_emission *to, const frame *f, const taps *t) {
  void (*sum)(dq_emission *, const frame *, const taps *, int64_t) = f->c->sums ? add_products : chain_products;
  int64_t first = 0, last = f->p.out_width;
  while (first < last && !all_inside(f, t, first)) first++;
  while (last > first && !all_inside(f, t, last - 1)) last--;
  for (int64_t column = 0; column < first; column++) sum(to, f, t, column);
  if (last - first == 1) sum(to, f, t, first);
  if (last - first > 1) {
    dq_emit(to, "for (int32_t c = %" PRId64 "; c < %" PRId64 "; c++) {", first, last);
    sum(to, f, t, ANY_COLUMN);
    dq_emit(to, "}");
  }
  for (int64_t column = last; column < f->p.out_width; column++) sum(to, f, t, column);
}

// Whether tap k reads the input for any column; else it sees padding alone.
static bool reads(const frame *f, const taps *t, int k) {
  for (int64_t column = 0; column < f->p.out_width; column++)
    if (inside(f, t, k, column)) return true;
  return false;
}

// Weights that statements of sum_taps mention. Returns the number of taps that read the input.
static int declare_weights(dq_emission *to, const frame *f, const taps *t, int64_t first) {
  int readers = 0;
  for (int k = 0; k < t->count; k++) {
    const bool is_reader = reads(f, t, k);
    readers += is_reader;
    if (!is_reader && !(f->c->sums && f->c->padding)) continue;
    dq_emit(to, f->half ? "const %s w%d = dq_half_to_float(w[%" PRId64 "]);" : "const %s w%d = w[%" PRId64 "];",
            f->type, k, first + k);
  }
  return readers;
}

// ---- Loops over the kernel ----

// The place of the output row in the plane of one input channel, and what rows beside the input add.
static void kernel_rows(dq_emission *to, const frame *f) {
  const dq_conv_parameters *p = &f->p;
  dq_emit(to, "for (int32_t v = 0; v < %" PRId64 "; v++) {", p->kernel_height);
  dq_emit(to, "const %s *w = weights + (i * %" PRId64 " + v) * %" PRId64 ";",
          dq_emit_type(to->arrays[f->c->weights].type), p->kernel_height, p->kernel_width);
  dq_emit(to, "const int32_t row = r * %" PRId64 " + v * %" PRId64 " - %" PRId64 ";", p->stride_height,
          p->dilation_height, p->pad_top);
  bool padded =
      p->pad_top ||
      (p->out_height - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height - p->pad_top >= p->in_height;
  if (padded) dq_emit(to, "if (row >= 0 && row < %" PRId64 ") {", p->in_height);
  dq_emit(to, "const %s *x = plane + row * %" PRId64 ";", dq_emit_type(to->op->inputs[0]->type), p->in_width);
  int readers = 0;
  for (int64_t u = 0; u < p->kernel_width; u += TAPS) {
    taps t = {.count = (int)dq_min_i64(TAPS, p->kernel_width - u)};
    for (int k = 0; k < t.count; k++) t.offset[k] = t.column[k] = (u + k) * p->dilation_width - p->pad_left;
    if (p->kernel_width > TAPS) dq_emit(to, "{");
    readers += declare_weights(to, f, &t, u);
    sum_taps(to, f, &t);
    if (p->kernel_width > TAPS) dq_emit(to, "}");
  }
  if (!readers) dq_emit(to, "(void)x;");
  if (!readers && !(f->c->sums && f->c->padding)) dq_emit(to, "(void)w;");
  if (padded && f->c->sums && f->c->padding) {
    dq_emit(to, "} else {");
    dq_emit(to, "int32_t beside = 0;");
    dq_emit(to, "for (int32_t u = 0; u < %" PRId64 "; u++) beside += (int32_t)w[u];", p->kernel_width);
    dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) sums[c] += beside * %d;", p->out_width, f->c->padding);
  }
  if (padded) dq_emit(to, "}");
  dq_emit(to, "}");
}

// Neighbouring channels are summed together where the kernel has one place.
static void channels_at_once(dq_emission *to, const frame *f, int64_t first, int64_t last, int count) {
  if (first >= last) return;
  taps t = {.count = count};
  for (int k = 0; k < count; k++) t.offset[k] = k * f->in_plane;
  dq_emit(to, "for (int32_t i = %" PRId64 "; i < %" PRId64 "; i += %d) {", first, last, count);
  dq_emit(to, "const %s *w = weights + i;", dq_emit_type(to->arrays[f->c->weights].type));
  dq_emit(to, "const %s *x = image + i * %" PRId64 " + r * %" PRId64 ";", dq_emit_type(to->op->inputs[0]->type),
          f->in_plane, f->p.in_width);
  declare_weights(to, f, &t, 0);
  sum_taps(to, f, &t);
  dq_emit(to, "}");
}

static void channels(dq_emission *to, const frame *f) {
  if (f->pointwise) {
    int64_t whole = f->group_inputs / CHANNELS * CHANNELS;
    channels_at_once(to, f, 0, whole, CHANNELS);
    channels_at_once(to, f, whole, f->group_inputs, 1);
    return;
  }
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", f->group_inputs);
  dq_emit(to, "const %s *plane = image + i * %" PRId64 ";", dq_emit_type(to->op->inputs[0]->type), f->in_plane);
  kernel_rows(to, f);
  dq_emit(to, "}");
}

// ---- The end ----

const char *dq_emit_activation(dq_emission *to, const dq_activation *a, const char *name, char text[300]) {
  char low[48], high[48];
  switch (a->kind) {
  case DQ_ACTIVATION_NONE: snprintf(text, 300, "%s", name); break;
  case DQ_ACTIVATION_RELU: snprintf(text, 300, "%s < 0.0f ? 0.0f : %s", name, name); break;
  case DQ_ACTIVATION_CLIP:
    dq_emit_real(a->low > a->high ? a->high : a->low, low); // where they cross the upper one holds
    dq_emit_real(a->high, high);
    snprintf(text, 300, "%s > %s ? %s : %s < %s ? %s : %s", low, name, low, high, name, high, name);
    break;
  case DQ_ACTIVATION_LEAKY:
    snprintf(text, 300, "%s < 0.0f ? %s * %s : %s", name, dq_emit_real(a->alpha, low), name, name);
    break;
  case DQ_ACTIVATION_SILU:
    dq_emit_need(to, DQ_EMIT_SILU);
    snprintf(text, 300, "dq_silu_one(%s)", name);
    break;
  }
  return text;
}

static void float_end(dq_emission *to, const frame *f) {
  const dq_emit_convolution *c = f->c;
  char text[300];
  dq_emit(to, "float sum = sums[c]%s;", c->bias >= 0 ? " + bias" : "");
  if (f->half && f->p.activation.kind == DQ_ACTIVATION_LEAKY) // rounded in front of it, as dq_conv_narrow does
    dq_emit(to, "sum = dq_half_to_float(dq_float_to_half(sum));");
  if (f->p.activation.kind) dq_emit(to, "sum = %s;", dq_emit_activation(to, &f->p.activation, "sum", text));
  if (c->addend)
    dq_emit(to, "sum = sum + %s%s[(n * %" PRId64 " + o) * %" PRId64 " + r * %" PRId64 " + c]%s;",
            f->half ? "dq_half_to_float(" : "", c->addend, f->p.out_channels, f->out_plane, f->p.out_width,
            f->half ? ")" : "");
  if (c->addend && f->p.sum_activation.kind)
    dq_emit(to, "sum = %s;", dq_emit_activation(to, &f->p.sum_activation, "sum", text));
  dq_emit(to, f->half ? "y[c] = dq_float_to_half(sum);" : "y[c] = sum;");
}

static void declare_end(dq_emission *to, const frame *f) {
  if (f->c->sums) {
    dq_emit_factors(to, f->c->sums, "o");
    dq_emit_next_exception(to, f->c->sums, "o");
    dq_emit(to, "const int32_t addend = c%d[o];", f->c->sums->first + 1);
  } else if (f->c->bias >= 0)
    dq_emit(to, f->half ? "const float bias = dq_half_to_float(c%d[o]);" : "const float bias = c%d[o];", f->c->bias);
}

// Whether padding could be seen: 0 times an infinite weight or NaN is NaN, and the body leaves padding out.
static bool padding_shows(const dq_emission *to, const frame *f) {
  const dq_emit_array *array = &to->arrays[f->c->weights];
  const dq_tensor weights = {
      .type = array->type, .rank = 1, .dims = {array->count}, .data = (void *)(uintptr_t)array->data};
  const dq_conv_parameters *p = &f->p;
  const int64_t bottom =
      (p->out_height - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height - p->pad_top;
  const int64_t right = (p->out_width - 1) * p->stride_width + (p->kernel_width - 1) * p->dilation_width - p->pad_left;
  if (f->c->sums || (!p->pad_top && !p->pad_left && bottom < p->in_height && right < p->in_width)) return false;
  for (int64_t i = 0; i < array->count; i++)
    if (!isfinite(dq_tensor_get(&weights, i))) return true;
  return false;
}

dq_status dq_emit_convolution_body(dq_emission *to, const dq_emit_convolution *convolution) {
  frame f = frame_of(to, convolution);
  const dq_conv_parameters *p = &f.p;
  if (padding_shows(to, &f))
    return dq_op_fail(to->op, DQ_UNSUPPORTED,
                      "padding and weights that are not finite give NaN, and C leaves padding out");
  const char *from = dq_emit_type(to->op->inputs[0]->type), *result = dq_emit_type(to->op->outputs[0]->type);
  size_t bytes = (size_t)p->out_width * 4;
  if (bytes <= STACK) dq_emit(to, "%s sums[%" PRId64 "];", f.type, p->out_width);
  else dq_emit(to, "%s *sums = (%s *)scratch;", f.type, f.type), to->scratch_bytes = bytes;
  if (!convolution->sums) dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", p->batch);
  if (convolution->sums) dq_emit_first_exception(to, convolution->sums);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", p->out_channels);
  dq_emit(to, "const %s *image = x0 + (n * %" PRId64 " + o / %" PRId64 " * %" PRId64 ") * %" PRId64 ";", from,
          p->in_channels, f.group_outputs, f.group_inputs, f.in_plane);
  dq_emit(to, "const %s *weights = c%d + o * %" PRId64 ";", dq_emit_type(to->arrays[convolution->weights].type),
          convolution->weights, f.group_inputs * p->kernel_height * p->kernel_width);
  declare_end(to, &f);
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", p->out_height);
  dq_emit(to, "%s *y = y0 + (n * %" PRId64 " + o) * %" PRId64 " + r * %" PRId64 ";", result, p->out_channels,
          f.out_plane, p->out_width);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) sums[c] = %s;", p->out_width,
          convolution->sums ? "addend" : "0.0f");
  channels(to, &f);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", p->out_width);
  if (convolution->sums) dq_emit_store(to, convolution->sums, "y[c]", "sums[c]");
  else float_end(to, &f);
  dq_emit_close(to, 1);
  if (convolution->sums && convolution->sums->exceptions) { // apart, so that the loop above has no branch
    dq_emit_exceptions(to, convolution->sums, "o");
    dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", p->out_width);
    dq_emit_correct(to, convolution->sums, "y[c]", "sums[c]");
    dq_emit_close(to, 2);
  }
  dq_emit_close(to, 3);
  return DQ_OK;
}
