// Everything that is read beside models and pictures: arrays, records, lists, tables, settings, texts of options,
// and what a model says of itself in its properties. The first byte of an input chooses its kind.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/npy.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"
#include "quant/amp/policy.h"
#include "quant/files/precision.h"
#include "quant/files/table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/output_texts.h"
#include "tests/fuzz/small_model.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
enum { PICTURES = 2, ELEMENTS = PICTURES * 3 * 8 * 8, CIFAR_BYTES = PICTURES * 3073 };

// ---- What the kinds share ----

// All pictures of the data through the small network.
static void read_all(dq_dataset *dataset) {
  dq_failure failure;
  dq_model *model = fuzz_small_model();
  dq_network *network = NULL;
  if (dq_network_open(&network, model, NULL, &failure) != DQ_CODE_OK) fuzz_fail("%s", failure.message);
  for (int64_t i = 0; i < dq_dataset_count(dataset) && i < 4; i++) {
    dq_sample sample = {.size = sizeof sample};
    dq_code code = dq_network_read(network, dataset, i, 0, &sample, &failure);
    if (fuzz_answer(code, &failure, "reading")) fuzz_reach(FUZZ_RUN);
    if (code == DQ_CODE_OK) (void)dq_dataset_class_name(dataset, sample.label);
  }
  dq_network_close(network);
  dq_model_free(model);
}

static void open_data(const char *spec, const dq_dataset_options *options) {
  dq_failure failure;
  dq_dataset *dataset = NULL;
  dq_code code = dq_dataset_open(&dataset, fuzz_engine(), spec, options, &failure);
  if (!fuzz_answer(code, &failure, "opening data")) return;
  fuzz_reach(FUZZ_READ);
  read_all(dataset);
  dq_dataset_close(dataset);
}

static void open_file(const char *prefix, const char *name, const char *rest, const uint8_t *data, size_t size) {
  char spec[400];
  dq_dataset_options options;
  const char *path = fuzz_path(name);
  fuzz_write(path, data, size);
  snprintf(spec, sizeof spec, "%s%s%s", prefix, path, rest);
  dq_dataset_defaults(&options, sizeof options);
  if (!prefix[0]) options.preset = "raw01"; // arrays and records have one
  open_data(spec, &options);
}

// An array that fits the small network, and pictures.
static const char *good_array(void) {
  static char spec[160];
  dq_error error = {0};
  const char *path = fuzz_path("good.npy");
  float values[ELEMENTS];
  dq_random random = {7};
  for (int i = 0; i < ELEMENTS; i++) values[i] = dq_random_normal(&random);
  dq_tensor tensor = {.type = DQ_F32, .rank = 4, .dims = {PICTURES, 3, 8, 8}, .data = values};
  if (dq_npy_write(path, &tensor, &error) != DQ_OK) fuzz_fail("%s", error.message);
  snprintf(spec, sizeof spec, "npy:%s", path);
  return spec;
}

// An idx file of two pictures, or of their labels.
enum { IDX_PICTURES = 16 + 2 * 8 * 8 };
static size_t idx_seed(uint8_t *data, bool labels) {
  static const uint8_t header[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 8};
  const size_t size = labels ? 8 + PICTURES : IDX_PICTURES;
  memset(data, 3, size);
  memcpy(data, header, labels ? 8 : sizeof header);
  if (labels) data[3] = 1;
  return size;
}

// ---- Kinds ----

