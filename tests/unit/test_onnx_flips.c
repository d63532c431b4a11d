// One bit of a model flipped, through all that commands do with a model: it works, or the model is broken (3) or
// not supported (4), and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/npy.h"
#include "decomp/tucker/decomp.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/codegen/codegen.h"
#include "lib/measure/cost.h"
#include "lib/onnx/onnx.h"
#include "lib/session/session.h"
#include "quant/amp/amp.h"
#include "quant/int8/int8.h"
#include "tests/unit/wire.h"

enum { CHANNELS = 3, SIZE = 6, MAPS = 6, CLASSES = 4, PICTURES = 16 };

static char folder[] = "/tmp/test_onnx_flips_XXXXXX", pictures[64], spec[80];
static const char *int8_path = "/dev/null"; // where do_int8 saves the model
static dq_context context;

// ---- The model: every kind of field that a small classifier has ----

static void random_weight(wire *graph, const char *name, int rank, const int64_t *dims) {
  wire tensor = wire_tensor(name, DQ_F32, rank, dims);
  dq_random random = {strlen(name)};
  float elements[MAPS * MAPS * 9];
  size_t count = 1;
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  for (size_t i = 0; i < count; i++) elements[i] = 0.3f * dq_random_normal(&random);
  wire_bytes(&tensor, 9, elements, count * sizeof *elements);
  wire_message(graph, 5, &tensor);
}

static void ints_attribute(wire *node, const char *name, int count, const int64_t *values) {
  wire attribute = {0};
  wire_text(&attribute, 1, name);
  for (int i = 0; i < count; i++) wire_int(&attribute, 8, values[i]);
  wire_int(&attribute, 20, 7);
  wire_message(node, 5, &attribute);
}

static void add_conv(wire *graph, const char *name, const char *x, const char *y, int64_t in, int64_t kernel) {
  char weight[32];
  snprintf(weight, sizeof weight, "%s.weight", name);
  wire node = wire_node("Conv", name, x, y);
  wire_text(&node, 1, weight);
  int64_t pad = kernel / 2;
  ints_attribute(&node, "pads", 4, (int64_t[]){pad, pad, pad, pad});
  ints_attribute(&node, "kernel_shape", 2, (int64_t[]){kernel, kernel});
  random_weight(graph, weight, 4, (int64_t[]){MAPS, in, kernel, kernel});
  wire_message(graph, 1, &node);
}

static void add_norm(wire *graph, const char *x, const char *y) {
  static const char *const names[] = {"scale", "shift", "mean", "variance"};
  wire norm = wire_node("BatchNormalization", "norm", x, y);
  for (int i = 0; i < 4; i++) {
    wire_text(&norm, 1, names[i]);
    wire parameter = wire_tensor(names[i], DQ_F32, 1, (int64_t[]){MAPS});
    for (int k = 0; k < MAPS; k++) wire_float(&parameter, 4, i == 3 ? 1.0f + (float)k : 0.1f * (float)k);
    wire_message(graph, 5, &parameter);
  }
  wire_message(graph, 1, &norm);
}

static void add_head(wire *graph, const char *x, const char *y) {
  wire pool = wire_node("GlobalAveragePool", "pool", x, "means"), target = {0};
  wire_message(graph, 1, &pool);
  wire flat = wire_node("Reshape", "flat", "means", "features");
  wire_text(&flat, 1, "target");
  wire_message(graph, 1, &flat);
  target = wire_tensor("target", DQ_I64, 1, (int64_t[]){2});
  wire_int(&target, 7, -1), wire_int(&target, 7, MAPS);
  wire_message(graph, 5, &target);
  wire head = wire_node("Gemm", "head", "features", y);
  wire_text(&head, 1, "head.weight"), wire_text(&head, 1, "head.bias");
  random_weight(graph, "head.weight", 2, (int64_t[]){MAPS, CLASSES});
  random_weight(graph, "head.bias", 1, (int64_t[]){CLASSES});
  wire_message(graph, 1, &head);
}

static wire classifier(void) {
  wire graph = {0}, alpha = {0};
  wire image = wire_declaration("image", 4, (int64_t[]){1, CHANNELS, SIZE, SIZE});
  wire scores = wire_declaration("scores", 2, (int64_t[]){1, CLASSES});
  wire_text(&graph, 2, "classifier");
  wire_message(&graph, 11, &image);
  wire_message(&graph, 12, &scores);
  add_conv(&graph, "conv1", "image", "a", CHANNELS, 3);
  add_norm(&graph, "a", "b");
  wire act = wire_node("LeakyRelu", "act", "b", "c");
  wire_text(&alpha, 1, "alpha"), wire_float(&alpha, 2, 0.1f), wire_int(&alpha, 20, 1);
  wire_message(&act, 5, &alpha);
  wire_message(&graph, 1, &act);
  add_conv(&graph, "conv2", "c", "d", MAPS, 3);
  wire sum = wire_node("Add", "sum", "c", "e");
  wire_text(&sum, 1, "d");
  wire_message(&graph, 1, &sum);
  add_head(&graph, "e", "scores");
  return wire_model(&graph);
}

