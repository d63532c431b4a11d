// A small network and pictures for tests of quantization.
#include "tests/unit/small_network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/random.h"

// Uint8 pictures 3xSIDExSIDE in a NumPy file.
static void write_pictures(const char *path) {
  FILE *file = fopen(path, "wb");
  char header[118];
  int length = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3, %d, %d), }",
                        PICTURES, SIDE, SIDE);
  memset(header + length, ' ', sizeof header - (size_t)length);
  header[sizeof header - 1] = '\n';
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
  fwrite(header, 1, sizeof header, file);
  dq_random random = {9};
  for (int i = 0; i < PICTURES * 3 * SIDE * SIDE; i++) {
    float value = dq_random_normal(&random);
    fwrite(&value, sizeof value, 1, file);
  }
  fclose(file);
}

int network_start(void **state) {
  network *it = calloc(1, sizeof *it);
  it->graph = dq_graph_new(0), it->arena = dq_arena_new(0);
  dq_context_init(&it->context, 1, ~0u, NULL);
  snprintf(it->path, sizeof it->path, "/tmp/test_network_%d.npy", (int)getpid());
  write_pictures(it->path);
  char spec[80];
  snprintf(spec, sizeof spec, "npy:%s", it->path);
  dq_error error;
  assert_int_equal(dq_data_open(&it->data, &(dq_data_options){.spec = spec}, &it->context, &error), DQ_OK);
  return *state = it, 0;
}

void network_pictures(network *it, const char *header, const void *values, size_t size) {
  dq_error error;
  FILE *file = fopen(it->path, "wb");
  assert_non_null(file);
  fprintf(file, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
  assert_int_equal(fwrite(values, size, 1, file), 1);
  fclose(file);
  char spec[80];
  snprintf(spec, sizeof spec, "npy:%s", it->path);
  dq_data_free(it->data);
  const dq_data_options from = {.spec = spec};
  if (dq_data_open(&it->data, &from, &it->context, &error) != DQ_OK) fail_msg("%s", error.message);
}

void network_steps(network *it, const float first[3], const float step[3], const int last[3]) {
  enum { PLANE = SIDE * SIDE };
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 8, 8), }";
  float values[PICTURES][3][PLANE];
  for (int n = 0; n < PICTURES; n++)
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < PLANE; i++) values[n][c][i] = first[c] + step[c] * (float)((n * PLANE + i) % (last[c] + 1));
  network_pictures(it, header, values, sizeof values);
}

int network_end(void **state) {
  network *it = *state;
  unlink(it->path);
  dq_data_free(it->data);
  dq_graph_free(it->graph), dq_arena_free(it->arena);
  dq_context_deinit(&it->context);
  return free(it), 0;
}

dq_value *network_value(network *it, const char *name) { return dq_graph_add_value(it->graph, name); }

// Random numbers; those of output channel `o` are 4^(o mod 5) times as large.
static dq_value *weight(network *it, const char *name, int64_t o, int64_t i, int64_t k) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, k ? 4 : 1, (int64_t[]){o, i, k, k});
  dq_random random = {(uint64_t)o * 31 + (uint64_t)i};
  int64_t row = dq_tensor_count(tensor) / o;
  for (int64_t n = 0; n < dq_tensor_count(tensor); n++)
    ((float *)tensor->data)[n] = dq_random_normal(&random) * (float)(1 << 2 * (n / row % 5)) * 0.1f;
  return dq_graph_add_constant(it->graph, name, tensor);
}

dq_node *network_node(network *it, const char *op_type, dq_value *a, dq_value *b, dq_value *c, dq_value *y) {
  dq_value *inputs[] = {a, b, c};
  return dq_graph_add_node(it->graph, it->graph->node_count, op_type, y->name, c ? 3 : b ? 2 : 1, inputs, 1, &y);
}

