// A network step by step on one picture after the other, with one layer at a time in 8 bits: what stands before the
// layer is computed once and kept, only what follows runs again.
#ifndef DQ_QUANT_LAYER_ERROR_RUNS_H
#define DQ_QUANT_LAYER_ERROR_RUNS_H

#include "lib/session/runner.h"
#include "quant/numeric/parameters.h"

typedef struct dq_layer_error_row {
  const char *product; // value computed by the product whose weights become 8 bits; NULL: none
  const char *result;  // value that is put through 8 bits and back; NULL: none
  dq_parameters parameters;
} dq_layer_error_row;

// What is in 8 bits: nothing; of one row its weights, its result, both; of all rows both.
typedef enum dq_layer_error_kind {
  DQ_LAYER_ERROR_EXACT,
  DQ_LAYER_ERROR_WEIGHTS,
  DQ_LAYER_ERROR_RESULT,
  DQ_LAYER_ERROR_BOTH,
  DQ_LAYER_ERROR_ALL
} dq_layer_error_kind;

// The outputs of the plan are those with `row` (-1 for EXACT and ALL) in 8 bits.
typedef dq_status (*dq_layer_error_on_outputs)(void *user, int row, dq_layer_error_kind kind, const dq_plan *plan,
                                               dq_error *error);

typedef struct dq_layer_error_variant {
  int row, start; // the first step that it changes
  dq_layer_error_kind kind;
} dq_layer_error_variant;

typedef struct dq_layer_error_runs {
  dq_runner exact;
  dq_session rounded;     // the same graph with the weights of all rows in 8 bits
  void *before, *between; // states (dq_plan_save)
  const dq_layer_error_row *rows;
  int row_count;
  int *products, *results;          // their steps, by row
  dq_layer_error_variant *variants; // in the order of their first steps
  int variant_count;
  int *by_result; // rows in the order of their results
  int at;         // step that `before` stands in front of
} dq_layer_error_runs;

typedef struct dq_layer_error_input {
  const dq_graph *exact, *rounded; // of the same nodes and values
  dq_data *data;
  const dq_shape_request *shapes;
  const dq_layer_error_row *rows;
  int count;
  bool both; // all three kinds of every row that has weights; else weights and result, each alone
} dq_layer_error_input;

// Arrays in the arena; what `input` points at outlives the walk. Safe to close when it fails.
dq_status dq_layer_error_runs_open(dq_layer_error_runs *runs, const dq_layer_error_input *input, dq_arena *arena,
                                   const dq_context *context, dq_error *error);
void dq_layer_error_runs_close(dq_layer_error_runs *runs);

// All kinds on one picture of the data, EXACT first.
dq_status dq_layer_error_runs_on_picture(dq_layer_error_runs *runs, int64_t picture,
                                         dq_layer_error_on_outputs on_outputs, void *user, dq_error *error);

#endif
