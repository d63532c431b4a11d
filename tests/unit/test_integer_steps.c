// Integer steps: what runs on 8 bits where a file has DequantizeLinear, operators, QuantizeLinear gives the
// bits of those operators one by one, on every instruction set and at any thread count, tapped or not.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/passes/passes.h"

// ---- A network under test: quantized inputs, operators in float, quantized outputs ----

typedef struct network {
  dq_graph *graph;
  dq_random random;
  int values;
} network;

static float random_float(network *n, float low, float high) {
  return low + (high - low) * dq_random_float(&n->random);
}

static dq_value *fresh(network *n, const char *base) {
  char name[64];
  snprintf(name, sizeof name, "%s%d", base, n->values++);
  return dq_graph_add_value(n->graph, name);
}

static dq_value *floats(network *n, int rank, const int64_t *dims, float low, float high) {
  dq_tensor *tensor = dq_tensor_new(n->graph->arena, DQ_F32, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = random_float(n, low, high);
  return dq_graph_add_constant(n->graph, "floats", tensor);
}

static dq_value *number(network *n, float x) {
  return dq_graph_add_constant(n->graph, "number", dq_tensor_scalar_f32(n->graph->arena, x));
}

static dq_value *ints(network *n, int64_t count, const int64_t *values) {
  dq_tensor *tensor = dq_tensor_new(n->graph->arena, DQ_I64, 1, &count);
  memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(n->graph, "ints", tensor);
}
#define INTS(...) (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static dq_value *node_of(network *n, const char *op_type, int count, dq_value **inputs) {
  dq_value *output = fresh(n, op_type);
  assert_non_null(dq_graph_add_node(n->graph, n->graph->node_count, op_type, output->name, count, inputs, 1, &output));
  return output;
}
#define NODE(n, op_type, ...)                                                                      \
  node_of(n, op_type, (int)(sizeof((dq_value *[]){__VA_ARGS__}) / sizeof(dq_value *)),             \
          (dq_value *[]){__VA_ARGS__})
static dq_node *last_node(network *n) { return n->graph->nodes[n->graph->node_count - 1]; }

typedef struct affine {
  dq_value *scale, *zero_point;
} affine;

static affine parameters(network *n, float scale, int type, int zero_point) {
  return (affine){number(n, scale), dq_graph_add_constant(n->graph, "zero", dq_tensor_scalar_i8(n->graph->arena, type, zero_point))};
}
static affine random_parameters(network *n) {
  bool is_signed = dq_random_below(&n->random, 2);
  int zero = (int)dq_random_below(&n->random, 256) - (is_signed ? 128 : 0);
  return parameters(n, random_float(n, 0.01f, 0.05f), is_signed ? DQ_I8 : DQ_U8, zero);
}

// A new input of 8 bits, dequantized.
static dq_value *input_with(network *n, affine p, int rank, const int64_t *dims) {
  dq_graph *graph = n->graph;
  dq_value *value = fresh(n, "x");
  dq_dimension *own = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i].size = dims[i];
  value->type = p.zero_point->constant->type, value->rank = rank, value->dims = own, value->is_input = true;
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, graph->input_count + 1, dq_value *);
  for (int i = 0; i < graph->input_count; i++) inputs[i] = graph->inputs[i];
  inputs[graph->input_count++] = value;
  graph->inputs = inputs;
  return NODE(n, "DequantizeLinear", value, p.scale, p.zero_point);
}
static dq_value *input(network *n, int rank, const int64_t *dims) {
  return input_with(n, random_parameters(n), rank, dims);
}
static dq_value *picture(network *n) { return input(n, 4, (int64_t[]){2, 6, 7, 9}); }

static void output(network *n, dq_value *value) {
  dq_graph *graph = n->graph;
  dq_value **outputs = DQ_NEW_ARRAY(graph->arena, graph->output_count + 1, dq_value *);
  for (int i = 0; i < graph->output_count; i++) outputs[i] = graph->outputs[i];
  outputs[graph->output_count++] = value;
  graph->outputs = outputs;
  value->is_output = true;
}
static void quantized_with(network *n, dq_value *value, affine p) {
  output(n, NODE(n, "QuantizeLinear", value, p.scale, p.zero_point));
}
static void quantized(network *n, dq_value *value) { quantized_with(n, value, random_parameters(n)); }

// ---- Running it in several ways ----

enum { WAYS = 4, MOST_OUTPUTS = 4 };
static dq_context contexts[WAYS];

// Elements of all outputs; the number of steps of each operator that ran, by `counted`.
typedef struct outcome {
  dq_tensor outputs[MOST_OUTPUTS];
  int conversions; // steps QuantizeLinear and DequantizeLinear
} outcome;

static dq_status look(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  (void)user, (void)value, (void)tensor, (void)error;
  return DQ_OK;
}

