// Inputs and outputs of a network through the public interface: arrays of each rank, scalars, integers and float16;
// the bounds of batches, indices and items.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/onnx/onnx.h"
#include "tests/unit/api_harness.h"

static dq_value *port(dq_graph *graph, dq_value ***list, int *count, const char *name, dq_dtype type, int rank,
                      const int64_t *dims) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *sizes = DQ_NEW_ARRAY(graph->arena, rank + 1, dq_dimension);
  value->type = type, value->rank = rank, value->dims = sizes;
  for (int i = 0; i < rank; i++) sizes[i] = (dq_dimension){.size = dims[i], .symbol = dims[i] < 0 ? "N" : NULL};
  dq_value **longer = DQ_NEW_ARRAY(graph->arena, *count + 1, dq_value *);
  for (int i = 0; i < *count; i++) longer[i] = (*list)[i];
  longer[(*count)++] = value;
  *list = longer;
  return value;
}

static dq_node *node(dq_graph *graph, const char *op_type, dq_value *x, dq_value *y) {
  return dq_graph_add_node(graph, graph->node_count, op_type, y->name, 1, &x, 1, &y);
}

// Input x, N x 3 of float16; outputs: its sum, a scalar; x in float32; its shape; x as it is with two more dimensions.
static dq_model *load_model(void) {
  dq_graph *graph = dq_graph_new(0);
  dq_error error;
  dq_model *model;
  char path[64];
  snprintf(path, sizeof path, "/tmp/test_api_arrays_%d.onnx", (int)getpid());
  assert_int_equal(dq_graph_set_opset(graph, "", 13, &error), DQ_OK);
  graph->ir_version = 7, graph->name = "arrays";
  dq_value *x = port(graph, &graph->inputs, &graph->input_count, "x", DQ_F16, 2, (int64_t[]){-1, 3});
  x->is_input = true;
  dq_value *sum = port(graph, &graph->outputs, &graph->output_count, "sum", DQ_F16, 0, NULL);
  dq_value *wide = port(graph, &graph->outputs, &graph->output_count, "wide", DQ_F32, 2, (int64_t[]){-1, 3});
  dq_value *shape = port(graph, &graph->outputs, &graph->output_count, "shape", DQ_I64, 1, (int64_t[]){2});
  dq_value *deep = port(graph, &graph->outputs, &graph->output_count, "deep", DQ_F16, 4, (int64_t[]){1, -1, 3, 1});
  sum->is_output = wide->is_output = shape->is_output = deep->is_output = true;
  dq_node_set_int(graph, node(graph, "ReduceSum", x, sum), "keepdims", 0);
  dq_node_set_int(graph, node(graph, "Cast", x, wide), "to", 1);
  node(graph, "Shape", x, shape);
  int64_t axis_count = 2;
  dq_tensor *axes = dq_tensor_new(graph->arena, DQ_I64, 1, &axis_count);
  memcpy(axes->data, (int64_t[]){0, 3}, 2 * sizeof(int64_t));
  dq_value *inputs[] = {x, dq_graph_add_constant(graph, "axes", axes)};
  dq_graph_add_node(graph, graph->node_count, "Unsqueeze", "deep", 2, inputs, 1, &deep);
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
  assert_int_equal(dq_onnx_save(graph, path, &error), DQ_OK);
  dq_graph_free(graph);
  assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
  unlink(path);
  return model;
}

static void check_array(const dq_array *array, const char *name, const char *type_name, int type, int rank,
                        const int64_t *dims, uint64_t bytes) {
  assert_string_equal(array->name, name);
  assert_string_equal(array->type_name, type_name);
  assert_int_equal(array->type, type);
  assert_int_equal(array->rank, rank);
  for (int i = 0; i < rank; i++) assert_int_equal(array->dims[i], dims[i]);
  for (int i = rank; i < 8; i++) assert_int_equal(array->dims[i], 0);
  assert_int_equal(array->bytes, bytes);
  assert_non_null(array->data);
}

