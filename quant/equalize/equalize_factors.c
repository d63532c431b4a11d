// Factors of a site from what was seen of its values.
//
// A channel that reaches from -l to h gets the factor f = min(t / h, (1 - t) / l): with 1 for the
// whole range of 8 bits, a share t of it lies above 0. The noise that rounding leaves in the channel
// is then proportional to 1 / f^2; t is where its sum over the channels, each relative to the
// channel's power, is least.
#include <math.h>

#include "lib/measure/spread.h"
#include "lib/ops/table/operator.h"
#include "quant/equalize/equalize_internal.h"
#include "quant/numeric/activation_range.h"

// Channels below this share of the widest are taken to be that wide: silent ones would become noise.
static const double LEAST = 1e-4;

typedef struct class_facts {
  double *low, *high, *power, *weight, *most; // by class; most: bound on the factor
  int64_t count;
} class_facts;

// ---- Facts by class ----

// Whether the value takes an 8-bit form of its own: a rectifier behind a product narrows its range
// instead, and what lies between operators that are not quantized stays in float.
static bool is_stored(const dq_value *value) {
  const dq_node *next = value->user_count == 1 ? value->users[0] : NULL;
  const dq_operator *row = next ? dq_operator_find(next->domain, next->op_type) : NULL;
  if (row && row->quantization == DQ_QUANTIZE_ABSORB) return false;
  row = dq_operator_find(value->producer->domain, value->producer->op_type);
  if (row && row->quantization != DQ_QUANTIZE_NOT) return true;
  for (int u = 0; u < value->user_count; u++) {
    row = dq_operator_find(value->users[u]->domain, value->users[u]->op_type);
    if (row && row->quantization != DQ_QUANTIZE_NOT) return true;
  }
  return false;
}

// The argument of x Sigmoid(x) counts no deeper than the result can tell.
static void record_silu(const dq_site_value *result, const dq_channel_extents *extents,
                        const dq_channel_extents *argument, class_facts *facts) {
  for (int64_t c = 0; c < result->channels; c++) {
    int k = result->classes[c];
    double step = fmax(extents->high[c], extents->low[c]) / DQ_ACTIVATION_STEPS;
    double depth = step > 0 ? dq_silu_depth(step) : INFINITY;
    facts->low[k] = fmax(facts->low[k], fmin(argument->low[c], depth));
    facts->high[k] = fmax(facts->high[k], argument->high[c]);
  }
}

// Adds the extents of a value to the facts of its classes, the low end as far as a rectifier behind it leaves it.
static void record_value(const dq_site_value *value, const dq_channel_extents *extents, class_facts *facts) {
  bool stored = is_stored(value->value);
  for (int64_t c = 0; c < value->channels; c++) {
    int k = value->classes[c];
    facts->power[k] += extents->power[c];
    if (!stored) continue;
    facts->low[k] = fmax(facts->low[k], dq_slope_below(value->value, c) * extents->low[c]);
    facts->high[k] = fmax(facts->high[k], extents->high[c]);
  }
}

// Largest |w| that reads each class, where channels share a scale of the weight.
static void record_reader(const dq_site *site, const dq_node *reader, class_facts *facts) {
  if (dq_reader_is_free(site, reader)) return;
  const dq_site_value *value = dq_site_value_of(site, reader->inputs[0]);
  const float *weights = reader->inputs[1]->constant->data;
  dq_product p;
  if (!dq_float_product(reader, &p)) return;
  for (int64_t o = 0; o < dq_product_outputs(&p); o++)
    for (int64_t i = 0; i < p.inputs; i++) {
      double *to = &facts->weight[value->classes[o / p.outputs * p.inputs + i]];
      for (int64_t t = 0; t < p.taps; t++) *to = fmax(*to, fabs((double)weights[dq_product_at(&p, o, i, t)]));
    }
}

// Clip: a channel that reached the bound M keeps its scale, another may be raised until it does.
static void record_clip(const dq_site *site, const dq_node *clip, const dq_channel_extents *values,
                        class_facts *facts) {
  const dq_site_value *value = dq_site_value_of(site, clip->outputs[0]);
  const dq_channel_extents *extents = &values[value - site->values];
  double bound = dq_clip_bound(clip);
  for (int64_t c = 0; isfinite(bound) && c < value->channels; c++) {
    int k = value->classes[c];
    facts->most[k] = fmin(facts->most[k], bound / fmax(extents->high[c], LEAST * bound));
  }
}

