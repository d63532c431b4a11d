// MaxPool, AveragePool, LpPool: windows over one to three axes. Every case is brought to three;
// per row of outputs the rows that the windows see are first combined with one another, then the
// columns of the result. That order is fixed, so results depend on nothing but the input.
#include <math.h>
#include <string.h>

#include "lib/base/half.h"
#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/common/window.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

typedef enum pool_kind { POOL_MAXIMUM, POOL_AVERAGE, POOL_LP } pool_kind;

// How one element type is combined. Steps count elements; `lp` raises to the power first.
typedef struct element_rules {
  size_t size;
  void (*clear)(void *to, int64_t count, bool lowest);
  void (*maximum)(void *to, const void *from, int64_t step, int64_t count);
  void (*add)(void *to, const void *from, int64_t step, int64_t count);
} element_rules;

#define NUMBER_ABOVE(a, b) ((a) > (b))

// Two loops each: the dense one vectorises. A NaN is passed over by the comparison.
#define DEFINE_MAXIMUM(name, type, least, ABOVE)                                                                       \
  static void clear_##name(void *to, int64_t count, bool lowest) {                                                     \
    type *target = to;                                                                                                 \
    for (int64_t i = 0; i < count; i++) target[i] = lowest ? (least) : (type)0;                                        \
  }                                                                                                                    \
  static void maximum_##name(void *to, const void *from, int64_t step, int64_t count) {                                \
    type *restrict target = to;                                                                                        \
    const type *restrict source = from;                                                                                \
    if (step == 1)                                                                                                     \
      for (int64_t i = 0; i < count; i++) target[i] = ABOVE(source[i], target[i]) ? source[i] : target[i];             \
    else if (step == 2)                                                                                                \
      for (int64_t i = 0; i < count; i++) target[i] = ABOVE(source[2 * i], target[i]) ? source[2 * i] : target[i];     \
    else                                                                                                               \
      for (int64_t i = 0; i < count; i++)                                                                              \
        target[i] = ABOVE(source[step * i], target[i]) ? source[step * i] : target[i];                                 \
  }
#define DEFINE_ADD(name, type)                                                                                         \
  static void add_##name(void *to, const void *from, int64_t step, int64_t count) {                                    \
    type *restrict target = to;                                                                                        \
    const type *restrict source = from;                                                                                \
    if (step == 1)                                                                                                     \
      for (int64_t i = 0; i < count; i++) target[i] += source[i];                                                      \
    else                                                                                                               \
      for (int64_t i = 0; i < count; i++) target[i] += source[step * i];                                               \
  }
DEFINE_MAXIMUM(f32, float, -INFINITY, NUMBER_ABOVE)
DEFINE_MAXIMUM(f64, double, -(double)INFINITY, NUMBER_ABOVE)
DEFINE_MAXIMUM(f16, uint16_t, 0xfc00, dq_half_above)
DEFINE_MAXIMUM(i8, int8_t, INT8_MIN, NUMBER_ABOVE)
DEFINE_MAXIMUM(u8, uint8_t, 0, NUMBER_ABOVE)
DEFINE_ADD(f32, float)
DEFINE_ADD(f64, double)

static const element_rules *rules_of(int type) {
  static const element_rules f32 = {4, clear_f32, maximum_f32, add_f32};
  static const element_rules f64 = {8, clear_f64, maximum_f64, add_f64};
  static const element_rules f16 = {2, clear_f16, maximum_f16, NULL};
  static const element_rules i8 = {1, clear_i8, maximum_i8, NULL};
  static const element_rules u8 = {1, clear_u8, maximum_u8, NULL};
  if (type == DQ_F16) return &f16;
  return type == DQ_F32 ? &f32 : type == DQ_F64 ? &f64 : type == DQ_I8 ? &i8 : &u8;
}

typedef struct pool_job {
  pool_kind kind;
  const element_rules *rules;
  int type;
  dq_window window; // always three axes
  bool count_padding;
  int64_t power;
  const char *input;
  char *output;
  int64_t *indices; // NULL: not wanted
  bool column_major;
  char *rows; // one input row per thread, row_capacity apart
  size_t row_capacity;
  unsigned cpu;
  dq_maximum_function *find_maximum;
  dq_maximum_row maximum; // maxima by a kernel: what all rows share
  uint8_t *scratch;       // and per thread, the rows of a window and what the kernel needs
  size_t thread_bytes, source_bytes;
  // Tables, so that no division is left in the loops: kernel steps inside the input per output
  // position of axes 0 and 1, output positions inside it per kernel step of axis 2, and, for the
  // average, what to divide by per output position of each axis.
  dq_outputs *steps[2], *positions;
  float *counts[3];
} pool_job;

