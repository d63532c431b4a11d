// Runs that show the error of each layer alone. On every picture the float network runs once, and then once for each
// variant, with one layer in 8 bits. The state of the network in front of the layer is saved, so that a variant runs
// the steps from its layer on only. Where only the layers that make much of the noise are wanted, segments of the
// network are run in 8 bits first and halved, and variants of segments that make little of it are left out.
#ifndef DQ_QUANT_LAYER_ERROR_RUNS_H
#define DQ_QUANT_LAYER_ERROR_RUNS_H

#include "lib/session/runner.h"
#include "quant/numeric/parameters.h"

typedef struct dq_layer_error_row {
  const char *product; // value computed by the product whose weights become 8 bits; NULL: none
  const char *result;  // value that is put through 8 bits and back; NULL: none
  dq_parameters parameters;
} dq_layer_error_row;

// What is in 8 bits in a run: nothing; the weights, the result or both of one row; both of all rows; both of the rows
// of a segment.
typedef enum dq_layer_error_kind {
  DQ_LAYER_ERROR_EXACT,
  DQ_LAYER_ERROR_WEIGHTS,
  DQ_LAYER_ERROR_RESULT,
  DQ_LAYER_ERROR_BOTH,
  DQ_LAYER_ERROR_ALL,
  DQ_LAYER_ERROR_SEGMENT
} dq_layer_error_kind;

// A callback that receives the plan after each run, to read its outputs. `row` is the row in 8 bits, -1 for EXACT, ALL
// and SEGMENT. It sets *noise to the noise of the outputs, which is 0 before. A status other than DQ_OK ends the runs.
typedef dq_status (*dq_layer_error_on_outputs)(void *user, int row, dq_layer_error_kind kind, const dq_plan *plan,
                                               double *noise, dq_error *error);

typedef struct dq_layer_error_variant {
  int row, start; // start: the first step that the variant changes
  dq_layer_error_kind kind;
} dq_layer_error_variant;

typedef struct dq_layer_error_runs {
  dq_runner exact;
  dq_session rounded;     // the graph with the weights of all rows in 8 bits
  void *before, *between; // saved states (dq_plan_save): in front of the layer; behind its product
  const dq_layer_error_row *rows;
  int row_count;
  int *products, *results;          // by row: steps of its product and of its result
  dq_layer_error_variant *variants; // in the order of their first steps
  int variant_count;
  int *by_result; // rows in the order of their results
  int at;         // `before` is the state in front of this step
  unsigned cpu;   // features of the processor
  double share;
  dq_layer_error_on_outputs on_outputs; // of the picture that runs, with its `user`
  void *user;
} dq_layer_error_runs;

typedef struct dq_layer_error_input {
  const dq_graph *exact, *rounded; // float network; the same with weights of all rows in 8 bits
  dq_data *data;
  const dq_shape_request *shapes;
  const dq_layer_error_row *rows;
  int count;
  bool both; // runs weights and result together too; else only each alone
  // Variants are left out of segments of the network that, in 8 bits alone, make less than this share of the noise that
  // all rows make together; 0: none.
  double share;
} dq_layer_error_input;

// Opens the sessions and orders the variants. Arrays are in the arena, and the members of `input` must outlive `runs`.
// dq_layer_error_runs_close may be called also after a failure. DQ_UNSUPPORTED: the two graphs do not give the same
// steps; DQ_SYSTEM: there is no memory; else as dq_runner_open.
dq_status dq_layer_error_runs_open(dq_layer_error_runs *runs, const dq_layer_error_input *input, dq_arena *arena,
                                   const dq_context *context, dq_error *error);
void dq_layer_error_runs_close(dq_layer_error_runs *runs);

// Runs the variants on one picture of the data and calls `on_outputs` after each, EXACT first, ALL second. Statuses are
// those of reading the picture and of the callback.
dq_status dq_layer_error_runs_on_picture(dq_layer_error_runs *runs, int64_t picture,
                                         dq_layer_error_on_outputs on_outputs, void *user, dq_error *error);

#endif
