// Equalization through each kind of operator is neutral in float; factors by hand; what a channel of
// a hundredth of the range keeps in 8 bits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/output_error.h"
#include "quant/equalize/equalize_internal.h"
#include "quant/int8/int8.h"
#include "quant/numeric/activation_range.h"
#include "quant/rewrite/output_head.h"
#include "tests/unit/picture_counts.h"
#include "tests/unit/small_network.h"

// ---- Operators that a site runs through ----

static dq_value *floats(network *it, const char *name, int64_t rows, int64_t columns, float first, float step) {
  int64_t dims[] = {rows, columns};
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, columns ? 2 : 1, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = first + step * (float)i;
  return dq_graph_add_constant(it->graph, name, tensor);
}

static dq_value *shape(network *it, const char *name, int rank, const int64_t *dims) {
  int64_t count = rank;
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_I64, 1, &count);
  memcpy(tensor->data, dims, (size_t)rank * sizeof *dims);
  return dq_graph_add_constant(it->graph, name, tensor);
}

static dq_value *scalar(network *it, const char *name, float x) {
  return dq_graph_add_constant(it->graph, name, dq_tensor_scalar_f32(it->graph->arena, x));
}

// Each writes "m" from "a", of CHANNELS channels.
static void through_clip(network *it) {
  network_node(it, "Clip", network_value(it, "a"), scalar(it, "zero", 0), scalar(it, "six", 6), network_value(it, "m"));
}

static void through_concat(network *it) {
  network_conv(it, network_value(it, "x"), "other", 3, 2, 1, 1);
  network_conv(it, network_value(it, "x"), "third", 3, CHANNELS - 2, 1, 1);
  dq_node *concat = network_node(it, "Concat", network_value(it, "other"), network_value(it, "third"), NULL,
                                 network_value(it, "joined"));
  dq_node_set_int(it->graph, concat, "axis", 1);
  network_node(it, "Add", network_value(it, "a"), network_value(it, "joined"), NULL, network_value(it, "m"));
}

static void through_shuffle(network *it) {
  network_node(it, "Reshape", network_value(it, "a"), shape(it, "five", 5, (int64_t[]){1, 2, CHANNELS / 2, SIDE, SIDE}),
               NULL, network_value(it, "split"));
  dq_node *transpose =
      network_node(it, "Transpose", network_value(it, "split"), NULL, NULL, network_value(it, "swapped"));
  dq_node_set_ints(it->graph, transpose, "perm", (int64_t[]){0, 2, 1, 3, 4}, 5);
  network_node(it, "Reshape", network_value(it, "swapped"), shape(it, "four", 4, (int64_t[]){1, CHANNELS, SIDE, SIDE}),
               NULL, network_value(it, "m"));
}

static void through_gate(network *it) {
  network_node(it, "GlobalAveragePool", network_value(it, "a"), NULL, NULL, network_value(it, "pooled"));
  network_conv(it, network_value(it, "pooled"), "squeezed", CHANNELS, CHANNELS, 1, 1);
  network_node(it, "Sigmoid", network_value(it, "squeezed"), NULL, NULL, network_value(it, "gate"));
  network_node(it, "Mul", network_value(it, "gate"), network_value(it, "a"), NULL, network_value(it, "m"));
}

// x Sigmoid(x), the factor behind x or in front of it.
static void through_silu(network *it) {
  network_node(it, "Sigmoid", network_value(it, "a"), NULL, NULL, network_value(it, "gate"));
  network_node(it, "Mul", network_value(it, "a"), network_value(it, "gate"), NULL, network_value(it, "m"));
}
static void through_turned_silu(network *it) {
  network_node(it, "Sigmoid", network_value(it, "a"), NULL, NULL, network_value(it, "gate"));
  network_node(it, "Mul", network_value(it, "gate"), network_value(it, "a"), NULL, network_value(it, "m"));
}