static void run(const network *n, const dq_session_options *options, const dq_context *context, dq_arena *arena,
                outcome *to) {
  dq_session session;
  dq_error error = {0};
  dq_random random = {5};
  if (dq_session_open(&session, n->graph, options, context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_plan_set_tap(session.plan, look, NULL);
  for (int i = 0; i < dq_plan_input_count(session.plan); i++) {
    dq_tensor *tensor = dq_plan_input(session.plan, i);
    for (int64_t e = 0; e < dq_tensor_count(tensor); e++) ((uint8_t *)tensor->data)[e] = (uint8_t)dq_random_next(&random);
  }
  if (dq_plan_run(session.plan, &error) != DQ_OK) fail_msg("%s", error.message);
  for (int i = 0; i < n->graph->output_count; i++) {
    to->outputs[i] = *dq_plan_output(session.plan, i);
    to->outputs[i].data = dq_arena_copy(arena, to->outputs[i].data, dq_tensor_bytes(&to->outputs[i]));
  }
  to->conversions = 0;
  for (int s = 0; s < dq_plan_step_count(session.plan); s++) {
    const char *op_type = dq_plan_step(session.plan, s, NULL)->op_type;
    to->conversions += !strcmp(op_type, "QuantizeLinear") || !strcmp(op_type, "DequantizeLinear");
  }
  dq_session_close(&session);
}

static void expect_same(const network *n, const outcome *a, const outcome *b, const char *what) {
  for (int i = 0; i < n->graph->output_count; i++) {
    const dq_tensor *x = &a->outputs[i], *y = &b->outputs[i];
    assert_true(x->type == y->type && dq_tensor_same_shape(x, y));
    if (memcmp(x->data, y->data, dq_tensor_bytes(x))) fail_msg("%s: output %d differs", what, i);
  }
}

// All values that nodes compute in float.
static int tappable(const network *n, const char **names) {
  int count = 0;
  for (int i = 0; i < n->graph->node_count; i++)
    if (strcmp(n->graph->nodes[i]->op_type, "QuantizeLinear"))
      for (int o = 0; o < n->graph->nodes[i]->output_count; o++) names[count++] = n->graph->nodes[i]->outputs[o]->name;
  return count;
}

// The network gives the same bits with and without passes, in every way; `conversions` are left over.
static void expect_exact(network *n, int conversions, const char *what) {
  assert_int_equal(dq_graph_index(n->graph, false, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  outcome expected, found;
  const char *names[64];
  run(n, &(dq_session_options){.plain = true}, &contexts[0], arena, &expected);
  for (int way = 0; way < WAYS; way++) {
    run(n, NULL, &contexts[way], arena, &found);
    expect_same(n, &expected, &found, what);
    if (found.conversions != conversions) fail_msg("%s: %d conversions are left, not %d", what, found.conversions, conversions);
  }
  dq_session_options tapped = {.taps = names, .tap_count = tappable(n, names)};
  run(n, &tapped, &contexts[0], arena, &found);
  expect_same(n, &expected, &found, what);
  dq_arena_free(arena);
  dq_graph_free(n->graph);
}

static network open_network(uint64_t seed) {
  network n = {.graph = dq_graph_new(0), .random = {seed}};
  n.graph->ir_version = 9;
  assert_int_equal(dq_graph_set_opset(n.graph, "", 20, NULL), DQ_OK);
  return n;
}

enum { SEEDS = 4 };
typedef void building(network *n);
static void expect_exact_for_seeds(building *build, int conversions, const char *what) {
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    network n = open_network(seed);
    build(&n);
    expect_exact(&n, conversions, what);
  }
}
#define EXACT(build) expect_exact_for_seeds(build, 0, #build)

// ---- Functions ----

static void functions(void **state) {
  (void)state;
  static const char *const names[] = {"Abs", "Ceil", "Celu", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
                                      "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round",
                                      "Selu", "Shrink", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Tanh",
                                      "ThresholdedRelu", "Identity"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      network n = open_network(seed);
      quantized(&n, NODE(&n, names[i], picture(&n)));
      expect_exact(&n, 0, names[i]);
    }
}

static void silu(network *n) {
  dq_value *x = picture(n);
  quantized(n, NODE(n, "Mul", x, NODE(n, "Sigmoid", x)));
}
static void hard_swish_of_parts(network *n) {
  dq_value *x = picture(n), *up = NODE(n, "Add", x, number(n, 3));
  dq_value *cut = NODE(n, "Clip", up, number(n, 0), number(n, 6));
  quantized(n, NODE(n, "Div", NODE(n, "Mul", x, cut), number(n, 6)));
}
static void slopes_of_channels(network *n) {
  quantized(n, NODE(n, "PRelu", picture(n), floats(n, 3, (int64_t[]){6, 1, 1}, -1, 1)));
}
static void offsets_of_channels(network *n) {
  dq_value *sum = NODE(n, "Add", floats(n, 4, (int64_t[]){1, 6, 1, 1}, -1, 1), picture(n));
  quantized(n, NODE(n, "Sub", number(n, 1), sum));
}
static void columns(network *n) {
  quantized(n, NODE(n, "Mul", picture(n), floats(n, 1, (int64_t[]){9}, -2, 2)));
}
static void repeated_column(network *n) {
  quantized(n, NODE(n, "Mul", input(n, 3, (int64_t[]){2, 7, 1}), floats(n, 1, (int64_t[]){9}, -2, 2)));
}
static void repeated_channel(network *n) { // an input of one channel, broadcast over six constants
  dq_value *x = input(n, 4, (int64_t[]){2, 1, 3, 5});
  quantized(n, NODE(n, "Max", x, floats(n, 3, (int64_t[]){6, 1, 1}, -1, 1)));
}
static void more_dimensions(network *n) { // the constant has more than the input
  dq_value *x = input(n, 2, (int64_t[]){3, 5});
  quantized(n, NODE(n, "Min", x, floats(n, 4, (int64_t[]){1, 4, 1, 1}, -1, 1)));
  quantized(n, NODE(n, "Pow", NODE(n, "Abs", x), floats(n, 3, (int64_t[]){1, 1, 1}, 0, 2)));
}
static void quantized_constant(network *n) {
  affine p = random_parameters(n);
  dq_tensor *elements = dq_tensor_new(n->graph->arena, p.zero_point->constant->type, 3, (int64_t[]){6, 1, 1});
  for (int i = 0; i < 6; i++) ((uint8_t *)elements->data)[i] = (uint8_t)(40 * i);
  dq_value *constant = dq_graph_add_constant(n->graph, "c", elements);
  quantized(n, NODE(n, "Add", picture(n), NODE(n, "DequantizeLinear", constant, p.scale, p.zero_point)));
}
static void two_converters_of_one(network *n) { // each reader has a DequantizeLinear of its own
  dq_value *x = picture(n);
  const dq_node *first = last_node(n);
  dq_value *again = NODE(n, "DequantizeLinear", first->inputs[0], first->inputs[1], first->inputs[2]);
  quantized(n, NODE(n, "Mul", x, NODE(n, "Sigmoid", again)));
}
// The table of the sigmoid and the product become one table, which the one behind it joins.
static void silu_in_two_steps(network *n) {
  dq_value *x = picture(n);
  affine p = random_parameters(n), q = random_parameters(n);
  dq_value *s = NODE(n, "QuantizeLinear", NODE(n, "Sigmoid", x), p.scale, p.zero_point);
  dq_value *product = NODE(n, "Mul", NODE(n, "DequantizeLinear", s, p.scale, p.zero_point), x);
  dq_value *y = NODE(n, "QuantizeLinear", product, q.scale, q.zero_point);
  dq_value *again = NODE(n, "DequantizeLinear", y, q.scale, q.zero_point);
  quantized(n, NODE(n, "PRelu", again, floats(n, 3, (int64_t[]){6, 1, 1}, -1, 1)));
}
static void table_of_a_channel_table(network *n) {
  affine p = random_parameters(n);
  dq_value *scaled = NODE(n, "Mul", picture(n), floats(n, 3, (int64_t[]){6, 1, 1}, 0.5f, 2));
  dq_value *q = NODE(n, "QuantizeLinear", scaled, p.scale, p.zero_point);
  quantized(n, NODE(n, "Tanh", NODE(n, "DequantizeLinear", q, p.scale, p.zero_point)));
}
static void other_scale(network *n) { quantized(n, picture(n)); }
static void normalization(network *n) {
  int64_t channels = 6;
  affine p = random_parameters(n);
  dq_value *x = input_with(n, p, 4, (int64_t[]){2, 6, 7, 9});
  dq_value *pooled = NODE(n, "MaxPool", x);
  dq_node_set_ints(n->graph, last_node(n), "kernel_shape", (int64_t[]){2, 2}, 2);
  dq_value *normal = NODE(n, "BatchNormalization", pooled, floats(n, 1, &channels, 0.5f, 2), floats(n, 1, &channels, -1, 1),
                          floats(n, 1, &channels, -1, 1), floats(n, 1, &channels, 0.5f, 2));
  quantized(n, NODE(n, "PRelu", normal, floats(n, 3, (int64_t[]){6, 1, 1}, -1, 1)));
}

static void normalized_sum(network *n) { // the rank is known through what is in front
  int64_t channels = 6;
  affine p = random_parameters(n);
  dq_value *sum = NODE(n, "QuantizeLinear", NODE(n, "Add", picture(n), picture(n)), p.scale, p.zero_point);
  dq_value *x = NODE(n, "DequantizeLinear", sum, p.scale, p.zero_point);
  quantized(n, NODE(n, "BatchNormalization", x, floats(n, 1, &channels, 0.5f, 2), floats(n, 1, &channels, -1, 1),
                    floats(n, 1, &channels, -1, 1), floats(n, 1, &channels, 0.5f, 2)));
}

static void functions_of_one_value(void **state) {
  (void)state;
  EXACT(silu);
  EXACT(hard_swish_of_parts);
  EXACT(slopes_of_channels);
  EXACT(offsets_of_channels);
  EXACT(columns);
  EXACT(repeated_column);
  EXACT(repeated_channel);
  EXACT(more_dimensions);
  EXACT(quantized_constant);
  EXACT(two_converters_of_one);
  EXACT(silu_in_two_steps);
  EXACT(table_of_a_channel_table);
  EXACT(other_scale);
  EXACT(normalization);
  EXACT(normalized_sum);
}

// ---- Pairs ----

static void pair_of(network *n, const char *op_type, const char *bound) {
  static const int64_t shapes[][4] = {{2, 6, 7, 9}, {2, 6, 1, 1}, {1, 1, 7, 9}, {2, 6, 7, 9}};
  dq_value *a = picture(n), *b = input(n, 4, shapes[dq_random_below(&n->random, 4)]);
  dq_value *result = dq_random_below(&n->random, 2) ? NODE(n, op_type, a, b) : NODE(n, op_type, b, a);
  if (!strcmp(bound, "Relu")) result = NODE(n, "Relu", result);
  if (!strcmp(bound, "Clip")) result = NODE(n, "Clip", result, number(n, -0.3f), number(n, 0.7f));
  quantized(n, result);
}

static void pairs(void **state) {
  (void)state;
  static const char *const names[] = {"Add", "Sub", "Mul"}, *const bounds[] = {"", "Relu", "Clip"};
  for (int i = 0; i < 9; i++)
    for (uint64_t seed = 0; seed < 8; seed++) {
      network n = open_network(seed);
      pair_of(&n, names[i / 3], bounds[i % 3]);
      expect_exact(&n, 0, names[i / 3]);
    }
}

static void joined(network *n, bool same) {
  affine p = random_parameters(n);
  dq_value *a = same ? input_with(n, p, 4, (int64_t[]){2, 3, 4, 5}) : input(n, 4, (int64_t[]){2, 3, 4, 5});
  dq_value *all = NODE(n, "Concat", a, input_with(n, p, 4, (int64_t[]){2, 2, 4, 5}), a);
  dq_node_set_int(n->graph, last_node(n), "axis", 1);
  quantized_with(n, NODE(n, "Relu", all), p);
  quantized_with(n, all, p);
}
static void joined_alike(network *n) { joined(n, true); }
static void joined_unlike(network *n) { joined(n, false); }

static void concatenations(void **state) {
  (void)state;
  EXACT(joined_alike);
  EXACT(joined_unlike);
}

// ---- Moves: the result keeps its scale, and what follows reads it ----

static void moved(network *n, dq_value *x, affine p) {
  quantized_with(n, x, p);
  quantized(n, NODE(n, "Sigmoid", x));
}
#define MOVER(name, ...)                                                                           \
  static void name(network *n) {                                                                   \
    affine p = random_parameters(n);                                                               \
    dq_value *x = input_with(n, p, 4, (int64_t[]){2, 8, 6, 4});                                    \
    __VA_ARGS__                                                                                    \
    moved(n, x, p);                                                                                \
  }
#define SET(name, ...) dq_node_set_ints(n->graph, last_node(n), name, (int64_t[]){__VA_ARGS__},    \
                                        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define SET_INT(name, value) dq_node_set_int(n->graph, last_node(n), name, value)
MOVER(max_pool, x = NODE(n, "MaxPool", x); SET("kernel_shape", 3, 3); SET("strides", 2, 2); SET("pads", 1, 1, 1, 1);)
MOVER(global_max_pool, x = NODE(n, "GlobalMaxPool", x);)
MOVER(transpose, x = NODE(n, "Transpose", x); SET("perm", 0, 3, 1, 2);)
MOVER(reshape, x = NODE(n, "Reshape", x, ints(n, INTS(0, -1)));)
MOVER(flatten_and_back, x = NODE(n, "Flatten", x); x = NODE(n, "Unsqueeze", x, ints(n, INTS(0)));
      x = NODE(n, "Squeeze", x, ints(n, INTS(0)));)
MOVER(slice, x = NODE(n, "Slice", x, ints(n, INTS(1)), ints(n, INTS(7)), ints(n, INTS(1)), ints(n, INTS(2)));)
MOVER(pad_with_zero, x = NODE(n, "Pad", x, ints(n, INTS(0, 0, 1, 2, 0, 0, 3, 0)));)
MOVER(pad_by_reflection, x = NODE(n, "Pad", x, ints(n, INTS(0, 0, 1, 2, 0, 0, 3, 0)));
      dq_node_set_string(n->graph, last_node(n), "mode", "reflect");)
MOVER(resize_nearest, x = NODE(n, "Resize", x, NULL, floats(n, 1, (int64_t[]){4}, 2, 2));
      ((float *)n->graph->nodes[n->graph->node_count - 1]->inputs[2]->constant->data)[0] = 1;
      ((float *)n->graph->nodes[n->graph->node_count - 1]->inputs[2]->constant->data)[1] = 1;)
MOVER(depth_to_space, x = NODE(n, "DepthToSpace", x); SET_INT("blocksize", 2);)
MOVER(space_to_depth, x = NODE(n, "SpaceToDepth", x); SET_INT("blocksize", 2);)
MOVER(expand, x = NODE(n, "Expand", NODE(n, "GlobalMaxPool", x), ints(n, INTS(2, 8, 3, 3)));)
MOVER(tile, x = NODE(n, "Tile", x, ints(n, INTS(1, 2, 1, 3)));)
MOVER(gather, x = NODE(n, "Gather", x, ints(n, INTS(3, 0, 7))); SET_INT("axis", 1);)

static void split(network *n) {
  affine p = random_parameters(n);
  dq_value *x = input_with(n, p, 4, (int64_t[]){2, 8, 6, 4}), *parts[] = {fresh(n, "part"), fresh(n, "part")};
  dq_value *inputs[] = {x, ints(n, INTS(3, 5))};
  dq_graph_add_node(n->graph, n->graph->node_count, "Split", "split", 2, inputs, 2, parts);
  SET_INT("axis", 1);
  quantized_with(n, parts[0], p);
  quantized(n, parts[1]);
}

static void moves(void **state) {
  (void)state;
  EXACT(max_pool);
  EXACT(global_max_pool);
  EXACT(transpose);
  EXACT(reshape);
  EXACT(flatten_and_back);
  EXACT(slice);
  EXACT(pad_with_zero);
  EXACT(pad_by_reflection);
  EXACT(resize_nearest);
  EXACT(depth_to_space);
  EXACT(space_to_depth);
  EXACT(expand);
  EXACT(tile);
  EXACT(gather);
  EXACT(split);
}

// A fill value that 8 bits do not hold exactly stays in float; one that they hold moves.
static void pads_with_numbers(void **state) {
  (void)state;
  for (int exact = 0; exact < 2; exact++) {
    network n = open_network(1);
    affine p = parameters(&n, 0.25f, DQ_U8, 10);
    dq_value *x = input_with(&n, p, 2, (int64_t[]){3, 4});
    quantized_with(&n, NODE(&n, "Pad", x, ints(&n, INTS(1, 1, 0, 2)), number(&n, exact ? -1.5f : 0.3f)), p);
    expect_exact(&n, exact ? 0 : 2, "Pad");
  }
}

// Interpolation and functions of two values are not the forms': they run in float.
static void left_alone(void **state) {
  (void)state;
  network n = open_network(0);
  dq_value *x = picture(&n), *y = picture(&n);
  quantized(&n, NODE(&n, "Pow", NODE(&n, "Abs", x), y));
  expect_exact(&n, 3, "Pow");
  n = open_network(0);
  x = input(&n, 4, (int64_t[]){1, 2, 3, 3});
  quantized(&n, NODE(&n, "Softmax", x));
  expect_exact(&n, 2, "Softmax");
}

// ---- Products and averages: with scales that are powers of two their sums are exact in float too ----

static affine binary_parameters(network *n, int power) {
  affine p = random_parameters(n);
  p.scale = number(n, ldexpf(1, power));
  return p;
}

static dq_value *dequantized_weight(network *n, int rank, const int64_t *dims, int axis) {
  dq_tensor *w = dq_tensor_new(n->graph->arena, DQ_I8, rank, dims);
  int64_t channels = axis < 0 ? 1 : dims[axis];
  dq_tensor *scales = dq_tensor_new(n->graph->arena, DQ_F32, axis < 0 ? 0 : 1, &channels);
  dq_tensor *zeros = dq_tensor_new(n->graph->arena, DQ_I8, axis < 0 ? 0 : 1, &channels);
  for (int64_t i = 0; i < dq_tensor_count(w); i++) ((int8_t *)w->data)[i] = (int8_t)(dq_random_below(&n->random, 255) - 127);
  for (int64_t c = 0; c < channels; c++) ((float *)scales->data)[c] = ldexpf(1, -7 - (int)(c % 3));
  dq_value *result = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "w", w),
                          dq_graph_add_constant(n->graph, "sw", scales), dq_graph_add_constant(n->graph, "zw", zeros));
  if (axis >= 0) dq_node_set_int(n->graph, last_node(n), "axis", axis);
  return result;
}

// A bias of int32 behind DequantizeLinear, for a weight with scales along an axis and x in steps of 2^-5.
static dq_value *dequantized_bias(network *n, int64_t channels, bool by_channel) {
  dq_tensor *b = dq_tensor_new(n->graph->arena, DQ_I32, 1, &channels);
  dq_tensor *scales = dq_tensor_new(n->graph->arena, DQ_F32, 1, &channels);
  for (int64_t c = 0; c < channels; c++) {
    ((int32_t *)b->data)[c] = (int32_t)dq_random_below(&n->random, 4000) - 2000;
    ((float *)scales->data)[c] = ldexpf(1, -12 - (by_channel ? (int)(c % 3) : 0));
  }
  dq_value *result = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "b", b), dq_graph_add_constant(n->graph, "sb", scales));
  dq_node_set_int(n->graph, last_node(n), "axis", 0);
  return result;
}

