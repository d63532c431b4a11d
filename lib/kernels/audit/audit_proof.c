// The overflow audit without data (proofs) and its definitions as plain loops.
#include "lib/kernels/audit/audit_proof.h"
#include "lib/base/sizes.h"
#include "lib/kernels/audit/audit_state.h"

void dq_audit_counts_add(dq_audit_counts *to, const dq_audit_counts *from) {
  to->product += from->product;
  to->product_raw += from->product_raw;
  to->sum16 += from->sum16;
  to->running16 += from->running16;
  to->bias16 += from->bias16;
  to->sum32 += from->sum32;
  to->running32 += from->running32;
  to->bias32 += from->bias32;
  to->pair += from->pair;
  if (from->lowest < to->lowest) to->lowest = from->lowest;
  if (from->highest > to->highest) to->highest = from->highest;
}

static int bits_of(int64_t value) {
  uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
  return magnitude ? 65 - __builtin_clzll(magnitude) : 1;
}

int dq_audit_bits(int64_t lowest, int64_t highest) {
  int low = bits_of(lowest), high = bits_of(highest);
  return low > high ? low : high;
}

// ---- Proofs ----

static void keep_largest(int32_t value, int32_t largest[2]) {
  if (value > largest[0]) largest[1] = largest[0], largest[0] = value;
  else if (value > largest[1]) largest[1] = value;
}

static dq_audit_proof prove_channel(const dq_conv_int8_parameters *q, const uint8_t *weights, int64_t channel) {
  dq_audit_geometry g = dq_audit_geometry_of(q);
  int32_t a = (q->input_signed ? -128 : 0) - q->input_zero_point, b = a + 255;
  int32_t positive[2] = {0, 0}, negative[2] = {0, 0}, previous = 0;
  dq_audit_proof proof = {0};
  for (int64_t t = 0, k = 0, c = 0; t < g.depth; t++) {
    dq_audit_weight w = dq_audit_weight_of(q, &g, weights, channel, k, c);
    if (++c == g.channels) c = 0, k++;
    proof.highest += w.value >= 0 ? (int64_t)w.value * b : (int64_t)w.value * a;
    proof.lowest += w.value >= 0 ? (int64_t)w.value * a : (int64_t)w.value * b;
    keep_largest(w.as_signed, positive);
    keep_largest(-w.as_signed, negative);
    if (t % 2) proof.pair |= dq_audit_pair_can_saturate(previous, w.as_signed);
    previous = w.as_signed;
  }
  proof.pair_any_order =
      dq_audit_pair_can_saturate(positive[0], positive[1]) || dq_audit_pair_can_saturate(-negative[0], -negative[1]);
  return proof;
}

bool dq_audit_can_leave_int32(const dq_audit_proof *proof) {
  return proof->lowest + dq_min_i64(proof->bias, 0) < INT32_MIN ||
         proof->highest + dq_max_i64(proof->bias, 0) > INT32_MAX;
}

void dq_audit_prove(const dq_conv_int8_parameters *parameters, const void *weights, const int32_t *bias,
                    dq_audit_proof *proofs) {
  for (int64_t o = 0; o < parameters->shape.out_channels; o++) {
    proofs[o] = prove_channel(parameters, weights, o);
    proofs[o].bias = bias ? bias[o] : 0;
  }
}

// How many taps of a channel from the first on go into blocks of this length that fit int16; the last may be
// shorter.
static int64_t taps_in_blocks(const dq_conv_int8_parameters *q, const uint8_t *weights, int64_t channel,
                              int64_t length) {
  dq_audit_geometry g = dq_audit_geometry_of(q);
  int32_t a = (q->input_signed ? -128 : 0) - q->input_zero_point, b = a + 255;
  int64_t lowest = 0, highest = 0;
  for (int64_t t = 0, within = 0; t < g.depth; t++) {
    int64_t w = dq_audit_weight_at(q, &g, weights, channel, t).value;
    if (!within) lowest = highest = 0;
    lowest += w >= 0 ? w * a : w * b;
    highest += w >= 0 ? w * b : w * a;
    if (lowest < INT16_MIN || highest > INT16_MAX) return t;
    if (++within == length) within = 0;
  }
  return g.depth;
}

static bool all_in_blocks(const dq_conv_int8_parameters *q, const uint8_t *weights, int64_t length) {
  for (int64_t o = 0; o < q->shape.out_channels; o++)
    if (taps_in_blocks(q, weights, o, length) < dq_audit_geometry_of(q).depth) return false;
  return true;
}

