// Convolutions of 8 bits in C, column by column: what the kernel sees of two output pixels is copied in the order of
// the weights; then the sums of both pixels and of several output channels are taken together, so that each number that
// is loaded is used more than once.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit/emit.h"

// Bytes of columns that lie on the stack; output channels that are worth a copy; the channels of a block of weights,
// and the elements that its loop takes at once; those that the loop for four pixels takes.
// SHALLOW: up to so many products of a 1x1 kernel, sums of a row of the output take less.
enum { STACK = 640, LEAST_OUTPUTS = 4, BLOCK = 4, AT_ONCE = 8, FOURS_AT_ONCE = 4, SHALLOW = 16 };

// How sums are taken, and how the data of the pixels lie for it.
typedef enum form {
  FOURS, // one channel, four pixels; bytes, in the order that suits the processor (DQ_STEP and DQ_NEXT in C)
  BLOCKS // SIMD instructions: four channels, two pixels; 16 bits, pairs of the first and of the second pixel in turn
} form;

typedef struct columns {
  const dq_emit_convolution *c;
  const dq_conv_parameters *p;
  form form;
  int64_t pixels;
  const char *type;      // of an element
  int64_t depth, length; // elements of a pixel, and with those that fill the last step of a loop
  int64_t inputs, outputs, in_plane, out_plane;
} columns;

static int64_t depth_of(const dq_conv_parameters *p) {
  return p->in_channels / p->groups * p->kernel_height * p->kernel_width;
}

bool dq_emit_suits_columns(const dq_emission *to, const dq_conv_parameters *p) {
  bool pointwise = p->kernel_height == 1 && p->kernel_width == 1 && p->stride_height == 1 && p->stride_width == 1;
  if (to->target == DQ_EMIT_GENERIC && pointwise && depth_of(p) <= SHALLOW) return false;
  return p->in_channels / p->groups > 1 && p->out_channels / p->groups >= LEAST_OUTPUTS;
}

// With the step of a loop, or with whole vectors where these take little more.
static int64_t length_of(const dq_emission *to, int64_t depth) {
  enum { VECTOR = 16, MOST_PERCENT = 120 };
  int64_t step = to->target == DQ_EMIT_DSP ? AT_ONCE : FOURS_AT_ONCE, whole = (depth + VECTOR - 1) / VECTOR * VECTOR;
  if (to->target != DQ_EMIT_DSP && whole * 100 <= depth * MOST_PERCENT) return whole;
  return (depth + step - 1) / step * step;
}

void dq_emit_columns_layout(const dq_emission *to, const dq_conv_parameters *p, dq_emit_weights *weights,
                            dq_emit_sums *sums) {
  int64_t outputs = p->out_channels / p->groups;
  weights->stride = length_of(to, depth_of(p));
  if (to->target != DQ_EMIT_DSP) return;
  weights->block_outputs = outputs;
  sums->spare = (int)((BLOCK - outputs % BLOCK) % BLOCK);
}

static columns columns_of(const dq_emission *to, const dq_emit_convolution *c) {
  const dq_conv_parameters *p = &c->shape;
  columns f = {.c = c, .p = p, .depth = depth_of(p)};
  f.form = to->arrays[c->weights].type == DQ_I32 ? BLOCKS : FOURS;
  f.pixels = f.form == FOURS ? 4 : 2;
  f.inputs = p->in_channels / p->groups, f.outputs = p->out_channels / p->groups;
  f.in_plane = p->in_height * p->in_width, f.out_plane = p->out_height * p->out_width;
  f.length = to->arrays[c->weights].count * (f.form == BLOCKS ? BLOCK : 1);
  f.length /= p->groups * (f.form == BLOCKS ? (f.outputs + BLOCK - 1) / BLOCK * BLOCK : f.outputs);
  f.type = f.form == BLOCKS ? "int16_t" : dq_emit_type(to->op->inputs[0]->type);
  return f;
}

// ---- Copies ----

