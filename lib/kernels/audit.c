// The overflow audit at speed. Every count is exact, each found the cheapest way:
//   sums       by the convolution itself, in int32
//   running    by sums in int16 that saturate at every addition, 32 outputs at a time: an end that
//              differs from the exact one has been clipped. One that agrees may have been clipped on
//              both sides only if it touched the largest number; such outputs are computed again.
//   products   from a histogram of the input under every tap: for a given weight the products that
//              leave int8 belong to inputs outside an interval. Few outputs: counted one by one.
//   pairs      only those of weights that can saturate at all are looked at, and of these only the ones
//              whose input channels hold large enough numbers in this image
#include "lib/kernels/audit.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/audit_internal.h"

enum {
  LANES = DQ_AUDIT_LANES,
  FEW_OUTPUTS = 64, // below: products are counted one by one
  SLACK = 2 * LANES, // elements a copy of a whole panel row may overrun
  MOST_ROWS = 16, // of any kernel
};

struct dq_audit {
  dq_conv_int8_parameters parameters;
  dq_audit_geometry geometry;
  const void *weights;
  const int32_t *bias;
  bool raw, fast, by_histogram;
  unsigned cpu;
  dq_audit_proof *proofs;
  dq_conv_plan plan;
  void *packed;
  int64_t outputs;                     // per channel
  dq_audit_planes planes;
  int rows;                            // output channels side by side
  uint32_t *running;                   // [group][block][depth][rows]
  int16_t *values, *stored;            // [channel][tap]
  dq_audit_classes classes;            // by_histogram
  dq_audit_pair *pairs;                // that can saturate
  int64_t *first_pair;                 // by output channel, and the end
  int64_t *positive, *negative;        // by output channel: sums of the weights of one sign
};

// ---- Preparation ----

static int64_t blocks_of(const dq_audit *a) {
  return (a->geometry.out_group + a->rows - 1) / a->rows;
}

static void prepare_planes(dq_audit *a) {
  const dq_conv_parameters *p = &a->parameters.shape;
  int64_t rows = (p->out_height - 1) * p->stride_height +
                 (p->kernel_height - 1) * p->dilation_height + 1;
  int64_t columns = (p->out_width - 1) * p->stride_width +
                    (p->kernel_width - 1) * p->dilation_width + 1;
  a->planes.height = (rows + p->stride_height - 1) / p->stride_height;
  a->planes.width = (columns + p->stride_width - 1) / p->stride_width;
  a->planes.out_height = p->out_height;
  a->planes.out_width = p->out_width;
  a->planes.words = p->stride_height * p->stride_width * a->planes.height * a->planes.width;
  for (int64_t ky = 0; ky < p->kernel_height; ky++)
    for (int64_t kx = 0; kx < p->kernel_width; kx++) {
      int64_t y = ky * p->dilation_height, x = kx * p->dilation_width;
      int64_t phase = y % p->stride_height * p->stride_width + x % p->stride_width;
      a->planes.offsets[ky * p->kernel_width + kx] =
          (phase * a->planes.height + y / p->stride_height) * a->planes.width + x / p->stride_width;
    }
}

// Reads all weights into the forms above. False when one is too large for sums in 16 bits.
static bool read_weights(dq_audit *a) {
  const dq_conv_int8_parameters *q = &a->parameters;
  bool small = true;
  for (int64_t o = 0; o < q->shape.out_channels; o++)
    for (int64_t t = 0, k = 0, c = 0; t < a->geometry.depth; t++) {
      dq_audit_weight w = dq_audit_weight_of(q, &a->geometry, a->weights, o, k, c);
      if (++c == a->geometry.channels) c = 0, k++;
      a->values[o * a->geometry.depth + t] = (int16_t)w.value;
      a->stored[o * a->geometry.depth + t] = (int16_t)w.stored;
      *(w.value > 0 ? &a->positive[o] : &a->negative[o]) += w.value;
      small &= w.value >= -128 && w.value <= 128;
      a->by_histogram |= w.stored > 128;
    }
  return small;
}

static void pack_running(dq_audit *a) {
  int64_t depth = a->geometry.depth, group = a->geometry.out_group, blocks = blocks_of(a);
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    int64_t block = o / group * blocks + o % group / a->rows, row = o % group % a->rows;
    for (int64_t t = 0; t < depth; t++)
      a->running[(block * depth + t) * a->rows + row] =
          (uint32_t)(uint16_t)a->values[o * depth + t] * 0x10001u;
  }
}

