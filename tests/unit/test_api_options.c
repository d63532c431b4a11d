// Each option of the conversions through the public interface: what it writes, by a hash of the file, which is the same
// on every machine. Options that change nothing in this network have the hash of the defaults.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static char path[] = "/tmp/test_api_options_XXXXXX";

static int enter(void **state) {
  int file = mkstemp(path);
  return file < 0 || close(file) || api_enter(state);
}

static int leave(void **state) {
  unlink(path);
  return api_leave(state);
}

// FNV-1a of the model, as it is saved.
static uint32_t hash_of(const dq_model *model) {
  uint32_t hash = 2166136261u;
  assert_int_equal(dq_model_save(model, path, &api_failure), DQ_CODE_OK);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  for (int byte; (byte = fgetc(file)) != EOF;) hash = (hash ^ (uint32_t)byte) * 16777619u;
  fclose(file);
  return hash;
}

static const char *const heads[] = {"head", NULL}, *const convolutions[] = {"conv*", NULL},
                         *const gemm[] = {"Gemm", NULL};

static void set_int8(dq_model_int8_options *o, const char *name) {
#define SET(text, field, value)                                                                                        \
  if (!strcmp(name, text)) o->field = value
  SET("method minmax", method, "minmax");
  SET("method ema", method, "ema");
  SET("method entropy", method, "entropy");
  SET("method mse", method, "mse");
  SET("method percentile", method, "percentile");
  SET("method auto", method, "auto");
  SET("percentile 90", percentile, 90);
  SET("percentile 1", percentile, 1);
  SET("percentile 99.999", percentile, 99.999);
  SET("per_tensor", per_tensor, 1);
  SET("signed_activations", signed_activations, 1);
  SET("symmetric", symmetric, 1);
  SET("exclude", exclude, heads);
  SET("only", only, convolutions);
  SET("operators", operators, gemm);
  SET("equalize on", equalize, DQ_CHOICE_ON);
  SET("equalize off", equalize, DQ_CHOICE_OFF);
  SET("bias_correction on", bias_correction, DQ_CHOICE_ON);
  SET("bias_correction off", bias_correction, DQ_CHOICE_OFF);
  SET("sums int32", sums, DQ_SUMS_INT32);
  SET("sums pairs", sums, DQ_SUMS_PAIRS);
  SET("sums int16", sums, DQ_SUMS_INT16);
  SET("rounding adaptive", rounding, "adaptive");
  SET("bias_absorption on", bias_absorption, DQ_CHOICE_ON);
  SET("range_search on", range_search, DQ_CHOICE_ON);
  SET("form operator", form, DQ_FORM_OPERATOR);
  SET("max_drop 0", max_drop, 0);
  SET("max_drop 50", max_drop, 50);
  SET("batch 2", batch, 2);
  SET("min_sqnr 30", min_sqnr, 30);
  SET("min_agreement 100", min_agreement, 100);
  SET("all_int8", all_int8, 1);
  SET("max_float 100", max_float, 100);
}

static void set_amp(dq_model_amp_options *o, const char *name) {
  SET("half_io", half_io, 1);
  SET("allow", allow, gemm);
  SET("follow", follow, gemm);
  SET("deny", deny, gemm);
  SET("deny_nodes", deny_nodes, convolutions);
  SET("nearest", nearest, 1);
  SET("unguarded", unguarded, 1);
  SET("input_max 1e30", input_max, 1e30);
  SET("input_max 1", input_max, 1);
}

static int differences; // of the test that runs, each of which is printed

typedef struct expected {
  const char *name;
  uint32_t hash; // of the file, or the code of the failure
} expected;

static void compare(const expected *option, uint32_t hash) {
  if (hash == option->hash) return;
  print_error("%s: 0x%08x, expected 0x%08x\n", option->name, hash, option->hash);
  differences++;
}

static void each_option_of_int8(void **state) {
  (void)state;
  differences = 0;
  static const expected options[] = {
      {"defaults", 0x21bed656},
      {"method minmax", 0xddaa297b},
      {"method ema", 0x33badd8b},
      {"method entropy", 0x526a762e},
      {"method mse", 0x0e6496e0},
      {"method percentile", 0xddaa297b},
      {"method auto", 0x21bed656},
      {"percentile 90", 0x3a815db8},
      {"percentile 1", 0x00000002},
      {"percentile 99.999", 0xddaa297b},
      {"per_tensor", 0xc6fa5a8e},
      {"signed_activations", 0xb778b5cb},
      {"symmetric", 0xd98a348a},
      {"exclude", 0x3d3c1b74},
      {"only", 0x5b84151e},
      {"operators", 0x1579b7c3},
      {"equalize on", 0xd5703588},
      {"equalize off", 0x14b6f848},
      {"bias_correction on", 0x21bed656},
      {"bias_correction off", 0xf472e647},
      {"sums int32", 0x21bed656},
      {"sums pairs", 0xf0c3f332},
      {"sums int16", 0xc6fb0b54},
      {"rounding adaptive", 0x1fd0ec51},
      {"bias_absorption on", 0x21bed656},
      {"range_search on", 0x26a9ce83},
      {"form operator", 0x1a9defee},
      {"max_drop 0", 0x00000003},
      {"max_drop 50", 0x00000003},
      {"batch 2", 0x21bed656},
      {"min_sqnr 30", 0x05e6f3d2},
      {"min_agreement 100", 0x00000001},
      {"all_int8", 0x21bed656},
      {"max_float 100", 0x1e71fc37},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    dq_model *model = api_load();
    dq_dataset *pictures = api_pictures("synth:shapes,size=8,count=16");
    dq_model_int8_options given;
    dq_model_int8_defaults(&given, sizeof given);
    given.all_int8 =
        strncmp(options[i].name, "m", 1) || !strncmp(options[i].name, "method", 6); // not where it is asked
    set_int8(&given, options[i].name);
    dq_code code = dq_model_int8(model, pictures, &given, NULL, &api_failure);
    uint32_t hash = code ? (uint32_t)code : hash_of(model);
    compare(&options[i], hash);
    dq_dataset_close(pictures);
    dq_model_free(model);
  }
  assert_int_equal(differences, 0);
}

static void each_option_of_float16(void **state) {
  (void)state;
  differences = 0;
  static const expected options[] = {
      {"defaults", 0xf0c18602},       {"half_io", 0xbbc42622},    {"allow", 0xf0c18602},   {"follow", 0xf0c18602},
      {"deny", 0xf53191aa},           {"deny_nodes", 0x1f4334c6}, {"nearest", 0x06af09e2}, {"unguarded", 0xf0c18602},
      {"input_max 1e30", 0x1e71fc37}, {"input_max 1", 0x400c55cf}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    dq_model *model = api_load();
    dq_model_amp_options given;
    dq_model_amp_defaults(&given, sizeof given);
    set_amp(&given, options[i].name);
    dq_code code = dq_model_amp(model, &given, NULL, &api_failure);
    uint32_t hash = code ? (uint32_t)code : hash_of(model);
    compare(&options[i], hash);
    dq_model_free(model);
  }
  assert_int_equal(differences, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_option_of_int8), cmocka_unit_test(each_option_of_float16)};
  return cmocka_run_group_tests(tests, enter, leave);
}
