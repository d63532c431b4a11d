// Every place of the library that asks for memory gets none once: the call then says so or does without, and the next
// call is as before.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasets/npy.h"
#include "lib/codegen/codegen.h"
#include "lib/onnx/onnx.h"
#include "lib/render/chart.h"
#include "lib/study/study.h"
#include "tests/unit/refused_memory.h"

// ---- Calls ----

static dq_engine *engine; // of one thread, so that requests come in the same order each time

static dq_code with_model(dq_code (*use)(dq_model *)) {
  dq_model *model;
  dq_code code = dq_model_load(&model, engine, api_small, &failure);
  if (code == DQ_CODE_OK) code = use(model);
  dq_model_free(model);
  return code;
}

static dq_code with_pictures(dq_code (*use)(dq_model *, dq_dataset *), dq_model *model) {
  dq_dataset *dataset;
  dq_code code = dq_dataset_open(&dataset, engine, "synth:shapes,size=8,count=4", NULL, &failure);
  if (code == DQ_CODE_OK) code = use(model, dataset);
  dq_dataset_close(dataset);
  return code;
}

static dq_code use_cost(dq_model *model) {
  dq_model_cost_facts facts = {.size = sizeof facts};
  return dq_model_cost(model, NULL, &facts, &failure);
}
static dq_code cost(void) { return with_model(use_cost); }

static dq_code use_amp(dq_model *model) { return dq_model_amp(model, NULL, NULL, &failure); }
static dq_code amp(void) { return with_model(use_amp); }

static dq_code use_save(dq_model *model) { return dq_model_save(model, "/dev/null", &failure); }
static dq_code save(void) { return with_model(use_save); }

static dq_code with_reference(dq_model *model, dq_dataset *dataset) {
  dq_model *reference;
  dq_code code = dq_model_load(&reference, engine, api_small, &failure);
  if (code == DQ_CODE_OK) code = dq_model_compare(model, reference, dataset, NULL, NULL, &failure);
  dq_model_free(reference);
  return code;
}
static dq_code use_compare(dq_model *model) { return with_pictures(with_reference, model); }
static dq_code compare(void) { return with_model(use_compare); }