static void through_matmul(network *it) {
  network_node(it, "MatMul", floats(it, "rows", SIDE, SIDE, -0.3f, 0.02f), network_value(it, "a"), NULL,
               network_value(it, "m"));
}

static void through_normalization(network *it) {
  dq_value *inputs[] = {network_value(it, "a"), floats(it, "gamma", CHANNELS, 0, 1, 0.5f),
                        floats(it, "beta", CHANNELS, 0, -1, 0.25f), floats(it, "mean", CHANNELS, 0, 0.5f, -0.25f),
                        floats(it, "variance", CHANNELS, 0, 1, 1)};
  dq_value *output = network_value(it, "m");
  dq_graph_add_node(it->graph, it->graph->node_count, "BatchNormalization", "bn", 5, inputs, 1, &output);
}

static void through_split(network *it) {
  dq_value *outputs[] = {network_value(it, "front"), network_value(it, "back")};
  dq_value *inputs[] = {network_value(it, "a"), shape(it, "parts", 2, (int64_t[]){CHANNELS - 2, 2})};
  dq_node *split = dq_graph_add_node(it->graph, it->graph->node_count, "Split", "split", 2, inputs, 2, outputs);
  dq_node_set_int(it->graph, split, "axis", 1);
  dq_node *concat = network_node(it, "Concat", outputs[1], outputs[0], NULL, network_value(it, "m"));
  dq_node_set_int(it->graph, concat, "axis", -3); // the same from behind
}

