// Resize and its predecessor Upsample. Interpolation is separable: one axis after the other, the
// innermost first, in blocks of the leading axes that do not change.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/common/resize_axis.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit_resize.h"
#include "lib/ops/gradient/gradient.h"

typedef struct resize_job {
  dq_resize_rules rules;
  int rank, first; // first axis that changes, rank when none does
  dq_resize_axis axis[DQ_MAX_RANK];
  double extrapolation;
  const dq_tensor *input;
  dq_tensor *output;
  char *buffers;       // two per thread
  size_t buffer_bytes; // of one
} resize_job;

static bool is_old(const dq_op *op) { // Resize 10 and Upsample: only mode, always asymmetric
  return op->version < 11;
}

static dq_status read_rules(const dq_op *op, dq_resize_rules *rules) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                            "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  int mode = 0, coordinate = 0, rounding = 0;
  DQ_TRY(dq_op_word(op, "mode", modes, is_old(op) ? 2 : 3, &mode));
  DQ_TRY(DQ_OP_WORD(op, "coordinate_transformation_mode", coordinates, &coordinate));
  DQ_TRY(DQ_OP_WORD(op, "nearest_mode", nearest, &rounding));
  *rules = (dq_resize_rules){.mode = (dq_resize_mode)mode,
                             .coordinates = (dq_resize_coordinates)coordinate,
                             .nearest = (dq_resize_nearest)rounding};
  rules->cubic_coefficient = (double)dq_node_float(op->node, "cubic_coeff_a", -0.75f);
  rules->exclude_outside = dq_node_int(op->node, "exclude_outside", 0) != 0;
  rules->antialias = dq_node_int(op->node, "antialias", 0) != 0;
  if (is_old(op)) {
    rules->coordinates = DQ_ASYMMETRIC;
    rules->nearest = DQ_ROUND_SIMPLE;
  }
  if (rules->antialias && rules->mode == DQ_RESIZE_NEAREST)
    return dq_op_fail(op, DQ_BAD_INPUT, "antialias does not go with mode nearest");
  return DQ_OK;
}

// The axes that scales, sizes and roi speak of.
static dq_status read_axes(const dq_op *op, int *axes, int *count) {
  int rank = op->inputs[0]->rank, found;
  unsigned seen = 0;
  const int64_t *ints = dq_node_ints(op->node, "axes", &found);
  *count = ints && found ? found : rank;
  if (*count > rank) return dq_op_fail(op, DQ_BAD_INPUT, "%d axes, the input has %d dimensions", *count, rank);
  for (int i = 0; i < *count; i++) {
    axes[i] = i;
    if (ints && found) DQ_TRY(dq_op_axis(op, ints[i], rank, &axes[i]));
    if (seen & (1u << axes[i])) return dq_op_fail(op, DQ_BAD_INPUT, "axis %d is given twice", axes[i]);
    seen |= 1u << axes[i];
  }
  return DQ_OK;
}

// Input i when it has elements (an empty one stands for one left out).
static const dq_tensor *given(const dq_op *op, int i) {
  const dq_tensor *input = dq_op_input(op, i);
  return input && dq_tensor_count(input) > 0 ? input : NULL;
}

static dq_status check_count(const dq_op *op, const char *what, int64_t found, int expected) {
  if (found == expected) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "%s has %" PRId64 " elements, expected %d", what, found, expected);
}

// Scale and output size of one axis from its scale; the product in float32, as runtimes take it.
static dq_status set_scale(const dq_op *op, dq_resize_axis *axis, float scale) {
  float length = scale * (float)axis->input;
  if (!(scale > 0) || !(length < 0x1p31f))
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "scale %g for a dimension of %" PRId64 ", expected more than 0 and a size below 2^31",
                      (double)scale, axis->input);
  axis->scale = (double)scale;
  axis->scale_given = true;
  axis->output = (int64_t)floorf(length);
  return DQ_OK;
}

