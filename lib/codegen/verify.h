// Whether emitted C, compiled and run, gives the answers of the executor, bit by bit.
#ifndef DQ_CODEGEN_VERIFY_H
#define DQ_CODEGEN_VERIFY_H

#include "datasets/datasets.h"
#include "lib/codegen/codegen.h"

typedef struct dq_codegen_verify_options {
  const dq_graph *graph;   // that was emitted
  dq_shape_request shapes; // whose batch is the number of samples in a run
  dq_data *data;           // NULL: eight samples of normal noise of deviation 1, also for networks without inputs
  uint64_t seed;           // of the noise
  const char *compiler;    // command that compiles C; NULL: $CC, or cc
  const char *flags;       // of the compiler; NULL: "-std=c99 -O2"
  const char *run;         // command in front of the program, such as "qemu-arm -L /usr/arm-linux-gnueabi"; NULL: none
  int64_t pictures;        // the first of the data; 0: all
} dq_codegen_verify_options;

typedef struct dq_codegen_comparison {
  int64_t pictures;
  int64_t elements;  // of all outputs of all pictures
  int64_t different; // of these: with other bits
  int first_output;  // the output and the picture with the first difference
  int64_t first_picture;
} dq_codegen_comparison;

// Compiles the texts of `made` with a program that reads samples, runs it in a temporary folder, and compares its
// outputs with those of the executor on the same samples. NaN equals NaN of other bits. What compiler and program print
// goes to standard error. DQ_SYSTEM: the program could not be compiled or run, or there is no memory; DQ_CANCELLED;
// else statuses as dq_runner_open, dq_runner_read and dq_runner_run.
dq_status dq_codegen_verify(dq_codegen_comparison *comparison, const dq_codegen *made,
                            const dq_codegen_verify_options *options, const dq_context *context, dq_error *error);

#endif
