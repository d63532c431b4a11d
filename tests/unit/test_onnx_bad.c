// Broken and hostile model files: what the loader says, and that it stays within time and memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/onnx/document.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/wire.h"

static char folder[] = "/tmp/test_onnx_bad_XXXXXX";

static dq_status load(const wire *model, dq_error *error) {
  dq_graph *graph = NULL;
  *error = (dq_error){0};
  uint8_t *exact = malloc(model->size + 1); // ends where the model ends, for the sanitizer
  assert_non_null(exact);
  if (model->size) memcpy(exact, model->data, model->size);
  dq_status status = dq_onnx_load_bytes(&graph, exact, model->size, folder, NULL, error);
  dq_graph_free(graph);
  free(exact);
  return status;
}

// Frees the model; fails the test unless loading gives `status` and a message with `words`.
static void refuses(wire *model, dq_status status, const char *words) {
  dq_error error;
  dq_status got = load(model, &error);
  if (got != status || (got != DQ_OK && !strstr(error.message, words)))
    fail_msg("status %d '%s', expected %d '%s'", (int)got, error.message, (int)status, words);
  wire_free(model);
}

// A relu model whose graph has one more initializer; takes the tensor over.
static wire with_tensor(wire *tensor) {
  wire graph = wire_relu_graph();
  wire_message(&graph, 5, tensor);
  return wire_model(&graph);
}

static void refuses_tensor(wire tensor, dq_status status, const char *words) {
  wire model = with_tensor(&tensor);
  refuses(&model, status, words);
}

// ---- Files that are something else ----

static void other_formats(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *words;
  } cases[] = {
      {"", 0, "empty file"},
      {"\xff\xd8\xff\xe0\0\x10JFIF", 10, "JPEG"},
      {"hello, this is text\n", 20, "text"},
      {"PK\x03\x04 archive/data.pkl", 20, "zip"},
      {"\x1c\0\0\0TFL3\0\0", 10, "TFLite"},
      {"\x89HDF\r\n\x1a\n", 8, "HDF5"},
      {"\x89PNG\r\n\x1a\n", 8, "PNG"},
      {"\0\0\0\0\0\0\0\0", 8, "not a valid ONNX model"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wire model = {0};
    wire_append(&model, cases[i].bytes, cases[i].size);
    refuses(&model, DQ_BAD_INPUT, cases[i].words);
  }
}

// ---- Sizes ----

static void tensor_sizes(void **state) {
  (void)state;
  const int64_t huge[] = {INT64_C(1) << 32, INT64_C(1) << 32}, negative[] = {2, -3}, two[] = {2};
  wire t = wire_tensor("w1", 1, 2, huge);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w1'");
  refuses_tensor(wire_tensor("w2", 1, 2, negative), DQ_BAD_INPUT, "tensor 'w2'");
  t = wire_tensor("w3", 1, 1, two);
  wire_bytes(&t, 9, "1234567", 7);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w3': 7 bytes of data, expected 8");
  t = wire_tensor("w4", 1, 1, two);
  wire_bytes(&t, 9, "123456789", 9);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w4': 9 bytes of data, expected 8");
  t = wire_tensor("w5", 1, 1, two);
  wire_float(&t, 4, 1), wire_float(&t, 4, 2);
  wire_bytes(&t, 9, "12345678", 8);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w5': both raw_data and a typed field");
  t = wire_tensor("w6", 7, 1, two);
  wire_float(&t, 4, 1), wire_float(&t, 4, 2);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w6': elements of type int64 are not in int64_data");
  t = wire_tensor("w7", 1, 1, two);
  wire_float(&t, 4, 1);
  refuses_tensor(t, DQ_BAD_INPUT, "tensor 'w7': 1 elements in float_data, expected 2");
  int64_t many[20];
  for (int i = 0; i < 20; i++) many[i] = 1 << 20;
  refuses_tensor(wire_tensor("w8", 1, 20, many), DQ_BAD_INPUT, "tensor 'w8'");
  refuses_tensor(wire_tensor("w9", 0, 1, two), DQ_BAD_INPUT, "tensor 'w9': element type is 0");
}

