// Loading and saving: every way to store elements, everything not understood is written back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/file.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/wire.h"

static char folder[] = "/tmp/test_round_trip_XXXXXX";

static const char *path_of(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void load(dq_graph **graph, const wire *model) {
  dq_error error = {0};
  if (dq_onnx_load_bytes(graph, model->data, model->size, folder, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
}

static void save(const dq_graph *graph, const char *path) {
  dq_error error = {0};
  if (dq_onnx_save(graph, path, &error) != DQ_OK) fail_msg("%s", error.message);
}

static void same_as_file(const uint8_t *data, size_t size, const char *path) {
  dq_file file;
  dq_error error = {0};
  if (dq_file_open(&file, path, &error) != DQ_OK) fail_msg("%s", error.message);
  size_t at = 0;
  while (at < size && at < file.size && data[at] == file.data[at]) at++;
  if (size != file.size || at < size)
    fail_msg("%s: %zu bytes, expected %zu; differs from byte %zu", path, file.size, size, at);
  dq_file_close(&file);
}

// The model, whose fields stand in the order of their numbers, comes back byte for byte; frees it.
static void comes_back(wire *model) {
  dq_graph *graph;
  load(&graph, model);
  save(graph, path_of("saved.onnx"));
  same_as_file(model->data, model->size, path_of("saved.onnx"));
  dq_graph_free(graph);
  wire_free(model);
}

// ---- Elements ----

enum { COUNT = 3 };
static const double numbers[COUNT] = {1, 0, 3}; // fits every type

// The numbers in `type`, as they lie in memory.
static size_t encode(int type, uint8_t *bytes) {
  dq_tensor tensor = {.type = type, .rank = 1, .dims = {COUNT}, .data = bytes};
  for (int i = 0; i < COUNT; i++) dq_tensor_set(&tensor, i, numbers[i]);
  return dq_tensor_bytes(&tensor);
}

static void add_packed(wire *tensor, int type, const uint8_t *bytes) {
  wire packed = {0};
  unsigned field = 5;
  for (int i = 0; i < COUNT; i++) {
    uint16_t half;
    memcpy(&half, bytes + 2 * i, 2);
    switch (type) {
    case DQ_F32: field = 4, wire_append(&packed, bytes + 4 * i, 4); break;
    case DQ_F64: field = 10, wire_append(&packed, bytes + 8 * i, 8); break;
    case DQ_I64: field = 7, wire_varint(&packed, (uint64_t)numbers[i]); break;
    case DQ_U32:
    case DQ_U64: field = 11, wire_varint(&packed, (uint64_t)numbers[i]); break;
    case DQ_F16: wire_varint(&packed, half); break;
    default: wire_varint(&packed, (uint64_t)numbers[i]); break;
    }
  }
  wire_message(tensor, field, &packed);
}

// A relu model with one more initializer 'w'; `raw` says how its elements are stored.
static wire model_with(int type, bool raw) {
  uint8_t bytes[COUNT * 8] __attribute__((aligned(8))) = {0};
  size_t size = encode(type, bytes);
  wire tensor = {0}, graph = {0}, relu = wire_node("Relu", "relu", "x", "y");
  wire x = wire_declaration("x", 2, (int64_t[]){1, 4}), y = wire_declaration("y", 2, (int64_t[]){1, 4});
  wire_int(&tensor, 1, COUNT);
  wire_int(&tensor, 2, type);
  bool late = type == DQ_F64 || type == DQ_U32 || type == DQ_U64; // fields 10 and 11 follow the name
  if (!raw && !late) add_packed(&tensor, type, bytes);
  wire_text(&tensor, 8, "w");
  if (raw) wire_bytes(&tensor, 9, bytes, size);
  if (!raw && late) add_packed(&tensor, type, bytes);
  wire_message(&graph, 1, &relu);
  wire_text(&graph, 2, "g");
  wire_message(&graph, 5, &tensor);
  wire_message(&graph, 11, &x);
  wire_message(&graph, 12, &y);
  return wire_model(&graph);
}

static void elements(void **state) {
  (void)state;
  static const int types[] = {DQ_F32, DQ_F16, DQ_F64, DQ_I8,  DQ_U8,  DQ_I16,
                              DQ_U16, DQ_I32, DQ_U32, DQ_I64, DQ_U64, DQ_BOOL};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int raw = 0; raw < 2; raw++) {
      wire model = model_with(types[t], raw);
      dq_graph *graph;
      load(&graph, &model);
      const dq_tensor *w = dq_graph_find(graph, "w")->constant;
      assert_int_equal(w->type, types[t]);
      assert_int_equal(dq_tensor_count(w), COUNT);
      for (int i = 0; i < COUNT; i++) {
        double expected = types[t] == DQ_BOOL ? numbers[i] != 0 : numbers[i];
        double got = dq_tensor_get(w, i);
        if (types[t] == DQ_BOOL) got = got != 0;
        if (got != expected) fail_msg("%s raw %d: %g, expected %g", dq_dtype_name(types[t]), raw, got, expected);
      }
      dq_graph_free(graph);
      comes_back(&model);
    }
}

// An initializer of more dimensions than dq computes with is carried through; its shape is not known to dq.
static void many_dimensions(void **state) {
  (void)state;
  int64_t dims[DQ_MAX_RANK + 1];
  for (int i = 0; i <= DQ_MAX_RANK; i++) dims[i] = 1;
  wire graph = wire_relu_graph(), w = wire_tensor("w", DQ_F32, DQ_MAX_RANK + 1, dims);
  wire_float(&w, 4, 2.5f);
  wire_message(&graph, 5, &w);
  wire model = wire_model(&graph);
  dq_graph *loaded;
  load(&loaded, &model);
  const dq_tensor *tensor = dq_graph_find(loaded, "w")->constant;
  assert_int_equal(tensor->type, DQ_F32);
  assert_int_equal(tensor->rank, -1);
  assert_null(tensor->data);
  save(loaded, path_of("saved.onnx"));
  dq_graph_free(loaded);
  dq_file file;
  dq_error error = {0};
  assert_int_equal(dq_file_open(&file, path_of("saved.onnx"), &error), DQ_OK);
  const float value = 2.5f;
  assert_non_null(memmem(file.data, file.size, &value, sizeof value));
  dq_file_close(&file);
  wire_free(&model);
}

// Elements beside the model are read; saved under another name the place is kept as it is.
static void external_elements(void **state) {
  (void)state;
  const float values[4] = {1, -2, 3, 4};
  FILE *file = fopen(path_of("w.bin"), "wb");
  fwrite("12345678", 1, 8, file);
  fwrite(values, sizeof values, 1, file);
  fclose(file);
  wire graph = wire_relu_graph(), w = wire_external("w", 1, (int64_t[]){4}, "w.bin", "8", "16");
  wire_message(&graph, 5, &w);
  wire model = wire_model(&graph);
  dq_graph *loaded;
  load(&loaded, &model);
  assert_memory_equal(dq_graph_find(loaded, "w")->constant->data, values, sizeof values);
  save(loaded, path_of("external.onnx"));
  dq_graph_free(loaded);
  dq_error error = {0};
  assert_int_equal(dq_onnx_load(&loaded, path_of("external.onnx"), NULL, &error), DQ_OK);
  assert_memory_equal(dq_graph_find(loaded, "w")->constant->data, values, sizeof values);
  dq_graph_free(loaded);
  wire_free(&model);
}

// ---- What is not understood ----

static wire typed_attribute(const char *name, unsigned field, int type) {
  wire a = {0}, t = wire_tensor("", 1, 0, NULL);
  wire body = {0}, inside = wire_node("Neg", "inner", "h", "t"), result = wire_declaration("t", 0, NULL);
  const float one = 1;
  wire_bytes(&t, 9, &one, 4);
  wire_message(&body, 1, &inside);
  wire_text(&body, 2, "body");
  wire_message(&body, 12, &result);
  wire_text(&a, 1, name);
  switch (field) {
  case 2: wire_float(&a, 2, 1.5f); break;
  case 3: wire_int(&a, 3, -7); break;
  case 4: wire_bytes(&a, 4, "te\0xt", 5); break;
  case 5:
  case 10: wire_bytes(&a, field, t.data, t.size); break;
  case 6:
  case 11: wire_bytes(&a, field, body.data, body.size); break;
  case 7: wire_float(&a, 7, 1), wire_float(&a, 7, 2); break;
  case 8: wire_int(&a, 8, 1), wire_int(&a, 8, INT64_MIN); break;
  case 9: wire_text(&a, 9, "one"), wire_text(&a, 9, ""); break;
  default: break;
  }
  wire_text(&a, 13, "a note");
  wire_int(&a, 20, type);
  wire_free(&t), wire_free(&body);
  return a;
}

static void add_unknown(wire *w) { wire_text(w, 999, "from the future"); }

static wire rich_graph(void) {
  wire graph = {0}, node = wire_node("Strange", "s", "x", "h");
  static const unsigned fields[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  static const int types[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int i = 0; i < 10; i++) {
    char name[16];
    snprintf(name, sizeof name, "attribute%d", i);
    wire a = typed_attribute(name, fields[i], types[i]);
    add_unknown(&a);
    wire_message(&node, 5, &a);
  }
  wire_text(&node, 6, "documentation");
  wire_text(&node, 7, "my.domain");
  add_unknown(&node);
  wire relu = wire_node("Relu", "", "h", "y"), w = wire_tensor("w", 16, 1, (int64_t[]){2}), info = {0};
  wire x = wire_declaration("x", 2, (int64_t[]){1, 4}), y = wire_declaration("y", 2, (int64_t[]){1, 4});
  wire_bytes(&w, 9, "abcd", 4);
  add_unknown(&w);
  wire_text(&info, 1, "h");
  add_unknown(&info);
  add_unknown(&y);
  wire_message(&graph, 1, &node);
  wire_message(&graph, 1, &relu);
  wire_text(&graph, 2, "g");
  wire_message(&graph, 5, &w);
  wire_text(&graph, 10, "about the graph");
  wire_message(&graph, 11, &x);
  wire_message(&graph, 12, &y);
  wire_message(&graph, 13, &info);
  add_unknown(&graph);
  return graph;
}

static wire rich_model(void) {
  wire model = {0}, graph = rich_graph(), opset = {0}, mine = {0}, property = {0}, function = {0};
  wire_int(&opset, 2, 13);
  add_unknown(&opset);
  wire_text(&mine, 1, "my.domain"), wire_int(&mine, 2, 3);
  wire_text(&property, 1, "key"), wire_text(&property, 2, "value");
  wire body = wire_node("Relu", "", "a", "b"), needs = {0};
  wire_int(&needs, 2, 13);
  wire_text(&function, 1, "Strange");
  wire_text(&function, 4, "a"), wire_text(&function, 5, "b");
  wire_message(&function, 7, &body);
  wire_message(&function, 9, &needs);
  wire_text(&function, 10, "my.domain");
  wire_int(&model, 1, 8);
  wire_text(&model, 2, "a producer"), wire_text(&model, 3, "1.0");
  wire_int(&model, 5, 4);
  wire_message(&model, 7, &graph);
  wire_message(&model, 8, &opset), wire_message(&model, 8, &mine);
  wire_message(&model, 14, &property);
  wire_message(&model, 25, &function);
  add_unknown(&model);
  return model;
}

static void everything_is_kept(void **state) {
  (void)state;
  wire model = rich_model();
  dq_graph *graph;
  load(&graph, &model);
  const dq_node *node = graph->nodes[0];
  assert_int_equal(node->attribute_count, 10);
  assert_true(dq_node_float(node, "attribute0", 0) == 1.5f);
  assert_int_equal(dq_node_int(node, "attribute1", 0), -7);
  assert_int_equal(dq_node_attribute(node, "attribute2")->count, 5);
  assert_true(((float *)dq_node_tensor(node, "attribute3")->data)[0] == 1);
  int count;
  assert_int_equal(dq_node_ints(node, "attribute6", &count)[1], INT64_MIN);
  assert_string_equal(dq_node_attribute(node, "attribute7")->strings[0], "one");
  assert_true(dq_graph_find(graph, "h")->is_captured); // the bodies read it
  assert_int_equal(graph->function_count, 1);
  assert_string_equal(dq_graph_property(graph, "key"), "value");
  dq_graph_free(graph);
  comes_back(&model);
}

// A change in one place leaves the rest as it was.
// An input may be without a shape, and beside its shape there may be a field of a later version.
static void declared_inputs(void **state) {
  (void)state;
  wire size = {0}, shape = {0}, tensor = {0}, type = {0}, later = {0}, plain = wire_declaration("free", 0, NULL);
  wire_int(&size, 1, 4);
  wire_message(&shape, 1, &size);
  wire_int(&tensor, 1, 1);
  wire_message(&tensor, 2, &shape);
  add_unknown(&tensor);
  wire_message(&type, 1, &tensor);
  wire_text(&later, 1, "later");
  wire_message(&later, 2, &type);
  wire graph = wire_relu_graph();
  wire_message(&graph, 11, &plain);
  wire_message(&graph, 11, &later);
  wire model = wire_model(&graph);
  dq_graph *loaded;
  load(&loaded, &model);
  assert_int_equal(loaded->input_count, 3);
  assert_int_equal(loaded->inputs[1]->rank, -1);
  assert_int_equal(loaded->inputs[2]->rank, 1);
  assert_int_equal(loaded->inputs[2]->dims[0].size, 4);
  dq_graph_free(loaded);
  wire_free(&model);
}

static void edited(void **state) {
  (void)state;
  wire model = rich_model();
  dq_graph *graph, *again;
  dq_error error = {0};
  load(&graph, &model);
  assert_true(dq_node_set_int(graph, graph->nodes[1], "fresh", 5));
  assert_true(dq_node_set_ints(graph, graph->nodes[1], "list", (int64_t[]){1, 2}, 2));
  assert_true(dq_node_set_string(graph, graph->nodes[1], "word", "text"));
  assert_true(dq_node_set_float(graph, graph->nodes[1], "number", 2.5f));
  assert_int_equal(dq_graph_set_property(graph, "key", "another", &error), DQ_OK);
  save(graph, path_of("edited.onnx"));
  assert_int_equal(dq_onnx_load(&again, path_of("edited.onnx"), NULL, &error), DQ_OK);
  assert_int_equal(again->nodes[0]->attribute_count, 10);
  assert_int_equal(dq_node_int(again->nodes[1], "fresh", 0), 5);
  assert_string_equal(dq_node_string(again->nodes[1], "word", ""), "text");
  assert_true(dq_node_float(again->nodes[1], "number", 0) == 2.5f);
  assert_string_equal(dq_graph_property(again, "key"), "another");
  assert_int_equal(again->function_count, 1);
  dq_graph_free(again);
  dq_graph_free(graph);
  wire_free(&model);
}

// Initializers that IR version 3 lists as inputs stay there and are no inputs to be fed.
static void initializers_as_inputs(void **state) {
  (void)state;
  wire graph = {0}, add = {0}, w = wire_tensor("w", 1, 1, (int64_t[]){4}), model = {0}, opset = {0};
  wire x = wire_declaration("x", 2, (int64_t[]){1, 4}), y = wire_declaration("y", 2, (int64_t[]){1, 4});
  wire declared = wire_declaration("w", 1, (int64_t[]){4});
  const float four[4] = {1, 2, 3, 4};
  wire_text(&add, 1, "x"), wire_text(&add, 1, "w"), wire_text(&add, 2, "y"), wire_text(&add, 4, "Add");
  wire_bytes(&w, 9, four, sizeof four);
  wire_message(&graph, 1, &add), wire_text(&graph, 2, "g"), wire_message(&graph, 5, &w);
  wire_message(&graph, 11, &x), wire_message(&graph, 11, &declared), wire_message(&graph, 12, &y);
  wire_int(&opset, 2, 8), wire_int(&model, 1, 3);
  wire_message(&model, 7, &graph), wire_message(&model, 8, &opset);
  dq_graph *loaded;
  load(&loaded, &model);
  assert_int_equal(loaded->input_count, 2);
  assert_non_null(loaded->inputs[1]->constant);
  dq_graph_free(loaded);
  comes_back(&model);
}

// ---- Real models ----

static void real_models(void **state) {
  (void)state;
  const char *assets = getenv("DQ_ASSETS") ? getenv("DQ_ASSETS") : "../shared";
  char models[3000], path[4000];
  snprintf(models, sizeof models, "%s/models", assets);
  DIR *directory = opendir(models);
  if (!directory) {
    print_message("SKIP real models: %s is not there\n", models);
    skip();
  }
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 5, ".onnx")) continue;
    snprintf(path, sizeof path, "%s/%s", models, entry->d_name);
    dq_graph *graph;
    dq_error error = {0};
    if (dq_onnx_load(&graph, path, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
    save(graph, path_of("saved.onnx"));
    dq_graph_free(graph);
    dq_file file;
    assert_int_equal(dq_file_open(&file, path, &error), DQ_OK);
    same_as_file(file.data, file.size, path_of("saved.onnx"));
    dq_file_close(&file);
    count++;
  }
  closedir(directory);
  if (!count) {
    print_message("SKIP real models: none in %s\n", models);
    skip();
  }
}

// ---- Beyond what one message holds ----

// Weights of 2.25 GB go into a file beside the model; only in `make test-large`.
static void larger_than_a_message(void **state) {
  (void)state;
  enum { WEIGHTS = 9 };
  const int64_t count = 64 << 20;
  dq_error error = {0};
  wire graph = wire_relu_graph(), model = wire_model(&graph);
  dq_graph *made, *again;
  load(&made, &model);
  dq_tensor *tensors[WEIGHTS];
  float *elements = calloc((size_t)count, sizeof *elements);
  assert_non_null(elements);
  elements[0] = 1, elements[count - 1] = 2;
  for (int i = 0; i < WEIGHTS; i++) { // all share one block of memory
    tensors[i] = DQ_NEW(made->arena, dq_tensor);
    assert_int_equal(dq_tensor_shape(tensors[i], DQ_F32, 1, &count, &error), DQ_OK);
    tensors[i]->data = elements;
    assert_non_null(dq_graph_add_constant(made, "w", tensors[i]));
  }
  save(made, path_of("external.onnx"));
  dq_graph_free(made);
  wire_free(&model);
  struct stat info;
  assert_int_equal(stat(path_of("external.onnx"), &info), 0);
  assert_true(info.st_size < 10000);
  assert_int_equal(stat(path_of("external.onnx.data"), &info), 0);
  assert_true(info.st_size >= WEIGHTS * count * 4);
  if (dq_onnx_load(&again, path_of("external.onnx"), NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(again->initializer_count, WEIGHTS);
  for (int i = 0; i < WEIGHTS; i++) {
    const float *read = again->initializers[i]->constant->data;
    assert_true(read[0] == 1 && read[1] == 0 && read[count - 1] == 2);
  }
  dq_graph_free(again);
  free(elements);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"saved.onnx", "w.bin", "external.onnx", "external.onnx.data", "edited.onnx"};
  for (int i = 0; i < 5; i++) unlink(path_of(names[i]));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements),        cmocka_unit_test(external_elements),
      cmocka_unit_test(many_dimensions), cmocka_unit_test(everything_is_kept),
      cmocka_unit_test(edited),          cmocka_unit_test(initializers_as_inputs),
      cmocka_unit_test(real_models),     cmocka_unit_test(declared_inputs),
  };
  const struct CMUnitTest large[] = {cmocka_unit_test(larger_than_a_message)};
  if (getenv("DQ_TEST_LARGE")) return cmocka_run_group_tests(large, make_folder, remove_folder);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
