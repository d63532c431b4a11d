// Sums that provably fit: blocks and pairs by hand, orders of channels, and a kernel that clips pairs as
// vpmaddubsw does, which must not be told from the exact one.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/session/session.h"
#include "quant/numeric/blocks.h"
#include "quant/int8/stages.h"
#include "quant/numeric/product_weight.h"
#include "quant/rewrite/channels.h"
#include "quant/rewrite/permute.h"
#include "tests/unit/small_network.h"

static const dq_block_rule pairs = DQ_PAIR_RULE;

// ---- Blocks ----

static void pairs_by_hand(void **state) {
  (void)state;
  const struct {
    int8_t weights[2];
    bool allowed;
  } cases[] = {{{100, 28}, true},   {{100, 29}, false}, {{-100, -28}, true}, {{-100, -29}, false},
               {{127, -127}, true}, {{127, 1}, true},   {{127, 2}, false},   {{64, 64}, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(dq_block_allowed(&pairs, cases[i].weights, 2), cases[i].allowed);
  assert_true(dq_block_allowed(&pairs, (const int8_t[]){127}, 1)); // an odd one at the end
}

// 255 * (100 + 60) is 8033 too much: 32 steps, which cost least when both give the same.
static void projection_by_hand(void **state) {
  (void)state;
  int8_t weights[2];
  dq_block_project(&pairs, &dq_weight_type_int8, (const double[]){100.2, 60.4}, weights, 2);
  assert_int_equal(weights[0], 84);
  assert_int_equal(weights[1], 44);
  dq_block_project(&pairs, &dq_weight_type_int8, (const double[]){-127, -10}, weights, 2);
  assert_int_equal(weights[0] + weights[1], -128);
  dq_block_project(&pairs, &dq_weight_type_int8, (const double[]){100.2, -60.6}, weights, 2);
  assert_int_equal(weights[0], 100);
  assert_int_equal(weights[1], -61);
}

// What dq_block_project is defined as: one step at a time.
static void project_by_steps(const dq_block_rule *rule, const double *wanted, int8_t *weights, int64_t count) {
  for (int64_t i = 0; i < count; i++) weights[i] = (int8_t)fmin(fmax(nearbyint(wanted[i]), -127), 127);
  for (;;) {
    int64_t low = 0, high = 0, best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++) {
      low += weights[i] * (weights[i] < 0 ? rule->high : rule->low);
      high += weights[i] * (weights[i] < 0 ? rule->low : rule->high);
    }
    if (low >= INT16_MIN && high <= INT16_MAX) return;
    for (int64_t i = 0; i < count; i++) {
      int q = weights[i], next = q > 0 ? q - 1 : q + 1, gain = (q > 0) == (high > INT16_MAX) ? rule->high : -rule->low;
      if (!q || !gain) continue;
      double before = wanted[i] - q, after = wanted[i] - next, cost = (after * after - before * before) / gain;
      if (cost < least) least = cost, best = i;
    }
    weights[best] = (int8_t)(weights[best] > 0 ? weights[best] - 1 : weights[best] + 1);
  }
}

static void projection_takes_many_steps_at_once(void **state) {
  (void)state;
  dq_random random = {7};
  for (int round = 0; round < 20000; round++) {
    double wanted[DQ_LONGEST_BLOCK];
    int8_t found[DQ_LONGEST_BLOCK], expected[DQ_LONGEST_BLOCK];
    const dq_parameters input = {1, (int)(dq_random_next(&random) % 256), DQ_U8};
    int64_t count = round % 2 ? 2 : 1 + (int64_t)(dq_random_next(&random) % DQ_LONGEST_BLOCK);
    dq_block_rule rule = round % 4 == 1 ? pairs : dq_int16_rule(&input, count);
    double size = 1 + (double)(dq_random_next(&random) % 400);
    for (int64_t i = 0; i < count; i++) wanted[i] = size * (2 * (double)(dq_random_next(&random) % 10007) / 10007 - 1);
    dq_block_project(&rule, &dq_weight_type_int8, wanted, found, count);
    project_by_steps(&rule, wanted, expected, count);
    assert_memory_equal(found, expected, (size_t)count);
  }
}

// Inputs -10..245: four weights of 40 reach 4 * 40 * 245 = 39200, so only three fit (29400); with 33 it
// is 32340 for four and 40425 for five.
static void longest_block_by_hand(void **state) {
  (void)state;
  const dq_parameters input = {1, 10, DQ_U8};
  const dq_taps taps = {1, 12, 12, 1, 12, 1};
  dq_block_rule rule = dq_int16_rule(&input, 1);
  assert_int_equal(rule.low, -10);
  assert_int_equal(rule.high, 245);
  int8_t weights[12];
  memset(weights, 40, sizeof weights);
  assert_int_equal(dq_longest_block(&taps, weights, &rule), 3);
  memset(weights, 33, sizeof weights);
  assert_int_equal(dq_longest_block(&taps, weights, &rule), 4);
  memset(weights, 1, sizeof weights);
  assert_int_equal(dq_longest_block(&taps, weights, &rule), 12);
}

// Two channels, a kernel of 1x2: memory has c0k0 c0k1 c1k0 c1k1, the sum c0k0 c1k0 c0k1 c1k1.
static void order_of_taps(void **state) {
  network *it = *state;
  dq_tensor *w = dq_tensor_new(it->graph->arena, DQ_F32, 4, (int64_t[]){3, 2, 1, 2});
  dq_value *constant = dq_graph_add_constant(it->graph, "w", w);
  dq_node *conv = network_node(it, "Conv", network_value(it, "x"), constant, NULL, network_value(it, "c"));
  dq_taps taps;
  assert_true(dq_taps_of(&taps, conv));
  assert_int_equal(taps.depth, 4);
  const int64_t expected[] = {4, 6, 5, 7};
  for (int t = 0; t < 4; t++) assert_int_equal(dq_tap_at(&taps, 1, t), expected[t]);
  dq_tensor *m = dq_tensor_new(it->graph->arena, DQ_F32, 2, (int64_t[]){5, 3});
  constant = dq_graph_add_constant(it->graph, "m", m);
  dq_node *product = network_node(it, "MatMul", network_value(it, "x"), constant, NULL, network_value(it, "p"));
  assert_true(dq_taps_of(&taps, product));
  assert_int_equal(dq_tap_at(&taps, 1, 4), 13);
}

// The scale is between that of the largest weight and that of the largest pair, every block is allowed,
// and the error is not above that of raising the scale alone.
static void weights_are_safe(void **state) {
  network *it = *state;
  enum { OUTPUTS = 8, DEPTH = 27 };
  dq_tensor *w = dq_tensor_new(it->arena, DQ_F32, 2, (int64_t[]){OUTPUTS, DEPTH});
  const dq_taps taps = {OUTPUTS, DEPTH, DEPTH, 1, DEPTH, 1};
  dq_random random = {5};
  float *values = w->data;
  for (int i = 0; i < OUTPUTS * DEPTH; i++) values[i] = fabsf(dq_random_normal(&random)) + 0.2f;
  const dq_block_rule rules[] = {DQ_PAIR_RULE, {4, -128, 127}, {4, 0, 255}};
  for (int r = 0; r < 3; r++) {
    dq_quantized_weight plain, safe, raised;
    dq_error error;
    assert_int_equal(dq_quantize_weight(w, &dq_weight_type_int8, 0, NULL, it->arena, &plain, &error), DQ_OK);
    assert_int_equal(dq_quantize_weight_blocks(w, &taps, &plain, &rules[r], it->arena, &safe, &error), DQ_OK);
    assert_false(dq_blocks_allowed(&taps, plain.elements->data, &rules[r]));
    assert_true(dq_blocks_allowed(&taps, safe.elements->data, &rules[r]));
    float least[OUTPUTS];
    for (int o = 0; o < OUTPUTS; o++) {
      float low = ((const float *)plain.scales->data)[o], chosen = ((const float *)safe.scales->data)[o];
      assert_true(chosen >= low);
      least[o] = 0;
      for (int t = 0; t < DEPTH; t += (int)rules[r].length) {
        float sum = 0;
        for (int i = t; i < t + rules[r].length && i < DEPTH; i++) sum += values[o * DEPTH + i];
        least[o] = fmaxf(least[o], sum * (float)rules[r].high / INT16_MAX * 129 / 128);
      }
      assert_true(chosen <= fmaxf(least[o] * 1.01f, low));
    }
    assert_int_equal(dq_quantize_weight(w, &dq_weight_type_int8, 0, least, it->arena, &raised, &error), DQ_OK);
    assert_true(dq_weight_noise(w, &safe) <= dq_weight_noise(w, &raised) * 1.02);
    assert_true(dq_weight_noise(w, &safe) >= dq_weight_noise(w, &plain));
  }
}

// ---- Orders ----

static void check_order(const dq_permuted_value *moved) {
  bool seen[CHANNELS] = {false};
  assert_int_equal(moved->channels, CHANNELS);
  for (int c = 0; c < CHANNELS; c++) {
    assert_in_range(moved->order[c], 0, CHANNELS - 1);
    assert_false(seen[moved->order[c]]);
    seen[moved->order[c]] = true;
  }
}

static void permuting_is_neutral(void **state) {
  network *it = *state;
  network_build(it);
  static network_outputs before, after;
  network_run(it, &before);
  const dq_permuted_value *values;
  int count;
  dq_error error;
  assert_int_equal(dq_permute_for_pairs(it->graph, &no_shapes, NULL, &values, &count, it->arena, &it->context, &error),
                   DQ_OK);
  assert_true(count > 0);
  for (int i = 0; i < count; i++) {
    assert_true(strcmp(values[i].value, "x") && strcmp(values[i].value, "y"));
    check_order(&values[i]);
  }
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

// Channels of convolutions keep one order through a Relu and behind a Concat, where each has its own place.
static void channels_behind_a_concatenation(void **state) {
  network *it = *state;
  network_conv(it, network_value(it, "x"), "a", 3, 2, 1, 1);
  network_conv(it, network_value(it, "x"), "b", 3, 4, 1, 1);
  network_node(it, "Relu", network_value(it, "a"), NULL, NULL, network_value(it, "r"));
  dq_node *concat = network_node(it, "Concat", network_value(it, "r"), network_value(it, "b"), network_value(it, "a"),
                                 network_value(it, "m"));
  dq_node_set_int(it->graph, concat, "axis", 1);
  network_conv(it, network_value(it, "m"), "y", 8, 4, 1, 1);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_finish(it);
  dq_tensor *tensors;
  dq_error error;
  assert_int_equal(dq_infer(it->graph, &no_shapes, DQ_INFER_TOLERANT, &it->context, it->arena, &tensors, &error),
                   DQ_OK);
  dq_channel_map map;
  assert_int_equal(dq_channel_map_find(&map, it->graph, tensors, it->arena, &error), DQ_OK);
  const dq_value_channels *a = &map.values[network_value(it, "a")->index],
                          *b = &map.values[network_value(it, "b")->index];
  const dq_value_channels *m = &map.values[network_value(it, "m")->index];
  assert_true(a->count == 1 && b->count == 1 && m->count == 3);
  int first = dq_channel_set_root(&map, a->parts[0].set), second = dq_channel_set_root(&map, b->parts[0].set);
  assert_true(first != second && map.sets[first].count == 2 && map.sets[second].count == 4);
  const int expected[] = {first, second, first};
  const int64_t places[] = {0, 2, 6};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(dq_channel_set_root(&map, m->parts[i].set), expected[i]);
    assert_int_equal(m->parts[i].first, places[i]);
  }
  assert_true(!map.sets[first].fixed && !map.sets[second].fixed);
}

static void set_weights(network *it, const char *name, const float *row, int64_t count) {
  dq_value *weight = dq_graph_find(it->graph, name);
  float *to = weight->constant->data;
  for (int64_t i = 0; i < dq_tensor_count(weight->constant); i++) to[i] = row[i % count];
}

// The large channels 0, 1 and 2 must each be beside a small one.
static void large_neighbours_part(void **state) {
  network *it = *state;
  network_build(it);
  const float row[CHANNELS] = {100, 90, 80, 3, 2, 1};
  set_weights(it, "y_w", row, CHANNELS);
  const dq_permuted_value *values;
  int count;
  dq_error error;
  assert_int_equal(dq_permute_for_pairs(it->graph, &no_shapes, NULL, &values, &count, it->arena, &it->context, &error),
                   DQ_OK);
  const dq_permuted_value *sum = NULL;
  for (int i = 0; i < count; i++)
    if (!strcmp(values[i].value, "sum_act")) sum = &values[i];
  assert_non_null(sum);
  for (int c = 0; c < CHANNELS; c += 2) assert_int_equal((sum->order[c] < 3) + (sum->order[c + 1] < 3), 1);
}

// What an output reads by its place keeps its place.
static void outputs_keep_their_order(void **state) {
  network *it = *state;
  network_build(it);
  network_value(it, "sum")->is_output = true;
  const dq_permuted_value *values;
  int count;
  dq_error error;
  assert_int_equal(dq_permute_for_pairs(it->graph, &no_shapes, NULL, &values, &count, it->arena, &it->context, &error),
                   DQ_OK);
  for (int i = 0; i < count; i++) assert_int_not_equal(strncmp(values[i].value, "sum", 3), 0);
}

// ---- The clipping kernel ----

enum { LAYERS = 16 };

typedef struct comparison {
  const dq_graph *graph;
  int64_t outputs, different;
  struct {
    const char *name; // of the convolution
    int64_t different;
  } layers[LAYERS];
  int layer_count;
} comparison;

static int32_t clip16(int32_t x) { return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : x; }

// One output of a convolution of stride 1 that keeps the size: all products of unsigned inputs with
// signed weights, pairs clipped to 16 bits or not. The share of the zero point is the same in both.
static int32_t sum_of(const dq_tensor *x, const int8_t *weights, const dq_taps *taps, int64_t group, int64_t k,
                      int64_t oy, int64_t ox, int64_t o, uint8_t zero, bool clipped) {
  int32_t sum = 0, pair = 0;
  for (int64_t t = 0; t < taps->depth; t++) {
    int64_t place = t / taps->channels, c = group * taps->channels + t % taps->channels;
    int64_t row = oy + place / k - k / 2, column = ox + place % k - k / 2;
    bool inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
    int32_t u = inside ? ((const uint8_t *)x->data)[(c * SIDE + row) * SIDE + column] : zero;
    pair += u * weights[dq_tap_at(taps, o, t)];
    if (t % 2 == 0 && t + 1 < taps->depth) continue;
    sum += clipped ? clip16(pair) : pair;
    pair = 0;
  }
  return sum;
}

// Where the differences of a layer are counted, whatever the picture.
static int64_t *differences_of(comparison *all, const char *name) {
  int i = 0;
  while (i < all->layer_count && strcmp(all->layers[i].name, name) != 0) i++;
  assert_true(i < LAYERS);
  if (i == all->layer_count) all->layers[all->layer_count++].name = name;
  return &all->layers[i].different;
}

static dq_status compare(void *user, const dq_value *value, const dq_tensor *x, dq_error *error) {
  (void)error;
  comparison *all = user;
  for (int n = 0; n < all->graph->node_count; n++) {
    const dq_node *node = all->graph->nodes[n], *dequantize = node->inputs[0]->producer;
    if (!dq_node_is(node, "Conv") || strcmp(dequantize->inputs[0]->name, value->name)) continue;
    const dq_tensor *w = node->inputs[1]->producer->inputs[0]->constant;
    uint8_t zero = *(const uint8_t *)dequantize->inputs[2]->constant->data;
    int64_t window = w->dims[2] * w->dims[3], depth = w->dims[1] * window;
    const dq_taps taps = {w->dims[0], depth, w->dims[1], window, depth, 1};
    int64_t before = all->different, per_group = w->dims[0] / dq_node_int(node, "group", 1);
    for (int64_t o = 0; o < taps.outputs; o++)
      for (int64_t at = 0; at < SIDE * SIDE; at++, all->outputs++) {
        int64_t group = o / per_group;
        all->different += sum_of(x, w->data, &taps, group, w->dims[2], at / SIDE, at % SIDE, o, zero, true) !=
                          sum_of(x, w->data, &taps, group, w->dims[2], at / SIDE, at % SIDE, o, zero, false);
      }
    *differences_of(all, node->name) += all->different - before;
  }
  return DQ_OK;
}

// All convolutions of the quantized graph on all pictures, by both kernels.
static comparison compare_kernels(const network *it) {
  comparison all = {.graph = it->graph};
  const char *taps[16];
  int count = 0;
  for (int n = 0; n < it->graph->node_count; n++)
    if (dq_node_is(it->graph->nodes[n], "Conv"))
      taps[count++] = it->graph->nodes[n]->inputs[0]->producer->inputs[0]->name;
  dq_session session;
  dq_session_options options = {.taps = taps, .tap_count = count};
  dq_error error;
  assert_int_equal(dq_session_open(&session, it->graph, &options, &it->context, &error), DQ_OK);
  dq_plan_set_tap(session.plan, compare, &all);
  for (int p = 0; p < PICTURES; p++) {
    assert_int_equal(dq_data_read(it->data, p, dq_plan_input(session.plan, 0)->data, NULL, &error), DQ_OK);
    assert_int_equal(dq_plan_run(session.plan, &error), DQ_OK);
  }
  dq_session_close(&session);
  return all;
}

static void build(network *it) {
  network_build(it);
  set_weights(it, "a_w", (const float[]){1, 0.9f, 0.8f}, 3); // neighbours of one sign, large together
}

static void quantize(network *it, dq_accumulator accumulator, dq_int8_report *report) {
  dq_int8_options options = {.method = dq_observer_find("minmax"),
                             .activation_type = DQ_U8,
                             .equalize = DQ_CHOOSE_OFF,
                             .bias_correction = DQ_CHOOSE_OFF,
                             .accumulator = accumulator};
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, report, &it->context, &error), DQ_OK);
}