static void build(network *it, void (*middle)(network *)) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  middle(it);
  network_conv(it, network_value(it, "m"), "d", CHANNELS, CHANNELS, 3, CHANNELS);
  network_conv(it, network_value(it, "d"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
}

static const float *measure(network *it, dq_equalize_scope scope, dq_equalization *equalization) {
  dq_observation what = network_watch(it, NULL);
  dq_error error;
  assert_int_equal(dq_equalize_measure(equalization, &what, scope, false, NULL, it->arena, &it->context, &error),
                   DQ_OK);
  for (int s = 0; s < equalization->count; s++)
    if (!strcmp(equalization->sites[s].value, "m")) return equalization->sites[s].factors;
  return NULL;
}

static void apply(network *it, const dq_equalization *equalization) {
  const dq_restated *restated;
  int count;
  dq_error error;
  assert_int_equal(
      dq_equalize_apply(it->graph, equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
      DQ_OK);
}

static void check_neutral(void **state, void (*middle)(network *)) {
  network *it = *state;
  build(it, middle);
  static network_outputs before, after;
  network_run(it, &before);
  dq_equalization equalization;
  const float *factors = measure(it, DQ_EQUALIZE_ALL, &equalization);
  if (!factors) // the site is called by the value that is read first
    for (int s = 0; s < equalization.count; s++)
      if (!strcmp(equalization.sites[s].value, "pooled") || !strcmp(equalization.sites[s].value, "a"))
        factors = equalization.sites[s].factors;
  assert_non_null(factors);
  float most = 0;
  for (int c = 0; c < CHANNELS; c++) most = fmaxf(most, factors[c]);
  assert_true(most > 1.5f); // there is something to equalize
  apply(it, &equalization);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

#define NEUTRAL(middle)                                                                                                \
  static void middle##_is_neutral(void **state) { check_neutral(state, middle); }
NEUTRAL(through_clip)
NEUTRAL(through_concat)
NEUTRAL(through_shuffle)
NEUTRAL(through_gate)
NEUTRAL(through_silu)
NEUTRAL(through_turned_silu)
NEUTRAL(through_matmul)
NEUTRAL(through_normalization)
NEUTRAL(through_split)

// Beyond the pictures, too, no channel may be scaled across the bound that it reaches.
static void clip_keeps_channels_at_its_bound(void **state) {
  network *it = *state;
  build(it, through_clip);
  dq_equalization equalization;
  const float *factors = measure(it, DQ_EQUALIZE_DEPTHWISE, &equalization);
  assert_non_null(factors);
  int fixed = 0;
  for (int c = 0; c < CHANNELS; c++) fixed += factors[c] == 1;
  assert_true(fixed > 0 && fixed < CHANNELS);
}

// ---- Heads ----

// y = Concat(boxes, Sigmoid(scores)) of two convolutions that read a Relu.
static void build_head(network *it) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_node(it, "Relu", network_value(it, "a"), NULL, NULL, network_value(it, "m"));
  network_conv(it, network_value(it, "m"), "boxes", CHANNELS, 2, 1, 1);
  network_conv(it, network_value(it, "m"), "logits", CHANNELS, 2, 1, 1);
  network_node(it, "Sigmoid", network_value(it, "logits"), NULL, NULL, network_value(it, "scores"));
  dq_node *concat =
      network_node(it, "Concat", network_value(it, "boxes"), network_value(it, "scores"), NULL, network_value(it, "y"));
  dq_node_set_int(it->graph, concat, "axis", 1);
  network_finish(it);
}

static void heads_are_taken_back_in_float(void **state) {
  network *it = *state;
  build_head(it);
  static network_outputs before, after;
  network_run(it, &before);
  bool *in_head;
  dq_error error;
  assert_int_equal(dq_output_head_values(it->graph, &in_head, it->arena, &error), DQ_OK);
  assert_true(in_head[network_value(it, "boxes")->index] && in_head[network_value(it, "logits")->index]);
  assert_false(in_head[network_value(it, "m")->index] || in_head[network_value(it, "a")->index]);
  dq_equalization equalization;
  dq_observation what = network_watch(it, NULL);
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_NONE, true, NULL, it->arena, &it->context, &error), DQ_OK);
  assert_int_equal(equalization.count, 2);
  apply(it, &equalization);
  assert_int_equal(it->graph->node_count, 8); // two Mul more
  assert_string_equal(network_value(it, "boxes")->producer->op_type, "Mul");
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

static void heads_stay_in_float(void **state) {
  network *it = *state;
  build_head(it);
  dq_int8_options options = dq_int8_defaults();
  options.bias_correction = DQ_CHOOSE_OFF;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  int behind = 0;
  for (int i = 0; i < report.count; i++) {
    behind += !strcmp(report.layers[i].reason, "behind the last product");
    if (!strcmp(report.layers[i].op_type, "Conv")) assert_string_equal(report.layers[i].reason, "");
  }
  assert_int_equal(behind, 4); // Sigmoid, Concat, two Mul
}

// ---- Factors ----

// Finishes the network; the site of its value `a`.
static void find_site_of_a(network *it, dq_site *site) {
  network_finish(it);
  dq_tensor *tensors;
  dq_error error;
  assert_int_equal(dq_infer(it->graph, &no_shapes, DQ_INFER_TOLERANT, &it->context, it->arena, &tensors, &error),
                   DQ_OK);
  dq_site_finder *finder = dq_site_finder_new(it->graph, tensors, it->arena);
  assert_true(dq_site_find(site, finder, network_value(it, "a")));
}

// Channels -1...3 and -4...0.5 of one site: with a share t above 0 they get min(t / 3, 1 - t) and
// min(2 t, (1 - t) / 4). With powers of 1 the noise is 9 / t^2 + 16 / (1 - t)^2, of the 96ths least at
// 43: 43 / 288 and 53 / 384, of which the lesser is set to 1: 172 / 159. With a power of 1e-4 the first
// channel alone counts: t / 3 = 1 - t, t = 3 / 4, 1 / 4 and 1 / 16.
static void factors_by_hand(void **state) {
  network *it = *state;
  network_conv(it, network_value(it, "x"), "a", 3, 2, 1, 1);
  network_conv(it, network_value(it, "a"), "b", 2, 2, 3, 2);
  network_conv(it, network_value(it, "b"), "y", 2, 4, 1, 1);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  dq_site site;
  dq_error error;
  find_site_of_a(it, &site);
  assert_true(site.free_readers && site.class_count == 2 && site.value_count == 1);
  double low[] = {1, 4}, high[] = {3, 0.5}, power[] = {1, 1};
  const dq_channel_extents extents = {low, high, power};
  float factors[2];
  assert_int_equal(dq_site_factors(&site, &extents, NULL, true, factors, it->arena, &error), DQ_OK);
  assert_true(fabsf(factors[0] - 172.0f / 159) < 1e-5f && factors[1] == 1);
  power[0] = 1e-4;
  assert_int_equal(dq_site_factors(&site, &extents, NULL, true, factors, it->arena, &error), DQ_OK);
  assert_true(fabsf(factors[0] - 4) < 1e-5f && factors[1] == 1);
}

// Channels of one range that weights of 1 and of 1e-30 read: both keep their scale, where c = sqrt(w f) alone would
// make the first 1e15 times as large.
static void weights_of_nearly_nothing(void **state) {
  network *it = *state;
  network_conv(it, network_value(it, "x"), "a", 3, 2, 1, 1);
  network_conv(it, network_value(it, "a"), "y", 2, 4, 1, 1);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  float *weights = dq_graph_find(it->graph, "y_w")->constant->data;
  for (int o = 0; o < 4; o++) weights[2 * o] = 1, weights[2 * o + 1] = 1e-30f;
  dq_site site;
  dq_error error;
  find_site_of_a(it, &site);
  assert_true(!site.free_readers && site.class_count == 2);
  double low[] = {0, 0}, high[] = {1, 1}, power[] = {1, 1};
  const dq_channel_extents extents = {low, high, power};
  float factors[2];
  assert_int_equal(dq_site_factors(&site, &extents, NULL, true, factors, it->arena, &error), DQ_OK);
  assert_true(factors[0] == 1 && factors[1] == 1);
}

// A Clip from 0 to M > 0 rectifies; one of zeros alone, or that begins elsewhere, does not, nor does a Relu.
static void rectifying_clips(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  static const struct {
    float low, high;
    bool rectifies;
  } cases[] = {{0, 6, true}, {0, 0.5f, true}, {0, 0, false}, {-1, 6, false}, {1, 6, false}};
  for (int i = 0; i < 5; i++) {
    char names[3][16];
    for (int k = 0; k < 3; k++)
      snprintf(names[k], sizeof names[k], "%s%d", ((const char *[]){"low", "high", "y"})[k], i);
    const dq_node *clip = network_node(it, "Clip", network_value(it, "x"), scalar(it, names[0], cases[i].low),
                                       scalar(it, names[1], cases[i].high), network_value(it, names[2]));
    assert_int_equal(dq_is_rectifying_clip(clip), cases[i].rectifies);
    assert_true(dq_clip_bound(clip) == (double)cases[i].high);
  }
  const dq_node *relu = network_node(it, "Relu", network_value(it, "x"), NULL, NULL, network_value(it, "r"));
  assert_false(dq_is_rectifying_clip(relu));
}

// Two channels of the ranges 1 and h and the powers 1 and h^2: with one scale the noise is 1 + h^2 in shares of the
// channels' powers, with two it is 2. The first is more than four times the second from h = sqrt(7) = 2.65 on.
static void a_quarter_of_the_noise_is_asked_for(void **state) {
  network *it = *state;
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_node(it, "HardSwish", network_value(it, "a"), NULL, NULL, network_value(it, "m"));
  network_conv(it, network_value(it, "m"), "y", CHANNELS, 4, 1, 1);
  dq_graph_set_opset(it->graph, "", 14, NULL);
  dq_site site;
  dq_error error;
  find_site_of_a(it, &site);
  assert_true(site.argument_count == 1 && site.result_count == 0 && site.reader_count == 0 && site.free_readers);
  for (int clearly = 0; clearly < 2; clearly++) {
    double wide = clearly ? 2.7 : 2.6, low[CHANNELS] = {0}, high[CHANNELS], power[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) high[c] = c % 2 ? wide : 1, power[c] = high[c] * high[c];
    const dq_channel_extents extents = {low, high, power};
    float factors[CHANNELS];
    assert_int_equal(dq_site_factors(&site, &extents, NULL, true, factors, it->arena, &error), DQ_OK);
    for (int c = 0; c < CHANNELS; c++) assert_true(fabsf(factors[c] - (clearly && c % 2 == 0 ? 2.7f : 1)) < 1e-5f);
  }
}

static void reach_of_sigmoids(void **state) {
  (void)state;
  // 8 / (1 + e^8) = 0.0026828
  assert_true(fabs(dq_silu_depth(8 / (1 + exp(8))) - 8) < 1e-6);
  dq_range_pair range = dq_narrow_range((dq_range_pair){-40, 20}, DQ_FOLLOWER_SIGMOID);
  assert_true(fabsf(range.low + logf(509)) < 1e-5f && fabsf(range.high - logf(509)) < 1e-5f);
  range = dq_narrow_range((dq_range_pair){-40, 255 * 8 / (1 + expf(8))}, DQ_FOLLOWER_SILU);
  assert_true(fabsf(range.low + 8) < 1e-3f);
  range = dq_narrow_range((dq_range_pair){-3, 20}, DQ_FOLLOWER_SILU);
  assert_true(range.low == -3);
}

// 49 like elements, 1 / 49 each: 255 * 49 = 12495 steps become 128 * 49 = 6272. 255 / 0.5 = 510 steps as it is.
static void range_of_a_softmax(void **state) {
  (void)state;
  assert_true(dq_softmax_high(1.0f / 49, 49) == (float)(255 / 6272.125));
  assert_true(dq_softmax_high(0.5f, 49) == (float)(255 / 510.125));
  assert_true(dq_softmax_high(dq_softmax_high(0.3f, 49), 49) == dq_softmax_high(0.3f, 49)); // read again from a table
  for (int n = 2; n < 4000; n++) {
    dq_parameters p = dq_parameters_for(0, dq_softmax_high(1.0f / (float)n, n), DQ_U8, false);
    double e5 = 148.41315910257660;
    assert_true(floor(1 / (double)p.scale) == (double)floorf(1 / p.scale) && 1 / (double)p.scale < e5 * n);
  }
}

// 1000 values at 1, one at -1, slope 0.1: (1 + l)^2 / (12 * 255^2) (1000 + ...) + 0.01 (1 - l)^2 is least
// for a lower end of -l with l = (0.02 - 0.002563) / (0.02 + 0.002563) = 0.773, of the 64ths 49 / 64.
// Without slope nothing below 0 counts; with slope 1 everything does.
static void range_before_a_rectifier(void **state) {
  (void)state;
  dq_histogram histogram;
  float values[1001];
  for (int i = 0; i < 1000; i++) values[i] = 1;
  values[1000] = -1;
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, values, 1001);
  const dq_range_pair all = {-1, 1};
  assert_true(dq_rectified_range(&histogram, all, 0.1).low == -49.0f / 64);
  assert_true(dq_rectified_range(&histogram, all, 0).low == -1.0f / 64);
  assert_true(dq_rectified_range(&histogram, all, 1).low == -1);
  dq_histogram_deinit(&histogram);
}

