// Writes the small models that tests read: make_models FOLDER. Good ones are made with the library; bad
// ones are good ones with one thing wrong. Each is one function and one row of the table.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/onnx/onnx.h"

typedef struct maker {
  dq_graph *graph;
  dq_random random;
} maker;

static dq_value *value(maker *m, const char *name) { return dq_graph_add_value(m->graph, name); }

static void declare(maker *m, dq_value *v, int type, int rank, const int64_t *dims, const char *batch) {
  dq_dimension *own = DQ_NEW_ARRAY(m->graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i] = (dq_dimension){dims[i], dims[i] < 0 ? batch : NULL};
  v->type = type;
  v->rank = rank;
  v->dims = own;
}

static dq_value *input(maker *m, const char *name, int rank, const int64_t *dims) {
  dq_value *v = value(m, name);
  declare(m, v, DQ_F32, rank, dims, "N");
  v->is_input = true;
  dq_value **inputs = DQ_NEW_ARRAY(m->graph->arena, m->graph->input_count + 1, dq_value *);
  for (int i = 0; i < m->graph->input_count; i++) inputs[i] = m->graph->inputs[i];
  inputs[m->graph->input_count++] = v;
  m->graph->inputs = inputs;
  return v;
}

static void output(maker *m, dq_value *v, int rank, const int64_t *dims) {
  declare(m, v, DQ_F32, rank, dims, "N");
  v->is_output = true;
  dq_value **outputs = DQ_NEW_ARRAY(m->graph->arena, m->graph->output_count + 1, dq_value *);
  for (int i = 0; i < m->graph->output_count; i++) outputs[i] = m->graph->outputs[i];
  outputs[m->graph->output_count++] = v;
  m->graph->outputs = outputs;
}

static dq_value *weight(maker *m, const char *name, int rank, const int64_t *dims, float size) {
  dq_tensor *tensor = dq_tensor_new(m->graph->arena, DQ_F32, rank, dims);
  float *elements = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) elements[i] = size * dq_random_normal(&m->random);
  return dq_graph_add_constant(m->graph, name, tensor);
}

static dq_node *node(maker *m, const char *op, const char *name, int count, dq_value **inputs,
                     dq_value *result) {
  return dq_graph_add_node(m->graph, m->graph->node_count, op, name, count, inputs, 1, &result);
}

static dq_node *conv(maker *m, const char *name, dq_value *x, int64_t out, int64_t in, int64_t kernel,
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

// A classifier of 3x8x8 pictures: conv 3x3, relu, depthwise, conv 3x3, pool, flatten, gemm; 4 classes.
static void make_small(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, 8, 8});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  conv(m, "depthwise", value(m, "b"), 8, 8, 3, 8, value(m, "c"));
  conv(m, "conv2", value(m, "c"), 16, 8, 3, 1, value(m, "d"));
  node(m, "Relu", "relu2", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  node(m, "GlobalAveragePool", "pool", 1, (dq_value *[]){value(m, "e")}, value(m, "f"));
  node(m, "Flatten", "flatten", 1, (dq_value *[]){value(m, "f")}, value(m, "g"));
  dq_value *w = weight(m, "head.weight", 2, (int64_t[]){16, 4}, 0.5f);
  node(m, "Gemm", "head", 2, (dq_value *[]){value(m, "g"), w}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){-1, 4});
}

// One Relu.
static void make_tiny(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu", 1, (dq_value *[]){x}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

// The same convolution weight used twice, and a residual sum.
static void make_shared(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 8, 8, 8});
  dq_node *first = conv(m, "conv1", x, 8, 8, 3, 1, value(m, "a"));
  dq_node *second = conv(m, "conv2", value(m, "a"), 8, 8, 3, 1, value(m, "b"));
  dq_value *own = second->inputs[1];
  second->inputs[1] = first->inputs[1];
  dq_graph_remove_constant(m->graph, own);
  node(m, "Add", "add", 2, (dq_value *[]){value(m, "a"), value(m, "b")}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_nan_weight(maker *m) {
  make_small(m);
  ((float *)dq_graph_find(m->graph, "conv2.weight")->constant->data)[5] = NAN;
}

static void make_unknown_operator(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Frobnicate", "strange", 1, (dq_value *[]){value(m, "a")}, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_unknown_size(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){-1, 3, -1, -1});
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  output(m, value(m, "y"), 4, (int64_t[]){-1, 8, -1, -1});
}

static void make_bad_group(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  dq_node_set_int(m->graph, made, "group", 2);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_zero_stride(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  dq_node *made = conv(m, "conv1", x, 8, 3, 3, 1, value(m, "y"));
  dq_node_set_ints(m->graph, made, "strides", (int64_t[]){0, 1}, 2);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, 8, 8});
}

