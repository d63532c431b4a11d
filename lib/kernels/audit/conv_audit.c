// The overflow audit at speed. Every count is exact, each found the cheapest way:
//   products   how many inputs under a tap reach the bounds between which products of a weight fit int8
//              (audit_products.c)
//   pairs      only those of weights that can saturate at all are looked at, and of these only the ones
//              whose input channels hold large enough numbers in this image
//   sums, running sums   by blocks of taps whose bounds are known (audit_blocks.c), or in int16 that saturates
//              (audit_panels.c)
#include "lib/kernels/audit/conv_audit.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/audit/audit_state.h"

enum { MOST_OUTPUTS = 1 << 28 }; // of a channel: what is counted under the taps of one input fits 32 bits

// ---- Preparation ----

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
    }
  return small;
}

// Lists the pairs that can saturate, or only counts them while `pairs` is NULL.
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
        a->pairs[count] = (dq_audit_pair){t, (uint16_t)(w0 < 0 ? -w0 : w0), (uint16_t)(w1 < 0 ? -w1 : w1),
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
  if (!a->values || !a->stored || !a->positive || !a->negative)
    return dq_fail_memory(error, (size_t)all * sizeof *a->values);
  if (!read_weights(a) || !sums_fit(a) || a->outputs > MOST_OUTPUTS) return DQ_OK;
  a->fast = true;
  DQ_TRY(dq_audit_planes_new(&a->planes, &a->parameters, arena, error));
  DQ_TRY(dq_audit_frame_new(&a->frame, &a->parameters, arena, error));
  int64_t pairs = list_pairs(a);
  a->pairs = DQ_NEW_ARRAY(arena, pairs + 1, dq_audit_pair);
  a->first_pair = DQ_NEW_ARRAY(arena, channels + 1, int64_t);
  if (!a->pairs || !a->first_pair) return dq_fail_memory(error, (size_t)pairs * sizeof *a->pairs);
  list_pairs(a);
  DQ_TRY(dq_audit_bounds_new(&a->bounds, &a->parameters, a->values, a->raw ? a->stored : NULL, arena, error));
  a->by_blocks = dq_audit_blocks_fit(a);
  if (a->by_blocks) DQ_TRY(dq_audit_blocks_new(a, arena, error));
  return dq_audit_panels_new(a, arena, error);
}

dq_status dq_audit_new(dq_audit **audit, const dq_conv_int8_parameters *parameters, const void *weights,
                       const int32_t *bias, bool raw, unsigned cpu, dq_arena *arena, dq_error *error) {
  dq_audit *a = DQ_NEW(arena, dq_audit);
  if (!a) return dq_fail_memory(error, sizeof *a);
  *a = (dq_audit){.parameters = *parameters, .weights = weights, .bias = bias, .raw = raw, .cpu = cpu};
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

static size_t first_pair_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(a->parameters.shape.out_channels + 1) * sizeof(int64_t));
}
static size_t pairs_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)a->first_pair[a->parameters.shape.out_channels] * sizeof(dq_audit_pair));
}
static size_t planes_bytes(const dq_audit *a) { return dq_audit_aligned(dq_audit_planes_bytes(&a->planes)); }
static size_t masks_bytes(const dq_audit *a) {
  return a->frame.fits ? 0 : dq_audit_aligned(dq_audit_masks_bytes(&a->planes));
}
static size_t mask_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(dq_audit_vectors(a->planes.flat) * DQ_AUDIT_VECTOR));
}
static size_t most_bytes(const dq_audit *a) { return dq_audit_aligned((size_t)a->parameters.shape.in_channels); }
static size_t counts_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)a->parameters.shape.out_channels * sizeof(dq_audit_counts));
}
static size_t products_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)a->parameters.shape.out_channels * sizeof(uint64_t));
}
static size_t sums_bytes(const dq_audit *a) {
  size_t blocks = a->by_blocks ? dq_audit_blocks_workspace_bytes(a) : 0, panels = dq_audit_panels_workspace_bytes(a);
  return dq_audit_aligned(blocks > panels ? blocks : panels);
}
static dq_audit_workspace_layout workspace_layout(const dq_audit *a) {
  dq_audit_workspace_layout layout = {.products = counts_bytes(a)};
  layout.raw = layout.products + products_bytes(a);
  layout.product_scratch = layout.raw + products_bytes(a);
  layout.sums = layout.product_scratch + dq_audit_aligned(dq_audit_product_scratch_bytes(a));
  layout.bytes = layout.sums + sums_bytes(a);
  return layout;
}

size_t dq_audit_scratch_bytes(const dq_audit *a, int threads) {
  if (!a->fast) return DQ_KERNEL_ALIGNMENT;
  size_t blocks = a->by_blocks ? dq_audit_blocks_scratch_bytes(a) : 0;
  size_t panels = dq_audit_panels_scratch_bytes(a, threads);
  return planes_bytes(a) + masks_bytes(a) + mask_bytes(a) + most_bytes(a) + first_pair_bytes(a) + pairs_bytes(a) +
         (size_t)threads * workspace_layout(a).bytes + (blocks > panels ? blocks : panels);
}