static dq_code run_pictures(dq_model *model, dq_dataset *dataset) {
  dq_network *network;
  dq_code code = dq_network_open(&network, model, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_network_read(network, dataset, 1, 0, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_network_run(network, &failure);
  dq_network_close(network);
  return code;
}
static dq_code use_run(dq_model *model) { return with_pictures(run_pictures, model); }
static dq_code run(void) { return with_model(use_run); }

// What a program does: data of arrays, int8, a run on its memory, C, a file.
static dq_code use_program(dq_model *model) {
  static float values[2 * 3 * 8 * 8], y[4];
  const dq_array array = {.type = 1, .rank = 4, .dims = {2, 3, 8, 8}, .data = values, .bytes = sizeof values};
  dq_dataset *dataset;
  dq_network *network = NULL;
  for (int i = 0; i < 2 * 3 * 8 * 8; i++) values[i] = (float)(i % 61) / 30 - 1;
  dq_code code = dq_dataset_of_arrays(&dataset, engine, &array, 1, NULL, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_model_int8(model, dataset, NULL, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_network_open(&network, model, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_network_run_on(network, (const void *[]){values}, (void *[]){y}, &failure);
  if (code == DQ_CODE_OK) code = dq_model_source(model, NULL, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_model_save(model, "/dev/null", &failure);
  dq_network_close(network);
  dq_dataset_close(dataset);
  return code;
}
static dq_code program(void) { return with_model(use_program); }

static dq_code check_half(dq_model *model, dq_dataset *dataset) {
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.check = dataset, options.half_io = 1;
  return dq_model_amp(model, &options, NULL, &failure);
}
static dq_code use_amp_on_pictures(dq_model *model) { return with_pictures(check_half, model); }
static dq_code amp_on_pictures(void) { return with_model(use_amp_on_pictures); }

static dq_model_int8_options int8_options; // of the next call

static dq_code quantize(dq_model *model, dq_dataset *dataset) {
  return dq_model_int8(model, dataset, &int8_options, NULL, &failure);
}
static dq_code use_int8(dq_model *model) { return with_pictures(quantize, model); }
static dq_code int8(void) { return with_model(use_int8); }

static dq_model_tucker_options tucker_options; // of the next call

static dq_code decompose(dq_model *model, dq_dataset *dataset) {
  tucker_options.data = dataset;
  return dq_model_tucker(model, &tucker_options, NULL, &failure);
}
static dq_code use_tucker(dq_model *model) { return with_pictures(decompose, model); }
static dq_code tucker(void) { return with_model(use_tucker); }

static dq_model_train_options train_options; // of the next call

// The teacher is the model as it is; small steps leave it about as good, and the last epoch is kept in any case.
static dq_code train_on(dq_model *model, dq_dataset *dataset) {
  dq_model *teacher;
  dq_code code = dq_model_load(&teacher, engine, api_small, &failure);
  train_options.data = train_options.validation = dataset, train_options.teacher = teacher;
  if (code == DQ_CODE_OK && train_options.quantization_aware) code = quantize(model, dataset);
  if (code == DQ_CODE_OK) code = dq_model_train(model, &train_options, NULL, &failure);
  dq_model_free(teacher);
  return code;
}
static dq_code use_train(dq_model *model) { return with_pictures(train_on, model); }
static dq_code train(void) { return with_model(use_train); }

static dq_code serve(dq_queue *queue, dq_model *model) {
  int network = 0;
  dq_request *request = NULL;
  dq_code code = dq_queue_add(queue, model, NULL, &network, &failure);
  if (code == DQ_CODE_OK) code = dq_request_open(&request, queue, network, &failure);
  if (code == DQ_CODE_OK) code = dq_request_submit(request, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_request_wait(request, -1) ? dq_request_result(request, NULL, &failure) : code;
  dq_request_close(request);
  return code;
}
static dq_code use_queue(dq_model *model) {
  dq_queue *queue;
  dq_code code = dq_queue_open(&queue, engine, NULL, &failure);
  if (code == DQ_CODE_OK) code = serve(queue, model);
  dq_queue_close(queue);
  return code;
}
static dq_code several(void) { return with_model(use_queue); }

static const char *other; // path of the model of the next call

static dq_code run_other(void) {
  dq_model *model;
  dq_network *network = NULL;
  dq_code code = dq_model_load(&model, engine, other, &failure);
  if (code == DQ_CODE_OK) code = dq_network_open(&network, model, NULL, &failure);
  if (code == DQ_CODE_OK) code = dq_network_run(network, &failure);
  dq_network_close(network);
  dq_model_free(model);
  return code;
}

// ---- What has no public function ----

static dq_context context;

static dq_code code_of(dq_status status, const dq_error *error) {
  if (status != DQ_OK) snprintf(failure.message, sizeof failure.message, "%s", error->message);
  return (dq_code)status;
}

static dq_code emit(void) {
  dq_graph *graph;
  dq_codegen made = {0};
  dq_error error = {0};
  dq_status status = dq_onnx_load(&graph, other, &context, &error);
  if (status != DQ_OK) return code_of(status, &error);
  status = dq_codegen_open(&made, graph, &(dq_codegen_options){0}, &context, &error);
  dq_codegen_close(&made);
  dq_graph_free(graph);
  return code_of(status, &error);
}

static dq_study_options study_options; // of the next call

static dq_code study(void) {
  dq_study found = {0};
  dq_error error = {0};
  dq_graph *reference = NULL;
  dq_arena *arena = dq_arena_new(NULL);
  dq_status status = arena ? DQ_OK : dq_fail_memory(&error, 0);
  if (status == DQ_OK && study_options.judged) status = dq_onnx_load(&reference, other, &context, &error);
  if (status == DQ_OK) status = dq_study_run(&found, other, reference, &study_options, &context, arena, &error);
  dq_study_deinit(&found);
  dq_graph_free(reference);
  dq_arena_free(arena);
  return code_of(status, &error);
}

static void put_rows(dq_report *report) {
  static const dq_column columns[] = {{"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 20, 0},
                                      {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 0}};
  static const dq_table_layout layout = {"layers", "Layers", columns, 2, false};
  dq_table *table = dq_report_table(report, &layout);
  for (int row = 2; row > 0; row--) {
    dq_table_row(table);
    dq_table_put_text(table, "node", "conv");
    dq_table_put_int(table, "macs", row);
  }
  dq_table_total_row(table);
  dq_table_put_format(table, "node", "%s", "total");
  dq_report_add_note(report, "%d rows", 2);
}

static void put_charts(dq_report *report) {
  static const dq_chart_layout bars = {"Bits", "Help.", DQ_CHART_BARS, {"seen", "proven"}, DQ_COLUMN_REAL, 0, NULL},
                               small = {"Ranges", "Help.", DQ_CHART_HISTOGRAMS, {"x", NULL}, DQ_COLUMN_REAL, 0, NULL},
                               times = {"Times", "Help.", DQ_CHART_TRACKS, {NULL, NULL}, DQ_COLUMN_REAL, 1, "ms"};
  const double heights[3] = {0.5, 1, 0};
  dq_chart_add(dq_report_chart(report, &bars), "five", 5, 20);
  dq_chart_add_histogram(dq_report_chart(report, &small),
                         &(dq_chart_histogram){"value", "text", heights, 3, 0, 1, 0, 1});
  dq_chart *tracks = dq_report_chart(report, &times);
  dq_chart_add_series(tracks, "network");
  dq_chart_add_track(tracks, "worker");
  dq_chart_add_span(tracks, 0, 0, 1, "job");
}

static dq_report_format format; // of the next call

static dq_code draw(void) {
  dq_error error = {0};
  FILE *stream = fopen("/dev/null", "w");
  dq_report *report = dq_report_new("test", 1, "title");
  dq_status status = report && stream ? DQ_OK : dq_fail_memory(&error, 0);
  put_rows(report);
  put_charts(report);
  if (status == DQ_OK) status = dq_report_print(report, format, &(dq_text_style){.width = 80}, stream, &error);
  dq_report_free(report);
  if (stream) fclose(stream);
  return code_of(status, &error);
}

// ---- Tests ----

static const char *beside(const char *name) {
  static char path[4200];
  snprintf(path, sizeof path, "%.*s/%s.onnx", (int)(strrchr(api_small, '/') - api_small), api_small, name);
  return path;
}

static int open_engine(void **state) {
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 1;
  if (dq_context_init(&context, 1, ~0u, NULL) != DQ_OK) return -1;
  return api_enter(state) || dq_engine_open(&engine, &options, &failure) != DQ_CODE_OK;
}
static int close_engine(void **state) {
  dq_engine_close(engine);
  dq_context_deinit(&context);
  return api_leave(state);
}

// The specification of two pictures without labels, in a new file; synthetic ones have labels of eight classes.
static const char *put_array(void) {
  static char spec[64];
  strcpy(spec, "npy:/tmp/test_memory_XXXXXX");
  float values[2 * 3 * 8 * 8];
  for (int i = 0; i < 2 * 3 * 8 * 8; i++) values[i] = (float)(i % 61) / 30 - 1;
  dq_error error;
  close(mkstemp(strchr(spec, '/')));
  assert_int_equal(dq_npy_write(strchr(spec, '/'), &(dq_tensor){DQ_F32, 4, {2, 3, 8, 8}, values}, &error), DQ_OK);
  return spec;
}

static void files_and_runs(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  refuse_each("cost", cost);
  refuse_each("saving", save);
  refuse_each("running", run);
  refuse_each("comparing", compare);
  static const char *const models[] = {"channels_last", "odd_weights", "qoperator", "two_inputs", "sides",
                                       "half",          "double",      "places",    "gained",     "shared"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    other = beside(models[i]);
    refuse_each(models[i], run_other);
  }
}

static void c_and_reports(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  static const char *const models[] = {"small", "qoperator", "half", "channels_last"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    other = beside(models[i]);
    refuse_each(models[i], emit);
  }
  const dq_data_options generated = {.spec = "synth:shapes,size=8,count=2"}, pictures = {.spec = put_array()};
  other = beside("qoperator");
  study_options = (dq_study_options){.data = &generated, .overflow = true, .raw = true};
  refuse_each("overflow", study);
  other = beside("small");
  study_options = (dq_study_options){.data = &pictures, .judged = true, .sensitivity = true, .ranges = true};
  refuse_each("report", study);
  unlink(strchr(pictures.spec, '/'));
}

static void pages(void **state) {
  (void)state;
  format = DQ_FORMAT_HTML;
  refuse_each("page", draw);
  format = DQ_FORMAT_TEXT;
  refuse_each("text", draw);
}

static void float16(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  refuse_each("float16", amp);
  refuse_each("float16, checked", amp_on_pictures);
}

static void quantization(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  char table[] = "/tmp/test_memory_XXXXXX";
  close(mkstemp(table));
  dq_model_int8_defaults(&int8_options, sizeof int8_options);
  refuse_each("trials", int8);
  int8_options.method = "mse", int8_options.rounding = "adaptive", int8_options.form = DQ_FORM_OPERATOR;
  int8_options.equalize = int8_options.bias_absorption = int8_options.range_search = DQ_CHOICE_ON;
  int8_options.sums = DQ_SUMS_INT16, int8_options.save_table = table, int8_options.save_precision = "/dev/null";
  refuse_each("what is asked for", int8);
  dq_model_int8_defaults(&int8_options, sizeof int8_options);
  int8_options.use_table = table, int8_options.min_sqnr = 20;
  refuse_each("a table and a bound", int8);
  const dq_data_options pictures = {.spec = put_array()};
  other = beside("small");
  study_options = (dq_study_options){.data = &pictures, .ranges = true, .table = table};
  refuse_each("ranges of a table", study);
  unlink(strchr(pictures.spec, '/'));
  unlink(table);
}

static void decomposition(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  dq_model_tucker_defaults(&tucker_options, sizeof tucker_options);
  tucker_options.ratio = 0.5, tucker_options.plain = tucker_options.refine = 1;
  refuse_each("a share of the ranks", tucker);
  dq_model_tucker_defaults(&tucker_options, sizeof tucker_options);
  tucker_options.macs = 0.6, tucker_options.matrices = 1;
  refuse_each("a share of the work", tucker);
  dq_model_tucker_defaults(&tucker_options, sizeof tucker_options);
  tucker_options.vbmf = 1, tucker_options.force = 1;
  refuse_each("VBMF", tucker);
}

static void training(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  dq_model_int8_defaults(&int8_options, sizeof int8_options);
  dq_model_train_defaults(&train_options, sizeof train_options);
  train_options.epochs = 1, train_options.batch = 2, train_options.rate = 1e-9, train_options.keep_last = 1;
  train_options.augment = "flip,crop=1,cutout=2,colour=0.1", train_options.momentum = 0.5;
  refuse_each("training", train);
  train_options.quantization_aware = 1, train_options.optimizer = DQ_TRAIN_ADAM, train_options.augment = NULL;
  refuse_each("training in 8 bits", train);
}

static void several_networks(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  refuse_each("several networks", several);
}

// Each of the first 2000 requests of a program is refused, one in each call; ALLOCATIONS=N: of the first N.
static void first_requests(void **state) {
  (void)state;
  if (access(api_small, R_OK)) skip();
  const char *all = getenv("ALLOCATIONS");
  int64_t most = all ? atoll(all) : 2000, refusals = 0;
  for (int64_t n = 1; n <= most; n++) {
    dq_code code = refuse(n, program);
    if (requests < n) break;
    refusals++;
    if (code != DQ_CODE_OK) check_refusal("a program", code);
  }
  print_message("%d refusals\n", (int)refusals);
  refuse_each("a program", program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_and_runs), cmocka_unit_test(c_and_reports),    cmocka_unit_test(pages),
      cmocka_unit_test(float16),        cmocka_unit_test(quantization),     cmocka_unit_test(decomposition),
      cmocka_unit_test(training),       cmocka_unit_test(several_networks), cmocka_unit_test(first_requests)};
  return cmocka_run_group_tests(tests, open_engine, close_engine);
}