// Types that are only passed through load, whatever they are.
static void types_passed_through(void **state) {
  (void)state;
  const int64_t two[] = {2};
  static const struct {
    int type;
    size_t bytes;
  } types[] = {{16, 4}, {17, 2}, {18, 2}, {14, 16}, {15, 32}, {22, 1}, {21, 1}, {99, 5}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    uint8_t zeros[32] = {0};
    wire t = wire_tensor("w", types[i].type, 1, two);
    wire_bytes(&t, 9, zeros, types[i].bytes);
    refuses_tensor(t, DQ_OK, "");
  }
  wire t = wire_tensor("w", 8, 1, two);
  wire_bytes(&t, 6, "one", 3), wire_bytes(&t, 6, "two", 3);
  refuses_tensor(t, DQ_OK, "");
  const int64_t none[] = {3, 0}; // no field of elements is there, which the sanitizer sees when it is read
  for (int type = 1; type <= 13; type++) refuses_tensor(wire_tensor("w", type, 2, none), DQ_OK, "");
}

// ---- Headers and graphs ----

static wire with_header(int64_t ir, int opsets, const int64_t *versions) {
  wire model = {0}, graph = wire_relu_graph();
  wire_int(&model, 1, ir);
  wire_message(&model, 7, &graph);
  for (int i = 0; i < opsets; i++) {
    wire opset = {0};
    wire_int(&opset, 2, versions[i]);
    wire_message(&model, 8, &opset);
  }
  return model;
}

static void versions(void **state) {
  (void)state;
  wire m = with_header(0, 1, (int64_t[]){13});
  refuses(&m, DQ_BAD_INPUT, "IR version 0, supported are 3 to 14");
  m = with_header(99, 1, (int64_t[]){13});
  refuses(&m, DQ_UNSUPPORTED, "IR version 99, supported are 3 to 14");
  m = with_header(7, 1, (int64_t[]){0});
  refuses(&m, DQ_BAD_INPUT, "opset of domain '' is 0");
  m = with_header(7, 1, (int64_t[]){6});
  refuses(&m, DQ_UNSUPPORTED, "opset 6, supported are 7 to 28");
  m = with_header(7, 1, (int64_t[]){99});
  refuses(&m, DQ_UNSUPPORTED, "opset 99, supported are 7 to 28");
  m = with_header(7, 2, (int64_t[]){13, 14});
  refuses(&m, DQ_BAD_INPUT, "two opsets");
  m = with_header(7, 0, NULL);
  refuses(&m, DQ_BAD_INPUT, "no opset is imported");
}

static wire model_of_nodes(int count, wire *nodes) {
  wire graph = {0};
  for (int i = 0; i < count; i++) wire_message(&graph, 1, &nodes[i]);
  wire x = wire_declaration("x", 2, (int64_t[]){1, 4}), y = wire_declaration("y", 2, (int64_t[]){1, 4});
  wire_message(&graph, 11, &x);
  wire_message(&graph, 12, &y);
  return wire_model(&graph);
}

static void graphs(void **state) {
  (void)state;
  wire nodes[2] = {wire_node("Relu", "a", "b1", "a1"), wire_node("Relu", "b", "a1", "b1")};
  wire_text(&nodes[0], 2, "y");
  wire m = model_of_nodes(2, nodes);
  refuses(&m, DQ_BAD_INPUT, "cycle");
  nodes[0] = wire_node("Relu", "a", "ghost", "y");
  m = model_of_nodes(1, nodes);
  refuses(&m, DQ_BAD_INPUT, "input 'ghost' is not produced by anything");
  nodes[0] = wire_node("Relu", "a", "x", "y"), nodes[1] = wire_node("Relu", "b", "x", "y");
  m = model_of_nodes(2, nodes);
  refuses(&m, DQ_BAD_INPUT, "value 'y' is produced twice");
  nodes[0] = wire_node("Relu", "a", "x", "x");
  m = model_of_nodes(1, nodes);
  refuses(&m, DQ_BAD_INPUT, "value 'x' is produced twice");
  nodes[0] = wire_node("Relu", "", "x", "h"), nodes[1] = wire_node("Relu", "", "h", "y");
  m = model_of_nodes(2, nodes); // no names at all are fine
  refuses(&m, DQ_OK, "");
  nodes[0] = wire_node("Relu", "same", "x", "h"), nodes[1] = wire_node("Relu", "same", "h", "y");
  m = model_of_nodes(2, nodes);
  refuses(&m, DQ_OK, "");
  wire graph = wire_relu_graph(), one = wire_tensor("w", 1, 0, NULL), two = wire_tensor("w", 1, 0, NULL);
  wire_bytes(&one, 9, "1234", 4), wire_bytes(&two, 9, "1234", 4);
  wire_message(&graph, 5, &one), wire_message(&graph, 5, &two);
  m = wire_model(&graph);
  refuses(&m, DQ_BAD_INPUT, "initializer 'w' is there twice");
  wire empty = {0};
  m = wire_model(&empty);
  refuses(&m, DQ_BAD_INPUT, "no outputs");
}

