// 3x3 convolution of stride 1 by Winograd's minimal filtering F(m x m, 3 x 3), m = 2 or 4 (Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1): m x m outputs
// from (m + 2)^2 products instead of 9 m^2,
//   Y = A^T [ sum over input channels of (G g G^T) * (B^T d B) ] A.
// The sums of all tiles at one place of a tile are a matrix product. Rounding errors are larger than
// those of a plain sum (docs/NUMERICS.md), the same on every instruction set and thread count.
//
// In 8 bits the sums are exact (conv_winograd_int8.c): values are words of two int16, of two input channels.
//
// A band is some rows of tiles; what it holds between the steps should stay in the second-level cache.
// Packed: header; [out_channels] bias, [places][panels][in words][panel_rows] transformed weights; a word is an input
// channel. In 8 bits the weights of conv_winograd_int8.c.
// Scratch: per thread in 8 bits a padded plane, the parts of the plane, lines of output, in 8 bits rows of output as
// int32 and the room of conv_winograd_int8.c; values [places][panels of columns][in words][columns] and, in float32,
// sums [places] [out_channels][tiles] of one band per thread.
#include "lib/kernels/conv/conv_algorithm.h"
#include "lib/kernels/conv/conv_winograd_int8.h"

#include <string.h>

enum {
  BAND_BYTES = 3 * 512 * 1024,       // of values and sums, for a second-level cache of 2 MB
  BAND_BYTES_SEVERAL = 1024 * 1024,  // the same with bands of several threads, for one of 1 MB
  BAND_BYTES_INT8 = 512 * 1024,      // the same in 8 bits, for one of 1 MB; sums of a panel of output channels
  BAND_BYTES_VNNI = 3 * 1024 * 1024, // with AVX-512 VNNI: values come from the third level while others are multiplied
  PANEL_ROWS = 8,                    // about as many output channels are one
  SKEW = 16,                         // words between places, so that they do not fall on the same lines of a cache
  VECTORS = 80,                      // words read or written past the end of buffers: m + 1 vectors of at most 16
};

static int64_t side(int size) { return size + 2; }
static int64_t places(const dq_conv_plan *plan) { return side(plan->winograd.size) * side(plan->winograd.size); }
static int64_t bands(const dq_conv_plan *plan) { return dq_ceil_div(plan->winograd.high, plan->winograd.rows); }

// ---- Choice ----
// The bound of docs/NUMERICS.md on the error of an output in units of the largest input times the sum
// of the magnitudes of its weights, when those are alike.
static double error_bound(int size, int64_t channels) {
  const double growth = size == 2 ? 64.0 / 9 : 256, operations = size == 2 ? 8 : 18;
  return growth * ((double)channels + operations) * 0x1p-24;
}

static bool accurate(int size, int64_t channels) { return error_bound(size, channels) <= DQ_WINOGRAD_ERROR; }

// Whether tiles of this size keep the bound on the error; in 8 bits whether they are exact.
static bool allowed(const dq_conv_plan *plan, int size) {
  return plan->float32 ? accurate(size, plan->shape.in_channels) : dq_winograd_int8_is_exact(plan, size);
}

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return !plan->half && p->groups == 1 && p->kernel_height == 3 && p->kernel_width == 3 && p->stride_height == 1 &&
         p->stride_width == 1 && p->dilation_height == 1 && p->dilation_width == 1 &&
         (plan->float32 || dq_winograd_int8_pays(plan)) && allowed(plan, 2);
}

// Estimates that no measurement in docs/experiments stands behind; results do not depend on them, only time does. The
// time of a multiply-add of the products, in multiply-adds, where a band fits the second-level cache and where it does
// not; operations of both transforms for each value of a tile, and how many times as much an output takes in 8 bits,
// where a multiply-add takes half; how much more products may take where each thread then has bands of its own; a
// weight that a band reads, or transforms.
static const double PRODUCT_IN_CACHE = 1.1, PRODUCT_BEYOND_CACHE = 1.5, TRANSFORM = 10, OWN_BANDS_WORTH = 1.2,
                    OUTPUTS_INT8 = 2.5, WEIGHT = 1, WEIGHT_INT8 = 0.25;