// Sizes, perhaps reduced to one scale for all axes.
static dq_status set_sizes(const dq_op *op, resize_job *job, const dq_tensor *sizes, const int *axes, int count) {
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
  int policy = 0;
  double common = 0;
  DQ_TRY(DQ_OP_WORD(op, "keep_aspect_ratio_policy", policies, &policy));
  DQ_TRY(check_count(op, "sizes", dq_tensor_count(sizes), count));
  for (int i = 0; i < count; i++) {
    dq_resize_axis *axis = &job->axis[axes[i]];
    axis->output = dq_tensor_get_i64(sizes, i);
    if (axis->output < 0 || axis->output > INT32_MAX || (axis->output && !axis->input))
      return dq_op_fail(op, DQ_BAD_INPUT,
                        "size %" PRId64 " for a dimension of %" PRId64
                        ", expected 0 to 2^31 - 1, and 0 for an empty one",
                        axis->output, axis->input);
    axis->scale = axis->input ? (double)axis->output / (double)axis->input : 1;
    bool better = policy == 1 ? axis->scale < common : axis->scale > common;
    if (i == 0 || better) common = axis->scale;
  }
  for (int i = 0; policy && i < count; i++) {
    dq_resize_axis *axis = &job->axis[axes[i]];
    axis->scale = common;
    axis->scale_given = true;
    axis->output = (int64_t)floor(common * (double)axis->input + 0.5);
  }
  return DQ_OK;
}

static dq_status set_roi(const dq_op *op, resize_job *job, const int *axes, int count) {
  const dq_tensor *roi = op->version >= 11 ? given(op, 1) : NULL;
  if (job->rules.coordinates != DQ_TF_CROP_AND_RESIZE) return DQ_OK;
  if (!roi) return dq_op_fail(op, DQ_BAD_INPUT, "roi is missing");
  if (!roi->data) return DQ_OK; // sizes do not depend on it
  DQ_TRY(check_count(op, "roi", dq_tensor_count(roi), 2 * count));
  for (int i = 0; i < count; i++) {
    job->axis[axes[i]].roi_start = dq_tensor_get(roi, i);
    job->axis[axes[i]].roi_end = dq_tensor_get(roi, count + i);
  }
  return DQ_OK;
}

static dq_status check_scales(const dq_op *op, const dq_tensor *scales, int count) {
  if (!(DQ_BIT(scales->type) & DQ_TYPES_FLOAT))
    return dq_op_fail(op, DQ_BAD_INPUT, "scales are %s, expected float32", dq_dtype_name(scales->type));
  return check_count(op, "scales", dq_tensor_count(scales), count);
}

// Everything but the tables. *known is false while scales or sizes are not.
static dq_status read_job(const dq_op *op, resize_job *job, bool *known) {
  const dq_tensor *input = op->inputs[0];
  int axes[DQ_MAX_RANK], count, float_count;
  memset(job, 0, sizeof *job);
  job->rank = input->rank;
  DQ_TRY(read_rules(op, &job->rules));
  DQ_TRY(read_axes(op, axes, &count));
  for (int i = 0; i < input->rank; i++)
    job->axis[i] = (dq_resize_axis){.input = input->dims[i], .output = input->dims[i], .scale = 1, .roi_end = 1};
  const float *floats = dq_node_floats(op->node, "scales", &float_count);
  const dq_tensor *scales = given(op, op->version >= 11 ? 2 : 1);
  const dq_tensor *sizes = op->version >= 11 ? given(op, 3) : NULL;
  if (scales && sizes) return dq_op_fail(op, DQ_BAD_INPUT, "both scales and sizes are given");
  bool attribute = op->version < 9 && floats;
  if (!scales && !sizes && !attribute) return dq_op_fail(op, DQ_BAD_INPUT, "neither scales nor sizes are given");
  *known = attribute || (scales ? scales->data != NULL : sizes->data != NULL);
  if (!*known) return DQ_OK;
  if (attribute) DQ_TRY(check_count(op, "scales", float_count, count));
  if (scales) DQ_TRY(check_scales(op, scales, count));
  for (int i = 0; !sizes && i < count; i++)
    DQ_TRY(set_scale(op, &job->axis[axes[i]], attribute ? floats[i] : (float)dq_tensor_get(scales, i)));
  if (sizes) DQ_TRY(set_sizes(op, job, sizes, axes, count));
  return set_roi(op, job, axes, count);
}

static dq_status infer(dq_op *op) {
  resize_job job;
  bool known;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_job(op, &job, &known));
  if (!known) return dq_op_unknown(op, 0, op->inputs[0]->type);
  for (int i = 0; i < job.rank; i++) dims[i] = job.axis[i].output;
  return dq_op_shape(op, 0, op->inputs[0]->type, job.rank, dims);
}

static inline __attribute__((always_inline)) void pick(const dq_resize_axis *axis, const char *restrict from,
                                                       char *restrict to, size_t size, const void *outside) {
  if (axis->doubled) { // no table to look into, so the compiler can interleave vectors
    for (int64_t i = 0; i < axis->input; i++) {
      memcpy(to + (size_t)(2 * i) * size, from + (size_t)i * size, size);
      memcpy(to + (size_t)(2 * i + 1) * size, from + (size_t)i * size, size);
    }
    return;
  }
  for (int64_t o = 0; o < axis->output; o++)
    memcpy(to + (size_t)o * size, axis->index[o] < 0 ? outside : from + (size_t)axis->index[o] * size, size);
}