static void use_npy(const uint8_t *data, size_t size) { open_file("npy:", "x.npy", "", data, size); }
static void use_cifar(const uint8_t *data, size_t size) { open_file("cifar10:", "x.bin", "", data, size); }
// Pictures, with labels that fit the seed's; an idx file of one dimension are labels of good pictures.
static void use_idx(const uint8_t *data, size_t size) {
  char rest[160] = ",";
  uint8_t good[IDX_PICTURES];
  const bool labels = size > 3 && data[3] == 1;
  const size_t good_size = idx_seed(good, !labels);
  const char *path = fuzz_path("good.idx");
  fuzz_write(path, good, good_size);
  if (labels) {
    char prefix[160] = "mnist:";
    strcat(strcat(prefix, path), ",");
    open_file(prefix, "x.idx", "", data, size);
  } else open_file("mnist:", "x.idx", strcat(rest, path), data, size);
}
static void use_pb(const uint8_t *data, size_t size) {
  fuzz_write(fuzz_path("input_0.pb"), data, size);
  char spec[160] = "pb:";
  strcat(spec, fuzz_path(""));
  open_data(spec, NULL);
}
static void use_list(const uint8_t *data, size_t size) {
  fuzz_good_picture("a.ppm");
  open_file("", "list.txt", "", data, size);
}
static void use_labels(const uint8_t *data, size_t size) {
  dq_dataset_options options;
  const char *labels = fuzz_path("labels.txt");
  fuzz_write(labels, data, size);
  dq_dataset_defaults(&options, sizeof options);
  options.labels = labels;
  open_data(good_array(), &options);
  open_data("synth:shapes,size=8", &options);
}
static void use_preprocess(const uint8_t *data, size_t size) {
  (void)size;
  dq_dataset_options options;
  dq_dataset_defaults(&options, sizeof options);
  options.preprocess = (const char *)data;
  options.limit = 2;
  open_data("synth:shapes,size=16", &options);
}
static void use_norm(const uint8_t *data, size_t size) {
  dq_dataset_options options;
  const char *norm = fuzz_path("norm.csv"), *list = fuzz_path("patients.txt");
  fuzz_good_picture("p1_1.ppm");
  fuzz_write(norm, data, size);
  fuzz_write(list, "p1_1.ppm 0\n", 11);
  dq_dataset_defaults(&options, sizeof options);
  options.norm = norm;
  options.preset = "lgg";
  open_data(list, &options);
}
static void use_spec(const uint8_t *data, size_t size) {
  char spec[300] = "synth:";
  (void)size;
  strncat(spec, (const char *)data, sizeof spec - 10);
  dq_dataset_options options;
  dq_dataset_defaults(&options, sizeof options);
  options.limit = 3;
  open_data(spec, &options);
}

// The objects of the first pictures.
static void read_objects(const dq_data_options *options) {
  dq_error error = {0};
  dq_data *data = NULL;
  fuzz_status(dq_data_open(&data, options, fuzz_context(), &error), &error, "boxes");
  for (int64_t i = 0; data && i < dq_data_count(data) && i < 4; i++) {
    dq_sample_info info;
    dq_objects objects;
    dq_picture_digest digest;
    dq_data_digest(data, i, &digest);
    if (dq_data_read(data, i, NULL, &info, &error) != DQ_OK) fuzz_fail("%s", error.message);
    info.width = info.height = 8;
    const dq_status status = dq_sample_objects(&objects, &info, fuzz_context()->budget, &error);
    fuzz_status(status, &error, "objects");
    if (status == DQ_OK) dq_objects_free(&objects);
  }
  dq_data_free(data);
}
static void use_coco(const uint8_t *data, size_t size) {
  char spec[160] = "coco:";
  fuzz_good_picture("a.ppm");
  fuzz_write(fuzz_path("coco.json"), data, size);
  read_objects(&(dq_data_options){.spec = strcat(spec, fuzz_path("coco.json")), .preset = "raw01"});
}
static void use_yaml(const uint8_t *data, size_t size) {
  char spec[160] = "yolo:";
  fuzz_good_picture("a.ppm");
  fuzz_write(fuzz_path("a.txt"), "0 0.5 0.5 0.25 0.25\n", 20);
  fuzz_write(fuzz_path("list.txt"), "a.ppm\n", 6);
  fuzz_write(fuzz_path("data.yaml"), data, size);
  read_objects(&(dq_data_options){.spec = strcat(spec, fuzz_path("data.yaml")), .preset = "raw01"});
}
static void use_boxes(const uint8_t *data, size_t size) {
  const bool xml = size && *data == '<';
  const char *list = fuzz_path("boxed.txt"), *line = xml ? "a.ppm a.xml\n" : "a.ppm a.txt\n";
  fuzz_good_picture("a.ppm");
  fuzz_write(fuzz_path(xml ? "a.xml" : "a.txt"), data, size);
  fuzz_write(list, line, strlen(line));
  read_objects(&(dq_data_options){.spec = list, .preset = "raw01"});
}