// ---- What commands do ----

// As with --shape 1,3,6,6, or without it.
static bool sizes_given;
static dq_shape_request sizes(void) {
  static const dq_input_shape only_input = {.name = "", .rank = 4, .dims = {1, CHANNELS, SIZE, SIZE}};
  return (dq_shape_request){.batch = 1, .inputs = &only_input, .input_count = sizes_given};
}

static dq_status do_amp(dq_graph *graph, dq_arena *arena, dq_error *error) {
  (void)arena;
  dq_amp_options options = {.shapes = sizes()};
  dq_amp_report report;
  DQ_TRY(dq_amp_apply(graph, &options, &report, &context, error));
  return dq_onnx_save(graph, "/dev/null", error);
}

static dq_status do_tucker(dq_graph *graph, dq_arena *arena, dq_error *error) {
  (void)arena;
  dq_shape_request request = sizes();
  dq_tucker_options options = {
      .rule = DQ_RANK_ENERGY, .parameter = 0.7, .multiple = 1, .shapes = &request, .context = &context};
  if (!sizes_given) options.shapes = NULL;
  dq_tucker_report report;
  DQ_TRY(dq_tucker_apply(graph, &options, &report, error));
  return dq_onnx_save(graph, "/dev/null", error);
}

static dq_status do_int8(dq_graph *graph, dq_arena *arena, dq_error *error) {
  (void)arena;
  dq_data_options data_options = {.spec = spec};
  dq_data *data = NULL;
  dq_int8_options options = {.method = dq_observer_find("percentile"),
                             .percentile = 99.9,
                             .equalize = DQ_CHOOSE_ON,
                             .bias_correction = DQ_CHOOSE_ON,
                             .activation_type = DQ_U8,
                             .shapes = sizes()};
  dq_int8_report report;
  DQ_TRY(dq_data_open(&data, &data_options, &context, error));
  dq_status status = dq_int8_apply(graph, data, &options, &report, &context, error);
  dq_data_free(data);
  return status == DQ_OK ? dq_onnx_save(graph, int8_path, error) : status;
}

static dq_status do_report(dq_graph *graph, dq_arena *arena, dq_error *error) {
  dq_shape_request request = sizes();
  dq_cost cost;
  return dq_cost_analyse(&cost, graph, sizes_given ? &request : NULL, &context, arena, error);
}

static dq_status do_run(dq_graph *graph, dq_arena *arena, dq_error *error) {
  (void)arena;
  dq_session_options options = {.shapes = sizes()};
  dq_session session;
  dq_status status = dq_session_open(&session, graph, &options, &context, error);
  if (status == DQ_OK) {
    for (int i = 0; i < dq_plan_input_count(session.plan); i++) {
      dq_tensor *input = dq_plan_input(session.plan, i);
      memset(input->data, 0, dq_tensor_bytes(input));
    }
    status = dq_plan_run(session.plan, error);
  }
  dq_session_close(&session);
  return status;
}

static dq_status do_c(dq_graph *graph, dq_arena *arena, dq_error *error) {
  (void)arena;
  dq_codegen_options options = {.session = {.shapes = sizes()}};
  dq_codegen made;
  dq_status status = dq_codegen_open(&made, graph, &options, &context, error);
  dq_codegen_close(&made);
  return status;
}

static const struct {
  const char *name;
  dq_status (*run)(dq_graph *graph, dq_arena *arena, dq_error *error);
} works[] = {{"amp", do_amp},       {"tucker", do_tucker}, {"int8", do_int8},
             {"report", do_report}, {"run", do_run},       {"c", do_c}};
enum { INT8 = 2, C = 5, WORKS = sizeof works / sizeof *works };

static dq_status load_and(int work, const wire *model, dq_error *error) {
  dq_graph *graph = NULL;
  *error = (dq_error){0};
  DQ_TRY(dq_onnx_load_bytes(&graph, model->data, model->size, folder, &context, error));
  dq_budget budget = {.limit = (size_t)64 << 20};
  dq_arena *arena = dq_arena_new(&budget);
  dq_status status = works[work].run(graph, arena, error);
  dq_arena_free(arena);
  dq_graph_free(graph);
  return status;
}

// Counts in refused[] which work refuses the model; the number of answers that are none of the three.
static int try_all(const wire *model, const char *what, int refused[WORKS]) {
  int wrong = 0;
  for (int work = 0; work < WORKS; work++) {
    dq_error error;
    dq_status status = load_and(work, model, &error);
    refused[work] += status != DQ_OK;
    if (status == DQ_OK || status == DQ_BAD_INPUT || status == DQ_UNSUPPORTED) continue;
    print_error("%s: %s: status %d '%s'\n", what, works[work].name, (int)status, error.message);
    wrong++;
  }
  return wrong;
}

