// Training of a small network on generated pictures.
#include "lib/train/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "datasets/datasets.h"
#include "lib/base/random.h"
#include "lib/onnx/onnx.h"

enum { PICTURES = 64, CLASSES = 8 };

typedef struct fixture {
  dq_context context;
  dq_graph *model;
  dq_training training;
  dq_optimizer optimizer;
} fixture;

static void say(dq_status status, const dq_error *error) {
  if (status != DQ_OK) print_message("%s\n", error->message);
  assert_int_equal(status, DQ_OK);
}

// Kernels and matrices are random with the variance 2 / inputs (He et al. 2015), vectors as they are without training.
static void forget(dq_training *training) {
  dq_random random = dq_random_start(0, 40);
  for (int i = 0; i < training->trained_count; i++) {
    dq_tensor *weight = training->trained[i].elements;
    const bool scale = strstr(training->trained[i].name, "scale") || strstr(training->trained[i].name, "weight");
    const double spread = weight->rank < 2 ? 0 : sqrt(2.0 / (double)dq_tensor_product(weight, 1, weight->rank));
    for (int64_t e = 0; e < dq_tensor_count(weight); e++)
      dq_tensor_set(weight, e, weight->rank >= 2 ? spread * (double)dq_random_normal(&random) : scale);
  }
}

static void open_fixture(fixture *f, int threads, dq_optimizer_kind kind) {
  dq_error error = {0};
  *f = (fixture){.optimizer = {.kind = kind, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}};
  say(dq_context_init(&f->context, threads, ~0u, &error), &error);
  say(dq_onnx_load(&f->model, "datasets/shapes.onnx", &f->context, &error), &error);
  const dq_training_options options = {.loss = DQ_LOSS_CROSS_ENTROPY, .batch = PICTURES};
  say(dq_training_open(&f->training, f->model, &options, &f->context, &error), &error);
  say(dq_training_optimizer(&f->training, &f->optimizer, &error), &error);
  forget(&f->training);
}

static void close_fixture(fixture *f) {
  dq_training_close(&f->training);
  dq_graph_free(f->model);
  dq_context_deinit(&f->context);
}

// Pictures and one-hot targets of a batch.
static void read_batch(fixture *f) {
  dq_error error = {0};
  dq_data *data;
  dq_sample_info infos[PICTURES];
  const dq_data_options options = {.spec = "synth:shapes,count=64"};
  say(dq_data_open(&data, &options, &f->context, &error), &error);
  say(dq_data_set_shape(data, f->training.input, &error), &error);
  say(dq_data_read_batch(data, 0, PICTURES, f->training.input->data, infos, &error), &error);
  memset(f->training.targets->data, 0, dq_tensor_bytes(f->training.targets));
  for (int i = 0; i < PICTURES; i++) dq_tensor_set(f->training.targets, i * CLASSES + infos[i].label, 1);
  dq_data_free(data);
}

static double run_steps(fixture *f, int steps, double rate) {
  dq_error error = {0};
  double loss = 0;
  for (int i = 0; i < steps; i++) say(dq_training_step(&f->training, &f->optimizer, rate, &loss, &error), &error);
  return loss;
}

static int right_answers(const fixture *f) {
  int right = 0;
  for (int i = 0; i < PICTURES; i++) {
    int best = 0, label = 0;
    for (int c = 1; c < CLASSES; c++) {
      if (dq_tensor_get(f->training.scores, i * CLASSES + c) > dq_tensor_get(f->training.scores, i * CLASSES + best))
        best = c;
      if (dq_tensor_get(f->training.targets, i * CLASSES + c) > 0) label = c;
    }
    right += best == label;
  }
  return right;
}

// From random weights, with batch normalization in training, all pictures are learned.
static void learns_pictures_by_heart(void **state) {
  (void)state;
  for (int kind = DQ_OPTIMIZER_SGD; kind <= DQ_OPTIMIZER_ADAM; kind++) {
    fixture f;
    open_fixture(&f, 2, (dq_optimizer_kind)kind);
    read_batch(&f);
    const double rate = kind == DQ_OPTIMIZER_SGD ? 0.05 : 0.003, first = run_steps(&f, 1, rate);
    const double last = run_steps(&f, 60, rate);
    print_message("loss %g, at last %g, %d right\n", first, last, right_answers(&f));
    assert_true(first > 1);
    assert_true(last < 0.02);
    assert_int_equal(right_answers(&f), PICTURES);
    close_fixture(&f);
  }
}

