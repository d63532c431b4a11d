// Tucker-2 on data: moments, least squares by hand, the error table, and whole networks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decomp/tucker/decomp.h"
#include "decomp/fit/fit.h"
#include "decomp/tucker/judge.h"
#include "lib/base/random.h"
#include "lib/base/sizes.h"

static void add(dq_moments *moments, int64_t rows, float *vectors, const dq_context *context) {
  dq_arena *arena = dq_arena_new(NULL);
  dq_moments_work work;
  assert_int_equal(dq_moments_open_work(&work, context, arena, NULL), DQ_OK);
  dq_moments_add(moments, rows, vectors, &work);
  dq_arena_free(arena);
}

static int start(void **state) { return (*state = dq_arena_new(0)) ? 0 : -1; }
static int end(void **state) { return dq_arena_free(*state), 0; }

static dq_tensor *random_weight(dq_arena *arena, const int64_t dims[4], uint64_t seed) {
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, dims);
  dq_random random = {seed};
  for (int64_t i = 0; i < dq_tensor_count(weight); i++) ((float *)weight->data)[i] = dq_random_normal(&random);
  return weight;
}

// Two vectors (x, t, 1) = (1, 3, 1) and (3, 7, 1): means 2 and 5, variances 1 and 4, covariance 2.
static void moments_by_hand(void **state) {
  dq_moments m;
  float vectors[] = {1, 3, 1, 3, 7, 1};
  assert_int_equal(dq_moments_init(&m, (int64_t[]){1, 1, 1, 1}, 1, *state, NULL), DQ_OK);
  assert_int_equal(dq_moments_bytes((int64_t[]){1, 1, 1, 1}, 1), 9 * sizeof(float));
  add(&m, 1, vectors, NULL);
  add(&m, 1, vectors + 3, NULL);
  assert_int_equal(dq_moments_centre(&m, NULL), DQ_OK);
  const float expected[] = {1, 2, 2, 2, 4, 5, 2, 5, 2};
  for (int i = 0; i < 8; i++) assert_true(m.sums[i] == expected[i]);
}

// Patches with independent elements of the variances `spread`, answered by the weight exactly.
static void fill(dq_moments *m, const dq_tensor *weight, const double *spread, double offset, int64_t rows,
                 const dq_context *context, dq_arena *arena) {
  dq_random random = {11};
  float *vectors = DQ_NEW_ARRAY(arena, rows * m->group * m->size, float);
  int64_t patch = dq_moments_patch(m);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t g = 0; g < m->group; g++) {
      float *v = vectors + (r * m->group + g) * m->size;
      for (int64_t p = 0; p < patch; p++)
        v[p] = (float)(offset + sqrt(spread[p % m->in]) * (double)dq_random_normal(&random));
      for (int64_t o = 0; o < m->out; o++)
        for (int64_t p = 0; p < patch; p++)
          v[patch + o] += v[p] * ((float *)weight->data)[((g * m->out + o) * m->in + p % m->in) * m->taps + p / m->in];
      v[m->size - 1] = 1;
    }
  add(m, rows, vectors, context);
}

static void ready(dq_moments *m, const dq_tensor *weight, int64_t group, const double *spread, dq_arena *arena) {
  assert_int_equal(dq_moments_init(m, weight->dims, group, arena, NULL), DQ_OK);
  fill(m, weight, spread, 2, 4000, NULL, arena);
  assert_int_equal(dq_moments_centre(m, NULL), DQ_OK);
  dq_fit_prepare(m, DQ_FIT_RIDGE);
}

