// Quantization-aware training: fake quantization and its gradients by hand, and against the execution on 8 bits.
#include "lib/train/quantizers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/calib.h"
#include "datasets/datasets.h"
#include "lib/onnx/onnx.h"
#include "quant/int8/int8.h"
#include "tests/unit/operator_harness.h"
#include "tests/unit/plan_harness.h"

enum { PICTURES = 32, CLASSES = 8 };

static void assert_near_double(double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance)) fail_msg("%.9g, expected %.9g", found, expected);
}

static void say(dq_status status, const dq_error *error) {
  if (status != DQ_OK) print_message("%s\n", error->message);
  assert_int_equal(status, DQ_OK);
}

// ---- By hand ----

// Scale 1/2, levels -2 to 1 around the zero point 1, so that levels minus the zero point are -3 to 0: x / s is -0.6,
// -2.5 (ties go to even), -3, -4 (below), 0.2 (above) and -1.5.
static void a_grid_by_hand(void **state) {
  (void)state;
  const double x[] = {-0.3, -1.25, -1.5, -2, 0.1, -0.75}, scale[] = {0.5}, zero[] = {1}, g[] = {1, 2, 3, 4, 5, 6};
  harness h;
  harness_open(&h, "dq", "FakeQuantize", 1);
  dq_node_set_int(h.graph, h.node, "low", -2);
  dq_node_set_int(h.graph, h.node, "high", 1);
  h.output_count = 2;
  harness_numbers(&h, 0, DQ_F32, DIMS(6), x);
  harness_numbers(&h, 1, DQ_F32, 0, NULL, scale);
  harness_numbers(&h, 2, DQ_I8, 0, NULL, zero);
  harness_gives(&h, DQ_F32, DIMS(6), (double[]){-0.5, -1, -1.5, -1.5, 0, -1});
  harness_gave(&h, 1, DQ_F32, DIMS(6), (double[]){-1, -2, -3, -3, 0, -2}, 0);
  harness_close(&h);
  harness_open(&h, "dq", "FakeQuantizeGrad", 1);
  dq_node_set_int(h.graph, h.node, "low", -2);
  dq_node_set_int(h.graph, h.node, "high", 1);
  h.output_count = 2;
  harness_numbers(&h, 0, DQ_F32, DIMS(6), g);
  harness_numbers(&h, 1, DQ_F32, DIMS(6), x);
  harness_numbers(&h, 2, DQ_F32, 0, NULL, scale);
  harness_numbers(&h, 3, DQ_I8, 0, NULL, zero);
  harness_gives(&h, DQ_F32, DIMS(6), (double[]){1, 2, 3, 0, 0, 6});
  // round(t) - t is -0.4, 0.5, 0 and -0.5 inside, the bounds -3 and 0 count outside.
  harness_gave(&h, 1, DQ_F32, DIMS(6), (double[]){-0.4, 1, 0, -12, 0, -3}, 1e-6);
  harness_close(&h);
}

// Sums of two channels with scales 1/4 and 1/2 on a grid of 1/2 without zero point, behind a Relu: multipliers 1/2, 1.
static void sums_by_hand(void **state) {
  (void)state;
  const double sums[] = {3, -2, 9, 3, -2, 300}, scale[] = {0.5}, factors[] = {0.25, 0.5};
  harness h;
  harness_open(&h, "dq", "FakeQuantize", 1);
  dq_node_set_int(h.graph, h.node, "low", -128);
  dq_node_set_int(h.graph, h.node, "high", 127);
  dq_node_set_int(h.graph, h.node, "axis", 0);
  dq_node_set_float(h.graph, h.node, "clip_low", 0);
  harness_numbers(&h, 0, DQ_F32, DIMS(2, 3), sums);
  harness_numbers(&h, 1, DQ_F32, 0, NULL, scale);
  harness_numbers(&h, 2, DQ_I8, 0, NULL, NULL);
  harness_numbers(&h, 3, DQ_F32, DIMS(2), factors);
  harness_gives(&h, DQ_F32, DIMS(2, 3), (double[]){1, 0, 2, 1.5, 0, 63.5});
  harness_numbers(&h, 3, DQ_F32, DIMS(3), NULL);
  harness_refuses(&h, DQ_BAD_INPUT, "input 3 has 3 elements, which do not fit axis 0 of the values");
  harness_close(&h);
}