static void pick_row(const dq_resize_axis *axis, const char *from, char *to, size_t size, const void *outside) {
  if (axis->same) memcpy(to, from, (size_t)axis->output * size);
  else if (size == 4) pick(axis, from, to, 4, outside);
  else if (size == 1) pick(axis, from, to, 1, outside);
  else if (size == 2) pick(axis, from, to, 2, outside);
  else pick(axis, from, to, 8, outside);
}

// Where the input rows of rows `item` of the output begin, in rows; rows are those of the last axis but one. -1 when
// extrapolated.
static int64_t source_rows(const resize_job *job, int64_t item) {
  int64_t from = 0, stride = job->rank > 1 ? job->axis[job->rank - 2].input : 1;
  for (int i = job->rank - 3; i >= 0; i--) {
    const dq_resize_axis *axis = &job->axis[i];
    int64_t o = item % axis->output, at = axis->same ? o : axis->index[o];
    if (at < 0) return -1;
    from += at * stride;
    stride *= axis->input;
    item /= axis->output;
  }
  return from;
}

// Rows of nearest neighbours; a row that repeats the one before is copied.
static void nearest_rows(void *argument, int64_t item, int thread) {
  (void)thread;
  const resize_job *job = argument;
  const dq_resize_axis *last = &job->axis[job->rank - 1], *axis = job->rank > 1 ? last - 1 : NULL;
  int64_t rows = axis ? axis->output : 1, previous = -2, first = source_rows(job, item);
  size_t size = dq_dtype_size(job->input->type), row_bytes = (size_t)last->output * size;
  uint64_t bits = 0;
  dq_tensor outside = {.type = job->input->type, .data = &bits};
  dq_tensor_set(&outside, 0, job->extrapolation);
  char *to = (char *)job->output->data + (size_t)(item * rows) * row_bytes;
  for (int64_t row = 0; row < rows; row++, to += row_bytes) {
    int64_t at = !axis || axis->same ? row : axis->index[row], from = first < 0 || at < 0 ? -1 : first + at;
    if (from == previous) memcpy(to, to - row_bytes, row_bytes);
    else if (from < 0) dq_fill_elements(to, last->output, size, &bits);
    else pick_row(last, (const char *)job->input->data + (size_t)(from * last->input) * size, to, size, &bits);
    previous = from;
  }
}