// Lists the pairs that can saturate, or only counts them while there is no room.
static int64_t list_pairs(dq_audit *a) {
  const dq_conv_int8_parameters *q = &a->parameters;
  int32_t shift = q->weight_signed ? 0 : 128;
  int64_t count = 0;
  for (int64_t o = 0; o < q->shape.out_channels; o++) {
    if (a->pairs) a->first_pair[o] = count;
    for (int64_t t = 0; t + 1 < a->geometry.depth; t += 2) {
      const int16_t *stored = a->stored + o * a->geometry.depth + t;
      int32_t w0 = stored[0] - shift, w1 = stored[1] - shift; // as signed bytes
      if (!dq_audit_pair_can_saturate(w0, w1)) continue;
      // A pair with a weight of the other sign never saturates, so both have one.
      if (a->pairs)
        a->pairs[count] = (dq_audit_pair){t, (uint16_t)(w0 < 0 ? -w0 : w0),
                                          (uint16_t)(w1 < 0 ? -w1 : w1),
                                          (uint16_t)(w0 < 0 ? 32768 : 32767)};
      count++;
    }
  }
  if (a->pairs) a->first_pair[q->shape.out_channels] = count;
  return count;
}

static bool sums_fit(const dq_audit *a) {
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++)
    if (a->proofs[o].lowest < INT32_MIN || a->proofs[o].highest > INT32_MAX) return false;
  return true;
}

static dq_status prepare_fast(dq_audit *a, dq_arena *arena, dq_error *error) {
  const dq_conv_parameters *p = &a->parameters.shape;
  int64_t depth = a->geometry.depth, channels = p->out_channels, all = channels * depth;
  a->values = DQ_NEW_ARRAY(arena, all, int16_t);
  a->stored = DQ_NEW_ARRAY(arena, all, int16_t);
  a->positive = DQ_NEW_ARRAY(arena, channels, int64_t);
  a->negative = DQ_NEW_ARRAY(arena, channels, int64_t);
  a->planes.offsets = DQ_NEW_ARRAY(arena, p->kernel_height * p->kernel_width, int64_t);
  if (!a->values || !a->stored || !a->positive || !a->negative || !a->planes.offsets)
    return dq_fail_memory(error, (size_t)all * sizeof *a->values);
  if (!read_weights(a) || !sums_fit(a)) return DQ_OK;
  a->fast = true;
  a->by_histogram |= a->outputs >= FEW_OUTPUTS;
  prepare_planes(a);
  a->rows = dq_kernel_find(DQ_OPERATION_audit_running, a->cpu)->rows;
  a->running = DQ_NEW_ARRAY(arena, p->groups * blocks_of(a) * depth * a->rows, uint32_t);
  int64_t pairs = list_pairs(a);
  a->pairs = DQ_NEW_ARRAY(arena, pairs + 1, dq_audit_pair);
  a->first_pair = DQ_NEW_ARRAY(arena, channels + 1, int64_t);
  a->packed = dq_arena_alloc(arena, dq_conv_packed_bytes(&a->plan));
  if (!a->running || !a->pairs || !a->first_pair || !a->packed)
    return dq_fail_memory(error, (size_t)all * sizeof *a->running);
  pack_running(a);
  list_pairs(a);
  if (a->by_histogram)
    DQ_TRY(dq_audit_classes_new(&a->classes, &a->parameters, a->values, a->raw ? a->stored : NULL, arena, error));
  dq_conv_int8_pack(&a->plan, a->weights, a->packed);
  return DQ_OK;
}

dq_status dq_audit_new(dq_audit **audit, const dq_conv_int8_parameters *parameters,
                       const void *weights, const int32_t *bias, bool raw, unsigned cpu,
                       dq_arena *arena, dq_error *error) {
  dq_audit *a = DQ_NEW(arena, dq_audit);
  if (!a) return dq_fail_memory(error, sizeof *a);
  *a = (dq_audit){.parameters = *parameters, .weights = weights, .bias = bias, .raw = raw,
                  .cpu = cpu};
  a->parameters.weights = weights;
  a->parameters.pairs_safe = dq_conv_pairs_safe(parameters, weights);
  DQ_TRY(dq_conv_int8_plan(&a->parameters, cpu, &a->plan, error));
  a->geometry = dq_audit_geometry_of(parameters);
  a->outputs = parameters->shape.out_height * parameters->shape.out_width;
  a->proofs = DQ_NEW_ARRAY(arena, parameters->shape.out_channels, dq_audit_proof);
  if (!a->proofs) return dq_fail_memory(error, sizeof *a->proofs);
  dq_audit_prove(parameters, weights, bias, a->proofs);
  DQ_TRY(prepare_fast(a, arena, error));
  *audit = a;
  return DQ_OK;
}