static void matrix_by_columns(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 5, 37});
  quantized_with(n, NODE(n, "MatMul", x, dequantized_weight(n, 2, (int64_t[]){37, 9}, 1)), binary_parameters(n, -3));
}
static void matrices_of_two_activations(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 5, 37});
  dq_value *y = input_with(n, binary_parameters(n, -6), 4, (int64_t[]){2, 1, 37, 4});
  quantized_with(n, NODE(n, "Relu", NODE(n, "MatMul", x, y)), binary_parameters(n, -3));
}
static void gemm(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 2, (int64_t[]){3, 40});
  dq_value *w = dequantized_weight(n, 2, (int64_t[]){7, 40}, 0);
  dq_value *y = NODE(n, "Gemm", x, w, dequantized_bias(n, 7, true));
  SET_INT("transB", 1);
  quantized_with(n, y, binary_parameters(n, -3));
}

// The last product of a classifier: its result is not quantized.
static void gemm_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 2, (int64_t[]){3, 40});
  dq_value *w = dequantized_weight(n, 2, (int64_t[]){7, 40}, 0);
  output(n, NODE(n, "Gemm", x, w, dequantized_bias(n, 7, true)));
  SET_INT("transB", 1);
}
static void matrix_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 5, 37});
  dq_value *y = NODE(n, "MatMul", x, dequantized_weight(n, 2, (int64_t[]){37, 9}, -1));
  output(n, y);
  output(n, NODE(n, "Relu", y));
}
static void matrices_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 5, 37});
  dq_value *y = input_with(n, binary_parameters(n, -6), 4, (int64_t[]){2, 1, 37, 4});
  output(n, NODE(n, "MatMul", x, y));
}
static void convolution_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  dq_value *w = dequantized_weight(n, 4, (int64_t[]){5, 6, 3, 3}, 0);
  output(n, NODE(n, "Conv", x, w, dequantized_bias(n, 5, true)));
  SET("pads", 1, 0, 1, 1);
}
static void pixels_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  output(n, NODE(n, "Conv", x, dequantized_weight(n, 4, (int64_t[]){70, 6, 1, 1}, -1)));
}

