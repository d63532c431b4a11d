// The ONNX node test suite: which outputs count as those that a case expects.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/tensor.h"
#include "lib/eval/node_suite.h"
#include "tests/unit/wire.h"

static char folder[] = "/tmp/test_node_suite_XXXXXX";
static dq_context context;

static int start(void **state) {
  (void)state;
  return mkdtemp(folder) && dq_context_init(&context, 1, ~0u, NULL) == DQ_OK ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  char command[80];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

// Writes a file of the only case, and frees what it holds.
static void write_file(const char *name, wire *content) {
  char path[256];
  snprintf(path, sizeof path, "%s/test_one/%s", folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(content->data, 1, content->size, file), content->size);
  assert_int_equal(fclose(file), 0);
  wire_free(content);
}

static wire tensor_of(int type, int64_t count, const void *elements) {
  wire tensor = wire_tensor("", type, 1, &count);
  wire_bytes(&tensor, 9, elements, (size_t)count * dq_dtype_size(type));
  return tensor;
}

static wire declaration(const char *name, int type) {
  wire info = {0}, kind = {0}, tensor = {0};
  wire_int(&tensor, 1, type);
  wire_message(&kind, 1, &tensor);
  wire_text(&info, 1, name);
  wire_message(&info, 2, &kind);
  return info;
}

static char said[256];
static void note(void *user, const char *name, dq_case_result result, const char *reason) {
  (void)user, (void)name, (void)result;
  snprintf(said, sizeof said, "%s", reason);
}

// The result of a case whose operator gives what it reads: `got`, where the case has `expected`.
static dq_case_result judged(int type, int64_t count, const void *got, int expected_type, int64_t expected_count,
                             const void *expected) {
  char path[256];
  snprintf(path, sizeof path, "%s/test_one", folder);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/test_one/test_data_set_0", folder);
  mkdir(path, 0700);
  wire graph = {0}, node = wire_node("Identity", "n", "x", "y");
  wire x = declaration("x", type), y = declaration("y", type);
  wire_message(&graph, 1, &node);
  wire_text(&graph, 2, "g");
  wire_message(&graph, 11, &x);
  wire_message(&graph, 12, &y);
  wire model = wire_model(&graph), input = tensor_of(type, count, got);
  wire output = tensor_of(expected_type, expected_count, expected);
  write_file("model.onnx", &model);
  write_file("test_data_set_0/input_0.pb", &input);
  write_file("test_data_set_0/output_0.pb", &output);
  dq_suite_options options = {.report = note};
  dq_suite_counts counts;
  dq_error error = {0};
  if (dq_suite_run(folder, &options, &context, &counts, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(counts.of[0] + counts.of[1] + counts.of[2], 1);
  if (!counts.of[DQ_CASE_PASSED]) assert_true(said[0]);
  return counts.of[DQ_CASE_PASSED] ? DQ_CASE_PASSED : counts.of[DQ_CASE_FAILED] ? DQ_CASE_FAILED : DQ_CASE_SKIPPED;
}

// Bounds of the suite: 1e-3 |expected| + 1e-7. NaN answers NaN alone, infinity only that of its sign.
static void floats(void **state) {
  (void)state;
  const float above = nextafterf(INFINITY, 0);
  const struct {
    float got, expected;
    dq_case_result result;
  } cases[] = {
      {1, 1, DQ_CASE_PASSED},
      {1.0009f, 1, DQ_CASE_PASSED},
      {1.0011f, 1, DQ_CASE_FAILED},
      {-0.9991f, -1, DQ_CASE_PASSED},
      {1, -1, DQ_CASE_FAILED},
      {0, 0.9e-7f, DQ_CASE_PASSED},
      {1.1e-7f, 0, DQ_CASE_FAILED},
      {-0.0f, 0, DQ_CASE_PASSED},
      {NAN, NAN, DQ_CASE_PASSED},
      {NAN, 1, DQ_CASE_FAILED},
      {1, NAN, DQ_CASE_FAILED},
      {NAN, INFINITY, DQ_CASE_FAILED},
      {INFINITY, NAN, DQ_CASE_FAILED},
      {INFINITY, INFINITY, DQ_CASE_PASSED},
      {-INFINITY, -INFINITY, DQ_CASE_PASSED},
      {-INFINITY, INFINITY, DQ_CASE_FAILED},
      {above, INFINITY, DQ_CASE_FAILED},
      {INFINITY, above, DQ_CASE_FAILED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float got[3] = {2, cases[i].got, 3}, expected[3] = {2, cases[i].expected, 3};
    if (judged(DQ_F32, 3, got, DQ_F32, 3, expected) != cases[i].result)
      fail_msg("%g, expected %g: %s", (double)got[1], (double)expected[1], said);
    const double wide[2] = {cases[i].got, 1}, wide_expected[2] = {cases[i].expected, 1};
    assert_int_equal(judged(DQ_F64, 2, wide, DQ_F64, 2, wide_expected), cases[i].result);
  }
}

static void integers_are_exact(void **state) {
  (void)state;
  const int64_t large = (INT64_C(1) << 53) + 1, next = large - 1; // one double for both
  assert_int_equal(judged(DQ_I64, 1, &large, DQ_I64, 1, &large), DQ_CASE_PASSED);
  assert_int_equal(judged(DQ_I64, 1, &large, DQ_I64, 1, &next), DQ_CASE_FAILED);
  const int32_t thousand[2] = {1, 100000}, more[2] = {1, 100001};
  assert_int_equal(judged(DQ_I32, 2, thousand, DQ_I32, 2, thousand), DQ_CASE_PASSED);
  assert_int_equal(judged(DQ_I32, 2, thousand, DQ_I32, 2, more), DQ_CASE_FAILED);
  assert_non_null(strstr(said, "element 1 is 100000, expected 100001"));
}

static void types_and_shapes(void **state) {
  (void)state;
  const float values[4] = {0};
  assert_int_equal(judged(DQ_F32, 4, values, DQ_I32, 4, values), DQ_CASE_FAILED);
  assert_non_null(strstr(said, "has type float32, expected int32"));
  assert_int_equal(judged(DQ_F32, 4, values, DQ_F32, 3, values), DQ_CASE_FAILED);
  assert_non_null(strstr(said, "has shape 4, expected 3"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(floats), cmocka_unit_test(integers_are_exact),
                                     cmocka_unit_test(types_and_shapes)};
  return cmocka_run_group_tests(tests, start, end);
}
