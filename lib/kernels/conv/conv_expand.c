// Expansion of convolution inputs and weights into words.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

// Kernel positions k have phase (k * dilation) % stride, which repeats after this many positions.
static int64_t slot_period(int64_t kernel, int64_t stride, int64_t dilation) {
  int64_t a = stride, b = dilation % stride;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return dq_min_i64(kernel, stride / a);
}

bool dq_conv_is_pointwise(const dq_conv_parameters *p) {
  return p->kernel_height == 1 && p->kernel_width == 1 && p->stride_height == 1 && p->stride_width == 1 &&
         !p->pad_top && !p->pad_left && p->out_height == p->in_height && p->out_width == p->in_width;
}

void dq_conv_prepare_planes(dq_conv_plan *plan, int64_t rows) {
  const dq_conv_parameters *p = &plan->shape;
  plan->planes.slots_height = slot_period(p->kernel_height, p->stride_height, p->dilation_height);
  plan->planes.slots_width =
      plan->planes.gapless ? p->kernel_width : slot_period(p->kernel_width, p->stride_width, p->dilation_width);
  plan->planes.height = rows + (p->kernel_height - 1) * p->dilation_height / p->stride_height;
  plan->planes.width = p->out_width;
  if (!plan->planes.gapless) plan->planes.width += (p->kernel_width - 1) * p->dilation_width / p->stride_width;
}

int64_t dq_conv_tap_offset(const dq_conv_plan *plan, int64_t ky, int64_t kx) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t slot = ky % plan->planes.slots_height * plan->planes.slots_width + kx % plan->planes.slots_width;
  int64_t row = slot * plan->planes.height + ky * p->dilation_height / p->stride_height;
  int64_t column = plan->planes.gapless ? 0 : kx * p->dilation_width / p->stride_width;
  return row * plan->planes.width + column;
}

void dq_conv_pack_offsets(const dq_conv_plan *plan, int64_t *offsets) {
  const dq_conv_parameters *p = &plan->shape;
  for (int64_t c = 0; c < plan->group_words; c++)
    for (int64_t ky = 0; ky < p->kernel_height; ky++)
      for (int64_t kx = 0; kx < p->kernel_width; kx++)
        *offsets++ = c * dq_conv_plane_words(plan) + dq_conv_tap_offset(plan, ky, kx);
}

const dq_kernel *dq_conv_find_expand(const dq_conv_plan *plan) {
  int operation = plan->half && plan->word_values == 2 ? DQ_OPERATION_f16_pairs_expand
                  : plan->half                         ? DQ_OPERATION_f16_expand
                  : plan->float32                      ? DQ_OPERATION_f32_expand
                  : plan->word_values == 4             ? DQ_OPERATION_u8s8_expand
                                                       : DQ_OPERATION_i16_expand;
  return dq_kernel_find(operation, plan->cpu);
}

void dq_conv_pack_bias(const dq_conv_plan *plan, const void *bias, uint32_t *words) {
  if (!bias) return;
  int64_t count = plan->shape.out_channels;
  if (plan->half) ((dq_f16_to_f32_function *)plan->widen->function)(bias, (float *)words, count);
  else memcpy(words, bias, (size_t)count * 4);
}

// A Leaky rectifier is applied to values that were rounded, as an operator of its own would; the
// others give the same before rounding.
static bool rounds_first(const dq_conv_plan *plan) {
  return plan->half && plan->shape.activation.kind == DQ_ACTIVATION_LEAKY;
}

dq_bounds dq_conv_bounds(const dq_conv_plan *plan) {
  const dq_activation none = {.kind = DQ_ACTIVATION_NONE};
  return dq_activation_bounds(rounds_first(plan) ? &none : &plan->shape.activation);
}

void dq_conv_narrow(const dq_conv_plan *plan, const float *sums, uint16_t *to, int64_t count) {
  if (rounds_first(plan))
    ((dq_f32_to_f16_leaky_function *)plan->narrow->function)(sums, plan->shape.activation.alpha, to, count);
  else ((dq_f32_to_f16_function *)plan->narrow->function)(sums, to, count);
}

