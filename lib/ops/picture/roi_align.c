// RoiAlign: regions of interest read by bilinear interpolation and pooled to one size (He et al.,
// Mask R-CNN, 2017), with the rules of ONNX Runtime that the specification took over.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/ops/common/strided.h"

typedef struct roi_job {
  const dq_tensor *input, *rois, *batches;
  dq_tensor *output;
  int64_t height, width, sampling_ratio; // of the output
  float spatial_scale;
  bool maximum, half_pixel;
} roi_job;

static dq_status read_job(const dq_op *op, roi_job *job) {
  const char *mode = dq_node_string(op->node, "mode", "avg");
  const char *fallback = op->version >= 16 ? "half_pixel" : "output_half_pixel";
  const char *pixel = dq_node_string(op->node, "coordinate_transformation_mode", fallback);
  *job = (roi_job){.input = op->inputs[0],
                   .rois = op->inputs[1],
                   .batches = op->inputs[2],
                   .height = dq_node_int(op->node, "output_height", 1),
                   .width = dq_node_int(op->node, "output_width", 1),
                   .sampling_ratio = dq_node_int(op->node, "sampling_ratio", 0),
                   .spatial_scale = dq_node_float(op->node, "spatial_scale", 1.0f),
                   .maximum = !strcmp(mode, "max"),
                   .half_pixel = !strcmp(pixel, "half_pixel")};
  if (!job->maximum && strcmp(mode, "avg"))
    return dq_op_fail(op, DQ_BAD_INPUT, "mode is '%s', expected avg or max", mode);
  if (!job->half_pixel && strcmp(pixel, "output_half_pixel"))
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "coordinate_transformation_mode is '%s', expected half_pixel or output_half_pixel", pixel);
  if (job->height < 1 || job->width < 1 || job->sampling_ratio < 0 || job->sampling_ratio > 1024)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "output %" PRId64 "x%" PRId64 " with sampling ratio %" PRId64
                      ", expected at least 1x1 and 0 to 1024",
                      job->height, job->width, job->sampling_ratio);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  roi_job job;
  DQ_TRY(read_job(op, &job));
  if (job.input->rank != 4 || job.rois->rank != 2 || job.rois->dims[1] != 4 || job.batches->rank != 1 ||
      job.batches->dims[0] != job.rois->dims[0])
    return dq_op_fail(op, DQ_BAD_INPUT, "expected an input of 4 dimensions, regions N x 4 and N batch indices");
  if (job.batches->type != DQ_I64 && job.batches->type != DQ_I32)
    return dq_op_fail(op, DQ_BAD_INPUT, "batch indices are %s, expected int64", dq_dtype_name(job.batches->type));
  return dq_op_shape(op, 0, job.input->type, 4,
                     (const int64_t[]){job.rois->dims[0], job.input->dims[1], job.height, job.width});
}

// The two elements around a coordinate and the weight of the second. false: outside, reads zero.
static bool neighbours(float x, int64_t size, int64_t *low, int64_t *high, float *ratio) {
  if (!(x >= -1 && x <= (float)size)) return false;
  if (x < 0) x = 0;
  *low = (int64_t)x;
  if (*low >= size - 1) {
    *low = *high = size - 1;
    *ratio = 0;
  } else {
    *high = *low + 1;
    *ratio = x - (float)*low;
  }
  return true;
}

// One sample: the interpolated value, or for the maximum the greatest of the four weighted
// elements.
static float sample(const roi_job *job, const float *plane, float y, float x) {
  int64_t rows = job->input->dims[2], columns = job->input->dims[3], y0, y1, x0, x1;
  float ly, lx;
  if (!neighbours(y, rows, &y0, &y1, &ly) || !neighbours(x, columns, &x0, &x1, &lx)) return 0;
  float a = (1 - ly) * (1 - lx) * plane[y0 * columns + x0];
  float b = (1 - ly) * lx * plane[y0 * columns + x1];
  float c = ly * (1 - lx) * plane[y1 * columns + x0];
  float d = ly * lx * plane[y1 * columns + x1];
  return job->maximum ? fmaxf(fmaxf(a, b), fmaxf(c, d)) : a + b + c + d;
}

typedef struct roi_region {
  float start_y, start_x, bin_height, bin_width;
  int64_t samples_y, samples_x; // per bin
} roi_region;