static comparison quantize_and_compare(network *it, dq_accumulator accumulator, dq_int8_report *report) {
  build(it);
  quantize(it, accumulator, report);
  return compare_kernels(it);
}

static void clipping_changes_nothing_with_safe_pairs(void **state) {
  dq_int8_report report;
  comparison all = quantize_and_compare(*state, DQ_ACCUMULATE_PAIRS, &report);
  assert_true(all.outputs > 0);
  assert_int_equal(all.different, 0);
  for (int i = 0; i < report.count; i++)
    if (report.layers[i].weight_scale_high > 0) assert_true(report.layers[i].pairs_safe);
}

static void clipping_shows_without(void **state) {
  dq_int8_report report;
  comparison all = quantize_and_compare(*state, DQ_ACCUMULATE_INT32, &report);
  assert_true(all.different > all.outputs / 100);
  int unsafe = 0;
  for (int i = 0; i < report.count; i++)
    unsafe += report.layers[i].weight_scale_high > 0 && !report.layers[i].pairs_safe;
  assert_true(unsafe > 0);
}

static double noise(const network_outputs *exact, const network_outputs *found) {
  double sum = 0;
  for (int p = 0; p < PICTURES; p++)
    for (int i = 0; i < 4 * SIDE * SIDE; i++) sum += pow((double)exact->values[p][i] - (double)found->values[p][i], 2);
  return sum;
}