// ---- One product ----

// y = x w with x = 3 on a grid of 1 and w on one of 1/2, of bytes, y on a grid of `scale`; the loss is y^2.
typedef struct product {
  dq_graph *graph;
  dq_training training;
} product;

static dq_value *dequantized(dq_graph *graph, dq_value *levels, dq_value *scale, const char *to) {
  dq_value *inputs[] = {levels, scale, levels->constant ? integers(graph, "zero", DQ_I8, 1, (int64_t[]){1}, 0) : NULL};
  dq_node *node = add(graph, "DequantizeLinear", levels->constant ? 3 : 2, inputs, to);
  if (levels->constant) dq_node_set_int(graph, node, "axis", 1);
  return node->outputs[0];
}

static dq_value *on_grid(dq_graph *graph, dq_value *value, float scale, const char *name) {
  char names[2][40];
  snprintf(names[0], sizeof *names, "%s_levels", name);
  snprintf(names[1], sizeof *names, "%s_scale", name);
  dq_value *number = constant(graph, names[1], 0, NULL, &scale);
  return dequantized(graph, add(graph, "QuantizeLinear", 2, (dq_value *[]){value, number}, names[0])->outputs[0],
                     number, name);
}

static dq_training_options squared(void) {
  return (dq_training_options){.loss = DQ_LOSS_SQUARED_ERROR, .batch = 1, .quantized = true};
}

