// Shapes, types and small constants of every value of a graph, from the shapes of its inputs.
#ifndef DQ_EXEC_INFER_H
#define DQ_EXEC_INFER_H

#include "lib/graph/graph.h"
#include "lib/ops/operator.h"

// What is known of the inputs beyond their declarations.
typedef struct dq_shape_request {
  int64_t batch;                    // for an unknown first dimension; 0: 1
  int64_t stand_in;                 // for other unknown dimensions; 0: they are a failure
  const struct dq_input_shape *inputs; // shapes the user gave
  int input_count;
} dq_shape_request;

typedef struct dq_input_shape {
  const char *name;
  int rank;
  int64_t dims[DQ_MAX_RANK];
} dq_input_shape;

// Parses "name=1,3,224,224" or "1,3,224,224" (the only input: name ""). DQ_USAGE.
// The name is allocated in the arena.
dq_status dq_input_shape_parse(const char *text, dq_arena *arena, dq_input_shape *shape,
                               dq_error *error);

// The shape an input has under a request (`tensor` gets type and dims). DQ_USAGE with a hint when a
// dimension other than the first is not known, DQ_BAD_INPUT when a given shape contradicts the
// declaration. `request` may be NULL.
dq_status dq_input_tensor(const dq_graph *graph, const dq_value *input,
                          const dq_shape_request *request, dq_tensor *tensor, dq_error *error);

// Tensors by value index, in the arena: type and shape (rank -1 when it depends on elements), data of
// initializers, and of values computed from constants or shapes when they have at most 65,536
// elements. The graph must be indexed; nodes are visited in topological order whatever the order of
// the file. Nodes without a row fail with DQ_UNSUPPORTED unless `tolerant`: then their outputs stay
// unknown (rank -1, type 0).
dq_status dq_infer(const dq_graph *graph, const dq_shape_request *request, bool tolerant,
                   const dq_context *context, dq_arena *arena, dq_tensor **tensors,
                   dq_error *error);

// One node's dq_op over those tensors, resolved and ready for dq_op_infer. Arrays in the arena.
dq_status dq_op_bind(dq_op *op, const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                     const dq_context *context, dq_arena *arena, dq_error *error);

#endif
