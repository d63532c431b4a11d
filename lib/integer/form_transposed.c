// ConvTranspose as a convolution of sub-pixels: with stride s every output position belongs to one of s x s
// phases, and a phase is an ordinary convolution of the input with every s-th tap. All phases at once are one
// convolution with s^2 times the output channels, kernels of ceil(k / s), whose channels DepthToSpace then
// lays side by side; a Slice cuts the pads off. (Shi et al., "Is the deconvolution layer the same as a
// convolutional layer?", 2016.) Taps that a phase has not are zero, so the sums are those of ConvTranspose.
#include <string.h>

#include "lib/integer/quantized_pattern.h"

typedef struct transposed {
  int64_t stride, kernel[2], begin[2], end[2]; // pads at the ends less output_padding
  int64_t taps[2];                             // of the convolution: ceil(kernel / stride)
  int64_t groups, in_channels, out_channels;   // all groups; the weight is in x (out / groups) x kernel
} transposed;

static const int64_t *ints_of(const dq_node *node, const char *name, int count, const int64_t *fallback) {
  int found;
  const int64_t *values = dq_node_ints(node, name, &found);
  return !values ? fallback : found == count ? values : NULL;
}

// false: a form that this is not for, such as strides that differ.
static bool read_transposed(const dq_graph *copy, const dq_node *node, const dq_tensor *weight, transposed *t) {
  static const int64_t ones[] = {1, 1}, zeros[4];
  const int64_t *strides = ints_of(node, "strides", 2, ones), *dilations = ints_of(node, "dilations", 2, ones);
  const int64_t *pads = ints_of(node, "pads", 4, zeros), *extra = ints_of(node, "output_padding", 2, zeros);
  const char *auto_pad = dq_node_string(node, "auto_pad", "NOTSET");
  if (weight->rank != 4 || dq_graph_opset(copy, "") < 11 || dq_node_attribute(node, "output_shape") ||
      (strcmp(auto_pad, "NOTSET") && strcmp(auto_pad, "")) || !strides || !dilations || !pads || !extra)
    return false;
  *t = (transposed){.stride = strides[0], .groups = dq_node_int(node, "group", 1), .in_channels = weight->dims[0]};
  if (strides[0] != strides[1] || t->stride < 1 || t->stride > 16 || dilations[0] != 1 || dilations[1] != 1 ||
      t->groups < 1 || t->groups > t->in_channels || t->in_channels % t->groups || weight->dims[1] < 1)
    return false;
  t->out_channels = weight->dims[1] * t->groups;
  for (int i = 0; i < 2; i++) {
    t->kernel[i] = weight->dims[2 + i];
    t->taps[i] = (t->kernel[i] + t->stride - 1) / t->stride;
    t->begin[i] = pads[i];
    t->end[i] = pads[2 + i] - extra[i] + t->taps[i] * t->stride - t->kernel[i]; // to cut off
    if (t->kernel[i] < 1 || pads[i] < 0 || pads[2 + i] < 0 || extra[i] < 0 || t->end[i] < 0) return false;
  }
  return true;
}

// Weight, scales, zero points or bias of the convolution: `rows` elements for each output channel, taken
// from those of the ConvTranspose.
static dq_value *spread(dq_graph *copy, const transposed *t, const dq_tensor *from) {
  if (!from) return NULL;
  int64_t phases = t->stride * t->stride, count = t->out_channels * phases, given = dq_tensor_count(from);
  dq_tensor *to = dq_tensor_new(copy->arena, from->type, 1, &count);
  size_t size = dq_dtype_size(from->type);
  for (int64_t i = 0; to && i < count; i++) // fewer than channels: those of one group, or one for all
    memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)(i / phases % given) * size, size);
  return dq_graph_add_constant(copy, "subpixel", to);
}

static dq_tensor *subpixel_weight(dq_graph *copy, const transposed *t, const dq_tensor *from, const dq_tensor *zero) {
  int64_t s = t->stride, inputs = t->in_channels / t->groups, outputs = t->out_channels / t->groups;
  int64_t dims[] = {t->out_channels * s * s, inputs, t->taps[0], t->taps[1]}, zeros = dq_tensor_count(zero);
  dq_tensor *to = dq_tensor_new(copy->arena, from->type, 4, dims);
  if (!to) return NULL;
  uint8_t *next = to->data;
  for (int64_t row = 0; row < dims[0]; row++) {
    int64_t o = row / (s * s), y = row / s % s, x = row % s; // output channel, phase
    uint8_t nothing = ((const uint8_t *)zero->data)[o % outputs % zeros];
    for (int64_t c = 0; c < inputs; c++)
      for (int64_t i = 0; i < t->taps[0]; i++)
        for (int64_t j = 0; j < t->taps[1]; j++) {
          int64_t ky = (t->taps[0] - 1 - i) * s + y, kx = (t->taps[1] - 1 - j) * s + x;
          int64_t at = ((o / outputs * inputs + c) * outputs + o % outputs) * t->kernel[0] + ky;
          bool there = ky < t->kernel[0] && kx < t->kernel[1];
          *next++ = there ? ((const uint8_t *)from->data)[at * t->kernel[1] + kx] : nothing;
        }
  }
  return to;
}