// The same window over three axes, leading ones of size 1.
static dq_window three_axes(const dq_window *window) {
  dq_window out = {.rank = 3};
  int missing = 3 - window->rank;
  for (int i = 0; i < 3; i++) {
    int own = i - missing;
    out.input[i] = own < 0 ? 1 : window->input[own];
    out.kernel[i] = own < 0 ? 1 : window->kernel[own];
    out.stride[i] = own < 0 ? 1 : window->stride[own];
    out.dilation[i] = own < 0 ? 1 : window->dilation[own];
    out.begin[i] = own < 0 ? 0 : window->begin[own];
    out.end[i] = own < 0 ? 0 : window->end[own];
    out.output[i] = own < 0 ? 1 : window->output[own];
  }
  return out;
}

// |x|^p of a row, added to the target once that has begun.
static void add_powers(const pool_job *job, void *to, const void *from, int64_t count, bool begun) {
  double p = (double)job->power;
  if (!begun) job->rules->clear(to, count, false);
  for (int64_t i = 0; i < count; i++) {
    if (job->type == DQ_F64) {
      double x = fabs(((const double *)from)[i]);
      ((double *)to)[i] += p == 1 ? x : p == 2 ? x * x : pow(x, p);
    } else {
      float x = fabsf(((const float *)from)[i]);
      ((float *)to)[i] += p == 1 ? x : p == 2 ? x * x : powf(x, (float)p);
    }
  }
}

static void combine_rows(const pool_job *job, const char *plane, int64_t od, int64_t oh, char *row) {
  const dq_window *w = &job->window;
  int64_t width = w->input[2];
  dq_outputs depths = job->steps[0][od], heights = job->steps[1][oh];
  bool begun = false;
  for (int64_t kd = depths.first; kd < depths.last; kd++)
    for (int64_t kh = heights.first; kh < heights.last; kh++) {
      int64_t d = od * w->stride[0] - w->begin[0] + kd * w->dilation[0];
      int64_t h = oh * w->stride[1] - w->begin[1] + kh * w->dilation[1];
      const char *source = plane + (size_t)((d * w->input[1] + h) * width) * job->rules->size;
      if (!begun && job->kind != POOL_LP) memcpy(row, source, (size_t)width * job->rules->size);
      else if (job->kind == POOL_MAXIMUM) job->rules->maximum(row, source, 1, width);
      else if (job->kind == POOL_AVERAGE) job->rules->add(row, source, 1, width);
      else add_powers(job, row, source, width, begun);
      begun = true;
    }
  if (!begun) job->rules->clear(row, width, job->kind == POOL_MAXIMUM);
}

static void combine_columns(const pool_job *job, const char *row, char *target) {
  const dq_window *w = &job->window;
  size_t size = job->rules->size;
  job->rules->clear(target, w->output[2], job->kind == POOL_MAXIMUM);
  for (int64_t k = 0; k < w->kernel[2]; k++) {
    dq_outputs inside = job->positions[k];
    int64_t count = inside.last - inside.first;
    if (count <= 0) continue;
    int64_t from = inside.first * w->stride[2] - w->begin[2] + k * w->dilation[2];
    const char *source = row + (size_t)from * size;
    char *to = target + (size_t)inside.first * size;
    if (job->kind == POOL_MAXIMUM) job->rules->maximum(to, source, w->stride[2], count);
    else job->rules->add(to, source, w->stride[2], count);
  }
}

// The average: divides a row of sums by the number of elements in each.
static void divide_row(const pool_job *job, int64_t od, int64_t oh, char *target) {
  float rows = job->counts[0][od] * job->counts[1][oh];
  const float *columns = job->counts[2];
  double *wide = (double *)(void *)target;
  float *single = (float *)(void *)target;
  if (job->type == DQ_F64)
    for (int64_t i = 0; i < job->window.output[2]; i++) wide[i] /= (double)(rows * columns[i]);
  else
    for (int64_t i = 0; i < job->window.output[2]; i++) single[i] /= rows * columns[i];
}

// The p-norm: takes the p-th root of a row of sums of powers.
static void root_row(const pool_job *job, char *target) {
  double *wide = (double *)(void *)target;
  float *single = (float *)(void *)target;
  for (int64_t i = 0; job->power != 1 && i < job->window.output[2]; i++)
    if (job->type == DQ_F64) wide[i] = pow(wide[i], 1.0 / (double)job->power);
    else single[i] = powf(single[i], 1.0f / (float)job->power);
}

