// Training over data: changes of pictures, batches and their targets, teachers, checkpoints.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <xxhash.h>

#include "lib/onnx/onnx.h"
#include "lib/train/loop/batches.h"
#include "lib/train/loop/checkpoint.h"
#include "lib/train/loop/trainer.h"
#include "lib/train/teacher.h"
#include "lib/train/training.h"

static void say(dq_status status, const dq_error *error) {
  if (status != DQ_OK) print_message("%s\n", error->message);
  assert_int_equal(status, DQ_OK);
}

// ---- Changes of pictures ----

static const dq_picture_layout narrow = {
    .channels = 1, .height = 2, .width = 3, .channel_step = 6, .row_step = 3, .column_step = 1};

// The picture 1 2 3 / 4 5 6 with a border of zeros has nine windows of its size, and each may be turned round.
static void windows_and_mirrors(void **state) {
  (void)state;
  static const int bordered[4][5] = {{0, 0, 0, 0, 0}, {0, 1, 2, 3, 0}, {0, 4, 5, 6, 0}, {0, 0, 0, 0, 0}};
  const dq_augmentation augmentation = {.crop = 1, .flip = true};
  int seen[18] = {0};
  for (uint64_t seed = 0; seed < 400; seed++) {
    float picture[6] = {1, 2, 3, 4, 5, 6}, scratch[6];
    dq_random random = dq_random_start(seed, 1);
    int found = 0;
    dq_augment(&augmentation, &narrow, &random, picture, scratch);
    for (int form = 0; form < 18; form++) {
      bool same = true;
      for (int i = 0; i < 6; i++)
        same = same && picture[i] == (float)bordered[form % 3 + i / 3][form / 3 % 3 + (form < 9 ? i % 3 : 2 - i % 3)];
      found += same, seen[form] += same;
    }
    assert_int_equal(found, 1);
  }
  for (int form = 0; form < 18; form++) assert_true(seen[form] > 5);
}

static void cut_pixels(void **state) {
  (void)state;
  const dq_augmentation augmentation = {.cutout = 2};
  for (uint64_t seed = 0; seed < 50; seed++) {
    float picture[6] = {1, 1, 1, 1, 1, 1}, scratch[6];
    dq_random random = dq_random_start(seed, 1);
    dq_augment(&augmentation, &narrow, &random, picture, scratch);
    float rest = 0;
    for (int i = 0; i < 6; i++) rest += picture[i];
    // The square around the pixel reaches one row up and one column to the left of it, as far as these are there.
    assert_true(rest == 2 || rest == 4 || rest == 5);
  }
}

// 0 to 5: the mean is 2.5, the standard deviation sqrt(35 / 12).
static void contrast_and_brightness(void **state) {
  (void)state;
  const dq_augmentation augmentation = {.colour = 0.5};
  for (uint64_t seed = 0; seed < 50; seed++) {
    float picture[6] = {0, 1, 2, 3, 4, 5}, scratch[6];
    dq_random random = dq_random_start(seed, 1), copy = random;
    const double factor = 0.5 + (double)dq_random_float(&copy), shift = (double)dq_random_float(&copy) - 0.5;
    dq_augment(&augmentation, &narrow, &random, picture, scratch);
    for (int i = 0; i < 6; i++)
      assert_float_equal(picture[i], 2.5 + factor * (i - 2.5) + shift * sqrt(35.0 / 12), 1e-5);
  }
}

// A picture with its channels last is changed as the same one with its channels first.
static void channels_last(void **state) {
  (void)state;
  enum { C = 3, H = 4, W = 5, N = C * H * W };
  const dq_augmentation augmentation = {.crop = 2, .flip = true, .cutout = 2, .colour = 0.3};
  const int64_t first_dims[] = {1, C, H, W}, last_dims[] = {1, H, W, C};
  dq_tensor shapes[2] = {{.type = DQ_F32, .rank = 4}, {.type = DQ_F32, .rank = 4}};
  dq_picture_layout layouts[2];
  float first[N], last[N], scratch[N];
  memcpy(shapes[0].dims, first_dims, sizeof first_dims);
  memcpy(shapes[1].dims, last_dims, sizeof last_dims);
  for (int i = 0; i < 2; i++) assert_true(dq_picture_layout_of(&shapes[i], &layouts[i]));
  for (uint64_t seed = 0; seed < 20; seed++) {
    dq_random one = dq_random_start(seed, 1), other = one;
    for (int i = 0; i < N; i++) first[i] = last[i % (H * W) * C + i / (H * W)] = (float)(i * i % 17);
    dq_augment(&augmentation, &layouts[0], &one, first, scratch);
    dq_augment(&augmentation, &layouts[1], &other, last, scratch);
    for (int i = 0; i < N; i++) assert_float_equal(first[i], last[i % (H * W) * C + i / (H * W)], 1e-4);
  }
  shapes[0].rank = 2;
  assert_false(dq_picture_layout_of(&shapes[0], &layouts[0]));
}