// An input whose size stands in a field of a later version: not open, not known either.
static void sizes_in_unknown_fields(void **state) {
  (void)state;
  for (int whole = 0; whole < 2; whole++) {
    wire size = {0}, shape = {0}, tensor = {0}, type = {0}, input = {0};
    wire_int(&size, 5, 4);
    wire_message(&shape, 1, &size);
    wire_int(&tensor, 1, 1);
    wire_message(&tensor, whole ? 6 : 2, &shape);
    wire_message(&type, 1, &tensor);
    wire_text(&input, 1, "later");
    wire_message(&input, 2, &type);
    wire graph = wire_relu_graph();
    wire_message(&graph, 11, &input);
    wire m = wire_model(&graph);
    refuses(&m, DQ_UNSUPPORTED,
            whole ? "input 'later': the shape is in an unknown form"
                  : "input 'later': dimension 0 is in an unknown form");
  }
}

static void long_names(void **state) {
  (void)state;
  size_t length = 1 << 20;
  char *name = malloc(length + 1);
  memset(name, 'n', length);
  name[length] = 0;
  wire nodes[2] = {wire_node("Relu", name, "x", name), wire_node("Relu", "b", name, "y")};
  wire m = model_of_nodes(2, nodes);
  refuses(&m, DQ_OK, "");
  nodes[0] = wire_node(name, name, name, "y");
  m = model_of_nodes(1, nodes);
  refuses(&m, DQ_BAD_INPUT, "nnnn"); // the message may be cut
  free(name);
}

// ---- Hostile structure ----

static size_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (size_t)usage.ru_maxrss << 10;
}

// Frees the model. Time is the processor's, so that a busy machine does not fail the test.
static void refuses_quickly(wire *model, const char *words) {
  size_t before = peak_bytes();
  double own = (double)clock() / CLOCKS_PER_SEC;
  size_t size = model->size;
  refuses(model, DQ_BAD_INPUT, words);
  own = (double)clock() / CLOCKS_PER_SEC - own;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  if (own > 1) fail_msg("%.2f s", own);
  if (peak_bytes() > before + ((size_t)100 << 20) + size) fail_msg("%zu MB", (peak_bytes() - before) >> 20);
#endif
  (void)size, (void)before;
}

static void deep_nesting(void **state) {
  (void)state;
  // Graph in an attribute of a node of a graph ...; built inside out in linear time by prepending
  // headers back to front.
  enum { DEPTH = 10000 };
  size_t room = (size_t)DEPTH * 40 + 64;
  uint8_t *back = malloc(room);
  size_t used = 0;
  for (int i = 0; i < DEPTH; i++) {
    static const unsigned fields[] = {6, 5, 1}; // AttributeProto.g, NodeProto.attribute, GraphProto.node
    for (int k = 0; k < 3; k++) {
      wire header = {0};
      wire_tag(&header, fields[k], 2);
      wire_varint(&header, used);
      used += header.size;
      memcpy(back + room - used, header.data, header.size);
      wire_free(&header);
    }
  }
  wire graph = {0};
  wire_append(&graph, back + room - used, used);
  free(back);
  wire m = wire_model(&graph);
  refuses_quickly(&m, "nested");
}

static void huge_length(void **state) {
  (void)state;
  static const uint64_t lengths[] = {UINT64_C(1) << 63, UINT64_MAX, UINT64_C(1) << 40, INT64_MAX};
  for (int i = 0; i < 4; i++) {
    wire m = {0};
    wire_int(&m, 1, 7);
    wire_tag(&m, 7, 2);
    wire_varint(&m, lengths[i]);
    wire_append(&m, "1234", 4);
    refuses_quickly(&m, "cut off or malformed");
  }
}

static void million_empty(void **state) {
  (void)state;
  static const unsigned fields[] = {1, 5, 11, 12, 13, 15, 14}; // nodes, tensors, declarations, ...
  for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
    wire graph = {0};
    for (int i = 0; i < 1000000; i++) wire_bytes(&graph, fields[f], "", 0);
    wire m = wire_model(&graph);
    refuses_quickly(&m, "");
  }
}