// Estimates for AVX-512 VNNI, from the steps of vgg16, resnet50 and unet_lgg_small on an AMD EPYC of family 26
// (docs/experiments/kernels.md): an operation of the transforms, what a vector of columns that is alone in its tile
// takes beyond one of two, and how many times as fast products of bytes are, which the costs of other algorithms count.
static const double TRANSFORM_VNNI = 16, ALONE = 0.4, BYTES = 1.75;

// Time in multiply-adds of whole vectors: products, transforms, weights brought from memory, where a band of `fit`
// bytes stays in the cache.
static double band_cost_in(const dq_conv_plan *plan, int size, int64_t tiles, int64_t fit) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t vectors = dq_ceil_div(tiles, DQ_COST_LANES);
  double in = (double)p->in_channels, out = (double)p->out_channels, v = (double)vectors;
  double count = (double)(side(size) * side(size)), rows = plan->float32 ? in + out : in / 2 + PANEL_ROWS;
  bool vnni = !plan->float32 && dq_winograd_int8_beside_bytes(plan);
  bool beyond = count * rows * v * DQ_COST_LANES * 4 > (double)fit;
  double each = beyond ? PRODUCT_BEYOND_CACHE : PRODUCT_IN_CACHE, alone = vnni && vectors % 2 ? ALONE : 0;
  double products = count * in * out * ((v + alone) * each + (plan->float32 ? WEIGHT : WEIGHT_INT8));
  double values = (in + (plan->float32 ? out : OUTPUTS_INT8 * out)) * v * count;
  return vnni ? BYTES * (products + TRANSFORM_VNNI * values) : products + TRANSFORM * values;
}
static double band_cost(const dq_conv_plan *plan, int size, int64_t tiles) {
  bool vnni = !plan->float32 && dq_winograd_int8_beside_bytes(plan);
  return band_cost_in(plan, size, tiles, plan->float32 ? BAND_BYTES : vnni ? BAND_BYTES_VNNI : BAND_BYTES_INT8);
}

// Whether values and sums of so many tiles take more memory than a band may where it does not fit a cache anyway: a
// plane of a million pixels would take hundreds of megabytes for each thread.
static bool is_too_large(const dq_conv_plan *plan, int size, int64_t tiles) {
  enum { MOST = 32 << 20 };
  const dq_conv_parameters *p = &plan->shape;
  const double words = plan->float32 ? (double)(p->in_channels + p->out_channels) : (double)p->in_channels / 2;
  return (double)(side(size) * side(size)) * words * (double)tiles * 4 > MOST;
}

// Chooses the rows of a band; returns the cost of the whole.
static double choose_rows(const dq_conv_plan *plan, int size, dq_conv_winograd_plan *tiles) {
  const dq_conv_parameters *p = &plan->shape;
  double least = 0;
  tiles->size = size;
  tiles->high = dq_ceil_div(p->out_height, size);
  tiles->wide = dq_ceil_div(p->out_width, size);
  for (int64_t rows = 1; rows <= tiles->high; rows++) {
    if (rows > 1 && is_too_large(plan, size, rows * tiles->wide)) break;
    int64_t whole = tiles->high / rows, rest = tiles->high % rows;
    double cost = (double)whole * band_cost(plan, size, rows * tiles->wide);
    if (rest) cost += band_cost(plan, size, rest * tiles->wide);
    if (rows > 1 && cost >= least) continue;
    least = cost;
    tiles->rows = rows;
  }
  return least * (double)p->batch;
}

static double choose_tiles(const dq_conv_plan *plan, dq_conv_winograd_plan *tiles) {
  dq_conv_winograd_plan larger;
  double least = choose_rows(plan, 2, tiles);
  if (!allowed(plan, 4)) return least;
  double cost = choose_rows(plan, 4, &larger);
  if (cost >= least) return least;
  *tiles = larger;
  return cost;
}

static double cost(const dq_conv_plan *plan) {
  dq_conv_winograd_plan tiles;
  return choose_tiles(plan, &tiles);
}