static int try_flip(wire *model, size_t at, int bit, int refused[WORKS]) {
  char what[64];
  snprintf(what, sizeof what, "byte %zu bit %d", at, bit);
  model->data[at] ^= (uint8_t)(1u << bit);
  int wrong = try_all(model, what, refused);
  model->data[at] ^= (uint8_t)(1u << bit);
  return wrong;
}

static void tell_refused(const char *what, int count, const int refused[WORKS]) {
  print_message("%d %s, refused:", count, what);
  for (int work = 0; work < WORKS; work++) print_message(" %s %d", works[work].name, refused[work]);
  print_message("\n");
}

static int try_random_flips(wire *model, int seeds, int refused[WORKS]) {
  int wrong = 0;
  sizes_given = false;
  assert_int_equal(try_all(model, "unflipped", refused), 0);
  for (int work = 0; work < WORKS; work++) assert_int_equal(refused[work], 0);
  for (int seed = 0; seed < seeds; seed++) {
    dq_random random = {(uint64_t)seed};
    size_t at = (size_t)dq_random_below(&random, model->size);
    wrong += try_flip(model, at, (int)dq_random_below(&random, 8), refused);
  }
  tell_refused("seeds", seeds, refused);
  return wrong;
}

static int seeds_of_a_run(void) { return getenv("FLIPS") ? atoi(getenv("FLIPS")) : 10000; }

static void random_bits(void **state) {
  (void)state;
  wire m = classifier();
  assert_in_range(m.size, 1500, 4000);
  int seeds = seeds_of_a_run(), refused[WORKS] = {0};
  int wrong = try_random_flips(&m, seeds, refused);
  for (int work = 0; work < WORKS; work++) assert_in_range(refused[work], seeds / 20, seeds / 2);
  assert_int_equal(wrong, 0);
  wire_free(&m);
}

// The classifier in 8 bits, of which every scale and zero point decides what integers are computed.
static void random_bits_of_8_bits(void **state) {
  (void)state;
  char path[64];
  wire float_model = classifier(), m = {0};
  dq_error error;
  dq_file file = {0};
  snprintf(path, sizeof path, "%s/int8.onnx", folder);
  int8_path = path, sizes_given = false;
  assert_int_equal(load_and(INT8, &float_model, &error), DQ_OK);
  int8_path = "/dev/null";
  assert_int_equal(dq_file_open(&file, path, &error), DQ_OK);
  wire_append(&m, file.data, file.size);
  dq_file_close(&file);
  unlink(path);
  int seeds = seeds_of_a_run() / 10, refused[WORKS] = {0};
  int wrong = try_random_flips(&m, seeds, refused);
  assert_true(refused[C] > 0 && refused[C] < seeds);
  assert_int_equal(wrong, 0);
  wire_free(&float_model);
  wire_free(&m);
}

// Every bit of what the model says about its input, with the sizes given and without.
static void declaration_bits(void **state) {
  (void)state;
  wire m = classifier();
  const uint8_t *name = memmem(m.data, m.size, "\12\5image", 7); // the first field of the declaration
  assert_non_null(name);
  size_t first = (size_t)(name - m.data) - 2, size = name[-1] + (size_t)2u;
  for (int given = 0; given < 2; given++) {
    int refused[WORKS] = {0}, wrong = 0;
    sizes_given = given;
    for (size_t i = 0; i < 8 * size; i++) wrong += try_flip(&m, first + i / 8, (int)(i % 8), refused);
    tell_refused("bits of the declaration", (int)(8 * size), refused);
    assert_int_equal(wrong, 0);
  }
  wire_free(&m);
}

static int set_up(void **state) {
  (void)state;
  dq_error error = {0};
  unsigned mask;
  if (!mkdtemp(folder) || dq_cpu_mask_parse("native", &mask, &error) != DQ_OK ||
      dq_context_init(&context, 1, mask, &error) != DQ_OK)
    return -1;
  static dq_budget budget = {.limit = (size_t)256 << 20};
  context.budget = &budget;
  snprintf(pictures, sizeof pictures, "%s/pictures.npy", folder);
  snprintf(spec, sizeof spec, "npy:%s", pictures);
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *tensor = dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){PICTURES, CHANNELS, SIZE, SIZE});
  dq_random random = {1};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, (double)dq_random_normal(&random));
  dq_status status = dq_npy_write(pictures, tensor, &error);
  dq_arena_free(arena);
  return status == DQ_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  dq_context_deinit(&context);
  unlink(pictures);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_bits), cmocka_unit_test(random_bits_of_8_bits),
                                     cmocka_unit_test(declaration_bits)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