// ---- Cut off ----

// A model of about 2 kB with a convolution, a batch normalization, a shape and a subgraph.
static wire larger_model(void) {
  wire graph = wire_relu_graph(), w = wire_tensor("w", 1, 4, (int64_t[]){8, 4, 3, 3});
  dq_random random = {5};
  float elements[8 * 4 * 9];
  for (int i = 0; i < 8 * 4 * 9; i++) elements[i] = dq_random_normal(&random);
  wire_bytes(&w, 9, elements, sizeof elements);
  wire_message(&graph, 5, &w);
  wire node = wire_node("Conv", "conv", "image", "maps"), attribute = {0};
  wire_text(&node, 1, "w");
  wire_text(&attribute, 1, "pads");
  for (int i = 0; i < 4; i++) wire_int(&attribute, 8, 1);
  wire_int(&attribute, 20, 7);
  wire_message(&node, 5, &attribute);
  wire_message(&graph, 1, &node);
  wire norm = wire_node("BatchNormalization", "norm", "maps", "normal");
  for (int i = 0; i < 4; i++) {
    char name[8];
    snprintf(name, sizeof name, "p%d", i);
    wire_text(&norm, 1, name);
    wire parameter = wire_tensor(name, 1, 1, (int64_t[]){8});
    for (int k = 0; k < 8; k++) wire_float(&parameter, 4, (float)(k + 1));
    wire_message(&graph, 5, &parameter);
  }
  wire_message(&graph, 1, &norm);
  wire act = wire_node("LeakyRelu", "act", "normal", "z"), alpha = {0};
  wire_text(&alpha, 1, "alpha");
  wire_float(&alpha, 2, 0.1f);
  wire_int(&alpha, 20, 1);
  wire_message(&act, 5, &alpha);
  wire_message(&graph, 1, &act);
  wire image = wire_declaration("image", 4, (int64_t[]){1, 4, 6, 6}), z = wire_declaration("z", 4, NULL);
  wire_message(&graph, 11, &image), wire_message(&graph, 12, &z);
  return wire_model(&graph);
}

static void every_truncation(void **state) {
  (void)state;
  wire m = larger_model();
  assert_in_range(m.size, 1500, 4000);
  dq_error error = {0};
  assert_int_equal(load(&m, &error), DQ_OK);
  for (size_t size = 0; size < m.size; size++) {
    wire part = {m.data, size, size};
    dq_status status = load(&part, &error);
    if (status != DQ_OK && status != DQ_BAD_INPUT)
      fail_msg("%zu bytes: status %d '%s'", size, (int)status, error.message);
  }
  wire_free(&m);
}

// ---- Data beside the model ----

static void write_file(const char *name, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < size; i++) fputc((int)i, file);
  fclose(file);
}