static dq_value *add_after(dq_graph *copy, const dq_node *after, const char *op_type, dq_value **inputs, int count,
                           dq_value *output) {
  const char *name = dq_graph_fresh_name(copy, op_type);
  dq_node *node = name ? dq_graph_add_node(copy, after->index + 1, op_type, name, count, inputs, 1, &output) : NULL;
  if (node) output->producer = node;
  return node ? output : NULL;
}

static dq_value *indices(dq_graph *copy, const int64_t *values, int64_t count) {
  dq_tensor *tensor = dq_tensor_new(copy->arena, DQ_I64, 1, &count);
  if (tensor) memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(copy, "indices", tensor);
}

// DepthToSpace and Slice from what the convolution makes to `output`.
static bool add_shuffle(dq_graph *copy, const transposed *t, dq_node *conv, dq_value *output) {
  bool cut = t->begin[0] || t->begin[1] || t->end[0] || t->end[1];
  dq_value *packed = dq_graph_fresh_value(copy, "subpixels"),
           *whole = cut ? dq_graph_fresh_value(copy, "uncut") : output;
  if (!packed || !whole) return false;
  dq_node_set_output(conv, packed);
  if (cut) { // in front of it, the shuffle
    int64_t ends[] = {t->end[0] ? -t->end[0] : INT64_MAX, t->end[1] ? -t->end[1] : INT64_MAX};
    dq_value *inputs[] = {whole, indices(copy, t->begin, 2), indices(copy, ends, 2),
                          indices(copy, (const int64_t[]){2, 3}, 2)};
    if (!inputs[1] || !inputs[2] || !inputs[3] || !add_after(copy, conv, "Slice", inputs, 4, output)) return false;
  }
  return add_after(copy, conv, "DepthToSpace", &packed, 1, whole) &&
         dq_node_set_int(copy, whole->producer, "blocksize", t->stride) &&
         dq_node_set_string(copy, whole->producer, "mode", "CRD");
}

static bool set_window(dq_graph *copy, dq_node *conv, const transposed *t) {
  const int64_t pads[] = {t->taps[0] - 1, t->taps[1] - 1, t->taps[0] - 1, t->taps[1] - 1};
  conv->attribute_count = 0;
  return dq_node_set_ints(copy, conv, "pads", pads, 4) && dq_node_set_int(copy, conv, "group", t->groups);
}

dq_status dq_form_transposed(dq_graph *copy, const dq_quantized_end *end, const dq_quantized *x, const dq_quantized *w,
                             const dq_value *bias, dq_error *error) {
  transposed t;
  const dq_tensor *zeros = w->zero_point->constant, *scales = w->scale->constant;
  if (!read_transposed(copy, end->node, w->value->constant, &t)) return DQ_OK;
  bool one_scale = dq_tensor_count(scales) == 1;
  if (bias && dq_tensor_count(bias->constant) != t.out_channels) return DQ_OK;
  if (dq_tensor_count(zeros) != 1 && dq_tensor_count(zeros) != dq_tensor_count(scales)) return DQ_OK;
  dq_value *weight = dq_graph_add_constant(copy, "subpixel", subpixel_weight(copy, &t, w->value->constant, zeros));
  dq_value *scale = one_scale ? w->scale : spread(copy, &t, scales);
  dq_value *zero = dq_tensor_count(zeros) == 1 ? w->zero_point : spread(copy, &t, zeros);
  dq_value *offsets = bias ? spread(copy, &t, bias->constant) : NULL;
  if (!weight || !scale || !zero || (bias && !offsets)) return dq_fail_memory(error, 0);
  dq_value *inputs[] = {x->value, x->scale,     x->zero_point,     weight, scale,
                        zero,     end->y.scale, end->y.zero_point, offsets};
  if (!set_window(copy, end->node, &t)) return dq_fail_memory(error, 0);
  DQ_TRY(dq_apply_end(copy, end, "QConv", inputs, 9, error));
  return add_shuffle(copy, &t, end->node, end->y.value) ? DQ_OK : dq_fail_memory(error, 0);
}
