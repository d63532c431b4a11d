// The public interface: training. Includes dq.h alone.
#include <string.h>

#include "tests/unit/api_harness.h"

static dq_model *load_shapes(void) {
  dq_model *model;
  assert_int_equal(dq_model_load(&model, api_engine, "datasets/shapes.onnx", &api_failure), DQ_CODE_OK);
  return model;
}

// A network that knows its pictures keeps its answers under small steps; rows and facts tell the same.
static void trains(void **state) {
  (void)state;
  static const char *const freeze[] = {"/stem/conv/Conv", NULL};
  dq_model *model = load_shapes(), *teacher = load_shapes();
  dq_dataset *pictures = api_pictures("synth:shapes,split=train,count=64"),
             *others = api_pictures("synth:shapes,count=40");
  dq_model_train_options options;
  dq_model_train_defaults(&options, sizeof options);
  options.data = pictures, options.validation = others, options.teacher = teacher;
  options.epochs = 2, options.batch = 16, options.rate = 1e-5, options.freeze = freeze;
  options.augment = "flip,crop=2";
  dq_model_train_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_train(model, &options, &facts, &api_failure), DQ_CODE_OK);
  dq_model_train_row row = {.size = sizeof row};
  assert_int_equal(facts.epochs, 2);
  assert_true(dq_model_train_at(model, (int)facts.kept - 1, &row));
  assert_true(row.figure == facts.after && facts.after >= facts.before && facts.before > 90);
  assert_int_equal(row.steps, 4);
  assert_true(row.right > 80 && row.loss > 0);
  assert_string_equal(facts.figure, "top-1");
  assert_false(dq_model_train_at(model, 2, &row));
  dq_model_accuracy_facts measured = {.size = sizeof measured};
  assert_int_equal(dq_model_accuracy(model, others, NULL, &measured, &api_failure), DQ_CODE_OK);
  assert_true(measured.figures[0].value == facts.after);
  dq_model_free(model);
  dq_model_free(teacher);
  dq_dataset_close(pictures);
  dq_dataset_close(others);
}

// What dq_model_int8 made; it stays in 8 bits, and no other model is taken.
static void trains_in_8_bits(void **state) {
  (void)state;
  dq_model *model = load_shapes(), *teacher = load_shapes();
  dq_dataset *pictures = api_pictures("synth:shapes,split=train,count=64");
  dq_model_train_options options;
  dq_model_train_defaults(&options, sizeof options);
  options.data = options.validation = pictures, options.teacher = teacher, options.quantization_aware = 1;
  options.epochs = 2, options.batch = 16, options.rate = 1e-3, options.optimizer = DQ_TRAIN_ADAM, options.keep_last = 1;
  api_expect(dq_model_train(model, &options, NULL, &api_failure), DQ_CODE_BAD_INPUT, "no weight of 8 bits");
  dq_model_int8_options int8;
  dq_model_int8_defaults(&int8, sizeof int8);
  assert_int_equal(dq_model_int8(model, pictures, &int8, NULL, &api_failure), DQ_CODE_OK);
  dq_model_train_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_train(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_int_equal(facts.kept, 2);
  dq_model_accuracy_facts measured = {.size = sizeof measured};
  assert_int_equal(dq_model_accuracy(model, pictures, NULL, &measured, &api_failure), DQ_CODE_OK);
  assert_true(measured.figures[0].value == facts.after && facts.after > 90);
  dq_model_free(model);
  dq_model_free(teacher);
  dq_dataset_close(pictures);
}

// A training that makes the model worse leaves it as it was, and it can be used on.
static void keeps_the_start(void **state) {
  (void)state;
  dq_model *model = load_shapes();
  dq_dataset *pictures = api_pictures("synth:shapes,split=train,count=64"),
             *others = api_pictures("synth:shapes,count=40");
  dq_model_train_options options;
  dq_model_train_defaults(&options, sizeof options);
  options.data = pictures, options.validation = others, options.epochs = 1, options.batch = 16, options.rate = 0.5;
  dq_model_train_facts facts = {.size = sizeof facts};
  api_expect(dq_model_train(model, &options, &facts, &api_failure), DQ_CODE_CONDITION, "made the model worse");
  assert_int_equal(facts.kept, 0);
  dq_model_accuracy_facts measured = {.size = sizeof measured};
  assert_int_equal(dq_model_accuracy(model, others, NULL, &measured, &api_failure), DQ_CODE_OK);
  assert_true(measured.figures[0].value == facts.before);
  dq_model_free(model);
  dq_dataset_close(pictures);
  dq_dataset_close(others);
}

static void wrong_options(void **state) {
  (void)state;
  dq_model *model = load_shapes();
  dq_dataset *pictures = api_pictures("synth:shapes,count=16");
  dq_model_train_options usual, options;
  api_expect(dq_model_train(model, NULL, NULL, &api_failure), DQ_CODE_USAGE, "the option data is missing");
  dq_model_train_defaults(&usual, sizeof usual);
  usual.data = pictures;
  api_expect(dq_model_train(model, &usual, NULL, &api_failure), DQ_CODE_USAGE, "the option validation is missing");
  usual.validation = pictures;
#define REFUSED(field, value, text)                                                                                    \
  options = usual;                                                                                                     \
  options.field = (value);                                                                                             \
  api_expect(dq_model_train(model, &options, NULL, &api_failure), DQ_CODE_USAGE, text)
  REFUSED(epochs, 0, "epochs is 0");
  REFUSED(batch, 0, "batch is 0");
  REFUSED(rate, 0, "rate is 0");
  REFUSED(momentum, 1, "momentum is 1");
  REFUSED(warmup, -1, "warmup is -1");
  REFUSED(weight_decay, -1, "weight_decay is -1");
  REFUSED(label_smoothing, 1, "label_smoothing is 1");
  REFUSED(temperature, 0, "temperature is 0");
  REFUSED(feature_loss, -1, "feature_loss is -1");
  REFUSED(patience, -1, "patience is -1");
  REFUSED(checkpoint_every, -1, "checkpoint_every is -1");
  REFUSED(time_limit, -1, "time_limit is -1");
  REFUSED(augment, "nonsense", "augmentation 'nonsense'");
  REFUSED(resume, 1, "resume is given without checkpoint");
  REFUSED(teacher, model, "the teacher is the model itself");
  REFUSED(schedule, (dq_train_schedule)9, "schedule is 9");
  REFUSED(optimizer, (dq_train_optimizer)9, "optimizer is 9");
  api_expect(dq_model_train(model, &usual, NULL, &api_failure), DQ_CODE_BAD_INPUT, "a batch has 64 pictures");
  dq_model_free(model);
  dq_dataset_close(pictures);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trains),
      cmocka_unit_test(trains_in_8_bits),
      cmocka_unit_test(keeps_the_start),
      cmocka_unit_test(wrong_options),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