// Two channels of variances 4 and 1 and W = 1: whichever mode is cut to 1, the second channel is
// lost. With the ridge r = 0.001 (4 + 1) / 2 that is (1 + r) / (5 + 2 r) of the variance.
static void regression_by_hand(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(weight->data, (float[]){1, 0, 0, 1}, 4 * sizeof(float));
  dq_moments m;
  assert_int_equal(dq_moments_init(&m, weight->dims, 1, *state, NULL), DQ_OK);
  const double corners[4][2] = {{2, 1}, {2, -1}, {-2, 1}, {-2, -1}};
  for (int i = 0; i < 4; i++) {
    double x = corners[i][0] + 1, y = corners[i][1];
    add(&m, 1, (float[]){x, y, x, y, 1}, NULL);
  }
  assert_int_equal(dq_moments_centre(&m, NULL), DQ_OK);
  dq_fit_prepare(&m, DQ_FIT_RIDGE);
  dq_fit_table table;
  assert_int_equal(dq_fit_errors(&table, &m, weight, 1, *state, NULL), DQ_OK);
  double ridge = 0.001 * 2.5, lost = (1 + ridge) / (5 + 2 * ridge);
  assert_int_equal(table.in_count, 2);
  assert_true(fabs(table.variance - 5 - 2 * ridge) < 1e-6); // covariances are float32
  assert_true(fabs(table.errors[0] - lost) < 1e-7 && fabs(table.errors[1] - lost) < 1e-7);
  assert_true(fabs(table.errors[2] - lost) < 1e-7 && fabs(table.errors[3]) < 1e-7);
  dq_fit fit;
  assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){1, 1}, 2, *state, NULL), DQ_OK);
  assert_true(fabs(fit.error - lost) < 1e-7);
  assert_true(fabs(fit.output[0] * fit.core[0] * fit.input[0] - 1) < 1e-6);
  assert_true(fabs(fit.output[1]) < 1e-6 && fabs(fit.input[1]) < 1e-6);
  assert_true(fabs(fit.bias[0]) < 1e-6 && fabs(fit.bias[1]) < 1e-6); // means are kept
}

// Two answers read two directions of four channels: the table has these two in-ranks and the whole input.
static void in_ranks_up_to_the_full_one(void **state) {
  const double spread[] = {9, 1, 4, 0.5};
  dq_tensor *weight = random_weight(*state, (int64_t[]){2, 4, 1, 1}, 8);
  dq_moments m;
  dq_fit_table table;
  ready(&m, weight, 1, spread, *state);
  assert_int_equal(dq_fit_errors(&table, &m, weight, 1, *state, NULL), DQ_OK);
  assert_int_equal(table.in_count, 3);
  assert_memory_equal(table.in_ranks, ((int64_t[]){1, 2, 4}), 3 * sizeof(int64_t));
}

// The ridge is a share of the mean variance of the elements of a patch: 4 and 1, at two places of the kernel or in two
// channels.
static void ridge_of_elements(void **state) {
  static const int64_t dims[2][4] = {{1, 1, 1, 2}, {1, 2, 1, 1}};
  for (int i = 0; i < 2; i++) {
    dq_moments m;
    assert_int_equal(dq_moments_init(&m, dims[i], 1, *state, NULL), DQ_OK);
    for (int k = 0; k < 4; k++) add(&m, 1, (float[]){k & 1 ? 2 : -2, k & 2 ? 1 : -1, 0, 1}, NULL);
    assert_int_equal(dq_moments_centre(&m, NULL), DQ_OK);
    assert_true(fabs(dq_fit_mean_variance(&m, 0) - 2.5) < 1e-6);
    dq_fit_prepare(&m, 0.5);
    assert_true(fabs(m.ridge[0] - 1.25) < 1e-6);
  }
}

// Outputs that do not vary have no error to divide by their variance.
static void nothing_to_explain(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  dq_moments m;
  assert_int_equal(dq_moments_init(&m, weight->dims, 1, *state, NULL), DQ_OK);
  for (int i = 0; i < 4; i++) add(&m, 1, (float[]){(float)(i % 2), (float)(i / 2), 0, 0, 1}, NULL);
  assert_int_equal(dq_moments_centre(&m, NULL), DQ_OK);
  dq_fit_prepare(&m, DQ_FIT_RIDGE);
  dq_fit fit;
  assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){1, 1}, 1, *state, NULL), DQ_OK);
  assert_true(fit.error == 0);
}

// A weight of low multilinear rank is found again; at full rank every weight is.
static void exact_where_it_can_be(void **state) {
  const double spread[] = {9, 1, 4, 0.5, 2, 1};
  dq_tensor *weight = random_weight(*state, (int64_t[]){5, 6, 3, 3}, 5);
  float *w = weight->data;
  for (int64_t o = 0; o < 5; o++) // outputs 3, 4 and inputs 4, 5 depend on the others
    for (int64_t i = 0; i < 6; i++)
      for (int64_t t = 0; t < 9; t++)
        w[(o * 6 + i) * 9 + t] = w[((o % 3) * 6 + i % 4) * 9 + t] * (float)((1 + o / 3) * (1 + i / 4));
  dq_moments m;
  ready(&m, weight, 1, spread, *state);
  dq_fit fit;
  assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){3, 4}, 0, *state, NULL), DQ_OK);
  assert_true(fit.error < 1e-6);
  assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){5, 6}, 0, *state, NULL), DQ_OK);
  assert_true(!fit.input && !fit.output);
  for (int64_t i = 0; i < 5 * 6 * 9; i++) assert_true(fabs(fit.core[i] - (double)w[i]) < 1e-4);
  for (int64_t o = 0; o < 5; o++) assert_true(fabs(fit.bias[o]) < 1e-5);
}