// Weights, gradients and statistics have the same bits for any number of threads; inputs of the plan are left alone.
static void the_same_bytes_for_all_threads(void **state) {
  (void)state;
  fixture first;
  open_fixture(&first, 1, DQ_OPTIMIZER_SGD);
  read_batch(&first);
  run_steps(&first, 3, 0.05);
  for (int threads = 2; threads <= 3; threads++) {
    fixture f;
    open_fixture(&f, threads, DQ_OPTIMIZER_SGD);
    read_batch(&f);
    run_steps(&f, 3, 0.05);
    assert_int_equal(f.training.trained_count, first.training.trained_count);
    for (int i = 0; i < f.training.trained_count; i++) {
      const dq_tensor *a = first.training.trained[i].elements, *b = f.training.trained[i].elements;
      assert_memory_equal(a->data, b->data, dq_tensor_bytes(a));
    }
    for (int i = 0; i < f.training.statistics_count; i++)
      for (int k = 0; k < 2; k++)
        assert_memory_equal(first.training.statistics[i].running[k]->data, f.training.statistics[i].running[k]->data,
                            dq_tensor_bytes(f.training.statistics[i].running[k]));
    close_fixture(&f);
  }
  close_fixture(&first);
}

// What is stored in the model is what was trained: with its statistics frozen the model has the same loss as a training
// that is opened anew.
static void stores_what_was_trained(void **state) {
  (void)state;
  dq_error error = {0};
  fixture f;
  dq_training again;
  dq_optimizer none = {.kind = DQ_OPTIMIZER_SGD};
  double loss;
  open_fixture(&f, 2, DQ_OPTIMIZER_SGD);
  read_batch(&f);
  run_steps(&f, 5, 0.05);
  say(dq_training_store(&f.training, f.model, &error), &error);
  const dq_training_options options = {.batch = PICTURES};
  say(dq_training_open(&again, f.model, &options, &f.context, &error), &error);
  say(dq_training_optimizer(&again, &none, &error), &error);
  memcpy(again.input->data, f.training.input->data, dq_tensor_bytes(again.input));
  memcpy(again.targets->data, f.training.targets->data, dq_tensor_bytes(again.targets));
  say(dq_training_step(&again, &none, 0, &loss, &error), &error);
  assert_true(loss == run_steps(&f, 1, 0));
  dq_training_close(&again);
  close_fixture(&f);
}

