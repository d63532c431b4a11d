// ConvTranspose. Each output element gathers, kernel position by kernel position, products of the input with the
// weight: one matrix product per group and picture (over input channels), whose rows are then added into the output
// where the kernel position puts them.
#include <inttypes.h>
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/ops/common/convolution.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient_conv.h"

enum { INPUT, WEIGHT, BIAS };

// Input N x C x window.input, weight C x M/groups x kernel, output N x M x window.output. The window's axes are those
// of a convolution from output to input: input position i reaches the output positions i * stride - begin + k *
// dilation.
typedef struct transposed {
  dq_window window;
  int64_t batch, groups, in_channels, out_channels;
} transposed;

// What the weight tells alone; *channels: those of the output.
static dq_status check_weight(const dq_op *op, const dq_tensor *w, int64_t *channels) {
  DQ_TRY(dq_check_weight(op, w));
  DQ_TRY(dq_check_groups(op, w->dims[0], "input"));
  *channels = w->dims[1] * dq_node_int(op->node, "group", 1); // no more than the weight has elements
  return dq_check_bias(op, dq_op_input(op, BIAS), *channels);
}

static dq_status check_shapes(const dq_op *op, transposed *t) {
  const dq_tensor *x = op->inputs[INPUT], *w = op->inputs[WEIGHT];
  char text[DQ_SHAPE_TEXT], other[DQ_SHAPE_TEXT];
  if (x->rank < 3 || w->rank != x->rank || w->dims[0] != x->dims[1])
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "input has shape %s and weight %s, expected batch x channels x spatial "
                      "dimensions and channels x output channels per group x kernel",
                      dq_tensor_shape_text(x, text, sizeof text), dq_tensor_shape_text(w, other, sizeof other));
  t->batch = x->dims[0];
  t->in_channels = x->dims[1];
  t->groups = dq_node_int(op->node, "group", 1);
  return check_weight(op, w, &t->out_channels);
}

// A list of one number at least `least` per axis; NULL when absent. output_shape may have batch and channels in front.
static dq_status read_list(const dq_op *op, const char *name, int rank, bool skip_front, int64_t least,
                           const int64_t **list) {
  int count;
  *list = dq_node_ints(op->node, name, &count);
  if (!*list || count == 0) {
    *list = NULL;
    return DQ_OK;
  }
  if (count == rank + 2 && skip_front) {
    *list += 2;
    count = rank;
  }
  if (count != rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' has %d elements, expected %d", name, count, rank);
  for (int i = 0; i < rank; i++)
    if ((*list)[i] < least || (*list)[i] > INT32_MAX)
      return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' holds %" PRId64 ", expected %" PRId64 " to %d", name,
                        (*list)[i], least, INT32_MAX);
  return DQ_OK;
}

// Sizes of one axis, by the formulas of the ONNX specification. `wanted` is 0 when output_shape is not given. SAME asks
// for input * stride, which an extent below the stride cannot fill: then the output is as large as the windows reach,
// as in ONNX's own shape inference.
static dq_status read_axis(const dq_op *op, dq_window *w, int axis, dq_auto_pad auto_pad, int64_t extra,
                           int64_t wanted) {
  // All terms fit 32 bits, so the sums cannot overflow.
  int64_t full = (w->input[axis] - 1) * w->stride[axis] + extra + dq_window_extent(w, axis);
  bool same = auto_pad == DQ_PAD_SAME_UPPER || auto_pad == DQ_PAD_SAME_LOWER;
  if (auto_pad != DQ_PAD_NOTSET && (w->begin[axis] || w->end[axis]))
    return dq_op_fail(op, DQ_BAD_INPUT, "both 'auto_pad' %s and 'pads' are given",
                      dq_node_string(op->node, "auto_pad", ""));
  if (wanted || same) {
    int64_t total = full - (wanted ? wanted : w->input[axis] * w->stride[axis]);
    if (total < 0) total = 0;
    w->begin[axis] = auto_pad == DQ_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->end[axis] = total - w->begin[axis];
  }
  w->output[axis] = wanted ? wanted : full - w->begin[axis] - w->end[axis];
  if (w->output[axis] < 1 || w->output[axis] > INT32_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "output would have size %" PRId64 " along spatial axis %d: input %" PRId64 ", kernel %" PRId64
                      ", stride %" PRId64 ", pads %" PRId64 " and %" PRId64,
                      w->output[axis], axis, w->input[axis], w->kernel[axis], w->stride[axis], w->begin[axis],
                      w->end[axis]);
  return DQ_OK;
}