// ---- One run ----

// What a thread works in.
typedef struct bench {
  dq_audit_counts *counts; // by output channel
  int16_t *panel;
  dq_audit_histogram *histogram;
  uint64_t *products, *raw;   // by output channel, of products found by histogram
} bench;

typedef struct run {
  const dq_audit *a;
  const uint8_t *input;
  int32_t *sums;
  int16_t *planes;
  int32_t lowest, highest; // of the input less its zero point, padding included
  uint8_t *most;           // by input channel: the largest as unsigned, padding included
  dq_audit_pair *pairs;    // that can saturate with this input
  int64_t *first_pair;     // by output channel, and the end
  char *benches;
  dq_audit_running_function *running;
  dq_audit_products_function *products;
  dq_audit_pairs_function *count_pairs;
  dq_audit_compare_function *compare;
  dq_audit_whole_function *whole;
} run;

static size_t aligned(size_t bytes) {
  return dq_round_up(bytes, DQ_KERNEL_ALIGNMENT);
}
static size_t counts_bytes(const dq_audit *a) {
  return aligned((size_t)a->parameters.shape.out_channels * sizeof(dq_audit_counts));
}
static size_t panel_bytes(const dq_audit *a) {
  return aligned((size_t)(a->geometry.depth * LANES + SLACK) * sizeof(int16_t));
}
static size_t products_bytes(const dq_audit *a) {
  return aligned((size_t)a->parameters.shape.out_channels * sizeof(uint64_t));
}
static size_t bench_bytes(const dq_audit *a) {
  return counts_bytes(a) + panel_bytes(a) + sizeof(dq_audit_histogram) + 2 * products_bytes(a);
}
static size_t sums_bytes(const dq_audit *a) {
  return aligned((size_t)(a->parameters.shape.out_channels * a->outputs) * sizeof(int32_t));
}
static size_t planes_bytes(const dq_audit *a) {
  return aligned((size_t)(a->parameters.shape.in_channels * a->planes.words + SLACK) *
                 sizeof(int16_t));
}

static size_t most_bytes(const dq_audit *a) {
  return aligned((size_t)a->parameters.shape.in_channels);
}
static size_t first_pair_bytes(const dq_audit *a) {
  return aligned((size_t)(a->parameters.shape.out_channels + 1) * sizeof(int64_t));
}
static size_t pairs_bytes(const dq_audit *a) {
  return aligned((size_t)a->first_pair[a->parameters.shape.out_channels] * sizeof(dq_audit_pair));
}

size_t dq_audit_scratch_bytes(const dq_audit *a, int threads) {
  if (!a->fast) return DQ_KERNEL_ALIGNMENT;
  return sums_bytes(a) + planes_bytes(a) + most_bytes(a) + first_pair_bytes(a) + pairs_bytes(a) + (size_t)threads * bench_bytes(a) +
         dq_conv_scratch_bytes(&a->plan, threads);
}

static bench bench_of(const run *r, int thread) {
  char *at = r->benches + (size_t)thread * bench_bytes(r->a);
  bench b = {.counts = (dq_audit_counts *)(void *)at};
  b.panel = (int16_t *)(void *)(at += counts_bytes(r->a));
  b.histogram = (dq_audit_histogram *)(void *)(at += panel_bytes(r->a));
  b.products = (uint64_t *)(void *)(at += sizeof(dq_audit_histogram));
  b.raw = (uint64_t *)(void *)(at + products_bytes(r->a));
  return b;
}

// One row of a phase: elements x = first + i * stride of an input row (NULL: none), less zero.
static void expand_row(const dq_audit *a, const uint8_t *from, int64_t first, int16_t *to) {
  const dq_conv_parameters *p = &a->parameters.shape;
  int64_t stride = p->stride_width, i = 0, end = a->planes.width;
  int flip = a->parameters.input_signed ? 128 : 0, zero = a->parameters.input_zero_point + flip;
  for (; i < end && (!from || first + i * stride < 0); i++) to[i] = 0;
  int64_t room = p->in_width - first;
  int64_t last = dq_min_i64(end, room <= 0 ? 0 : (room + stride - 1) / stride);
  if (stride == 1)
    for (; i < last; i++) to[i] = (int16_t)((from[first + i] ^ flip) - zero);
  else
    for (; i < last; i++) to[i] = (int16_t)((from[first + i * stride] ^ flip) - zero);
  for (; i < end; i++) to[i] = 0;
}