// One axis of one block: outer x input x inner to outer x output x inner, in float32 and in double.
#define DEFINE_INTERPOLATE(name, type)                                                                                 \
  static void columns_##name(const dq_resize_axis *a, type outside, int64_t outer, const type *restrict from,          \
                             type *restrict to) {                                                                      \
    for (int64_t r = 0; r < outer; r++, from += a->input, to += a->output) {                                           \
      const int32_t *index = a->index;                                                                                 \
      const type *weight = a->weight_##name;                                                                           \
      if (a->taps == 2 && !a->extrapolated) {                                                                          \
        for (int64_t o = 0; o < a->output; o++)                                                                        \
          to[o] = weight[2 * o] * from[index[2 * o]] + weight[2 * o + 1] * from[index[2 * o + 1]];                     \
        continue;                                                                                                      \
      }                                                                                                                \
      for (int64_t o = 0; o < a->output; o++, index += a->taps, weight += a->taps) {                                   \
        type sum = weight[0] * from[index[0] < 0 ? 0 : index[0]];                                                      \
        for (int t = 1; t < a->taps; t++) sum += weight[t] * from[index[t]];                                           \
        to[o] = index[0] < 0 ? outside : sum;                                                                          \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void row_##name(const dq_resize_axis *a, type outside, int64_t o, int64_t inner, const type *from,            \
                         type *restrict to) {                                                                          \
    const int32_t *index = a->index + o * a->taps;                                                                     \
    const type *weight = a->weight_##name + o * a->taps;                                                               \
    const type *first = from + (index[0] < 0 ? 0 : index[0]) * inner;                                                  \
    const type *second = from + index[1] * inner; /* there are two taps at least */                                    \
    for (int64_t i = 0; i < inner; i++) to[i] = weight[0] * first[i] + weight[1] * second[i];                          \
    for (int t = 2; t < a->taps; t++) {                                                                                \
      const type *source = from + index[t] * inner;                                                                    \
      for (int64_t i = 0; i < inner; i++) to[i] += weight[t] * source[i];                                              \
    }                                                                                                                  \
    for (int64_t i = 0; index[0] < 0 && i < inner; i++) to[i] = outside;                                               \
  }                                                                                                                    \
  static void interpolate_##name(const dq_resize_axis *a, double outside, int64_t outer, int64_t inner,                \
                                 const void *from, void *to) {                                                         \
    const type *source = from;                                                                                         \
    type *target = to;                                                                                                 \
    if (inner == 1) {                                                                                                  \
      columns_##name(a, (type)outside, outer, source, target);                                                         \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t r = 0; r < outer; r++, source += a->input * inner)                                                    \
      for (int64_t o = 0; o < a->output; o++, target += inner) row_##name(a, (type)outside, o, inner, source, target); \
  }
DEFINE_INTERPOLATE(f32, float)
DEFINE_INTERPOLATE(f64, double)

// One position of the leading axes. Elements other than float32 pass through double.
static void interpolate_block(void *argument, int64_t block, int thread) {
  const resize_job *job = argument;
  bool single = job->input->type == DQ_F32;
  int64_t in_count = dq_tensor_product(job->input, job->first, job->rank);
  int64_t out_count = dq_tensor_product(job->output, job->first, job->rank);
  char *buffer[2] = {job->buffers + (size_t)(2 * thread) * job->buffer_bytes,
                     job->buffers + (size_t)(2 * thread + 1) * job->buffer_bytes};
  const void *from = buffer[0];
  if (single) from = (const float *)job->input->data + block * in_count;
  else
    for (int64_t i = 0; i < in_count; i++)
      ((double *)(void *)buffer[0])[i] = dq_tensor_get(job->input, block * in_count + i);
  int64_t outer = in_count, inner = 1;
  int next = 1; // buffer written next
  for (int a = job->rank - 1; a >= job->first; a--) {
    const dq_resize_axis *axis = &job->axis[a];
    outer /= axis->input;
    if (!axis->same) {
      void *to = a == job->first && single ? (float *)job->output->data + block * out_count : (void *)buffer[next];
      (single ? interpolate_f32 : interpolate_f64)(axis, job->extrapolation, outer, inner, from, to);
      from = to;
      next = !next;
    }
    inner *= axis->output;
  }
  for (int64_t i = 0; !single && i < out_count; i++)
    dq_tensor_set(job->output, block * out_count + i, ((const double *)from)[i]);
}

static dq_status interpolate(dq_op *op, resize_job *job) {
  int64_t blocks = dq_tensor_product(job->input, 0, job->first), count = 1, most = 1;
  for (int i = job->first; i < job->rank; i++) count *= job->axis[i].input;
  most = count;
  for (int i = job->rank - 1; i >= job->first; i--) {
    count = count / job->axis[i].input * job->axis[i].output;
    most = count > most ? count : most;
  }
  size_t threads = (size_t)dq_pool_threads(op->context ? op->context->pool : NULL);
  job->buffer_bytes = (size_t)most * sizeof(double);
  if (job->input->type == DQ_F32) job->buffer_bytes /= 2;
  job->buffers = dq_context_alloc(op->context, 2 * threads * job->buffer_bytes);
  if (!job->buffers) return dq_fail_memory(op->error, 2 * threads * job->buffer_bytes);
  dq_op_parallel(op, blocks, most, interpolate_block, job);
  dq_budget_free(job->buffers);
  return DQ_OK;
}

static dq_status run_tables(dq_op *op, resize_job *job, dq_arena *arena) {
  job->first = job->rank;
  for (int i = job->rank - 1; i >= 0; i--) {
    DQ_TRY(dq_resize_axis_table(&job->rules, &job->axis[i], arena, op->error));
    if (!job->axis[i].same) job->first = i;
  }
  if (job->first == job->rank) return dq_run_copy(op);
  if (job->rules.mode != DQ_RESIZE_NEAREST) return interpolate(op, job);
  int64_t item = job->rank > 1 ? dq_tensor_product(job->output, job->rank - 2, job->rank) : job->axis[0].output;
  dq_op_parallel(op, dq_tensor_count(job->output) / item, item, nearest_rows, job);
  return DQ_OK;
}

static dq_status run(dq_op *op) {
  resize_job job;
  bool known;
  DQ_TRY(read_job(op, &job, &known));
  if (!known) return dq_op_fail(op, DQ_BAD_INPUT, "scales or sizes are not known");
  job.input = op->inputs[0];
  job.output = op->outputs[0];
  job.extrapolation = (double)dq_node_float(op->node, "extrapolation_value", 0.0f);
  if (dq_tensor_count(job.output) == 0) return DQ_OK;
  if (dq_tensor_count(job.input) == 0) return dq_op_fail(op, DQ_BAD_INPUT, "an empty input cannot be resized");
  dq_arena *arena = dq_context_arena(op->context);
  if (!arena) return dq_fail_memory(op->error, 0);
  dq_status status = run_tables(op, &job, arena);
  dq_arena_free(arena);
  return status;
}

// The transpose of the map along an axis: what each output element gives back to the elements that it came from.
static dq_tensor *transposed_map(const dq_gradient *gradient, const dq_resize_axis *axis) {
  dq_tensor *map = dq_gradient_matrix(gradient, axis->input, axis->output);
  for (int64_t o = 0; map && o < axis->output; o++) {
    const int32_t *index = axis->index + o * axis->taps;
    for (int t = 0; index[0] >= 0 && t < axis->taps; t++) {
      const int64_t at = index[t] * axis->output + o;
      dq_tensor_set(map, at, dq_tensor_get(map, at) + (axis->weight_f64 ? axis->weight_f64[o * axis->taps + t] : 1));
    }
  }
  return map;
}

static dq_status gradient(const dq_gradient *gradient) {
  const dq_op *op = gradient->op;
  resize_job job;
  bool known;
  DQ_TRY(read_job(op, &job, &known));
  if (!known) return dq_op_fail(op, DQ_UNSUPPORTED, "training needs scales or sizes that are constant");
  dq_gradient_shape shape = {.rank = job.rank};
  dq_value *x = gradient->outputs[0];
  for (int i = 0; i < job.rank; i++) shape.dims[i] = job.axis[i].output;
  for (int i = 0; i < job.rank; i++) {
    DQ_TRY(dq_resize_axis_table(&job.rules, &job.axis[i], gradient->graph->arena, op->error));
    if (!job.axis[i].same) x = dq_gradient_mapped(gradient, x, &shape, i, transposed_map(gradient, &job.axis[i]));
  }
  return dq_gradient_set(gradient, 0, x);
}

// Nearest elements are moved.
static dq_status emit(dq_emission *to) {
  resize_job job;
  bool known;
  DQ_TRY(read_job(to->op, &job, &known));
  job.input = to->op->inputs[0];
  if (!known) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its scales are computed");
  if (job.rules.mode == DQ_RESIZE_NEAREST && job.rules.coordinates != DQ_TF_CROP_AND_RESIZE) return dq_emit_move(to);
  for (int i = 0; i < job.rank; i++) DQ_TRY(dq_resize_axis_table(&job.rules, &job.axis[i], to->arena, to->op->error));
  return dq_emit_resize(to, job.axis, job.rank, dq_node_float(to->op->node, "extrapolation_value", 0.0f));
}

const dq_operator dq_op_Resize = {
    .name = "Resize",
    .since = {10, 11, 13, 18, 19},
    .inputs = {1, 4},
    .outputs = {1, 1},
    .types = DQ_TYPES_NUMBER,
    .attributes = (const dq_attribute_rule[]){{"antialias", DQ_ATTRIBUTE_INT, false},
                                              {"axes", DQ_ATTRIBUTE_INTS, false},
                                              {"coordinate_transformation_mode", DQ_ATTRIBUTE_STRING, false},
                                              {"cubic_coeff_a", DQ_ATTRIBUTE_FLOAT, false},
                                              {"exclude_outside", DQ_ATTRIBUTE_INT, false},
                                              {"extrapolation_value", DQ_ATTRIBUTE_FLOAT, false},
                                              {"keep_aspect_ratio_policy", DQ_ATTRIBUTE_STRING, false},
                                              {"mode", DQ_ATTRIBUTE_STRING, false},
                                              {"nearest_mode", DQ_ATTRIBUTE_STRING, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .gradient = gradient,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_HALF,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_Upsample = {
    .name = "Upsample",
    .since = {7, 9},
    .inputs = {1, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_NUMBER,
    .attributes =
        (const dq_attribute_rule[]){{"mode", DQ_ATTRIBUTE_STRING, false}, {"scales", DQ_ATTRIBUTE_FLOATS, false}, {0}},
    .infer = infer,
    .run = run,
    .gradient = gradient,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_HALF,
    .bound = DQ_BOUND_MOVE,
};