static int64_t sample_count(const roi_job *job, float bin) {
  if (job->sampling_ratio > 0) return job->sampling_ratio;
  float count = ceilf(bin);
  return count > 0 && count < 4096 ? (int64_t)count : count > 0 ? 4096 : 0;
}

static roi_region read_region(const roi_job *job, int64_t r) {
  const float *roi = (const float *)job->rois->data + 4 * r;
  float offset = job->half_pixel ? 0.5f : 0, scale = job->spatial_scale;
  roi_region region = {.start_x = roi[0] * scale - offset, .start_y = roi[1] * scale - offset};
  float width = roi[2] * scale - offset - region.start_x;
  float height = roi[3] * scale - offset - region.start_y;
  if (!job->half_pixel) { // malformed regions become 1x1
    width = fmaxf(width, 1);
    height = fmaxf(height, 1);
  }
  region.bin_height = height / (float)job->height;
  region.bin_width = width / (float)job->width;
  region.samples_y = sample_count(job, region.bin_height);
  region.samples_x = sample_count(job, region.bin_width);
  return region;
}

static float pool_bin(const roi_job *job, const roi_region *region, const float *plane, int64_t ph, int64_t pw) {
  float sum = 0, most = -INFINITY;
  int64_t count = region->samples_y * region->samples_x;
  for (int64_t i = 0; i < region->samples_y; i++)
    for (int64_t j = 0; j < region->samples_x; j++) {
      float y = region->start_y + (float)ph * region->bin_height +
                ((float)i + 0.5f) * region->bin_height / (float)region->samples_y;
      float x = region->start_x + (float)pw * region->bin_width +
                ((float)j + 0.5f) * region->bin_width / (float)region->samples_x;
      float value = sample(job, plane, y, x);
      sum += value;
      most = fmaxf(most, value);
    }
  if (count == 0) return 0;
  return job->maximum ? most : sum / (float)count;
}

static void pool_region(void *argument, int64_t item, int thread) {
  (void)thread;
  const roi_job *job = argument;
  int64_t channels = job->input->dims[1], r = item / channels, c = item % channels;
  int64_t batch = dq_tensor_get_i64(job->batches, r);
  int64_t volume = job->input->dims[2] * job->input->dims[3];
  const float *plane = (const float *)job->input->data + (batch * channels + c) * volume;
  float *output = (float *)job->output->data + item * job->height * job->width;
  roi_region region = read_region(job, r);
  for (int64_t ph = 0; ph < job->height; ph++)
    for (int64_t pw = 0; pw < job->width; pw++) *output++ = pool_bin(job, &region, plane, ph, pw);
}

static dq_status run(dq_op *op) {
  roi_job job;
  DQ_TRY(read_job(op, &job));
  job.output = op->outputs[0];
  if (job.rois->type != DQ_F32)
    return dq_op_fail(op, DQ_UNSUPPORTED, "regions of type %s are not supported", dq_dtype_name(job.rois->type));
  int64_t count = job.rois->dims[0];
  for (int64_t r = 0; r < count; r++) {
    int64_t batch = dq_tensor_get_i64(job.batches, r);
    if (batch < 0 || batch >= job.input->dims[0])
      return dq_op_fail(op, DQ_BAD_INPUT, "batch index %" PRId64 ", expected 0 to %" PRId64, batch,
                        job.input->dims[0] - 1);
  }
  if (job.input->dims[2] == 0 || job.input->dims[3] == 0)
    return dq_op_fail(op, DQ_BAD_INPUT, "an empty input cannot be sampled");
  dq_op_parallel(op, count * job.input->dims[1], 16 * job.height * job.width, pool_region, &job);
  return DQ_OK;
}

const dq_operator dq_op_RoiAlign = {
    .name = "RoiAlign",
    .since = {10, 16, 22},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32),
    .attributes = (const dq_attribute_rule[]){{"coordinate_transformation_mode", DQ_ATTRIBUTE_STRING, false},
                                              {"mode", DQ_ATTRIBUTE_STRING, false},
                                              {"output_height", DQ_ATTRIBUTE_INT, false},
                                              {"output_width", DQ_ATTRIBUTE_INT, false},
                                              {"sampling_ratio", DQ_ATTRIBUTE_INT, false},
                                              {"spatial_scale", DQ_ATTRIBUTE_FLOAT, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