// Stays in float, where the Relu is its end.
static void convolution_with_an_end(void **state) {
  (void)state;
  network n = open_network(3);
  dq_value *x = input_with(&n, binary_parameters(&n, -5), 4, (int64_t[]){2, 6, 7, 9});
  output(&n, NODE(&n, "Relu", NODE(&n, "Conv", x, dequantized_weight(&n, 4, (int64_t[]){5, 6, 1, 1}, 0))));
  expect_exact(&n, 1, "Conv with Relu");
}

static void transposed(network *n, int64_t kernel, int64_t stride, int64_t group, int64_t pad, int64_t extra, bool by_channel) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 4, 5});
  int64_t outputs = 4 / group;
  dq_value *w = dequantized_weight(n, 4, (int64_t[]){6, outputs, kernel, kernel}, by_channel ? 1 : -1);
  dq_value *b = group == 1 || !by_channel ? dequantized_bias(n, 4, by_channel) : NULL;
  dq_value *y = b ? NODE(n, "ConvTranspose", x, w, b) : NODE(n, "ConvTranspose", x, w);
  SET("strides", stride, stride);
  SET("pads", pad, 0, pad, pad);
  SET("output_padding", extra, 0);
  SET_INT("group", group);
  quantized_with(n, NODE(n, "Relu", y), binary_parameters(n, -3));
}
#define TRANSPOSED(name, ...)                                                                      \
  static void name(network *n) { transposed(n, __VA_ARGS__); }
