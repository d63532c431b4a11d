// QAveragePool and QGlobalAveragePool: what execution copies contain where a file has DequantizeLinear, the
// pool, and QuantizeLinear. Sums are exact; a sum of n elements is requantized by s_x / (s_y n) in float32,
// as ONNX Runtime's QLinearGlobalAveragePool does.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/convolution.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO, INPUTS };

// Bytes are summed as unsigned numbers: signed ones by 128 more than they are.
static int flip_of(const dq_op *op) { return op->inputs[X]->type == DQ_I8 ? 128 : 0; }

static int32_t zero_of(const dq_op *op) { return (int32_t)dq_tensor_get_i64(op->inputs[X_ZERO], 0) + flip_of(op); }

static float multiplier_of(const dq_op *op, int64_t count) {
  float x = (float)dq_tensor_get(op->inputs[X_SCALE], 0), y = (float)dq_tensor_get(op->inputs[Y_SCALE], 0);
  return x / (y * (float)count);
}

static dq_status check_inputs(const dq_op *op) {
  for (int i = X; i < INPUTS; i++) {
    bool scale = i == X_SCALE || i == Y_SCALE;
    DQ_TRY(dq_check_input_type(op, i, scale ? (unsigned)DQ_BIT(DQ_F32) : DQ_TYPES_8_BIT));
    if (i != X && dq_tensor_count(op->inputs[i]) != 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d has %lld elements, expected 1", i,
                        (long long)dq_tensor_count(op->inputs[i]));
  }
  return DQ_OK;
}

// ---- Windows ----

static dq_status infer(dq_op *op) {
  const dq_tensor *x = op->inputs[X];
  dq_window window;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(check_inputs(op));
  DQ_TRY(dq_window_read(op, x, NULL, &window));
  dims[0] = x->dims[0];
  dims[1] = x->dims[1];
  for (int i = 0; i < window.rank; i++) dims[2 + i] = window.output[i];
  return dq_op_shape(op, 0, op->inputs[Y_ZERO]->type, x->rank, dims);
}

// Kernel steps of an output position inside of the input, and those the average divides by.
typedef struct steps {
  int64_t first, last, counted;
} steps;

typedef struct pool_state {
  dq_window window;   // three axes
  steps *axis[3];     // by output position
  int64_t *row_class; // by output row: rows with as many kernel rows inside are requantized alike
  dq_requantization *classes;
  int64_t class_count;
  int64_t thread_sums; // sums in the scratch of one thread
  const dq_op *op;     // while running
} pool_state;

static bool fill_steps(pool_state *s, bool count_padding, dq_arena *arena) {
  dq_window padded = s->window;
  for (int a = 0; a < 3; a++) {
    padded.input[a] += padded.begin[a] + padded.end[a];
    padded.begin[a] = 0;
    if (!(s->axis[a] = DQ_NEW_ARRAY(arena, s->window.output[a], steps))) return false;
    for (int64_t o = 0; o < s->window.output[a]; o++) {
      steps *at = &s->axis[a][o];
      int64_t first, last;
      dq_window_inside(&s->window, a, o, &at->first, &at->last);
      dq_window_inside(count_padding ? &padded : &s->window, a, o, &first, &last);
      at->counted = last - first;
    }
  }
  return true;
}

// Multipliers and biases (what the zero points add up to) of one row of outputs.
static dq_status fill_class(const dq_op *op, const pool_state *s, int64_t inside, int64_t counted, dq_requantization *r,
                            dq_arena *arena) {
  int64_t columns = s->window.output[2];
  float *multipliers = DQ_NEW_ARRAY(arena, columns, float);
  int32_t *bias = DQ_NEW_ARRAY(arena, columns, int32_t);
  if (!multipliers || !bias) return dq_fail_memory(op->error, (size_t)columns * 8);
  for (int64_t o = 0; o < columns; o++) {
    const steps *at = &s->axis[2][o];
    multipliers[o] = multiplier_of(op, counted * at->counted);
    bias[o] = (int32_t)(-inside * (at->last - at->first) * zero_of(op));
  }
  *r = (dq_requantization){.multipliers = multipliers,
                           .multiplier_count = columns,
                           .bias = bias,
                           .zero_point = (int32_t)dq_tensor_get_i64(op->inputs[Y_ZERO], 0),
                           .output_signed = op->inputs[Y_ZERO]->type == DQ_I8};
  return dq_read_bounds(op, r->output_signed, &r->low, &r->high);
}

