// Shapes, types and small constants of every value of a graph, from the shapes of its inputs.
#ifndef DQ_SCHEDULE_INFER_H
#define DQ_SCHEDULE_INFER_H

#include "lib/graph/graph.h"
#include "lib/ops/table/operator.h"

// Sizes of inputs that the caller gives in addition to those that the graph declares.
typedef struct dq_shape_request {
  int64_t batch;                       // size of first dimensions that are open; 0: 1
  const struct dq_input_shape *inputs; // [input_count]; of several for one input, the first that gives a size counts
  int input_count;
} dq_shape_request;

typedef struct dq_input_shape {
  const char *name;          // of the input; "": the only input
  int rank;                  // number of sizes
  int64_t dims[DQ_MAX_RANK]; // -1: this size is not given
  bool any_batch; // true: the first dimension is the batch of the request, also where the graph declares another one
  bool last;      // true: when `rank` is less than that of the input, these are the sizes of its last dimensions
} dq_input_shape;

// The number of inputs of the graph that a caller feeds: those without an initializer.
int dq_input_count(const dq_graph *graph);

// Parses "name=1,3,224,224", or "1,3,224,224" for the only input (name ""). N, * and ? stand for a size that is not
// given. Fewer sizes than the input has dimensions are the last ones: "name=224,224". The name is in the arena.
// DQ_USAGE: the text has another form; DQ_SYSTEM: there is no memory.
dq_status dq_input_shape_parse(const char *text, dq_arena *arena, dq_input_shape *shape, dq_error *error);

// DQ_USAGE, with the nearest name as a hint: a shape of the request is for no input of any of the `count` graphs.
dq_status dq_input_names(const dq_graph *const *graphs, int count, const dq_shape_request *request, dq_error *error);

// Parses `count` texts into the inputs of *request, whose batch is that of the caller; arrays are in the arena.
// DQ_USAGE as dq_input_shape_parse, and as dq_input_names where there are graphs; DQ_SYSTEM: there is no memory.
dq_status dq_input_shapes_read(dq_shape_request *request, const char *const *texts, int count,
                               const dq_graph *const *graphs, int graph_count, dq_arena *arena, dq_error *error);

// The size that the request gives for a dimension of the input; -1: none. `request` may be NULL.
int64_t dq_input_given(const dq_graph *graph, const dq_value *input, const dq_shape_request *request, int dimension);

// Stores type and shape of an input under a request in *tensor, without elements. Each dimension is the one that is
// given, else the declared one, else the batch if it is the first, else dq_value.usual. `request` may be NULL.
// DQ_USAGE: a dimension is still not known; DQ_BAD_INPUT: a given shape contradicts the declaration.
dq_status dq_input_tensor(const dq_graph *graph, const dq_value *input, const dq_shape_request *request,
                          dq_tensor *tensor, dq_error *error);

// Which nodes and inputs are no failure of dq_infer; values that they leave unknown have rank -1 and type 0.
typedef enum dq_tolerance {
  DQ_INFER_ALL,      // none: everything must be known
  DQ_INFER_TOLERANT, // nodes that dq cannot run
  // Also inputs that are no tensors or have no shape. Unknown outputs take the shape that the file declares, when that
  // is complete; since the file may be wrong, nodes behind them may then contradict their inputs.
  DQ_INFER_PARTIAL,
  DQ_INFER_BROKEN // also nodes that contradict their inputs
} dq_tolerance;

// Infers all values of an indexed graph, whose nodes may be in any order, under `request` (may be NULL). *tensors is an
// array by value index, in the arena: type and shape (rank -1: the shape depends on elements), and elements of
// initializers and of values that follow from constants or shapes and have at most 65,536 elements. What `tolerance`
// does not allow is a failure: DQ_UNSUPPORTED: dq cannot run a node; DQ_BAD_INPUT: a node contradicts its inputs, or
// the graph has a cycle; DQ_USAGE: a size is not known (the hint names sizes that the network takes). DQ_SYSTEM: there
// is no memory.
dq_status dq_infer(const dq_graph *graph, const dq_shape_request *request, dq_tolerance tolerance,
                   const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);
// Infers as dq_infer does, but when a size is not known there is no hint with sizes that the network takes, as finding
// them takes further inferences.
dq_status dq_infer_at(const dq_graph *graph, const dq_shape_request *request, dq_tolerance tolerance,
                      const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);

// Fills *op for a node over the tensors of dq_infer (by value index): sets row and version by dq_operator_resolve,
// inputs and outputs, and zeros the other fields, so that *op is ready for dq_op_infer. Its arrays are in the arena; it
// keeps pointers to the tensors, the node, the context and `error`. Messages do not name the node. Statuses as
// dq_operator_resolve; DQ_SYSTEM: there is no memory.
dq_status dq_op_bind(dq_op *op, const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                     const dq_context *context, dq_arena *arena, dq_error *error);
// Sets only inputs and outputs of *op, whose node and error are set. DQ_SYSTEM: there is no memory.
dq_status dq_op_connect(dq_op *op, dq_tensor *tensors, dq_arena *arena);

#endif
