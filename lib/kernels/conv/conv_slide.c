// Depthwise convolution of bytes. A band of the input plane is padded once; every word of four neighbouring
// taps of a kernel row lies at a constant distance under every output, and is picked byte by byte.
//
// With stride 1 outputs are numbered as the padded plane is, a few between rows are thrown away, and rows
// share their padding: the right one's bytes are the next row's left ones. With larger strides a row of
// outputs is a run of whole vectors, or, when it is short, two rows are one vector.
//
// Small planes are padded, multiplied and stored some channels at a time: calls and padding are paid once, and what is
// read has left the processor's queue of stores.
//
// Without VBMI the products of two taps are added in 16 bits, which saturates. Of the three ways to pair the four taps
// of a word one is taken in which no sum can, whatever the input: tap 1 changes places with tap 2 or 3, or with none.
//
// Packed: header; [channels] starts; [channels][words] weights; [words] offsets of 64 bits; the index;
// [channels][words] pairings, bytes, without VBMI.
// Scratch by thread: the bands of some channels, their sums, their bytes.
#include "lib/kernels/conv/conv_slide_window.h"

#include <string.h>

enum {
  BAND_OUTPUTS = 4096,  // sums stay in the first level of cache
  GROUP_OUTPUTS = 1024, // of channels at a time: little beside the scratch of larger planes
  GROUP_CHANNELS = 16,  // at most: more gain nothing
  WORD = 4,             // taps of a word
  HALF = DQ_SLIDE_LANES / 2,
};

static int64_t line_words(const dq_conv_plan *plan) { return dq_ceil_div(plan->shape.kernel_width, WORD); }
// Bytes under the outputs of one row, from the first tap of the first to the last of the last.
static int64_t row_reach(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return (p->out_width - 1) * p->stride_width + (p->kernel_width - 1) * p->dilation_width + 1;
}
// Bytes of a row of the input that lie under outputs.
static int64_t used_width(const dq_conv_plan *plan) {
  return dq_max_i64(0, dq_min_i64(plan->shape.in_width, row_reach(plan) - plan->shape.pad_left));
}
static int64_t band_rows(const dq_conv_plan *plan, int64_t rows) {
  const dq_conv_parameters *p = &plan->shape;
  return (rows - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
}
// Vectors read whole vectors of lanes, and four at a time.
static int64_t band_bytes(const dq_conv_plan *plan) {
  return band_rows(plan, plan->slide.rows) * plan->slide.row_bytes + row_reach(plan) +
         2 * DQ_SLIDE_REACH * plan->shape.stride_width;
}
// Bytes from the band of a channel to that of the next one.
static int64_t band_step(const dq_conv_plan *plan) {
  return band_rows(plan, plan->slide.rows) * plan->slide.row_bytes + row_reach(plan);
}
static bool short_rows(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t last = (HALF - 1) * p->stride_width + (WORD - 1) * p->dilation_width;
  return !plan->slide.one_run && p->out_width <= HALF &&
         p->stride_height * plan->slide.row_bytes + last < DQ_SLIDE_REACH;
}
// Sums from one row of outputs to the next.
static int64_t sums_width(const dq_conv_plan *plan) {
  return plan->slide.one_run ? plan->slide.row_bytes
         : short_rows(plan)  ? HALF
                             : dq_ceil_div(plan->shape.out_width, DQ_SLIDE_LANES) * DQ_SLIDE_LANES;
}

// Outputs whose bytes one permutation picks, from as many words: with VBMI it reaches a whole vector, else 16 bytes.
static int64_t permuted_lanes(const dq_kernel *kernel) { return kernel->feature == DQ_CPU_VBMI ? DQ_SLIDE_LANES : 4; }

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  const dq_kernel *kernel = dq_kernel_find(DQ_OPERATION_u8s8_slide, plan->cpu);
  // Where words of bytes are multiplied at once, that is not slower than shuffles of 16 bytes (conv_depthwise.c).
  if (!kernel || (kernel->feature != DQ_CPU_VBMI && dq_kernel_find(DQ_OPERATION_u8s8_correlate, plan->cpu)))
    return false;
  int64_t lanes = permuted_lanes(kernel);
  return !plan->float32 && p->groups == p->in_channels && p->groups == p->out_channels &&
         dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed) &&
         p->stride_width < DQ_SLIDE_REACH && p->dilation_width < DQ_SLIDE_REACH &&
         (lanes - 1) * p->stride_width + (WORD - 1) * p->dilation_width < WORD * lanes;
}