static void expand_channel(void *argument, int64_t channel, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  const dq_conv_parameters *p = &a->parameters.shape;
  (void)thread;
  int16_t *to = r->planes + channel * a->planes.words;
  const uint8_t *from = r->input + channel * p->in_height * p->in_width;
  for (int64_t phase_y = 0; phase_y < p->stride_height; phase_y++)
    for (int64_t phase_x = 0; phase_x < p->stride_width; phase_x++)
      for (int64_t i = 0; i < a->planes.height; i++, to += a->planes.width) {
        int64_t y = phase_y + i * p->stride_height - p->pad_top;
        bool inside = y >= 0 && y < p->in_height;
        expand_row(a, inside ? from + y * p->in_width : NULL, phase_x - p->pad_left, to);
      }
}

// ---- Sums, running sums, pairs: panels of 32 outputs ----

static void fill_panel(const run *r, int64_t group, int64_t first, int lanes, int16_t *panel) {
  const dq_audit *a = r->a;
  const dq_conv_parameters *p = &a->parameters.shape;
  int64_t from[LANES];
  int lane[LANES], pieces = 0;
  for (int i = 0; i < lanes;) { // pieces of the panel that lie side by side in a plane
    int64_t y = (first + i) / p->out_width, x = (first + i) % p->out_width;
    int64_t at = y * a->planes.width + x;
    if (!pieces || at != from[pieces - 1] + i - lane[pieces - 1]) {
      from[pieces] = at;
      lane[pieces++] = i;
    }
    i += (int)dq_min_i64(lanes - i, p->out_width - x);
  }
  const int16_t *planes = r->planes + group * a->geometry.channels * a->planes.words;
  for (int64_t k = 0; k < p->kernel_height * p->kernel_width; k++)
    for (int64_t c = 0; c < a->geometry.channels; c++, panel += LANES) {
      const int16_t *plane = planes + c * a->planes.words + a->planes.offsets[k];
      // Whole rows are copied; what is too much is overwritten by the next piece or the next row.
      for (int i = 0; i < pieces; i++)
        memcpy(panel + lane[i], plane + from[i], LANES * sizeof *panel);
    }
}

static bool leaves_int16(const run *r, const int16_t *panel, int64_t channel, int lane) {
  const int16_t *weights = r->a->values + channel * r->a->geometry.depth;
  int32_t sum = 0;
  for (int64_t t = 0; t < r->a->geometry.depth; t++) {
    sum += panel[t * LANES + lane] * weights[t];
    if (sum < INT16_MIN || sum > INT16_MAX) return true;
  }
  return false;
}

// The bounds within which a sum and its bias stay between low and high; none: nothing is within.
static void bias_bounds(int64_t bias, int64_t low, int64_t high, int32_t *from, int32_t *to) {
  low -= bias;
  high -= bias;
  bool none = low > INT32_MAX || high < INT32_MIN;
  *from = none ? INT32_MAX : (int32_t)dq_max_i64(low, INT32_MIN);
  *to = none ? INT32_MIN : (int32_t)dq_min_i64(high, INT32_MAX);
}

static void audit_whole(void *argument, int64_t channel, int thread) {
  const run *r = argument;
  dq_audit_counts *counts = &bench_of(r, thread).counts[channel];
  int64_t bias = r->a->bias ? r->a->bias[channel] : 0;
  dq_audit_whole whole = {.sums = r->sums + channel * r->a->outputs, .count = r->a->outputs};
  bias_bounds(bias, INT16_MIN, INT16_MAX, &whole.low16, &whole.high16);
  bias_bounds(bias, INT32_MIN, INT32_MAX, &whole.low32, &whole.high32);
  r->whole(&whole);
  counts->sum16 = whole.outside16;
  counts->bias16 = whole.outside_low16;
  counts->bias32 = whole.outside_low32;
  counts->lowest = whole.lowest;
  counts->highest = whole.highest;
}

