// Gradients of convolutions and matrix products. The gradient by the input of a convolution is a transposed convolution
// with the same weight; with strides of 1 it is a convolution with the weight turned around (dq.FlipWeight), for which
// there are kernels. The gradient by the weight has a row of its own, dq.ConvGradWeight, which also serves products of
// matrices whose rows are pictures.
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/conv_gradient/conv_gradient.h"
#include "lib/kernels/reference/shards.h"
#include "lib/ops/common/convolution.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/picture_sums.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/gradient/gradient_conv.h"

enum { GRADIENT, INPUT }; // inputs of ConvGradWeight

// ---- ConvGradWeight(gradient of the output, input of the convolution), with the attributes of the Conv ----

// Reads the shapes. Without spatial axes, for matrices pictures x channels, the result is the product of the transposed
// gradient and the input.
static dq_status read_shape(const dq_op *op, dq_convolution *c) {
  const dq_tensor *y = op->inputs[GRADIENT], *x = op->inputs[INPUT];
  *c = (dq_convolution){.batch = x->dims[0],
                        .groups = dq_node_int(op->node, "group", 1),
                        .in_channels = x->dims[1],
                        .out_channels = y->dims[1]};
  if (x->rank == 2) {
    c->window = (dq_window){.rank = 1, .input = {1}, .kernel = {1}, .stride = {1}, .dilation = {1}, .output = {1}};
    return DQ_OK;
  }
  DQ_TRY(dq_window_read(op, x, NULL, &c->window));
  for (int i = 0; i < c->window.rank; i++) c->window.output[i] = y->dims[2 + i];
  return DQ_OK;
}

static bool has_kernel(const dq_op *op) { return op->inputs[0]->type == DQ_F32 && op->inputs[0]->rank <= 4; }

// Sums over processes end in float64 where their blocks are, to be rounded as one process rounds them.
static int type_of_sums(const dq_conv_parameters *shape) { return dq_conv_gradient_is_wide(shape) ? DQ_F64 : DQ_F32; }

static dq_status infer_weight(dq_op *op) {
  dq_convolution c;
  DQ_TRY(read_shape(op, &c));
  int64_t dims[DQ_MAX_RANK] = {c.out_channels, c.in_channels / c.groups};
  for (int i = 0; i < c.window.rank; i++) dims[2 + i] = c.window.kernel[i];
  if (!has_kernel(op)) return dq_op_shape(op, 0, op->inputs[0]->type, op->inputs[0]->rank, dims);
  const dq_conv_parameters shape = dq_convolution_parameters(&c);
  return dq_blocks_shape(op, op->inputs[INPUT]->dims[0], type_of_sums(&shape), op->inputs[0]->rank, dims);
}

static int64_t first_shard(const dq_op *op) { return dq_first_shard(op, op->inputs[INPUT]->dims[0]); }

// Blocks and, where these are wide, sums.
static size_t blocks_bytes(const dq_op *op, const dq_conv_parameters *shape) {
  const int64_t arrays = dq_process_blocks(op, op->inputs[INPUT]->dims[0]) + dq_conv_gradient_is_wide(shape);
  if (!dq_adds_over_processes(op) || dq_leaves_blocks(op)) return 0;
  return dq_round_up((size_t)(arrays * dq_tensor_count(op->outputs[0])) * dq_dtype_size(type_of_sums(shape)), 64);
}

static dq_status prepare_weight(dq_op *op, dq_arena *arena) {
  dq_convolution c;
  (void)arena;
  if (!has_kernel(op)) return DQ_OK;
  DQ_TRY(read_shape(op, &c));
  dq_conv_parameters *shape = DQ_NEW(arena, dq_conv_parameters);
  if (!shape) return dq_fail_memory(op->error, sizeof *shape);
  *shape = dq_convolution_parameters(&c);
  op->state = shape;
  const int threads = dq_pool_threads(op->context->pool);
  op->scratch_bytes =
      dq_conv_gradient_scratch_bytes(shape, first_shard(op), op->context->cpu, threads) + blocks_bytes(op, shape);
  return DQ_OK;
}