static void fill(uint32_t *words, int64_t count, uint32_t word) {
  for (int64_t i = 0; i < count; i++) words[i] = word;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// The input's zero point as words of bytes hold it.
static uint32_t byte_zero(const dq_conv_plan *plan) {
  return (uint32_t)(plan->int8.input_zero_point + dq_byte_shift(plan->multiply, plan->int8.input_signed));
}

uint32_t dq_conv_pad_word(const dq_conv_plan *plan) {
  return plan->word_values == 4 ? (byte_zero(plan) & 0xffu) * 0x01010101u : 0;
}

int32_t dq_conv_start(const dq_conv_plan *plan, uint32_t weight_sum) {
  return plan->word_values == 4 ? (int32_t)(0u - weight_sum * byte_zero(plan)) : 0;
}

dq_row_geometry dq_conv_row_geometry(const dq_conv_plan *plan, int64_t slot) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t stride = p->stride_width, width = plan->planes.width;
  int64_t phase = plan->planes.gapless ? slot * p->dilation_width : slot * p->dilation_width % stride;
  int64_t shift = phase - p->pad_left; // x = column * stride + shift
  int64_t first = shift < 0 ? dq_ceil_div(-shift, stride) : 0;
  int64_t end = p->in_width > shift ? dq_ceil_div(p->in_width - shift, stride) : 0;
  first = clamp(first, 0, width);
  end = clamp(end, first, width);
  return (dq_row_geometry){first, end, width, (first * stride + shift) * (int64_t)dq_element_bytes(plan),
                           dq_conv_pad_word(plan)};
}

// The expansion of `lines` lines, but for where they are.
static dq_expansion lines_form(const dq_conv_plan *plan, const dq_row_geometry *g, int64_t lines) {
  const dq_conv_parameters *p = &plan->shape;
  dq_expansion form = {.lines = lines,
                       .width = g->width,
                       .first = g->first,
                       .line_step = p->stride_height * p->in_width * (int64_t)dq_element_bytes(plan),
                       .end = g->end,
                       .stride = p->stride_width,
                       .pad = g->pad,
                       .is_signed = plan->int8.input_signed,
                       .flips = dq_byte_shift(plan->multiply, plan->int8.input_signed) != 0,
                       .zero_point = plan->int8.input_zero_point};
  bool one_run =
      p->stride_width == 1 && p->stride_height == 1 && g->first == 0 && g->end == g->width && g->width == p->in_width;
  if (one_run) {
    form.width = form.end = lines * g->width;
    form.lines = 1;
  }
  return form;
}

void dq_conv_expand_lines(const dq_conv_plan *plan, const dq_row_geometry *g, const void *const rows[4], int64_t lines,
                          uint32_t *words) {
  if (g->end == g->first || lines == 0) {
    fill(words, lines * g->width, g->pad);
    return;
  }
  dq_expansion form = lines_form(plan, g, lines);
  form.words = words;
  for (int64_t i = 0; i < plan->word_values; i++) form.rows[i] = rows[i] ? (const uint8_t *)rows[i] + g->offset : NULL;
  ((dq_expand_function *)plan->expand->function)(&form);
}

// The lines of a slot of a plane: line 0 is input row `top` (maybe above the input), and those from `first` to end - 1
// lie inside of the input.
typedef struct slot_lines {
  int64_t top, first, end, count;
} slot_lines;

static slot_lines lines_of(const dq_conv_plan *plan, int64_t slot_y, int64_t first_row, int64_t count) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t stride = p->stride_height;
  slot_lines lines = {.count = count};
  lines.top = first_row * stride + slot_y * p->dilation_height % stride - p->pad_top;
  lines.first = clamp(lines.top < 0 ? dq_ceil_div(-lines.top, stride) : 0, 0, count);
  lines.end = clamp(p->in_height > lines.top ? dq_ceil_div(p->in_height - lines.top, stride) : 0, lines.first, count);
  return lines;
}

// Bytes from the start of an input plane to the row of line `first`.
static int64_t first_offset(const dq_conv_plan *plan, const slot_lines *lines) {
  int64_t row = lines->first * plan->shape.stride_height + lines->top;
  return row * plan->shape.in_width * (int64_t)dq_element_bytes(plan);
}

static void fill_outside(const dq_conv_plan *plan, const slot_lines *lines, uint32_t pad, uint32_t *words) {
  int64_t width = plan->planes.width;
  fill(words, lines->first * width, pad);
  fill(words + lines->end * width, (lines->count - lines->end) * width, pad);
}

// Expands one slot of a plane.
static void expand_slot(const dq_conv_plan *plan, const uint8_t *const channels[4], const slot_lines *lines,
                        const dq_row_geometry *geometry, uint32_t *words) {
  fill_outside(plan, lines, geometry->pad, words);
  if (lines->end == lines->first) return;
  const void *rows[4];
  for (int64_t i = 0; i < plan->word_values; i++) {
    // A value past the last has weight 0; 0 times infinity is none, though.
    const uint8_t *channel = channels[i] || plan->half ? channels[i] : channels[0];
    rows[i] = channel ? channel + first_offset(plan, lines) : NULL;
  }
  dq_conv_expand_lines(plan, geometry, rows, lines->end - lines->first, words + lines->first * plan->planes.width);
}

