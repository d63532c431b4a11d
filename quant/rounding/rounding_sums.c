// Samples of a layer's inputs and outputs, summed for adaptive rounding. Memory depends on the layer only.
#include <math.h>
#include <stdint.h>

#include "lib/base/sizes.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/ops/common/convolution.h"
#include "quant/rounding/rounding_layer.h"

// Samples in all: as many as keep the sums well conditioned.
enum { SAMPLES_AT_LEAST = 32768, SAMPLES_PER_INPUT = 32 };
enum { MOST_INPUTS = 4608 }; // of one output; the solver takes some inputs^2 doubles

bool dq_rounding_layer_of(dq_rounding_layer *layer, dq_node *node) {
  dq_product p;
  dq_taps taps;
  // A product without an input for a bias has nothing that takes up the means.
  bool fits = dq_float_product(node, &p) && dq_product_is_plain(&p) && p.at.bias != DQ_NO_INPUT;
  if (!fits || !dq_taps_of(&taps, node)) return false;
  const dq_value *bias = dq_node_input(node, p.at.bias);
  *layer = (dq_rounding_layer){.node = node,
                               .input = node->inputs[p.at.data]->name,
                               .output = node->outputs[0]->name,
                               .weight = node->inputs[p.at.weight]->constant,
                               .bias = bias ? bias->constant : NULL,
                               .product = p,
                               .groups = p.groups,
                               .outputs = p.outputs,
                               .inputs = dq_product_depth(&p),
                               .taps = taps};
  return layer->inputs <= MOST_INPUTS;
}

const dq_node *dq_dequantized_input(const dq_node *node, int i, int type) {
  const dq_value *value = dq_node_input(node, i);
  const dq_node *from = value ? value->producer : NULL;
  if (!from || !dq_node_is(from, "DequantizeLinear")) return NULL;
  const dq_tensor *elements = from->inputs[0]->constant;
  return elements && elements->type == type && from->inputs[1]->constant ? from : NULL;
}

dq_status dq_layer_sums_open(dq_layer_sums *sums, const dq_rounding_layer *layer, int64_t pictures, dq_arena *arena,
                             dq_error *error) {
  int64_t n = layer->inputs + 1, wanted = SAMPLES_PER_INPUT * n;
  if (wanted < SAMPLES_AT_LEAST) wanted = SAMPLES_AT_LEAST;
  sums->most = (wanted + pictures - 1) / pictures;
  sums->grams = DQ_NEW_ARRAY(arena, layer->groups * n * n, double);
  sums->responses = DQ_NEW_ARRAY(arena, layer->groups * layer->outputs * n, double);
  return sums->grams && sums->responses ? DQ_OK : dq_fail_memory(error, (size_t)(n * n) * sizeof(double));
}

// ---- Samples of one picture ----

// What one thread works with: of one group, inputs and outputs row by row, an element for each sample.
typedef struct workspace {
  float *x, *y;   // [inputs + 1][count], the last row being 1; [outputs][count]
  float *product; // of rows with rows of x
  void *scratch;  // of that product
} workspace;

typedef struct samples {
  const dq_rounding_layer *layer;
  const dq_layer_sums *sums;
  const dq_tensor *input, *output;
  dq_window window;  // three axes; of a convolution
  int64_t positions; // of the output
  int64_t count;     // taken
  int64_t *places;   // [count]: positions
  int64_t *origins;  // [count][3]: where the kernel begins in the input
  workspace *spaces; // by thread
  unsigned cpu;
  dq_pool *pool; // of the loops in one group; NULL: groups are shared among the threads
} samples;

// What one weight of the kernel sees at all samples; padding is 0.
static void read_tap(const samples *set, int64_t channel, int64_t tap, float *to) {
  const dq_window *w = &set->window;
  const int64_t *size = w->input, *kernel = w->kernel;
  const int64_t by[] = {tap / (kernel[1] * kernel[2]) * w->dilation[0], tap / kernel[2] % kernel[1] * w->dilation[1],
                        tap % kernel[2] * w->dilation[2]};
  const float *from = (const float *)set->input->data + channel * size[0] * size[1] * size[2];
  for (int64_t s = 0; s < set->count; s++) {
    const int64_t *origin = &set->origins[3 * s];
    int64_t i = origin[0] + by[0], j = origin[1] + by[1], k = origin[2] + by[2];
    bool inside = i >= 0 && i < size[0] && j >= 0 && j < size[1] && k >= 0 && k < size[2];
    to[s] = inside ? from[(i * size[1] + j) * size[2] + k] : 0;
  }
}

typedef struct gathered_group {
  const samples *set;
  const workspace *space;
  int64_t group;
} gathered_group;

// A row of x, or one of y behind them.
static void gather_row(void *argument, int64_t row, int thread) {
  (void)thread;
  const gathered_group *g = argument;
  const samples *set = g->set;
  const dq_rounding_layer *layer = set->layer;
  int64_t n = layer->inputs, taps = layer->product.taps, count = set->count;
  float *to = row <= n ? g->space->x + row * count : g->space->y + (row - n - 1) * count;
  if (row == n) {
    for (int64_t s = 0; s < count; s++) to[s] = 1;
  } else if (row < n && set->window.rank) {
    read_tap(set, g->group * (set->input->dims[1] / layer->groups) + row / taps, row % taps, to);
  } else if (row < n) {
    const float *from = set->input->data;
    for (int64_t s = 0; s < count; s++) to[s] = from[set->places[s] * n + row];
  } else {
    const float *from = set->output->data;
    int64_t at = g->group * layer->outputs + row - n - 1, all = layer->groups * layer->outputs;
    for (int64_t s = 0; s < count; s++)
      to[s] = from[set->window.rank ? at * set->positions + set->places[s] : set->places[s] * all + at];
  }
}

