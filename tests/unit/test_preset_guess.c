// Presets that metadata tells: each row, the sizes of open inputs, and properties that are missing, broken or
// ambiguous.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/document/origin.h"
#include "lib/document/preset_guess.h"
#include "lib/document/stored_preset.h"

static char said[256];

static void keep(void *user, dq_severity severity, const char *text) {
  (void)user;
  if (severity == DQ_NOTE) snprintf(said, sizeof said, "%s", text);
}

static const dq_context CONTEXT = {.message = keep};

typedef struct facts {
  const char *author, *task, *names, *description, *imgsz, *stride, *end2end;
  int64_t input[4], output[3];
} facts;

static const dq_dimension *dims_of(dq_graph *graph, const int64_t *sizes, int rank) {
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) dims[i] = (dq_dimension){.size = sizes[i]};
  return dims;
}

static void tell(dq_graph *graph, const char *key, const char *value) {
  if (value) assert_int_equal(dq_graph_set_property(graph, key, value, NULL), DQ_OK);
}

static dq_value *value_of(dq_graph *graph, const char *name, const int64_t *sizes, int rank) {
  dq_value *value = dq_graph_add_value(graph, name);
  value->type = DQ_F32, value->rank = rank, value->dims = dims_of(graph, sizes, rank);
  return value;
}

// A network of one node with these properties; sizes that are all 0 are 1x3x64x64 and 1x6x84.
static dq_graph *graph_of(const facts *f) {
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = value_of(graph, "x", f->input[0] ? f->input : (const int64_t[]){1, 3, 64, 64}, 4);
  dq_value *y = value_of(graph, "y", f->output[0] ? f->output : (const int64_t[]){1, 6, 84}, 3);
  dq_graph_add_node(graph, 0, "Relu", "relu", 1, &x, 1, &y);
  x->is_input = true, y->is_output = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->input_count = 1;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y), graph->output_count = 1;
  tell(graph, "author", f->author);
  tell(graph, "task", f->task);
  tell(graph, "names", f->names);
  tell(graph, "description", f->description);
  tell(graph, "imgsz", f->imgsz);
  tell(graph, "stride", f->stride);
  tell(graph, "end2end", f->end2end);
  return graph;
}

static void expect(const facts *f, const char *preset, const char *property) {
  dq_graph *graph = graph_of(f);
  const char *key = NULL, *text = dq_guess_preset(graph, &key);
  if (preset) {
    assert_non_null(text);
    assert_string_equal(text, preset);
    assert_string_equal(key, property);
  } else {
    assert_null(text);
  }
  dq_graph_free(graph);
}

#define ULTRALYTICS "Ultralytics"
#define TWO "{0: 'cat', 1: 'dog'}"

static void rows(void **state) {
  (void)state;
  static const char *const boxes[] = {"segment", "pose", "obb"};
  expect(&(facts){.author = ULTRALYTICS, .task = "detect", .names = TWO}, "yolo", "task");
  for (int i = 0; i < 3; i++) expect(&(facts){.author = ULTRALYTICS, .task = boxes[i]}, "yolo", "task");
  expect(&(facts){.author = ULTRALYTICS, .task = "classify"}, "yolo-cls", "task");
  expect(&(facts){.author = ULTRALYTICS, .task = "detect", .description = "Ultralytics RTDETR-l model"}, "rtdetr",
         "description");
  expect(&(facts){.author = ULTRALYTICS, .task = "detect", .names = TWO, .description = "Ultralytics rtdet model"},
         "yolo", "task");
}

static void other_models(void **state) {
  (void)state;
  expect(&(facts){.task = "detect", .names = TWO}, NULL, NULL);
  expect(&(facts){.author = "Other", .task = "detect", .names = TWO}, NULL, NULL);
  expect(&(facts){.author = ULTRALYTICS, .names = TWO}, NULL, NULL);
  expect(&(facts){.author = ULTRALYTICS, .task = "depth", .names = TWO}, NULL, NULL);
  expect(&(facts){.author = ULTRALYTICS, .task = "detect2", .names = TWO}, NULL, NULL);
  expect(&(facts){.author = ULTRALYTICS, .task = ""}, NULL, NULL);
}

// N x (4 + classes) x cells is no RT-DETR, N x queries x (4 + classes) may be one.
static void outputs_of_detectors(void **state) {
  (void)state;
  facts f = {.author = ULTRALYTICS, .task = "detect", .names = TWO, .output = {-1, 6, -1}};
  expect(&f, "yolo", "task");
  f.output[1] = 300, f.output[2] = 6;
  expect(&f, NULL, NULL);
  f.output[2] = -1;
  expect(&f, NULL, NULL);
  f.end2end = "False";
  expect(&f, NULL, NULL);
  f.end2end = "True";
  expect(&f, "yolo", "task");
  f.end2end = NULL, f.output[2] = 6, f.names = "{0: 'a', 1: 'b', 2: 'c'}"; // 300 boxes that are chosen, of 6 numbers
  expect(&f, "yolo", "task");
  f.output[1] = -1;
  expect(&f, "yolo", "task");
}