static dq_status fill_classes(const dq_op *op, pool_state *s, dq_arena *arena) {
  int64_t heights = s->window.output[1], rows = s->window.output[0] * heights;
  s->row_class = DQ_NEW_ARRAY(arena, rows, int64_t);
  s->classes = DQ_NEW_ARRAY(arena, rows, dq_requantization);
  int64_t *keys = DQ_NEW_ARRAY(arena, 2 * rows, int64_t);
  if (!s->row_class || !s->classes || !keys) return dq_fail_memory(op->error, (size_t)rows * sizeof *s->classes);
  for (int64_t row = 0; row < rows; row++) {
    const steps *d = &s->axis[0][row / heights], *h = &s->axis[1][row % heights];
    int64_t inside = (d->last - d->first) * (h->last - h->first), counted = d->counted * h->counted, c = 0;
    while (c < s->class_count && (keys[2 * c] != inside || keys[2 * c + 1] != counted)) c++;
    s->row_class[row] = c;
    if (c < s->class_count) continue;
    keys[2 * c] = inside;
    keys[2 * c + 1] = counted;
    DQ_TRY(fill_class(op, s, inside, counted, &s->classes[s->class_count++], arena));
  }
  return DQ_OK;
}

// Whether the window of the only output of a plane is the plane.
static bool is_whole_plane(const dq_window *w) {
  for (int a = 0; a < 3; a++)
    if (w->output[a] != 1 || w->kernel[a] != w->input[a] || w->dilation[a] != 1 || w->begin[a]) return false;
  return true;
}

// Planes that are averaged together, where a plane has one average.
static int64_t planes_at_once(const dq_window *w) {
  enum { PLANES = 64, ELEMENTS = 1 << 13 }; // at most; more elements are shared among threads
  return dq_max_i64(1, dq_min_i64(PLANES, ELEMENTS / (w->input[0] * w->input[1] * w->input[2])));
}

static dq_status prepare(dq_op *op, dq_arena *arena) {
  if (!dq_op_known_but(op, X)) return DQ_OK;
  pool_state *s = DQ_NEW(arena, pool_state);
  dq_window window;
  if (!s) return dq_fail_memory(op->error, sizeof *s);
  DQ_TRY(dq_window_read(op, op->inputs[X], NULL, &window));
  s->window = dq_window_three(&window);
  if (!fill_steps(s, dq_node_int(op->node, "count_include_pad", 0) != 0, arena)) return dq_fail_memory(op->error, 0);
  DQ_TRY(fill_classes(op, s, arena));
  int64_t plane = s->window.output[0] * s->window.output[1] * s->window.output[2];
  int64_t sums = is_whole_plane(&s->window) ? planes_at_once(&s->window) : s->window.input[2] + plane;
  s->thread_sums = (int64_t)dq_round_up((size_t)sums, DQ_KERNEL_ALIGNMENT);
  if (!dq_mul_size((size_t)s->thread_sums * sizeof(int32_t), (size_t)dq_pool_threads(op->context->pool),
                   &op->scratch_bytes))
    return dq_fail_memory(op->error, 0);
  op->state = s;
  return DQ_OK;
}

// Sums down the kernel rows of output row (od, oh), one for each column of the input.
static void sum_rows(const pool_state *s, const uint8_t *plane, const steps *d, const steps *h, int64_t od, int64_t oh,
                     int32_t *sums) {
  const dq_window *w = &s->window;
  const int64_t width = w->input[2];
  const int flip = flip_of(s->op);
  for (int64_t i = 0; i < width; i++) sums[i] = 0;
  for (int64_t kd = d->first; kd < d->last; kd++)
    for (int64_t kh = h->first; kh < h->last; kh++) {
      int64_t z = od * w->stride[0] - w->begin[0] + kd * w->dilation[0];
      int64_t y = oh * w->stride[1] - w->begin[1] + kh * w->dilation[1];
      const uint8_t *row = plane + (z * w->input[1] + y) * width;
      for (int64_t i = 0; i < width; i++) sums[i] += row[i] ^ flip;
    }
}