// All that is told before the size of the input is known.
static dq_status read_window(const dq_op *op, const dq_tensor *w, dq_window *window, const int64_t **extra,
                             const int64_t **wanted) {
  DQ_TRY(dq_window_check(op, w->rank - 2, w->dims + 2, window));
  DQ_TRY(read_list(op, "output_padding", window->rank, false, 0, extra));
  return read_list(op, "output_shape", window->rank, true, 1, wanted);
}

static dq_status check(const dq_op *op) {
  const dq_tensor *w = op->inputs[WEIGHT];
  const int64_t *extra, *wanted;
  int64_t channels;
  dq_window window;
  if (w->rank < 0) return dq_check_groups(op, 0, "input");
  DQ_TRY(check_weight(op, w, &channels));
  return read_window(op, w, &window, &extra, &wanted);
}

static dq_status read_transposed(const dq_op *op, transposed *t) {
  const dq_tensor *x = op->inputs[INPUT], *w = op->inputs[WEIGHT];
  const int64_t *extra, *wanted;
  dq_auto_pad auto_pad;
  DQ_TRY(check_shapes(op, t));
  dq_window *window = &t->window;
  DQ_TRY(read_window(op, w, window, &extra, &wanted));
  DQ_TRY(dq_window_auto_pad(op, &auto_pad));
  for (int i = 0; i < window->rank; i++) {
    window->input[i] = x->dims[2 + i];
    if (window->input[i] < 1 || window->input[i] > INT32_MAX)
      return dq_op_fail(op, DQ_BAD_INPUT, "input has size %" PRId64 " along spatial axis %d, expected 1 or more",
                        window->input[i], i);
    DQ_TRY(read_axis(op, window, i, auto_pad, extra ? extra[i] : 0, wanted ? wanted[i] : 0));
  }
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  int type = op->inputs[INPUT]->type;
  int64_t dims[DQ_MAX_RANK];
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->type != type)
      return dq_op_fail(op, DQ_BAD_INPUT, "input has type %s but %s has %s; expected one type", dq_dtype_name(type),
                        i == WEIGHT ? "weight" : "bias", dq_dtype_name(op->inputs[i]->type));
  transposed t;
  DQ_TRY(read_transposed(op, &t));
  dims[0] = t.batch;
  dims[1] = t.out_channels;
  for (int i = 0; i < t.window.rank; i++) dims[2 + i] = t.window.output[i];
  return dq_op_shape(op, 0, type, 2 + t.window.rank, dims);
}

// ---- Running ----

// The input positions from `first` to end - 1 of a row that a kernel column puts inside of the output, from element
// `to` on of a row whose columns are parted by their remainder by the stride, `pitch` elements for each.
typedef struct tap_column {
  int64_t first, end, to;
} tap_column;

// Some output channels of one picture and group, so many that the products stay in the cache: `columns` is [out
// channels][taps][positions of the input]. With one input channel in a group: all channels; no product is stored.
typedef struct job {
  dq_window window;                   // three axes
  int64_t out_channels;               // of this job
  int64_t group_outputs, in_channels; // of the group
  int64_t taps, positions, out_plane;
  int64_t pitch;                     // of a row that is parted by the stride
  const tap_column *reached;         // [kernel columns]
  bool direct;                       // one input channel in a group
  const void *weight, *input, *bias; // of the first channel; bias may be NULL
  void *columns, *output;
  char *rows;        // for each thread a plane of the output in such rows
  size_t rows_bytes; // of a thread
} job;

// Input positions [*first, *last) along an axis that kernel step `k` puts inside the output.
static void reached(const dq_window *w, int axis, int64_t k, int64_t *first, int64_t *last) {
  int64_t offset = k * w->dilation[axis] - w->begin[axis], stride = w->stride[axis];
  int64_t from = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t span = w->output[axis] - offset;
  int64_t to = span <= 0 ? 0 : (span + stride - 1) / stride;
  *last = to < w->input[axis] ? to : w->input[axis];
  *first = from < *last ? from : *last;
}