// The table tells what a solution without refinement leaves; rounds only lower it; more rank too.
static void table_and_refinement(void **state) {
  const double spread[] = {9, 1, 4, 0.5};
  for (int64_t group = 1; group <= 2; group++) {
    dq_tensor *weight = random_weight(*state, (int64_t[]){6, 4, 3, 3}, 6);
    dq_moments m;
    ready(&m, weight, group, spread, *state);
    dq_fit_table table;
    assert_int_equal(dq_fit_errors(&table, &m, weight, 1, *state, NULL), DQ_OK);
    assert_int_equal(table.in_count, 4);
    for (int64_t i = 0; i < 4; i++)
      for (int64_t a = 1; a <= 6 / group; a++) {
        double last = table.errors[i * table.out + a - 1];
        if (a > 1) assert_true(last <= table.errors[i * table.out + a - 2] + 1e-12);
        for (int rounds = 0; rounds < 4; rounds++) {
          dq_fit fit;
          assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){a, i + 1}, rounds, *state, NULL), DQ_OK);
          if (!rounds) assert_true(fabs(fit.error - last) < 1e-9);
          assert_true(fit.error <= last + 1e-9);
          last = fit.error;
        }
      }
  }
}

static void threads_change_nothing(void **state) {
  const double spread[] = {3, 1};
  dq_tensor *weight = random_weight(*state, (int64_t[]){150, 2, 11, 11}, 8);
  float *first = NULL;
  for (int threads = 1; threads <= 3; threads++) {
    dq_context context = {.pool = dq_pool_new(threads)};
    dq_moments m;
    assert_int_equal(dq_moments_init(&m, weight->dims, 1, *state, NULL), DQ_OK);
    fill(&m, weight, spread, 0, 20, &context, *state);
    if (first) assert_memory_equal(first, m.sums, (size_t)(m.size * m.size) * sizeof(float));
    first = m.sums;
    dq_pool_free(context.pool);
  }
}

static void nothing_seen_and_not_finite(void **state) {
  dq_moments m;
  assert_int_equal(dq_moments_init(&m, (int64_t[]){1, 1, 1, 1}, 1, *state, NULL), DQ_OK);
  assert_int_equal(dq_moments_centre(&m, NULL), DQ_BAD_INPUT);
  add(&m, 1, (float[]){INFINITY, 1, 1}, NULL);
  assert_int_equal(dq_moments_centre(&m, NULL), DQ_BAD_INPUT);
}

// An input that never changes: the ridge alone decides, and nothing is divided by zero.
static void constant_input(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){3, 2, 3, 3}, 9);
  dq_moments m;
  ready(&m, weight, 1, (double[]){0, 0}, *state);
  dq_fit fit;
  assert_int_equal(dq_fit_solve(&fit, &m, weight, (dq_ranks){2, 1}, 2, *state, NULL), DQ_OK);
  assert_true(fit.error >= 0 && fit.error < 1 && isfinite(fit.bias[0]));
}

// ---- Whole networks ----

static dq_value *shaped(dq_graph *graph, const char *name, int64_t channels, int64_t side) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  const int64_t sizes[4] = {1, channels, side, side};
  for (int i = 0; i < 4; i++) dims[i].size = sizes[i];
  value->type = DQ_F32, value->rank = 4, value->dims = dims;
  return value;
}

static dq_value *conv(dq_graph *graph, const char *name, dq_value *from, int64_t in, int64_t out, dq_value *to) {
  dq_tensor *tensor = random_weight(graph->arena, (int64_t[]){out, in, 3, 3}, (uint64_t)(in + out));
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] /= (float)(9 * in);
  dq_value *weight = dq_graph_add_constant(graph, "w", tensor);
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, &out);
  for (int64_t o = 0; o < out; o++) ((float *)bias->data)[o] = 0.1f * (float)(o % 3);
  dq_value *inputs[] = {from, weight, dq_graph_add_constant(graph, "bias", bias)};
  dq_node *node = dq_graph_add_node(graph, graph->node_count, "Conv", name, 3, inputs, 1, &to);
  dq_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  return to;
}