// `type` of the levels of x and y is what output_dtype says; 0: it is left out.
static void open_typed_product(product *p, float scale, int type) {
  dq_error error = {0};
  *p = (product){.graph = new_graph()};
  dq_value *x = shaped(p->graph, "x", 2, (int64_t[]){1, 1});
  dq_value *weight_scale = constant(p->graph, "w_scale", 1, (int64_t[]){1}, (float[]){0.5f});
  dq_value *w = integers(p->graph, "w", DQ_I8, 2, (int64_t[]){1, 1}, 2);
  dq_value *operands[] = {on_grid(p->graph, x, 1, "a"), dequantized(p->graph, w, weight_scale, "b")};
  dq_value *y = add(p->graph, "MatMul", 2, operands, "sum")->outputs[0];
  interface(p->graph, x, on_grid(p->graph, y, scale, "y"));
  for (int i = 0; type && i < p->graph->node_count; i++)
    if (!strcmp(p->graph->nodes[i]->op_type, "QuantizeLinear"))
      dq_node_set_int(p->graph, p->graph->nodes[i], "output_dtype", type);
  const dq_training_options options = squared();
  if (dq_training_open(&p->training, p->graph, &options, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_tensor_set(p->training.input, 0, 3);
  dq_tensor_set(p->training.targets, 0, 0);
}

static void open_product(product *p, float scale) { open_typed_product(p, scale, 0); }
static void close_product(product *p) {
  dq_training_close(&p->training);
  dq_graph_free(p->graph);
}

static const dq_trained *trained(const dq_training *training, const char *name) {
  for (int i = 0; i < training->trained_count; i++)
    if (!strcmp(training->trained[i].name, name)) return &training->trained[i];
  return NULL;
}

static double loss_with(const dq_training *training, const char *name, double value) {
  dq_error error = {0};
  dq_tensor_set(trained(training, name)->elements, 0, value);
  say(dq_plan_run(training->session.plan, &error), &error);
  return dq_tensor_get(training->loss, 0);
}

static double gradient_of(const dq_training *training, const char *name) {
  return dq_tensor_get(trained(training, name)->gradient, 0);
}

// y = 3 is 4.29 grids of 0.7, which is 2.8 on the grid: the loss is 7.84, its derivative by the result 5.6. Esser et
// al. 2020, equations 3 to 5, and the factors 1 / sqrt(N Q) of section 2.2 with N = 1.
static void gradients_by_hand(void **state) {
  (void)state;
  product p;
  open_product(&p, 0.7f);
  assert_null(trained(&p.training, "a_scale"));                     // no weight lies in front of the input
  assert_near_double(loss_with(&p.training, "w", 1.1), 7.84, 1e-5); // 2.2 grids: 2
  assert_near_double(gradient_of(&p.training, "y_scale"), 5.6 * (4 - 3 / 0.7) / sqrt(255), 1e-5);
  assert_near_double(gradient_of(&p.training, "w"), 5.6 * 3, 1e-5);
  assert_near_double(gradient_of(&p.training, "w_scale"), 5.6 * 3 * (2 - 2.2) / sqrt(127), 1e-5);
  close_product(&p);
}

// Where values leave the grid the loss is smooth in the scale, and in the value it is constant.
static void gradients_by_differences(void **state) {
  (void)state;
  product p;
  open_product(&p, 0.01f);
  const double step = 1e-4, at = 0.01;
  const double above = loss_with(&p.training, "y_scale", at + step),
               below = loss_with(&p.training, "y_scale", at - step);
  loss_with(&p.training, "y_scale", at);
  const double slope = gradient_of(&p.training, "y_scale") * sqrt(255);
  assert_near_double(slope, (above - below) / (2 * step), 1e-3 * slope);
  assert_true(gradient_of(&p.training, "w") == 0);
  loss_with(&p.training, "y_scale", 0.7);
  const double high = loss_with(&p.training, "w", 70), higher = loss_with(&p.training, "w", 71);
  assert_true(high == higher);
  assert_true(gradient_of(&p.training, "w") == 0);
  close_product(&p);
}

// y = 3 * -1 is -4.29 grids of 0.7: -4 of int8, 0 of uint8, which is what output_dtype says, or nothing.
static void types_without_zero_points(void **state) {
  (void)state;
  const int types[] = {DQ_I8, DQ_U8, 0};
  for (int i = 0; i < 3; i++) {
    product p;
    open_typed_product(&p, 0.7f, types[i]);
    assert_near_double(loss_with(&p.training, "w", -1), types[i] == DQ_I8 ? 7.84 : 0, 1e-5), close_product(&p);
  }
}

// w = 1.3 on a grid that became 0.4 is 3 grids; the zero point stays.
static void stores_integers(void **state) {
  (void)state;
  dq_error error = {0};
  product p;
  open_product(&p, 0.7f);
  loss_with(&p.training, "w_scale", 0.4);
  loss_with(&p.training, "w", 1.3);
  say(dq_training_store(&p.training, p.graph, &error), &error);
  const dq_tensor *levels = dq_graph_find(p.graph, "w")->constant;
  assert_int_equal(levels->type, DQ_I8);
  assert_int_equal(dq_tensor_get_i64(levels, 0), 3);
  assert_true((float)dq_tensor_get(dq_graph_find(p.graph, "w_scale")->constant, 0) == 0.4f);
  close_product(&p);
}

// ---- A network ----

typedef struct fixture {
  dq_context context;
  dq_graph *model;
  dq_data *data;
  dq_training training;
  dq_optimizer optimizer;
} fixture;

static void open_model(fixture *f, int threads, dq_accumulator accumulator) {
  dq_error error = {0};
  dq_int8_report report;
  *f = (fixture){.optimizer = dq_optimizer_of(DQ_OPTIMIZER_ADAM, 0, 0)};
  say(dq_context_init(&f->context, threads, ~0u, &error), &error);
  say(dq_onnx_load(&f->model, "datasets/shapes.onnx", &f->context, &error), &error);
  const dq_data_options options = {.spec = "synth:shapes,count=32"};
  say(dq_data_open(&f->data, &options, &f->context, &error), &error);
  const dq_int8_options int8 = {.method = dq_observer_find("minmax"),
                                .equalize = DQ_CHOOSE_OFF,
                                .bias_correction = DQ_CHOOSE_OFF,
                                .accumulator = accumulator,
                                .activation_type = DQ_U8};
  say(dq_int8_apply(f->model, f->data, &int8, &report, &f->context, &error), &error);
}

static dq_training_options options_with(const char *const *frozen) {
  return (dq_training_options){.loss = DQ_LOSS_CROSS_ENTROPY,
                               .batch = PICTURES,
                               .quantized = true,
                               .frozen = frozen,
                               .frozen_count = frozen ? 1 : 0};
}

static void open_accumulating(fixture *f, int threads, const char *const *frozen, dq_accumulator accumulator) {
  dq_error error = {0};
  dq_sample_info infos[PICTURES];
  const dq_training_options options = options_with(frozen);
  open_model(f, threads, accumulator);
  say(dq_training_open(&f->training, f->model, &options, &f->context, &error), &error);
  say(dq_training_optimizer(&f->training, &f->optimizer, &error), &error);
  say(dq_data_set_shape(f->data, f->training.input, &error), &error);
  say(dq_data_read_batch(f->data, 0, PICTURES, f->training.input->data, infos, &error), &error);
  memset(f->training.targets->data, 0, dq_tensor_bytes(f->training.targets));
  for (int i = 0; i < PICTURES; i++) dq_tensor_set(f->training.targets, i * CLASSES + infos[i].label, 1);
}

static void open_training(fixture *f, int threads, const char *const *frozen) {
  open_accumulating(f, threads, frozen, DQ_ACCUMULATE_AUTO);
}

static void close_fixture(fixture *f) {
  dq_training_close(&f->training);
  dq_data_free(f->data);
  dq_graph_free(f->model);
  dq_context_deinit(&f->context);
}

static void run_steps(fixture *f, int steps) {
  dq_error error = {0};
  double loss;
  for (int i = 0; i < steps; i++) say(dq_training_step(&f->training, &f->optimizer, 0.001, &loss, &error), &error);
}

// The share of the scores in the training's forward pass that are not, bit by bit, those of the stored model.
static double differing_scores(fixture *f) {
  dq_error error = {0};
  dq_session session;
  dq_graph *stored = dq_graph_copy(f->model);
  say(dq_training_store(&f->training, stored, &error), &error);
  say(dq_plan_run(f->training.session.plan, &error), &error);
  const dq_session_options options = {.shapes = {.batch = PICTURES}};
  say(dq_session_open(&session, stored, &options, &f->context, &error), &error);
  memcpy(dq_plan_input(session.plan, 0)->data, f->training.input->data, dq_tensor_bytes(f->training.input));
  say(dq_plan_run(session.plan, &error), &error);
  const float *a = f->training.scores->data, *b = dq_plan_output(session.plan, 0)->data;
  int differing = 0;
  for (int i = 0; i < PICTURES * CLASSES; i++) differing += memcmp(a + i, b + i, sizeof *a) != 0;
  dq_session_close(&session);
  dq_graph_free(stored);
  return (double)differing / (PICTURES * CLASSES);
}

// Without dq_exact_products 64 to 70 % of the scores differ.
static void the_forward_pass_is_that_of_integers(void **state) {
  (void)state;
  const char *const frozen[] = {"/residual/*"};
  for (int k = 0; k < 2; k++) {
    fixture f;
    open_training(&f, 2, k ? frozen : NULL);
    for (int i = 0; i < 3; i++) {
      assert_true(differing_scores(&f) == 0);
      run_steps(&f, 5);
    }
    close_fixture(&f);
  }
}

// A bias is stored with the scale of the sums that it is added to.
static void biases_follow_their_scales(void **state) {
  (void)state;
  dq_error error = {0};
  fixture f;
  open_training(&f, 2, NULL);
  run_steps(&f, 5);
  say(dq_training_store(&f.training, f.model, &error), &error);
  int biases = 0;
  for (int i = 0; i < f.training.trained_count; i++) {
    const dq_trained *bias = &f.training.trained[i];
    if (!bias->grid || !bias->grid->factors[0]) continue;
    const dq_tensor *levels = dq_graph_find(f.model, bias->name)->constant;
    const dq_tensor *scale = dq_graph_find(f.model, bias->grid->scale)->constant;
    const dq_tensor *x = dq_graph_find(f.model, bias->grid->factors[0])->constant;
    const dq_tensor *w = dq_graph_find(f.model, bias->grid->factors[1])->constant;
    for (int64_t c = 0; c < dq_tensor_count(levels); c++) {
      const float s = ((const float *)x->data)[0] * ((const float *)w->data)[c];
      assert_true(((const float *)scale->data)[c] == s);
      assert_int_equal(dq_tensor_get_i64(levels, c), lrintf(((const float *)bias->elements->data)[c] / s));
    }
    biases++;
  }
  assert_int_equal(biases, 8);
  close_fixture(&f);
}

static void the_same_bytes_for_all_threads(void **state) {
  (void)state;
  fixture first;
  open_training(&first, 1, NULL);
  run_steps(&first, 3);
  for (int threads = 2; threads <= 3; threads++) {
    fixture f;
    open_training(&f, threads, NULL);
    run_steps(&f, 3);
    assert_int_equal(f.training.trained_count, first.training.trained_count);
    for (int i = 0; i < f.training.trained_count; i++) {
      const dq_tensor *a = first.training.trained[i].elements, *b = f.training.trained[i].elements;
      assert_memory_equal(a->data, b->data, dq_tensor_bytes(a));
    }
    close_fixture(&f);
  }
  close_fixture(&first);
}

// Neither weights nor biases of a frozen node are trained, nor the scale of what it reads.
static void frozen_layers_stay(void **state) {
  (void)state;
  const char *const frozen[] = {"/residual/second/*"};
  fixture f;
  open_training(&f, 2, frozen);
  for (int i = 0; i < f.training.trained_count; i++) {
    const char *name = f.training.trained[i].name;
    assert_null(strstr(name, "residual.second"));
    assert_string_not_equal(name, "/residual/first/relu/Relu_output_0_scale");
  }
  assert_non_null(trained(&f.training, "/residual/relu/Relu_output_0_scale"));
  close_fixture(&f);
}

static void scales_stay_above_zero(void **state) {
  (void)state;
  fixture f;
  dq_error error = {0};
  double loss;
  open_training(&f, 2, NULL);
  for (int i = 0; i < 3; i++) say(dq_training_step(&f.training, &f.optimizer, 10, &loss, &error), &error);
  bool bounded = false;
  for (int i = 0; i < f.training.trained_count; i++) {
    const dq_trained *scale = &f.training.trained[i];
    for (int64_t c = 0; scale->is_scale && c < dq_tensor_count(scale->elements); c++) {
      const float least = 0.001f * scale->units[c], now = ((const float *)scale->elements->data)[c];
      assert_true(now >= least);
      bounded = bounded || now == least;
    }
  }
  assert_true(bounded);
  close_fixture(&f);
}

// Layers whose stored weights obey the rules that they obeyed in the file.
static int safe_layers(const fixture *f) {
  int safe = 0;
  for (int i = 0; i < f->training.trained_count; i++) {
    const dq_trained *weight = &f->training.trained[i];
    if (!weight->grid) continue;
    const dq_safe_sums *sums = &weight->grid->safe;
    const int8_t *levels = dq_graph_find(f->model, weight->name)->constant->data;
    for (int r = 0; r < sums->count; r++) assert_true(dq_blocks_allowed(&sums->taps, levels, &sums->rules[r]));
    safe += sums->count > 0;
  }
  return safe;
}

// Behind steps of any length, also those that end outside of the grids. The network has eight products.
static void safe_sums_stay(void **state) {
  (void)state;
  const dq_accumulator rules[] = {DQ_ACCUMULATE_PAIRS, DQ_ACCUMULATE_INT16};
  const double rates[] = {0.01, 1};
  for (int k = 0; k < 4; k++) {
    fixture f;
    dq_error error = {0};
    double loss;
    open_accumulating(&f, 2, NULL, rules[k / 2]);
    for (int i = 0; i < 5; i++) say(dq_training_step(&f.training, &f.optimizer, rates[k % 2], &loss, &error), &error);
    say(dq_training_store(&f.training, f.model, &error), &error);
    assert_int_equal(safe_layers(&f), 8);
    close_fixture(&f);
  }
}

// ---- What does not fit ----

static void expect(const dq_graph *graph, dq_status status, const char *words) {
  dq_error error = {0};
  dq_training training;
  const dq_training_options options = squared();
  assert_int_equal(dq_training_open(&training, graph, &options, &context, &error), status);
  if (!strstr(error.message, words)) fail_msg("'%s' is not in '%s'", words, error.message);
  dq_training_close(&training);
}

// One fault in a product of quantized values and a bias.
typedef enum fault_kind { FLOAT_WEIGHT, BIAS_SCALE, SHARED, MANY_SCALES, NO_SCALE, WIDE } fault_kind;

static dq_graph *faulty(fault_kind fault) {
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){1, 1});
  const int64_t scales = fault == MANY_SCALES ? 2 : fault == NO_SCALE ? 0 : 1;
  dq_value *weight_scale = constant(graph, "w_scale", 1, &scales, (float[]){0.5f, 0.5f});
  dq_value *w = integers(graph, "w", fault == WIDE ? DQ_I64 : DQ_I8, 2, (int64_t[]){1, 1}, 2);
  dq_value *a = on_grid(graph, x, 1, "a"), *b;
  if (fault == FLOAT_WEIGHT) b = constant(graph, "b", 2, (int64_t[]){1, 1}, (float[]){1});
  else b = dequantized(graph, w, weight_scale, "b");
  dq_node *last = graph->nodes[graph->node_count - 1];
  if (scales != 1) last->input_count = 2; // no zero point, which would not be one for each scale
  dq_value *bias_scale = constant(graph, "c_scale", 0, NULL, (float[]){0.3f});
  dq_value *levels = integers(graph, "c_levels", DQ_I32, 1, (int64_t[]){1}, 2);
  dq_value *c = add(graph, "DequantizeLinear", 2, (dq_value *[]){levels, bias_scale}, "c")->outputs[0];
  dq_node *y = add(graph, "Gemm", fault == BIAS_SCALE ? 3 : 2, (dq_value *[]){a, b, c}, "y");
  dq_value *end = y->outputs[0];
  if (fault == SHARED) end = add(graph, "Add", 2, (dq_value *[]){end, b}, "again")->outputs[0];
  interface(graph, x, end);
  return graph;
}