void dq_conv_expand_plane(const dq_conv_plan *plan, const uint8_t *const channels[4], int64_t first_row,
                          uint32_t *words) {
  for (int64_t slot_y = 0; slot_y < plan->planes.slots_height; slot_y++) {
    slot_lines lines = lines_of(plan, slot_y, first_row, plan->planes.height);
    for (int64_t slot_x = 0; slot_x < plan->planes.slots_width; slot_x++) {
      dq_row_geometry geometry = dq_conv_row_geometry(plan, slot_x);
      expand_slot(plan, channels, &lines, &geometry, words);
      words += plan->planes.height * plan->planes.width;
    }
  }
}

// Expands one slot of `count` planes of floats, a channel each; `input` is the plane of the first.
static void expand_float_slot(const dq_conv_plan *plan, const uint8_t *input, int64_t count, const slot_lines *lines,
                              const dq_row_geometry *geometry, uint32_t *words) {
  const int64_t plane_bytes = plan->shape.in_height * plan->shape.in_width * (int64_t)sizeof(float);
  const int64_t plane_words = dq_conv_plane_words(plan), width = plan->planes.width;
  dq_expansion form = lines_form(plan, geometry, lines->end - lines->first);
  bool inside = lines->end > lines->first && geometry->end > geometry->first;
  for (int64_t c = 0; c < count; c++, input += plane_bytes, words += plane_words) {
    fill_outside(plan, lines, geometry->pad, words);
    form.rows[0] = input + first_offset(plan, lines) + geometry->offset;
    form.words = words + lines->first * width;
    if (inside) ((dq_expand_function *)plan->expand->function)(&form);
    else fill(form.words, (lines->end - lines->first) * width, geometry->pad);
  }
}

void dq_conv_expand_floats(const dq_conv_plan *plan, const uint8_t *input, int64_t first_row, int64_t lines,
                           uint32_t *words) {
  // A slot is expanded of up to MOST channels before the next one, as long as their rows, which are read for every
  // slot, stay in the first level of cache.
  enum { MOST = 8, INPUT_WORDS = 4096 };
  const int64_t plane_bytes = plan->shape.in_height * plan->shape.in_width * (int64_t)sizeof(float);
  int64_t fit = INPUT_WORDS / (lines * plan->shape.stride_height * plan->shape.in_width);
  const int64_t channels = dq_min_i64(MOST, dq_max_i64(fit, 1));
  for (int64_t c = 0; c < plan->group_words; c += channels) {
    uint32_t *to = words + c * dq_conv_plane_words(plan);
    for (int64_t slot_y = 0; slot_y < plan->planes.slots_height; slot_y++) {
      slot_lines slot = lines_of(plan, slot_y, first_row, lines);
      for (int64_t slot_x = 0; slot_x < plan->planes.slots_width; slot_x++) {
        dq_row_geometry geometry = dq_conv_row_geometry(plan, slot_x);
        int64_t count = dq_min_i64(channels, plan->group_words - c);
        expand_float_slot(plan, input + c * plane_bytes, count, &slot, &geometry, to);
        to += plan->planes.height * plan->planes.width;
      }
    }
  }
}

const uint8_t *dq_conv_input_channel(const dq_conv_call *call, int64_t image, int64_t group, int64_t channel) {
  const dq_conv_parameters *p = &call->plan->shape;
  int64_t index = image * p->in_channels + group * (p->in_channels / p->groups) + channel;
  return (const uint8_t *)call->input + (size_t)(index * p->in_height * p->in_width) * dq_element_bytes(call->plan);
}

typedef struct group_expansion {
  const dq_conv_call *call;
  int64_t image, group, plane_stride;
  int64_t each; // words of channels of a task
} group_expansion;

static void expand_word(const group_expansion *e, int64_t word) {
  const dq_conv_plan *plan = e->call->plan;
  int64_t channels = plan->shape.in_channels / plan->shape.groups, first = word * plan->word_values;
  const uint8_t *from[4] = {0};
  for (int64_t i = 0; i < plan->word_values && first + i < channels; i++)
    from[i] = dq_conv_input_channel(e->call, e->image, e->group, first + i);
  dq_conv_expand_plane(plan, from, 0, e->call->scratch + word * e->plane_stride);
}

// Words `word` to end - 1 of a flat convolution, none of which lacks a channel: each is a line.
static void expand_flat_words(const group_expansion *e, int64_t word, int64_t end) {
  const dq_conv_plan *plan = e->call->plan;
  int64_t plane = plan->shape.in_height * plan->shape.in_width * (int64_t)dq_element_bytes(plan);
  const dq_row_geometry geometry = dq_conv_row_geometry(plan, 0);
  dq_expansion form = lines_form(plan, &geometry, plan->shape.in_height);
  const uint8_t *from = dq_conv_input_channel(e->call, e->image, e->group, word * plan->word_values);
  form.lines = end - word;
  form.line_step = plan->word_values * plane;
  form.words = e->call->scratch + word * e->plane_stride;
  for (int64_t i = 0; i < plan->word_values; i++) form.rows[i] = from + i * plane;
  ((dq_expand_function *)plan->expand->function)(&form);
}

