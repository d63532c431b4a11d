// Whether the counters of emitted C, which are int32, hold what they count.
#include <inttypes.h>
#include <string.h>

#include "lib/codegen/codegen_internal.h"

// Loops may step over their end by less than a block.
enum { BLOCK = 1 << 16 };
static const int64_t most = INT32_MAX - BLOCK;

static int64_t largest_dimension(const dq_tensor *tensor) {
  int64_t largest = 0;
  for (int d = 0; tensor && d < tensor->rank; d++) largest = tensor->dims[d] > largest ? tensor->dims[d] : largest;
  return largest;
}

// The product of the dimensions above 1, as far as it is not beyond `most`: loops of a tensor without elements count
// the other dimensions.
static bool is_countable(const dq_tensor *tensor) {
  int64_t count = 1;
  for (int d = 0; d < tensor->rank; d++) {
    if (tensor->dims[d] > most / count) return false;
    if (tensor->dims[d] > 1) count *= tensor->dims[d];
  }
  return true;
}

static dq_status check_value(const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  char shape[DQ_SHAPE_TEXT];
  if (is_countable(tensor)) return DQ_OK;
  return dq_fail(error, DQ_UNSUPPORTED,
                 "value '%s' of shape %s is too large: C is written for at most %" PRId64 " elements", value->name,
                 dq_tensor_shape_text(tensor, shape, sizeof shape), most);
}

// The largest number of an attribute of integers, or 0.
static double largest_of(const dq_node *node, const char *name) {
  double largest = 0;
  const dq_attribute *attribute = dq_node_attribute(node, name);
  for (size_t i = 0; attribute && attribute->ints && i < attribute->count; i++)
    if ((double)attribute->ints[i] > largest) largest = (double)attribute->ints[i];
  return largest;
}

// Places of windows are products of places with strides, and of those of kernels with dilations, less padding.
static dq_status check_windows(const dq_node *node, const dq_codegen_parts *parts, dq_error *error) {
  double size = largest_of(node, "kernel_shape");
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && (double)largest_dimension(&parts->tensors[node->inputs[i]->index]) > size)
      size = (double)largest_dimension(&parts->tensors[node->inputs[i]->index]);
  for (int o = 0; o < node->output_count; o++)
    if (node->outputs[o] && (double)largest_dimension(&parts->tensors[node->outputs[o]->index]) > size)
      size = (double)largest_dimension(&parts->tensors[node->outputs[o]->index]);
  const double reach = size * (largest_of(node, "strides") + largest_of(node, "dilations")) + largest_of(node, "pads");
  if (reach <= (double)most) return DQ_OK;
  return dq_with_label(
      node, dq_fail(error, DQ_UNSUPPORTED, "its windows reach too far: C is written for places up to %" PRId64, most),
      error);
}

dq_status dq_codegen_check_bounds(const dq_codegen *made, const dq_codegen_parts *parts, dq_error *error) {
  const dq_graph *graph = dq_schedule_graph(made->session.schedule);
  for (int v = 0; v < graph->value_count; v++)
    if (parts->tensors[v].rank >= 0) DQ_TRY(check_value(graph->values[v], &parts->tensors[v], error));
  for (int s = 0; s < made->step_count; s++) DQ_TRY(check_windows(made->steps[s].node, parts, error));
  return DQ_OK;
}
