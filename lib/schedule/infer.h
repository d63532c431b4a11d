// Shapes, types and small constants of every value of a graph, from the shapes of its inputs.
#ifndef DQ_SCHEDULE_INFER_H
#define DQ_SCHEDULE_INFER_H

#include "lib/graph/graph.h"
#include "lib/ops/operator.h"

// What is known of the inputs beyond their declarations.
typedef struct dq_shape_request {
  int64_t batch;                       // for an unknown first dimension; 0: 1
  const struct dq_input_shape *inputs; // shapes the user gave; of several for one input the first that knows a size
  int input_count;
} dq_shape_request;

typedef struct dq_input_shape {
  const char *name; // "": the only input
  int rank;
  int64_t dims[DQ_MAX_RANK]; // -1: as if it were not given
  bool last;                 // fewer sizes than the input has dimensions are those of its last ones
} dq_input_shape;

// Parses "name=1,3,224,224" or "1,3,224,224" (the only input: name ""). N, * and ? stand for a size that is not
// given, and so do the first dimensions of an input that has more than the text: "name=224,224". DQ_USAGE.
// The name is allocated in the arena.
dq_status dq_input_shape_parse(const char *text, dq_arena *arena, dq_input_shape *shape, dq_error *error);

// Whether every shape of the request is for an input of one of the graphs at least; DQ_USAGE with the nearest name.
dq_status dq_input_names(const dq_graph *const *graphs, int count, const dq_shape_request *request, dq_error *error);

// The size that the request gives a dimension of the input; -1: none. `request` may be NULL.
int64_t dq_input_given(const dq_graph *graph, const dq_value *input, const dq_shape_request *request, int dimension);

// The shape an input has under a request (`tensor` gets type and dims): of every dimension what is given, else
// declared, else the batch if it is the first, else what dq_value.usual says. DQ_USAGE when a dimension is still
// not known, DQ_BAD_INPUT when a given shape contradicts the declaration. `request` may be NULL.
dq_status dq_input_tensor(const dq_graph *graph, const dq_value *input, const dq_shape_request *request,
                          dq_tensor *tensor, dq_error *error);

// What dq_infer passes over, leaving outputs unknown (rank -1, type 0).
typedef enum dq_tolerance {
  DQ_INFER_ALL,      // nothing
  DQ_INFER_TOLERANT, // nodes that dq does not run
  // These, and inputs that are no tensors or have no shape. Outputs that are not known take the shape that the file
  // declares for them when it is complete; as that may be wrong, nodes behind may then contradict their inputs.
  DQ_INFER_PARTIAL,
  DQ_INFER_BROKEN // these, and any node that contradicts its inputs
} dq_tolerance;

// Tensors by value index, in the arena: type and shape (rank -1 when it depends on elements), data of
// initializers, and of values computed from constants or shapes when they have at most 65,536
// elements. The graph must be indexed; nodes are visited in topological order whatever the order of
// the file. What is not tolerated fails: DQ_UNSUPPORTED for nodes without a row, DQ_BAD_INPUT, and DQ_USAGE for a
// size that is not known, with a hint that names sizes which the network takes.
dq_status dq_infer(const dq_graph *graph, const dq_shape_request *request, dq_tolerance tolerance,
                   const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);

// One node's dq_op over those tensors, resolved and ready for dq_op_infer. Arrays in the arena.
dq_status dq_op_bind(dq_op *op, const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                     const dq_context *context, dq_arena *arena, dq_error *error);
// The part of it behind the resolution: op has its node and error, and gets its inputs and outputs.
dq_status dq_op_connect(dq_op *op, dq_tensor *tensors, dq_arena *arena);

#endif
