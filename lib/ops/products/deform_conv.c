// DeformConv: a convolution whose taps are moved by offsets and scaled by a mask (Dai et al.,
// Deformable Convolutional Networks, 2017; version 2, 2018). Two spatial dimensions.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/common/window.h"

typedef struct deform_job {
  const dq_tensor *input, *weight, *offset, *bias, *mask; // the last two may be NULL
  dq_tensor *output;
  dq_window window;
  int64_t group, offset_group;
  float *columns; // one column of input channels x taps per thread
} deform_job;

static dq_status check_groups(const dq_op *op, const deform_job *job) {
  int64_t channels = job->input->dims[1], outputs = job->weight->dims[0];
  if (job->group < 1 || job->offset_group < 1 || channels % job->group || outputs % job->group ||
      channels % job->offset_group || job->weight->dims[1] != channels / job->group)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "%" PRId64 " input and %" PRId64 " output channels, a weight with %" PRId64
                      " input channels, %" PRId64 " groups and %" PRId64 " offset groups do not fit each other",
                      channels, outputs, job->weight->dims[1], job->group, job->offset_group);
  return DQ_OK;
}

static bool has_shape(const dq_tensor *tensor, const int64_t *dims) {
  bool fits = tensor->rank == 4;
  for (int i = 0; fits && i < 4; i++) fits = tensor->dims[i] == dims[i];
  return fits;
}

static dq_status read_job(const dq_op *op, deform_job *job) {
  *job = (deform_job){.input = op->inputs[0],
                      .weight = op->inputs[1],
                      .offset = op->inputs[2],
                      .bias = dq_op_input(op, 3),
                      .mask = dq_op_input(op, 4),
                      .group = dq_node_int(op->node, "group", 1),
                      .offset_group = dq_node_int(op->node, "offset_group", 1)};
  if (job->input->rank != 4 || job->weight->rank != 4)
    return dq_op_fail(op, DQ_UNSUPPORTED, "input and weight have %d and %d dimensions, expected 4", job->input->rank,
                      job->weight->rank);
  DQ_TRY(check_groups(op, job));
  DQ_TRY(dq_window_read(op, job->input, &job->weight->dims[2], &job->window));
  int64_t taps = job->window.kernel[0] * job->window.kernel[1];
  int64_t dims[4] = {job->input->dims[0], 2 * job->offset_group * taps, job->window.output[0], job->window.output[1]};
  char text[DQ_SHAPE_TEXT];
  if (!has_shape(job->offset, dims))
    return dq_op_fail(op, DQ_BAD_INPUT, "offsets of shape %s do not fit input and kernel",
                      dq_tensor_shape_text(job->offset, text, sizeof text));
  dims[1] /= 2;
  if (job->mask && !has_shape(job->mask, dims))
    return dq_op_fail(op, DQ_BAD_INPUT, "a mask of shape %s does not fit input and kernel",
                      dq_tensor_shape_text(job->mask, text, sizeof text));
  if (job->bias && (job->bias->rank != 1 || job->bias->dims[0] != job->weight->dims[0]))
    return dq_op_fail(op, DQ_BAD_INPUT, "a bias of shape %s for %" PRId64 " output channels",
                      dq_tensor_shape_text(job->bias, text, sizeof text), job->weight->dims[0]);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  deform_job job;
  DQ_TRY(read_job(op, &job));
  return dq_op_shape(
      op, 0, job.input->type, 4,
      (const int64_t[]){job.input->dims[0], job.weight->dims[0], job.window.output[0], job.window.output[1]});
}

// Bilinear value at (y, x); elements outside the plane are zero.
static float sample(const float *plane, int64_t rows, int64_t columns, float y, float x) {
  if (!(y > -1 && y < (float)rows && x > -1 && x < (float)columns)) return 0;
  float top = floorf(y), left = floorf(x), ly = y - top, lx = x - left, sum = 0;
  int64_t y0 = (int64_t)top, x0 = (int64_t)left;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      int64_t r = y0 + i, c = x0 + j;
      if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
      sum += (i ? ly : 1 - ly) * (j ? lx : 1 - lx) * plane[r * columns + c];
    }
  return sum;
}

