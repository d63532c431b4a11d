// Weights for tiles whose sums run in 16 bits where they provably fit (sums16_tile_body.h), on machines that
// have no instruction for exact sums of bytes.
//
// The words of a panel (four weights of every row) are gone through in the order of the sum: place of the
// kernel, then input channels. In 16 bits the first two products of a word are added up, and the last two,
// each with those of the words before in the same run. With inputs of 0..255 such a sum fits whatever the
// input when its positive weights add up to at most 128 and its negative ones to at least -128, as 255 * 128
// fits int16 and 255 * 129 does not. A run takes words for as long as this holds for every row of the panel.
// Where a word alone breaks it, one weight of the pair is moved to a word of its own that meets the same
// inputs (any single weight fits). Words without weights are left out.
//
// Packed panel: number of words, number of runs, [most_steps] rows of b, [most_steps] lengths of runs, then
// [words][panel_rows] words of weights.
#include "lib/kernels/conv/conv_algorithm.h"
#include "lib/kernels/conv/conv_sums16.h"

#include <string.h>

enum { MOST = 128, MOST_ROWS = 16, LANES = 2 };

typedef struct bounds {
  int16_t positive[LANES], negative[LANES];
} bounds;

// Words of a panel while they are found; steps NULL: only counted.
typedef struct writer {
  int rows;
  int64_t step_count, run_count, length; // length: of the last run
  bounds sums[MOST_ROWS];
  uint32_t *steps, *runs, *weights;
  int64_t panel_rows;
} writer;

typedef struct word {
  int16_t of[MOST_ROWS][4];
} word;

static int64_t panel_count(const dq_conv_plan *plan) {
  return dq_ceil_div(plan->shape.out_channels / plan->shape.groups, plan->panel_rows);
}

// Adds two weights to the sum of a lane; whether it still fits.
static bool add_pair(bounds *sums, int lane, const int16_t *pair) {
  for (int i = 0; i < 2; i++) {
    int16_t *sum = pair[i] > 0 ? &sums->positive[lane] : &sums->negative[lane];
    *sum = (int16_t)(*sum + pair[i]);
  }
  return sums->positive[lane] <= MOST && sums->negative[lane] >= -MOST;
}

static bool add_word(bounds *sums, const word *w, int rows) {
  bool fits = true;
  for (int i = 0; i < rows; i++)
    for (int lane = 0; lane < LANES; lane++) fits &= add_pair(&sums[i], lane, w->of[i] + 2 * lane);
  return fits;
}

static void write_word(writer *to, const word *w, int64_t row_of_b) {
  bounds sums[MOST_ROWS];
  memcpy(sums, to->sums, sizeof sums);
  bool joins = add_word(sums, w, to->rows) && to->length > 0;
  if (!joins) {
    memset(sums, 0, sizeof sums);
    add_word(sums, w, to->rows);
    to->length = 0;
    to->run_count++;
  }
  memcpy(to->sums, sums, sizeof sums);
  to->length++;
  if (to->steps) {
    to->steps[to->step_count] = (uint32_t)row_of_b;
    to->runs[to->run_count - 1] = (uint32_t)to->length;
    uint32_t *weights = to->weights + to->step_count * to->panel_rows;
    for (int i = 0; i < to->rows; i++) {
      int32_t values[4] = {w->of[i][0], w->of[i][1], w->of[i][2], w->of[i][3]};
      weights[i] = dq_weight_word(4, values, 4);
    }
  }
  to->step_count++;
}

// Moves the second weights of pairs that do not fit to a word of their own; whether there were any.
static bool split(word *w, word *rest, int rows) {
  bool any = false;
  memset(rest, 0, sizeof *rest);
  for (int i = 0; i < rows; i++)
    for (int lane = 0; lane < LANES; lane++) {
      bounds alone = {0};
      int16_t *pair = w->of[i] + 2 * lane;
      if (add_pair(&alone, lane, pair)) continue;
      rest->of[i][2 * lane + 1] = pair[1];
      pair[1] = 0;
      any = true;
    }
  return any;
}

