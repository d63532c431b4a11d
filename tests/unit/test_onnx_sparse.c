// Sparse tensors of a file: their dense values, what is refused, what is written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/context.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/wire.h"

enum { FLOAT = 1, INT8 = 3, INT64 = 7, FLOAT16 = 10, SPARSE_ATTRIBUTE = 11 };

// Values 2, 3, ... of a type at the indices of a tensor 2x3.
static wire sparse(int type, int count, int indices_rank, const int64_t *indices) {
  const int64_t places[] = {count, 2};
  wire values = wire_tensor("w", type, 1, places), where = wire_tensor("", INT64, indices_rank, places), made = {0};
  for (int i = 0; i < count && type == FLOAT; i++) wire_float(&values, 4, (float)(i + 2));
  for (int i = 0; i < count && type != FLOAT; i++) wire_int(&values, 5, i + 2);
  for (int i = 0; i < count * (indices_rank == 2 ? 2 : 1); i++) wire_int(&where, 7, indices[i]);
  wire_message(&made, 1, &values);
  wire_message(&made, 2, &where);
  wire_int(&made, 3, 2), wire_int(&made, 3, 3);
  return made;
}

static wire with_initializer(wire tensor) {
  wire graph = wire_relu_graph();
  wire_message(&graph, 15, &tensor);
  return wire_model(&graph);
}

static dq_status load(dq_graph **graph, wire *model, dq_budget *budget, dq_error *error) {
  dq_context context;
  *error = (dq_error){0};
  assert_int_equal(dq_context_init(&context, 1, ~0u, NULL), DQ_OK);
  context.budget = budget;
  dq_status status = dq_onnx_load_bytes(graph, model->data, model->size, "/tmp", &context, error);
  dq_context_deinit(&context);
  return status;
}

static void assert_elements(const dq_tensor *tensor, int type, const double *expected) {
  assert_non_null(tensor);
  assert_int_equal(tensor->type, type);
  assert_int_equal(tensor->rank, 2);
  assert_true(tensor->dims[0] == 2 && tensor->dims[1] == 3);
  for (int i = 0; i < 6; i++)
    if (dq_tensor_get(tensor, i) != expected[i])
      fail_msg("element %d is %g, expected %g", i, dq_tensor_get(tensor, i), expected[i]);
}