static tap_column tap_column_of(const dq_window *w, int64_t k, int64_t pitch) {
  tap_column column;
  reached(w, 2, k, &column.first, &column.end);
  const int64_t at = column.first * w->stride[2] + k * w->dilation[2] - w->begin[2];
  column.to = column.first < column.end ? at % w->stride[2] * pitch + at / w->stride[2] : 0;
  return column;
}

static int64_t phases(const job *j) { return dq_min_i64(j->window.stride[2], j->window.output[2]); }
static int64_t row_elements(const job *j) { return j->pitch * phases(j); }
static int64_t row_count(const job *j) { return j->window.output[0] * j->window.output[1]; }

// Adds one tap's plane into the rows of an output plane: products, or with `weight` (NULL: none) the input times its
// element, whose products are rounded as a chain of one is.
#define DQ_ADD_TAP(name, type)                                                                                         \
  static void name(const job *j, const int64_t *k, const type *from, const type *weight, type *rows) {                 \
    const dq_window *w = &j->window;                                                                                   \
    const tap_column c = j->reached[k[2]];                                                                             \
    const int64_t count = c.end - c.first;                                                                             \
    int64_t first[2], last[2];                                                                                         \
    for (int i = 0; i < 2; i++) reached(w, i, k[i], &first[i], &last[i]);                                              \
    for (int64_t z = first[0]; z < last[0]; z++)                                                                       \
      for (int64_t y = first[1]; y < last[1]; y++) {                                                                   \
        const int64_t out_z = z * w->stride[0] + k[0] * w->dilation[0] - w->begin[0];                                  \
        const int64_t out_y = y * w->stride[1] + k[1] * w->dilation[1] - w->begin[1];                                  \
        const type *terms = from + (z * w->input[1] + y) * w->input[2] + c.first;                                      \
        type *to = rows + (out_z * w->output[1] + out_y) * row_elements(j) + c.to;                                     \
        if (weight) _Pragma("GCC ivdep") for (int64_t x = 0; x < count; x++) to[x] += *weight * terms[x];              \
        else _Pragma("GCC ivdep") for (int64_t x = 0; x < count; x++) to[x] += terms[x];                               \
      }                                                                                                                \
  }

// One plane of the output: taps in ascending order from +0, then the bias.
#define DQ_ADD_TAPS(name, type, add_tap)                                                                               \
  static void name(void *argument, int64_t channel, int thread) {                                                      \
    const job *j = argument;                                                                                           \
    const dq_window *w = &j->window;                                                                                   \
    const int64_t kernel = channel % j->out_channels * j->taps, plane = channel / j->group_outputs;                    \
    const type *weight = j->direct ? (const type *)j->weight + kernel : NULL, *bias = j->bias;                         \
    const type *from = j->direct ? (const type *)j->input + plane * j->positions                                       \
                                 : (const type *)j->columns + channel * j->taps * j->positions;                        \
    const type shift = bias ? bias[channel % j->out_channels] : 0;                                                     \
    type *rows = (type *)(void *)(j->rows + (size_t)thread * j->rows_bytes);                                           \
    type *to = (type *)j->output + channel * j->out_plane;                                                             \
    int64_t k[3];                                                                                                      \
    for (int64_t i = 0; i < row_count(j) * row_elements(j); i++) rows[i] = 0;                                          \
    for (int64_t tap = 0; tap < j->taps; tap++, from += j->direct ? 0 : j->positions) {                                \
      k[0] = tap / w->kernel[2] / w->kernel[1], k[1] = tap / w->kernel[2] % w->kernel[1], k[2] = tap % w->kernel[2];   \
      add_tap(j, k, from, weight ? weight + tap : NULL, rows);                                                         \
    }                                                                                                                  \
    for (int64_t i = 0; bias && i < row_count(j) * row_elements(j); i++) rows[i] += shift;                             \
    for (int64_t row = 0; row < row_count(j); row++, rows += row_elements(j), to += w->output[2])                      \
      for (int64_t phase = 0; phase < phases(j); phase++)                                                              \
        for (int64_t x = phase, i = phase * j->pitch; x < w->output[2]; x += w->stride[2]) to[x] = rows[i++];          \
  }

DQ_ADD_TAP(add_tap_f32, float)
DQ_ADD_TAP(add_tap_f64, double)
DQ_ADD_TAPS(add_taps_f32, float, add_tap_f32)
DQ_ADD_TAPS(add_taps_f64, double, add_tap_f64)