// Every stride-th column; strides of 1 and 2 have loops that vectorise.
static void add_columns(const int32_t *restrict from, int64_t stride, int64_t count, int32_t *restrict sums) {
  if (stride == 1)
    for (int64_t o = 0; o < count; o++) sums[o] += from[o];
  else if (stride == 2)
    for (int64_t o = 0; o < count; o++) sums[o] += from[2 * o];
  else
    for (int64_t o = 0; o < count; o++) sums[o] += from[o * stride];
}

static void sum_columns(const pool_state *s, const int32_t *rows, int32_t *sums) {
  const dq_window *w = &s->window;
  int64_t stride = w->stride[2];
  memset(sums, 0, (size_t)w->output[2] * sizeof *sums);
  for (int64_t k = 0; k < w->kernel[2]; k++) {
    dq_outputs inside = dq_window_outputs(w, 2, k);
    int64_t count = inside.last - inside.first;
    if (count > 0)
      add_columns(rows + inside.first * stride - w->begin[2] + k * w->dilation[2], stride, count, sums + inside.first);
  }
}

static void pool_plane(void *argument, int64_t plane, int thread) {
  const pool_state *s = argument;
  const dq_window *w = &s->window;
  int32_t *rows = (int32_t *)s->op->scratch + thread * s->thread_sums, *sums = rows + w->input[2], *next = sums;
  const uint8_t *input = (const uint8_t *)s->op->inputs[X]->data + plane * w->input[0] * w->input[1] * w->input[2];
  int64_t columns = w->output[2], count = w->output[0] * w->output[1];
  uint8_t *output = (uint8_t *)s->op->outputs[0]->data + plane * count * columns;
  for (int64_t od = 0; od < w->output[0]; od++)
    for (int64_t oh = 0; oh < w->output[1]; oh++, next += columns) {
      sum_rows(s, input, &s->axis[0][od], &s->axis[1][oh], od, oh, rows);
      sum_columns(s, rows, next);
    }
  for (int64_t row = 0, same; row < count; row += same) { // rows that are requantized alike, together
    for (same = 1; row + same < count && s->row_class[row + same] == s->row_class[row];) same++;
    dq_requantize(&s->classes[s->row_class[row]], s->op->context->cpu, false, same, columns, sums + row * columns,
                  columns, output + row * columns, columns);
  }
}

static int32_t sum_plane(const uint8_t *plane, int64_t size, int flip) {
  int32_t sum = 0;
  for (int64_t i = 0; i < size; i++) sum += plane[i] ^ flip;
  return sum;
}

// Averages of planes that have one each.
static void average_planes(void *argument, int64_t index, int thread) {
  const pool_state *s = argument;
  const dq_tensor *x = s->op->inputs[X];
  int64_t size = s->window.input[0] * s->window.input[1] * s->window.input[2], most = planes_at_once(&s->window);
  int64_t first = index * most, count = dq_min_i64(most, x->dims[0] * x->dims[1] - first);
  int32_t *sums = (int32_t *)s->op->scratch + thread * s->thread_sums;
  const uint8_t *planes = (const uint8_t *)x->data + first * size;
  for (int64_t i = 0; i < count; i++) sums[i] = sum_plane(planes + i * size, size, flip_of(s->op));
  dq_requantize(&s->classes[0], s->op->context->cpu, true, 1, count, sums, count,
                (uint8_t *)s->op->outputs[0]->data + first, count);
}