static dq_status gather(const dq_site *site, const dq_channel_extents *values, const dq_channel_extents *silus,
                        class_facts *facts, dq_arena *arena, dq_error *error) {
  int64_t count = site->class_count;
  *facts = (class_facts){DQ_NEW_ARRAY(arena, count, double), DQ_NEW_ARRAY(arena, count, double),
                         DQ_NEW_ARRAY(arena, count, double), DQ_NEW_ARRAY(arena, count, double),
                         DQ_NEW_ARRAY(arena, count, double), count};
  if (!facts->low || !facts->high || !facts->power || !facts->weight || !facts->most) return dq_fail_memory(error, 0);
  for (int64_t k = 0; k < count; k++) facts->most[k] = INFINITY;
  for (int v = 0; v < site->value_count; v++) record_value(&site->values[v], &values[v], facts);
  for (int s = 0; s < site->silu_count; s++)
    record_silu(&site->values[site->silus[s].value], &values[site->silus[s].value], &silus[s], facts);
  for (int r = 0; r < site->reader_count; r++) record_reader(site, site->readers[r], facts);
  for (int k = 0; k < site->clip_count; k++) record_clip(site, site->clips[k], values, facts);
  return DQ_OK;
}

// ---- Factors ----

static double factor_at(const class_facts *facts, int64_t k, double t, double least) {
  double up = t / fmax(facts->high[k], least);
  return facts->low[k] > 0 ? fmin(up, (1 - t) / fmax(facts->low[k], least)) : up;
}

static double noise_at(const class_facts *facts, double t, double least) {
  double sum = 0;
  for (int64_t k = 0; k < facts->count; k++) {
    double factor = factor_at(facts, k, t, least);
    sum += 1 / (factor * factor * fmax(facts->power[k], least * least));
  }
  return sum;
}

// The best share above 0, of 96.
static double best_share(const class_facts *facts, double least) {
  enum { SHARES = 96 };
  double best = 1, noise = INFINITY;
  for (int s = 1; s <= SHARES; s++) {
    double t = (double)s / SHARES, here = noise_at(facts, t, least);
    if (here < noise) noise = here, best = t;
  }
  return best;
}

// Where readers lose by it the range is halved (in decibels) between value and weight, c = sqrt(w f);
// the other channels, and those that weights below LEAST of the largest read, are brought to the widest of these.
static void share_with_weights(const class_facts *facts, double *factors) {
  double widest = 0, least = LEAST * dq_largest(facts->weight, facts->count);
  for (int64_t k = 0; k < facts->count; k++)
    if (facts->weight[k] > least) widest = fmax(widest, sqrt(facts->weight[k] / factors[k]));
  for (int64_t k = 0; k < facts->count; k++)
    factors[k] *= facts->weight[k] > least ? sqrt(facts->weight[k] / factors[k]) : widest;
}

// The least factor, or the mean one of the channels that Clip forbids to be scaled, becomes 1.
static void set_level(const class_facts *facts, double *factors) {
  double least = INFINITY, logarithms = 0;
  int64_t fixed = 0;
  for (int64_t k = 0; k < facts->count; k++) {
    least = fmin(least, factors[k]);
    if (facts->most[k] > 1) continue;
    logarithms += log(factors[k]);
    fixed++;
  }
  double level = fixed ? exp(logarithms / (double)fixed) : least;
  for (int64_t k = 0; k < facts->count; k++)
    factors[k] = facts->most[k] <= 1 ? 1 : fmin(factors[k] / level, facts->most[k]);
}

// A function takes a multiplication for every element, which is worth it where the noise falls to a quarter.
static bool is_worth_it(const dq_site *site, const class_facts *facts, const double *factors, double least) {
  static const double LEAST_GAIN = 4;
  if (!site->argument_count && !site->result_count) return true;
  double smallest = INFINITY, with = 0, without = 0;
  for (int64_t k = 0; k < facts->count; k++) smallest = fmin(smallest, factors[k]);
  for (int64_t k = 0; k < facts->count; k++) {
    double power = fmax(facts->power[k], least * least);
    with += 1 / (factors[k] * factors[k] * power);
    without += 1 / (smallest * smallest * power);
  }
  return without > LEAST_GAIN * with;
}

dq_status dq_site_factors(const dq_site *site, const dq_channel_extents *values, const dq_channel_extents *silus,
                          bool share, float *factors, dq_arena *arena, dq_error *error) {
  class_facts facts;
  DQ_TRY(gather(site, values, silus, &facts, arena, error));
  double *exact = DQ_NEW_ARRAY(arena, facts.count, double);
  if (!exact) return dq_fail_memory(error, 0);
  double least = LEAST * fmax(dq_largest(facts.high, facts.count), dq_largest(facts.low, facts.count));
  for (int64_t k = 0; k < facts.count; k++) factors[k] = 1;
  if (!(least > 0)) return DQ_OK;
  double above = best_share(&facts, least);
  for (int64_t k = 0; k < facts.count; k++) exact[k] = factor_at(&facts, k, above, least);
  if (!is_worth_it(site, &facts, exact, least)) return DQ_OK;
  if (share && !site->free_readers) share_with_weights(&facts, exact);
  set_level(&facts, exact);
  for (int64_t k = 0; k < facts.count; k++)
    if (isfinite(exact[k]) && exact[k] > 0) factors[k] = (float)exact[k];
  return DQ_OK;
}
