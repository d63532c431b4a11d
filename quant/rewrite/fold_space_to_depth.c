#include "quant/rewrite/fold_space_to_depth.h"

#include <string.h>

enum { PARTS = 4, AXES = 2, STRIDE = 2 };

// Pixel i of a part, along height and along width, is pixel start + step i of its source.
typedef struct view {
  dq_value *source;
  int64_t start[AXES], step[AXES];
} view;

typedef struct focus {
  dq_value *source;
  int place[PARTS]; // of each operand: 2 row + column
} focus;

// ---- Finding ----

static bool read_numbers(const dq_node *slice, int input, int64_t count, int64_t *numbers) {
  const dq_tensor *tensor = dq_constant_of(dq_node_input(slice, input));
  bool whole = tensor && (tensor->type == DQ_I64 || tensor->type == DQ_I32);
  if (!whole || dq_tensor_count(tensor) != count) return false;
  for (int64_t i = 0; i < count; i++) numbers[i] = dq_tensor_get_i64(tensor, i);
  return true;
}

// Puts a Slice in front of the view; false when it takes anything but every n-th row or column to the end.
static bool look_through(view *v, const dq_node *slice, const dq_tensor *tensors) {
  enum { STARTS = 1, ENDS, AXIS, STEPS };
  const dq_tensor *axes = dq_constant_of(dq_node_input(slice, AXIS));
  int64_t count = axes ? dq_tensor_count(axes) : 0, starts[AXES], ends[AXES], axis[AXES], steps[AXES];
  if (count < 1 || count > AXES || !read_numbers(slice, STARTS, count, starts) ||
      !read_numbers(slice, ENDS, count, ends) || !read_numbers(slice, AXIS, count, axis) ||
      !read_numbers(slice, STEPS, count, steps))
    return false;
  const dq_tensor *from = &tensors[slice->inputs[0]->index];
  for (int64_t i = 0; i < count; i++) {
    int64_t a = (axis[i] < 0 ? axis[i] + from->rank : axis[i]) - 2;
    bool plain = from->rank == 4 && a >= 0 && a < AXES && starts[i] >= 0 && starts[i] < STRIDE && steps[i] >= 1 &&
                 steps[i] <= STRIDE && ends[i] >= from->dims[a + 2];
    if (!plain) return false;
    v->start[a] = starts[i] + steps[i] * v->start[a];
    v->step[a] *= steps[i];
  }
  v->source = slice->inputs[0];
  return true;
}

static bool find_view(view *v, dq_value *part, const dq_tensor *tensors) {
  *v = (view){part, {0, 0}, {1, 1}};
  for (int depth = 0; depth < AXES && v->source->producer && dq_node_is(v->source->producer, "Slice"); depth++)
    if (!look_through(v, v->source->producer, tensors)) return false;
  return v->step[0] == STRIDE && v->step[1] == STRIDE && v->start[0] < STRIDE && v->start[1] < STRIDE;
}

static bool all_are(const dq_node *node, const char *name, int64_t wanted) {
  int count = 0;
  const int64_t *numbers = dq_node_ints(node, name, &count);
  for (int i = 0; i < count; i++)
    if (numbers[i] != wanted) return false;
  return true;
}

static bool is_plain_conv(const dq_node *node) {
  dq_product product;
  return dq_float_product(node, &product) && product.kind == DQ_CONVOLUTION && product.groups == 1 &&
         node->inputs[1]->constant->rank == 4 && all_are(node, "strides", 1) && all_are(node, "dilations", 1) &&
         !strcmp(dq_node_string(node, "auto_pad", "NOTSET"), "NOTSET");
}

