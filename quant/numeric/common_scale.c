#include "quant/numeric/common_scale.h"

#include <math.h>
#include <stdint.h>

#include "quant/numeric/sets.h"

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

// What values lose together at the scales from `from` to end - 1.
typedef struct joint_errors {
  int from, end;
  double now;         // at the scales they have
  double all[SCALES]; // by scale - from
} joint_errors;

// A link that may be taken, by what was known of its groups when it was looked at.
typedef struct candidate {
  double gain;       // beyond what the groups that it joins gain already; 0: nothing, or the link is taken
  int scale, looked; // `looked`: number of links that were taken before
} candidate;

// Values that have one scale by the links that are taken.
typedef struct scale_search {
  const value_errors *errors;
  const dq_sum_link *links;
  int value_count, link_count, taken; // `taken`: number of links
  int *parent;                        // by value: one that is nearer to its group's first value; that one itself
  int *size;                          // by group, the number of its first value, as all that follows: of its values
  double *gain;
  int *scale;
  int *changed;          // `taken` when it became what it is
  joint_errors **joint;  // NULL: a single value
  int *first, *last;     // places 3 * link + end in `next`: the links whose operand or sum is in the group; -1: none
  int *next;             // by place: the next one of its group; -1: none
  char *role;            // by value: what it is in the links that are taken: 0, TERM or SUM
  candidate *candidates; // by link
  int leaves;
  int *winner; // [2 * leaves], by place in a binary tree: the link behind it with most gain, of equal ones the first
} scale_search;
enum { TERM = 1, SUM = 2 };

// ---- Errors of one value ----