static double cost(const dq_conv_plan *plan) { return (double)dq_conv_macs(&plan->shape) / (WORD * DQ_COST_LANES); }

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  plan->multiply = dq_kernel_find(DQ_OPERATION_u8s8_slide, plan->cpu);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
  plan->expand = dq_kernel_find(DQ_OPERATION_copy_rows, plan->cpu);
  plan->word_values = WORD;
  plan->depth = p->kernel_height * line_words(plan);
  plan->slide.one_run = p->stride_height == 1 && p->stride_width == 1;
  plan->slide.row_bytes =
      dq_max_i64(p->out_width, dq_max_i64(p->pad_left + used_width(plan), row_reach(plan) - p->pad_left));
  int64_t most = dq_max_i64(1, dq_scaled(BAND_OUTPUTS, p->tuning.columns) / sums_width(plan));
  plan->slide.rows = dq_ceil_div(p->out_height, dq_ceil_div(p->out_height, most));
  int64_t sums = p->out_height * sums_width(plan), group = dq_min_i64(GROUP_CHANNELS, GROUP_OUTPUTS / sums);
  plan->slide.channels = plan->slide.rows == p->out_height ? dq_max_i64(1, group) : 1;
  dq_slide_window_prepare(plan);
}

static size_t offsets_at(const dq_conv_plan *plan) {
  return dq_conv_weights_at(plan) + dq_words(plan->shape.out_channels * plan->depth);
}
static size_t index_at(const dq_conv_plan *plan) { return offsets_at(plan) + dq_words(2 * plan->depth); }
static size_t pairings_at(const dq_conv_plan *plan) { return index_at(plan) + DQ_SLIDE_LANES; }
static bool pairs(const dq_conv_plan *plan) { return plan->multiply->feature != DQ_CPU_VBMI; }
static size_t packed_words(const dq_conv_plan *plan) {
  size_t pairings = pairs(plan) ? dq_words(dq_ceil_div(plan->shape.out_channels * plan->depth, 4)) : 0;
  return pairings_at(plan) + pairings + dq_slide_window_words(plan);
}

static size_t band_area(const dq_conv_plan *plan) {
  return dq_words(dq_ceil_div((plan->slide.channels - 1) * band_step(plan) + band_bytes(plan), 4));
}
static size_t sums_area(const dq_conv_plan *plan) {
  return dq_words((plan->slide.channels * plan->slide.rows + 1) * sums_width(plan) + DQ_SLIDE_LANES);
}
static size_t thread_area(const dq_conv_plan *plan) {
  return band_area(plan) + sums_area(plan) + dq_words((int64_t)sums_area(plan) / 4);
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) { return (size_t)threads * thread_area(plan); }

// Weights of one channel, those of a kernel row in words of their own; returns their sum.
static uint32_t pack_channel(const dq_conv_plan *plan, const uint8_t *weights, int32_t zero, uint32_t *to) {
  int64_t width = plan->shape.kernel_width;
  uint32_t sum = 0;
  for (int64_t y = 0; y < plan->shape.kernel_height; y++, weights += width)
    for (int64_t x = 0; x < width; x += WORD) {
      int32_t values[WORD];
      int64_t count = dq_min_i64(WORD, width - x);
      for (int64_t i = 0; i < count; i++) {
        values[i] = dq_int8_value(weights[x + i], plan->int8.weight_signed) - zero;
        sum += (uint32_t)values[i];
      }
      *to++ = dq_weight_word(WORD, values, count);
    }
  return sum;
}

static bool pair_fits(int a, int b) {
  enum { MOST = 128 }; // 255 * 128 fits int16: the most that weights of one sign may add up to
  int positive = (a > 0 ? a : 0) + (b > 0 ? b : 0);
  return positive <= MOST && positive - a - b <= MOST;
}

// Byte 1 of a word in the place of byte 1 + pairing, and the other way round.
static uint32_t paired(uint32_t word, unsigned pairing) {
  if (pairing != 1 && pairing != 2) return word;
  uint32_t change = (word >> 8 ^ word >> (8 + 8 * pairing)) & 0xff;
  return word ^ change << 8 ^ change << (8 + 8 * pairing);
}

// The first pairing of a word that fits, DQ_SLIDE_ALONE where none does.
static uint8_t choose_pairing(uint32_t word) {
  for (unsigned p = 0; p < DQ_SLIDE_ALONE; p++) {
    uint32_t x = paired(word, p);
    if (pair_fits((int8_t)x, (int8_t)(x >> 8)) && pair_fits((int8_t)(x >> 16), (int8_t)(x >> 24))) return (uint8_t)p;
  }
  return DQ_SLIDE_ALONE;
}