static dq_value *apply(dq_graph *graph, const char *op, const char *name, dq_value *a, dq_value *b) {
  dq_value *inputs[] = {a, b}, *to = dq_graph_add_value(graph, name);
  dq_graph_add_node(graph, graph->node_count, op, name, b ? 2 : 1, inputs, 1, &to);
  return to;
}

// x -> conv0 -> relu -> (conv1 -> relu -> conv2) + -> relu -> y: a residual block
static dq_graph *residual(void) {
  dq_graph *graph = dq_graph_new(0);
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *x = shaped(graph, "x", 3, 12);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->input_count = 1, x->is_input = true;
  dq_value *a = apply(graph, "Relu", "a", conv(graph, "conv0", x, 3, 12, dq_graph_add_value(graph, "c0")), NULL);
  dq_value *b = apply(graph, "Relu", "b", conv(graph, "conv1", a, 12, 12, dq_graph_add_value(graph, "c1")), NULL);
  dq_value *c = conv(graph, "conv2", b, 12, 12, dq_graph_add_value(graph, "c2"));
  dq_value *y = apply(graph, "Relu", "y", apply(graph, "Add", "sum", c, a), NULL);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs[0] = y, graph->output_count = 1, y->is_output = true;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static dq_data *pictures(const dq_context *context) {
  dq_data *data = NULL;
  dq_data_options options = {.spec = "synth:shapes,size=12,count=12", .preset = "raw01"};
  assert_int_equal(dq_data_open(&data, &options, context, NULL), DQ_OK);
  return data;
}

static double noise_with(const dq_tucker_options *options, dq_data *data, const dq_context *context) {
  dq_graph *graph = residual(), *original = residual();
  dq_tucker_report report;
  dq_error error;
  dq_judge *judge;
  double noise = -1;
  if (dq_tucker_apply(graph, options, &report, &error)) fail_msg("%s", error.message);
  assert_true(report.decomposed > 0);
  assert_true(report.model_after.macs < report.model_before.macs);
  assert_int_equal(dq_judge_open(&judge, original, data, 12, NULL, context, NULL), DQ_OK);
  assert_int_equal(dq_judge_noise(judge, graph, &noise, NULL), DQ_OK);
  double itself = -1;
  assert_int_equal(dq_judge_noise(judge, original, &itself, NULL), DQ_OK);
  assert_true(itself == 0);
  dq_judge_free(judge);
  dq_graph_free(graph);
  dq_graph_free(original);
  return noise;
}

// The same share of multiply-accumulates with the weights alone and with data.
static void data_lowers_the_noise(void **state) {
  (void)state;
  dq_context context;
  assert_int_equal(dq_context_init(&context, 2, ~0u, NULL), DQ_OK);
  dq_data *data = pictures(&context);
  dq_tucker_options options = {.macs_share = 0.6, .multiple = 1, .context = &context};
  double without = noise_with(&options, data, &context);
  options.data = data;
  double with = noise_with(&options, data, &context);
  print_message("noise %.4f without data, %.4f with\n", without, with);
  assert_true(with < 0.5 * without);
  options = (dq_tucker_options){.rule = DQ_RANK_RATIO, .parameter = 0.4, .multiple = 1, .context = &context};
  without = noise_with(&options, data, &context);
  options.data = data;
  with = noise_with(&options, data, &context);
  print_message("noise %.4f without data, %.4f with\n", without, with);
  assert_true(with < 0.5 * without);
  dq_data_free(data);
  dq_context_deinit(&context);
}

static bool same_initializers(const dq_graph *a, const dq_graph *b) {
  bool same = a->initializer_count == b->initializer_count;
  for (int i = 0; same && i < a->initializer_count; i++) {
    const dq_tensor *left = a->initializers[i]->constant, *right = b->initializers[i]->constant;
    same = dq_tensor_bytes(left) == dq_tensor_bytes(right) && !memcmp(left->data, right->data, dq_tensor_bytes(left));
  }
  return same;
}

// A kept analysis serves every bound: the results are those of calls with a new one, and of half of the
// multiply-accumulates those of a call without.
static void analysis_is_kept(void **state) {
  (void)state;
  dq_context context;
  assert_int_equal(dq_context_init(&context, 1, 0, NULL), DQ_OK);
  dq_data *data = pictures(&context);
  dq_tucker_analysis *kept = dq_tucker_analysis_new();
  const double shares[] = {0.5, 0.7, 0.4};
  for (int i = 0; i < 3; i++) {
    dq_graph *graphs[2];
    dq_tucker_report report;
    dq_tucker_analysis *fresh = i ? dq_tucker_analysis_new() : NULL;
    for (int g = 0; g < 2; g++) {
      dq_tucker_options options = {
          .macs_share = shares[i], .multiple = 1, .data = data, .context = &context, .analysis = g ? fresh : kept};
      graphs[g] = residual();
      assert_int_equal(dq_tucker_apply(graphs[g], &options, &report, NULL), DQ_OK);
      assert_true(report.decomposed > 0);
    }
    assert_true(same_initializers(graphs[0], graphs[1]));
    dq_graph_free(graphs[0]), dq_graph_free(graphs[1]);
    dq_tucker_analysis_free(fresh);
  }
  dq_tucker_analysis_free(kept);
  dq_tucker_analysis_free(NULL);
  dq_data_free(data);
  dq_context_deinit(&context);
}

// in x out of rank 2.
static dq_value *add_matrix(dq_graph *graph, const char *name, int64_t in, int64_t out) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){in, out});
  for (int64_t i = 0; i < in; i++)
    for (int64_t o = 0; o < out; o++)
      ((float *)tensor->data)[i * out + o] = 0.1f * (float)((i % 3 + 1) * (o % 2 + 1) - (i % 5) * (o % 3));
  return dq_graph_add_constant(graph, name, tensor);
}