// Products of one output channel in double.
static void multiply_f64(void *argument, int64_t channel, int thread) {
  const job *j = argument;
  (void)thread;
  double *out = (double *)j->columns + channel * j->taps * j->positions;
  for (int64_t tap = 0; tap < j->taps; tap++)
    for (int64_t i = 0; i < j->positions; i++) {
      const double *w = (const double *)j->weight + channel * j->taps + tap;
      const double *x = (const double *)j->input + i;
      double sum = 0;
      for (int64_t c = 0; c < j->in_channels; c++)
        sum = fma(w[c * j->group_outputs * j->taps], x[c * j->positions], sum);
      *out++ = sum;
    }
}

// The product over input channels: the transposed weight times the input.
static dq_gemm_parameters product_parameters(const job *j) {
  int64_t rows = j->out_channels * j->taps;
  return (dq_gemm_parameters){.rows = rows,
                              .columns = j->positions,
                              .depth = j->in_channels,
                              .transpose_a = true,
                              .a_stride = j->group_outputs * j->taps,
                              .b_stride = j->positions,
                              .out_stride = j->positions,
                              .alpha = 1.0f,
                              .beta = 1.0f};
}

typedef struct transpose_state {
  transposed shape;
  job job; // without pointers
  size_t rows_bytes, columns_bytes;
} transpose_state;

// Products kept at once: a few output channels' worth stays in the cache, and does not grow with
// the number of channels.
enum { COLUMNS_BYTES = 4 << 20 };

static size_t product_scratch(const dq_op *op, const job *whole, int64_t channels) {
  job part = *whole;
  part.out_channels = channels;
  dq_gemm_parameters g = product_parameters(&part);
  return dq_gemm_f32_scratch_bytes(&g, op->context->cpu, dq_pool_threads(op->context->pool));
}

// Chooses how many channels are computed at once and asks for the scratch of that.
static dq_status size_job(dq_op *op, transpose_state *s) {
  job *j = &s->job;
  int type = op->inputs[INPUT]->type;
  size_t channel, columns;
  if (!dq_mul_size((size_t)j->taps, (size_t)j->positions, &channel) ||
      !dq_mul_size(channel, dq_dtype_size(type), &channel) || channel > SIZE_MAX / 8)
    return dq_op_fail(op, DQ_UNSUPPORTED, "%" PRId64 " taps at %" PRId64 " positions overflow", j->taps, j->positions);
  int64_t fitting = (int64_t)(COLUMNS_BYTES / channel);
  j->out_channels = dq_max_i64(1, dq_min_i64(fitting, j->group_outputs));
  columns = channel * (size_t)j->out_channels; // at most COLUMNS_BYTES or one channel
  s->columns_bytes = dq_round_up(columns, DQ_KERNEL_ALIGNMENT);
  op->scratch_bytes += s->columns_bytes;
  if (type != DQ_F32) return DQ_OK;
  dq_gemm_parameters g = product_parameters(j);
  DQ_TRY(dq_gemm_check(&g, op->error));
  size_t full = product_scratch(op, j, j->out_channels);
  int64_t rest = j->group_outputs % j->out_channels;
  size_t last = rest ? product_scratch(op, j, rest) : 0;
  op->scratch_bytes += full > last ? full : last;
  return DQ_OK;
}

// The kernel columns, and rows for each thread at the beginning of the scratch.
static dq_status prepare_rows(dq_op *op, transpose_state *s, dq_arena *arena) {
  job *j = &s->job;
  const dq_window *w = &j->window;
  tap_column *columns = DQ_NEW_ARRAY(arena, w->kernel[2], tap_column);
  if (!columns) return dq_fail_memory(op->error, 0);
  j->pitch = (w->output[2] + w->stride[2] - 1) / w->stride[2];
  for (int64_t k = 0; k < w->kernel[2]; k++) columns[k] = tap_column_of(w, k, j->pitch);
  j->reached = columns;
  j->rows_bytes =
      dq_thread_workspace((size_t)(row_count(j) * row_elements(j)) * dq_dtype_size(op->inputs[INPUT]->type));
  s->rows_bytes = dq_round_up((size_t)dq_pool_threads(op->context->pool) * j->rows_bytes, DQ_KERNEL_ALIGNMENT);
  op->scratch_bytes = s->rows_bytes;
  return DQ_OK;
}

