// Depthwise convolutions of bytes from plane to plane, without padded copies and without sums in memory.
//
// Outputs are computed in runs of up to 64. Where planes of the output are as wide as those of the input and strides
// are 1, a run is 64 outputs that follow each other, across the ends of rows: their inputs do so as well. Else a run is
// a part of a row, or 2, 4 or 8 rows of up to 32, 16 or 8 outputs. What lies in the padding under a tap is masked.
//
// Masks depend on where in its row a run begins, which repeats after `phases` runs, unless taps lie above or below the
// plane or the run is not a whole one: such a run has masks of its own.
//
// Tables: the runs; [sets][words][4] masks of 64 bits; [words] offsets of 64 bits; index; order.
#include "lib/kernels/conv/conv_slide_window.h"

#include <string.h>

enum {
  WORD = 4,         // taps of a word
  MOST_PHASES = 16, // of runs across the ends of rows: beyond, masks would take much memory
};

// The outputs of runs: `lanes` of a row, and `across` where a run goes across the ends of rows.
typedef struct grid {
  bool across;
  int64_t lanes, parts; // of a row
  int64_t runs, phases;
} grid;

static int64_t row_step(const dq_conv_parameters *p) { return p->stride_height * p->in_width; }

static int64_t lanes_of_rows(const dq_conv_parameters *p) {
  int64_t last = row_step(p) + (8 - 1) * p->stride_width + (WORD - 1) * p->dilation_width;
  if (p->out_width > 32) return 64;
  if (p->out_width > 16) return 32;
  return p->out_width > 8 || last >= DQ_SLIDE_REACH ? 16 : 8;
}

static grid grid_of(const dq_conv_parameters *p) {
  int64_t runs = dq_ceil_div(p->out_height * p->out_width, DQ_RUN_OUTPUTS), phases = p->out_width;
  for (int64_t part = DQ_RUN_OUTPUTS; part > 1 && phases % 2 == 0; part /= 2) phases /= 2;
  bool same = p->stride_width == 1 && p->stride_height == 1 && p->out_width == p->in_width;
  if (same && dq_min_i64(runs, phases) <= MOST_PHASES)
    return (grid){true, DQ_RUN_OUTPUTS, 1, runs, dq_min_i64(runs, phases)};
  grid g = {.lanes = lanes_of_rows(p)};
  g.phases = g.parts = dq_ceil_div(p->out_width, DQ_RUN_OUTPUTS);
  g.runs = dq_ceil_div(p->out_height, DQ_RUN_OUTPUTS / g.lanes) * g.parts;
  return g;
}

typedef struct place {
  int64_t y, x;
} place;
// The output in slot `slot` of a run, outside of the plane where there is none.
static place output_at(const dq_conv_parameters *p, const grid *g, int64_t run, int64_t slot) {
  int64_t output = run * DQ_RUN_OUTPUTS + slot;
  if (g->across) return (place){output / p->out_width, output % p->out_width};
  return (place){run / g->parts * (DQ_RUN_OUTPUTS / g->lanes) + slot / g->lanes,
                 run % g->parts * DQ_RUN_OUTPUTS + slot % g->lanes};
}

static bool is_output(const dq_conv_parameters *p, place at) { return at.y < p->out_height && at.x < p->out_width; }

// Whether all slots of a run that has the phase of others are outputs where theirs are, with all taps within the rows
// of the plane.
static bool is_usual(const dq_conv_parameters *p, const grid *g, int64_t run) {
  place first = output_at(p, g, run, 0), last = output_at(p, g, run, DQ_RUN_OUTPUTS - 1);
  return first.y * p->stride_height >= p->pad_top && last.y < p->out_height &&
         last.y * p->stride_height + (p->kernel_height - 1) * p->dilation_height - p->pad_top < p->in_height;
}

void dq_slide_window_prepare(dq_conv_plan *plan) {
  enum { MOST_SETS = UINT16_MAX };
  const dq_conv_parameters *p = &plan->shape;
  dq_conv_slide_plan *s = &plan->slide;
  grid g = grid_of(p);
  s->runs = g.runs;
  s->sets = g.phases;
  if (p->in_height * p->in_width > INT32_MAX / 2 || p->out_height * p->out_width > INT32_MAX / 2) return;
  for (int64_t run = 0; run < g.runs; run++) s->sets += !is_usual(p, &g, run);
  if (s->sets <= MOST_SETS) plan->bytes = dq_kernel_find(DQ_OPERATION_u8s8_window, plan->cpu);
}

static size_t masks_at(const dq_conv_plan *plan) {
  return dq_words((int64_t)(sizeof(dq_byte_run) / 4) * plan->slide.runs);
}
static size_t offsets_at(const dq_conv_plan *plan) {
  return masks_at(plan) + dq_words(plan->slide.sets * plan->depth * 4 * 2);
}
static size_t index_at(const dq_conv_plan *plan) { return offsets_at(plan) + dq_words(2 * plan->depth); }
static size_t order_at(const dq_conv_plan *plan) { return index_at(plan) + DQ_SLIDE_LANES; }
size_t dq_slide_window_words(const dq_conv_plan *plan) { return plan->bytes ? order_at(plan) + DQ_SLIDE_LANES : 0; }

// Returns a bit for each of four taps from column kx on: whether it lies within the rows of the input under outputs of
// column x.
static uint64_t taps_within(const dq_conv_parameters *p, int64_t kx, int64_t x) {
  uint64_t bits = 0;
  for (int64_t t = 0; t < WORD; t++) {
    int64_t at = x * p->stride_width + (kx + t) * p->dilation_width - p->pad_left;
    bits |= (uint64_t)(at >= 0 && at < p->in_width) << t;
  }
  return bits;
}

