// How much errors of each output channel count: the scale of the batch normalization behind.
#include <math.h>

#include "decomp/tucker/tucker_job.h"

// Channels that the normalization almost switches off still count this share of the root mean
// square: the factor that takes the scale back would be unbounded otherwise.
static const double LEAST_SHARE = 0.05;

static const float *parameter(const dq_node *node, int i, int64_t count) {
  const dq_value *value = dq_node_input(node, i);
  const dq_tensor *tensor = value ? value->constant : NULL;
  bool fits = tensor && tensor->type == DQ_F32 && tensor->data && dq_tensor_count(tensor) == count;
  return fits ? tensor->data : NULL;
}

// The batch normalization that alone reads the convolution's output, or NULL.
static const dq_node *normalization_behind(const dq_node *node) {
  const dq_value *output = dq_node_output(node, 0);
  const dq_node *user = dq_only_user(output);
  bool fits = user && dq_node_is(user, "BatchNormalization") && dq_node_input(user, 0) == output &&
              !dq_node_int(user, "training_mode", 0);
  return fits ? user : NULL;
}

const double *dq_tucker_scale(const dq_tucker_job *job, dq_arena *arena) {
  const dq_node *norm = normalization_behind(job->node);
  int64_t count = job->layer->dims[0];
  const float *gamma = norm ? parameter(norm, 1, count) : NULL;
  const float *variance = norm ? parameter(norm, 4, count) : NULL;
  double *scale = gamma && variance ? DQ_NEW_ARRAY(arena, count, double) : NULL;
  if (!scale) return NULL;
  double epsilon = (double)dq_node_float(norm, "epsilon", 1e-5f), squares = 0;
  for (int64_t o = 0; o < count; o++) {
    scale[o] = fabs((double)gamma[o]) / sqrt((double)variance[o] + epsilon);
    squares += scale[o] * scale[o];
  }
  double least = LEAST_SHARE * sqrt(squares / (double)count);
  if (!(least > 0 && isfinite(least))) return NULL; // all off, or variances that are none
  for (int64_t o = 0; o < count; o++) scale[o] = fmax(scale[o], least);
  return scale;
}