TRANSPOSED(transposed_2_2, 2, 2, 1, 0, 0, true)
TRANSPOSED(transposed_3_2, 3, 2, 1, 1, 1, false)
TRANSPOSED(transposed_4_2_in_groups, 4, 2, 2, 1, 0, true)
TRANSPOSED(transposed_5_3_in_groups, 5, 3, 2, 2, 1, false)
TRANSPOSED(transposed_3_1, 3, 1, 1, 1, 0, true)
TRANSPOSED(transposed_1_2, 1, 2, 1, 0, 1, true)

static void products(void **state) {
  (void)state;
  EXACT(matrix_by_columns);
  EXACT(matrices_of_two_activations);
  EXACT(gemm);
  EXACT(gemm_to_float);
  EXACT(matrix_to_float);
  EXACT(matrices_to_float);
  EXACT(convolution_to_float);
  EXACT(pixels_to_float);
  EXACT(transposed_2_2);
  EXACT(transposed_3_2);
  EXACT(transposed_4_2_in_groups);
  EXACT(transposed_5_3_in_groups);
  EXACT(transposed_3_1);
  EXACT(transposed_1_2);
}

static void averages_of_four(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 8, 6});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 2, 2);
  SET("strides", 2, 1);
  quantized_with(n, NODE(n, "Clip", y, number(n, -1), number(n, 1)), binary_parameters(n, -4));
}
static void averages_of_lines(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 3, 9});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 4);
  SET("dilations", 2);
  quantized_with(n, y, binary_parameters(n, -4));
}
static void averages_of_planes(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 8, 4});
  quantized_with(n, NODE(n, "GlobalAveragePool", x), binary_parameters(n, -6));
}