static void pack_masks(const dq_conv_plan *plan, const grid *g, int64_t run, uint64_t *masks) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t line_words = dq_ceil_div(p->kernel_width, WORD);
  for (int64_t slot = 0; slot < DQ_RUN_OUTPUTS; slot++) {
    place at = output_at(p, g, run, slot);
    for (int64_t line = 0; is_output(p, at) && line < line_words; line++) {
      uint64_t bits = taps_within(p, line * WORD, at.x) << (slot % DQ_SLIDE_LANES * WORD);
      for (int64_t ky = 0; ky < p->kernel_height; ky++) {
        int64_t y = at.y * p->stride_height + ky * p->dilation_height - p->pad_top;
        if (y >= 0 && y < p->in_height) masks[(ky * line_words + line) * 4 + slot / DQ_SLIDE_LANES] |= bits;
      }
    }
  }
}

static void pack_runs(const dq_conv_plan *plan, const grid *g, dq_byte_run *runs, uint64_t *masks) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t own = g->phases;
  for (int64_t run = 0; run < g->runs; run++) {
    place first = output_at(p, g, run, 0);
    bool usual = is_usual(p, g, run);
    int64_t count = 0, last = 0, set = usual ? run % g->phases : own++;
    for (int64_t slot = 0; slot < DQ_RUN_OUTPUTS; slot++)
      if (is_output(p, output_at(p, g, run, slot))) {
        count++;
        last = slot;
      }
    runs[run] = (dq_byte_run){.from = (int32_t)(first.y * row_step(p) + first.x * p->stride_width),
                              .masks = (uint16_t)set,
                              .count = (uint8_t)count,
                              .vectors = (uint8_t)(last / DQ_SLIDE_LANES + 1)};
    uint64_t *set_masks = masks + set * plan->depth * 4;
    memset(set_masks, 0, (size_t)plan->depth * 4 * sizeof *masks);
    pack_masks(plan, g, run, set_masks);
  }
}

// Returns the distance of the input of slot `slot` of a run from that of slot 0, in elements.
static int64_t slot_distance(const dq_conv_parameters *p, const grid *g, int64_t slot) {
  return slot / g->lanes * row_step(p) + slot % g->lanes * p->stride_width;
}

void dq_slide_window_pack(const dq_conv_plan *plan, uint32_t *tables) {
  const dq_conv_parameters *p = &plan->shape;
  if (!plan->bytes) return;
  grid g = grid_of(p);
  pack_runs(plan, &g, (dq_byte_run *)(void *)tables, (uint64_t *)(void *)(tables + masks_at(plan)));
  int64_t *offsets = (int64_t *)(void *)(tables + offsets_at(plan)), line_words = dq_ceil_div(p->kernel_width, WORD);
  for (int64_t k = 0; k < plan->depth; k++)
    offsets[k] = (k / line_words * p->dilation_height - p->pad_top) * p->in_width +
                 k % line_words * WORD * p->dilation_width - p->pad_left;
  uint8_t *index = (uint8_t *)(tables + index_at(plan)), *order = (uint8_t *)(tables + order_at(plan));
  for (int64_t i = 0; i < DQ_SLIDE_LANES * WORD; i++)
    index[i] = (uint8_t)(slot_distance(p, &g, i / WORD) + i % WORD * p->dilation_width);
  for (int64_t i = 0; i < DQ_RUN_OUTPUTS; i++) {
    int64_t row = dq_min_i64(g.lanes, p->out_width);
    order[i] = (uint8_t)(g.across ? i : (i / row * g.lanes + i % row) % DQ_RUN_OUTPUTS);
  }
}

void dq_slide_window_run(const dq_slide_window_call *w) {
  const dq_conv_call *call = w->call;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const dq_requantization *r = call->requantization;
  grid g = grid_of(p);
  int64_t c = w->channel % p->out_channels, plane = p->in_height * p->in_width, outputs = p->out_height * p->out_width;
  bool own = r->multiplier_count != 1; // a multiplier of each channel
  dq_byte_window form = {.input = call->input,
                         .bytes = p->batch * p->in_channels * plane,
                         .first = w->channel * plane,
                         .step = plane,
                         .output = (uint8_t *)call->output + w->channel * outputs,
                         .channels = w->channels,
                         .runs = (const dq_byte_run *)(const void *)w->tables,
                         .run_count = g.runs,
                         .outputs = outputs,
                         .index = (const uint8_t *)(w->tables + index_at(plan)),
                         .order = (const uint8_t *)(w->tables + order_at(plan)),
                         .masks = (const uint64_t *)(const void *)(w->tables + masks_at(plan)),
                         .offsets = (const int64_t *)(const void *)(w->tables + offsets_at(plan)),
                         .words = plan->depth,
                         .weights = w->weights + c * plan->depth,
                         .starts = w->starts + c,
                         .bias = r->bias ? r->bias + c : NULL,
                         .multipliers = r->multipliers + (own ? c : 0),
                         .multiplier_step = own,
                         .zero_point = r->zero_point,
                         .low = r->low,
                         .high = r->high,
                         .pad = (uint8_t)dq_conv_pad_word(plan),
                         .flips = dq_byte_shift(plan->multiply, plan->int8.input_signed) != 0};
  for (int64_t v = 0; v < 4; v++) form.vector_at[v] = slot_distance(p, &g, v * DQ_SLIDE_LANES);
  ((dq_u8s8_window_function *)plan->bytes->function)(&form);
}
