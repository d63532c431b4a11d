#include "tests/models/unusual.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/random.h"
#include "tests/unit/wire.h"

enum { MAPS = 8, SIZE = 8 };
static const int64_t picture[] = {1, 3, SIZE, SIZE}, maps[] = {1, MAPS, SIZE, SIZE};

// A model whose graph is made here; `kept` receives the bytes that every transform must leave alone.
typedef struct recipe {
  const char *name;
  void (*make)(wire *graph, wire *kept);
  const char *domain; // imported besides ONNX's own, at version 1
  bool function;      // `kept` is a function of the model
} recipe;

// ---- Parts ----

static void declare(wire *graph, unsigned field, const char *name, int rank, const int64_t *dims) {
  wire declaration = wire_declaration(name, rank, dims);
  wire_message(graph, field, &declaration);
}
static void input(wire *graph, const char *name) { declare(graph, 11, name, 4, picture); }
static void output(wire *graph, const char *name) { declare(graph, 12, name, 4, maps); }

static void weight(wire *graph, const char *name, int rank, const int64_t *dims) {
  wire tensor = wire_tensor(name, 1, rank, dims);
  dq_random random = {7};
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  for (int64_t i = 0; i < count; i++) wire_float(&tensor, 4, 0.2f * dq_random_normal(&random));
  wire_message(graph, 5, &tensor);
}

// Fields in ascending order, as encoders write them, so that they are written back to the byte.
static wire node_of_two(const char *op_type, const char *name, const char *x, const char *second, const char *y) {
  wire node = {0}, rest = wire_node(op_type, name, "", y);
  wire_text(&node, 1, x);
  wire_text(&node, 1, second);
  wire_append(&node, rest.data + 2, rest.size - 2); // behind its own input, an empty text
  wire_free(&rest);
  return node;
}

// conv: 3 channels to 8 maps, 3x3, from `x` to `y`.
static void conv(wire *graph, const char *x, const char *y) {
  wire node = node_of_two("Conv", "conv", x, "conv.weight", y), pads = {0};
  wire_text(&pads, 1, "pads");
  for (int i = 0; i < 4; i++) wire_int(&pads, 8, 1);
  wire_int(&pads, 20, 7);
  wire_message(&node, 5, &pads);
  wire_message(graph, 1, &node);
  weight(graph, "conv.weight", 4, (int64_t[]){MAPS, 3, 3, 3});
}

static void add(wire *graph, wire node) { wire_message(graph, 1, &node); }

// A body attribute of a node; its bytes are what is kept.
static void body(wire *node, const char *name, wire *graph, wire *kept) {
  wire attribute = {0};
  wire_text(&attribute, 1, name);
  wire_message(&attribute, 6, graph);
  wire_int(&attribute, 20, 5);
  wire_bytes(kept, 5, attribute.data, attribute.size);
  wire_message(node, 5, &attribute);
}

static wire typed(const char *name, int type, int rank, const int64_t *dims) {
  wire info = {0}, whole = {0}, tensor = {0}, shape = {0};
  for (int i = 0; i < rank; i++) {
    wire dimension = {0};
    wire_int(&dimension, 1, dims[i]);
    wire_message(&shape, 1, &dimension);
  }
  wire_int(&tensor, 1, type);
  wire_message(&tensor, 2, &shape);
  wire_message(&whole, 1, &tensor);
  wire_text(&info, 1, name);
  wire_message(&info, 2, &whole);
  return info;
}

// ---- Operators that nobody knows, functions, bodies ----

static void unknown_domain(wire *graph, wire *kept) {
  conv(graph, "x", "a");
  wire node = wire_node("Frobnicate", "strange", "a", "y"), level = {0};
  wire_text(&level, 1, "level"), wire_float(&level, 2, 0.25f), wire_int(&level, 20, 1);
  wire_bytes(kept, 5, level.data, level.size);
  wire_message(&node, 5, &level);
  wire_text(&node, 7, "com.example");
  add(graph, node);
  input(graph, "x"), output(graph, "y");
}

// Twice(v) = v + v, a function that the model brings along.
static void function(wire *graph, wire *kept) {
  conv(graph, "x", "a");
  wire node = wire_node("Twice", "twice", "a", "y");
  wire_text(&node, 7, "local");
  add(graph, node);
  input(graph, "x"), output(graph, "y");
  wire sum = node_of_two("Add", "sum", "v", "v", "w"), opset = {0};
  wire_int(&opset, 2, 13);
  wire_text(kept, 1, "Twice");
  wire_text(kept, 4, "v");
  wire_text(kept, 5, "w");
  wire_message(kept, 7, &sum);
  wire_message(kept, 9, &opset);
  wire_text(kept, 10, "local");
}