static void names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int classes;
  } cases[] = {{"{0: 'one'}", 1},
               {"{0: 'a, b: c', 1: \"child's }\"}", 2},
               {"{0: 'it\\'s', 1: 'a\\\\', 2: ''}", 3},
               {"", 0},
               {"{", 0},
               {"{}", 0},
               {"{0: 'one'", 0},
               {"{0: 'one", 0},
               {"{0: 'one\\", 0},
               {"{0: 'one'} ", 0},
               {"{0: 'one',}", 0},
               {"['one', 'two']", 0},
               {"one", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    facts f = {.author = ULTRALYTICS, .task = "detect", .names = cases[i].text, .output = {1, 4, -1}};
    f.output[1] += cases[i].classes;
    expect(&f, cases[i].classes ? "yolo" : NULL, "task");
  }
}

static void sizes(void **state) {
  (void)state;
  static const struct {
    const char *imgsz, *stride, *preset;
  } cases[] = {{"[320, 320]", "32", "yolo,longest=320,multiple=32"},
               {"[384, 640]", "64", "yolo,longest=640,multiple=64"},
               {"[640,384]", "32", "yolo,longest=640,multiple=32"},
               {"65536", "1", "yolo,longest=65536,multiple=1"},
               {"320", NULL, "yolo"},
               {NULL, "32", "yolo"},
               {"", "32", "yolo"},
               {"[]", "32", "yolo"},
               {"[0, 320]", "32", "yolo"},
               {"[320, ]", "32", "yolo"},
               {"[320", "32", "yolo"},
               {"320, 320", "32", "yolo"},
               {"[320, -1]", "32", "yolo"},
               {"[65537]", "32", "yolo"},
               {"99999999999999999999", "32", "yolo"},
               {"320", "32.0", "yolo"},
               {"320", "0", "yolo"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    facts f = {.author = ULTRALYTICS, .task = "pose", .imgsz = cases[i].imgsz, .stride = cases[i].stride};
    expect(&f, "yolo", "task"); // the sizes of the input are known
    memcpy(f.input, (const int64_t[]){-1, 3, -1, 640}, sizeof f.input);
    expect(&f, cases[i].preset, "task");
    memcpy(f.input, (const int64_t[]){-1, 3, 640, -1}, sizeof f.input);
    expect(&f, cases[i].preset, "task");
  }
}

static void other_inputs(void **state) {
  (void)state;
  const facts f = {.author = ULTRALYTICS, .task = "pose"};
  const char *key;
  dq_graph *graph = graph_of(&f);
  dq_value *x = graph->inputs[0], *two[] = {x, dq_graph_add_value(graph, "z")};
  graph->inputs = two, graph->input_count = 2;
  assert_null(dq_guess_preset(graph, &key));
  two[1]->constant = dq_tensor_new(graph->arena, DQ_F32, 0, NULL); // an initializer that is listed
  assert_string_equal(dq_guess_preset(graph, &key), "yolo");
  graph->input_count = 0;
  assert_null(dq_guess_preset(graph, &key));
  graph->input_count = 1, x->rank = 3;
  assert_null(dq_guess_preset(graph, &key));
  dq_graph_free(graph);
}

// What the options say wins, then what the model stores.
static void order(void **state) {
  (void)state;
  const facts f = {.author = ULTRALYTICS, .task = "pose"};
  double reach;
  dq_graph *graph = graph_of(&f);
  dq_data_options options = {0};
  dq_apply_stored_preset(&options, graph, &CONTEXT);
  assert_string_equal(options.preprocess, "yolo");
  assert_string_equal(said, "preprocessing: yolo, as the model's metadata property 'task' says; --preset overrides it");
  assert_int_equal(dq_input_reach(&reach, graph, NULL, NULL, NULL, &CONTEXT, NULL), DQ_OK);
  assert_true(reach == 1);
  assert_int_equal(dq_input_reach(&reach, graph, NULL, "yolox", NULL, &CONTEXT, NULL), DQ_OK);
  assert_true(reach == 255);
  options = (dq_data_options){.preset = "tf"};
  dq_apply_stored_preset(&options, graph, &CONTEXT);
  assert_null(options.preprocess);
  assert_int_equal(dq_origin_set_preset(graph, "vww", &CONTEXT, NULL), DQ_OK);
  options = (dq_data_options){0};
  dq_apply_stored_preset(&options, graph, &CONTEXT);
  assert_string_equal(options.preprocess, "vww");
  assert_string_equal(said, "preprocessing: vww, as the model remembers");
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows),  cmocka_unit_test(other_models), cmocka_unit_test(outputs_of_detectors),
      cmocka_unit_test(names), cmocka_unit_test(sizes),        cmocka_unit_test(other_inputs),
      cmocka_unit_test(order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
