// Blocks of a sum that provably fit 16 bits.
#include "quant/numeric/blocks.h"

#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/ops/table/product.h"

static bool read_taps(dq_taps *taps, const dq_product *p) {
  if (p->kind == DQ_TRANSPOSED_CONVOLUTION || p->stacked) return false;
  int64_t step = p->taps > 1 ? p->by_tap : p->by_input;
  *taps = (dq_taps){dq_product_outputs(p), dq_product_depth(p), p->inputs, p->taps, p->by_output, step};
  return true;
}

bool dq_taps_of(dq_taps *taps, const dq_node *node) {
  dq_product p;
  return dq_float_product(node, &p) && read_taps(taps, &p);
}

bool dq_taps_of_weight(dq_taps *taps, const dq_node *node, const dq_tensor *weight) {
  dq_product p;
  return dq_product_of(node, &p) && p.at.weight == 1 && dq_product_lay_out(&p, weight) && read_taps(taps, &p);
}

dq_block_rule dq_int16_rule(const dq_parameters *input, int64_t length) {
  return (dq_block_rule){length, (int)dq_dtype_low(input->type) - input->zero_point,
                         (int)dq_dtype_high(input->type) - input->zero_point};
}

// ---- One block ----

// What a block can come to: [low, high] holds 0.
typedef struct bounds {
  int64_t low, high;
} bounds;

static void widen(bounds *b, const dq_block_rule *rule, int weight) {
  b->low += weight < 0 ? weight * rule->high : weight * rule->low;
  b->high += weight < 0 ? weight * rule->low : weight * rule->high;
}

static bool fits(const bounds *b) { return b->low >= INT16_MIN && b->high <= INT16_MAX; }

static bounds bounds_of(const dq_block_rule *rule, const int8_t *weights, int64_t count) {
  bounds b = {0, 0};
  for (int64_t i = 0; i < count; i++) widen(&b, rule, weights[i]);
  return b;
}

bool dq_block_allowed(const dq_block_rule *rule, const int8_t *weights, int64_t count) {
  bounds b = bounds_of(rule, weights, count);
  return fits(&b);
}

void dq_block_free_range(const dq_block_rule *rule, const dq_weight_type *type, const int8_t *weights, int64_t count,
                         int64_t at, int *low, int *high) {
  bounds others = {0, 0};
  for (int64_t i = 0; i < count; i++)
    if (i != at) widen(&others, rule, weights[i]);
  int64_t above = INT16_MAX - others.high, below = others.low - INT16_MIN; // what the others leave, >= 0
  int64_t most = type->high, least = -type->low;                           // magnitudes, positive and negative
  if (rule->high > 0) most = dq_min_i64(most, above / rule->high), least = dq_min_i64(least, below / rule->high);
  if (rule->low < 0) most = dq_min_i64(most, below / -rule->low), least = dq_min_i64(least, above / -rule->low);
  *low = (int)-least, *high = (int)most;
}

// How far a step of a weight towards 0 brings the bound in: 0 when it does not, or there is none.
static int brings(const dq_block_rule *rule, int weight, bool above) {
  if (!weight) return 0;
  return (weight > 0) == above ? rule->high : -rule->low;
}

// The weight whose step towards 0 costs the least error for each unit that it brings the bound in.
static int64_t cheapest_step(const dq_block_rule *rule, const double *wanted, const int8_t *weights, int64_t count,
                             bool above) {
  int64_t best = 0;
  double least = INFINITY;
  for (int64_t i = 0; i < count; i++) {
    int q = weights[i], next = q - (q > 0) + (q < 0), gain = brings(rule, q, above);
    if (!gain) continue;
    double before = wanted[i] - q, after = wanted[i] - next;
    double cost = (after * after - before * before) / gain;
    if (cost < least) least = cost, best = i;
  }
  return best;
}

// Steps that come before any of `cost` for each unit: step k of a weight costs (2 (off + k) + 1) / gain, where `off`
// is what the weight falls short of the wanted magnitude, more with each k.
static int steps_below(double cost, double off, int gain, int magnitude) {
  double steps = ceil((cost * gain - 1) / 2 - off);
  return !gain || !(steps > 0) ? 0 : steps < magnitude ? (int)steps : magnitude;
}

// Takes many steps at once, those that one by one would be taken first, and fewer than `excess` needs.
static void leap(const dq_block_rule *rule, const double *wanted, int8_t *weights, int64_t count, bool above,
                 int64_t excess) {
  int steps[DQ_LONGEST_BLOCK];
  double gains = 0, squares = 0, offs = 0, off[DQ_LONGEST_BLOCK];
  for (int64_t i = 0; i < count; i++) {
    int q = weights[i], gain = brings(rule, q, above);
    off[i] = q > 0 ? wanted[i] - q : q - wanted[i];
    gains += gain, squares += (double)gain * gain, offs += gain * off[i];
  }
  double target = (double)excess - gains; // a step of each is left, which rounding up may take
  if (!(target > 0)) return;
  double cost = (2 * (target + offs) + gains) / squares;
  int64_t brought = 0;
  for (int64_t i = 0; i < count; i++) {
    int gain = brings(rule, weights[i], above);
    steps[i] = steps_below(cost, off[i], gain, weights[i] < 0 ? -weights[i] : weights[i]);
    brought += (int64_t)steps[i] * gain;
  }
  if (brought >= excess) return; // some weights are not worth a step: the others would take too many
  for (int64_t i = 0; i < count; i++)
    weights[i] = (int8_t)(weights[i] < 0 ? weights[i] + steps[i] : weights[i] - steps[i]);
}

static int8_t nearest_weight(double wanted, dq_weight_type type) {
  double inside = wanted < type.low ? type.low : wanted > type.high ? type.high : wanted;
  return (int8_t)dq_round_even_f64(inside);
}

void dq_block_project(const dq_block_rule *rule, const dq_weight_type *type, const double *wanted, int8_t *weights,
                      int64_t count) {
  for (int64_t i = 0; i < count; i++) weights[i] = nearest_weight(wanted[i], *type);
  for (;;) {
    bounds b = bounds_of(rule, weights, count);
    if (fits(&b)) return;
    bool above = b.high > INT16_MAX;
    leap(rule, wanted, weights, count, above, above ? b.high - INT16_MAX : INT16_MIN - b.low);
    int64_t i = cheapest_step(rule, wanted, weights, count, above);
    weights[i] = (int8_t)(weights[i] - (weights[i] > 0) + (weights[i] < 0));
  }
}

// ---- The blocks of a weight ----

bool dq_blocks_allowed(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule) {
  for (int64_t o = 0; o < taps->outputs; o++) {
    bounds b = {0, 0};
    int64_t in_block = 0;
    for (int64_t k = 0; k < taps->window; k++)
      for (int64_t c = 0; c < taps->channels; c++, in_block++) {
        if (in_block == rule->length) b = (bounds){0, 0}, in_block = 0;
        widen(&b, rule, weights[o * taps->output_step + (c * taps->window + k) * taps->step]);
        if (!fits(&b)) return false;
      }
  }
  return true;
}

int64_t dq_longest_block(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule) {
  dq_block_rule tried = *rule;
  for (tried.length = taps->depth; tried.length > 0 && !dq_blocks_allowed(taps, weights, &tried);) tried.length--;
  return tried.length;
}
