// GridSample: the input read at positions that a grid gives in [-1, 1], in two or three dimensions.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

enum { AXES = 3, TAPS = 4 };

typedef enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } sample_mode;
typedef enum sample_padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } sample_padding;

typedef struct sample_job {
  sample_mode mode;
  sample_padding padding;
  bool align_corners;
  const dq_tensor *input, *grid;
  dq_tensor *output;
  int axes;
  int64_t points; // per batch
} sample_job;

// What one output position reads along one axis; index -1: zero.
typedef struct sample_taps {
  int count;
  int64_t index[TAPS];
  float weight[TAPS];
} sample_taps;

static dq_status read_job(const dq_op *op, sample_job *job) {
  // Version 16 says bilinear and bicubic for what is linear and cubic later. The first is the
  // default; the order modulo 3 is that of the types above, turned by one.
  static const char *const modes[] = {"linear", "cubic", "nearest", "bilinear", "bicubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  int mode = 0, padding = 0;
  DQ_TRY(DQ_OP_WORD(op, "mode", modes, &mode));
  DQ_TRY(DQ_OP_WORD(op, "padding_mode", paddings, &padding));
  *job = (sample_job){.mode = (sample_mode)((mode + 1) % 3),
                      .padding = (sample_padding)padding,
                      .align_corners = dq_node_int(op->node, "align_corners", 0) != 0,
                      .input = op->inputs[0],
                      .grid = op->inputs[1],
                      .axes = op->inputs[0]->rank - 2};
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *grid = op->inputs[1];
  sample_job job;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_job(op, &job));
  if (job.axes != 2 && job.axes != 3)
    return dq_op_fail(op, job.axes < 1 ? DQ_BAD_INPUT : DQ_UNSUPPORTED,
                      "the input has %d dimensions, supported are 4 and 5", input->rank);
  if (job.axes == 3 && job.mode == SAMPLE_CUBIC)
    return dq_op_fail(op, DQ_UNSUPPORTED, "mode cubic needs an input of 4 dimensions");
  char left[DQ_SHAPE_TEXT], right[DQ_SHAPE_TEXT];
  if (grid->rank != input->rank || grid->dims[0] != input->dims[0] || grid->dims[grid->rank - 1] != job.axes)
    return dq_op_fail(op, DQ_BAD_INPUT, "a grid of shape %s does not fit an input of shape %s",
                      dq_tensor_shape_text(grid, left, sizeof left), dq_tensor_shape_text(input, right, sizeof right));
  dims[0] = input->dims[0];
  dims[1] = input->dims[1];
  for (int i = 0; i < job.axes; i++) dims[2 + i] = grid->dims[1 + i];
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

// x thrown back at both ends of [least, most] until it lies inside.
static float reflected(float x, float least, float most) {
  float range = most - least, beyond = x < least ? least - x : x - most;
  if (x >= least && x <= most) return x;
  if (!(range > 0)) return least;
  float times = floorf(beyond / range), rest = beyond - times * range;
  bool even = fmodf(times, 2) == 0;
  return (x < least) == even ? least + rest : most - rest;
}

static int64_t tap_index(const sample_job *job, int64_t i, int64_t size, float least, float most) {
  if (i >= 0 && i < size) return i;
  if (job->padding == PAD_BORDER) return i < 0 ? 0 : size - 1;
  if (job->padding == PAD_ZEROS) return -1;
  int64_t inside = (int64_t)reflected((float)i, least, most);
  return inside < 0 ? 0 : inside >= size ? size - 1 : inside;
}

// Weights of the cubic convolution with coefficient -0.75 at distances 1 + t, t, 1 - t, 2 - t.
static void cubic_weights(float t, float *weight) {
  const float a = -0.75f;
  float u = 1 - t;
  weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weight[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
  weight[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

// The taps along an axis of `size` elements for grid coordinate `g`.
static sample_taps find_taps(const sample_job *job, float g, int64_t size) {
  sample_taps taps = {.count = 1};
  float length = (float)size, least = job->align_corners ? 0 : -0.5f;
  float most = job->align_corners ? length - 1 : length - 0.5f;
  float x = job->align_corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
  if (job->mode == SAMPLE_NEAREST) x = nearbyintf(x);
  // The cubic kernel repeats the border tap by tap instead.
  if (job->padding == PAD_BORDER && job->mode != SAMPLE_CUBIC && (x < least || x > most)) x = x < 0 ? 0 : length - 1;
  if (job->padding == PAD_REFLECTION) x = reflected(x, least, most);
  if (!(x > -8)) x = -8; // far outside is as good as further outside; NaN goes there too
  if (x > length + 8) x = length + 8;
  int64_t left = (int64_t)floorf(x);
  float ratio = x - (float)left;
  if (job->mode == SAMPLE_NEAREST) {
    taps.weight[0] = 1;
    left = (int64_t)nearbyintf(x);
  } else if (job->mode == SAMPLE_LINEAR) {
    taps.count = 2;
    taps.weight[0] = 1 - ratio;
    taps.weight[1] = ratio;
  } else {
    taps.count = 4;
    left--;
    cubic_weights(ratio, taps.weight);
  }
  for (int i = 0; i < taps.count; i++) taps.index[i] = tap_index(job, left + i, size, least, most);
  return taps;
}

static float read_point(const sample_taps *taps, const int64_t *dims, const float *plane) {
  float sum = 0;
  for (int d = 0; d < taps[0].count; d++)
    for (int h = 0; h < taps[1].count; h++)
      for (int w = 0; w < taps[2].count; w++) {
        int64_t i = taps[0].index[d], j = taps[1].index[h], k = taps[2].index[w];
        if (i < 0 || j < 0 || k < 0) continue;
        float weight = taps[0].weight[d] * taps[1].weight[h] * taps[2].weight[w];
        sum += weight * plane[(i * dims[1] + j) * dims[2] + k];
      }
  return sum;
}

static void sample_point(void *argument, int64_t item, int thread) {
  (void)thread;
  const sample_job *job = argument;
  const float *grid = (const float *)job->grid->data + item * job->axes;
  int64_t batch = item / job->points, point = item % job->points;
  int64_t dims[AXES] = {1, 1, 1}, channels = job->input->dims[1];
  sample_taps taps[AXES] = {{1, {0}, {1}}, {1, {0}, {1}}, {1, {0}, {1}}};
  for (int i = 0; i < job->axes; i++) { // the grid names the last axis first
    int axis = AXES - 1 - i;
    dims[axis] = job->input->dims[job->input->rank - 1 - i];
    taps[axis] = find_taps(job, grid[i], dims[axis]);
  }
  int64_t volume = dims[0] * dims[1] * dims[2];
  const float *input = (const float *)job->input->data + batch * channels * volume;
  float *output = (float *)job->output->data + batch * channels * job->points + point;
  for (int64_t c = 0; c < channels; c++) output[c * job->points] = read_point(taps, dims, input + c * volume);
}

static dq_status run(dq_op *op) {
  sample_job job;
  DQ_TRY(read_job(op, &job));
  job.output = op->outputs[0];
  if (job.grid->type != DQ_F32)
    return dq_op_fail(op, DQ_UNSUPPORTED, "a grid of type %s is not supported", dq_dtype_name(job.grid->type));
  job.points = dq_tensor_product(job.output, 2, job.output->rank);
  if (dq_tensor_count(job.output) == 0) return DQ_OK;
  if (dq_tensor_count(job.input) == 0) return dq_op_fail(op, DQ_BAD_INPUT, "an empty input cannot be sampled");
  dq_op_parallel(op, job.output->dims[0] * job.points, 8 * job.output->dims[1], sample_point, &job);
  return DQ_OK;
}

// ---- C ----

// The place x that a grid coordinate names along an axis, as find_taps has it, one rounding in each statement.
static void emit_place(dq_emission *to, const sample_job *job, int64_t size, const char *least, const char *most) {
  if (job->align_corners) dq_emit(to, "x += 1.0f, x /= 2.0f, x *= %" PRId64 ".0f;", size - 1);
  else dq_emit(to, "x += 1.0f, x *= %" PRId64 ".0f, x -= 1.0f, x /= 2.0f;", size);
  if (job->mode == SAMPLE_NEAREST) dq_emit(to, "x = nearbyintf(x);");
  if (job->padding == PAD_BORDER && job->mode != SAMPLE_CUBIC)
    dq_emit(to, "if (x < %s || x > %s) x = x < 0.0f ? 0.0f : %" PRId64 ".0f;", least, most, size - 1);
  if (job->padding == PAD_REFLECTION) dq_emit(to, "x = dq_reflected(x, %s, %s);", least, most);
  dq_emit(to, "if (!(x > -8.0f)) x = -8.0f;");
  dq_emit(to, "if (x > %" PRId64 ".0f) x = %" PRId64 ".0f;", size + 8, size + 8);
}

// Sets index[axis] and weight[axis] for the grid coordinate `i` of a point.
static void emit_taps(dq_emission *to, const sample_job *job, int i, int axis, int64_t size) {
  const int counts[] = {[SAMPLE_NEAREST] = 1, [SAMPLE_LINEAR] = 2, [SAMPLE_CUBIC] = 4};
  const char *least = job->align_corners ? "0.0f" : "-0.5f";
  char most[40], index[40], element[100];
  snprintf(most, sizeof most, job->align_corners ? "%" PRId64 ".0f" : "%" PRId64 ".5f", size - 1);
  snprintf(index, sizeof index, "item * %d + %d", job->axes, i);
  dq_emit_element(to, 1, index, element);
  dq_emit(to, "{");
  dq_emit(to, "float x = %s%s;", element, job->mode == SAMPLE_NEAREST ? "" : ", ratio");
  dq_emit(to, "int32_t left;");
  emit_place(to, job, size, least, most);
  dq_emit(to, "left = (int32_t)%s(x);", job->mode == SAMPLE_NEAREST ? "nearbyintf" : "floorf");
  if (job->mode == SAMPLE_NEAREST) dq_emit(to, "weight[%d][0] = 1.0f;", axis);
  else dq_emit(to, "ratio = x - (float)left;");
  if (job->mode == SAMPLE_LINEAR) dq_emit(to, "weight[%d][0] = 1.0f - ratio, weight[%d][1] = ratio;", axis, axis);
  if (job->mode == SAMPLE_CUBIC) {
    dq_emit_need(to, DQ_EMIT_CUBIC);
    dq_emit(to, "left--, dq_cubic(ratio, weight[%d]);", axis);
  }
  dq_emit(to, "for (int32_t t = 0; t < %d; t++) {", counts[job->mode]);
  dq_emit(to, "int32_t at = left + t;");
  if (job->padding == PAD_REFLECTION)
    dq_emit(to, "if (at < 0 || at >= %" PRId64 ") at = (int32_t)dq_reflected((float)at, %s, %s);", size, least, most);
  if (job->padding == PAD_ZEROS) dq_emit(to, "index[%d][t] = at < 0 || at >= %" PRId64 " ? -1 : at;", axis, size);
  else dq_emit(to, "index[%d][t] = at < 0 ? 0 : at >= %" PRId64 " ? %" PRId64 " : at;", axis, size, size - 1);
  dq_emit_close(to, 2);
}

// The sum of a point, as read_point has it.
static void emit_point(dq_emission *to, const sample_job *job, const int64_t *dims) {
  const int counts[] = {[SAMPLE_NEAREST] = 1, [SAMPLE_LINEAR] = 2, [SAMPLE_CUBIC] = 4};
  char element[100];
  dq_emit_element(to, 0, "place", element);
  dq_emit(to, "float sum = 0.0f;");
  for (int a = 0; a < AXES; a++)
    dq_emit(to, "for (int32_t t%d = 0; t%d < %d; t%d++) {", a, a, a < AXES - job->axes ? 1 : counts[job->mode], a);
  dq_emit(to, "const int32_t d = index[0][t0], h = index[1][t1], w = index[2][t2];");
  dq_emit(to, "if (d < 0 || h < 0 || w < 0) continue;");
  dq_emit(to, "{");
  dq_emit(to, "const int32_t place = plane + (d * %" PRId64 " + h) * %" PRId64 " + w;", dims[1], dims[2]);
  dq_emit(to, "float part = weight[0][t0] * weight[1][t1];");
  dq_emit(to, "part *= weight[2][t2];");
  dq_emit(to, "part *= %s;", element);
  dq_emit(to, "sum += part;");
  dq_emit_close(to, 1 + AXES);
}

static dq_status emit(dq_emission *to) {
  const dq_tensor *input = to->op->inputs[0], *output = to->op->outputs[0];
  sample_job job;
  DQ_TRY(read_job(to->op, &job));
  int64_t dims[AXES] = {1, 1, 1}, points = dq_tensor_product(output, 2, output->rank), channels = input->dims[1];
  for (int i = 0; i < job.axes; i++) dims[AXES - 1 - i] = input->dims[input->rank - 1 - i];
  dq_emit_need(to, DQ_EMIT_MATH);
  if (job.padding == PAD_REFLECTION) dq_emit_need(to, DQ_EMIT_REFLECTED);
  dq_emit(to, "for (int32_t item = 0; item < %" PRId64 "; item++) {", output->dims[0] * points);
  dq_emit(to, "float weight[3][4] = {{1.0f}, {1.0f}, {1.0f}};");
  dq_emit(to, "int32_t index[3][4] = {{0}};");
  for (int i = 0; i < job.axes; i++) emit_taps(to, &job, i, AXES - 1 - i, dims[AXES - 1 - i]);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", channels);
  dq_emit(to, "const int32_t channel = item / %" PRId64 " * %" PRId64 " + c, plane = channel * %" PRId64 ";", points,
          channels, dims[0] * dims[1] * dims[2]);
  dq_emit(to, "const int32_t target = channel * %" PRId64 " + item %% %" PRId64 ";", points, points);
  emit_point(to, &job, dims);
  dq_emit_assign(to, 0, "target", "sum");
  dq_emit_close(to, 2);
  return DQ_OK;
}

const dq_operator dq_op_GridSample = {
    .name = "GridSample",
    .since = {16, 20, 22},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32),
    .attributes = (const dq_attribute_rule[]){{"align_corners", DQ_ATTRIBUTE_INT, false},
                                              {"mode", DQ_ATTRIBUTE_STRING, false},
                                              {"padding_mode", DQ_ATTRIBUTE_STRING, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .emit = emit,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