static void use_table(const uint8_t *data, size_t size) {
  dq_failure failure;
  dq_model_int8_options options;
  dq_model *model = fuzz_small_model();
  const char *table = fuzz_path("table.json");
  fuzz_write(table, data, size);
  dq_model_int8_defaults(&options, sizeof options);
  options.use_table = table;
  options.force = size & 1;
  dq_code code = dq_model_int8(model, NULL, &options, NULL, &failure);
  if (fuzz_answer(code, &failure, "the table")) {
    fuzz_reach(FUZZ_CHANGED);
    fuzz_round_trip(model, "the table");
    fuzz_run(model);
  }
  dq_model_free(model);
}
static void use_ranks(const uint8_t *data, size_t size) {
  dq_failure failure;
  dq_model_tucker_options options;
  dq_model *model = fuzz_small_model();
  const char *ranks = fuzz_path("ranks.json");
  fuzz_write(ranks, data, size);
  dq_model_tucker_defaults(&options, sizeof options);
  options.ranks = ranks;
  options.force = 1;
  dq_code code = dq_model_tucker(model, &options, NULL, &failure);
  if (fuzz_answer(code, &failure, "the ranks")) {
    fuzz_reach(FUZZ_CHANGED);
    fuzz_round_trip(model, "the ranks");
  }
  dq_model_free(model);
}
static void use_precision(const uint8_t *data, size_t size) {
  dq_error error = {0};
  dq_graph *graph = fuzz_small_graph(fuzz_context());
  dq_precision_map map;
  const char *path = fuzz_path("precision.json");
  fuzz_write(path, data, size);
  fuzz_status(dq_precision_load(&map, path, graph, graph->arena, &error), &error, "the precisions");
  dq_graph_free(graph);
}
static void use_policy(const uint8_t *data, size_t size) {
  dq_error error = {0};
  dq_graph *graph = fuzz_small_graph(fuzz_context());
  dq_policy policy;
  const char *path = fuzz_path("colours.json");
  fuzz_write(path, data, size);
  dq_status status = dq_policy_load(&policy, path, graph->arena, &error);
  fuzz_status(status, &error, "the colours");
  for (int i = 0; status == DQ_OK && i < graph->node_count; i++) (void)dq_policy_find(&policy, graph->nodes[i]);
  dq_graph_free(graph);
}

// What the model says of where it comes from.
static void use_origin(const uint8_t *data, size_t size) {
  (void)size;
  dq_error error = {0};
  dq_lineage *lineage = NULL;
  dq_graph *graph = fuzz_small_graph(fuzz_context());
  if (dq_graph_set_property(graph, "dq", (const char *)data, &error) != DQ_OK) fuzz_fail("%s", error.message);
  (void)dq_origin_preset(graph, fuzz_context());
  dq_status status = dq_lineage_open(&lineage, graph, fuzz_context(), &error);
  fuzz_status(status, &error, "the origin");
  for (int step = 0; lineage && step < dq_lineage_steps(lineage); step++)
    for (int i = 0; i < graph->value_count; i++) {
      bool mapped;
      int64_t *order, count;
      (void)dq_lineage_resolve(lineage, step, graph->values[i]->name, &mapped);
      (void)dq_lineage_find(lineage, dq_lineage_source(lineage, step));
      (void)dq_lineage_channels(lineage, step, graph->values[i]->name, &order, &count, graph->arena, &error);
    }
  dq_lineage_free(lineage);
  dq_origin *origin = dq_origin_begin(graph, "dq-fuzz");
  if (origin && dq_origin_finish(origin, graph, fuzz_context(), &error) != DQ_OK) fuzz_fail("%s", error.message);
  dq_graph_free(graph);
}