// Windows at the edge hold fewer elements, or count the padding: one step from the float average at most.
static void averages_at_edges(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 8; seed++) {
    network n = open_network(seed);
    dq_value *y = NODE(&n, "AveragePool", picture(&n));
    dq_node *pool = last_node(&n);
    dq_node_set_ints(n.graph, pool, "kernel_shape", (int64_t[]){3, 3}, 2);
    dq_node_set_ints(n.graph, pool, "strides", (int64_t[]){2, 2}, 2);
    dq_node_set_ints(n.graph, pool, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    dq_node_set_int(n.graph, pool, "count_include_pad", (int64_t)seed % 2);
    dq_node_set_int(n.graph, pool, "ceil_mode", (int64_t)seed / 2 % 2);
    quantized(&n, y);
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_arena *arena = dq_arena_new(0);
    outcome expected, found[WAYS];
    run(&n, &(dq_session_options){.plain = true}, &contexts[0], arena, &expected);
    for (int way = 0; way < WAYS; way++) {
      run(&n, NULL, &contexts[way], arena, &found[way]);
      expect_same(&n, &found[0], &found[way], "edges");
      assert_int_equal(found[way].conversions, 0);
    }
    for (int64_t i = 0; i < dq_tensor_count(&expected.outputs[0]); i++)
      assert_true(fabs(dq_tensor_get(&expected.outputs[0], i) - dq_tensor_get(&found[0].outputs[0], i)) <= 1);
    dq_arena_free(arena);
    dq_graph_free(n.graph);
  }
}

