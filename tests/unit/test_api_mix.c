// The public interface: one precision for each layer. Includes dq.h alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static dq_engine *open_engine(void) {
  dq_engine *engine;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 1;
  assert_int_equal(dq_engine_open(&engine, &options, &api_failure), DQ_CODE_OK);
  return engine;
}

static void wrong_options(void **state) {
  (void)state;
  dq_engine *engine = open_engine();
  dq_model *model;
  dq_dataset *dataset;
  dq_model_mix_options options;
  assert_int_equal(dq_model_load(&model, engine, api_small, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_dataset_open(&dataset, engine, "synth:shapes,size=8,count=4", NULL, &api_failure), DQ_CODE_OK);
  dq_model_mix_defaults(&options, sizeof options);
  assert_true(options.points == 8 && options.time_limit == 30 && options.max_drop == 0);
  options.points = 5;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "points is 5");
  options.points = 8, options.max_drop = NAN;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "max_drop is nan");
  options.max_drop = 0, options.time_limit = 0;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "time_limit is 0");
  options.time_limit = 1, options.resume = 1;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE,
             "resume is given without cache");
  options.resume = 0, options.max_time = -1;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "max_time is -1");
  options.max_time = 0, options.max_size = (size_t)INT64_MAX + 1;
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "max_size is above");
  options.max_size = INT64_MAX, options.task = "nonsense";
  api_expect(dq_model_mix(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "nonsense");
  assert_false(dq_model_mix_at(model, 0, NULL));
  dq_dataset_close(dataset);
  dq_model_free(model);
  dq_engine_close(engine);
}

static void check_rows(const dq_model *model, const dq_model_mix_facts *facts) {
  dq_model_mix_row row = {.size = sizeof row};
  int rows = 0, front = 0;
  for (; dq_model_mix_at(model, rows, &row); rows++) {
    assert_true(row.seconds > 0 && row.ratio_low <= row.ratio && row.ratio <= row.ratio_high && row.bytes > 0);
    assert_true(row.name[0] && row.noise >= 0 && row.other_noise >= 0 && row.noise_before >= 0);
    if (row.noise > 1e-10) assert_true(row.other_noise > 0 && row.predicted_noise > 0);
    front += row.front;
    if (rows == facts->answer) assert_int_equal(row.within, facts->held);
    if (facts->held && row.within && dq_model_mix_at(model, facts->answer, NULL)) {
      dq_model_mix_row answer = {.size = sizeof answer};
      assert_true(dq_model_mix_at(model, facts->answer, &answer));
      assert_true(answer.seconds <= row.seconds);
    }
  }
  assert_int_equal(rows, facts->points);
  assert_true(rows >= 3 && front >= 1);
}

// The answer is the fastest point within the bounds, and a second search takes everything from the cache. Where the
// machine is too noisy the model has not changed.
static void rows_and_cache(void **state) {
  (void)state;
  char folder[] = "/tmp/test_api_mixXXXXXX", cache[64], table[80];
  assert_non_null(mkdtemp(folder));
  snprintf(cache, sizeof cache, "%s/cache", folder);
  snprintf(table, sizeof table, "%s.table", cache);
  int measured = 0;
  for (int again = 0; again < 3; again++) { // the last time with a bound that no point holds
    dq_engine *engine = open_engine();
    dq_model *model;
    dq_dataset *data;
    dq_model_mix_options options;
    dq_model_mix_facts facts = {.size = sizeof facts};
    assert_int_equal(dq_model_load(&model, engine, "datasets/shapes.onnx", &api_failure), DQ_CODE_OK);
    assert_int_equal(dq_dataset_open(&data, engine, "synth:shapes,count=16", NULL, &api_failure), DQ_CODE_OK);
    dq_model_mix_defaults(&options, sizeof options);
    options.max_drop = 100, options.time_limit = 0.2, options.cache = cache, options.resume = again > 0;
    if (again == 2) options.max_time = 1e-12;
    dq_code code = dq_model_mix(model, data, &options, &facts, &api_failure);
    assert_true(code == DQ_CODE_OK || code == DQ_CODE_CONDITION);
    assert_true(code == DQ_CODE_CONDITION || again < 2);
    if (code == DQ_CODE_OK) {
      check_rows(model, &facts);
      assert_true(facts.held && facts.layers == 9);
      assert_int_equal(facts.resumed, measured);
      measured = 1;
    } else if (facts.points) {
      assert_int_equal(again, 2);
      assert_non_null(strstr(api_failure.message, "no measured point is within the bounds"));
      check_rows(model, &facts);
      assert_false(facts.held);
      assert_int_equal(dq_model_save(model, "/dev/null", &api_failure), DQ_CODE_OK);
    } else {
      assert_non_null(strstr(api_failure.message, "too noisy"));
      assert_false(dq_model_mix_at(model, 0, NULL));
    }
    dq_dataset_close(data);
    dq_model_free(model);
    dq_engine_close(engine);
  }
  unlink(cache), unlink(table);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(rows_and_cache),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