static bool fill_tables(pool_job *job, dq_arena *arena) {
  const dq_window *w = &job->window;
  job->positions = DQ_NEW_ARRAY(arena, w->kernel[2], dq_outputs);
  for (int a = 0; a < 3; a++) {
    job->counts[a] = DQ_NEW_ARRAY(arena, w->output[a], float);
    if (a < 2) job->steps[a] = DQ_NEW_ARRAY(arena, w->output[a], dq_outputs);
    if (!job->counts[a] || (a < 2 && !job->steps[a]) || !job->positions) return false;
    for (int64_t o = 0; o < w->output[a]; o++) {
      job->counts[a][o] = (float)dq_window_counted(w, job->count_padding, a, o);
      if (a < 2) dq_window_inside(w, a, o, &job->steps[a][o].first, &job->steps[a][o].last);
    }
  }
  for (int64_t k = 0; k < w->kernel[2]; k++) job->positions[k] = dq_window_outputs(w, 2, k);
  return true;
}

static void pool_plane(void *argument, int64_t plane, int thread) {
  const pool_job *job = argument;
  const dq_window *w = &job->window;
  size_t size = job->rules->size;
  size_t in_plane = (size_t)(w->input[0] * w->input[1] * w->input[2]) * size;
  size_t out_row = (size_t)w->output[2] * size;
  const char *input = job->input + (size_t)plane * in_plane;
  char *target = job->output + (size_t)(plane * w->output[0] * w->output[1]) * out_row;
  char *row = job->rows + (size_t)thread * job->row_capacity;
  for (int64_t od = 0; od < w->output[0]; od++)
    for (int64_t oh = 0; oh < w->output[1]; oh++, target += out_row) {
      combine_rows(job, input, od, oh, row);
      combine_columns(job, row, target);
      if (job->kind == POOL_AVERAGE) divide_row(job, od, oh, target);
      if (job->kind == POOL_LP) root_row(job, target);
    }
}

// Whether the window of the only output of a plane is the plane, in float32.
static bool averages_planes(const pool_job *job) {
  const dq_window *w = &job->window;
  for (int a = 0; a < 3; a++)
    if (w->output[a] != 1 || w->kernel[a] != w->input[a] || w->dilation[a] != 1 || w->begin[a] || w->end[a])
      return false;
  return job->kind == POOL_AVERAGE && job->type == DQ_F32;
}

// The average of a plane: the operations of pool_plane in their order, without a call for each row and column.
static void average_plane(void *argument, int64_t plane, int thread) {
  const pool_job *job = argument;
  int64_t rows = job->window.input[0] * job->window.input[1], width = job->window.input[2];
  const float *input = (const float *)(const void *)job->input + plane * rows * width;
  float *row = (float *)(void *)(job->rows + (size_t)thread * job->row_capacity), sum = 0;
  memcpy(row, input, (size_t)width * sizeof *row);
  for (int64_t i = 1; i < rows; i++) add_f32(row, input + i * width, 1, width);
  for (int64_t i = 0; i < width; i++) sum += row[i];
  ((float *)(void *)job->output)[plane] = sum / (job->counts[0][0] * job->counts[1][0] * job->counts[2][0]);
}

// Rows of a window inside of the input, at most.
static int64_t most_rows(const dq_window *w) {
  return dq_min_i64(w->kernel[0], w->input[0]) * dq_min_i64(w->kernel[1], w->input[1]);
}

// Rows of outputs, at most `most`, whose windows lie as row `oh`'s lie, each a stride further down.
static int64_t count_alike(const pool_job *job, int64_t oh, int64_t most) {
  const dq_outputs *heights = job->steps[1] + oh;
  int64_t count = 1;
  while (count < most && heights[count].first == heights->first && heights[count].last == heights->last) count++;
  return count;
}

// One plane of maxima by a kernel: many rows in a call in 8 bits.
static void maximum_plane(void *argument, int64_t plane, int thread) {
  const pool_job *job = argument;
  const dq_window *w = &job->window;
  const int64_t size = (int64_t)job->rules->size, line = w->input[2] * size;
  const uint8_t *input = (const uint8_t *)job->input + plane * w->input[0] * w->input[1] * line;
  uint8_t *workspace = job->scratch + (size_t)thread * job->thread_bytes;
  const uint8_t **rows = (const uint8_t **)(void *)workspace;
  dq_maximum_row row = job->maximum;
  row.rows = rows;
  row.scratch = workspace + job->source_bytes;
  row.output = (uint8_t *)job->output + plane * w->output[0] * w->output[1] * w->output[2] * size;
  row.line_step = w->stride[1] * line;
  for (int64_t od = 0; od < w->output[0]; od++)
    for (int64_t oh = 0; oh < w->output[1]; oh += row.lines, row.output += row.lines * w->output[2] * size) {
      dq_outputs depths = job->steps[0][od], heights = job->steps[1][oh];
      row.lines = size == 1 ? count_alike(job, oh, w->output[1] - oh) : 1;
      row.row_count = 0;
      for (int64_t kd = depths.first; kd < depths.last; kd++)
        for (int64_t kh = heights.first; kh < heights.last; kh++) {
          int64_t d = od * w->stride[0] - w->begin[0] + kd * w->dilation[0];
          int64_t h = oh * w->stride[1] - w->begin[1] + kh * w->dilation[1];
          rows[row.row_count++] = input + (d * w->input[1] + h) * line;
        }
      job->find_maximum(&row);
    }
}

