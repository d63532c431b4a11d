// A network step by step on one picture after the other, with one layer at a time in 8 bits: what stands before the
// layer is computed once and kept, only what follows runs again.
#ifndef DQ_QUANT_SENSITIVITY_WALK_H
#define DQ_QUANT_SENSITIVITY_WALK_H

#include "lib/session/runner.h"
#include "quant/numeric/parameters.h"

typedef struct dq_walk_row {
  const char *product; // value computed by the product whose weights become 8 bits; NULL: none
  const char *result;  // value that is put through 8 bits and back; NULL: none
  dq_parameters parameters;
} dq_walk_row;

// What is in 8 bits: nothing; of one row its weights, its result, both; of all rows both.
typedef enum dq_walk_kind { DQ_WALK_EXACT, DQ_WALK_WEIGHTS, DQ_WALK_RESULT, DQ_WALK_BOTH, DQ_WALK_ALL } dq_walk_kind;

// The outputs of the plan are those with `row` (-1 for EXACT and ALL) in 8 bits.
typedef dq_status (*dq_walk_see)(void *user, int row, dq_walk_kind kind, const dq_plan *plan, dq_error *error);

typedef struct dq_walk_variant {
  int row, start; // the first step that it changes
  dq_walk_kind kind;
} dq_walk_variant;

typedef struct dq_walk {
  dq_runner exact;
  dq_session rounded;     // the same graph with the weights of all rows in 8 bits
  void *before, *between; // states (dq_plan_save)
  const dq_walk_row *rows;
  int row_count;
  int *products, *results;   // their steps, by row
  dq_walk_variant *variants; // in the order of their first steps
  int variant_count;
  int *by_result; // rows in the order of their results
  int at;         // step that `before` stands in front of
} dq_walk;

typedef struct dq_walk_input {
  const dq_graph *exact, *rounded; // of the same nodes and values
  dq_data *data;
  const dq_shape_request *shapes;
  const dq_walk_row *rows;
  int count;
  bool both; // all three kinds of every row that has weights; else weights and result, each alone
} dq_walk_input;

// Arrays in the arena; what `input` points at outlives the walk. Safe to close when it fails.
dq_status dq_walk_open(dq_walk *walk, const dq_walk_input *input, dq_arena *arena, const dq_context *context,
                       dq_error *error);
void dq_walk_close(dq_walk *walk);

// All kinds on one picture of the data, EXACT first.
dq_status dq_walk_picture(dq_walk *walk, int64_t picture, dq_walk_see see, void *user, dq_error *error);

#endif