// The place of element `e` of a pixel, from the pixel's first.
static const char *place_of(const columns *f, int64_t e, char text[40]) {
  if (f->form == BLOCKS) snprintf(text, 40, "%" PRId64, e / 2 * 4 + e % 2);
  else snprintf(text, 40, e > 1 ? "%" PRId64 " * DQ_STEP" : e ? "DQ_STEP" : "0", e);
  return text;
}

// The place of the first element of pixel 1, from that of pixel 0.
static const char *next_pixel(const columns *f, char text[40]) {
  snprintf(text, 40, f->form == BLOCKS ? "2" : "DQ_NEXT(%" PRId64 ")", f->length);
  return text;
}

// Channels of the input that are copied by one round of a loop, so that all rounds are alike; 0: too many.
static int64_t channels_at_once(const columns *f) {
  enum { MOST_UNROLLED = 32 };
  int64_t taps = f->p->kernel_height * f->p->kernel_width;
  int64_t channels = f->form != BLOCKS || taps % 2 == 0 ? 1 : f->inputs % 2 == 0 ? 2 : f->inputs;
  return channels * taps <= MOST_UNROLLED ? channels : 0;
}

// Element `e` of a pixel and in blocks the next, which is half of the word, with the places of their data.
static void copy_element(dq_emission *to, const columns *f, int64_t e, int64_t from, int64_t last) {
  char place[40];
  if (f->form != BLOCKS) dq_emit(to, "to[%s] = x[%" PRId64 "];", place_of(f, e, place), from);
  else if (e % 2)
    dq_emit(to, "words[%" PRId64 "] = (uint16_t)x[%" PRId64 "] | (uint32_t)x[%" PRId64 "] << 16;", e / 2 * 2, last,
            from);
}

// Copies all taps of a pixel whose kernel lies inside of the input.
static void copy_inside(dq_emission *to, const columns *f, int64_t channels) {
  const dq_conv_parameters *p = f->p;
  int64_t e = 0, last = 0;
  char place[40];
  dq_emit(to, "const %s *x = image + top * %" PRId64 " + left;", dq_emit_type(to->op->inputs[0]->type), p->in_width);
  if (f->form == BLOCKS) dq_emit(to, "dq_word *words = (dq_word *)(void *)to;");
  if (f->inputs > channels) dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", f->inputs / channels);
  for (int64_t i = 0; i < channels; i++)
    for (int64_t v = 0; v < p->kernel_height; v++)
      for (int64_t u = 0; u < p->kernel_width; u++, e++) {
        int64_t from = i * f->in_plane + v * p->dilation_height * p->in_width + u * p->dilation_width;
        copy_element(to, f, e, from, last);
        last = from;
      }
  if (f->form == BLOCKS && e % 2) dq_emit(to, "words[%" PRId64 "] = (uint16_t)x[%" PRId64 "];", e - 1, last);
  if (f->inputs == channels) return;
  dq_emit(to, "x += %" PRId64 ";", channels * f->in_plane);
  if (f->form == BLOCKS) dq_emit(to, "words += %" PRId64 ";", e);
  else dq_emit(to, "to += %s;", place_of(f, e, place));
  dq_emit(to, "}");
}

// Copies them one by one, with zero points for those beside the input.
static void copy_checked(dq_emission *to, const columns *f) {
  const dq_conv_parameters *p = f->p;
  if (f->form == BLOCKS) dq_emit(to, "int32_t step = 1;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", f->inputs);
  dq_emit(to, "const %s *plane = image + i * %" PRId64 ";", dq_emit_type(to->op->inputs[0]->type), f->in_plane);
  dq_emit(to, "for (int32_t v = top; v < top + %" PRId64 "; v += %" PRId64 ") {",
          (p->kernel_height - 1) * p->dilation_height + 1, p->dilation_height);
  dq_emit(to, "for (int32_t u = left; u < left + %" PRId64 "; u += %" PRId64 ") {",
          (p->kernel_width - 1) * p->dilation_width + 1, p->dilation_width);
  dq_emit(to, "*to = v >= 0 && v < %" PRId64 " && u >= 0 && u < %" PRId64 " ? plane[v * %" PRId64 " + u] : (%s)%d;",
          p->in_height, p->in_width, p->in_width, dq_emit_type(to->op->inputs[0]->type), f->c->padding);
  dq_emit(to, f->form == BLOCKS ? "to += step;" : "to += DQ_STEP;");
  if (f->form == BLOCKS) dq_emit(to, "step = 4 - step;");
  dq_emit_close(to, 3);
}