// ---- Batches and losses ----

enum { BATCH = 16, CLASSES = 8 };

typedef struct fixture {
  dq_context context;
  dq_arena *arena;
  dq_graph *model;
  dq_data *data;
  dq_training training;
  dq_batches batches;
} fixture;

static void open_fixture(fixture *f, uint64_t seed, double smoothing, double temperature) {
  dq_error error = {0};
  *f = (fixture){.arena = dq_arena_new(NULL)};
  say(dq_context_init(&f->context, 2, ~0u, &error), &error);
  f->context.seed = seed;
  say(dq_onnx_load(&f->model, "datasets/shapes.onnx", &f->context, &error), &error);
  const dq_data_options data = {.spec = "synth:shapes,count=70"};
  say(dq_data_open(&f->data, &data, &f->context, &error), &error);
  const dq_training_options options = {.batch = BATCH, .temperature = temperature};
  say(dq_training_open(&f->training, f->model, &options, &f->context, &error), &error);
  const dq_batches_options batches = {.data = f->data, .label_smoothing = smoothing};
  say(dq_batches_open(&f->batches, &batches, f->training.input, f->training.targets, f->arena, &f->context, &error),
      &error);
}

static void close_fixture(fixture *f) {
  dq_training_close(&f->training);
  dq_data_free(f->data);
  dq_graph_free(f->model);
  dq_arena_free(f->arena);
  dq_context_deinit(&f->context);
}

// Every epoch has each picture once, in an order of its own, which the seed changes and repeats.
static void orders(void **state) {
  (void)state;
  int64_t found[3][70];
  for (int run = 0; run < 3; run++) {
    fixture f;
    bool there[70] = {false};
    open_fixture(&f, run == 2, 0, 0);
    assert_int_equal(f.batches.per_epoch, 4);
    dq_batches_shuffle(&f.batches, 0);
    int64_t first[70];
    memcpy(first, f.batches.order, sizeof first);
    dq_batches_shuffle(&f.batches, 1);
    memcpy(found[run], f.batches.order, sizeof found[run]);
    assert_true(memcmp(first, found[run], sizeof first) != 0);
    for (int i = 0; i < 70; i++) there[found[run][i]] = true;
    for (int i = 0; i < 70; i++) assert_true(there[i]);
    close_fixture(&f);
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  assert_true(memcmp(found[0], found[2], sizeof found[0]) != 0);
}

// With a smoothing of 0.2 over 8 classes the label has 0.8 + 0.025 and the others 0.025. Picture i of the data shows
// class i % 8.
static void smooth_targets(void **state) {
  (void)state;
  fixture f;
  dq_error error = {0};
  open_fixture(&f, 0, 0.2, 0);
  dq_batches_shuffle(&f.batches, 0);
  say(dq_batches_read(&f.batches, 2, &error), &error);
  for (int i = 0; i < BATCH; i++)
    for (int c = 0; c < CLASSES; c++)
      assert_float_equal(dq_tensor_get(f.training.targets, i * CLASSES + c),
                         c == f.batches.order[2 * BATCH + i] % CLASSES ? 0.825 : 0.025, 1e-7);
  close_fixture(&f);
}

// The loss at a temperature of 2: 4 times the mean of -sum(t log softmax(y / 2)).
static void loss_at_a_temperature(void **state) {
  (void)state;
  fixture f;
  dq_error error = {0};
  dq_optimizer none = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0);
  double loss, expected = 0;
  open_fixture(&f, 0, 0.2, 2);
  dq_batches_shuffle(&f.batches, 0);
  say(dq_batches_read(&f.batches, 0, &error), &error);
  say(dq_training_optimizer(&f.training, &none, &error), &error);
  say(dq_training_step(&f.training, &none, 0, &loss, &error), &error);
  for (int i = 0; i < BATCH; i++) {
    double sum = 0;
    for (int c = 0; c < CLASSES; c++) sum += exp(dq_tensor_get(f.training.scores, i * CLASSES + c) / 2);
    for (int c = 0; c < CLASSES; c++)
      expected -= dq_tensor_get(f.training.targets, i * CLASSES + c) *
                  (dq_tensor_get(f.training.scores, i * CLASSES + c) / 2 - log(sum));
  }
  assert_float_equal(loss, 4 * expected / BATCH, 1e-4 * loss);
  close_fixture(&f);
}