static void add_up(const dq_histogram *histogram, moments *all) {
  uint64_t memory[DQ_HISTOGRAM_BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  all->count[0] = all->sum[0] = all->squares[0] = 0;
  for (int i = 0; i < DQ_HISTOGRAM_BINS; i++) {
    double n = (double)bins[i], x = i - DQ_HISTOGRAM_BINS / 2 + 0.5;
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

// The different groups of a link; their number.
static int groups_of(const scale_search *search, int l, int groups[3]) {
  const dq_sum_link *link = &search->links[l];
  int left = dq_set_of(search->parent, link->left), right = dq_set_of(search->parent, link->right);
  int sum = dq_set_of(search->parent, link->sum);
  int count = 0;
  groups[count++] = left;
  if (right != left) groups[count++] = right;
  if (sum != left && sum != right) groups[count++] = sum;
  return count;
}

static void narrow(joint_errors *joint, int from, int end) {
  int skipped = joint->from < from ? from - joint->from : 0;
  if (joint->end > end) joint->end = end;
  joint->from += skipped;
  for (int k = 0; skipped && k < joint->end - joint->from; k++) joint->all[k] = joint->all[k + skipped];
}

static void add_joint(joint_errors *joint, const joint_errors *added) {
  narrow(joint, added->from, added->end);
  joint->now += added->now;
  for (int k = joint->from; k < joint->end; k++) joint->all[k - joint->from] += added->all[k - added->from];
}

// Adds a value with its role, or changes that from TERM to SUM.
static void add_value(joint_errors *joint, const value_errors *errors, int before, int role) {
  if (before == role) return;
  narrow(joint, errors->first, errors->first + SCALES);
  if (!before) joint->now += errors->now;
  for (int k = joint->from; k < joint->end; k++) {
    int s = k - errors->first;
    joint->all[k - joint->from] += role == TERM ? errors->term[s] : errors->sum[s] - (before ? errors->term[s] : 0);
  }
}

// All scales of the widest range that these values can have, without errors.
static joint_errors nothing(const value_errors *errors) {
  return (joint_errors){.from = errors->first, .end = errors->first + SCALES};
}

// The values of a link's groups when it is taken.
static void join(const scale_search *search, int l, joint_errors *joint) {
  const dq_sum_link *link = &search->links[l];
  const char *role = search->role;
  int groups[3], count = groups_of(search, l, groups);
  *joint = nothing(&search->errors[link->sum]);
  for (int g = 0; g < count; g++)
    if (search->joint[groups[g]]) add_joint(joint, search->joint[groups[g]]);
  add_value(joint, &search->errors[link->left], role[link->left], role[link->left] == SUM ? SUM : TERM);
  add_value(joint, &search->errors[link->right], role[link->right], role[link->right] == SUM ? SUM : TERM);
  add_value(joint, &search->errors[link->sum], role[link->sum], SUM);
}

// ---- The best link ----

static int better_of(const scale_search *search, int a, int b) {
  if (a < 0 || b < 0) return a < 0 ? b : a;
  return search->candidates[b].gain > search->candidates[a].gain ? b : a;
}

static void update_winners(scale_search *search, int l) {
  for (int at = (search->leaves + l) / 2; at > 0; at /= 2)
    search->winner[at] = better_of(search, search->winner[2 * at], search->winner[2 * at + 1]);
}

static void look_at(scale_search *search, int l) {
  joint_errors joint;
  int groups[3], count = groups_of(search, l, groups);
  candidate *at = &search->candidates[l];
  double least = INFINITY;
  join(search, l, &joint);
  for (int k = joint.from; k < joint.end; k++)
    if (joint.all[k - joint.from] < least) least = joint.all[k - joint.from], at->scale = k;
  double gain = joint.now - least;
  for (int g = 0; g < count; g++) gain -= search->gain[groups[g]];
  at->gain = gain > 0 ? gain : 0, at->looked = search->taken;
  update_winners(search, l);
}

// ---- Taking a link ----

static bool is_taken(const scale_search *search, int l) { return search->candidates[l].looked < 0; }

static void append_links(scale_search *search, int group, int other) {
  if (search->first[other] < 0) return;
  if (search->first[group] < 0) search->first[group] = search->first[other];
  else search->next[search->last[group]] = search->first[other];
  search->last[group] = search->last[other];
}

// Counts the places of links of a group that are not taken, up to `most`, and drops others in front of them.
static int count_open(scale_search *search, int group, int most) {
  int count = 0, kept = -1;
  for (int at = search->first[group]; at >= 0 && count < most; at = search->next[at]) {
    if (is_taken(search, at / 3)) continue;
    if (kept >= 0) search->next[kept] = at;
    else search->first[group] = at;
    kept = at;
    count++;
  }
  if (!count) search->first[group] = -1;
  else if (count < most) search->next[kept] = -1, search->last[group] = kept;
  return count;
}

static dq_status take(scale_search *search, int l, dq_arena *arena, dq_error *error) {
  const dq_sum_link *link = &search->links[l];
  int groups[3], count = groups_of(search, l, groups), first = groups[0];
  joint_errors joint, *stored = NULL;
  double gain = search->candidates[l].gain;
  join(search, l, &joint);
  for (int g = 0; g < count; g++) {
    gain += search->gain[groups[g]];
    if (search->joint[groups[g]]) stored = search->joint[groups[g]];
    if (search->size[groups[g]] > search->size[first]) first = groups[g];
  }
  if (!stored && !(stored = DQ_NEW(arena, joint_errors))) return dq_fail_memory(error, sizeof *stored);
  for (int g = 0; g < count; g++) {
    if (groups[g] == first) continue;
    search->parent[groups[g]] = first, search->size[first] += search->size[groups[g]];
    append_links(search, first, groups[g]);
  }
  *stored = joint, search->joint[first] = stored;
  search->gain[first] = gain, search->scale[first] = search->candidates[l].scale;
  search->changed[first] = ++search->taken;
  if (search->role[link->left] != SUM) search->role[link->left] = TERM;
  if (search->role[link->right] != SUM) search->role[link->right] = TERM;
  search->role[link->sum] = SUM;
  search->candidates[l] = (candidate){.looked = -1};
  update_winners(search, l);
  return DQ_OK;
}

static bool is_stale(const scale_search *search, int l) {
  int groups[3], count = groups_of(search, l, groups);
  bool stale = false;
  for (int g = 0; g < count; g++) stale |= search->changed[groups[g]] > search->candidates[l].looked;
  return stale;
}

// Takes the best link, and looks again at the others of its group. Where these are many they are looked at when they
// have become the best by what is known of them.
static dq_status take_best(scale_search *search, int l, dq_arena *arena, dq_error *error) {
  enum { MANY = 256 };
  if (is_stale(search, l)) look_at(search, l);
  if (!(search->candidates[l].gain > 0)) return DQ_OK;
  DQ_TRY(take(search, l, arena, error));
  int group = dq_set_of(search->parent, search->links[l].sum);
  if (count_open(search, group, MANY) == MANY) return DQ_OK;
  for (int at = search->first[group]; at >= 0; at = search->next[at])
    if (search->candidates[at / 3].looked < search->taken) look_at(search, at / 3);
  return DQ_OK;
}

// ---- The search ----

static dq_status reserve(scale_search *search, dq_arena *arena, dq_error *error) {
  const int values = search->value_count, links = search->link_count;
  for (search->leaves = 1; search->leaves < links;) search->leaves *= 2;
  search->parent = DQ_NEW_ARRAY(arena, values, int);
  search->size = DQ_NEW_ARRAY(arena, values, int);
  search->gain = DQ_NEW_ARRAY(arena, values, double);
  search->scale = DQ_NEW_ARRAY(arena, values, int);
  search->changed = DQ_NEW_ARRAY(arena, values, int);
  search->joint = DQ_NEW_ARRAY(arena, values, joint_errors *);
  search->first = DQ_NEW_ARRAY(arena, values, int);
  search->last = DQ_NEW_ARRAY(arena, values, int);
  search->next = DQ_NEW_ARRAY(arena, 3 * (size_t)links, int);
  search->role = DQ_NEW_ARRAY(arena, values, char);
  search->candidates = DQ_NEW_ARRAY(arena, links, candidate);
  search->winner = DQ_NEW_ARRAY(arena, 2 * (size_t)search->leaves, int);
  return dq_arena_exhausted(arena) ? dq_fail_memory(error, 0) : DQ_OK;
}

static void add_place(scale_search *search, int value, int place) {
  search->next[place] = search->first[value];
  if (search->first[value] < 0) search->last[value] = place;
  search->first[value] = place;
}

static void begin(scale_search *search) {
  for (int v = 0; v < search->value_count; v++)
    search->parent[v] = v, search->size[v] = 1, search->first[v] = search->last[v] = -1;
  for (int at = 0; at < 2 * search->leaves; at++) search->winner[at] = -1;
  for (int l = 0; l < search->link_count; l++) {
    search->winner[search->leaves + l] = l;
    add_place(search, search->links[l].left, 3 * l);
    add_place(search, search->links[l].right, 3 * l + 1);
    add_place(search, search->links[l].sum, 3 * l + 2);
  }
  for (int l = 0; l < search->link_count; l++) look_at(search, l);
}

static dq_status find_scales(scale_search *search, dq_summed_value *values, dq_arena *arena, dq_error *error) {
  value_errors *errors = DQ_NEW_ARRAY(arena, search->value_count, value_errors);
  moments *all = DQ_NEW_ARRAY(arena, 1, moments);
  if (!errors || !all) return dq_fail_memory(error, 0);
  DQ_TRY(reserve(search, arena, error));
  for (int v = 0; v < search->value_count; v++) find_errors(&values[v], all, &errors[v]);
  search->errors = errors;
  begin(search);
  for (int best; (best = search->winner[1]) >= 0 && search->candidates[best].gain > 0;)
    DQ_TRY(take_best(search, best, arena, error));
  for (int v = 0; v < search->value_count; v++) {
    int group = dq_set_of(search->parent, v), scale = search->scale[group];
    if (search->gain[group] > 0) values[v].range = range_at(scale_at(scale), errors[v].zero[scale - errors[v].first]);
  }
  return DQ_OK;
}

dq_status dq_common_scales(dq_summed_value *values, int value_count, const dq_sum_link *links, int link_count,
                           dq_arena *arena, dq_error *error) {
  scale_search search = {.links = links, .value_count = value_count, .link_count = link_count};
  dq_arena *own = dq_arena_beside(arena);
  if (!own) return dq_fail_memory(error, 0);
  dq_status status = find_scales(&search, values, own, error);
  dq_arena_free(own);
  return status;
}
