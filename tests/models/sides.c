#include "tests/models/sides.h"

// Of 3x8x8 maps: conv 3x3, relu, conv 3x3, relu, pool, flatten; 16 features.
static dq_value *see(maker *m, dq_value *x) {
  conv(m, "conv1", x, 8, 3, 3, 1, value(m, "a"));
  node(m, "Relu", "relu1", 1, (dq_value *[]){value(m, "a")}, value(m, "b"));
  conv(m, "conv2", value(m, "b"), 16, 8, 3, 1, value(m, "c"));
  node(m, "Relu", "relu2", 1, (dq_value *[]){value(m, "c")}, value(m, "d"));
  node(m, "GlobalAveragePool", "pool", 1, (dq_value *[]){value(m, "d")}, value(m, "e"));
  node(m, "Flatten", "flatten", 1, (dq_value *[]){value(m, "e")}, value(m, "seen"));
  return value(m, "seen");
}

static dq_value *dense(maker *m, const char *name, dq_value *x, int64_t in, int64_t out, const char *result) {
  char text[64];
  snprintf(text, sizeof text, "%s.weight", name);
  node(m, "Gemm", name, 2, (dq_value *[]){x, weight(m, text, 2, (int64_t[]){in, out}, 0.5f)}, value(m, result));
  return value(m, result);
}

void make_sides(maker *m) {
  dq_value *left = input(m, "left", 4, (int64_t[]){-1, 3, 8, 8}), *right = input(m, "right", 2, (int64_t[]){-1, 6});
  dense(m, "side", right, 6, 16, "g");
  node(m, "Relu", "relu3", 1, (dq_value *[]){value(m, "g")}, value(m, "h"));
  dq_value *both[] = {see(m, left), value(m, "h")};
  dq_node *made = node(m, "Concat", "join", 2, both, value(m, "i"));
  dq_node_set_int(m->graph, made, "axis", 1);
  output(m, dense(m, "head", value(m, "i"), 32, 4, "y"), 2, (int64_t[]){-1, 4});
}

void make_words(maker *m) {
  dq_value *picture = input(m, "picture", 4, (int64_t[]){-1, 3, 8, 8});
  dq_value *ids = open_input(m, "ids", DQ_I64, 2, (dq_dimension[]){{-1, "N"}, {5, NULL}});
  node(m, "Gather", "embed", 2, (dq_value *[]){weight(m, "table", 2, (int64_t[]){20, 16}, 1), ids}, value(m, "g"));
  dq_node *made = node(m, "ReduceMean", "mean", 1, (dq_value *[]){value(m, "g")}, value(m, "h"));
  dq_node_set_ints(m->graph, made, "axes", (int64_t[]){1}, 1);
  dq_node_set_int(m->graph, made, "keepdims", 0);
  node(m, "Add", "sum", 2, (dq_value *[]){see(m, picture), value(m, "h")}, value(m, "i"));
  output(m, dense(m, "head", value(m, "i"), 16, 4, "y"), 2, (int64_t[]){-1, 4});
}

void make_gained(maker *m) {
  dq_value *x = input(m, "x", 4, (int64_t[]){1, 3, 8, 8});
  dq_value *size = input(m, "size", 1, (int64_t[]){2}), *gain = input(m, "gain", 0, NULL);
  dq_value *scores = dense(m, "head", see(m, x), 16, 2, "f");
  node(m, "Mul", "times", 2, (dq_value *[]){scores, gain}, value(m, "g"));
  node(m, "Add", "plus", 2, (dq_value *[]){value(m, "g"), size}, value(m, "y"));
  output(m, value(m, "y"), 2, (int64_t[]){1, 2});
}