// Weights of frozen layers and, on request, statistics are left out.
static void frozen_layers(void **state) {
  (void)state;
  dq_error error = {0};
  fixture f;
  dq_training frozen;
  open_fixture(&f, 1, DQ_OPTIMIZER_SGD);
  const char *patterns[] = {"*conv*"};
  const dq_training_options options = {.batch = 2, .frozen = patterns, .frozen_count = 1, .frozen_statistics = true};
  say(dq_training_open(&frozen, f.model, &options, &f.context, &error), &error);
  assert_int_equal(frozen.statistics_count, 0);
  assert_true(f.training.statistics_count > 0);
  assert_true(frozen.trained_count > 0);
  assert_true(frozen.trained_count < f.training.trained_count);
  for (int i = 0; i < frozen.trained_count; i++) assert_null(strstr(frozen.trained[i].layer, "conv"));
  dq_training_close(&frozen);
  patterns[0] = "*";
  assert_int_equal(dq_training_open(&frozen, f.model, &options, &f.context, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "the model has no weight of float32 or float16 that is trained");
  dq_training_close(&frozen);
  close_fixture(&f);
}

// A step whose numbers are not finite is refused with the layer, and updates nothing.
static void numbers_that_are_not_finite(void **state) {
  (void)state;
  dq_error error = {0};
  double loss;
  fixture f;
  open_fixture(&f, 1, DQ_OPTIMIZER_SGD);
  read_batch(&f);
  dq_tensor *weight = f.training.trained[0].elements;
  const double kept = dq_tensor_get(f.training.trained[1].elements, 0);
  dq_tensor_set(weight, 0, (double)NAN);
  assert_int_equal(dq_training_step(&f.training, &f.optimizer, 0.1, &loss, &error), DQ_CONDITION);
  assert_non_null(strstr(error.message, "step 1: the gradient of '"));
  assert_non_null(strstr(error.message, "node '/stem/conv/Conv'"));
  assert_true(dq_tensor_get(f.training.trained[1].elements, 0) == kept);
  assert_int_equal(f.training.step, 0);
  close_fixture(&f);
}

// Two weights by hand: v = 0.9 v + g + 0.1 w for the one that decays; m and v of Adam are g and g^2 after correction.
static void updates_by_hand(void **state) {
  (void)state;
  dq_error error = {0};
  dq_arena *arena = dq_context_arena(NULL);
  float weights[] = {1, -2}, gradient[] = {0.5f, 0.25f};
  dq_optimizer sgd = {.kind = DQ_OPTIMIZER_SGD, .momentum = 0.9, .decay = 0.1};
  say(dq_optimizer_open(&sgd, 1, (int64_t[]){2}, arena, &error), &error);
  dq_update update = {.weights = weights, .gradient = gradient, .elements = 2, .decays = true, .rate = 0.1, .step = 1};
  dq_optimizer_update(&sgd, 0, &update, NULL); // v = 0.6, 0.05
  assert_true(fabsf(weights[0] - 0.94f) < 1e-6f);
  assert_true(fabsf(weights[1] + 2.005f) < 1e-6f);
  update.decays = false;
  dq_optimizer_update(&sgd, 0, &update, NULL); // v = 1.04, 0.295
  assert_true(fabsf(weights[0] - 0.836f) < 1e-6f);
  assert_true(fabsf(weights[1] + 2.0345f) < 1e-6f);
  dq_optimizer adam = {.kind = DQ_OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 0.5};
  say(dq_optimizer_open(&adam, 1, (int64_t[]){2}, arena, &error), &error);
  weights[0] = 1, weights[1] = -2, gradient[1] = -0.25f, update.decays = true;
  dq_optimizer_update(&adam, 0, &update, NULL); // w - 0.1 (sign(g) + 0.5 w)
  assert_true(fabsf(weights[0] - 0.85f) < 1e-6f);
  assert_true(fabsf(weights[1] + 1.8f) < 1e-6f);
  say(dq_optimizer_open(&adam, 1, (int64_t[]){2}, arena, &error), &error);
  weights[0] = 1, weights[1] = -2, update.units = (const float[]){2, 0.5f};
  dq_optimizer_update(&adam, 0, &update, NULL); // w - 0.1 (unit sign(g) + 0.5 w)
  assert_true(fabsf(weights[0] - 0.75f) < 3e-6f);
  assert_true(fabsf(weights[1] + 1.85f) < 3e-6f);
  dq_arena_free(arena);
}

static void near(double a, double b) { assert_true(fabs(a - b) < 1e-12); }

static void courses_of_the_rate(void **state) {
  (void)state;
  dq_rate rate = {.rate = 0.8, .power = 2, .steps = 108, .warmup = 8};
  near(dq_rate_at(&rate, 0), 0.1);
  near(dq_rate_at(&rate, 7), 0.8);
  near(dq_rate_at(&rate, 107), 0.8);
  rate.course = DQ_RATE_STEP;
  near(dq_rate_at(&rate, 57), 0.8);
  near(dq_rate_at(&rate, 58), 0.08);
  near(dq_rate_at(&rate, 83), 0.008);
  rate.course = DQ_RATE_COSINE;
  near(dq_rate_at(&rate, 8), 0.8);
  near(dq_rate_at(&rate, 58), 0.4);
  rate.course = DQ_RATE_POLY;
  near(dq_rate_at(&rate, 58), 0.2);
}

// Matrices and kernels decay, vectors do not.
static void weights_that_decay(void **state) {
  (void)state;
  fixture f;
  int of_rank[DQ_MAX_RANK + 1] = {0};
  open_fixture(&f, 1, DQ_OPTIMIZER_SGD);
  for (int i = 0; i < f.training.trained_count; i++) {
    const int rank = f.training.trained[i].elements->rank;
    of_rank[rank]++;
    assert_int_equal(f.training.trained[i].decays, rank >= 2);
  }
  assert_true(of_rank[1] > 0 && of_rank[2] > 0 && of_rank[4] > 0);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_by_hand),
      cmocka_unit_test(weights_that_decay),
      cmocka_unit_test(courses_of_the_rate),
      cmocka_unit_test(learns_pictures_by_heart),
      cmocka_unit_test(the_same_bytes_for_all_threads),
      cmocka_unit_test(stores_what_was_trained),
      cmocka_unit_test(frozen_layers),
      cmocka_unit_test(numbers_that_are_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
