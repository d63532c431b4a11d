// The public interface: measured choices. Includes dq.h alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static dq_engine *open_engine(const char *wisdom) {
  dq_engine *engine;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 1;
  options.wisdom = wisdom;
  assert_int_equal(dq_engine_open(&engine, &options, &api_failure), DQ_CODE_OK);
  return engine;
}

static dq_model *load(dq_engine *engine) {
  dq_model *model;
  assert_int_equal(dq_model_load(&model, engine, api_small, &api_failure), DQ_CODE_OK);
  return model;
}

static void wrong_options(void **state) {
  (void)state;
  dq_model *model = api_load(); // its engine has no wisdom
  dq_model_tune_options options;
  dq_model_tune_defaults(&options, sizeof options);
  assert_true(options.time_limit == 60 && options.batch == 1 && !options.exhaustive);
  api_expect(dq_model_tune(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "without wisdom");
  options.time_limit = 0;
  api_expect(dq_model_tune(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "time_limit is 0");
  options.time_limit = 1, options.batch = 0;
  api_expect(dq_model_tune(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "batch is 0");
  options.batch = 65537;
  api_expect(dq_model_tune(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "batch is 65537");
  options.batch = 65536, options.exhaustive = 2; // the largest batch: what is refused comes after it
  api_expect(dq_model_tune(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "exhaustive is 2");
  assert_false(dq_model_tune_at(model, 0, NULL));
  dq_model_free(model);
}

// Whatever is measured, rows and facts tell the same, and what is known is not measured again by another engine. Where
// the machine is too noisy there are no rows.
static void what_is_measured_is_kept(void **state) {
  (void)state;
  char path[] = "/tmp/test_api_tuneXXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0 && close(file) == 0);
  int measured = 0;
  for (int again = 0; again < 2; again++) {
    dq_engine *engine = open_engine(path);
    dq_model *model = load(engine);
    dq_model_tune_options options;
    dq_model_tune_defaults(&options, sizeof options);
    options.time_limit = 3;
    dq_model_tune_facts facts = {.size = sizeof facts};
    dq_model_tune_row row = {.size = sizeof row};
    dq_code code = dq_model_tune(model, &options, &facts, &api_failure);
    assert_true(code == DQ_CODE_OK || code == DQ_CODE_CONDITION);
    if (code == DQ_CODE_OK) {
      int rows = 0, used = 0, known = 0;
      for (; dq_model_tune_at(model, rows, &row); rows++) used += row.used, known += row.measured;
      assert_int_equal(rows, facts.shapes);
      assert_int_equal(used, facts.chosen);
      assert_int_equal(known, facts.known + facts.measured);
      assert_int_equal(facts.known, measured);
      assert_true(facts.candidates_measured <= facts.candidates && facts.candidates >= facts.measured);
      assert_true(facts.kept && (facts.ratio == 0 || facts.chosen == 0 || facts.ratio_high < 1));
      if (facts.known == facts.shapes) assert_int_equal(facts.measured, 0);
      measured = facts.known + facts.measured;
    } else {
      assert_non_null(strstr(api_failure.message, "too noisy"));
      assert_false(dq_model_tune_at(model, 0, &row));
    }
    dq_model_free(model);
    dq_engine_close(engine);
  }
  assert_int_equal(unlink(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(what_is_measured_is_kept),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