static void append_softmax(dq_graph *graph, const char *op_type) {
  dq_error error = {0};
  dq_value *scores = graph->outputs[0], *shares = dq_graph_fresh_value(graph, "shares");
  dq_node *node = dq_graph_add_node(graph, graph->node_count, op_type, op_type, 1, &scores, 1, &shares);
  assert_non_null(node);
  assert_true(dq_node_set_int(graph, node, "axis", 1));
  scores->is_output = false;
  shares->is_output = true;
  graph->outputs[0] = shares;
  say(dq_graph_index(graph, true, &error), &error);
}

// The targets are softmax(y / 2) of the teacher's scores y, also where it ends in a Softmax or LogSoftmax.
static void targets_of_teachers(void **state) {
  (void)state;
  static const char *const ends[] = {NULL, "Softmax", "LogSoftmax"};
  for (int e = 0; e < 3; e++) {
    fixture f;
    dq_error error = {0};
    dq_teacher raw, teacher;
    open_fixture(&f, 0, 0, 0);
    dq_batches_shuffle(&f.batches, 0);
    say(dq_batches_read(&f.batches, 0, &error), &error);
    dq_teacher_options options = {.graph = f.model, .classes = true, .temperature = 2};
    say(dq_teacher_open(&raw, &options, f.training.input, f.training.targets, &f.context, &error), &error);
    say(dq_teacher_run(&raw, f.training.input, f.training.targets, NULL, &error), &error);
    dq_graph *graph = dq_graph_copy(f.model);
    if (ends[e]) append_softmax(graph, ends[e]);
    options.graph = graph;
    say(dq_teacher_open(&teacher, &options, f.training.input, f.training.targets, &f.context, &error), &error);
    say(dq_teacher_run(&teacher, f.training.input, f.training.targets, NULL, &error), &error);
    const dq_tensor *scores = dq_plan_output(raw.session.plan, 0);
    for (int i = 0; i < BATCH; i++) {
      double sum = 0;
      for (int c = 0; c < CLASSES; c++) sum += exp(dq_tensor_get(scores, i * CLASSES + c) / 2);
      for (int c = 0; c < CLASSES; c++)
        assert_float_equal(dq_tensor_get(f.training.targets, i * CLASSES + c),
                           exp(dq_tensor_get(scores, i * CLASSES + c) / 2) / sum, 1e-5);
    }
    dq_teacher_close(&teacher);
    dq_teacher_close(&raw);
    dq_graph_free(graph);
    close_fixture(&f);
  }
}

// ---- Inner values beside a teacher's ----

static void open_with_features(fixture *f, const char *const *names, int count) {
  dq_error error = {0};
  open_fixture(f, 0, 0, 0);
  dq_training_close(&f->training);
  const dq_training_options options = {
      .batch = BATCH, .features = names, .feature_count = count, .feature_loss = count ? 10 : 0};
  say(dq_training_open(&f->training, f->model, &options, &f->context, &error), &error);
  const dq_batches_options batches = {.data = f->data};
  say(dq_batches_open(&f->batches, &batches, f->training.input, f->training.targets, f->arena, &f->context, &error),
      &error);
  dq_batches_shuffle(&f->batches, 0);
  say(dq_batches_read(&f->batches, 0, &error), &error);
}

static double step(fixture *f) {
  dq_error error = {0};
  dq_optimizer none = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0);
  double loss;
  say(dq_training_optimizer(&f->training, &none, &error), &error);
  say(dq_training_step(&f->training, &none, 0, &loss, &error), &error);
  return loss;
}

// Of two features the first counts nothing, as its weights are 0. With targets of 0 and weights of 0.5 the second one,
// with W = 10, adds 10 times half the mean of 0.5 |s|^2.
static void loss_of_features(void **state) {
  (void)state;
  static const char *const names[2] = {"/Flatten_output_0", "scores"};
  fixture plain, f;
  double squares = 0;
  open_with_features(&plain, NULL, 0);
  open_with_features(&f, names, 2);
  assert_int_equal(f.training.feature_count, 2);
  for (int64_t i = 0; i < BATCH; i++) ((float *)f.training.features[1].weights->data)[i] = 0.5f;
  const double before = step(&plain), after = step(&f);
  for (int64_t i = 0; i < BATCH * CLASSES; i++) squares += pow(dq_tensor_get(f.training.scores, i), 2);
  assert_true(squares > 0);
  assert_float_equal(after - before, 10 * 0.5 * 0.5 * squares / BATCH, 1e-4 * after);
  close_fixture(&f);
  close_fixture(&plain);
}