static bool find_focus(focus *f, const dq_node *conv, const dq_tensor *tensors) {
  const dq_node *concat = is_plain_conv(conv) ? conv->inputs[0]->producer : NULL;
  if (!concat || !dq_node_is(concat, "Concat") || concat->input_count != PARTS || dq_node_int(concat, "axis", 0) != 1 ||
      !dq_is_private(conv->inputs[0]))
    return false;
  int seen = 0;
  for (int p = 0; p < PARTS; p++) {
    view part;
    if (!find_view(&part, concat->inputs[p], tensors) || (p && part.source != f->source)) return false;
    f->source = part.source;
    f->place[p] = (int)(STRIDE * part.start[0] + part.start[1]);
    seen |= 1 << f->place[p];
  }
  const dq_tensor *source = &tensors[f->source->index];
  return seen == (1 << PARTS) - 1 && source->dims[2] % STRIDE == 0 && source->dims[3] % STRIDE == 0 &&
         conv->inputs[1]->constant->dims[1] == PARTS * source->dims[1];
}

// ---- Folding ----

static dq_tensor *spread_weight(dq_graph *graph, const dq_tensor *from, const focus *f) {
  int64_t outputs = from->dims[0], channels = from->dims[1] / PARTS, rows = from->dims[2], columns = from->dims[3];
  dq_tensor *to =
      dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){outputs, channels, STRIDE * rows, STRIDE * columns});
  if (!to) return NULL;
  const float *at = from->data;
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t i = 0; i < PARTS * channels; i++) {
      int place = f->place[i / channels];
      for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
          int64_t row = STRIDE * y + place / STRIDE, column = STRIDE * x + place % STRIDE;
          int64_t plane = o * channels + i % channels;
          ((float *)to->data)[(plane * STRIDE * rows + row) * STRIDE * columns + column] = *at++;
        }
    }
  return to;
}

static bool set_window(dq_graph *graph, dq_node *conv, const dq_tensor *weight) {
  int64_t pads[2 * AXES] = {0};
  int count = 0;
  const int64_t *given = dq_node_ints(conv, "pads", &count);
  for (int i = 0; given && i < count && i < 2 * AXES; i++) pads[i] = STRIDE * given[i];
  return dq_node_set_ints(graph, conv, "pads", pads, 2 * AXES) &&
         dq_node_set_ints(graph, conv, "strides", (int64_t[]){STRIDE, STRIDE}, AXES) &&
         dq_node_set_ints(graph, conv, "kernel_shape", weight->dims + 2, AXES);
}

static dq_status fold(dq_graph *graph, dq_node *conv, const focus *f, dq_error *error) {
  const dq_value *old = conv->inputs[1];
  dq_tensor *weight = spread_weight(graph, old->constant, f);
  char *name = dq_arena_printf(graph->arena, "%s_spread", old->name);
  dq_value **inputs = dq_arena_copy(graph->arena, conv->inputs, (size_t)conv->input_count * sizeof *inputs);
  dq_value *value = weight && name && inputs ? dq_graph_add_constant(graph, name, weight) : NULL;
  if (!value || !set_window(graph, conv, weight)) return dq_fail_memory(error, 0);
  dq_graph_remove_node(graph, conv->inputs[0]->producer);
  inputs[0] = f->source, inputs[1] = value;
  conv->inputs = inputs;
  return DQ_OK;
}

// Slices that nothing reads any more, then those that only they read.
static dq_status drop_slices(dq_graph *graph, dq_error *error) {
  for (int depth = 0; depth < AXES; depth++) {
    DQ_TRY(dq_graph_index(graph, false, error));
    for (int n = 0; n < graph->node_count; n++) {
      const dq_value *value = dq_node_output(graph->nodes[n], 0);
      bool dead = value && !dq_value_is_read(value);
      if (dead && dq_node_is(graph->nodes[n], "Slice")) dq_graph_remove_node(graph, graph->nodes[n]);
    }
  }
  return dq_graph_drop_constants(graph, error);
}

dq_status dq_fold_space_to_depth(dq_graph *graph, const dq_shape_request *shapes, const dq_context *context,
                                 dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_tensor *tensors;
  bool any = false;
  dq_status status =
      arena ? dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error) : dq_fail_memory(error, 0);
  for (int n = 0; status == DQ_OK && n < graph->node_count; n++) {
    focus found;
    if (!find_focus(&found, graph->nodes[n], tensors)) continue;
    status = fold(graph, graph->nodes[n], &found, error);
    any = true;
  }
  dq_arena_free(arena);
  return status == DQ_OK && any ? drop_slices(graph, error) : status;
}
