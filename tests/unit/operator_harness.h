// One operator with its inputs, for tests of the operator table.
#ifndef DQ_TESTS_UNIT_OPERATOR_HARNESS_H
#define DQ_TESTS_UNIT_OPERATOR_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/ops/table/operator.h"

enum { HARNESS_INPUTS = 12, HARNESS_OUTPUTS = 4 };

typedef struct harness {
  dq_context context;
  dq_graph *graph;
  dq_node *node; // set attributes on it
  dq_tensor *inputs[HARNESS_INPUTS];
  dq_tensor *output;                   // the first of outputs
  dq_tensor *outputs[HARNESS_OUTPUTS]; // NULL: left out
  int output_count;                    // 1, or what a test sets it to
  dq_op op;
  dq_error error;
} harness;

// An operator of `domain` under `opset`, with two threads and all features of the processor.
void harness_open(harness *h, const char *domain, const char *op_type, int opset);
void harness_close(harness *h);

// The next input: elements are copied, or zero when `data` is NULL. harness_skip leaves one out.
dq_tensor *harness_input(harness *h, int type, int rank, const int64_t *dims, const void *data);
void harness_skip(harness *h);
// Input `i`, new or in place of the one before, with elements converted from `values` (NULL: zeros).
dq_tensor *harness_numbers(harness *h, int i, int type, int rank, const int64_t *dims, const double *values);

dq_status harness_infer(harness *h);   // resolves and infers; sets h->output's type and shape
dq_status harness_run(harness *h);     // without a plan
dq_status harness_prepare(harness *h); // then runs as a plan does, all inputs constant

#define DIMS(...)                                                                                                      \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define FLOATS(...)                                                                                                    \
  (float[]) { __VA_ARGS__ }

// Fails the test unless infer gives `status` and a message with `words`.
void harness_refuses(harness *h, dq_status status, const char *words);
// Fails the test unless the output has this shape and these elements, prepared and not.
void harness_gives(harness *h, int type, int rank, const int64_t *dims, const double *elements);
// Fails the test unless output i of the last run has this shape and elements no further than `tolerance` from these.
void harness_gave(const harness *h, int i, int type, int rank, const int64_t *dims, const double *elements,
                  double tolerance);
// Runs, and fails the test unless the output has elements no further than `tolerance` from these.
void harness_is_near(harness *h, int rank, const int64_t *dims, const double *elements, double tolerance);
#define DOUBLES(...)                                                                                                   \
  (double[]) { __VA_ARGS__ }

#endif