static void averages(void **state) {
  (void)state;
  EXACT(averages_of_four);
  EXACT(averages_of_lines);
  EXACT(averages_of_planes);
}

// Numbers by hand: 0.5 (20 - 10) + 0.25 (130 - 128) = 5.5, in steps of 2 from 3 on: round(2.75) + 3 = 6;
// 5 * 0.5 = 2.5 is round(1.25) + 3 = 4.
static void pair_by_hand(void **state) {
  (void)state;
  static const char *const names[] = {"Add", "Mul"};
  for (int i = 0; i < 2; i++) {
    network n = open_network(0);
    dq_value *a = input_with(&n, parameters(&n, 0.5f, DQ_U8, 10), 1, (int64_t[]){1});
    dq_value *b = input_with(&n, parameters(&n, 0.25f, DQ_U8, 128), 1, (int64_t[]){1});
    quantized_with(&n, NODE(&n, names[i], a, b), parameters(&n, 2, DQ_U8, 3));
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_session session;
    assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[0], NULL), DQ_OK);
    assert_int_equal(dq_plan_step_count(session.plan), 1);
    *(uint8_t *)dq_plan_input(session.plan, 0)->data = 20;
    *(uint8_t *)dq_plan_input(session.plan, 1)->data = 130;
    assert_int_equal(dq_plan_run(session.plan, NULL), DQ_OK);
    assert_int_equal(*(const uint8_t *)dq_plan_output(session.plan, 0)->data, i ? 4 : 6);
    dq_session_close(&session);
    dq_graph_free(n.graph);
  }
}

// x = (10, 20, 30, 40) less 10, w = (1, -2, 3, -4): -80, with bias 98 18; in steps of 0.1 * 0.3 in float32.
static void float_product_by_hand(void **state) {
  (void)state;
  static const int8_t weights[] = {1, -2, 3, -4};
  network n = open_network(0);
  dq_tensor *w = dq_tensor_new(n.graph->arena, DQ_I8, 2, (int64_t[]){4, 1}), *b = dq_tensor_new(n.graph->arena, DQ_I32, 1, (int64_t[]){1});
  memcpy(w->data, weights, sizeof weights);
  *(int32_t *)b->data = 98;
  dq_value *x = input_with(&n, parameters(&n, 0.1f, DQ_U8, 10), 2, (int64_t[]){1, 4});
  affine p = parameters(&n, 0.3f, DQ_I8, 0);
  dq_value *weight = NODE(&n, "DequantizeLinear", dq_graph_add_constant(n.graph, "w", w), p.scale, p.zero_point);
  dq_value *bias = NODE(&n, "DequantizeLinear", dq_graph_add_constant(n.graph, "b", b), number(&n, 0.1f * 0.3f));
  output(&n, NODE(&n, "Gemm", x, weight, bias));
  assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
  for (int way = 0; way < WAYS; way++) {
    dq_session session;
    assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[way], NULL), DQ_OK);
    assert_int_equal(dq_plan_step_count(session.plan), 1);
    for (int i = 0; i < 4; i++) ((uint8_t *)dq_plan_input(session.plan, 0)->data)[i] = (uint8_t)(10 * (i + 1));
    assert_int_equal(dq_plan_run(session.plan, NULL), DQ_OK);
    float expected = 18 * (0.1f * 0.3f);
    assert_memory_equal(dq_plan_output(session.plan, 0)->data, &expected, sizeof expected);
    dq_session_close(&session);
  }
  dq_graph_free(n.graph);
}

