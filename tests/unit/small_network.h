// A small network and pictures for tests of quantization.
#ifndef DQ_TESTS_SMALL_NETWORK_H
#define DQ_TESTS_SMALL_NETWORK_H

#include <stddef.h>

#include "calib/calib.h"

enum { CHANNELS = 6, SIDE = 8, PICTURES = 4 };

typedef struct network {
  dq_graph *graph; // empty until network_build
  dq_arena *arena;
  dq_context context;
  dq_data *data;
  char path[64]; // of the pictures
} network;

typedef struct network_outputs {
  float values[PICTURES][4 * SIDE * SIDE];
  int next;
} network_outputs;

extern const dq_shape_request no_shapes;

// For cmocka_unit_test_setup_teardown; the state is a network.
int network_start(void **state);
int network_end(void **state);

// Reads these pictures instead: `header` as NumPy has it, and elements.
void network_pictures(network *it, const char *header, const void *values, size_t size);
// Pictures whose channel c holds first[c] + step[c] k, k over 0...last[c].
void network_steps(network *it, const float first[3], const float step[3], const int last[3]);

dq_value *network_value(network *it, const char *name);
// Inputs b and c may be NULL.
dq_node *network_node(network *it, const char *op_type, dq_value *a, dq_value *b, dq_value *c, dq_value *y);
// A convolution with random weights and bias, padded to keep the size.
void network_conv(network *it, dq_value *x, const char *y, int64_t from, int64_t to, int64_t k, int64_t group);
// Makes x of 3 channels the input and y of 4 the output, and indexes the graph.
void network_finish(network *it);
// x -> a -LeakyRelu-> depthwise b -> SiLU -> c (1x1) + d (1x1 of b's SiLU) -> Relu -> y (1x1)
void network_build(network *it);

dq_observation network_watch(const network *it, const char *const *names);
void network_run(const network *it, network_outputs *all);
// The largest difference, as a share of the largest output of `before`.
double network_difference(const network_outputs *before, const network_outputs *after);

#endif