typedef struct plain_job {
  dq_window w; // three axes
  int64_t batch, in_group, out_group, in_channels, out_channels, taps;
  const dq_op *op;
} plain_job;

// One picture's terms of a weight: `y` and `x` are planes, `k` the place in the kernel.
#define DEFINE_TERMS(name, type, multiply_add)                                                                         \
  static double name(const dq_window *w, const type *y, const type *x, const int64_t *k, double start) {               \
    dq_outputs on[3];                                                                                                  \
    int64_t o[3], at[3];                                                                                               \
    type sum = (type)start;                                                                                            \
    for (int i = 0; i < 3; i++) on[i] = dq_window_outputs(w, i, k[i]);                                                 \
    for (o[0] = on[0].first; o[0] < on[0].last; o[0]++)                                                                \
      for (o[1] = on[1].first; o[1] < on[1].last; o[1]++)                                                              \
        for (o[2] = on[2].first; o[2] < on[2].last; o[2]++) {                                                          \
          for (int i = 0; i < 3; i++) at[i] = o[i] * w->stride[i] - w->begin[i] + k[i] * w->dilation[i];               \
          sum = multiply_add(y[(o[0] * w->output[1] + o[1]) * w->output[2] + o[2]],                                    \
                             x[(at[0] * w->input[1] + at[1]) * w->input[2] + at[2]], sum);                             \
        }                                                                                                              \
    return (double)sum;                                                                                                \
  }
DEFINE_TERMS(terms_f32, float, fmaf)
DEFINE_TERMS(terms_f64, double, fma)

static double terms(const plain_job *j, int64_t n, int64_t out, int64_t in, const int64_t *k, double start) {
  const dq_window *w = &j->w;
  const int64_t y = (n * j->out_channels + out) * w->output[0] * w->output[1] * w->output[2];
  const int64_t x = (n * j->in_channels + in) * w->input[0] * w->input[1] * w->input[2];
  const void *gradient = j->op->inputs[GRADIENT]->data, *input = j->op->inputs[INPUT]->data;
  if (j->op->inputs[0]->type == DQ_F64)
    return terms_f64(w, (const double *)gradient + y, (const double *)input + x, k, start);
  return terms_f32(w, (const float *)gradient + y, (const float *)input + x, k, start);
}

// The weights between an output channel and an input channel of its group.
static void plain_weights(void *argument, int64_t index, int thread) {
  const plain_job *j = argument;
  const dq_window *w = &j->w;
  const int64_t out = index / j->in_group, in = out / j->out_group * j->in_group + index % j->in_group;
  (void)thread;
  for (int64_t tap = 0; tap < j->taps; tap++) {
    const int64_t k[] = {tap / w->kernel[2] / w->kernel[1], tap / w->kernel[2] % w->kernel[1], tap % w->kernel[2]};
    dq_shard_sums sums = {.depth = 0};
    for (int64_t n = 0; n < j->batch;) {
      double sum = 0;
      for (int64_t end = dq_min_i64(j->batch, n + DQ_SHARD); n < end; n++) sum = terms(j, n, out, in, k, sum);
      dq_shard_add(&sums, sum);
    }
    dq_tensor_set(j->op->outputs[0], index * j->taps + tap, dq_shard_total(&sums));
  }
}

static dq_status run_whole(dq_op *op, const dq_conv_parameters *shape) {
  const dq_conv_gradient job = {.shape = shape,
                                .gradient = op->inputs[GRADIENT]->data,
                                .input = op->inputs[INPUT]->data,
                                .weights = op->outputs[0]->data};
  dq_conv_gradient_run(&job, op->context->cpu, op->scratch, op->context->pool);
  return DQ_OK;
}