int64_t dq_audit_longest_block(const dq_conv_int8_parameters *q, const void *weights) {
  int64_t depth = dq_audit_geometry_of(q).depth, length = depth;
  for (int64_t o = 0; o < q->shape.out_channels && length; o++) { // no first block is longer
    int64_t first = taps_in_blocks(q, weights, o, depth);
    if (first < length) length = first;
  }
  while (length && !all_in_blocks(q, weights, length)) length--;
  return length;
}

// ---- The definitions ----

static bool outside(int64_t value, int64_t low, int64_t high) { return value < low || value > high; }

// The stored number of the input at one tap of one output.
static int32_t input_at(const dq_conv_int8_parameters *q, const dq_audit_geometry *g, const uint8_t *group, int64_t oy,
                        int64_t ox, int64_t t) {
  const dq_conv_parameters *p = &q->shape;
  int64_t c = t % g->channels, k = t / g->channels;
  int64_t y = oy * p->stride_height + k / p->kernel_width * p->dilation_height - p->pad_top;
  int64_t x = ox * p->stride_width + k % p->kernel_width * p->dilation_width - p->pad_left;
  if (y < 0 || y >= p->in_height || x < 0 || x >= p->in_width) return q->input_zero_point;
  return dq_int8_value(group[(c * p->in_height + y) * p->in_width + x], q->input_signed);
}

typedef struct audited_output { // of one output channel
  const dq_conv_int8_parameters *parameters;
  dq_audit_geometry geometry;
  const uint8_t *weights, *group; // of all channels; the input channels of the group
  int64_t channel, y, x;
  int64_t bias;
  bool raw; // products of stored numbers are counted too
} audited_output;

static void audit_output(const audited_output *o, dq_audit_counts *counts) {
  const dq_conv_int8_parameters *q = o->parameters;
  const dq_audit_geometry *g = &o->geometry;
  int64_t sum = 0, pair = 0;
  bool left16 = false, left32 = false;
  for (int64_t t = 0; t < g->depth; t++) {
    int32_t stored = input_at(q, g, o->group, o->y, o->x, t);
    dq_audit_weight w = dq_audit_weight_at(q, g, o->weights, o->channel, t);
    int64_t product = (int64_t)(stored - q->input_zero_point) * w.value;
    counts->product += outside(product, INT8_MIN, INT8_MAX);
    if (o->raw) counts->product_raw += outside((int64_t)stored * w.stored, INT8_MIN, INT8_MAX);
    sum += product;
    left16 |= outside(sum, INT16_MIN, INT16_MAX);
    left32 |= outside(sum, INT32_MIN, INT32_MAX);
    int64_t clipped = (int64_t)(stored + (q->input_signed ? 128 : 0)) * w.as_signed;
    pair = t % 2 ? pair + clipped : clipped;
    if (t % 2 || t + 1 == g->depth) counts->pair += outside(pair, INT16_MIN, INT16_MAX);
  }
  counts->running16 += left16;
  counts->running32 += left32;
  counts->sum16 += outside(sum, INT16_MIN, INT16_MAX);
  counts->sum32 += outside(sum, INT32_MIN, INT32_MAX);
  counts->bias16 += outside(sum + o->bias, INT16_MIN, INT16_MAX);
  counts->bias32 += outside(sum + o->bias, INT32_MIN, INT32_MAX);
  if (sum < counts->lowest) counts->lowest = sum;
  if (sum > counts->highest) counts->highest = sum;
}

void dq_audit_reference(const dq_conv_int8_parameters *q, const void *weights, const int32_t *bias, bool raw,
                        const void *input, dq_audit_counts *counts) {
  const dq_conv_parameters *p = &q->shape;
  audited_output output = {.parameters = q, .geometry = dq_audit_geometry_of(q), .weights = weights, .raw = raw};
  int64_t plane = p->in_height * p->in_width;
  for (int64_t n = 0; n < p->batch; n++)
    for (int64_t o = 0; o < p->out_channels; o++) {
      int64_t first = n * p->in_channels + o / output.geometry.out_group * output.geometry.channels;
      output.group = (const uint8_t *)input + first * plane;
      output.channel = o;
      output.bias = bias ? bias[o] : 0;
      for (output.y = 0; output.y < p->out_height; output.y++)
        for (output.x = 0; output.x < p->out_width; output.x++) audit_output(&output, &counts[o]);
    }
}