static void models_that_do_not_fit(void **state) {
  (void)state;
  static const char scales[] = "constant scales of float32, one for a channel or for all";
  const struct {
    fault_kind fault;
    dq_status status;
    const char *words;
  } cases[] = {
      {FLOAT_WEIGHT, DQ_BAD_INPUT, "the model has no weight of 8 bits in front of a DequantizeLinear"},
      {BIAS_SCALE, DQ_UNSUPPORTED, "a bias whose scale is the product of those of data and weight"},
      {SHARED, DQ_UNSUPPORTED, "training needs weights that one node reads"},
      {MANY_SCALES, DQ_UNSUPPORTED, scales},
      {NO_SCALE, DQ_UNSUPPORTED, scales},
      {WIDE, DQ_UNSUPPORTED, scales},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_graph *graph = faulty(cases[i].fault);
    expect(graph, cases[i].status, cases[i].words);
    dq_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_grid_by_hand),
      cmocka_unit_test(sums_by_hand),
      cmocka_unit_test(types_without_zero_points),
      cmocka_unit_test(gradients_by_hand),
      cmocka_unit_test(gradients_by_differences),
      cmocka_unit_test(stores_integers),
      cmocka_unit_test(the_forward_pass_is_that_of_integers),
      cmocka_unit_test(biases_follow_their_scales),
      cmocka_unit_test(the_same_bytes_for_all_threads),
      cmocka_unit_test(frozen_layers_stay),
      cmocka_unit_test(scales_stay_above_zero),
      cmocka_unit_test(safe_sums_stay),
      cmocka_unit_test(models_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