// The blocks of this process, then, unless these are left for later, the sums of those of all processes.
static dq_status run_blocks(dq_op *op, const dq_conv_parameters *shape) {
  const int64_t rows = op->inputs[INPUT]->dims[0], count = dq_tensor_count(op->outputs[0]);
  const bool wide = dq_conv_gradient_is_wide(shape);
  char *blocks = dq_leaves_blocks(op) ? op->outputs[0]->data : op->scratch;
  const dq_conv_gradient job = {.shape = shape,
                                .gradient = op->inputs[GRADIENT]->data,
                                .input = op->inputs[INPUT]->data,
                                .first_shard = first_shard(op),
                                .blocks = blocks};
  dq_conv_gradient_run(&job, op->context->cpu, (char *)op->scratch + blocks_bytes(op, shape), op->context->pool);
  if (dq_leaves_blocks(op)) return DQ_OK;
  double *sums = (double *)(void *)blocks + dq_process_blocks(op, rows) * count;
  DQ_TRY(dq_add_over_processes(op, rows, type_of_sums(shape), blocks, count, wide ? sums : op->outputs[0]->data));
  for (int64_t i = 0; wide && i < count; i++) dq_tensor_set(op->outputs[0], i, sums[i]);
  return DQ_OK;
}

static dq_status run_weight(dq_op *op) {
  dq_convolution c;
  if (has_kernel(op)) {
    if (!op->state) return dq_op_run_unprepared(op);
    return dq_adds_over_processes(op) ? run_blocks(op, op->state) : run_whole(op, op->state);
  }
  if (dq_adds_over_processes(op))
    return dq_op_fail(op, DQ_UNSUPPORTED, "weights with %d dimensions are not trained by several processes",
                      op->outputs[0]->rank);
  DQ_TRY(read_shape(op, &c));
  plain_job j = {.w = dq_window_three(&c.window),
                 .batch = c.batch,
                 .in_group = c.in_channels / c.groups,
                 .out_group = c.out_channels / c.groups,
                 .in_channels = c.in_channels,
                 .out_channels = c.out_channels,
                 .op = op};
  j.taps = j.w.kernel[0] * j.w.kernel[1] * j.w.kernel[2];
  dq_pool_run(op->context ? op->context->pool : NULL, c.out_channels * j.in_group, plain_weights, &j);
  return DQ_OK;
}

static const dq_attribute_rule weight_attributes[] = {
    DQ_WINDOW_ATTRIBUTES(false), {"group", DQ_ATTRIBUTE_INT, false}, DQ_PROCESSES_ATTRIBUTE, {0}};

const dq_operator dq_op_ConvGradWeight = {
    .name = "ConvGradWeight",
    .domain = "dq",
    .since = {1},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = weight_attributes,
    .pictures = DQ_PICTURES_SUMMED,
    .infer = infer_weight,
    .prepare = prepare_weight,
    .run = run_weight,
};

// ---- FlipWeight: O x I/groups x kernel to I x O/groups x kernel, every kernel turned around ----

static dq_status infer_flip(dq_op *op) {
  const dq_tensor *w = op->inputs[0];
  int64_t groups = dq_node_int(op->node, "group", 1), dims[DQ_MAX_RANK];
  for (int i = 2; i < w->rank; i++) dims[i] = w->dims[i];
  dims[0] = w->dims[1] * groups;
  dims[1] = w->dims[0] / groups;
  return dq_op_shape(op, 0, w->type, w->rank, dims);
}

// Rows of the result: of one input channel, its planes for all output channels of the group.
#define DEFINE_FLIP(name, type)                                                                                        \
  static void name(void *argument, int64_t first, int64_t end) {                                                       \
    const dq_op *op = argument;                                                                                        \
    const dq_tensor *w = op->inputs[0];                                                                                \
    const int64_t in_group = w->dims[1], out_group = op->outputs[0]->dims[1];                                          \
    const int64_t taps = dq_tensor_product(w, 2, w->rank), step = in_group * taps;                                     \
    type *to = (type *)op->outputs[0]->data + first * out_group * taps;                                                \
    for (int64_t in = first; in < end; in++) {                                                                         \
      const type *from = (const type *)w->data + in / in_group * out_group * step + in % in_group * taps;              \
      for (int64_t out = 0; out < out_group; out++, from += step, to += taps)                                          \
        for (int64_t tap = 0; tap < taps; tap++) to[tap] = from[taps - 1 - tap];                                       \
    }                                                                                                                  \
  }