// Whether column and input are the same pixels in the same order.
static bool is_pointwise(const columns *f) {
  const dq_conv_parameters *p = f->p;
  return p->kernel_height == 1 && p->kernel_width == 1 && f->in_plane == f->out_plane && !p->pad_top && !p->pad_left &&
         p->stride_height == 1 && p->stride_width == 1 && f->out_plane % f->pixels == 0;
}

// All columns where the kernel has one place. In blocks of an even number of channels, words of two channels and two
// pixels are taken apart at once.
static void fill_pointwise(dq_emission *to, const columns *f) {
  bool words = f->form == BLOCKS && f->inputs % 2 == 0, has_sign = to->op->inputs[0]->type == DQ_I8;
  const char *prefix = has_sign ? "signed_" : "";
  char next[40];
  dq_emit(to, "%s *to = %scolumns;", words ? "dq_word" : f->type, words ? "(dq_word *)(void *)" : "");
  dq_emit(to, "const %s *x = image + p;", dq_emit_type(to->op->inputs[0]->type));
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i += %d) {", f->inputs, words ? 2 : 1);
  if (words) {
    dq_emit_need(to, has_sign ? DQ_EMIT_SIGNED_PAIRS : DQ_EMIT_PAIRS);
    dq_emit(to, "const uint32_t word = dq_any_half(x) | dq_any_half(x + %" PRId64 ") << 16;", f->in_plane);
    for (int k = 0; k < 2; k++) dq_emit(to, "to[%d] = dq_%s%s(word);", k, prefix, k ? "odd" : "even");
    dq_emit(to, "to += 2;");
  } else {
    for (int64_t k = 0; k < f->pixels; k++)
      dq_emit(to, "to[%" PRId64 " * %s] = x[%" PRId64 "];", k, next_pixel(f, next), k);
    dq_emit(to, f->form == BLOCKS ? "to += i %% 2 ? 3 : 1;" : "to += DQ_STEP;");
  }
  dq_emit(to, "x += %" PRId64 ";", (words ? 2 : 1) * f->in_plane);
  dq_emit(to, "}");
}

// Fills the column of pixel `at`, the k-th.
static void fill_column(dq_emission *to, const columns *f) {
  const dq_conv_parameters *p = f->p;
  char next[40];
  int64_t channels = channels_at_once(f);
  int64_t high = p->in_height - (p->kernel_height - 1) * p->dilation_height;
  int64_t wide = p->in_width - (p->kernel_width - 1) * p->dilation_width;
  bool padded = p->pad_top || p->pad_left || (p->out_height - 1) * p->stride_height >= high ||
                (p->out_width - 1) * p->stride_width >= wide;
  bool unrolled = channels && high > 0 && wide > 0;
  dq_emit(to, "const int32_t top = at / %" PRId64 " * %" PRId64 " - %" PRId64 ";", p->out_width, p->stride_height,
          p->pad_top);
  dq_emit(to, "const int32_t left = at %% %" PRId64 " * %" PRId64 " - %" PRId64 ";", p->out_width, p->stride_width,
          p->pad_left);
  dq_emit(to, "%s *to = columns + k * %s;", f->type, next_pixel(f, next));
  if (unrolled && padded)
    dq_emit(to, "if (top >= 0 && top < %" PRId64 " && left >= 0 && left < %" PRId64 ") {", high, wide);
  if (unrolled) copy_inside(to, f, channels);
  if (unrolled && padded) dq_emit(to, "} else {");
  if (padded || !unrolled) copy_checked(to, f);
  if (unrolled && padded) dq_emit(to, "}");
}

static void fill_columns(dq_emission *to, const columns *f) {
  dq_emit(to, "for (int32_t k = 0; k < %" PRId64 "; k++) {", f->pixels);
  if (f->out_plane % f->pixels) dq_emit(to, "const int32_t at = p + k < %" PRId64 " ? p + k : p;", f->out_plane);
  else dq_emit(to, "const int32_t at = p + k;");
  fill_column(to, f);
  dq_emit(to, "}");
}