// The float network's outputs, and those of a copy in 8 bits, which is left in it->graph.
static double noise_with(network *it, dq_graph *whole, dq_accumulator accumulator, dq_int8_report *report) {
  network_outputs exact = {0}, found = {0};
  it->graph = whole;
  network_run(it, &exact);
  it->graph = dq_graph_copy(whole);
  assert_non_null(it->graph);
  quantize(it, accumulator, report);
  network_run(it, &found);
  return noise(&exact, &found);
}

// With automatic choice: the clipping kernel changes no layer that the report calls safe, and the outputs are hardly
// worse than with sums that are safe in 32 bits alone: 0.3 dB in a trial (docs/CALIBRATION.md).
static void automatic_choice(void **state) {
  network *it = *state;
  dq_int8_report report;
  build(it);
  dq_graph *whole = it->graph;
  double plain = noise_with(it, whole, DQ_ACCUMULATE_INT32, &report);
  dq_graph_free(it->graph);
  double chosen = noise_with(it, whole, DQ_ACCUMULATE_AUTO, &report);
  assert_true(plain > 0 && 10 * log10(chosen / plain) <= 0.3);
  comparison all = compare_kernels(it);
  int safe = 0, products = 0;
  for (int i = 0; i < report.count; i++) {
    if (report.layers[i].weight_scale_high <= 0) continue;
    products++, safe += report.layers[i].pairs_safe;
    int64_t different = *differences_of(&all, report.layers[i].label);
    assert_true(!report.layers[i].pairs_safe || different == 0);
  }
  assert_int_equal(all.layer_count, products);
  assert_true(safe > 0);
  dq_graph_free(it->graph);
  it->graph = whole;
}

// Every layer's blocks hold for its weights.
static void int16_blocks_are_proven(void **state) {
  network *it = *state;
  dq_int8_report report;
  quantize_and_compare(it, DQ_ACCUMULATE_INT16, &report);
  int layers = 0;
  for (int i = 0; i < report.count; i++) {
    const dq_int8_layer *layer = &report.layers[i];
    if (layer->weight_scale_high <= 0) continue;
    assert_true(layer->int16_block >= 4);
    layers++;
  }
  assert_int_equal(layers, 5);
}

// ---- int32 ----

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(pairs_by_hand),
      TEST(projection_by_hand),
      TEST(projection_takes_many_steps_at_once),
      TEST(longest_block_by_hand),
      TEST(order_of_taps),
      TEST(weights_are_safe),
      TEST(permuting_is_neutral),
      TEST(channels_behind_a_concatenation),
      TEST(large_neighbours_part),
      TEST(outputs_keep_their_order),
      TEST(clipping_changes_nothing_with_safe_pairs),
      TEST(clipping_shows_without),
      TEST(automatic_choice),
      TEST(int16_blocks_are_proven),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