static void slopes_below_zero(void **state) {
  network *it = *state;
  network_conv(it, network_value(it, "x"), "a", 3, 2, 1, 1);
  dq_tensor *slopes = dq_tensor_new(it->graph->arena, DQ_F32, 3, (int64_t[]){2, 1, 1});
  ((float *)slopes->data)[0] = -0.5f, ((float *)slopes->data)[1] = 3;
  network_node(it, "PRelu", network_value(it, "a"), dq_graph_add_constant(it->graph, "slopes", slopes), NULL,
               network_value(it, "b"));
  network_conv(it, network_value(it, "b"), "y", 2, 4, 1, 1);
  network_finish(it);
  const dq_value *a = network_value(it, "a");
  assert_true(dq_slope_below(a, 0) == 0.5 && dq_slope_below(a, 1) == 1);
  assert_true(dq_slope_below(a, -1) == 1);
  ((float *)slopes->data)[1] = 0.25f;
  assert_true(dq_slope_below(a, -1) == 0.5);
  assert_true(dq_slope_below(network_value(it, "b"), 0) == 1);
}

// ---- In 8 bits ----

static void through_relu(network *it) {
  network_node(it, "Relu", network_value(it, "a"), NULL, NULL, network_value(it, "m"));
}

// SQNR in dB of the network's output after quantization; the widest channel of "a" is made `times` as
// wide, in float to no effect.
static double quantized_sqnr(network *it, dq_choose equalize, float times) {
  enum { WIDEST = 4 };
  build(it, through_relu);
  dq_tensor *weight = dq_graph_find(it->graph, "a_w")->constant;
  dq_tensor *reader = dq_graph_find(it->graph, "d_w")->constant;
  int64_t row = dq_tensor_count(weight) / CHANNELS, taps = dq_tensor_count(reader) / CHANNELS;
  float *bias = dq_graph_find(it->graph, "d_b")->constant->data;
  for (int64_t c = 0; c < CHANNELS; c++) { // all channels weigh the same in the output
    for (int64_t i = 0; i < taps; i++) ((float *)reader->data)[c * taps + i] /= powf(16, (float)(c % 5));
    bias[c] /= powf(4, (float)(c % 5));
  }
  for (int64_t i = 0; i < row; i++) ((float *)weight->data)[WIDEST * row + i] *= times;
  ((float *)dq_graph_find(it->graph, "a_b")->constant->data)[WIDEST] *= times;
  for (int64_t i = 0; i < taps; i++) ((float *)reader->data)[WIDEST * taps + i] /= times;
  static network_outputs before, after;
  network_run(it, &before);
  dq_int8_options options = dq_int8_defaults();
  options.equalize = equalize, options.bias_correction = DQ_CHOOSE_OFF;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  network_run(it, &after);
  double signal = 0, noise = 0;
  for (int p = 0; p < PICTURES; p++)
    for (int i = 0; i < 4 * SIDE * SIDE; i++) {
      double exact = (double)before.values[p][i], difference = exact - (double)after.values[p][i];
      signal += exact * exact, noise += difference * difference;
    }
  return 10 * log10(signal / noise);
}

