// Integer steps: what runs on 8 bits where a file has DequantizeLinear, operators, QuantizeLinear gives the
// bits of those operators one by one, on every instruction set and at any thread count, tapped or not: functions,
// pairs, concatenations and moves. Products and averages are in test_integer_products.c.
#include "tests/unit/quantized_network.h"

// ---- Functions ----

static void functions(void **state) {
  (void)state;
  static const char *const names[] = {"Abs",       "Ceil",     "Celu", "Elu",         "Erf",
                                      "Exp",       "Floor",    "Gelu", "HardSigmoid", "HardSwish",
                                      "LeakyRelu", "Log",      "Mish", "Neg",         "Reciprocal",
                                      "Relu",      "Round",    "Selu", "Shrink",      "Sigmoid",
                                      "Softplus",  "Softsign", "Sqrt", "Tanh",        "ThresholdedRelu",
                                      "Identity"};
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
// One slope, or one for each channel, of every number of dimensions up to that of the input.
static void slopes_of_any_rank(network *n) {
  const int64_t one[] = {1, 1, 1, 1}, channels[] = {1, 6, 1, 1}, rows[] = {7, 1}, last[] = {9};
  dq_value *x = picture(n);
  const struct {
    int rank;
    const int64_t *dims;
  } slopes[] = {{0, one},          {1, one},      {2, one},  {3, one}, {4, one},
                {3, channels + 1}, {4, channels}, {2, rows}, {1, last}};
  for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++)
    quantized(n, NODE(n, "PRelu", x, floats(n, slopes[i].rank, slopes[i].dims, -1, 1)));
}
// Constants of more dimensions stand in front of slopes, and behind them.
static void slopes_among_constants(network *n) {
  const int64_t one[] = {1, 1, 1, 1}, channels[] = {6, 1, 1};
  dq_value *x = picture(n), *sum = NODE(n, "Add", floats(n, 4, one, -1, 1), x);
  quantized(n, NODE(n, "PRelu", sum, floats(n, 3, one, -1, 1)));
  quantized(n, NODE(n, "Mul", NODE(n, "PRelu", x, floats(n, 2, one, -1, 1)), floats(n, 3, channels, -1, 1)));
  dq_value *single = input(n, 4, (int64_t[]){2, 1, 3, 5});
  dq_value *wide = NODE(n, "Sub", single, floats(n, 3, channels, -1, 1));
  quantized(n, NODE(n, "PRelu", wide, floats(n, 3, channels, -1, 1)));
}
// Numbers without dimensions take those of constants.
static void scalars(network *n) {
  static const char *const pairs[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
  const int64_t one[] = {1, 1}, *dims = one;
  dq_value *x = input(n, 0, dims);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (int rank = 0; rank < 3; rank++) quantized(n, NODE(n, pairs[i], x, floats(n, rank, dims, 1, 2)));
  quantized(n, NODE(n, "PRelu", x, number(n, 0.25f)));
  quantized(n, NODE(n, "Clip", x, number(n, -0.2f), number(n, 0.3f)));
}
// Both tables become one, which has the dimensions of the first.
static void scalar_in_two_steps(network *n) {
  affine p = random_parameters(n);
  dq_value *sum = NODE(n, "Mul", input(n, 0, NULL), floats(n, 1, (int64_t[]){1}, 1, 2));
  dq_value *q = NODE(n, "QuantizeLinear", sum, p.scale, p.zero_point);
  quantized(n, NODE(n, "Tanh", NODE(n, "DequantizeLinear", q, p.scale, p.zero_point)));
}
static void offsets_of_channels(network *n) {
  dq_value *sum = NODE(n, "Add", floats(n, 4, (int64_t[]){1, 6, 1, 1}, -1, 1), picture(n));
  quantized(n, NODE(n, "Sub", number(n, 1), sum));
}
static void columns(network *n) { quantized(n, NODE(n, "Mul", picture(n), floats(n, 1, (int64_t[]){9}, -2, 2))); }
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
  dq_value *normal =
      NODE(n, "BatchNormalization", pooled, floats(n, 1, &channels, 0.5f, 2), floats(n, 1, &channels, -1, 1),
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

// A slope that would widen what it is applied to is refused, in tables as elsewhere.
static void wide_slopes(void **state) {
  (void)state;
  const int64_t one[] = {1, 1, 1}, channels[] = {6, 1, 1};
  for (int wide = 0; wide < 2; wide++) {
    network n = open_network(1);
    dq_value *x = wide ? input(&n, 3, (int64_t[]){1, 2, 3}) : input(&n, 2, (int64_t[]){2, 3});
    quantized(&n, NODE(&n, "PRelu", x, floats(&n, 3, wide ? channels : one, -1, 1)));
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    for (int plain = 0; plain < 2; plain++) {
      dq_session session;
      dq_error error = {0};
      assert_int_equal(dq_session_open(&session, n.graph, &(dq_session_options){.plain = plain}, &contexts[0], &error),
                       DQ_BAD_INPUT);
      assert_non_null(strstr(error.message, "broadcast to the shape of"));
    }
    dq_graph_free(n.graph);
  }
}
static void functions_of_one_value(void **state) {
  (void)state;
  EXACT(silu);
  EXACT(hard_swish_of_parts);
  EXACT(slopes_of_channels);
  EXACT(slopes_of_any_rank);
  EXACT(slopes_among_constants);
  EXACT(scalars);
  EXACT(scalar_in_two_steps);
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

// Functions of what is joined: their tables and those that bring the result's scale become one.
static void joined_functions(network *n) {
  affine p[3];
  dq_value *x = picture(n),
           *parts[3] = {NODE(n, "Sigmoid", x), NODE(n, "PRelu", picture(n), floats(n, 3, (int64_t[]){6, 1, 1}, -1, 1)),
                        NODE(n, "Mul", x, number(n, 0.75f))};
  for (int i = 0; i < 3; i++) {
    p[i] = random_parameters(n);
    dq_value *q = NODE(n, "QuantizeLinear", parts[i], p[i].scale, p[i].zero_point);
    parts[i] = NODE(n, "DequantizeLinear", q, p[i].scale, p[i].zero_point);
  }
  dq_value *whole = node_of(n, "Concat", 3, parts);
  dq_node_set_int(n->graph, last_node(n), "axis", 1);
  quantized(n, whole);
}

static void concatenations(void **state) {
  (void)state;
  EXACT(joined_functions);
  EXACT(joined_alike);
  EXACT(joined_unlike);
}

// Tables that only tables read are one with them, also where channels have tables of their own.
static void tables_of_tables(void **state) {
  (void)state;
  static const struct {
    building *build;
    int tables;
  } cases[] = {{silu_in_two_steps, 1}, {table_of_a_channel_table, 1}, {joined_functions, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    network n = open_network(i);
    cases[i].build(&n);
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_arena *arena = dq_arena_new(0);
    outcome found;
    run_network(&n, NULL, &contexts[0], arena, &found);
    assert_int_equal(found.tables, cases[i].tables);
    dq_arena_free(arena);
    dq_graph_free(n.graph);
  }
}

// ---- Moves: the result keeps its scale, and what follows reads it ----

static void moved(network *n, dq_value *x, affine p) {
  quantized_with(n, x, p);
  quantized(n, NODE(n, "Sigmoid", x));
}
#define MOVER(name, ...)                                                                                               \
  static void name(network *n) {                                                                                       \
    affine p = random_parameters(n);                                                                                   \
    dq_value *x = input_with(n, p, 4, (int64_t[]){2, 8, 6, 4});                                                        \
    __VA_ARGS__                                                                                                        \
    moved(n, x, p);                                                                                                    \
  }
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions),
      cmocka_unit_test(functions_of_one_value),
      cmocka_unit_test(wide_slopes),
      cmocka_unit_test(pairs),
      cmocka_unit_test(concatenations),
      cmocka_unit_test(tables_of_tables),
      cmocka_unit_test(moves),
      cmocka_unit_test(pads_with_numbers),
      cmocka_unit_test(left_alone),
      cmocka_unit_test(pair_by_hand),
      cmocka_unit_test(sums_of_one_scale_are_whole),
  };
  return cmocka_run_group_tests(tests, contexts_start, contexts_end);
}
