// Parts of the models that tests read: values, weights, nodes.
#ifndef DQ_TESTS_MAKER_H
#define DQ_TESTS_MAKER_H

#include <math.h>
#include <stdio.h>

#include "lib/base/random.h"
#include "lib/onnx/onnx.h"

typedef struct maker {
  dq_graph *graph;
  dq_random random;
} maker;

static inline dq_value *value(maker *m, const char *name) { return dq_graph_add_value(m->graph, name); }

static inline void declare(maker *m, dq_value *v, int type, int rank, const int64_t *dims, const char *batch) {
  dq_dimension *own = DQ_NEW_ARRAY(m->graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i] = (dq_dimension){dims[i], dims[i] < 0 ? batch : NULL};
  v->type = type;
  v->rank = rank;
  v->dims = own;
}

static inline dq_value *input(maker *m, const char *name, int rank, const int64_t *dims) {
  dq_value *v = value(m, name);
  declare(m, v, DQ_F32, rank, dims, "N");
  v->is_input = true;
  dq_value **inputs = DQ_NEW_ARRAY(m->graph->arena, m->graph->input_count + 1, dq_value *);
  for (int i = 0; i < m->graph->input_count; i++) inputs[i] = m->graph->inputs[i];
  inputs[m->graph->input_count++] = v;
  m->graph->inputs = inputs;
  return v;
}

static inline void output(maker *m, dq_value *v, int rank, const int64_t *dims) {
  declare(m, v, DQ_F32, rank, dims, "N");
  v->is_output = true;
  dq_value **outputs = DQ_NEW_ARRAY(m->graph->arena, m->graph->output_count + 1, dq_value *);
  for (int i = 0; i < m->graph->output_count; i++) outputs[i] = m->graph->outputs[i];
  outputs[m->graph->output_count++] = v;
  m->graph->outputs = outputs;
}

static inline dq_value *weight(maker *m, const char *name, int rank, const int64_t *dims, float size) {
  dq_tensor *tensor = dq_tensor_new(m->graph->arena, DQ_F32, rank, dims);
  float *elements = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) elements[i] = size * dq_random_normal(&m->random);
  return dq_graph_add_constant(m->graph, name, tensor);
}

static inline dq_node *node(maker *m, const char *op, const char *name, int count, dq_value **inputs,
                            dq_value *result) {
  return dq_graph_add_node(m->graph, m->graph->node_count, op, name, count, inputs, 1, &result);
}

static inline dq_node *conv(maker *m, const char *name, dq_value *x, int64_t out, int64_t in, int64_t kernel,
                            int64_t group, dq_value *y) {
  char text[64];
  snprintf(text, sizeof text, "%s.weight", name);
  dq_value *w = weight(m, text, 4, (int64_t[]){out, in / group, kernel, kernel},
                       1 / sqrtf((float)(in / group * kernel * kernel)));
  snprintf(text, sizeof text, "%s.bias", name);
  dq_value *b = weight(m, text, 1, &out, 0.1f);
  dq_node *made = node(m, "Conv", name, 3, (dq_value *[]){x, w, b}, y);
  int64_t pad = kernel / 2;
  dq_node_set_ints(m->graph, made, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
  dq_node_set_ints(m->graph, made, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
  dq_node_set_int(m->graph, made, "group", group);
  return made;
}

static inline dq_value *open_input(maker *m, const char *name, int type, int rank, const dq_dimension *dims) {
  dq_value *x = input(m, name, 0, NULL);
  x->type = type;
  x->rank = rank;
  x->dims = dq_arena_copy(m->graph->arena, dims, (size_t)rank * sizeof *dims);
  return x;
}

#endif
