#include "quant/numeric/common_scale.h"

#include <math.h>
#include <stdint.h>

enum {
  STEPS = DQ_ACTIVATION_STEPS,
  OCTAVE = 16,
  BELOW = OCTAVE,
  ABOVE = 2 * OCTAVE,
  SCALES = BELOW + ABOVE + 1,
  BITS = 16
};
static const double CUT_OFF = 2; // how often errors of what is cut off count

// Counts, sums and sums of squares of a histogram up to each bin, in bins.
typedef struct moments {
  double count[DQ_HISTOGRAM_BINS + 1], sum[DQ_HISTOGRAM_BINS + 1], squares[DQ_HISTOGRAM_BINS + 1];
} moments;

// What a value loses at each scale from 2^(first / 16) on.
typedef struct value_errors {
  int first;
  double now;                       // at the scale it has
  double term[SCALES], sum[SCALES]; // rounded and cut; cut alone
  int zero[SCALES];
} value_errors;

// Values that have one scale by the links that are taken.
typedef struct scale_search {
  const value_errors *errors;
  const dq_sum_link *links;
  int value_count, link_count;
  bool *taken;  // by link
  int *group;   // by value: the group's number, that of one of its values
  double *gain; // by group
  int *scale;   // by group
  char *role;   // scratch by value: 0, TERM or SUM
} scale_search;
enum { TERM = 1, SUM = 2 };

// ---- Errors of one value ----

static void add_up(const dq_histogram *histogram, moments *all) {
  all->count[0] = all->sum[0] = all->squares[0] = 0;
  for (int i = 0; i < DQ_HISTOGRAM_BINS; i++) {
    double n = (double)histogram->bins[i], x = i - DQ_HISTOGRAM_BINS / 2 + 0.5;
    all->count[i + 1] = all->count[i] + n;
    all->sum[i + 1] = all->sum[i] + n * x;
    all->squares[i + 1] = all->squares[i] + n * x * x;
  }
}

// Sum of (x - bound)^2 over bins [from, end), in bins.
static double distance(const moments *all, int from, int end, double bound) {
  return all->squares[end] - all->squares[from] - 2 * bound * (all->sum[end] - all->sum[from]) +
         bound * bound * (all->count[end] - all->count[from]);
}

// The first bin whose middle is not below the bound.
static int bin_from(double bound) {
  double bin = ceil(bound - 0.5) + DQ_HISTOGRAM_BINS / 2;
  return bin < 0 ? 0 : bin > DQ_HISTOGRAM_BINS ? DQ_HISTOGRAM_BINS : (int)bin;
}

static double cut_off(const moments *all, double width, dq_range_pair range) {
  double low = (double)range.low / width, high = (double)range.high / width;
  double below = distance(all, 0, bin_from(low), low), above = distance(all, bin_from(high), DQ_HISTOGRAM_BINS, high);
  return width * width * fmax(0, below + above);
}

static double scale_of(dq_range_pair range) {
  double low = range.low < 0 ? (double)range.low : 0, high = range.high > 0 ? (double)range.high : 0;
  return (high - low) / STEPS;
}

static double scale_at(int k) {
  int exponent;
  double mantissa = frexp(exp2((double)k / OCTAVE), &exponent);
  return ldexp(nearbyint(ldexp(mantissa, BITS)), exponent - BITS);
}

static dq_range_pair range_at(double scale, int zero) {
  return (dq_range_pair){(float)(-zero * scale), (float)((STEPS - zero) * scale)};
}

// The zero point that cuts off least; of equal ones that closest to `wanted`.
static int best_zero(const moments *all, double width, double scale, int wanted) {
  int best = wanted;
  double least = cut_off(all, width, range_at(scale, wanted));
  for (int distance = 1; distance <= STEPS && least > 0; distance++)
    for (int side = -1; side <= 1; side += 2) {
      int zero = wanted + side * distance;
      if (zero < 0 || zero > STEPS) continue;
      double here = cut_off(all, width, range_at(scale, zero));
      if (here < least) least = here, best = zero;
    }
  return best;
}

static void find_errors(const dq_summed_value *value, moments *all, value_errors *errors) {
  const dq_histogram *histogram = value->histogram;
  double width = ldexp(1, histogram->exponent), own = scale_of(value->range);
  dq_filled_bins filled;
  add_up(histogram, all);
  dq_histogram_fill(histogram, &filled);
  int wanted = value->range.low < 0 ? (int)nearbyint(-(double)value->range.low / own) : 0;
  errors->first = (int)ceil(log2(own) * OCTAVE) - BELOW;
  errors->now = dq_filled_error(&filled, value->range, false) + (CUT_OFF - 1) * cut_off(all, width, value->range);
  for (int s = 0; s < SCALES; s++) {
    double scale = scale_at(errors->first + s);
    errors->zero[s] = best_zero(all, width, scale, wanted);
    dq_range_pair range = range_at(scale, errors->zero[s]);
    double cut = cut_off(all, width, range);
    errors->sum[s] = CUT_OFF * cut;
    errors->term[s] = dq_filled_error(&filled, range, false) + (CUT_OFF - 1) * cut;
  }
}