// ---- Products ----

static dq_gemm_parameters product_shape(const samples *set, int64_t rows) {
  int64_t n = set->layer->inputs + 1, count = set->count;
  return (dq_gemm_parameters){.rows = rows,
                              .columns = n,
                              .depth = count,
                              .transpose_b = true,
                              .a_stride = count,
                              .b_stride = count,
                              .out_stride = n,
                              .alpha = 1};
}

// Adds A X^T of the samples to `to`; A has `rows` rows, of X or Y. The kernels give the same bits on every machine.
static void add_products(const samples *set, const workspace *space, const float *a, int64_t rows, double *to) {
  const dq_gemm_parameters shape = product_shape(set, rows);
  dq_gemm_f32(&shape, set->cpu, a, space->x, NULL, space->product, space->scratch, set->pool);
  for (int64_t i = 0; i < rows * shape.columns; i++) to[i] += (double)space->product[i];
}

static void add_group(void *argument, int64_t group, int thread) {
  const samples *set = argument;
  const workspace *space = &set->spaces[thread];
  int64_t n = set->layer->inputs + 1, outputs = set->layer->outputs;
  gathered_group gathered = {set, space, group};
  dq_pool_run(set->pool, n + outputs, gather_row, &gathered);
  add_products(set, space, space->x, n, set->sums->grams + group * n * n);
  add_products(set, space, space->y, outputs, set->sums->responses + group * outputs * n);
}

// ---- One picture ----

static dq_status find_places(samples *set, int64_t picture, dq_arena *arena, dq_error *error) {
  const dq_window *w = &set->window;
  set->count = set->positions < set->sums->most ? set->positions : set->sums->most;
  set->places = DQ_NEW_ARRAY(arena, set->count, int64_t);
  set->origins = DQ_NEW_ARRAY(arena, 3 * set->count, int64_t);
  if (!set->places || !set->origins) return dq_fail_memory(error, 0);
  // The golden ratio spreads the phases of the pictures evenly.
  double phase = set->count < set->positions ? fmod((double)picture * 0.6180339887498949, 1) : 0;
  for (int64_t s = 0; s < set->count; s++) {
    int64_t at = (int64_t)(((double)s + phase) * (double)set->positions / (double)set->count);
    set->places[s] = at;
    if (!w->rank) continue;
    const int64_t axes[] = {at / (w->output[1] * w->output[2]), at / w->output[2] % w->output[1], at % w->output[2]};
    for (int i = 0; i < 3; i++) set->origins[3 * s + i] = axes[i] * w->stride[i] - w->begin[i];
  }
  return DQ_OK;
}

static size_t scratch_bytes(const samples *set, int64_t rows) {
  const dq_gemm_parameters shape = product_shape(set, rows);
  return dq_gemm_f32_scratch_bytes(&shape, set->cpu, dq_pool_threads(set->pool));
}

static dq_status open_spaces(samples *set, int threads, dq_arena *arena, dq_error *error) {
  int64_t n = set->layer->inputs + 1, outputs = set->layer->outputs, rows = n > outputs ? n : outputs;
  size_t of_inputs = scratch_bytes(set, n), of_outputs = scratch_bytes(set, outputs);
  size_t bytes = of_inputs > of_outputs ? of_inputs : of_outputs;
  set->spaces = DQ_NEW_ARRAY(arena, threads, workspace);
  for (int t = 0; set->spaces && t < threads; t++) {
    char *scratch = dq_arena_alloc(arena, bytes + 64);
    workspace *space = &set->spaces[t];
    *space = (workspace){.x = DQ_NEW_ARRAY(arena, n * set->count, float),
                         .y = DQ_NEW_ARRAY(arena, outputs * set->count, float),
                         .product = DQ_NEW_ARRAY(arena, rows * n, float)};
    if (!scratch || !space->x || !space->y || !space->product)
      return dq_fail_memory(error, (size_t)(rows * n) * sizeof(float));
    space->scratch = (void *)dq_round_up((uintptr_t)scratch, 64);
  }
  return set->spaces ? DQ_OK : dq_fail_memory(error, 0);
}

static dq_status add_picture(samples *set, int64_t picture, const dq_context *context, dq_arena *arena,
                             dq_error *error) {
  const dq_rounding_layer *layer = set->layer;
  dq_convolution shape;
  bool shared = layer->groups > 1;
  if (layer->product.kind == DQ_CONVOLUTION) {
    const dq_tensor *inputs[] = {set->input, layer->weight};
    dq_op op = {.context = context, .node = layer->node, .input_count = 2, .inputs = inputs, .error = error};
    DQ_TRY(dq_convolution_read(&op, 0, 1, DQ_NO_INPUT, &shape));
    set->window = dq_window_three(&shape.window);
    set->positions = set->window.output[0] * set->window.output[1] * set->window.output[2];
  } else {
    set->positions = dq_tensor_count(set->input) / layer->inputs;
  }
  set->pool = shared ? NULL : context->pool;
  DQ_TRY(find_places(set, picture, arena, error));
  DQ_TRY(open_spaces(set, shared ? dq_pool_threads(context->pool) : 1, arena, error));
  dq_pool_run(shared ? context->pool : NULL, layer->groups, add_group, set);
  return DQ_OK;
}

dq_status dq_layer_sums_add(dq_layer_sums *sums, const dq_rounding_layer *layer, const dq_tensor *input,
                            const dq_tensor *output, int64_t picture, const dq_context *context, dq_error *error) {
  samples set = {.layer = layer, .sums = sums, .input = input, .output = output, .cpu = context->cpu};
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = add_picture(&set, picture, context, arena, error);
  dq_arena_free(arena);
  return status;
}