static void use_shape(const uint8_t *data, size_t size) {
  (void)size;
  dq_failure failure;
  dq_model *model = fuzz_small_model();
  const char *shapes[] = {(const char *)data, NULL};
  dq_model_cost_facts facts = {.size = sizeof facts};
  if (fuzz_answer(dq_model_cost(model, shapes, &facts, &failure), &failure, "the shape")) fuzz_reach(FUZZ_READ);
  dq_model_free(model);
}

// ---- Seeds ----

#define JSON_ORIGIN                                                                                                    \
  "{\"schema\": \"dq-model\", \"version\": 1, \"preset\": \"imagenet\", \"steps\": [{\"tool\": \"dq-int8\", "          \
  "\"from\": \"0123456789abcdef\", \"values\": {\"y\": \"a\", \"c\": null, \"b\": \"b\"}}, {\"tool\": \"dq-amp\", "    \
  "\"from\": \"0123456789abcdee\", \"values\": {\"a\": \"x\"}, \"channels\": {\"a\": [3, 2, 1, 0]}}]}"

#define JSON_COCO                                                                                                      \
  "{\"images\": [{\"id\": 3, \"file_name\": \"a.ppm\", \"width\": 8, \"height\": 8}], \"categories\": [{\"id\": 1, "   \
  "\"name\": \"cat\"}, {\"id\": 7, \"name\": \"dog\"}], \"annotations\": [{\"id\": 1, \"image_id\": 3, "               \
  "\"category_id\": "                                                                                                  \
  "7, \"bbox\": [1, 2, 3.5, 4], \"area\": 9, \"iscrowd\": 0, \"segmentation\": [[1, 2, 4, 2, 4, 6]], \"keypoints\": "  \
  "[1, "                                                                                                               \
  "2, 2]}, {\"id\": 2, \"image_id\": 3, \"category_id\": 1, \"bbox\": [0, 0, 8, 8], \"iscrowd\": 1, "                  \
  "\"segmentation\": "                                                                                                 \
  "{\"size\": [8, 8], \"counts\": \"8P1h0\"}}, {\"id\": 3, \"image_id\": 3, \"category_id\": 1, \"bbox\": [0, 0, 8, "  \
  "8], "                                                                                                               \
  "\"segmentation\": {\"size\": [8, 8], \"counts\": [8, 32, 24]}}]}"
#define XML_BOXES                                                                                                      \
  "<?xml version=\"1.0\"?>\n<annotation><size><width>8</width></size><object>\n<name>cat</name>\n<difficult>1"         \
  "</difficult>\n<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox>\n</object>\n</"             \
  "annotation>\n"