static wire branch(const char *op_type, const char *result) {
  wire graph = {0};
  add(&graph, wire_node(op_type, "inside", "a", result)); // `a` is the outer graph's
  wire_text(&graph, 2, "branch");
  output(&graph, result);
  return graph;
}

static void branches(wire *graph, wire *kept) {
  conv(graph, "x", "a");
  wire node = wire_node("If", "choice", "flag", "chosen"), flag = wire_tensor("flag", 9, 0, NULL);
  wire then_branch = branch("Relu", "then"), else_branch = branch("Neg", "else");
  body(&node, "then_branch", &then_branch, kept);
  body(&node, "else_branch", &else_branch, kept);
  add(graph, node);
  add(graph, node_of_two("Add", "sum", "chosen", "a", "b")); // behind what is not known
  add(graph, node_of_two("Mul", "product", "b", "factor", "y"));
  weight(graph, "factor", 4, maps);
  wire_int(&flag, 5, 1);
  wire_message(graph, 5, &flag);
  input(graph, "x"), output(graph, "y");
}

// Three times: sum = sum + a, with `a` from outside.
static void loop(wire *graph, wire *kept) {
  conv(graph, "x", "a");
  wire node = wire_node("Loop", "repeat", "count", "y"), inside = {0}, count = wire_tensor("count", 7, 0, NULL);
  wire_text(&node, 1, "");
  wire_text(&node, 1, "a");
  add(&inside, wire_node("Identity", "go", "go_in", "go_out"));
  add(&inside, node_of_two("Add", "sum", "sum_in", "a", "sum_out"));
  wire_text(&inside, 2, "body");
  wire round = typed("round", 7, 0, NULL), go_in = typed("go_in", 9, 0, NULL), go_out = typed("go_out", 9, 0, NULL);
  wire_message(&inside, 11, &round), wire_message(&inside, 11, &go_in);
  declare(&inside, 11, "sum_in", 4, maps);
  wire_message(&inside, 12, &go_out);
  output(&inside, "sum_out");
  body(&node, "body", &inside, kept);
  add(graph, node);
  wire_int(&count, 7, 3);
  wire_message(graph, 5, &count);
  input(graph, "x"), output(graph, "y");
}

static void scan(wire *graph, wire *kept) {
  conv(graph, "x", "a");
  wire node = wire_node("Scan", "walk", "a", "y"), inside = {0}, one = {0};
  add(&inside, wire_node("Relu", "inside", "slice", "changed"));
  wire_text(&inside, 2, "body");
  declare(&inside, 11, "slice", 3, maps + 1);
  declare(&inside, 12, "changed", 3, maps + 1);
  body(&node, "body", &inside, kept);
  wire_text(&one, 1, "num_scan_inputs"), wire_int(&one, 3, 1), wire_int(&one, 20, 2);
  wire_message(&node, 5, &one);
  add(graph, node);
  input(graph, "x"), output(graph, "y");
}

// ---- Graphs without one of their parts, or with more ----

static void no_outputs(wire *graph, wire *kept) {
  (void)kept;
  conv(graph, "x", "a");
  input(graph, "x");
}

static void no_inputs(wire *graph, wire *kept) {
  (void)kept;
  weight(graph, "x", 4, picture);
  conv(graph, "x", "y");
  output(graph, "y");
}

static void initializer_output(wire *graph, wire *kept) {
  (void)kept;
  weight(graph, "y", 4, maps);
  input(graph, "x"), output(graph, "y");
}

static void no_nodes(wire *graph, wire *kept) {
  (void)kept;
  input(graph, "x");
  declare(graph, 12, "x", 4, picture);
}

static void two_inputs(wire *graph, wire *kept) {
  (void)kept;
  add(graph, node_of_two("Add", "sum", "x", "z", "total"));
  conv(graph, "total", "y");
  declare(graph, 11, "x", 4, picture), declare(graph, 11, "z", 4, picture);
  output(graph, "y");
}