static void prepare(dq_conv_plan *plan) {
  plan->multiply = dq_kernel_find(plan->float32 ? DQ_OPERATION_f32_tile : DQ_OPERATION_i16_tile, plan->cpu);
  plan->word_values = plan->float32 ? 1 : 2;
  plan->group_words = dq_ceil_div(plan->shape.in_channels, plan->word_values);
  int64_t out = plan->shape.out_channels;
  plan->panel_rows = dq_ceil_div(out, dq_ceil_div(out, plan->multiply->rows));
  choose_tiles(plan, &plan->winograd);
  if (!plan->float32) dq_winograd_int8_prepare(plan);
  plan->winograd.input =
      dq_kernel_find(plan->float32 ? DQ_OPERATION_winograd_input : DQ_OPERATION_i16_winograd_input, plan->cpu);
  plan->winograd.output =
      dq_kernel_find(plan->float32 ? DQ_OPERATION_winograd_output : DQ_OPERATION_i32_winograd_output, plan->cpu);
  plan->winograd.rows = dq_min_i64(plan->winograd.high, dq_scaled(plan->winograd.rows, plan->shape.tuning.columns));
}

// ---- Packing ----
static int64_t place_words(const dq_conv_plan *plan) {
  return dq_conv_panels(plan) * plan->group_words * plan->panel_rows;
}

static size_t packed_words(const dq_conv_plan *plan) {
  if (!plan->float32) return DQ_CONV_HEADER_WORDS + dq_winograd_int8_packed_words(plan);
  return DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels) + dq_words(places(plan) * place_words(plan));
}

// U = G g G^T, in double.
static void transform_weights(int size, const float *weights, double *to) {
  static const double two[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  static const double four[6][3] = {
      {1. / 4, 0, 0},
      {-1. / 6, -1. / 6, -1. / 6},
      {-1. / 6, 1. / 6, -1. / 6},
      {1. / 24, 1. / 12, 1. / 6},
      {1. / 24, -1. / 12, 1. / 6},
      {0, 0, 1},
  };
  const double(*g)[3] = size == 2 ? two : four;
  for (int i = 0; i < side(size); i++) {
    double row[3];
    for (int x = 0; x < 3; x++)
      row[x] = g[i][0] * (double)weights[x] + g[i][1] * (double)weights[3 + x] + g[i][2] * (double)weights[6 + x];
    for (int j = 0; j < side(size); j++) *to++ = row[0] * g[j][0] + row[1] * g[j][1] + row[2] * g[j][2];
  }
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const dq_conv_parameters *p = &plan->shape;
  memset(packed, 0, packed_words(plan) * 4);
  if (!plan->float32) {
    dq_winograd_int8_pack(plan, weights, packed + DQ_CONV_HEADER_WORDS);
    return;
  }
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  float *first = (float *)packed + DQ_CONV_HEADER_WORDS + dq_words(p->out_channels);
  const float *from = weights;
  for (int64_t o = 0; o < p->out_channels; o++)
    for (int64_t c = 0; c < p->in_channels; c++, from += 9) {
      double transformed[36];
      transform_weights(plan->winograd.size, from, transformed);
      float *to = first + (o / plan->panel_rows * p->in_channels + c) * plan->panel_rows + o % plan->panel_rows;
      for (int64_t k = 0; k < places(plan); k++) to[k * place_words(plan)] = (float)transformed[k];
    }
}

// ---- Rooms ----
static int64_t band_columns(const dq_conv_plan *plan) {
  int64_t width = plan->multiply->columns;
  return dq_ceil_div(plan->winograd.rows * plan->winograd.wide, width) * width;
}
static int64_t plane_width(const dq_conv_plan *plan) { return plan->winograd.wide * plan->winograd.size + 2; }
static size_t plane_area(const dq_conv_plan *plan) {
  if (plan->float32) return 0;
  return dq_words((plan->winograd.rows * plan->winograd.size + 2) * plane_width(plan) + VECTORS);
}
static int64_t part_stride(const dq_conv_plan *plan) {
  return (plan->winograd.rows + 1) * plan->winograd.wide + VECTORS;
}
static size_t parts_area(const dq_conv_plan *plan) {
  return dq_words(plan->winograd.size * side(plan->winograd.size) * part_stride(plan));
}
static int64_t line_stride(const dq_conv_plan *plan) { return plan->winograd.size * band_columns(plan) + VECTORS; }
static size_t lines_area(const dq_conv_plan *plan) { return dq_words(plan->winograd.size * line_stride(plan)); }
static size_t rows_area(const dq_conv_plan *plan) {
  return dq_words(plan->winograd.rows * plan->winograd.size * plan->shape.out_width);
}
static size_t thread_area(const dq_conv_plan *plan) {
  size_t area = plane_area(plan) + parts_area(plan) + lines_area(plan);
  return plan->float32 ? area : area + rows_area(plan) + dq_winograd_int8_workspace(plan, band_columns(plan));
}
static int64_t value_stride(const dq_conv_plan *plan) { return band_columns(plan) * plan->group_words + SKEW; }
static int64_t sum_stride(const dq_conv_plan *plan) { return band_columns(plan) * plan->shape.out_channels + SKEW; }
static size_t band_area(const dq_conv_plan *plan) {
  return dq_words(places(plan) * (value_stride(plan) + (plan->float32 ? sum_stride(plan) : 0)));
}

// Whether each thread gets as many bands.
static bool is_even(const dq_conv_plan *plan, int threads) {
  enum { ENOUGH = 4 }; // bands per thread from which a last uneven round does not matter
  return bands(plan) % threads == 0 || bands(plan) >= ENOUGH * threads;
}

// Lower bands where each thread then has its own: it shares no step of a band with others, and what it reads it
// mostly wrote itself. That brings more than weights read once more and narrower panels cost.
static dq_conv_plan own_bands(const dq_conv_plan *plan, int threads) {
  const dq_conv_winograd_plan *tile = &plan->winograd;
  dq_conv_plan own = *plan;
  own.winograd.rows = dq_ceil_div(tile->high, dq_ceil_div(bands(plan), threads) * threads);
  if (is_even(plan, threads) || !is_even(&own, threads)) return *plan;
  double cost = (double)bands(&own) * band_cost(plan, tile->size, own.winograd.rows * tile->wide);
  double shared = (double)bands(plan) * band_cost(plan, tile->size, tile->rows * tile->wide);
  return cost <= OWN_BANDS_WORTH * shared ? own : *plan;
}

// The cost of `count` bands, as even as they can be, in float32 in several threads.
static double even_cost(const dq_conv_plan *plan, int64_t count) {
  const dq_conv_winograd_plan *tile = &plan->winograd;
  int64_t rows = tile->high / count, higher = tile->high % count; // bands that have a row more
  double cost = (double)(count - higher) * band_cost_in(plan, tile->size, rows * tile->wide, BAND_BYTES_SEVERAL);
  return cost + (double)higher * band_cost_in(plan, tile->size, (rows + 1) * tile->wide, BAND_BYTES_SEVERAL);
}

// Lower bands in float32 where those of several threads would fill more than their second-level caches: what one thread
// alone gets fast from the third level takes longer when all of them wait for it.
static dq_conv_plan plan_for(const dq_conv_plan *plan, int threads) {
  dq_conv_plan own = own_bands(plan, threads);
  bool fits = band_area(&own) * 4 <= BAND_BYTES_SEVERAL;
  if (threads == 1 || !plan->float32 || fits || plan->shape.tuning.columns || !is_even(&own, threads)) return own;
  int64_t high = own.winograd.high, best = bands(&own);
  double least = even_cost(plan, best);
  for (int64_t count = dq_ceil_div(best + 1, threads) * threads; count <= high; count += threads) {
    int64_t rows = dq_ceil_div(high, count);
    if (dq_ceil_div(high, rows) != count) continue;
    double cost = even_cost(plan, count);
    if (cost >= least) continue;
    least = cost;
    own.winograd.rows = rows;
  }
  return own;
}

static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  dq_conv_plan own = plan_for(plan, threads);
  return (size_t)threads * (thread_area(&own) + band_area(&own));
}