// Maxima of 8 bits or float with the strides that the kernel is for: *used tells. false: no memory.
static bool prepare_maximum(pool_job *job, size_t threads, dq_arena *arena, bool *used) {
  enum { MOST_SCRATCH = 1 << 20 }; // padding beyond reason is left to the loops
  const dq_window *w = &job->window;
  bool bytes = dq_dtype_is_8_bit(job->type);
  dq_maximum_function *floats = job->type == DQ_F32   ? dq_maximum_f32(job->cpu)
                                : job->type == DQ_F16 ? dq_maximum_f16(job->cpu)
                                                      : NULL;
  *used = job->kind == POOL_MAXIMUM && (bytes || floats) && !job->indices && w->stride[2] <= 2;
  job->maximum = (dq_maximum_row){.width = w->input[2],
                                  .begin = w->begin[2],
                                  .kernel = w->kernel[2],
                                  .dilation = w->dilation[2],
                                  .stride = w->stride[2],
                                  .count = w->output[2],
                                  .is_signed = job->type == DQ_I8};
  job->find_maximum = floats ? floats : dq_maximum_8(job->cpu);
  size_t scratch = dq_maximum_8_scratch(&job->maximum);
  *used = *used && scratch <= MOST_SCRATCH;
  if (!*used) return true;
  job->source_bytes = (size_t)most_rows(w) * sizeof(const uint8_t *);
  job->thread_bytes = dq_thread_workspace(job->source_bytes + scratch);
  job->scratch = dq_arena_array(arena, threads, job->thread_bytes);
  return job->scratch != NULL;
}

// Maximum of one window and where it lies; the first of equals wins.
static void indexed_window(const pool_job *job, int64_t plane, const int64_t *o, int64_t position) {
  const dq_window *w = &job->window;
  int64_t first[3], last[3], volume = w->input[0] * w->input[1] * w->input[2], best = -1;
  dq_tensor in = {.type = job->type, .data = (void *)(uintptr_t)job->input};
  dq_tensor out = {.type = job->type, .data = job->output};
  double most = -INFINITY;
  for (int a = 0; a < 3; a++) dq_window_inside(w, a, o[a], &first[a], &last[a]);
  for (int64_t kd = first[0]; kd < last[0]; kd++)
    for (int64_t kh = first[1]; kh < last[1]; kh++)
      for (int64_t kw = first[2]; kw < last[2]; kw++) {
        int64_t d = o[0] * w->stride[0] - w->begin[0] + kd * w->dilation[0];
        int64_t h = o[1] * w->stride[1] - w->begin[1] + kh * w->dilation[1];
        int64_t x = o[2] * w->stride[2] - w->begin[2] + kw * w->dilation[2];
        int64_t at = (d * w->input[1] + h) * w->input[2] + x;
        double value = dq_tensor_get(&in, plane * volume + at);
        if (best >= 0 && !(value > most)) continue;
        most = value;
        best = job->column_major ? (x * w->input[1] + h) * w->input[0] + d : at;
      }
  if (best < 0 && job->type == DQ_I8) most = -128;
  if (best < 0 && job->type == DQ_U8) most = 0;
  dq_tensor_set(&out, position, most);
  job->indices[position] = plane * volume + (best < 0 ? 0 : best);
}

