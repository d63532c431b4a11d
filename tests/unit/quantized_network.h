// A network of quantized inputs, operators in float and quantized outputs, and its runs with and without integer steps
// on several instruction sets and numbers of threads.
#ifndef DQ_TESTS_UNIT_QUANTIZED_NETWORK_H
#define DQ_TESTS_UNIT_QUANTIZED_NETWORK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/session/session.h"

typedef struct network {
  dq_graph *graph;
  dq_random random;
  int values;
} network;

network open_network(uint64_t seed);

// Constants: random elements between `low` and `high`, one number, whole numbers.
float random_float(network *n, float low, float high);
dq_value *floats(network *n, int rank, const int64_t *dims, float low, float high);
dq_value *number(network *n, float x);
dq_value *ints(network *n, int64_t count, const int64_t *values);
#define INTS(...)                                                                                                      \
  (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

// A value with a name of its own, and a node that makes one.
dq_value *fresh(network *n, const char *base);
dq_value *node_of(network *n, const char *op_type, int count, dq_value **inputs);
#define NODE(n, op_type, ...)                                                                                          \
  node_of(n, op_type, (int)(sizeof((dq_value *[]){__VA_ARGS__}) / sizeof(dq_value *)), (dq_value *[]){__VA_ARGS__})
dq_node *last_node(network *n);
// Attributes of the last node.
#define SET(name, ...)                                                                                                 \
  dq_node_set_ints(n->graph, last_node(n), name, (int64_t[]){__VA_ARGS__},                                             \
                   (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define SET_INT(name, value) dq_node_set_int(n->graph, last_node(n), name, value)

typedef struct affine {
  dq_value *scale, *zero_point;
} affine;
affine parameters(network *n, float scale, int type, int zero_point);
affine random_parameters(network *n);

// A new input of 8 bits, dequantized.
dq_value *input_with(network *n, affine p, int rank, const int64_t *dims);
dq_value *input(network *n, int rank, const int64_t *dims);
dq_value *picture(network *n); // 2x6x7x9
// An output; one with a QuantizeLinear in front of it.
void output(network *n, dq_value *value);
void quantized_with(network *n, dq_value *value, affine p);
void quantized(network *n, dq_value *value);

enum { WAYS = 4, MOST_OUTPUTS = 24 };
extern dq_context contexts[WAYS]; // open between the two functions
int contexts_start(void **state);
int contexts_end(void **state);

// Elements of all outputs; the number of steps of each operator that ran, by `counted`.
typedef struct outcome {
  dq_tensor outputs[MOST_OUTPUTS];
  int conversions; // steps QuantizeLinear and DequantizeLinear
  int tables;
} outcome;

// Runs the indexed network on random bytes; the outputs are in `arena`.
void run_network(const network *n, const dq_session_options *options, const dq_context *context, dq_arena *arena,
                 outcome *to);
void expect_same(const network *n, const outcome *a, const outcome *b, const char *what);

// The network gives the same bits with and without passes, in every way; `conversions` are left over. Frees the graph.
void expect_exact(network *n, int conversions, const char *what);

enum { SEEDS = 4 };
typedef void building(network *n);
void expect_exact_for_seeds(building *build, int conversions, const char *what);
#define EXACT(build) expect_exact_for_seeds(build, 0, #build)

#endif