static dq_status prepare(dq_op *op, dq_arena *arena) {
  transpose_state *s = DQ_NEW(arena, transpose_state);
  if (!s) return dq_fail_memory(op->error, sizeof *s);
  DQ_TRY(read_transposed(op, &s->shape));
  const transposed *t = &s->shape;
  dq_window w = dq_window_three(&t->window);
  s->job = (job){.window = w,
                 .group_outputs = t->out_channels / t->groups,
                 .in_channels = t->in_channels / t->groups,
                 .taps = w.kernel[0] * w.kernel[1] * w.kernel[2],
                 .positions = w.input[0] * w.input[1] * w.input[2],
                 .out_plane = w.output[0] * w.output[1] * w.output[2]};
  s->job.direct = s->job.in_channels == 1;
  DQ_TRY(prepare_rows(op, s, arena));
  if (!s->job.direct) DQ_TRY(size_job(op, s));
  op->state = s;
  return DQ_OK;
}

static void run_job(const dq_op *op, const transpose_state *s, job *j) {
  dq_pool *pool = op->context->pool;
  if (op->inputs[INPUT]->type == DQ_F64) {
    dq_pool_run(pool, j->out_channels, multiply_f64, j);
    dq_pool_run(pool, j->out_channels, add_taps_f64, j);
    return;
  }
  dq_gemm_parameters g = product_parameters(j);
  dq_gemm_f32(&g, op->context->cpu, j->weight, j->input, NULL, j->columns, (char *)j->columns + s->columns_bytes, pool);
  dq_pool_run(pool, j->out_channels, add_taps_f32, j);
}

// Group `index` of all pictures' groups.
static void run_group(const dq_op *op, const transpose_state *s, int64_t index) {
  const dq_tensor *bias = dq_op_input(op, BIAS);
  int64_t size = (int64_t)dq_dtype_size(op->inputs[INPUT]->type);
  job j = s->job;
  int64_t group = index % s->shape.groups, step = j.out_channels;
  const char *weight = (const char *)op->inputs[WEIGHT]->data + group * j.in_channels * j.group_outputs * j.taps * size;
  j.rows = op->scratch;
  j.columns = j.rows + s->rows_bytes;
  j.input = (const char *)op->inputs[INPUT]->data + index * j.in_channels * j.positions * size;
  for (int64_t first = 0; first < j.group_outputs; first += step) {
    int64_t channel = group * j.group_outputs + first;
    j.out_channels = dq_min_i64(step, j.group_outputs - first);
    j.weight = weight + first * j.taps * size;
    j.bias = bias ? (const char *)bias->data + channel * size : NULL;
    j.output = (char *)op->outputs[0]->data + (index * j.group_outputs + first) * j.out_plane * size;
    run_job(op, s, &j);
  }
}

// All channels of all pictures.
static void run_direct(const dq_op *op, const transpose_state *s) {
  const dq_tensor *bias = dq_op_input(op, BIAS);
  job j = s->job;
  j.out_channels = s->shape.out_channels;
  j.weight = op->inputs[WEIGHT]->data;
  j.input = op->inputs[INPUT]->data;
  j.bias = bias ? bias->data : NULL;
  j.output = op->outputs[0]->data;
  j.rows = op->scratch;
  dq_pool_run(op->context->pool, s->shape.batch * s->shape.out_channels,
              op->inputs[INPUT]->type == DQ_F64 ? add_taps_f64 : add_taps_f32, &j);
}

static dq_status run(dq_op *op) {
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (!op->state) return dq_op_run_unprepared(op);
  const transpose_state *s = op->state;
  if (s->job.direct) run_direct(op, s);
  for (int64_t i = 0; !s->job.direct && i < s->shape.batch * s->shape.groups; i++) run_group(op, s, i);
  return DQ_OK;
}

// Loops over the taps of the kernel that reach an element of the output along axis `a`, from input position `p`.
static void open_taps(dq_emission *to, const dq_window *w, int a) {
  dq_emit(to, "for (int32_t k%d = 0; k%d < %" PRId64 "; k%d++) {", a, a, w->kernel[a], a);
  dq_emit(to, "const int32_t reached%d = o%d + %" PRId64 " - k%d * %" PRId64 ", p%d = reached%d / %" PRId64 ";", a, a,
          w->begin[a], a, w->dilation[a], a, a, w->stride[a]);
  dq_emit(to, "if (reached%d < 0 || p%d * %" PRId64 " != reached%d || p%d >= %" PRId64 ") continue;", a, a,
          w->stride[a], a, a, w->input[a]);
}