static const struct {
  const char *name;
  void (*use)(const uint8_t *data, size_t size); // data[size] is 0
  fuzz_mutator *mutate;
  const char *texts[4]; // seeds
} kinds[] = {
    {"npy", use_npy, fuzz_mutate_bytes, {NULL}},
    {"cifar10", use_cifar, fuzz_mutate_bytes, {NULL}},
    {"idx", use_idx, fuzz_mutate_bytes, {NULL}},
    {"pb", use_pb, fuzz_mutate_bytes, {"\x08\x01\x08\x03\x08\x08\x08\x08\x10\x01"}},
    {"npy header", use_npy, fuzz_mutate_text, {NULL}},
    {"list",
     use_list,
     fuzz_mutate_text,
     {"a.ppm 1\na.ppm 0\n", "a.ppm\ta.ppm\r\n",
      "\xef\xbb\xbf"
      "a.ppm\n",
      "a.ppm list.txt\n"}},
    {"labels", use_labels, fuzz_mutate_text, {"1\n0\n", "cat\ndog\nbird\n", "a.ppm 1\n"}},
    {"preprocess",
     use_preprocess,
     fuzz_mutate_text,
     {"resize=20,crop=8,fit=crop,color=bgr,mean=1:2:3,std=0.5:1:2,scale=0.1,filter=pil-bicubic",
      "fit=letterbox,pad=114:0:1/2,longest=640,multiple=32", "fit=stretch,color=grey,filter=pil-bilinear,scale=1"}},
    {"norm",
     use_norm,
     fuzz_mutate_text,
     {"patient,p10,p99,mean_r,mean_g,mean_b,std_r,std_g,std_b\np1,1,200,0.1,0.2,0.3,1,1,1\np2,1,200,0,0,0,1,1,1\n"}},
    {"spec", use_spec, fuzz_mutate_text, {"shapes,size=8,noise=20,split=test,channels=3,count=4", "shapes"}},
    {"table", use_table, fuzz_mutate_json, {NULL}},
    {"ranks",
     use_ranks,
     fuzz_mutate_json,
     {"{\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"conv1\": {\"out\": 2, \"in\": 2}, \"conv2\": "
      "{\"out\": 5, \"in\": 3}}}"}},
    {"precision",
     use_precision,
     fuzz_mutate_json,
     {"{\"schema\": \"dq-precision\", \"version\": 1, \"layers\": {\"conv1\": \"int8\", \"conv2\": \"fp16\", \"act\": "
      "\"fp32\"}}"}},
    {"colours",
     use_policy,
     fuzz_mutate_json,
     {"{\"schema\": \"dq-policy\", \"version\": 1, \"operators\": {\"Conv\": \"allow\", \"Relu\": \"follow\"}, "
      "\"nodes\": {\"conv*\": \"deny\"}, \"others\": \"table\"}"}},
    {"origin", use_origin, fuzz_mutate_json, {JSON_ORIGIN}},
    {"decode",
     fuzz_use_decode,
     fuzz_mutate_json,
     {"yolo:classes=1,anchors=10x14:23x27", "yolox", "yolo:classes=1,anchors=10x14:23x27,scale=1.05",
      "[{\"name\": \"y\", \"classes\": 1, \"anchors\": [[10, 14], [23, 27]], \"scale_x_y\": 1.05}]"}},
    {"names",
     fuzz_use_names,
     fuzz_mutate_json,
     {"{0: 'person', 1: 'it\\'s', 2: \"\\u00e9\\x41\"}", "{\"1\": \"b\", \"0\": \"a\"}", "['\\ud83d\\ude00', 'b',]"}},
    {"characters",
     fuzz_use_characters,
     fuzz_mutate_text,
     {"a\nb\n\nde\n", "\xef\xbb\xbf"
                      "a\r\n\xe4\xb8\xad\r\n"}},
    {"shape", use_shape, fuzz_mutate_text, {"x=1,3,8,8", "1,3,8,8"}},
    {"metadata", fuzz_use_metadata, fuzz_mutate_text, {"{0: 'cat', 1: \"dog's\", 2: ''}", "[384, 640]", "32"}},
    {"coco", use_coco, fuzz_mutate_json, {JSON_COCO}},
    {"boxes", use_boxes, fuzz_mutate_text, {XML_BOXES, "0 0.5 0.5 0.25 0.25\n1 0.1 0.2 0.1 0.2\n"}},
    {"yaml",
     use_yaml,
     fuzz_mutate_text,
     {"path: .\ntrain: [.]\nval: list.txt\nnc: 2\nnames: [cat, dog]\n", "val: .\nnames:\n  0: cat\n  1: dog\n"}},
};