static void assert_dense(wire tensor, int type, const double *expected) {
  dq_graph *graph = NULL;
  dq_error error;
  wire model = with_initializer(tensor);
  if (load(&graph, &model, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_elements(dq_graph_find(graph, "w")->constant, type, expected);
  dq_graph_free(graph);
  wire_free(&model);
}

static void test_dense_values(void **state) {
  (void)state;
  assert_dense(sparse(FLOAT, 3, 1, (int64_t[]){0, 2, 4}), DQ_F32, (double[]){2, 0, 3, 0, 4, 0});
  assert_dense(sparse(FLOAT, 3, 2, (int64_t[]){0, 1, 1, 0, 1, 2}), DQ_F32, (double[]){0, 2, 0, 3, 0, 4});
  assert_dense(sparse(INT8, 2, 1, (int64_t[]){4, 5}), DQ_I8, (double[]){0, 0, 0, 0, 2, 3});
  assert_dense(sparse(INT8, 1, 2, (int64_t[]){1, 1}), DQ_I8, (double[]){0, 0, 0, 0, 2, 0});
  assert_dense(sparse(FLOAT16, 1, 1, (int64_t[]){1}), DQ_F16, (double[]){0, 0x1p-23, 0, 0, 0, 0}); // the bits 2
  assert_dense(sparse(FLOAT, 0, 1, NULL), DQ_F32, (double[]){0, 0, 0, 0, 0, 0});
}

static void assert_refused(wire tensor, const char *words) {
  dq_graph *graph = NULL;
  dq_error error;
  wire model = with_initializer(tensor);
  assert_int_equal(load(&graph, &model, NULL, &error), DQ_BAD_INPUT);
  if (!strstr(error.message, words)) fail_msg("'%s', expected '%s'", error.message, words);
  wire_free(&model);
}

static void test_broken(void **state) {
  (void)state;
  assert_refused(sparse(FLOAT, 2, 1, (int64_t[]){0, 6}), "sparse tensor 'w': index 1 lies outside of the tensor");
  assert_refused(sparse(FLOAT, 1, 1, (int64_t[]){-1}), "index 0 lies outside of the tensor");
  assert_refused(sparse(FLOAT, 1, 2, (int64_t[]){0, 3}), "index 0 lies outside of the tensor");
  assert_refused(sparse(FLOAT, 1, 2, (int64_t[]){-1, 0}), "index 0 lies outside of the tensor");
  assert_refused(sparse(FLOAT, 2, 1, (int64_t[]){3, 1}), "index 1 is before the one in front of it");
  assert_refused(sparse(FLOAT, 2, 2, (int64_t[]){1, 0, 1, 0}), "index 1 is there twice");
  wire none = {0}, values = wire_tensor("w", FLOAT, 1, (int64_t[]){0});
  wire_message(&none, 1, &values);
  wire_int(&none, 3, 2);
  assert_refused(none, "there are no indices");
  wire three = sparse(FLOAT, 2, 2, (int64_t[]){0, 0, 1, 1});
  wire_int(&three, 3, 4); // a third dimension
  assert_refused(three, "the indices do not fit 2 values of a tensor with 3 dimensions");
}

// A dense tensor of 2^40 elements is beyond what the budget allows.
static void test_memory(void **state) {
  (void)state;
  dq_graph *graph = NULL;
  dq_error error;
  dq_budget budget = {.limit = 100 << 20};
  wire tensor = sparse(FLOAT, 1, 1, (int64_t[]){0});
  wire_int(&tensor, 3, 1 << 20), wire_int(&tensor, 3, 1 << 20);
  wire model = with_initializer(tensor);
  assert_int_equal(load(&graph, &model, &budget, &error), DQ_SYSTEM);
  wire_free(&model);
}

// A model whose Constant has a sparse value.
static wire with_constant(void) {
  wire graph = wire_relu_graph(), node = {0}, attribute = {0};
  wire tensor = sparse(FLOAT, 2, 1, (int64_t[]){1, 3});
  wire_text(&node, 2, "w");
  wire_text(&node, 4, "Constant");
  wire_text(&attribute, 1, "sparse_value");
  wire_int(&attribute, 20, SPARSE_ATTRIBUTE);
  wire_message(&attribute, 22, &tensor);
  wire_message(&node, 5, &attribute);
  wire_message(&graph, 1, &node);
  return wire_model(&graph);
}

static void test_written(void **state) {
  (void)state;
  char path[] = "/tmp/test_onnx_sparse_XXXXXX";
  dq_error error = {0};
  close(mkstemp(path));
  wire models[] = {with_initializer(sparse(FLOAT, 2, 1, (int64_t[]){1, 3})), with_constant()};
  for (int i = 0; i < 2; i++) {
    dq_graph *graph = NULL, *again = NULL;
    if (load(&graph, &models[i], NULL, &error) != DQ_OK) fail_msg("%s", error.message);
    if (dq_onnx_save(graph, path, &error) != DQ_OK) fail_msg("%s", error.message);
    if (dq_onnx_load(&again, path, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
    const dq_tensor *found = i ? dq_node_attribute(again->nodes[again->node_count - 1], "value")->tensor
                               : dq_graph_find(again, "w")->constant;
    assert_elements(found, DQ_F32, (double[]){0, 2, 0, 3, 0, 0});
    assert_int_equal(again->initializer_count, i ? 0 : 1);
    dq_graph_free(graph), dq_graph_free(again);
    wire_free(&models[i]);
  }
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense_values), cmocka_unit_test(test_broken),
                                     cmocka_unit_test(test_memory), cmocka_unit_test(test_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