static void external_data(void **state) {
  (void)state;
  const int64_t four[] = {4};
  char outside[4096], link_path[4096], absolute[4096];
  write_file("weights.bin", 64);
  snprintf(outside, sizeof outside, "%s.outside", folder);
  FILE *file = fopen(outside, "wb");
  for (int i = 0; i < 64; i++) fputc(i, file);
  fclose(file);
  snprintf(link_path, sizeof link_path, "%s/link.bin", folder);
  assert_int_equal(symlink(outside, link_path), 0);
  snprintf(absolute, sizeof absolute, "%s/weights.bin", folder);
  char dotted[4096];
  snprintf(dotted, sizeof dotted, "../%s", strrchr(outside, '/') + 1);
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "16", "16"), DQ_OK, "");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "48", NULL), DQ_OK, "");
  refuses_tensor(wire_external("w", 1, four, "missing.bin", "0", "16"), DQ_BAD_INPUT, "missing.bin");
  refuses_tensor(wire_external("w", 1, four, "../../etc/passwd", "0", "16"), DQ_BAD_INPUT, "outside");
  refuses_tensor(wire_external("w", 1, four, dotted, "0", "16"), DQ_BAD_INPUT, "outside");
  snprintf(dotted, sizeof dotted, "..%s/weights.bin", strrchr(folder, '/')); // out of the folder and back
  refuses_tensor(wire_external("w", 1, four, dotted, "0", "16"), DQ_BAD_INPUT, "outside");
  refuses_tensor(wire_external("w", 1, four, ".//weights.bin", "0", "16"), DQ_OK, "");
  refuses_tensor(wire_external("w", 1, four, absolute, "0", "16"), DQ_BAD_INPUT, "outside");
  refuses_tensor(wire_external("w", 1, four, "link.bin", "0", "16"), DQ_BAD_INPUT, "outside");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "65", "16"), DQ_BAD_INPUT, "past its end");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "56", "16"), DQ_BAD_INPUT, "past its end");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "18446744073709551615", "16"), DQ_BAD_INPUT,
                 "past its end");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "99999999999999999999", "16"), DQ_BAD_INPUT,
                 "expected a number");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "-1", "16"), DQ_BAD_INPUT, "expected a number");
  refuses_tensor(wire_external("w", 1, four, "weights.bin", "0", "12"), DQ_BAD_INPUT,
                 "tensor 'w': 12 bytes of data, expected 16");
  refuses_tensor(wire_external("w", 1, four, NULL, "0", "16"), DQ_BAD_INPUT, "no location");
  refuses_tensor(wire_external("w", 1, four, ".", "0", "16"), DQ_BAD_INPUT, "'.'");
  wire graph = wire_relu_graph();
  wire a = wire_external("a", 1, four, "weights.bin", "0", "16");
  wire b = wire_external("b", 1, four, "weights.bin", "8", "16");
  wire_message(&graph, 5, &a), wire_message(&graph, 5, &b);
  wire m = wire_model(&graph);
  refuses(&m, DQ_BAD_INPUT, "overlap");
  graph = wire_relu_graph(); // the same span twice is sharing
  a = wire_external("a", 1, four, "weights.bin", "0", "16");
  b = wire_external("b", 1, four, "weights.bin", "0", "16");
  wire_message(&graph, 5, &a), wire_message(&graph, 5, &b);
  m = wire_model(&graph);
  refuses(&m, DQ_OK, "");
  unlink(outside);
}

// A sparse file of 5 GB beside the model is mapped, not read.
static void external_data_of_5_gb(void **state) {
  (void)state;
  char path[4096];
  const int64_t four[] = {4};
  write_file("large.bin", 1);
  snprintf(path, sizeof path, "%s/large.bin", folder);
  if (truncate(path, INT64_C(5) << 30)) {
    print_message("SKIP a sparse file of 5 GB cannot be made here\n");
    skip();
  }
  refuses_tensor(wire_external("w", 1, four, "large.bin", "5368709100", "16"), DQ_OK, "");
  refuses_tensor(wire_external("w", 1, four, "large.bin", "5368709109", "16"), DQ_BAD_INPUT, "past its end");
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"weights.bin", "link.bin", "large.bin"};
  char path[4096];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  return rmdir(folder);
}

static void *count_bytes(void *user, size_t size) {
  *(size_t *)user += size;
  return malloc(size);
}
static void free_bytes(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

// What the scan says that unpacking takes is what it asks for, where no number is packed.
static void memory_of_unpacking(void **state) {
  (void)state;
  wire graph = wire_relu_graph(), model = wire_model(&graph), note = {0};
  wire_text(&note, 1, "key");
  wire_text(&note, 2, "the value");
  wire_message(&model, 14, &note); // metadata_props
  wire_text(&model, 2, "a producer");
  size_t promised, taken = 0;
  assert_int_equal(dq_scan_message(&onnx__model_proto__descriptor, model.data, model.size, &promised, NULL), DQ_OK);
  ProtobufCAllocator allocator = {count_bytes, free_bytes, &taken};
  Onnx__ModelProto *unpacked = onnx__model_proto__unpack(&allocator, model.size, model.data);
  assert_non_null(unpacked);
  assert_int_equal(promised, taken);
  assert_string_equal(unpacked->producer_name, "a producer");
  onnx__model_proto__free_unpacked(unpacked, &allocator);
  wire_free(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_formats),
      cmocka_unit_test(tensor_sizes),
      cmocka_unit_test(types_passed_through),
      cmocka_unit_test(versions),
      cmocka_unit_test(graphs),
      cmocka_unit_test(long_names),
      cmocka_unit_test(sizes_in_unknown_fields),
      cmocka_unit_test(deep_nesting),
      cmocka_unit_test(huge_length),
      cmocka_unit_test(memory_of_unpacking),
      cmocka_unit_test(million_empty),
      cmocka_unit_test(every_truncation),
      cmocka_unit_test(external_data),
      cmocka_unit_test(external_data_of_5_gb),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