static void compare(const run *r, const bench *b, int64_t channel, int64_t first, int lanes,
                    const int16_t *last, const int16_t *top) {
  dq_audit_comparison c = {.sums = r->sums + channel * r->a->outputs + first, .last = last, .top = top,
                           .lanes = lanes};
  uint64_t *running = &b->counts[channel].running16;
  r->compare(&c);
  *running += (uint64_t)c.different;
  for (int i = 0; c.unsure && i < lanes; i++)
    if (c.sums[i] == last[i] && top[i] == INT16_MAX) *running += leaves_int16(r, b->panel, channel, i);
}

// Whether some prefix of a channel's sums could leave int16 with the inputs of this image.
static bool can_leave_int16(const run *r, int64_t channel) {
  int64_t positive = r->a->positive[channel], negative = r->a->negative[channel];
  return positive * r->highest + negative * r->lowest > INT16_MAX ||
         positive * r->lowest + negative * r->highest < INT16_MIN;
}

static void count_pairs(const run *r, const bench *b, int64_t channel, int lanes) {
  const dq_audit *a = r->a;
  const dq_audit_pair *pairs = r->pairs + r->first_pair[channel];
  int64_t count = r->first_pair[channel + 1] - r->first_pair[channel];
  int zero = a->parameters.input_zero_point + (a->parameters.input_signed ? 128 : 0);
  if (count) b->counts[channel].pair += r->count_pairs(b->panel, pairs, count, (int16_t)zero, lanes);
}

static void count_products(const run *r, const bench *b, int64_t channel, int lanes) {
  const dq_audit *a = r->a;
  int64_t depth = a->geometry.depth;
  b->counts[channel].product +=
      r->products(b->panel, a->values + channel * depth, depth, 0, lanes);
  if (a->raw)
    b->counts[channel].product_raw +=
        r->products(b->panel, a->stored + channel * depth, depth,
                    (int16_t)a->parameters.input_zero_point, lanes);
}

static void audit_block(const run *r, const bench *b, int64_t group, int64_t block, int64_t first,
                        int lanes) {
  const dq_audit *a = r->a;
  int64_t depth = a->geometry.depth, start = group * a->geometry.out_group + block * a->rows;
  int rows = (int)dq_min_i64(a->rows, a->geometry.out_group - block * a->rows);
  int16_t last[MOST_ROWS * LANES], top[MOST_ROWS * LANES];
  bool needed = false;
  for (int row = 0; row < rows; row++) {
    const int32_t *sums = r->sums + (start + row) * a->outputs + first;
    needed |= can_leave_int16(r, start + row);
    // The rows lie far apart; they come while the running sums are computed.
    __builtin_prefetch(sums);
    __builtin_prefetch(sums + LANES / 2);
  }
  if (needed) {
    int64_t packed = (group * blocks_of(a) + block) * depth * a->rows;
    dq_audit_sums sums = {b->panel, a->running + packed, depth, rows, last, top};
    r->running(&sums);
  }
  for (int row = 0; row < rows; row++) {
    if (needed) compare(r, b, start + row, first, lanes, last + row * LANES, top + row * LANES);
    count_pairs(r, b, start + row, lanes);
    if (!a->by_histogram) count_products(r, b, start + row, lanes);
  }
}

static void audit_tile(void *argument, int64_t index, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  bench b = bench_of(r, thread);
  int64_t tiles = (a->outputs + LANES - 1) / LANES, group = index / tiles;
  int64_t first = index % tiles * LANES;
  int lanes = (int)dq_min_i64(LANES, a->outputs - first);
  fill_panel(r, group, first, lanes, b.panel);
  for (int64_t block = 0; block < blocks_of(a); block++)
    audit_block(r, &b, group, block, first, lanes);
}

static void audit_channel(void *argument, int64_t channel, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  const dq_audit_geometry *g = &a->geometry;
  bench b = bench_of(r, thread);
  int64_t taps = a->parameters.shape.kernel_height * a->parameters.shape.kernel_width;
  int64_t first = channel / g->channels * g->out_group;
  int64_t weights = first * g->depth + channel % g->channels * g->out_group;
  dq_audit_classes_count(&a->classes, &a->planes, r->planes + channel * a->planes.words, taps, weights,
                         g->channels * g->out_group, b.histogram, b.products + first, b.raw + first);
}

// ---- All of it ----