// Four weights of 100 and inputs to 255 - 10: sums of -4000 to 98000, with a bias that leaves as much room or one less.
static void large_bias(network *n, int32_t bias, bool quantized) {
  static const int8_t weights[] = {100, 100, 100, 100};
  dq_tensor *w = dq_tensor_new(n->graph->arena, DQ_I8, 4, (int64_t[]){1, 4, 1, 1}), *b = dq_tensor_new(n->graph->arena, DQ_I32, 1, (int64_t[]){1});
  memcpy(w->data, weights, sizeof weights);
  *(int32_t *)b->data = bias;
  dq_value *x = input_with(n, parameters(n, 0.1f, DQ_U8, 10), 4, (int64_t[]){1, 4, 3, 5});
  affine p = parameters(n, 0.3f, DQ_I8, 0);
  dq_value *weight = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "w", w), p.scale, p.zero_point);
  dq_value *y = NODE(n, "Conv", x, weight, NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "b", b), number(n, 0.1f * 0.3f)));
  if (quantized) quantized_with(n, y, parameters(n, 0.03f * 0x1p31f / 100, DQ_U8, 128));
  else output(n, y);
}

// int32 wraps, and what the file says does not: a sum that may leave int32 with its bias is computed in float.
static void sums_that_leave_int32(void **state) {
  (void)state;
  for (int quantized = 0; quantized < 2; quantized++)
    for (int i = 0; i < 4; i++) {
      const int32_t biases[] = {INT32_MAX - 98000, INT32_MIN + 4000, INT32_MAX - 98000 + 1, INT32_MIN + 4000 - 1};
      network n = open_network(0);
      large_bias(&n, biases[i], quantized);
      assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
      dq_session session;
      assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[0], NULL), DQ_OK);
      bool integer = false;
      for (int s = 0; s < dq_plan_step_count(session.plan); s++)
        integer |= !strcmp(dq_plan_step(session.plan, s, NULL)->op_type, "QConv");
      assert_int_equal(integer, i < 2);
      dq_session_close(&session);
      if (quantized) expect_exact(&n, integer ? 0 : 2, "a large bias");
      else if (!integer) expect_exact(&n, 1, "a large bias, to float");
      else dq_graph_free(n.graph);
    }
}

// With one scale for operands and result, here 45387 2^-22, a sum is the sum of the integers, cut to 8 bits.
static void sums_of_one_scale_are_whole(void **state) {
  (void)state;
  enum { ALL = 256 * 256, A = 117, B = 131, SUM = 125 };
  const float scale = 45387 * 0x1p-22f;
  network n = open_network(0);
  dq_value *a = input_with(&n, parameters(&n, scale, DQ_U8, A), 1, (int64_t[]){ALL});
  dq_value *b = input_with(&n, parameters(&n, scale, DQ_U8, B), 1, (int64_t[]){ALL});
  quantized_with(&n, NODE(&n, "Add", a, b), parameters(&n, scale, DQ_U8, SUM));
  assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
  for (int way = 0; way < WAYS; way++) {
    dq_session session;
    assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[way], NULL), DQ_OK);
    for (int i = 0; i < ALL; i++) {
      ((uint8_t *)dq_plan_input(session.plan, 0)->data)[i] = (uint8_t)(i / 256);
      ((uint8_t *)dq_plan_input(session.plan, 1)->data)[i] = (uint8_t)i;
    }
    assert_int_equal(dq_plan_run(session.plan, NULL), DQ_OK);
    const uint8_t *found = dq_plan_output(session.plan, 0)->data;
    for (int i = 0; i < ALL; i++) {
      int sum = (i / 256 - A) + (i % 256 - B) + SUM;
      assert_int_equal(found[i], sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
    dq_session_close(&session);
  }
  dq_graph_free(n.graph);
}

static int start(void **state) {
  (void)state;
  static const struct {
    const char *cpu;
    int threads;
  } ways[WAYS] = {{"native", 1}, {"c", 2}, {"avx2", 4}, {"avx512", 2}};
  for (int i = 0; i < WAYS; i++) {
    unsigned mask;
    if (dq_cpu_mask_parse(ways[i].cpu, &mask, NULL) != DQ_OK) return -1;
    if (dq_context_init(&contexts[i], ways[i].threads, mask, NULL) != DQ_OK) return -1;
  }
  return 0;
}
static int end(void **state) {
  (void)state;
  for (int i = 0; i < WAYS; i++) dq_context_deinit(&contexts[i]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions),      cmocka_unit_test(functions_of_one_value),
      cmocka_unit_test(pairs),          cmocka_unit_test(concatenations),
      cmocka_unit_test(moves),          cmocka_unit_test(pads_with_numbers),
      cmocka_unit_test(left_alone),     cmocka_unit_test(pair_by_hand),
      cmocka_unit_test(products),       cmocka_unit_test(averages),
      cmocka_unit_test(float_product_by_hand),
      cmocka_unit_test(sums_that_leave_int32), cmocka_unit_test(convolution_with_an_end), cmocka_unit_test(averages_at_edges), cmocka_unit_test(sums_of_one_scale_are_whole),
  };
  return cmocka_run_group_tests(tests, start, end);
}