static double fresh_sqnr(dq_choose equalize, float times) {
  void *state;
  network_start(&state);
  double sqnr = quantized_sqnr(state, equalize, times);
  network_end(&state);
  return sqnr;
}

static void one_wide_channel_costs_nothing(void **state) {
  (void)state;
  double even = fresh_sqnr(DQ_CHOOSE_ON, 1), uneven = fresh_sqnr(DQ_CHOOSE_ON, 100);
  double without = fresh_sqnr(DQ_CHOOSE_OFF, 100);
  assert_true(uneven > even - 1 && uneven > without + 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(through_clip_is_neutral),
      TEST(through_concat_is_neutral),
      TEST(through_shuffle_is_neutral),
      TEST(through_gate_is_neutral),
      TEST(through_silu_is_neutral),
      TEST(through_turned_silu_is_neutral),
      TEST(through_matmul_is_neutral),
      TEST(through_normalization_is_neutral),
      TEST(through_split_is_neutral),
      TEST(clip_keeps_channels_at_its_bound),
      TEST(heads_are_taken_back_in_float),
      TEST(heads_stay_in_float),
      TEST(rectifying_clips),
      TEST(factors_by_hand),
      TEST(weights_of_nearly_nothing),
      TEST(a_quarter_of_the_noise_is_asked_for),
      TEST(reach_of_sigmoids),
      TEST(range_of_a_softmax),
      TEST(range_before_a_rectifier),
      TEST(slopes_below_zero),
      cmocka_unit_test(one_wide_channel_costs_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