// ---- Running ----
typedef struct stage {
  const dq_conv_call *call;
  int64_t image, tasks;
  int64_t band; // of a stage that all threads share
} stage;

typedef struct band {
  const stage *stage;
  int64_t first, rows; // of tiles
  float *plane, *parts, *lines, *values, *sums;
} band;

// Rooms of a band: those of `thread`, and values and sums of `slot`. Several threads get bands as even as they can be:
// the last one, which may be lower, would leave its thread waiting.
static band band_of(const stage *s, int64_t index, int thread, int slot) {
  const dq_conv_plan *plan = s->call->plan;
  int threads = dq_pool_threads(s->call->pool);
  float *scratch = (float *)s->call->scratch;
  int64_t high = plan->winograd.high, even = threads > 1 ? bands(plan) : 0;
  band b = {.stage = s, .first = even ? high * index / even : index * plan->winograd.rows};
  b.rows = even ? high * (index + 1) / even - b.first : dq_min_i64(plan->winograd.rows, high - b.first);
  b.plane = scratch + (size_t)thread * thread_area(plan);
  b.parts = b.plane + plane_area(plan);
  b.lines = b.parts + parts_area(plan);
  b.values = scratch + (size_t)threads * thread_area(plan) + (size_t)slot * band_area(plan);
  b.sums = b.values + places(plan) * value_stride(plan);
  return b;
}