static void pack_index(const dq_conv_plan *plan, uint8_t *index) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t lanes = short_rows(plan) ? HALF : DQ_SLIDE_LANES, row = p->stride_height * plan->slide.row_bytes;
  for (int64_t i = 0; i < DQ_SLIDE_LANES * WORD; i++) {
    int64_t lane = i / WORD;
    index[i] = (uint8_t)(lane / lanes * row + lane % lanes * p->stride_width + i % WORD * p->dilation_width);
  }
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  (void)bias;
  memset(packed, 0, packed_words(plan) * 4);
  uint32_t *starts = packed + DQ_CONV_HEADER_WORDS, *words = packed + dq_conv_weights_at(plan);
  for (int64_t c = 0; c < p->out_channels; c++) {
    const uint8_t *from = (const uint8_t *)weights + c * p->kernel_height * p->kernel_width;
    int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, c);
    starts[c] = (uint32_t)dq_conv_start(plan, pack_channel(plan, from, zero, words + c * plan->depth));
  }
  int64_t *offsets = (int64_t *)(void *)(packed + offsets_at(plan));
  for (int64_t k = 0; k < plan->depth; k++)
    offsets[k] = k / line_words(plan) * p->dilation_height * plan->slide.row_bytes +
                 k % line_words(plan) * WORD * p->dilation_width;
  pack_index(plan, (uint8_t *)(packed + index_at(plan)));
  dq_slide_window_pack(plan, packed + packed_words(plan) - dq_slide_window_words(plan));
  uint8_t *pairings = (uint8_t *)(packed + pairings_at(plan));
  for (int64_t k = 0; pairs(plan) && k < p->out_channels * plan->depth; k++) {
    pairings[k] = choose_pairing(words[k]);
    words[k] = paired(words[k], pairings[k]);
  }
}

// ---- Running ----
typedef struct band {
  const dq_conv_call *call;
  int64_t channel, channels; // the first of all images' channels, and how many of one image
  int64_t row, rows;         // of the outputs
  uint8_t *plane;
  int32_t *sums;
  uint8_t *bytes;
} band;

// The input rows under the band of each channel, between padding.
static void fill_planes(const band *b) {
  const dq_conv_plan *plan = b->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  int64_t top = b->row * p->stride_height - p->pad_top;
  int64_t first = dq_max_i64(top, 0), end = dq_min_i64(p->in_height, top + band_rows(plan, b->rows));
  size_t padded = (size_t)((b->channels - 1) * band_step(plan) + band_bytes(plan));
  memset(b->plane, (int)(dq_conv_pad_word(plan) & 0xffu), padded);
  dq_row_copy copy = {.from = (const uint8_t *)b->call->input + (b->channel * p->in_height + first) * p->in_width,
                      .to = b->plane + (first - top) * plan->slide.row_bytes + p->pad_left,
                      .from_step = p->in_width,
                      .to_step = plan->slide.row_bytes,
                      .rows = end - first,
                      .bytes = used_width(plan),
                      .flips = dq_byte_shift(plan->multiply, plan->int8.input_signed) != 0};
  for (int64_t c = 0; c < b->channels; c++) {
    ((dq_copy_rows_function *)plan->expand->function)(&copy);
    copy.from += p->in_height * p->in_width;
    copy.to += band_step(plan);
  }
}

static void add_up(const band *b) {
  const dq_conv_plan *plan = b->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint32_t *packed = b->call->packed;
  int64_t channel = b->channel % p->out_channels, row_step = p->stride_height * plan->slide.row_bytes;
  int64_t width = sums_width(plan), vectors = width / DQ_SLIDE_LANES, runs = b->rows;
  const dq_requantization *r = b->call->requantization;
  dq_slide slide = {.index = (const uint8_t *)(packed + index_at(plan)),
                    .offsets = (const int64_t *)(const void *)(packed + offsets_at(plan)),
                    .words = plan->depth,
                    .vectors = vectors,
                    .step = DQ_SLIDE_LANES * p->stride_width};
  if (plan->slide.one_run || vectors <= 1) { // one run of vectors
    runs = 1;
    slide.vectors = dq_ceil_div(b->rows * width, DQ_SLIDE_LANES);
    if (!plan->slide.one_run) slide.step = DQ_SLIDE_LANES / width * row_step;
  }
  for (int64_t i = 0; i < b->channels; i++) { // the last vector of a channel reaches into the sums of the next one
    int64_t c = channel + i;
    uint32_t bias = r && r->bias ? (uint32_t)r->bias[c] : 0; // sums start from it: what wraps does so either way
    slide.plane = b->plane + i * band_step(plan);
    slide.sums = b->sums + i * b->rows * width;
    slide.weights = packed + dq_conv_weights_at(plan) + c * plan->depth;
    slide.pairings = pairs(plan) ? (const uint8_t *)(packed + pairings_at(plan)) + c * plan->depth : NULL;
    slide.start = (int32_t)(packed[DQ_CONV_HEADER_WORDS + c] + bias);
    for (int64_t run = 0; run < runs; run++, slide.plane += row_step, slide.sums += width)
      ((dq_u8s8_slide_function *)plan->multiply->function)(&slide);
  }
}

