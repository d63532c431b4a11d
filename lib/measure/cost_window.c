#include "lib/measure/cost_window.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ops/table/product.h"

// Which input holds the weights of a convolution, N x C x kernel; -1: it is none.
static int weight_input(const dq_node *node) {
  dq_product product;
  if (dq_product_of(node, &product)) return product.kind == DQ_MATRIX_PRODUCT ? -1 : product.at.weight;
  return dq_node_is(node, "DeformConv") ? 1 : -1;
}

// "3x3"; with `brief` one number where all are the same, and "" where that is 1. NULL: no memory.
static const char *sizes_text(const int64_t *sizes, int count, bool brief, dq_arena *arena) {
  bool same = true;
  for (int i = 1; i < count; i++) same &= sizes[i] == sizes[0];
  if (!count || (brief && same && sizes[0] == 1)) return "";
  if (brief && same) count = 1;
  const char *text = "";
  for (int i = 0; text && i < count; i++) text = dq_arena_printf(arena, "%s%s%" PRId64, text, i ? "x" : "", sizes[i]);
  return text;
}

static const char *attribute_text(const dq_node *node, const char *name, bool brief, dq_arena *arena) {
  int count;
  const int64_t *sizes = dq_node_ints(node, name, &count);
  return sizes_text(sizes, count < DQ_MAX_RANK ? count : DQ_MAX_RANK, brief, arena);
}

bool dq_cost_window_of(dq_cost_window *window, const dq_node *node, const dq_tensor *tensors, dq_arena *arena) {
  *window = (dq_cost_window){.kernel = "", .stride = "", .dilation = ""};
  int weight = weight_input(node);
  const dq_value *value = weight < 0 ? NULL : dq_node_input(node, weight);
  if (weight < 0 && !dq_node_attribute(node, "kernel_shape")) return true;
  window->kernel = attribute_text(node, "kernel_shape", false, arena);
  if (value && tensors[value->index].rank > 2 && window->kernel && !*window->kernel)
    window->kernel = sizes_text(tensors[value->index].dims + 2, tensors[value->index].rank - 2, false, arena);
  window->stride = attribute_text(node, "strides", true, arena);
  window->dilation = attribute_text(node, "dilations", true, arena);
  int64_t groups = weight < 0 ? 1 : dq_node_int(node, "group", 1);
  window->groups = groups > 1 ? groups : 0;
  return window->kernel && window->stride && window->dilation;
}