// The words of a plane that no line is stored in, and those behind the parts that whole vectors read.
static void clear_padding(const band *b) {
  const dq_conv_plan *plan = b->stage->call->plan;
  int64_t size = plan->winograd.size, wide = plan->winograd.wide, tiles = b->rows * wide;
  memset(b->plane, 0, plane_area(plan) * sizeof(float));
  int64_t read = wide + (int64_t)dq_round_up((size_t)tiles, (size_t)plan->multiply->columns);
  for (int64_t part = 0; part < size * side(plan->winograd.size); part++)
    memset(b->parts + part * part_stride(plan) + tiles, 0, (size_t)(read - tiles) * sizeof(float));
}

// Words of input channels from `from` to end - 1.
static void transform_channels(const band *b, int64_t from, int64_t end) {
  const dq_conv_call *call = b->stage->call;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  int64_t size = plan->winograd.size, top = b->first * size - p->pad_top;
  int64_t first = dq_min_i64(dq_max_i64(top, 0), p->in_height);
  int64_t last = dq_min_i64(p->in_height, top + b->rows * size + 2);
  dq_winograd_input form = {.size = plan->winograd.size,
                            .tiles_high = b->rows,
                            .tiles_wide = plan->winograd.wide,
                            .lines = dq_max_i64(0, last - first),
                            .width = p->in_width,
                            .taken = dq_max_i64(0, dq_min_i64(p->in_width, plane_width(plan) - p->pad_left)),
                            .pad_left = p->pad_left,
                            .pad_top = first - top,
                            .plane = b->plane,
                            .plane_width = plane_width(plan),
                            .parts = b->parts,
                            .part_stride = part_stride(plan),
                            .place_stride = value_stride(plan),
                            .panel = plan->multiply->columns,
                            .panel_stride = plan->multiply->columns * plan->group_words};
  clear_padding(b);
  for (int64_t c = from; c < end; c++) {
    form.to = b->values + c * form.panel;
    if (plan->float32) {
      form.rows = (const float *)(const void *)dq_conv_input_channel(call, b->stage->image, 0, c) + first * p->in_width;
      ((dq_winograd_input_function *)plan->winograd.input->function)(&form);
    } else {
      dq_winograd_int8_input(call, b->stage->image, c, first, &form);
    }
  }
}

static void multiply_places(const band *b, int64_t from, int64_t end) {
  const dq_conv_call *call = b->stage->call;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  int64_t columns = band_columns(plan), tiles = b->rows * plan->winograd.wide;
  const float *weights = (const float *)call->packed + DQ_CONV_HEADER_WORDS + dq_words(p->out_channels);
  dq_tile tile = {.a_stride = plan->panel_rows, .b_stride = plan->multiply->columns, .c_stride = columns};
  tile.depth = plan->group_words;
  for (int64_t place = from; place < end; place++)
    for (int64_t row = 0; row < p->out_channels; row += plan->panel_rows) {
      tile.a = weights + place * place_words(plan) + row * plan->group_words;
      tile.rows = (int)dq_min_i64(plan->panel_rows, p->out_channels - row);
      tile.ahead = (const float *)tile.a + tile.depth * tile.a_stride; // the next panel
      dq_winograd_multiply(plan, &tile, b->values + place * value_stride(plan),
                           b->sums + place * sum_stride(plan) + row * columns, tiles);
    }
}

// The transform of the sums of a channel, but for what depends on the channel.
static dq_winograd_output output_form(const band *b) {
  const dq_conv_plan *plan = b->stage->call->plan;
  dq_bounds bounds = dq_conv_bounds(plan);
  int64_t row = b->first * plan->winograd.size;
  return (dq_winograd_output){.size = plan->winograd.size,
                              .tiles_high = b->rows,
                              .tiles_wide = plan->winograd.wide,
                              .place_stride = sum_stride(plan),
                              .lines = b->lines,
                              .line_stride = line_stride(plan),
                              .rows = dq_min_i64(b->rows * plan->winograd.size, plan->shape.out_height - row),
                              .width = plan->shape.out_width,
                              .leaky = bounds.leaky,
                              .low = bounds.low,
                              .high = bounds.high,
                              .alpha = bounds.alpha};
}