// x -MatMul-> 3 x 12 x 6 -> Flatten -> Gemm with factors and a bias -> 5
static dq_graph *products(void) {
  dq_graph *graph = dq_graph_new(0);
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  dq_value *x = shaped(graph, "x", 3, 12);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->input_count = 1, x->is_input = true;
  dq_value *m = apply(graph, "MatMul", "m", x, add_matrix(graph, "w1", 12, 6));
  dq_value *flat = apply(graph, "Flatten", "flat", m, NULL), *y = dq_graph_add_value(graph, "y");
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){5});
  for (int i = 0; i < 5; i++) ((float *)bias->data)[i] = (float)i;
  dq_value *inputs[] = {flat, add_matrix(graph, "w2", 216, 5), dq_graph_add_constant(graph, "b", bias)};
  dq_node *gemm = dq_graph_add_node(graph, graph->node_count, "Gemm", "gemm", 3, inputs, 1, &y);
  dq_node_set_float(graph, gemm, "alpha", 2);
  dq_node_set_float(graph, gemm, "beta", 3);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs[0] = y, graph->output_count = 1, y->is_output = true;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

// Matrices of rank 2 are replaced exactly at that rank, by MatMul, whose fitted bias needs an addition,
// and by Gemm, whose factors are then in the weights; at rank 1, and by a bound, something is lost.
static void matrices_on_data(void **state) {
  (void)state;
  dq_context context;
  assert_int_equal(dq_context_init(&context, 1, 0, NULL), DQ_OK);
  dq_data *data = pictures(&context);
  dq_layer_ranks given[] = {{"m", {6, 2}}, {"gemm", {5, 2}}};
  for (int i = 0; i < 3; i++) {
    dq_tucker_options options = {.multiple = 1, .matrices = true, .data = data, .context = &context};
    if (i == 2) options.macs_share = 0.5;
    else options.layers = given, options.layer_count = 2;
    given[0].ranks.in = 2 - i;
    dq_graph *graph = products(), *original = products();
    dq_tucker_report report;
    dq_judge *judge;
    double noise = -1;
    assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
    assert_true(report.decomposed == 2 || i == 2);
    assert_int_equal(dq_judge_open(&judge, original, data, 12, NULL, &context, NULL), DQ_OK);
    assert_int_equal(dq_judge_noise(judge, graph, &noise, NULL), DQ_OK);
    assert_int_equal(noise < 1e-8, i != 1); // a bound finds rank 2 as well
    if (i < 2) {
      assert_int_equal(graph->node_count, 6); // two each, the addition, Flatten
      assert_null(dq_node_attribute(graph->nodes[5], "alpha"));
      assert_null(dq_node_attribute(graph->nodes[5], "beta"));
      assert_null(dq_graph_find(graph, "b")->constant);
    }
    dq_judge_free(judge);
    dq_graph_free(graph), dq_graph_free(original);
  }
  dq_data_free(data);
  dq_context_deinit(&context);
}