static void make_large_kernel(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 4, 4});
  dq_node *made = conv(m, "conv1", x, 8, 3, 7, 1, value(m, "y"));
  dq_node_set_ints(m->graph, made, "pads", (int64_t[]){0, 0, 0, 0}, 4);
  output(m, value(m, "y"), 4, (int64_t[]){1, 8, -1, -1});
}

static void make_cycle(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Add", "add", 2, (dq_value *[]){x, value(m, "b")}, value(m, "a"));
  node(m, "Relu", "relu", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  output(m, value(m, "b"), 2, (int64_t[]){1, 4});
}

static void make_nobody_produces(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Add", "add", 2, (dq_value *[]){x, value(m, "ghost")}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

static void make_strange_names(maker *m) {
  dq_value *x = input(m, "x\n\"<b>", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu \xf0\x9f\x98\x80\n", 1, (dq_value *[]){x}, value(m, "y,\"&"));
  output(m, value(m, "y,\"&"), 2, (int64_t[]){1, 4});
}

static void make_wrong_attribute(maker *m) {
  make_tiny(m);
  dq_node *last = m->graph->nodes[0];
  last->op_type = "LeakyRelu";
  dq_node_set_int(m->graph, last, "alpha", 1);
}

static void make_too_many_inputs(maker *m) {
  dq_value *x = input(m, "x", 2, (int64_t[]){1, 4});
  node(m, "Relu", "relu", 2, (dq_value *[]){x, x}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 4});
}

static void make_opset_6(maker *m) {
  make_tiny(m);
  m->graph->opsets[0].version = 6;
}

static void make_opset_99(maker *m) {
  make_tiny(m);
  m->graph->opsets[0].version = 99;
}

static void make_ir_99(maker *m) {
  make_tiny(m);
  m->graph->ir_version = 99;
}

static const struct {
  const char *name;
  void (*make)(maker *);
} models[] = {
    {"small", make_small},
    {"tiny", make_tiny},
    {"shared", make_shared},
    {"nan_weight", make_nan_weight},
    {"unknown_operator", make_unknown_operator},
    {"unknown_size", make_unknown_size},
    {"bad_group", make_bad_group},
    {"zero_stride", make_zero_stride},
    {"large_kernel", make_large_kernel},
    {"cycle", make_cycle},
    {"nobody_produces", make_nobody_produces},
    {"strange_names", make_strange_names},
    {"wrong_attribute", make_wrong_attribute},
    {"too_many_inputs", make_too_many_inputs},
    {"opset_6", make_opset_6},
    {"opset_99", make_opset_99},
    {"ir_99", make_ir_99},
};

// Loads a model and saves it again, for tests that compare the two.
static int copy_model(const char *from, const char *to) {
  dq_error error = {0};
  dq_graph *graph = NULL;
  dq_status status = dq_onnx_load(&graph, from, NULL, &error);
  if (status == DQ_OK) status = dq_onnx_save(graph, to, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  dq_graph_free(graph);
  return status;
}

int main(int argc, char **argv) {
  dq_error error = {0};
  if (argc == 4 && !strcmp(argv[1], "--copy")) return copy_model(argv[2], argv[3]);
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    char path[4096];
    maker m = {.graph = dq_graph_new(0), .random = {i}};
    if (!m.graph || dq_graph_set_opset(m.graph, "", 13, &error) != DQ_OK) return 5;
    m.graph->ir_version = 7;
    m.graph->name = models[i].name;
    models[i].make(&m);
    snprintf(path, sizeof path, "%s/%s.onnx", argv[1], models[i].name);
    if (dq_onnx_save(m.graph, path, &error) != DQ_OK) {
      fprintf(stderr, "%s\n", error.message);
      return error.status;
    }
    dq_graph_free(m.graph);
  }
  return 0;
}