// ---- Sums ----

static void declare_channel(dq_emission *to, const columns *f, const char *channel) {
  if (f->p->groups > 1) dq_emit(to, "const int32_t channel = g * %" PRId64 " + %s;", f->outputs, channel);
  else dq_emit(to, "const int32_t channel = %s;", channel);
  dq_emit(to, "%s *y = y0 + (n * %" PRId64 " + channel) * %" PRId64 " + p;", dq_emit_type(to->op->outputs[0]->type),
          f->p->out_channels, f->out_plane);
}

// The function that takes sums of products, by the types of weights and data.
static const char *products_of(dq_emission *to, const columns *f) {
  static const struct {
    const char *name;
    dq_emit_helper helper;
  } rows[2][2] = {
      {{"dq_products", DQ_EMIT_PRODUCTS}, {"dq_signed_products", DQ_EMIT_SIGNED_PRODUCTS}},
      {{"dq_wide_products", DQ_EMIT_WIDE_PRODUCTS}, {"dq_wide_signed_products", DQ_EMIT_WIDE_SIGNED_PRODUCTS}}};
  int wide = to->arrays[f->c->weights].type != DQ_I8, has_sign = to->op->inputs[0]->type == DQ_I8;
  dq_emit_need(to, rows[wide][has_sign].helper);
  return rows[wide][has_sign].name;
}

// The sums of channel o at four pixels.
static void sum_fours(dq_emission *to, const columns *f) {
  const dq_emit_sums *sums = f->c->sums;
  char loop[80];
  snprintf(loop, sizeof loop, "for (int32_t k = 0; k < 4%s; k++)", f->out_plane % 4 ? " && k < left" : "");
  if (f->out_plane % 4) dq_emit(to, "const int32_t left = %" PRId64 " - p;", f->out_plane);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", f->outputs);
  declare_channel(to, f, "o");
  dq_emit_factors(to, sums, "channel");
  dq_emit_next_exception(to, sums, "channel");
  dq_emit(to, "%s(weights + o * %" PRId64 ", columns, %" PRId64 ", c%d[channel], sums);", products_of(to, f), f->length,
          f->length, sums->first + 1);
  dq_emit(to, "%s {", loop);
  dq_emit_store(to, sums, "y[k]", "sums[k]");
  dq_emit(to, "}");
  if (sums->exceptions) {
    dq_emit_exceptions(to, sums, "channel");
    dq_emit(to, "%s {", loop);
    dq_emit_correct(to, sums, "y[k]", "sums[k]");
    dq_emit_close(to, 2);
  }
  dq_emit(to, "}");
}

// Corrects the exceptions of a block: one comparison where there are none.
static void correct_block(dq_emission *to, const columns *f) {
  const dq_emit_sums *sums = f->c->sums;
  char first[48] = "o";
  if (f->p->groups > 1) snprintf(first, sizeof first, "g * %" PRId64 " + o", f->outputs);
  if (f->p->groups > 1 && f->outputs % BLOCK) // a block may end before the next group
    dq_emit(to,
            "for (; (int32_t)c%d[exception] < %s + %d && (int32_t)c%d[exception] < (g + 1) * %" PRId64
            "; exception++) {",
            sums->first_exception, first, BLOCK, sums->first_exception, f->outputs);
  else dq_emit(to, "for (; (int32_t)c%d[exception] < %s + %d; exception++) {", sums->first_exception, first, BLOCK);
  dq_emit(to, "const int32_t e = exception, k = (int32_t)c%d[e] - (%s);", sums->first_exception, first);
  declare_channel(to, f, "o + k");
  dq_emit_correct(to, sums, "y[0]", "sums[2 * k]");
  if (f->out_plane % 2) dq_emit(to, "if (p + 1 < %" PRId64 ") {", f->out_plane);
  dq_emit_correct(to, sums, "y[1]", "sums[2 * k + 1]");
  dq_emit_close(to, f->out_plane % 2 ? 2 : 1);
}