// One element of the output at a time: taps in ascending order from +0, each a chain over the input channels of the
// group; then the bias.
static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  transposed t;
  DQ_TRY(read_transposed(op, &t));
  const dq_window w = dq_window_three(&t.window);
  const int64_t inputs = t.in_channels / t.groups, outputs = t.out_channels / t.groups;
  const int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2], plane = w.input[0] * w.input[1] * w.input[2];
  const bool wide = op->inputs[INPUT]->type == DQ_F64;
  const char *type = wide ? "double" : "float";
  char x[100], weight[100], bias[100];
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, INPUT, "from + c * plane", x);
  dq_emit_element(to, WEIGHT, "weight + c * step", weight);
  if (dq_op_input(op, BIAS)) dq_emit_element(to, BIAS, "o", bias);
  dq_emit(to, "const int32_t plane = %" PRId64 ", step = %" PRId64 ";", plane, outputs * taps);
  dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", t.batch);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", t.out_channels);
  dq_emit(to, "const int32_t group = o / %" PRId64 ";", outputs);
  for (int a = 0; a < 3; a++) dq_emit(to, "for (int32_t o%d = 0; o%d < %" PRId64 "; o%d++) {", a, a, w.output[a], a);
  dq_emit(to, "%s sum = 0;", type);
  for (int a = 0; a < 3; a++) open_taps(to, &w, a);
  dq_emit(to, "{");
  dq_emit(to,
          "const int32_t from = (n * %" PRId64 " + group * %" PRId64 ") * plane + (p0 * %" PRId64 " + p1) * %" PRId64
          " + p2;",
          t.in_channels, inputs, w.input[1], w.input[2]);
  dq_emit(to,
          "const int32_t weight = group * %" PRId64 " * step + (o - group * %" PRId64 ") * %" PRId64 " + (k0 * %" PRId64
          " + k1) * %" PRId64 " + k2;",
          inputs, outputs, taps, w.kernel[1], w.kernel[2]);
  dq_emit(to, "%s product = 0;", type);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) product = %s(%s, %s, product);", inputs, wide ? "fma" : "fmaf",
          weight, x);
  dq_emit(to, "sum += product;");
  dq_emit_close(to, 4);
  if (dq_op_input(op, BIAS)) dq_emit(to, "sum += %s;", bias);
  dq_emit_assign(to, 0, "at++", "sum");
  dq_emit_close(to, 5);
  return DQ_OK;
}

// Every input element meets every tap of the output channels of its group.
static int64_t macs(const dq_op *op) {
  const dq_tensor *x = op->inputs[INPUT], *w = op->inputs[WEIGHT];
  int64_t count;
  if (x->rank < 0 || w->rank < 2) return 0;
  return dq_mul_i64(dq_tensor_count(x), dq_tensor_product(w, 1, w->rank), &count) ? count : INT64_MAX;
}

static void product(const dq_node *node, dq_product *to) {
  dq_describe_convolution(node, DQ_TRANSPOSED_CONVOLUTION, DQ_FLOAT_OPERANDS(BIAS), to);
}

static dq_status gradient(const dq_gradient *gradient) {
  transposed t;
  DQ_TRY(read_transposed(gradient->op, &t));
  return dq_gradient_conv_transpose(gradient, &t.window);
}

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(false),
                                               {"group", DQ_ATTRIBUTE_INT, false},
                                               {"output_padding", DQ_ATTRIBUTE_INTS, false},
                                               {"output_shape", DQ_ATTRIBUTE_INTS, false},
                                               {0}};

const dq_operator dq_op_ConvTranspose = {
    .name = "ConvTranspose",
    .since = {1, 11, 22},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = attributes,
    .check = check,
    .infer = infer,
    .run = run,
    .prepare = prepare,
    .emit = emit,
    .product = product,
    .macs = macs,
    .gradient = gradient,
    .trained = 1 << WEIGHT | 1 << BIAS,
    .category = DQ_ALLOW,
    .quantization = DQ_QUANTIZE_COMPUTE,
    .flags = DQ_OP_HALF,
    .bound = DQ_BOUND_PRODUCT,
};