static void expand_task(void *argument, int64_t task, int thread) {
  (void)thread;
  const group_expansion *e = argument;
  const dq_conv_plan *plan = e->call->plan;
  int64_t word = task * e->each, end = dq_min_i64(word + e->each, plan->group_words);
  int64_t whole = plan->shape.in_channels / plan->shape.groups / plan->word_values;
  if (e->each > 1 && word < whole) {
    expand_flat_words(e, word, dq_min_i64(end, whole));
    word = dq_min_i64(end, whole);
  }
  for (; word < end; word++) expand_word(e, word);
}

void dq_conv_expand_group(const dq_conv_call *call, int64_t image, int64_t group, int64_t plane_stride) {
  enum { TASK_WORDS = 4096 }; // at least, of small planes
  const dq_conv_plan *plan = call->plan;
  group_expansion expansion = {call, image, group, plane_stride, 1};
  if (plan->flat && plane_stride == plan->shape.in_height * plan->shape.in_width)
    expansion.each = dq_max_i64(TASK_WORDS / plane_stride, 1);
  dq_pool_run(call->pool, dq_ceil_div(plan->group_words, expansion.each), expand_task, &expansion);
}

// ---- From planes to panels, and back to rows ----
enum { MOST_COLUMNS = 64 }; // of any kernel

// A run of outputs of one row inside a panel.
typedef struct segment {
  int64_t source;
  int to, count;
} segment;

static int find_segments(const dq_conv_plan *plan, const dq_panel *panel, segment *segments) {
  int64_t width = plan->shape.out_width, y = panel->first / width, x = panel->first % width;
  int used = 0;
  for (int at = 0; at < panel->count; used++, y++, x = 0) {
    int run = (int)dq_min_i64(width - x, panel->count - at);
    segments[used] = (segment){y * plan->planes.width + x, at, run};
    at += run;
  }
  return used;
}

// Copies whole 16-word pieces: what is too much is overwritten by what follows, or lies in the
// slack.
static void copy_segments(const segment *segments, int count, const uint32_t *from, uint32_t *to) {
  for (int i = 0; i < count; i++)
    for (int at = 0; at < segments[i].count; at += 16)
      memcpy(to + segments[i].to + at, from + segments[i].source + at, 64);
}

void dq_conv_pack_panel(const dq_conv_plan *plan, const uint32_t *planes, int64_t plane_stride, const int64_t *offsets,
                        dq_panel panel, uint32_t *to) {
  int64_t width = plan->multiply->columns;
  int64_t taps = plan->shape.kernel_height * plan->shape.kernel_width;
  segment segments[MOST_COLUMNS];
  int used = find_segments(plan, &panel, segments);
  const uint32_t *plane = planes + panel.from / taps * plane_stride;
  int64_t tap = panel.from % taps;
  for (int64_t k = panel.from; k < panel.end; k++, to += width) {
    if (panel.count < width) memset(to, 0, (size_t)width * 4);
    copy_segments(segments, used, plane + offsets[tap], to);
    if (++tap == taps) tap = 0, plane += plane_stride;
  }
}

void dq_conv_copy_rows(const void *source, size_t from_stride, uint8_t *to, size_t bytes, int64_t rows) {
  const uint8_t *from = source;
  uint8_t *end = to + (size_t)rows * bytes;
  size_t whole = dq_round_up(bytes, 16);
  for (; rows > 0; rows--, from += from_stride, to += bytes) {
    if (bytes > 256 || whole > (size_t)(end - to)) {
      memcpy(to, from, bytes);
      continue;
    }
    for (size_t at = 0; at < bytes; at += 16) memcpy(to + at, from + at, 16);
  }
}

bool dq_natural_zero_points(const int32_t *zero_points, int64_t count, bool is_signed) {
  if (count == 0) return is_signed;
  for (int64_t i = 0; i < count; i++)
    if (zero_points[i] != (is_signed ? 0 : 128)) return false;
  return true;
}

uint32_t dq_weight_word(int64_t word_values, const int32_t *values, int64_t count) {
  uint32_t word = 0;
  uint32_t bits = 32 / (uint32_t)word_values, mask = word_values == 4 ? 0xffu : 0xffffu;
  for (int64_t i = 0; i < count; i++) word |= ((uint32_t)values[i] & mask) << (bits * (uint32_t)i);
  return word;
}