static dq_status run(dq_op *op) {
  const dq_tensor *x = op->inputs[X];
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (!op->state) return dq_op_run_unprepared(op);
  pool_state s = *(const pool_state *)op->state;
  s.op = op;
  int64_t size = s.window.input[0] * s.window.input[1] * s.window.input[2], planes = x->dims[0] * x->dims[1];
  if (is_whole_plane(&s.window)) {
    int64_t most = planes_at_once(&s.window);
    dq_op_parallel(op, (planes + most - 1) / most, most * size, average_planes, &s);
  } else {
    dq_op_parallel(op, planes, 2 * size, pool_plane, &s);
  }
  return DQ_OK;
}

// ---- The whole plane ----

static dq_status infer_global(dq_op *op) {
  const dq_tensor *x = op->inputs[X];
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(check_inputs(op));
  if (x->rank < 2) return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 2 or more", x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : 1;
  return dq_op_shape(op, 0, op->inputs[Y_ZERO]->type, x->rank, dims);
}

typedef struct global_job {
  const dq_op *op;
  int64_t size;
  float multiplier, lower, upper; // bounds less the zero point
} global_job;

static void average_plane(void *argument, int64_t plane, int thread) {
  const global_job *job = argument;
  const uint8_t *from = (const uint8_t *)job->op->inputs[X]->data + plane * job->size;
  const int flip = flip_of(job->op);
  (void)thread;
  int64_t sum = 0;
  for (int64_t at = 0; at < job->size; at += 1 << 16) { // 32 bits hold that many
    int64_t end = dq_min_i64(at + (1 << 16), job->size);
    uint32_t part = 0;
    for (int64_t i = at; i < end; i++) part += (uint32_t)(from[i] ^ flip);
    sum += part;
  }
  float x = (float)(sum - job->size * zero_of(job->op)) * job->multiplier;
  x = x > job->lower ? x : job->lower;
  x = x < job->upper ? x : job->upper;
  int64_t q = (int64_t)rintf(x) + dq_tensor_get_i64(job->op->inputs[Y_ZERO], 0);
  ((uint8_t *)job->op->outputs[0]->data)[plane] = (uint8_t)q;
}

static dq_status run_global(dq_op *op) {
  const dq_tensor *x = op->inputs[X];
  int32_t low, high;
  DQ_TRY(dq_read_bounds(op, op->inputs[Y_ZERO]->type == DQ_I8, &low, &high));
  global_job job = {.op = op, .size = dq_tensor_product(x, 2, x->rank)};
  float zero = (float)dq_tensor_get(op->inputs[Y_ZERO], 0);
  job.multiplier = multiplier_of(op, job.size);
  job.lower = (float)low - zero;
  job.upper = (float)high - zero;
  dq_op_parallel(op, x->dims[0] * x->dims[1], job.size, average_plane, &job);
  return DQ_OK;
}

// ---- C ----

// Sums of windows that all count `count` elements: one multiplier for all.
static dq_status emit_average(dq_emission *to, int64_t count, dq_requantization *r, dq_emit_sums *sums) {
  const dq_op *op = to->op;
  float *multiplier = DQ_NEW(to->arena, float);
  int32_t *addend = DQ_NEW(to->arena, int32_t);
  int64_t *bounds = DQ_NEW_ARRAY(to->arena, 2, int64_t);
  if (!multiplier || !addend || !bounds) return dq_fail_memory(op->error, 0);
  int64_t zero = dq_tensor_get_i64(op->inputs[X_ZERO], 0), low = op->inputs[X]->type == DQ_I8 ? INT8_MIN : 0;
  *multiplier = multiplier_of(op, count);
  *addend = (int32_t)(-count * zero);
  bounds[0] = count * (low - zero), bounds[1] = count * (low + 255 - zero);
  *r = (dq_requantization){.multipliers = multiplier,
                           .multiplier_count = 1,
                           .zero_point = (int32_t)dq_tensor_get_i64(op->inputs[Y_ZERO], 0),
                           .output_signed = op->inputs[Y_ZERO]->type == DQ_I8};
  DQ_TRY(dq_read_bounds(op, r->output_signed, &r->low, &r->high));
  *sums = (dq_emit_sums){.requantization = r, .channels = 1, .addends = addend, .least = bounds, .most = bounds + 1};
  DQ_TRY(dq_emit_sums_prepare(to, sums));
  dq_emit_first_exception(to, sums);
  dq_emit_factors(to, sums, "0");
  dq_emit(to, "const int32_t addend = c%d[0];", sums->first + 1);
  return DQ_OK;
}