// A teacher gives its own values and 1 / |t|^2 of each picture.
static void features_of_a_teacher(void **state) {
  (void)state;
  fixture f;
  dq_error error = {0};
  dq_teacher teacher;
  const char *const name = "/Flatten_output_0";
  open_with_features(&f, &name, 1);
  const dq_feature *feature = &f.training.features[0];
  const dq_teacher_options options = {
      .graph = f.model, .classes = true, .temperature = 1, .features = &name, .feature_count = 1, .targets = feature};
  say(dq_teacher_open(&teacher, &options, f.training.input, f.training.targets, &f.context, &error), &error);
  say(dq_teacher_run(&teacher, f.training.input, f.training.targets, feature, &error), &error);
  const dq_tensor *values = dq_plan_value(teacher.session.plan, name);
  const int64_t elements = dq_tensor_count(values) / BATCH;
  assert_memory_equal(feature->targets->data, values->data, dq_tensor_bytes(values));
  for (int64_t i = 0; i < BATCH; i++) {
    double squares = 0;
    for (int64_t e = 0; e < elements; e++) squares += pow(dq_tensor_get(values, i * elements + e), 2);
    assert_true(squares > 0);
    assert_float_equal(dq_tensor_get(feature->weights, i) * squares, 1, 1e-5);
  }
  dq_teacher_close(&teacher);
  const char *const other = "/last/relu/Relu_output_0"; // of another shape than what is trained
  dq_teacher_options wrong = options;
  wrong.features = &other;
  assert_int_equal(dq_teacher_open(&teacher, &wrong, f.training.input, f.training.targets, &f.context, &error),
                   DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "its value '/last/relu/Relu_output_0' is float32 of shape 16x"));
  dq_teacher_close(&teacher);
  close_fixture(&f);
}

// ---- States and checkpoints ----

static void a_state_comes_back(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, 0, 0, 0);
  const int64_t elements = dq_training_elements(&f.training);
  float *before = calloc((size_t)elements, sizeof *before), *after = calloc((size_t)elements, sizeof *after);
  assert_int_equal(elements, 45464); // all initializers of the model
  dq_training_save(&f.training, before);
  memset(f.training.trained[0].elements->data, 1, dq_tensor_bytes(f.training.trained[0].elements));
  memset(f.training.statistics[0].running[1]->data, 1, dq_tensor_bytes(f.training.statistics[0].running[1]));
  dq_training_restore(&f.training, before);
  dq_training_save(&f.training, after);
  assert_memory_equal(before, after, (size_t)elements * sizeof *before);
  free(before);
  free(after);
  close_fixture(&f);
}

// A checkpoint gives the parts back; one of other settings or of another size changes nothing.
static void checkpoints(void **state) {
  (void)state;
  char path[] = "/tmp/dq-checkpoint-XXXXXX";
  dq_error error = {0};
  int64_t numbers[3] = {1, 2, 3};
  float values[2] = {0.5f, 1.5f};
  const dq_checkpoint_part parts[] = {{numbers, sizeof numbers}, {values, sizeof values}, {NULL, 0}};
  dq_checkpoint checkpoint = {.path = path, .settings = "a=1\nb=2\n", .parts = parts, .count = 3};
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  say(dq_checkpoint_save(&checkpoint, &error), &error);
  numbers[1] = 9, values[0] = 9;
  checkpoint.settings = "a=1\nb=3\n";
  assert_int_equal(dq_checkpoint_load(&checkpoint, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "b=2 there, b=3 here"));
  checkpoint.settings = "a=1\nb=2\n";
  checkpoint.count = 1;
  assert_int_equal(dq_checkpoint_load(&checkpoint, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "32 bytes of state, expected 24"));
  assert_int_equal(numbers[1], 9);
  checkpoint.count = 3;
  say(dq_checkpoint_load(&checkpoint, &error), &error);
  assert_int_equal(numbers[1], 2);
  assert_true(values[0] == 0.5f);
  unlink(path);
}