static void arrays_of_each_rank(void **state) {
  (void)state;
  dq_model *model = load_model();
  dq_network_options options;
  dq_network *network;
  dq_array x, sum, wide, shape, deep, none = {.rank = 77};
  dq_network_defaults(&options, sizeof options);
  options.batch = 2;
  assert_int_equal(dq_network_open(&network, model, &options, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_inputs(network), 1);
  assert_int_equal(dq_network_outputs(network), 4);
  assert_false(dq_network_input(network, -1, &none) || dq_network_input(network, 1, &none));
  assert_false(dq_network_output(network, -1, &none) || dq_network_output(network, 4, &none));
  assert_int_equal(none.rank, 77);
  assert_true(dq_network_input(network, 0, &x));
  check_array(&x, "x", "float16", 10, 2, (int64_t[]){2, 3}, 12);
  // 1, 2, 0.5, -4, 0.25, 8: their sum is 7.75
  const uint16_t bits[] = {0x3c00, 0x4000, 0x3800, 0xc400, 0x3400, 0x4800};
  memcpy(x.data, bits, sizeof bits);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_output(network, 0, &sum) && dq_network_output(network, 1, &wide));
  assert_true(dq_network_output(network, 2, &shape) && dq_network_output(network, 3, &deep));
  check_array(&sum, "sum", "float16", 10, 0, NULL, 2);
  check_array(&wide, "wide", "float32", 1, 2, (int64_t[]){2, 3}, 24);
  check_array(&shape, "shape", "int64", 7, 1, (int64_t[]){2}, 16);
  check_array(&deep, "deep", "float16", 10, 4, (int64_t[]){1, 2, 3, 1}, 12);
  assert_int_equal(*(const uint16_t *)sum.data, 0x47c0);
  assert_memory_equal(wide.data, ((const float[]){1, 2, 0.5f, -4, 0.25f, 8}), 24);
  assert_memory_equal(shape.data, ((const int64_t[]){2, 3}), 16);
  assert_memory_equal(deep.data, bits, sizeof bits);
  dq_network_close(network);
  dq_model_free(model);
}

// Samples of 3 numbers, read as float32 and stored in float16; the memory for one of them serves the next.
static void samples_in_float16(void **state) {
  (void)state;
  char path[64], spec[80], header[128];
  snprintf(path, sizeof path, "/tmp/test_api_arrays_%d.npy", (int)getpid());
  snprintf(spec, sizeof spec, "npy:%s", path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }");
  fprintf(file, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
  for (int i = 0; i < 12; i++) {
    float value = (float)i + 1.0f / 4096; // which float16 has no more from 1 on
    fwrite(&value, sizeof value, 1, file);
  }
  fclose(file);
  dq_model *model = load_model();
  dq_dataset *dataset = api_pictures(spec);
  unlink(path);
  dq_network_options options;
  dq_network *network;
  dq_array x;
  dq_network_defaults(&options, sizeof options);
  options.batch = 2;
  assert_int_equal(dq_network_open(&network, model, &options, &api_failure), DQ_CODE_OK);
  dq_sample sample = {.size = sizeof sample, .label = 5};
  assert_int_equal(dq_network_read(network, dataset, 3, 0, &sample, &api_failure), DQ_CODE_OK);
  assert_int_equal(sample.label, -1);
  assert_non_null(sample.name);
  assert_int_equal(dq_network_read(network, dataset, 0, 1, NULL, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_input(network, 0, &x));
  const uint16_t expected[] = {0x4880, 0x4900, 0x4980, 0x0c00, 0x3c00, 0x4000}; // 9, 10, 11, 1 / 4096, 1, 2
  assert_memory_equal(x.data, expected, sizeof expected);
  api_expect(dq_network_read(network, dataset, 0, -1, NULL, &api_failure), DQ_CODE_USAGE,
             "item is -1, expected 0 to 1");
  api_expect(dq_network_read(network, dataset, 0, 2, NULL, &api_failure), DQ_CODE_USAGE, "item is 2, expected 0 to 1");
  api_expect(dq_network_read(network, dataset, -1, 0, NULL, &api_failure), DQ_CODE_USAGE,
             "index is -1, expected 0 to 3");
  api_expect(dq_network_read(network, dataset, 4, 0, NULL, &api_failure), DQ_CODE_USAGE, "index is 4, expected 0 to 3");
  assert_memory_equal(x.data, expected, sizeof expected);
  dq_network_close(network);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static void bounds_of_the_batch(void **state) {
  (void)state;
  dq_model *model = load_model();
  const struct {
    int64_t batch;
    dq_code code;
  } cases[] = {{-1, DQ_CODE_USAGE}, {0, DQ_CODE_USAGE}, {1, DQ_CODE_OK}, {65536, DQ_CODE_OK}, {65537, DQ_CODE_USAGE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_network_options options;
    dq_network *network = (dq_network *)1;
    dq_array x;
    dq_network_defaults(&options, sizeof options);
    assert_int_equal(options.batch, 1);
    options.batch = cases[i].batch;
    assert_int_equal(dq_network_open(&network, model, &options, &api_failure), cases[i].code);
    if (cases[i].code) {
      assert_null(network);
      assert_non_null(strstr(api_failure.message, "expected 1 to 65536"));
    } else {
      assert_true(dq_network_input(network, 0, &x));
      assert_int_equal(x.dims[0], cases[i].batch);
      dq_network_close(network);
    }
  }
  // A model is not freed, nor changed, while a network is open on it.
  dq_network *first, *second;
  assert_int_equal(dq_network_open(&first, model, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_open(&second, model, NULL, &api_failure), DQ_CODE_OK);
  api_expect(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_USAGE, "network");
  dq_network_close(first);
  api_expect(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_USAGE, "network");
  dq_network_close(second);
  assert_int_equal(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_OK);
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_of_each_rank), cmocka_unit_test(samples_in_float16),
                                     cmocka_unit_test(bounds_of_the_batch)};
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
