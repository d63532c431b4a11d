// Small graphs in float, their plans and sessions, for tests of these.
#ifndef DQ_TESTS_UNIT_PLAN_HARNESS_H
#define DQ_TESTS_UNIT_PLAN_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/session/session.h"

extern dq_context context; // two threads, open between the two functions
int context_start(void **state);
int context_end(void **state);

// An empty graph of opset 13, a float32 value with its shape, a constant with a copy of `values`, one of another
// type whose elements are all `value`, and a node whose name and output are `to`. The last makes the two the input and
// the output of the graph.
dq_graph *new_graph(void);
dq_value *shaped(dq_graph *graph, const char *name, int rank, const int64_t *dims);
dq_value *constant(dq_graph *graph, const char *name, int rank, const int64_t *dims, const float *values);
dq_value *integers(dq_graph *graph, const char *name, int type, int rank, const int64_t *dims, double value);
dq_node *add(dq_graph *graph, const char *op, int count, dq_value **inputs, const char *to);
void interface(dq_graph *graph, dq_value *input, dq_value *output);

// Copies of tapped values in the order in which they came; the caller frees each.
typedef struct record {
  float *values[128];
  int count;
} record;
dq_status keep_value(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error);

// Normal numbers by a seed.
void fill(dq_tensor *tensor, uint64_t seed);
// Runs with fill(input, seed), in a session with fill(input, 7); the result is a copy of the output in `arena`.
dq_tensor *run_plan(dq_plan *plan, dq_arena *arena, uint64_t seed);
dq_tensor *session_run(const dq_graph *graph, const dq_session_options *options, const dq_context *with,
                       dq_arena *arena, record *taps);
void same_bits(const dq_tensor *a, const dq_tensor *b);

#endif