static dq_status emit_global(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[X];
  dq_requantization r;
  dq_emit_sums sums;
  if (!dq_op_known_but(to->op, X)) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its parameters are computed");
  int64_t size = dq_tensor_product(x, 2, x->rank);
  DQ_TRY(emit_average(to, size, &r, &sums));
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", x->dims[0] * x->dims[1]);
  dq_emit(to, "int32_t sum = addend;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) sum += (int32_t)x0[n * %" PRId64 " + i];", size, size);
  dq_emit_result(to, &sums, "0", "y0[n]", "sum");
  dq_emit_close(to, 1);
  return DQ_OK;
}

// Windows inside of the input, so that all count alike.
static dq_status emit_windows(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[X];
  dq_window w;
  dq_requantization r;
  dq_emit_sums sums;
  if (!dq_op_known_but(to->op, X)) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its parameters are computed");
  DQ_TRY(dq_window_read(to->op, x, NULL, &w));
  w = dq_window_three(&w);
  bool whole = w.input[0] == 1;
  for (int a = 0; a < 3; a++)
    whole = whole && !w.begin[a] && (w.output[a] - 1) * w.stride[a] + dq_window_extent(&w, a) <= w.input[a];
  if (!whole) return dq_op_fail(to->op, DQ_UNSUPPORTED, "averages over windows with padding have no C yet");
  DQ_TRY(emit_average(to, w.kernel[1] * w.kernel[2], &r, &sums));
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", x->dims[0] * x->dims[1]);
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", w.output[1]);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", w.output[2]);
  dq_emit(to, "const %s *x = x0 + (n * %" PRId64 " + r * %" PRId64 ") * %" PRId64 " + c * %" PRId64 ";",
          dq_emit_type(x->type), w.input[1], w.stride[1], w.input[2], w.stride[2]);
  dq_emit(to, "int32_t sum = addend;");
  dq_emit(to, "for (int32_t v = 0; v < %" PRId64 "; v++) {", w.kernel[1]);
  dq_emit(to, "for (int32_t u = 0; u < %" PRId64 "; u++) sum += (int32_t)x[v * %" PRId64 " + u * %" PRId64 "];",
          w.kernel[2], w.dilation[1] * w.input[2], w.dilation[2]);
  dq_emit(to, "}");
  char target[96];
  snprintf(target, sizeof target, "y0[(n * %" PRId64 " + r) * %" PRId64 " + c]", w.output[1], w.output[2]);
  dq_emit_result(to, &sums, "0", target, "sum");
  dq_emit_close(to, 3);
  return DQ_OK;
}

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(true),
                                               {"ceil_mode", DQ_ATTRIBUTE_INT, false},
                                               {"clamp_high", DQ_ATTRIBUTE_INT, false},
                                               {"clamp_low", DQ_ATTRIBUTE_INT, false},
                                               {"count_include_pad", DQ_ATTRIBUTE_INT, false},
                                               {0}};

const dq_operator dq_op_QAveragePool = {
    .name = "QAveragePool",
    .domain = "dq",
    .since = {1},
    .inputs = {INPUTS, INPUTS},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = attributes,
    .infer = infer,
    .run = run,
    .emit = emit_windows,
    .prepare = prepare,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

static const dq_attribute_rule global_attributes[] = {
    {"clamp_high", DQ_ATTRIBUTE_INT, false}, {"clamp_low", DQ_ATTRIBUTE_INT, false}, {0}};

const dq_operator dq_op_QGlobalAveragePool = {
    .name = "QGlobalAveragePool",
    .domain = "dq",
    .since = {1},
    .inputs = {INPUTS, INPUTS},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = global_attributes,
    .infer = infer_global,
    .run = run_global,
    .emit = emit_global,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