// The moved, masked taps of one output position: channels x taps into `column`.
static void gather_column(const deform_job *job, int64_t batch, const int64_t *o, float *column) {
  const dq_window *w = &job->window;
  const float *input = job->input->data, *offset = job->offset->data;
  const float *mask = job->mask ? job->mask->data : NULL;
  int64_t channels = job->input->dims[1], taps = w->kernel[0] * w->kernel[1];
  int64_t places = w->output[0] * w->output[1], at = o[0] * w->output[1] + o[1];
  int64_t per_offset = channels / job->offset_group, volume = w->input[0] * w->input[1];
  for (int64_t c = 0; c < channels; c++) {
    const float *plane = input + (batch * channels + c) * volume;
    int64_t first = (batch * job->offset_group + c / per_offset) * taps;
    for (int64_t t = 0; t < taps; t++) {
      int64_t kh = t / w->kernel[1], kw = t % w->kernel[1];
      float y = (float)(o[0] * w->stride[0] - w->begin[0] + kh * w->dilation[0]);
      float x = (float)(o[1] * w->stride[1] - w->begin[1] + kw * w->dilation[1]);
      y += offset[2 * (first + t) * places + at];
      x += offset[(2 * (first + t) + 1) * places + at];
      float value = sample(plane, w->input[0], w->input[1], y, x);
      column[c * taps + t] = mask ? value * mask[(first + t) * places + at] : value;
    }
  }
}

static void convolve_position(void *argument, int64_t item, int thread) {
  const deform_job *job = argument;
  const dq_window *w = &job->window;
  int64_t places = w->output[0] * w->output[1], batch = item / places, at = item % places;
  int64_t outputs = job->weight->dims[0], channels = job->input->dims[1];
  int64_t depth = job->weight->dims[1] * w->kernel[0] * w->kernel[1];
  float *column = job->columns + thread * channels * w->kernel[0] * w->kernel[1];
  gather_column(job, batch, (const int64_t[]){at / w->output[1], at % w->output[1]}, column);
  for (int64_t c = 0; c < outputs; c++) {
    const float *weight = (const float *)job->weight->data + c * depth;
    const float *taps = column + c / (outputs / job->group) * depth;
    float sum = job->bias ? ((const float *)job->bias->data)[c] : 0;
    for (int64_t k = 0; k < depth; k++) sum += weight[k] * taps[k];
    ((float *)job->output->data)[(batch * outputs + c) * places + at] = sum;
  }
}

static dq_status run(dq_op *op) {
  deform_job job;
  DQ_TRY(read_job(op, &job));
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->type != op->inputs[0]->type)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d has type %s, input 0 has %s; expected one type", i,
                        dq_dtype_name(op->inputs[i]->type), dq_dtype_name(op->inputs[0]->type));
  job.output = op->outputs[0];
  if (dq_tensor_count(job.output) == 0) return DQ_OK;
  int64_t column = job.input->dims[1] * job.window.kernel[0] * job.window.kernel[1];
  size_t threads = (size_t)dq_pool_threads(op->context ? op->context->pool : NULL);
  job.columns = dq_context_alloc(op->context, threads * (size_t)column * sizeof(float));
  if (!job.columns) return dq_fail_memory(op->error, threads * (size_t)column * sizeof(float));
  dq_op_parallel(op, job.output->dims[0] * job.window.output[0] * job.window.output[1],
                 column * (job.weight->dims[0] + 4), convolve_position, &job);
  dq_budget_free(job.columns);
  return DQ_OK;
}

static int64_t macs(const dq_op *op) {
  const dq_tensor *weight = op->inputs[1];
  return dq_tensor_count(op->outputs[0]) * dq_tensor_product(weight, 1, weight->rank);
}

const dq_operator dq_op_DeformConv = {
    .name = "DeformConv",
    .since = {19, 22},
    .inputs = {3, 5},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32),
    .attributes = (const dq_attribute_rule[]){{"dilations", DQ_ATTRIBUTE_INTS, false},
                                              {"group", DQ_ATTRIBUTE_INT, false},
                                              {"kernel_shape", DQ_ATTRIBUTE_INTS, false},
                                              {"offset_group", DQ_ATTRIBUTE_INT, false},
                                              {"pads", DQ_ATTRIBUTE_INTS, false},
                                              {"strides", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .macs = macs,
    .category = DQ_DENY, // float16 offsets miss the elements of large pictures
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