// The sums of a block of channels at both pixels.
static void sum_block(dq_emission *to, const columns *f) {
  dq_emit_need(to, DQ_EMIT_BLOCKS);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o += %d) {", f->outputs, BLOCK);
  if (f->p->groups > 1)
    dq_emit(to, "const int32_t *addends = c%d + g * %" PRId64 " + o;", f->c->sums->first + 1, f->outputs);
  else dq_emit(to, "const int32_t *addends = c%d + o;", f->c->sums->first + 1);
  dq_emit(to, "dq_blocks(weights + o * %" PRId64 ", columns, %" PRId64 ", addends, sums);", f->length / BLOCK,
          f->length);
  if (f->outputs % BLOCK) dq_emit(to, "for (int32_t k = 0; k < %d && o + k < %" PRId64 "; k++) {", BLOCK, f->outputs);
  else dq_emit(to, "for (int32_t k = 0; k < %d; k++) {", BLOCK);
  declare_channel(to, f, "o + k");
  dq_emit_factors(to, f->c->sums, "channel");
  dq_emit_store(to, f->c->sums, "y[0]", "sums[2 * k]");
  if (f->out_plane % 2) dq_emit(to, "if (p + 1 < %" PRId64 ") {", f->out_plane);
  dq_emit_store(to, f->c->sums, "y[1]", "sums[2 * k + 1]");
  if (f->out_plane % 2) dq_emit_close(to, 1);
  dq_emit(to, "}");
  if (f->c->sums->exceptions) correct_block(to, f);
  dq_emit(to, "}");
}

// Elements between the depth and the length: their weights are 0.
static void clear_rest(dq_emission *to, const columns *f) {
  char place[40], next[40];
  for (int64_t e = f->depth; e < f->length; e++)
    for (int64_t k = 0; k < f->pixels; k++)
      dq_emit(to, "columns[%s + %" PRId64 " * %s] = 0;", place_of(f, e, place), k, next_pixel(f, next));
}

static void declare_columns(dq_emission *to, const columns *f) {
  size_t bytes = (size_t)(f->length * f->pixels) * (f->form == BLOCKS ? sizeof(int16_t) : 1);
  dq_emit(to, "int32_t sums[%d];", f->form == BLOCKS ? 2 * BLOCK : 4);
  if (bytes <= STACK)
    dq_emit(to, "%s columns[%" PRId64 "]%s;", f->type, f->pixels * f->length,
            f->form == BLOCKS ? " __attribute__((aligned(8)))" : "");
  else dq_emit(to, "%s *const columns = (%s *)scratch;", f->type, f->type), to->scratch_bytes = bytes;
  clear_rest(to, f);
}

dq_status dq_emit_columns_body(dq_emission *to, const dq_emit_convolution *c) {
  columns f = columns_of(to, c);
  char first[48];
  declare_columns(to, &f);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", f.p->batch);
  dq_emit(to, "for (int32_t g = 0; g < %" PRId64 "; g++) {", f.p->groups);
  dq_emit(to, "const %s *image = x0 + (n * %" PRId64 " + g * %" PRId64 ") * %" PRId64 ";",
          dq_emit_type(to->op->inputs[0]->type), f.p->in_channels, f.inputs, f.in_plane);
  dq_emit(to, "const %s *weights = c%d + g * %" PRId64 ";", dq_emit_type(to->arrays[c->weights].type), c->weights,
          to->arrays[c->weights].count / f.p->groups);
  dq_emit(to, "for (int32_t p = 0; p < %" PRId64 "; p += %" PRId64 ") {", f.out_plane, f.pixels);
  dq_emit_first_exception(to, c->sums);
  if (f.p->groups > 1) {
    snprintf(first, sizeof first, "g * %" PRId64, f.outputs);
    dq_emit_next_exception(to, c->sums, first);
  }
  if (is_pointwise(&f)) fill_pointwise(to, &f);
  else fill_columns(to, &f);
  if (f.form == BLOCKS) sum_block(to, &f);
  else sum_fours(to, &f);
  dq_emit_close(to, 3);
  return DQ_OK;
}