// The places where a convolution is above 0: as many as the picture has.
static void places(wire *graph, wire *kept) {
  (void)kept;
  conv(graph, "x", "a");
  add(graph, wire_node("Relu", "relu", "a", "b"));
  add(graph, wire_node("NonZero", "nonzero", "b", "c"));
  wire cast = wire_node("Cast", "cast", "c", "y"), to = {0};
  wire_text(&to, 1, "to");
  wire_int(&to, 3, 1);
  wire_int(&to, 20, 2);
  wire_message(&cast, 5, &to);
  add(graph, cast);
  input(graph, "x");
  declare(graph, 12, "y", 0, NULL);
}

// conv, padding of -infinity, MaxPool 3x3, as many pixels as before.
static void padded_maximum(wire *graph, wire *kept) {
  (void)kept;
  wire node = {0}, kernel = {0};
  conv(graph, "x", "a");
  wire pads = wire_tensor("pads", 7, 1, (int64_t[]){8}), lowest = wire_tensor("lowest", 1, 0, NULL);
  for (int i = 0; i < 8; i++) wire_int(&pads, 7, i % 4 > 1);
  wire_float(&lowest, 4, -INFINITY);
  wire_text(&node, 1, "a"), wire_text(&node, 1, "pads"), wire_text(&node, 1, "lowest");
  wire_text(&node, 2, "b"), wire_text(&node, 3, "pad"), wire_text(&node, 4, "Pad");
  add(graph, node);
  wire pool = wire_node("MaxPool", "pool", "b", "y");
  wire_text(&kernel, 1, "kernel_shape");
  for (int i = 0; i < 2; i++) wire_int(&kernel, 8, 3);
  wire_int(&kernel, 20, 7);
  wire_message(&pool, 5, &kernel);
  add(graph, pool);
  wire_message(graph, 5, &pads);
  wire_message(graph, 5, &lowest);
  input(graph, "x");
  output(graph, "y");
}

// Outputs whose names are one as file names, among them two that differ behind 200 letters.
static void colliding_outputs(wire *graph, wire *kept) {
  (void)kept;
  static char letters[2][301];
  const char *names[] = {"o/1", "o_1", "o:1", "o_1-2", "..", letters[0], letters[1]};
  for (int i = 0; i < 2; i++) memset(letters[i], 'n', 300), letters[i][299] = (char)('a' + i);
  for (int i = 0; i < 7; i++) add(graph, wire_node(i % 2 ? "Neg" : "Relu", names[i], "x", names[i]));
  input(graph, "x");
  for (int i = 0; i < 7; i++) declare(graph, 12, names[i], 4, picture);
}

static void nothing(wire *graph, wire *kept) { (void)graph, (void)kept; }

static const recipe recipes[] = {
    {"unknown_domain", unknown_domain, "com.example", false},
    {"function", function, "local", true},
    {"if", branches, NULL, false},
    {"loop", loop, NULL, false},
    {"scan", scan, NULL, false},
    {"no_outputs", no_outputs, NULL, false},
    {"no_inputs", no_inputs, NULL, false},
    {"initializer_output", initializer_output, NULL, false},
    {"no_nodes", no_nodes, NULL, false},
    {"nothing", nothing, NULL, false},
    {"two_inputs", two_inputs, NULL, false},
    {"places", places, NULL, false},
    {"padded_maximum", padded_maximum, NULL, false},
    {"colliding_outputs", colliding_outputs, NULL, false},
};

// ---- Writing ----

static void import(wire *model, const char *domain, int64_t version) {
  wire opset = {0};
  if (domain) wire_text(&opset, 1, domain);
  wire_int(&opset, 2, version);
  wire_message(model, 8, &opset);
}

static int write_file(const char *folder, const char *name, const char *ending, const wire *bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
  FILE *file = fopen(path, "wb");
  if (!file) return 5;
  size_t written = fwrite(bytes->data, 1, bytes->size, file);
  return fclose(file) || written != bytes->size ? 5 : 0;
}

int write_unusual_models(const char *folder) {
  int failed = 0;
  for (size_t i = 0; i < sizeof recipes / sizeof *recipes && !failed; i++) {
    const recipe *r = &recipes[i];
    wire graph = {0}, model = {0}, kept = {0};
    r->make(&graph, &kept);
    wire_int(&model, 1, 8);
    wire_text(&graph, 2, r->name);
    wire_message(&model, 7, &graph);
    import(&model, NULL, 13);
    if (r->domain) import(&model, r->domain, 1);
    if (r->function) wire_bytes(&model, 25, kept.data, kept.size);
    failed = write_file(folder, r->name, "onnx", &model);
    if (kept.size && !failed) failed = write_file(folder, r->name, "kept", &kept);
    wire_free(&model), wire_free(&kept);
  }
  return failed;
}