DEFINE_FLIP(flip_F32, float)
DEFINE_FLIP(flip_F64, double)

static dq_status run_flip(dq_op *op) {
  const dq_tensor *to = op->outputs[0];
  const int64_t row = dq_tensor_product(to, 1, to->rank);
  dq_spans(op->context, to->dims[0], DQ_GRAIN / (row + 1) + 1, to->type == DQ_F64 ? flip_F64 : flip_F32, op);
  return DQ_OK;
}

const dq_operator dq_op_FlipWeight = {
    .name = "FlipWeight",
    .domain = "dq",
    .since = {1},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = (const dq_attribute_rule[]){{"group", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_flip,
    .run = run_flip,
};

// ---- Gradient functions of convolutions ----

// The attributes of a window and its groups, with the pads given.
static dq_node *with_window(const dq_gradient *gradient, dq_node *node, const dq_window *w, const int64_t *pads) {
  node = dq_gradient_ints(gradient, node, "kernel_shape", w->kernel, w->rank);
  node = dq_gradient_ints(gradient, node, "strides", w->stride, w->rank);
  node = dq_gradient_ints(gradient, node, "dilations", w->dilation, w->rank);
  node = dq_gradient_ints(gradient, node, "pads", pads, 2 * w->rank);
  return dq_gradient_int(gradient, node, "group", dq_node_int(gradient->op->node, "group", 1));
}

static void pads_of(const dq_window *w, int64_t *pads) {
  for (int i = 0; i < w->rank; i++) pads[i] = w->begin[i], pads[w->rank + i] = w->end[i];
}

// The gradient by the weight of a convolution from `input` to values with the gradient `from`.
static dq_value *by_weight(const dq_gradient *gradient, const dq_window *w, dq_value *from, dq_value *input) {
  int64_t pads[2 * DQ_MAX_SPATIAL];
  pads_of(w, pads);
  dq_node *node = dq_gradient_node(gradient, "dq.ConvGradWeight", 2, (dq_value *[]){from, input}, 1);
  return dq_gradient_result(with_window(gradient, node, w, pads));
}

static dq_value *by_bias(const dq_gradient *gradient, int bias) {
  int64_t dims[DQ_MAX_RANK] = {1, gradient->op->inputs[bias]->dims[0], 1, 1, 1};
  dq_node *sum = dq_gradient_node(gradient, "dq.SumTo", 1, &gradient->outputs[0], 1);
  sum = dq_gradient_ints(gradient, sum, "shape", dims, gradient->op->outputs[0]->rank);
  return dq_gradient_reshaped(gradient, dq_gradient_result(sum), bias);
}

// A convolution with the turned weight; NULL pads: there is none, as strides or padding are too large.
static bool flipped_pads(const dq_window *w, int64_t *pads) {
  for (int i = 0; i < w->rank; i++) {
    const int64_t reach = dq_window_extent(w, i) - 1;
    pads[i] = reach - w->begin[i];
    pads[w->rank + i] = w->input[i] + reach - w->output[i] - pads[i];
    if (w->stride[i] != 1 || pads[i] < 0 || pads[w->rank + i] < 0) return false;
  }
  return true;
}

static dq_value *by_input(const dq_gradient *gradient, const dq_window *w) {
  dq_value *from = gradient->outputs[0], *weight = dq_gradient_input(gradient, 1);
  int64_t pads[2 * DQ_MAX_SPATIAL], extra[DQ_MAX_SPATIAL];
  if (flipped_pads(w, pads)) {
    dq_node *flip = dq_gradient_node(gradient, "dq.FlipWeight", 1, &weight, 1);
    flip = dq_gradient_int(gradient, flip, "group", dq_node_int(gradient->op->node, "group", 1));
    dq_value *inputs[] = {from, dq_gradient_result(flip)};
    return dq_gradient_result(with_window(gradient, dq_gradient_node(gradient, "Conv", 2, inputs, 1), w, pads));
  }
  pads_of(w, pads);
  for (int i = 0; i < w->rank; i++) { // what the strides left over, beside padding that nothing saw
    const int64_t reached = (w->output[i] - 1) * w->stride[i] + dq_window_extent(w, i) - w->begin[i];
    pads[w->rank + i] = dq_max_i64(0, reached - w->input[i]);
    extra[i] = dq_max_i64(0, w->input[i] - reached);
  }
  dq_node *node = dq_gradient_node(gradient, "ConvTranspose", 2, (dq_value *[]){from, weight}, 1);
  node = with_window(gradient, node, w, pads);
  return dq_gradient_result(dq_gradient_ints(gradient, node, "output_padding", extra, w->rank));
}

dq_status dq_gradient_conv(const dq_gradient *gradient) {
  dq_convolution c;
  DQ_TRY(dq_convolution_read(gradient->op, 0, 1, 2, &c));
  if (gradient->op->inputs[1]->rank == 2)
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs a weight with a kernel");
  if (dq_gradient_wants(gradient, 0)) DQ_TRY(dq_gradient_set(gradient, 0, by_input(gradient, &c.window)));
  if (dq_gradient_wants(gradient, 1))
    DQ_TRY(dq_gradient_set(gradient, 1,
                           by_weight(gradient, &c.window, gradient->outputs[0], dq_gradient_input(gradient, 0))));
  if (dq_gradient_wants(gradient, 2)) DQ_TRY(dq_gradient_set(gradient, 2, by_bias(gradient, 2)));
  return DQ_OK;
}

// The gradient by the input is the convolution from the output to the input whose transpose the node is.
dq_status dq_gradient_conv_transpose(const dq_gradient *gradient, const dq_window *window) {
  dq_window w = *window;
  int64_t pads[2 * DQ_MAX_SPATIAL];
  dq_value *from = gradient->outputs[0];
  for (int i = 0; i < w.rank; i++) {
    w.input[i] = window->output[i], w.output[i] = window->input[i];
    const int64_t reached = (w.output[i] - 1) * w.stride[i] + dq_window_extent(&w, i) - w.begin[i];
    w.end[i] = dq_max_i64(0, reached - w.input[i]);
    if (w.input[i] - reached >= w.stride[i])
      return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs an output padding below the stride");
  }
  pads_of(&w, pads);
  if (dq_gradient_wants(gradient, 0)) {
    dq_node *node = dq_gradient_node(gradient, "Conv", 2, (dq_value *[]){from, dq_gradient_input(gradient, 1)}, 1);
    DQ_TRY(dq_gradient_set(gradient, 0, dq_gradient_result(with_window(gradient, node, &w, pads))));
  }
  if (dq_gradient_wants(gradient, 1))
    DQ_TRY(dq_gradient_set(gradient, 1, by_weight(gradient, &w, dq_gradient_input(gradient, 0), from)));
  if (dq_gradient_wants(gradient, 2)) DQ_TRY(dq_gradient_set(gradient, 2, by_bias(gradient, 2)));
  return DQ_OK;
}

// ---- Matrix products ----

static dq_value *product(const dq_gradient *gradient, dq_value *a, bool transpose_a, dq_value *b, bool transpose_b) {
  dq_node *node = dq_gradient_node(gradient, "Gemm", 2, (dq_value *[]){a, b}, 1);
  node = dq_gradient_int(gradient, node, "transA", transpose_a);
  return dq_gradient_result(dq_gradient_int(gradient, node, "transB", transpose_b));
}

// The gradient by B of op(A) op(B) with the gradient `from`, in the form that B is stored in. Rows of A are pictures
// where A is not transposed.
static dq_value *by_matrix(const dq_gradient *gradient, dq_value *from, bool transpose_a, bool transpose_b) {
  dq_value *a = dq_gradient_input(gradient, 0);
  if (!transpose_a)
    return dq_gradient_of_two(gradient, "dq.ConvGradWeight", transpose_b ? from : a, transpose_b ? a : from);
  return transpose_b ? product(gradient, from, true, a, true) : product(gradient, a, false, from, false);
}

// alpha op(A) op(B) + beta C
dq_status dq_gradient_gemm(const dq_gradient *gradient) {
  const dq_node *node = gradient->op->node;
  const bool ta = dq_node_int(node, "transA", 0) != 0, tb = dq_node_int(node, "transB", 0) != 0;
  const double alpha = (double)dq_node_float(node, "alpha", 1), beta = (double)dq_node_float(node, "beta", 1);
  dq_value *from = gradient->outputs[0], *b = dq_gradient_input(gradient, 1);
  dq_value *scaled = dq_gradient_wants(gradient, 0) || dq_gradient_wants(gradient, 1)
                         ? dq_gradient_scaled(gradient, from, alpha)
                         : NULL;
  if (dq_gradient_wants(gradient, 0))
    DQ_TRY(dq_gradient_set(gradient, 0,
                           ta ? product(gradient, b, tb, scaled, true) : product(gradient, scaled, false, b, !tb)));
  if (dq_gradient_wants(gradient, 1)) DQ_TRY(dq_gradient_set(gradient, 1, by_matrix(gradient, scaled, ta, tb)));
  if (!dq_gradient_wants(gradient, 2)) return DQ_OK;
  return dq_gradient_set(gradient, 2, dq_gradient_sum_to(gradient, dq_gradient_scaled(gradient, from, beta), 2));
}

// The last two axes exchanged.
static dq_value *exchanged(const dq_gradient *gradient, dq_value *x, int rank) {
  int64_t perm[DQ_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1, perm[rank - 1] = rank - 2;
  dq_node *node = dq_gradient_node(gradient, "Transpose", 1, &x, 1);
  return dq_gradient_result(dq_gradient_ints(gradient, node, "perm", perm, rank));
}

// The sum of a product of batches over those that broadcasting repeated of input `i`.
static dq_value *summed_product(const dq_gradient *gradient, dq_value *product, int i) {
  const dq_tensor *to = gradient->op->inputs[i], *y = gradient->op->outputs[0];
  bool same = to->rank == y->rank;
  for (int axis = 0; same && axis < to->rank - 2; axis++) same = to->dims[axis] == y->dims[axis];
  if (same) return product;
  dq_node *sum = dq_gradient_node(gradient, "dq.SumTo", 1, &product, 1);
  return dq_gradient_result(dq_gradient_ints(gradient, sum, "shape", to->dims, to->rank));
}

dq_status dq_gradient_matmul(const dq_gradient *gradient) {
  const dq_tensor *a = gradient->op->inputs[0], *b = gradient->op->inputs[1];
  dq_value *from = gradient->outputs[0];
  if (a->rank < 2 || b->rank < 2)
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs operands with two dimensions or more");
  if (a->rank == 2 && b->rank == 2) {
    if (dq_gradient_wants(gradient, 0))
      DQ_TRY(dq_gradient_set(gradient, 0, product(gradient, from, false, dq_gradient_input(gradient, 1), true)));
    return dq_gradient_wants(gradient, 1) ? dq_gradient_set(gradient, 1, by_matrix(gradient, from, false, false))
                                          : DQ_OK;
  }
  if (dq_gradient_wants(gradient, 0)) {
    dq_value *turned = exchanged(gradient, dq_gradient_input(gradient, 1), b->rank);
    dq_value *product = dq_gradient_of_two(gradient, "MatMul", from, turned);
    DQ_TRY(dq_gradient_set(gradient, 0, summed_product(gradient, product, 0)));
  }
  if (!dq_gradient_wants(gradient, 1)) return DQ_OK;
  dq_value *turned = exchanged(gradient, dq_gradient_input(gradient, 0), a->rank);
  return dq_gradient_set(gradient, 1,
                         summed_product(gradient, dq_gradient_of_two(gradient, "MatMul", turned, from), 1));
}