static size_t array_seed(uint8_t *data) {
  size_t size;
  good_array();
  uint8_t *bytes = fuzz_read(fuzz_path("good.npy"), &size);
  memcpy(data, bytes, size);
  free(bytes);
  return size;
}

// A table as dq-int8 writes it, in format `index` of table_formats.def; 0: there is none.
static size_t table_seed(int index, uint8_t *data) {
  const dq_calibration_table_format *format = dq_calibration_table_format_at(index);
  dq_failure failure;
  dq_model_int8_options options;
  dq_dataset *dataset = NULL;
  dq_calibration_table table;
  dq_error error = {0};
  if (!format) return 0;
  const char *path = fuzz_path("made.json"), *other = fuzz_path("other");
  dq_model *model = fuzz_small_model();
  dq_model_int8_defaults(&options, sizeof options);
  options.save_table = path;
  options.equalize = options.bias_correction = index ? DQ_CHOICE_OFF : DQ_CHOICE_ON; // other formats have ranges alone
  options.rounding = index ? NULL : "adaptive";
  if (dq_dataset_open(&dataset, fuzz_engine(), good_array(), NULL, &failure) != DQ_CODE_OK ||
      dq_model_int8(model, dataset, &options, NULL, &failure) != DQ_CODE_OK)
    fuzz_fail("no table: %s", failure.message);
  dq_dataset_close(dataset);
  dq_model_free(model);
  dq_arena *arena = dq_arena_new(NULL);
  if (dq_calibration_table_load(&table, path, arena, &error) != DQ_OK ||
      dq_calibration_table_export(&table, format, other, &error) != DQ_OK)
    fuzz_fail("no table: %s", error.message);
  dq_arena_free(arena);
  size_t size;
  uint8_t *bytes = fuzz_read(index ? other : path, &size);
  memcpy(data, bytes, size);
  free(bytes);
  return size;
}

static size_t kind_seed(size_t kind, int index, uint8_t *data) {
  if (kinds[kind].use == use_table) return table_seed(index, data);
  if (index < (int)COUNT(kinds[kind].texts) && kinds[kind].texts[index]) {
    size_t size = strlen(kinds[kind].texts[index]);
    memcpy(data, kinds[kind].texts[index], size);
    if (kinds[kind].use == use_pb) { // and its elements
      data[size] = 0x4a, data[size + 1] = 0x80, data[size + 2] = 6;
      memset(data + size + 3, 1, 768);
      size += 3 + 768;
    }
    return size;
  }
  if (kinds[kind].use == use_idx) return index < 2 ? idx_seed(data, index) : 0;
  if (index) return 0;
  if (kinds[kind].use == use_npy) return array_seed(data);
  if (kinds[kind].use != use_cifar) return 0;
  memset(data, 3, CIFAR_BYTES);
  return CIFAR_BYTES;
}

static size_t make_seed(int index, uint8_t *data) {
  for (size_t kind = 0; kind < COUNT(kinds); kind++)
    for (int i = 0;; i++) {
      size_t size = kind_seed(kind, i, data + 1);
      if (!size) break;
      data[0] = (uint8_t)kind;
      if (!index--) return 1 + size;
    }
  return 0;
}

// Of the other input only what is of the same kind is of use.
static size_t mutate(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                     dq_random *random) {
  if (size < 2) return size;
  bool same = other_size > 1 && other[0] == data[0];
  return 1 + kinds[data[0] % COUNT(kinds)].mutate(data + 1, size - 1, capacity - 1, same ? other + 1 : NULL,
                                                  same ? other_size - 1 : 0, random);
}

const fuzz_target_functions fuzz_target = {"settings", mutate, make_seed};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  char *copy = malloc(size); // with a zero behind, in place of the first byte
  if (!copy) return 0;
  memcpy(copy, data + 1, size - 1);
  copy[size - 1] = 0;
  kinds[data[0] % COUNT(kinds)].use((const uint8_t *)copy, size - 1);
  free(copy);
  return 0;
}