static void requantize(const band *b, uint8_t *to) {
  const dq_conv_plan *plan = b->call->plan;
  const dq_requantization *r = b->call->requantization;
  int64_t c = b->channel % plan->shape.out_channels;
  bool own = r->multiplier_count != 1; // a multiplier of each channel
  int64_t width = sums_width(plan);
  dq_requantize_rows form = {.sums = b->sums,
                             .multipliers = r->multipliers + (own ? c : 0),
                             .output = to,
                             .rows = b->channels,
                             .columns = (b->rows - 1) * width + plan->shape.out_width,
                             .sums_stride = b->rows * width,
                             .output_stride = b->rows * width,
                             .multiplier_row = own,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  ((dq_requantize_function *)plan->requantize->function)(&form);
}

static void store(const band *b) {
  const dq_conv_plan *plan = b->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  bool whole = sums_width(plan) == p->out_width;
  int64_t element = b->call->requantization ? 1 : 4;
  uint8_t *to = (uint8_t *)b->call->output + (b->channel * p->out_height + b->row) * p->out_width * element;
  if (b->call->requantization) requantize(b, whole ? to : b->bytes);
  if (b->call->requantization && whole) return;
  dq_row_copy copy = {.from = element == 1 ? b->bytes : (const uint8_t *)b->sums,
                      .to = to,
                      .from_step = sums_width(plan) * element,
                      .to_step = p->out_width * element,
                      .rows = b->channels * b->rows,
                      .bytes = p->out_width * element};
  ((dq_copy_rows_function *)plan->expand->function)(&copy);
}

typedef struct stage {
  const dq_conv_call *call;
  int64_t channels, tasks; // of a task; of an image
  bool window;             // planes are multiplied where they are
} stage;

static void channel_task(void *argument, int64_t index, int thread) {
  const stage *s = argument;
  const dq_conv_call *call = s->call;
  const dq_conv_plan *plan = call->plan;
  uint32_t *scratch = call->scratch + (size_t)thread * thread_area(plan);
  int64_t first = index % s->tasks * s->channels, all = plan->shape.out_channels;
  band b = {.call = call, .channel = index / s->tasks * all + first, .plane = (uint8_t *)scratch};
  b.channels = dq_min_i64(s->channels, all - first);
  if (s->window) {
    const uint32_t *packed = call->packed;
    dq_slide_window_call window = {.call = call,
                                   .tables = packed + packed_words(plan) - dq_slide_window_words(plan),
                                   .weights = packed + dq_conv_weights_at(plan),
                                   .starts = packed + DQ_CONV_HEADER_WORDS,
                                   .channel = b.channel,
                                   .channels = b.channels};
    dq_slide_window_run(&window);
    return;
  }
  b.sums = (int32_t *)scratch + band_area(plan);
  b.bytes = (uint8_t *)(b.sums + sums_area(plan));
  for (; b.row < plan->shape.out_height; b.row += b.rows) {
    b.rows = dq_min_i64(plan->slide.rows, plan->shape.out_height - b.row);
    fill_planes(&b);
    add_up(&b);
    store(&b);
  }
}

static void run(const dq_conv_call *call) {
  enum { TASKS = 4 }; // for each thread, at least
  const dq_conv_parameters *p = &call->plan->shape;
  int64_t threads = dq_pool_threads(call->pool), most = p->out_channels;
  if (threads > 1) most = dq_max_i64(1, p->batch * p->out_channels / (TASKS * threads));
  stage s = {.call = call, .window = call->requantization && call->plan->bytes};
  s.channels = s.window ? most : dq_min_i64(call->plan->slide.channels, most);
  s.tasks = dq_ceil_div(p->out_channels, s.channels);
  dq_pool_run(call->pool, p->batch * s.tasks, channel_task, &s);
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){plan->slide.rows, 0};
}

const dq_conv_algorithm dq_conv_slide = {.name = "slide",
                                         .applicable = applicable,
                                         .same_bits = true,
                                         .cost = cost,
                                         .count = dq_conv_count_slide,
                                         .knobs = DQ_KNOB_COLUMNS,
                                         .prepare = prepare,
                                         .blocks = blocks,
                                         .packed_words = packed_words,
                                         .scratch_words = scratch_words,
                                         .pack = pack,
                                         .run = run};
