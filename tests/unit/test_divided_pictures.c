// What processes of a job measure on their parts of the pictures is what one process measures on all.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "calib/calib.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/plan_harness.h"
#include "tests/unit/thread_team.h"

static unsigned char byte_of(int process, size_t i) {
  return (unsigned char)(i * 7 + (i >> 12) + 50 * (size_t)process);
}

// Process r has r times the bytes of process 1, and process 0 none.
static void collect(member *m) {
  const size_t each = *(const size_t *)m->argument, own = each * (size_t)m->processes.index;
  size_t sizes[MOST], at = 0;
  unsigned char *mine = malloc(own + 1);
  char *all = NULL;
  for (size_t i = 0; i < own; i++) mine[i] = byte_of(m->processes.index, i);
  m->status = dq_processes_collect(&m->processes, NULL, mine, own, &all, sizes, &m->error);
  bool right = m->status == DQ_OK;
  for (int r = 0; right && r < m->processes.count; r++) {
    right = sizes[r] == each * (size_t)r;
    for (size_t i = 0; right && i < sizes[r]; i++) right = (unsigned char)all[at++] == byte_of(r, i);
  }
  m->loss = right;
  dq_budget_free(all);
  free(mine);
}

static void bytes_of_any_number_of_processes(void **state) {
  (void)state;
  static size_t sizes[] = {0, 1, 1000, (1 << 22) - 1, 1 << 22, (1 << 22) + 1}; // 4 MiB are one exchange
  member members[MOST];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int count = 1; count <= 3; count++) {
      run_team(count, collect, &sizes[i], members);
      for (int r = 0; r < count; r++) assert_true(members[r].loss == 1);
    }
}

enum { VALUES = 3 };

// One array of what a calibration of three values found: pictures, counts, extremes and averages, bins, and the ends.
static void flatten(member *m, const dq_calibration *found) {
  const size_t bins = DQ_HISTOGRAM_BINS * sizeof(uint64_t), each = sizeof(dq_histogram) + bins;
  size_t bytes = VALUES * each, at = 0;
  uint64_t memory[DQ_HISTOGRAM_BINS];
  for (int v = 0; v < VALUES; v++) bytes += (size_t)found->ends[v].channels * 2 * sizeof(dq_picture_ends);
  char *all = calloc(bytes, 1);
  for (int v = 0; v < VALUES; v++) {
    dq_histogram histogram = found->histograms[v];
    histogram.bins = (dq_bin_counts){0};
    const uint64_t *counts = dq_histogram_bins(&found->histograms[v], memory);
    memcpy(all + at, &histogram, sizeof histogram);
    memcpy(all + at + sizeof histogram, counts, bins);
    memcpy(all + at + each, found->ends[v].high, (size_t)found->ends[v].channels * 2 * sizeof(dq_picture_ends));
    at += each + (size_t)found->ends[v].channels * 2 * sizeof(dq_picture_ends);
  }
  m->state = (float *)(void *)all;
  m->result.pictures = (int64_t)bytes;
}

static void calibrate(member *m) {
  static const char *const names[VALUES] = {"image", "/stem/relu/Relu_output_0", "scores"};
  dq_context own;
  dq_graph *model = NULL;
  dq_data *data = NULL;
  dq_calibration found = {0};
  const dq_data_options options = {.spec = m->argument};
  const dq_shape_request shapes = {0};
  m->status = dq_context_init(&own, 1, ~0u, &m->error);
  own.processes = &m->processes;
  if (m->status == DQ_OK) m->status = dq_onnx_load(&model, "datasets/shapes.onnx", &own, &m->error);
  if (m->status == DQ_OK) m->status = dq_data_open(&data, &options, &own, &m->error);
  dq_observation what = {.graph = model, .shapes = &shapes, .names = names, .count = VALUES, .data = data};
  if (m->status == DQ_OK) what.pictures = dq_data_count(data);
  if (m->status == DQ_OK) m->status = dq_calibrate(&found, &what, &own, &m->error);
  if (m->status == DQ_OK) flatten(m, &found);
  dq_calibration_deinit(&found);
  dq_data_free(data);
  dq_graph_free(model);
  dq_context_deinit(&own);
}

// Also with fewer pictures than processes, and in more than one round.
static void calibrations_of_any_number_of_processes(void **state) {
  (void)state;
  static const char *const specs[] = {"synth:shapes,count=5", "synth:shapes,count=150"};
  for (int s = 0; s < 2; s++) {
    member alone, members[MOST];
    run_team(1, calibrate, (void *)(uintptr_t)specs[s], &alone);
    if (alone.status != DQ_OK) print_message("%s\n", alone.error.message);
    assert_int_equal(alone.status, DQ_OK);
    for (int count = 2; count <= MOST; count += 1 + 3 * (count == 3)) {
      run_team(count, calibrate, (void *)(uintptr_t)specs[s], members);
      for (int i = 0; i < count; i++) {
        assert_int_equal(members[i].status, DQ_OK);
        assert_int_equal(members[i].result.pictures, alone.result.pictures);
        assert_memory_equal(members[i].state, alone.state, (size_t)alone.result.pictures);
        free(members[i].state);
      }
    }
    free(alone.state);
  }
}