static void expand_channel(void *argument, int64_t channel, int thread) {
  const dq_audit_run_state *r = argument;
  (void)thread;
  dq_audit_expand(&r->a->planes, r->input, channel, r->planes + channel * r->a->planes.bytes);
}

// Once, where something needs them.
static void expand(dq_audit_run_state *r, dq_pool *pool) {
  const dq_audit *a = r->a;
  if (r->expanded) return;
  memset(r->planes + a->parameters.shape.in_channels * a->planes.bytes, 0, 2 * DQ_AUDIT_VECTOR);
  dq_pool_run(pool, a->parameters.shape.in_channels, expand_channel, r);
  r->expanded = true;
}

static void count_products(void *argument, int64_t part, int thread) {
  const dq_audit_run_state *r = argument;
  const dq_audit *a = r->a;
  dq_audit_workspace b = dq_audit_workspace_of(r, thread);
  int64_t first = part * DQ_AUDIT_PLANES, count = dq_min_i64(DQ_AUDIT_PLANES, a->parameters.shape.in_channels - first);
  dq_audit_count_products(r, first, count, b.product_scratch, b.products, b.raw);
}

// The numbers under a tap of an output channel.
static const uint8_t *numbers_at(const dq_audit_run_state *r, int64_t channel, int64_t tap) {
  const dq_audit *a = r->a;
  int64_t in_channel = channel / a->geometry.out_group * a->geometry.channels + tap % a->geometry.channels;
  return r->planes + in_channel * a->planes.bytes + a->planes.offsets[tap / a->geometry.channels];
}

static void count_pairs(void *argument, int64_t channel, int thread) {
  const dq_audit_run_state *r = argument;
  dq_audit_counts *counts = &dq_audit_workspace_of(r, thread).counts[channel];
  for (int64_t i = r->first_pair[channel]; i < r->first_pair[channel + 1]; i++)
    counts->pair += r->count_pairs(&r->pairs[i], numbers_at(r, channel, r->pairs[i].tap),
                                   numbers_at(r, channel, r->pairs[i].tap + 1), r->mask, r->a->planes.flat);
}

// ---- All of it ----

static void find_range(dq_audit_run_state *r) {
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

static void choose_pairs(dq_audit_run_state *r) {
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
static void place(dq_audit_run_state *r, char *scratch, int threads) {
  const dq_audit *a = r->a;
  r->planes = (uint8_t *)scratch;
  r->masks = (uint8_t *)(scratch += planes_bytes(a));
  r->mask = (uint8_t *)(scratch += masks_bytes(a));
  r->most = (uint8_t *)(scratch += mask_bytes(a));
  r->first_pair = (int64_t *)(void *)(scratch += most_bytes(a));
  r->pairs = (dq_audit_pair *)(void *)(scratch += first_pair_bytes(a));
  r->workspaces = scratch += pairs_bytes(a);
  r->layout = workspace_layout(a);
  r->sums = scratch + (size_t)threads * r->layout.bytes;
}

static void audit_fast(const dq_audit *a, const void *input, dq_audit_counts *counts, char *scratch, dq_pool *pool) {
  const dq_conv_parameters *p = &a->parameters.shape;
  int threads = dq_pool_threads(pool);
  dq_audit_run_state r = {.a = a, .input = input, .count_pairs = DQ_KERNEL_FUNCTION(audit_pairs, a->cpu)};
  place(&r, scratch, threads);
  find_range(&r);
  choose_pairs(&r);
  for (int i = 0; i < threads; i++) {
    dq_audit_workspace b = dq_audit_workspace_of(&r, i);
    for (int64_t o = 0; o < p->out_channels; o++) b.counts[o] = DQ_AUDIT_NOTHING;
    memset(b.products, 0, 2 * products_bytes(a));
  }
  if (!a->frame.fits) {
    expand(&r, pool);
    dq_audit_fill_masks(&a->planes, r.masks);
  }
  dq_pool_run(pool, (p->in_channels + DQ_AUDIT_PLANES - 1) / DQ_AUDIT_PLANES, count_products, &r);
  if (r.first_pair[p->out_channels]) {
    expand(&r, pool);
    dq_audit_fill_mask(&a->planes, r.mask);
    dq_pool_run(pool, p->out_channels, count_pairs, &r);
  }
  if (!a->by_blocks || !dq_audit_blocks_run(&r, pool)) {
    expand(&r, pool);
    dq_audit_panels_run(&r, pool);
  }
  for (int i = 0; i < threads; i++) {
    dq_audit_workspace b = dq_audit_workspace_of(&r, i);
    for (int64_t o = 0; o < p->out_channels; o++) {
      b.counts[o].product += b.products[o];
      b.counts[o].product_raw += b.raw[o];
      dq_audit_counts_add(&counts[o], &b.counts[o]);
    }
  }
}

void dq_audit_run(const dq_audit *a, const void *input, dq_audit_counts *counts, void *scratch, dq_pool *pool) {
  if (a->fast) audit_fast(a, input, counts, scratch, pool);
  else dq_audit_reference(&a->parameters, a->weights, a->bias, a->raw, input, counts);
}

const dq_audit_proof *dq_audit_proofs(const dq_audit *audit) { return audit->proofs; }