// ---- Groups ----

// What the values with a role gain from one scale, and which.
static double gain_of_roles(const scale_search *search, int *scale) {
  int from = INT32_MIN, end = INT32_MAX;
  double now = 0, least = INFINITY;
  for (int v = 0; v < search->value_count; v++) {
    if (!search->role[v]) continue;
    const value_errors *errors = &search->errors[v];
    now += errors->now;
    if (errors->first > from) from = errors->first;
    if (errors->first + SCALES < end) end = errors->first + SCALES;
  }
  for (int k = from; k < end; k++) {
    double all = 0;
    for (int v = 0; v < search->value_count; v++)
      if (search->role[v])
        all += search->role[v] == SUM ? search->errors[v].sum[k - search->errors[v].first]
                                      : search->errors[v].term[k - search->errors[v].first];
    if (all < least) least = all, *scale = k;
  }
  return now - least;
}

static void give_roles(const scale_search *search, int l) {
  const dq_sum_link *link = &search->links[l];
  if (search->role[link->left] != SUM) search->role[link->left] = TERM;
  if (search->role[link->right] != SUM) search->role[link->right] = TERM;
  search->role[link->sum] = SUM;
}

static bool is_of(const scale_search *search, int value, const int groups[3]) {
  return search->group[value] == groups[0] || search->group[value] == groups[1] || search->group[value] == groups[2];
}

// What taking a link gains beyond what the groups it joins gain already.
static double gain_of_link(const scale_search *search, int l, int *scale) {
  const dq_sum_link *link = &search->links[l];
  int groups[3] = {search->group[link->left], search->group[link->right], search->group[link->sum]};
  for (int v = 0; v < search->value_count; v++) search->role[v] = 0;
  give_roles(search, l);
  for (int i = 0; i < search->link_count; i++)
    if (search->taken[i] && is_of(search, search->links[i].left, groups)) give_roles(search, i);
  double gain = gain_of_roles(search, scale) - search->gain[groups[0]];
  if (groups[1] != groups[0]) gain -= search->gain[groups[1]];
  if (groups[2] != groups[0] && groups[2] != groups[1]) gain -= search->gain[groups[2]];
  return gain;
}

static void apply(scale_search *search, int l, double gain, int scale) {
  const dq_sum_link *link = &search->links[l];
  int groups[3] = {search->group[link->left], search->group[link->right], search->group[link->sum]};
  for (int i = 0; i < 3; i++) {
    bool counted = (i > 0 && groups[i] == groups[0]) || (i > 1 && groups[i] == groups[1]);
    gain += counted ? 0 : search->gain[groups[i]];
  }
  for (int v = 0; v < search->value_count; v++)
    if (is_of(search, v, groups)) search->group[v] = groups[0];
  search->taken[l] = true, search->gain[groups[0]] = gain, search->scale[groups[0]] = scale;
}

static bool apply_best(scale_search *search) {
  int best = -1, best_scale = 0, scale = 0;
  double most = 0;
  for (int l = 0; l < search->link_count; l++) {
    if (search->taken[l]) continue;
    double gain = gain_of_link(search, l, &scale);
    if (gain > most) most = gain, best = l, best_scale = scale;
  }
  if (best >= 0) apply(search, best, most, best_scale);
  return best >= 0;
}

static dq_status open_search(scale_search *search, dq_arena *arena, dq_error *error) {
  search->taken = DQ_NEW_ARRAY(arena, search->link_count, bool);
  search->group = DQ_NEW_ARRAY(arena, search->value_count, int);
  search->gain = DQ_NEW_ARRAY(arena, search->value_count, double);
  search->scale = DQ_NEW_ARRAY(arena, search->value_count, int);
  search->role = DQ_NEW_ARRAY(arena, search->value_count, char);
  if (!search->taken || !search->group || !search->gain || !search->scale || !search->role)
    return dq_fail_memory(error, 0);
  for (int v = 0; v < search->value_count; v++) search->group[v] = v;
  return DQ_OK;
}

dq_status dq_common_scales(dq_summed_value *values, int value_count, const dq_sum_link *links, int link_count,
                           dq_arena *arena, dq_error *error) {
  value_errors *errors = DQ_NEW_ARRAY(arena, value_count, value_errors);
  moments *all = DQ_NEW_ARRAY(arena, 1, moments);
  scale_search search = {.errors = errors, .links = links, .value_count = value_count, .link_count = link_count};
  if (!errors || !all) return dq_fail_memory(error, 0);
  DQ_TRY(open_search(&search, arena, error));
  for (int v = 0; v < value_count; v++) find_errors(&values[v], all, &errors[v]);
  while (apply_best(&search)) continue;
  for (int v = 0; v < value_count; v++) {
    int group = search.group[v], scale = search.scale[group];
    if (search.gain[group] > 0) values[v].range = range_at(scale_at(scale), errors[v].zero[scale - errors[v].first]);
  }
  return DQ_OK;
}