static bool read_word(const dq_conv_plan *plan, const uint8_t *filters, int rows, int64_t channel, int64_t tap,
                      word *w) {
  int64_t channels = plan->shape.in_channels / plan->shape.groups;
  int64_t taps = plan->shape.kernel_height * plan->shape.kernel_width;
  int shift = plan->int8.weight_signed ? 0 : 128;
  bool any = false;
  memset(w, 0, sizeof *w);
  for (int i = 0; i < rows; i++, filters += channels * taps)
    for (int64_t c = channel; c < channel + 4 && c < channels; c++) {
      int value = dq_int8_value(filters[c * taps + tap], plan->int8.weight_signed) - shift;
      w->of[i][c - channel] = (int16_t)value;
      any |= value != 0;
    }
  return any;
}

// All words of a panel; filters: the weights of its rows.
static void write_panel(const dq_conv_plan *plan, const uint8_t *filters, writer *to) {
  int64_t channels = plan->shape.in_channels / plan->shape.groups;
  int64_t taps = plan->shape.kernel_height * plan->shape.kernel_width;
  for (int64_t tap = 0; tap < taps; tap++)
    for (int64_t c = 0; c < channels; c += 4) {
      word w, rest;
      if (!read_word(plan, filters, to->rows, c, tap, &w)) continue;
      bool parted = split(&w, &rest, to->rows);
      write_word(to, &w, c / 4 * taps + tap);
      if (parted) write_word(to, &rest, c / 4 * taps + tap);
    }
}

// The rows of a panel, and where their weights are.
static int panel_rows(const dq_conv_plan *plan, int64_t group, int64_t panel, const void *weights,
                      const uint8_t **filters) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t per_group = p->out_channels / p->groups, first = panel * plan->panel_rows;
  int64_t depth = p->in_channels / p->groups * p->kernel_height * p->kernel_width;
  *filters = (const uint8_t *)weights + (group * per_group + first) * depth;
  return (int)dq_min_i64(plan->panel_rows, per_group - first);
}

// A word is a product and a sum, but the first of a run, which is widened and summed in its stead. The sum of a run is
// added in memory: 2.5 instructions for a run fit the times of 42 convolutions with AVX2 (docs/experiments/kernels.md).
static const double WORD = 2, RUN = 2.5;

double dq_sums16_prepare(dq_conv_plan *plan) {
  double cost = 0;
  plan->tiles.most_steps = 1;
  for (int64_t group = 0; group < plan->shape.groups; group++)
    for (int64_t panel = 0; panel < panel_count(plan); panel++) {
      const uint8_t *filters;
      writer count = {.rows = panel_rows(plan, group, panel, plan->int8.weights, &filters)};
      write_panel(plan, filters, &count);
      plan->tiles.most_steps = dq_max_i64(plan->tiles.most_steps, count.step_count);
      cost += WORD * (double)count.step_count + RUN * (double)count.run_count;
    }
  return cost;
}

int64_t dq_sums16_panel_words(const dq_conv_plan *plan) {
  return (int64_t)dq_words(2 + 2 * plan->tiles.most_steps) + plan->tiles.most_steps * plan->panel_rows;
}

void dq_sums16_pack(const dq_conv_plan *plan, const void *weights, uint32_t *to) {
  for (int64_t group = 0; group < plan->shape.groups; group++)
    for (int64_t panel = 0; panel < panel_count(plan); panel++, to += dq_sums16_panel_words(plan)) {
      const uint8_t *filters;
      writer all = {.rows = panel_rows(plan, group, panel, weights, &filters), .panel_rows = plan->panel_rows};
      all.steps = to + 2;
      all.runs = all.steps + plan->tiles.most_steps;
      all.weights = to + dq_words(2 + 2 * plan->tiles.most_steps);
      write_panel(plan, filters, &all);
      to[0] = (uint32_t)all.step_count;
      to[1] = (uint32_t)all.run_count;
    }
}

void dq_sums16_read(const dq_conv_plan *plan, const uint32_t *panel, dq_tile *tile) {
  tile->run_count = panel[1];
  tile->steps = panel + 2;
  tile->runs = tile->steps + plan->tiles.most_steps;
  tile->a = panel + dq_words(2 + 2 * plan->tiles.most_steps);
}