// x -ConvTranspose 3x2, strides 2 and 3, uneven pads, a bias-> 10 -ConvTranspose in groups-> y
static dq_graph *widening(void) {
  dq_graph *graph = dq_graph_new(0);
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  dq_value *x = shaped(graph, "x", 3, 12), *u = dq_graph_add_value(graph, "u"), *y = dq_graph_add_value(graph, "y");
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->input_count = 1, x->is_input = true;
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){10});
  for (int i = 0; i < 10; i++) ((float *)bias->data)[i] = 0.1f * (float)i;
  dq_value *w = dq_graph_add_constant(graph, "w", random_weight(graph->arena, (int64_t[]){3, 10, 3, 2}, 5));
  dq_value *first[] = {x, w, dq_graph_add_constant(graph, "b", bias)};
  dq_node *up = dq_graph_add_node(graph, 0, "ConvTranspose", "up", 3, first, 1, &u);
  dq_node_set_ints(graph, up, "strides", (int64_t[]){2, 3}, 2);
  dq_node_set_ints(graph, up, "pads", (int64_t[]){1, 0, 0, 1}, 4);
  dq_node_set_ints(graph, up, "output_padding", (int64_t[]){1, 2}, 2);
  dq_value *second[] = {u, dq_graph_add_constant(graph, "v", random_weight(graph->arena, (int64_t[]){10, 2, 3, 3}, 6))};
  dq_node_set_int(graph, dq_graph_add_node(graph, 1, "ConvTranspose", "groups", 2, second, 1, &y), "group", 2);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs[0] = y, graph->output_count = 1, y->is_output = true;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

// At full rank the three of a transposed convolution compute the same; multiply-accumulates are those that
// the network has afterwards: 10 x 3 x 6 on each of 144 inputs before.
static void transposed(void **state) {
  (void)state;
  dq_context context;
  assert_int_equal(dq_context_init(&context, 1, 0, NULL), DQ_OK);
  dq_data *data = pictures(&context);
  dq_graph *graph = widening(), *original = widening();
  dq_tucker_options options = {
      .rule = DQ_RANK_RATIO, .parameter = 1, .multiple = 1, .force = true, .context = &context};
  dq_tucker_report report, again;
  assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 1);
  assert_int_equal(report.layers[0].before.macs, 144 * 10 * 3 * 6);
  assert_string_equal(report.layers[1].reason, "transposed, in groups");
  assert_string_equal(graph->nodes[1]->op_type, "ConvTranspose");
  assert_int_equal(graph->node_count, 4);
  double noise = -1;
  dq_judge *judge;
  assert_int_equal(dq_judge_open(&judge, original, data, 4, NULL, &context, NULL), DQ_OK);
  assert_int_equal(dq_judge_noise(judge, graph, &noise, NULL), DQ_OK);
  assert_true(noise < 1e-10);
  dq_judge_free(judge);
  assert_int_equal(dq_tucker_apply(graph, &options, &again, NULL), DQ_OK);
  assert_int_equal(again.model_before.macs, report.model_after.macs);
  assert_int_equal(again.model_before.parameters, report.model_after.parameters);
  options.data = data;
  assert_int_equal(dq_tucker_apply(original, &options, &report, NULL), DQ_OK);
  assert_string_equal(report.layers[0].reason, "transposed, which is not fitted to data");
  dq_graph_free(graph), dq_graph_free(original);
  dq_data_free(data);
  dq_context_deinit(&context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(moments_by_hand, start, end),
      cmocka_unit_test_setup_teardown(regression_by_hand, start, end),
      cmocka_unit_test_setup_teardown(in_ranks_up_to_the_full_one, start, end),
      cmocka_unit_test_setup_teardown(ridge_of_elements, start, end),
      cmocka_unit_test_setup_teardown(nothing_to_explain, start, end),
      cmocka_unit_test_setup_teardown(exact_where_it_can_be, start, end),
      cmocka_unit_test_setup_teardown(table_and_refinement, start, end),
      cmocka_unit_test_setup_teardown(threads_change_nothing, start, end),
      cmocka_unit_test_setup_teardown(nothing_seen_and_not_finite, start, end),
      cmocka_unit_test_setup_teardown(constant_input, start, end),
      cmocka_unit_test(data_lowers_the_noise),
      cmocka_unit_test(analysis_is_kept),
      cmocka_unit_test(matrices_on_data),
      cmocka_unit_test(transposed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
