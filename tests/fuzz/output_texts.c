#include "tests/fuzz/output_texts.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/decode/text/ctc.h"
#include "lib/document/preset_guess.h"
#include "lib/eval/accuracy.h"
#include "lib/onnx/onnx.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_model.h"

static dq_budget budget = {.limit = FUZZ_MEMORY};

const dq_context *fuzz_context(void) {
  static dq_context context;
  if (!context.cpu && dq_context_init(&context, 1, dq_cpu_detect(), NULL) != DQ_OK) fuzz_fail("no context");
  context.budget = &budget;
  return &context;
}

void fuzz_status(dq_status status, const dq_error *error, const char *what) {
  dq_failure told = {.code = (dq_code)error->status};
  memcpy(told.message, error->message, sizeof told.message);
  if (fuzz_answer((dq_code)status, &told, what)) fuzz_reach(FUZZ_READ);
}

dq_graph *fuzz_small_graph(const dq_context *context) {
  size_t size;
  dq_graph *graph = NULL;
  const uint8_t *data = fuzz_small_model_bytes(&size);
  if (dq_onnx_load_bytes(&graph, data, size, ".", context, NULL) != DQ_OK) fuzz_fail("the small model does not load");
  return graph;
}

void fuzz_good_picture(const char *name) {
  char picture[13 + 192] = "P6\n8 8\n255\n";
  memset(picture + 11, 100, 192);
  fuzz_write(fuzz_path(name), picture, 11 + 192);
}

// What an export says of itself: a preset that is told can be taken.
void fuzz_use_metadata(const uint8_t *data, size_t size) {
  (void)size;
  static const char *const facts[][2] = {{"author", "Ultralytics"}, {"task", "detect"}, {"end2end", "True"}};
  static const char *const texts[] = {"names", "imgsz", "stride"};
  static const dq_dimension open[] = {{-1, NULL}, {3, NULL}, {-1, NULL}, {-1, NULL}};
  dq_error error = {0};
  double reach;
  dq_graph *graph = fuzz_small_graph(fuzz_context());
  bool good = true;
  for (int i = 0; i < 3; i++) good = good && dq_graph_set_property(graph, facts[i][0], facts[i][1], &error) == DQ_OK;
  for (int i = 0; i < 3; i++)
    good = good && dq_graph_set_property(graph, texts[i], (const char *)data, &error) == DQ_OK;
  if (!good) fuzz_fail("%s", error.message);
  graph->inputs[0]->dims = open;
  for (int task = 0; task < 2; task++) {
    const char *property, *text = dq_guess_preset(graph, &property);
    if (text && dq_preprocess_reach(&reach, NULL, text, graph->arena, &error) != DQ_OK) fuzz_fail("%s", error.message);
    if (text) fuzz_reach(FUZZ_RUN);
    if (dq_graph_set_property(graph, "task", "pose", &error) != DQ_OK) fuzz_fail("%s", error.message);
  }
  dq_graph_free(graph);
}

// How boxes are decoded: the text of an option, or JSON in the model's property.
void fuzz_use_decode(const uint8_t *data, size_t size) {
  dq_error error = {0};
  dq_graph *graph = fuzz_small_graph(fuzz_context());
  dq_data *dataset = NULL;
  bool property = size && (data[0] == '{' || data[0] == '[');
  dq_accuracy_options options = {.task = "detect", .decode = property ? NULL : (const char *)data};
  const char *list = fuzz_path("boxes.txt");
  fuzz_good_picture("b.ppm");
  fuzz_write(fuzz_path("b.txt"), "0 0.5 0.5 0.25 0.25\n", 20);
  fuzz_write(list, "b.ppm b.txt\n", 12);
  if (property && dq_graph_set_property(graph, "decode", (const char *)data, &error) != DQ_OK)
    fuzz_fail("%s", error.message);
  dq_result result;
  dq_data_options data_options = {.spec = list, .preset = "raw01"};
  if (dq_data_open(&dataset, &data_options, fuzz_context(), &error) != DQ_OK) fuzz_fail("%s", error.message);
  fuzz_status(dq_accuracy_run(&result, graph, dataset, &options, fuzz_context(), &error), &error, "the decoder");
  dq_data_free(dataset);
  dq_graph_free(graph);
}

// Names of classes in a property of a model.
void fuzz_use_names(const uint8_t *data, size_t size) {
  (void)size;
  dq_names names;
  dq_error error = {0};
  dq_status status = dq_names_of_model(&names, &(dq_metadata){.names = (const char *)data}, fuzz_context(), &error);
  fuzz_status(status, &error, "the names");
  for (int64_t i = 0; status == DQ_OK && i < names.count; i++) (void)strlen(names.items[i]);
  if (status == DQ_OK) dq_names_deinit(&names);
}

// The dictionary of a recognizer, with the blank and a space or without them, and a text of its first and last classes.
void fuzz_use_characters(const uint8_t *data, size_t size) {
  dq_names lines;
  dq_dictionary dictionary;
  dq_error error = {0};
  char *text;
  const char *path = fuzz_path("characters.txt");
  fuzz_write(path, data, size);
  dq_status status = dq_names_read(&lines, path, fuzz_context(), &error);
  fuzz_status(status, &error, "the lines");
  if (status != DQ_OK) return;
  const int64_t classes = lines.count + (int64_t)(size % 3);
  dq_names_deinit(&lines);
  if (dq_dictionary_read(&dictionary, path, classes, fuzz_context(), &error) != DQ_OK) return;
  int64_t some[] = {0, 1, classes - 2, classes - 1, classes};
  for (int count = 1; count <= (int)DQ_COUNT(some); count++)
    if (dq_ctc_text(&text, &(dq_ctc){some, count, 1}, &dictionary, fuzz_context(), &error) == DQ_OK) {
      (void)strlen(text);
      dq_budget_free(text);
    }
  dq_dictionary_deinit(&dictionary);
}