static void transform_sums(const band *b, int64_t from, int64_t end) {
  const dq_conv_call *call = b->stage->call;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint32_t *packed = call->packed;
  int64_t row = b->first * plan->winograd.size;
  dq_winograd_output form = output_form(b);
  form.has_bias = packed[0] != 0;
  for (int64_t o = from; o < end; o++) {
    form.from = b->sums + o * band_columns(plan);
    form.to = (float *)call->output + ((b->stage->image * p->out_channels + o) * p->out_height + row) * p->out_width;
    form.bias = ((const float *)packed)[DQ_CONV_HEADER_WORDS + o];
    ((dq_winograd_output_function *)plan->winograd.output->function)(&form);
    dq_conv_end(call, form.to - (float *)call->output, form.rows * form.width);
  }
}

// 8 bits: panels of output channels.
static void make_outputs(const band *b, int64_t from, int64_t end) {
  const dq_conv_plan *plan = b->stage->call->plan;
  float *rows = b->lines + lines_area(plan);
  dq_winograd_band made = {.call = b->stage->call,
                           .image = b->stage->image,
                           .row = b->first * plan->winograd.size,
                           .tiles = b->rows * plan->winograd.wide,
                           .columns = band_columns(plan),
                           .values = b->values,
                           .value_stride = value_stride(plan),
                           .workspace = (uint32_t *)rows + rows_area(plan),
                           .form = output_form(b)};
  made.form.to = rows;
  dq_winograd_int8_outputs(&made, from, end);
}

static void band_task(void *argument, int64_t index, int thread) {
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  band b = band_of(s, index, thread, thread);
  transform_channels(&b, 0, plan->group_words);
  if (!plan->float32) {
    make_outputs(&b, 0, dq_conv_panels(plan));
    return;
  }
  multiply_places(&b, 0, places(plan));
  transform_sums(&b, 0, plan->shape.out_channels);
}

// One band by all threads: `task` takes its share of a step.
#define SHARED_STEP(name, step, count)                                                                                 \
  static void name(void *argument, int64_t task, int thread) {                                                         \
    const stage *s = argument;                                                                                         \
    band b = band_of(s, s->band, thread, 0);                                                                           \
    step(&b, (count)*task / s->tasks, (count) * (task + 1) / s->tasks);                                                \
  }
SHARED_STEP(share_channels, transform_channels, s->call->plan->group_words)
SHARED_STEP(share_places, multiply_places, places(s->call->plan))
SHARED_STEP(share_sums, transform_sums, s->call->plan->shape.out_channels)
SHARED_STEP(share_outputs, make_outputs, dq_conv_panels(s->call->plan))

static void share_band(stage *s) {
  dq_pool *pool = s->call->pool;
  dq_pool_run(pool, s->tasks, share_channels, s);
  if (s->call->plan->float32) {
    dq_pool_run(pool, s->tasks, share_places, s);
    dq_pool_run(pool, s->tasks, share_sums, s);
  } else {
    dq_pool_run(pool, s->tasks, share_outputs, s);
  }
}

static void run(const dq_conv_call *call) {
  enum { SHARES = 4 }; // of a step that threads share, for each
  int threads = dq_pool_threads(call->pool);
  dq_conv_plan adapted = plan_for(call->plan, threads);
  const dq_conv_plan *plan = &adapted;
  dq_conv_call mine = *call;
  mine.plan = plan;
  stage s = {.call = &mine, .tasks = SHARES * threads};
  bool own = is_even(plan, threads);
  for (s.image = 0; s.image < plan->shape.batch; s.image++) {
    if (own) dq_pool_run(call->pool, bands(plan), band_task, &s);
    for (s.band = 0; !own && s.band < bands(plan); s.band++) share_band(&s);
  }
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){plan->winograd.rows, 0};
}

const dq_conv_algorithm dq_conv_winograd = {.name = "winograd",
                                            .applicable = applicable,
                                            .ends = true,
                                            .cost = cost,
                                            .knobs = DQ_KNOB_COLUMNS,
                                            .prepare = prepare,
                                            .blocks = blocks,
                                            .packed_words = packed_words,
                                            .scratch_words = scratch_words,
                                            .pack = pack,
                                            .run = run};
