// Samples of a layer's inputs and outputs, summed for adaptive rounding. Memory depends on the layer only.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kernels/gemm/gemm_api.h"
#include "lib/ops/convolution.h"
#include "quant/int8/rounding_internal.h"

// Samples in all: as many as keep the sums well conditioned.
enum { SAMPLES_AT_LEAST = 32768, SAMPLES_PER_INPUT = 32 };
enum { MOST_INPUTS = 4608 }; // of one output; the solver takes some inputs^2 doubles

bool dq_rounding_layer_of(dq_rounding_layer *layer, dq_node *node) {
  dq_product p;
  dq_taps taps;
  // Without an input for a bias there is nothing that takes the means up.
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

typedef struct samples {
  const dq_rounding_layer *layer;
  const dq_tensor *input, *output;
  dq_window window;  // three axes; of a convolution
  int64_t positions; // of the output
  int64_t count;     // taken
  double phase;      // where the first lies between two
  float *x, *y;      // count x (inputs + 1) and count x outputs, of one group
} samples;

static int64_t position_of(const samples *set, int64_t s) {
  return (int64_t)(((double)s + set->phase) * (double)set->positions / (double)set->count);
}

// What the kernel sees at one output position, channel by channel as the weight has it; padding is 0.
static void read_patch(const samples *s, int64_t group, int64_t position, float *to) {
  const dq_window *w = &s->window;
  int64_t at[3] = {position / (w->output[1] * w->output[2]), position / w->output[2] % w->output[1],
                   position % w->output[2]};
  int64_t plane = w->input[0] * w->input[1] * w->input[2];
  int64_t channels = s->input->dims[1] / s->layer->groups;
  const float *from = (const float *)s->input->data + group * channels * plane;
  for (int64_t c = 0; c < channels; c++, from += plane)
    for (int64_t a = 0; a < w->kernel[0]; a++)
      for (int64_t b = 0; b < w->kernel[1]; b++)
        for (int64_t d = 0; d < w->kernel[2]; d++) {
          int64_t i = at[0] * w->stride[0] - w->begin[0] + a * w->dilation[0];
          int64_t j = at[1] * w->stride[1] - w->begin[1] + b * w->dilation[1];
          int64_t k = at[2] * w->stride[2] - w->begin[2] + d * w->dilation[2];
          bool inside = i >= 0 && i < w->input[0] && j >= 0 && j < w->input[1] && k >= 0 && k < w->input[2];
          *to++ = inside ? from[(i * w->input[1] + j) * w->input[2] + k] : 0;
        }
}

static void read_sample(const samples *set, int64_t group, int64_t s) {
  int64_t position = position_of(set, s), n = set->layer->inputs, outputs = set->layer->outputs;
  float *x = set->x + s * (n + 1), *y = set->y + s * outputs;
  if (set->window.rank) read_patch(set, group, position, x);
  else memcpy(x, (const float *)set->input->data + position * n, (size_t)n * sizeof *x);
  x[n] = 1;
  const float *from = set->output->data;
  for (int64_t o = 0, all = set->layer->groups * outputs; o < outputs; o++) {
    int64_t at = group * outputs + o;
    y[o] = set->window.rank ? from[at * set->positions + position] : from[position * all + at];
  }
}

static dq_status open_samples(samples *s, const dq_layer_sums *sums, int64_t picture, const dq_context *context,
                              dq_error *error) {
  const dq_rounding_layer *layer = s->layer;
  dq_convolution shape;
  if (layer->product.kind == DQ_CONVOLUTION) {
    const dq_tensor *inputs[] = {s->input, layer->weight};
    dq_op op = {.context = context, .node = layer->node, .input_count = 2, .inputs = inputs, .error = error};
    DQ_TRY(dq_convolution_read(&op, 0, 1, DQ_NO_INPUT, &shape));
    s->window = dq_window_three(&shape.window);
    s->positions = s->window.output[0] * s->window.output[1] * s->window.output[2];
  } else {
    s->positions = dq_tensor_count(s->input) / layer->inputs;
  }
  s->count = s->positions < sums->most ? s->positions : sums->most;
  // The golden ratio spreads the phases of the pictures evenly.
  s->phase = s->count < s->positions ? fmod((double)picture * 0.6180339887498949, 1) : 0;
  s->x = dq_context_alloc(context, (size_t)(s->count * (layer->inputs + 1)) * sizeof *s->x);
  s->y = dq_context_alloc(context, (size_t)(s->count * layer->outputs) * sizeof *s->y);
  return s->x && s->y ? DQ_OK : dq_fail_memory(error, 0);
}

// ---- Products ----

// to += A^T X of the samples, A being X or Y with so many columns, by the kernels whose bits are the same on
// every machine.
static dq_status add_products(const samples *s, const float *a, int64_t columns, double *to, const dq_context *context,
                              dq_pool *pool, dq_error *error) {
  int64_t n = s->layer->inputs + 1;
  dq_gemm_parameters shape = {.rows = columns,
                              .columns = n,
                              .depth = s->count,
                              .transpose_a = true,
                              .a_stride = columns,
                              .b_stride = n,
                              .out_stride = n,
                              .alpha = 1};
  size_t bytes = dq_gemm_f32_scratch_bytes(&shape, context->cpu, dq_pool_threads(pool));
  float *product = dq_context_alloc(context, (size_t)(columns * n) * sizeof *product);
  void *scratch = aligned_alloc(64, (bytes | 63) + 1);
  dq_status status = product && scratch ? DQ_OK : dq_fail_memory(error, (size_t)(columns * n) * sizeof *product);
  if (status == DQ_OK) {
    dq_gemm_f32(&shape, context->cpu, a, s->x, NULL, product, scratch, pool);
    for (int64_t i = 0; i < columns * n; i++) to[i] += (double)product[i];
  }
  free(scratch);
  dq_budget_free(product);
  return status;
}

dq_status dq_layer_sums_add(dq_layer_sums *sums, const dq_rounding_layer *layer, const dq_tensor *input,
                            const dq_tensor *output, int64_t picture, const dq_context *context, dq_error *error) {
  samples set = {.layer = layer, .input = input, .output = output};
  dq_status status = open_samples(&set, sums, picture, context, error);
  int64_t n = layer->inputs + 1, outputs = layer->outputs;
  dq_pool *pool = layer->groups > 1 ? NULL : context->pool;
  for (int64_t g = 0; status == DQ_OK && g < layer->groups; g++) {
    for (int64_t s = 0; s < set.count; s++) read_sample(&set, g, s);
    status = add_products(&set, set.x, n, sums->grams + g * n * n, context, pool, error);
    if (status == DQ_OK)
      status = add_products(&set, set.y, outputs, sums->responses + g * outputs * n, context, pool, error);
  }
  dq_budget_free(set.y);
  dq_budget_free(set.x);
  return status;
}