// The places of the bright elements of a picture, [4, k], where k is another one for each picture.
static dq_graph *make_places(void) {
  dq_graph *graph = new_graph();
  dq_value *image = shaped(graph, "image", 4, (int64_t[]){1, 3, 32, 32});
  dq_value *threshold = constant(graph, "threshold", 1, (int64_t[]){1}, (float[]){0.5f});
  dq_value *above = add(graph, "Sub", 2, (dq_value *[]){image, threshold}, "above")->outputs[0];
  dq_value *bright = add(graph, "Relu", 1, &above, "bright")->outputs[0];
  dq_value *places = add(graph, "NonZero", 1, &bright, "indices")->outputs[0];
  dq_node *cast = add(graph, "Cast", 1, &places, "places");
  assert_true(dq_node_set_int(graph, cast, "to", DQ_F32));
  interface(graph, image, cast->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

static void calibrate_places(member *m) {
  static const char *const names[] = {"places"};
  dq_context own;
  dq_data *data = NULL;
  dq_calibration found = {0};
  const dq_data_options options = {.spec = "synth:shapes,count=5"};
  const dq_shape_request shapes = {0};
  m->status = dq_context_init(&own, 1, ~0u, &m->error);
  own.processes = &m->processes;
  if (m->status == DQ_OK) m->status = dq_data_open(&data, &options, &own, &m->error);
  const dq_observation what = {
      .graph = m->argument, .shapes = &shapes, .names = names, .count = 1, .data = data, .pictures = 5};
  if (m->status == DQ_OK) m->status = dq_calibrate(&found, &what, &own, &m->error);
  if (m->status == DQ_OK) {
    m->result.pictures = found.ends->channels;
    m->state = calloc((size_t)found.ends->channels, 2 * sizeof(dq_picture_ends));
    memcpy(m->state, found.ends->high, (size_t)found.ends->channels * 2 * sizeof(dq_picture_ends));
  }
  dq_calibration_deinit(&found);
  dq_data_free(data);
  dq_context_deinit(&own);
}

// The channels are those of the first picture, also in processes that do not run it.
static void channels_of_open_shapes(void **state) {
  (void)state;
  dq_graph *graph = make_places();
  member alone, members[3];
  run_team(1, calibrate_places, graph, &alone);
  if (alone.status != DQ_OK) print_message("%s\n", alone.error.message);
  assert_int_equal(alone.status, DQ_OK);
  assert_true(alone.result.pictures > 1);
  run_team(3, calibrate_places, graph, members);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(members[i].status, DQ_OK);
    assert_int_equal(members[i].result.pictures, alone.result.pictures);
    assert_memory_equal(members[i].state, alone.state, (size_t)alone.result.pictures * 2 * sizeof(dq_picture_ends));
    free(members[i].state);
  }
  free(alone.state);
  dq_graph_free(graph);
}

static dq_status fail_on_last(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured, dq_error *error) {
  const member *m = user;
  (void)slot;
  *measured = *tensor;
  return m->processes.index == 2 ? dq_fail(error, DQ_BAD_INPUT, "broken") : DQ_OK;
}

static dq_status ignore(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)user, (void)slot, (void)tensor, (void)error;
  return DQ_OK;
}

static void observe(member *m) {
  static const char *const names[] = {"scores"};
  dq_context own;
  dq_graph *model = NULL;
  dq_data *data = NULL;
  const dq_data_options options = {.spec = "synth:shapes,count=9"};
  const dq_shape_request shapes = {0};
  m->status = dq_context_init(&own, 1, ~0u, &m->error);
  own.processes = &m->processes;
  if (m->status == DQ_OK) m->status = dq_onnx_load(&model, "datasets/shapes.onnx", &own, &m->error);
  if (m->status == DQ_OK) m->status = dq_data_open(&data, &options, &own, &m->error);
  const dq_observation what = {.graph = model,
                               .shapes = &shapes,
                               .names = names,
                               .count = 1,
                               .data = data,
                               .pictures = 9,
                               .measure = fail_on_last};
  if (m->status == DQ_OK) m->status = dq_observe(&what, ignore, m, &own, &m->error);
  dq_data_free(data);
  dq_graph_free(model);
  dq_context_deinit(&own);
}

static void a_failure_of_one_process_ends_all(void **state) {
  (void)state;
  member members[MOST];
  run_team(3, observe, NULL, members);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(members[i].status, DQ_BAD_INPUT);
    assert_string_equal(members[i].error.message, "process 2 of 3: broken");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_of_any_number_of_processes), cmocka_unit_test(calibrations_of_any_number_of_processes),
      cmocka_unit_test(channels_of_open_shapes), cmocka_unit_test(a_failure_of_one_process_ends_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