void network_conv(network *it, dq_value *x, const char *y, int64_t from, int64_t to, int64_t k, int64_t group) {
  char name[40];
  snprintf(name, sizeof name, "%s_w", y);
  dq_value *w = weight(it, name, to, from / group, k);
  snprintf(name, sizeof name, "%s_b", y);
  dq_node *made = network_node(it, "Conv", x, w, weight(it, name, to, 1, 0), network_value(it, y));
  int64_t pad = k / 2;
  dq_node_set_ints(it->graph, made, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
  dq_node_set_int(it->graph, made, "group", group);
}

static void declare(network *it, dq_value *x, int64_t channels) {
  dq_dimension *dims = DQ_NEW_ARRAY(it->graph->arena, 4, dq_dimension);
  dims[0].size = 1, dims[1].size = channels, dims[2].size = dims[3].size = SIDE;
  x->type = DQ_F32, x->rank = 4, x->dims = dims;
}

void network_finish(network *it) {
  dq_graph *graph = it->graph;
  dq_value *x = network_value(it, "x"), *y = network_value(it, "y");
  declare(it, x, 3);
  declare(it, y, 4);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->outputs[0] = y;
  graph->input_count = graph->output_count = 1;
  x->is_input = y->is_output = true;
  dq_error error;
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
}

// x -> a -LeakyRelu-> depthwise b -> SiLU -> c (1x1) + d (1x1 of b's SiLU) -> Relu -> y (1x1)
void network_build(network *it) {
  dq_graph *graph = it->graph;
  dq_value *x = network_value(it, "x");
  dq_graph_set_opset(graph, "", 13, NULL);
  network_conv(it, x, "a", 3, CHANNELS, 3, 1);
  dq_node *leaky = network_node(it, "LeakyRelu", network_value(it, "a"), NULL, NULL, network_value(it, "a_act"));
  dq_node_set_float(graph, leaky, "alpha", 0.1f);
  network_conv(it, network_value(it, "a_act"), "b", CHANNELS, CHANNELS, 3, CHANNELS);
  network_node(it, "Sigmoid", network_value(it, "b"), NULL, NULL, network_value(it, "b_gate"));
  network_node(it, "Mul", network_value(it, "b"), network_value(it, "b_gate"), NULL, network_value(it, "b_act"));
  network_conv(it, network_value(it, "b_act"), "c", CHANNELS, CHANNELS, 1, 1);
  network_conv(it, network_value(it, "b_act"), "d", CHANNELS, CHANNELS, 1, 1);
  network_node(it, "Add", network_value(it, "c"), network_value(it, "d"), NULL, network_value(it, "sum"));
  network_node(it, "Relu", network_value(it, "sum"), NULL, NULL, network_value(it, "sum_act"));
  network_conv(it, network_value(it, "sum_act"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
}

const dq_shape_request no_shapes;

static dq_status keep(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)slot, (void)error;
  network_outputs *all = user;
  memcpy(all->values[all->next++], tensor->data, dq_tensor_bytes(tensor));
  return DQ_OK;
}

dq_observation network_watch(const network *it, const char *const *names) {
  return (dq_observation){.graph = it->graph,
                          .shapes = &no_shapes,
                          .names = names,
                          .count = 1,
                          .data = it->data,
                          .pictures = PICTURES,
                          .doing = "watching"};
}

void network_run(const network *it, network_outputs *all) {
  static const char *const names[] = {"y"};
  dq_observation what = network_watch(it, names);
  dq_error error;
  all->next = 0;
  assert_int_equal(dq_observe(&what, keep, all, &it->context, &error), DQ_OK);
  assert_int_equal(all->next, PICTURES);
}

static double larger_magnitude(double most, double x) { return fabs(x) > most ? fabs(x) : most; }

double network_difference(const network_outputs *before, const network_outputs *after) {
  double range = 0, largest = 0;
  for (int p = 0; p < PICTURES; p++)
    for (int i = 0; i < 4 * SIDE * SIDE; i++) {
      range = larger_magnitude(range, before->values[p][i]);
      largest = larger_magnitude(largest, (double)(before->values[p][i] - after->values[p][i]));
    }
  return largest / range;
}