static void pool_plane_indexed(void *argument, int64_t plane, int thread) {
  (void)thread;
  const pool_job *job = argument;
  const int64_t *out = job->window.output;
  int64_t o[3], position = plane * out[0] * out[1] * out[2];
  for (o[0] = 0; o[0] < out[0]; o[0]++)
    for (o[1] = 0; o[1] < out[1]; o[1]++)
      for (o[2] = 0; o[2] < out[2]; o[2]++) indexed_window(job, plane, o, position++);
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  dq_window window;
  int64_t dims[DQ_MAX_RANK];
  const int64_t p = dq_node_int(op->node, "p", 1);
  if (p < 1) return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'p' is %lld, expected 1 or more", (long long)p);
  DQ_TRY(dq_window_read(op, input, NULL, &window));
  dims[0] = input->dims[0];
  dims[1] = input->dims[1];
  for (int i = 0; i < window.rank; i++) dims[2 + i] = window.output[i];
  DQ_TRY(dq_op_shape(op, 0, input->type, input->rank, dims));
  return dq_op_shape(op, 1, DQ_I64, input->rank, dims);
}

static dq_status run_pool(dq_op *op, pool_kind kind) {
  const dq_tensor *input = op->inputs[0];
  dq_window window;
  DQ_TRY(dq_window_read(op, input, NULL, &window));
  dq_tensor *indices = dq_op_output(op, 1);
  pool_job job = {.kind = kind,
                  .rules = rules_of(input->type),
                  .type = input->type,
                  .window = three_axes(&window),
                  .count_padding = dq_node_int(op->node, "count_include_pad", 0) != 0,
                  .power = kind == POOL_LP ? dq_node_int(op->node, "p", 2) : 1,
                  .column_major = dq_node_int(op->node, "storage_order", 0) != 0,
                  .input = input->data,
                  .output = op->outputs[0] ? op->outputs[0]->data : NULL,
                  .indices = indices ? indices->data : NULL,
                  .cpu = op->context ? op->context->cpu : 0};
  if (!job.output) return dq_op_fail(op, DQ_UNSUPPORTED, "output 0 is left out");
  int64_t planes = input->dims[0] * input->dims[1];
  if (planes == 0) return DQ_OK;
  const int64_t *out = job.window.output, *in = job.window.input;
  enum { ROW = 512 }; // elements that a row of outputs counts as, beside its own
  int64_t cost = dq_max_i64(out[0] * out[1] * (4 * out[2] + ROW), in[0] * in[1] * in[2]);
  size_t threads = (size_t)dq_pool_threads(op->context ? op->context->pool : NULL);
  dq_arena *arena = dq_context_arena(op->context);
  job.row_capacity = dq_thread_workspace((size_t)job.window.input[2] * job.rules->size);
  if (arena) job.rows = dq_arena_array(arena, threads, job.row_capacity);
  bool maxima, memory = job.rows && fill_tables(&job, arena) && prepare_maximum(&job, threads, arena, &maxima);
  if (memory)
    dq_op_parallel(op, planes, cost,
                   job.indices             ? pool_plane_indexed
                   : maxima                ? maximum_plane
                   : averages_planes(&job) ? average_plane
                                           : pool_plane,
                   &job);
  dq_arena_free(arena);
  return memory ? DQ_OK : dq_fail_memory(op->error, threads * job.row_capacity);
}

static dq_status run_max(dq_op *op) { return run_pool(op, POOL_MAXIMUM); }
static dq_status run_average(dq_op *op) { return run_pool(op, POOL_AVERAGE); }
static dq_status run_lp(dq_op *op) { return run_pool(op, POOL_LP); }

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(true),
                                               {"ceil_mode", DQ_ATTRIBUTE_INT, false},
                                               {"count_include_pad", DQ_ATTRIBUTE_INT, false},
                                               {"storage_order", DQ_ATTRIBUTE_INT, false},
                                               {"p", DQ_ATTRIBUTE_INT, false},
                                               {0}};

const dq_operator dq_op_MaxPool = {
    .name = "MaxPool",
    .since = {1, 8, 10, 11, 12, 22},
    .inputs = {1, 1},
    .outputs = {1, 2},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) | DQ_BIT(DQ_F16) | DQ_BIT(DQ_I8) | DQ_BIT(DQ_U8),
    .attributes = attributes,
    .check = dq_pool_check,
    .infer = infer,
    .run = run_max,
    .gradient = dq_gradient_max_pool,
    .emit = dq_emit_max_pool,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS | DQ_OP_LARGEST,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_AveragePool = {
    .name = "AveragePool",
    .since = {1, 7, 10, 11, 19, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = attributes,
    .check = dq_pool_check,
    .infer = infer,
    .run = run_average,
    .gradient = dq_gradient_average_pool,
    .emit = dq_emit_average_pool,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_COMBINE,
    .integer_form = DQ_FORM_AVERAGE,
    .flags = DQ_OP_HALF | DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_LpPool = {
    .name = "LpPool",
    .since = {2, 11, 18, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = attributes,
    .check = dq_pool_check,
    .infer = infer,
    .run = run_lp,
    .emit = dq_emit_lp_pool,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