static void find_range(run *r) {
  const dq_conv_parameters *p = &r->a->parameters.shape;
  int64_t count = p->in_height * p->in_width;
  uint8_t flip = r->a->parameters.input_signed ? 128 : 0;
  int32_t zero = r->a->parameters.input_zero_point + flip;
  r->lowest = r->highest = 0;
  for (int64_t c = 0; c < p->in_channels; c++) {
    const uint8_t *from = r->input + c * count;
    uint8_t lowest = 255, highest = 0;
    for (int64_t i = 0; i < count; i++) {
      uint8_t value = from[i] ^ flip;
      lowest = value < lowest ? value : lowest;
      highest = value > highest ? value : highest;
    }
    r->most[c] = (uint8_t)dq_max_i64(highest, zero);
    r->lowest = (int32_t)dq_min_i64(r->lowest, lowest - zero);
    r->highest = (int32_t)dq_max_i64(r->highest, highest - zero);
  }
}

static void choose_pairs(run *r) {
  const dq_audit *a = r->a;
  int64_t kept = 0, channels = a->geometry.channels;
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    const uint8_t *most = r->most + o / a->geometry.out_group * channels;
    r->first_pair[o] = kept;
    for (int64_t i = a->first_pair[o]; i < a->first_pair[o + 1]; i++) {
      dq_audit_pair pair = a->pairs[i];
      int32_t sum = pair.first * most[pair.tap % channels] + pair.second * most[(pair.tap + 1) % channels];
      if (sum > pair.limit) r->pairs[kept++] = pair;
    }
  }
  r->first_pair[a->parameters.shape.out_channels] = kept;
}

// Where the parts of the scratch memory lie.
static void place(run *r, char *scratch) {
  const dq_audit *a = r->a;
  r->sums = (int32_t *)(void *)scratch;
  r->planes = (int16_t *)(void *)(scratch += sums_bytes(a));
  r->most = (uint8_t *)(scratch += planes_bytes(a));
  r->first_pair = (int64_t *)(void *)(scratch += most_bytes(a));
  r->pairs = (dq_audit_pair *)(void *)(scratch += first_pair_bytes(a));
  r->benches = scratch + pairs_bytes(a);
}

static void audit_fast(const dq_audit *a, const void *input, dq_audit_counts *counts, char *scratch,
                       dq_pool *pool) {
  const dq_conv_parameters *p = &a->parameters.shape;
  int threads = dq_pool_threads(pool);
  run r = {.a = a,
           .input = input,
           .running = DQ_KERNEL_FUNCTION(audit_running, a->cpu),
           .products = DQ_KERNEL_FUNCTION(audit_products, a->cpu),
           .count_pairs = DQ_KERNEL_FUNCTION(audit_pairs, a->cpu),
           .compare = DQ_KERNEL_FUNCTION(audit_compare, a->cpu),
           .whole = DQ_KERNEL_FUNCTION(audit_whole, a->cpu)};
  place(&r, scratch);
  find_range(&r);
  choose_pairs(&r);
  memset(r.planes + p->in_channels * a->planes.words, 0, SLACK * sizeof *r.planes);
  for (int i = 0; i < threads; i++) {
    bench b = bench_of(&r, i);
    for (int64_t o = 0; o < p->out_channels; o++) b.counts[o] = DQ_AUDIT_NOTHING;
    memset(b.products, 0, 2 * products_bytes(a));
  }
  dq_conv_int8_run(&a->plan, a->packed, input, r.sums, NULL,
                   r.benches + (size_t)threads * bench_bytes(a), pool);
  dq_pool_run(pool, p->out_channels, audit_whole, &r);
  dq_pool_run(pool, p->in_channels, expand_channel, &r);
  dq_pool_run(pool, p->groups * ((a->outputs + LANES - 1) / LANES), audit_tile, &r);
  if (a->by_histogram) dq_pool_run(pool, p->in_channels, audit_channel, &r);
  for (int i = 0; i < threads; i++) {
    bench b = bench_of(&r, i);
    for (int64_t o = 0; o < p->out_channels; o++) {
      b.counts[o].product += b.products[o];
      b.counts[o].product_raw += b.raw[o];
      dq_audit_counts_add(&counts[o], &b.counts[o]);
    }
  }
}

void dq_audit_run(const dq_audit *a, const void *input, dq_audit_counts *counts, void *scratch,
                  dq_pool *pool) {
  if (a->fast) audit_fast(a, input, counts, scratch, pool);
  else dq_audit_reference(&a->parameters, a->weights, a->bias, a->raw, input, counts);
}

const dq_audit_proof *dq_audit_proofs(const dq_audit *audit) {
  return audit->proofs;
}