// Trains one epoch of two steps with checkpoints in `folder`, or goes on with it.
static dq_status train_in(const char *folder, bool resume, dq_error *error) {
  dq_context own;
  dq_graph *model;
  dq_data *data;
  dq_train_report report;
  dq_arena *arena = dq_arena_new(0);
  const dq_data_options pictures = {.spec = "synth:shapes,count=16"};
  say(dq_context_init(&own, 1, ~0u, error), error);
  say(dq_onnx_load(&model, "datasets/shapes.onnx", &own, error), error);
  say(dq_data_open(&data, &pictures, &own, error), error);
  const dq_trainer_options options = {.training = {.batch = 8},
                                      .optimizer = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0),
                                      .rate = {.rate = 1e-6},
                                      .epochs = 1,
                                      .data = data,
                                      .validation = data,
                                      .last = true,
                                      .checkpoint = folder,
                                      .resume = resume};
  const dq_status status = dq_train(model, &options, &report, arena, &own, error);
  dq_data_free(data);
  dq_graph_free(model);
  dq_arena_free(arena);
  dq_context_deinit(&own);
  return status;
}

// Replaces member `at` of the state, each of 8 bytes, in the checkpoint that `bytes` hold, and makes its hash right.
static void write_changed(const char *path, const char *bytes, size_t size, size_t at, const void *member) {
  static char changed[1 << 20];
  memcpy(changed, bytes, size);
  memcpy(changed + strlen(bytes) + 1 + 8 * at, member, 8);
  const uint64_t hash = XXH64(changed, size - sizeof hash, 0);
  memcpy(changed + size - sizeof hash, &hash, sizeof hash);
  FILE *file = fopen(path, "wb");
  assert_int_equal(fwrite(changed, 1, size, file), size);
  fclose(file);
}

// A whole checkpoint with numbers that no training has: the hash of a file says nothing about who wrote it. The place
// has 12 members; the row of the only epoch follows.
static void places_of_checkpoints(void **state) {
  (void)state;
  enum { EPOCH, STEP, STEPS, SECONDS = 5, BEST_EPOCH = 8, SINCE_BEST, RATE, MEMORY };
  enum { ROW_STEPS = 12, ROW_RATE, ROW_LOSS, ROW_SECONDS = 17 };
  static const struct {
    size_t at;
    int64_t whole;
    double real; // where `whole` is 0
  } cases[] = {{EPOCH, 1000, 0},     {EPOCH, -1, 0},       {STEP, 3, 0},       {STEP, -1, 0},
               {STEPS, 1000, 0},     {SECONDS, 0, -1},     {BEST_EPOCH, 7, 0}, {BEST_EPOCH, -1, 0},
               {SINCE_BEST, 9, 0},   {SINCE_BEST, -1, 0},  {RATE, 0, NAN},     {MEMORY, 0, 1e300},
               {MEMORY, 0, NAN},     {ROW_STEPS, 3, 0},    {ROW_STEPS, -1, 0}, {ROW_STEPS, INT64_MAX / 2, 0},
               {ROW_STEPS, 0, 0},    {ROW_RATE, 0, NAN},   {ROW_LOSS, 0, NAN}, {ROW_LOSS, 0, INFINITY},
               {ROW_SECONDS, 0, -1}, {ROW_SECONDS, 0, NAN}};
  static char bytes[1 << 20];
  char folder[] = "/tmp/dq-places-XXXXXX", path[64];
  dq_error error = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/checkpoint", folder);
  dq_status status = train_in(folder, false, &error); // the model may be worse, which is said
  assert_true(status == DQ_OK || status == DQ_CONDITION);
  FILE *file = fopen(path, "rb");
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const void *member = cases[i].whole ? (const void *)&cases[i].whole : &cases[i].real;
    write_changed(path, bytes, size, cases[i].at, member);
    if (train_in(folder, true, &error) != DQ_BAD_INPUT) fail_msg("case %zu is taken", i);
    assert_non_null(strstr(error.message, path));
  }
  unlink(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_and_mirrors),
      cmocka_unit_test(cut_pixels),
      cmocka_unit_test(contrast_and_brightness),
      cmocka_unit_test(channels_last),
      cmocka_unit_test(orders),
      cmocka_unit_test(smooth_targets),
      cmocka_unit_test(loss_at_a_temperature),
      cmocka_unit_test(targets_of_teachers),
      cmocka_unit_test(loss_of_features),
      cmocka_unit_test(features_of_a_teacher),
      cmocka_unit_test(a_state_comes_back),
      cmocka_unit_test(checkpoints),
      cmocka_unit_test(places_of_checkpoints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
