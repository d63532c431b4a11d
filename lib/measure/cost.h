// What a model costs, counted without running it: shapes, multiply-accumulates, parameters, bytes and precision of
// every node, and the totals.
#ifndef DQ_MEASURE_COST_H
#define DQ_MEASURE_COST_H

#include "lib/measure/cost_window.h"
#include "lib/schedule/open_sizes.h"

typedef struct dq_cost_node {
  const dq_node *node;
  const char *label;        // the node's name, or its first output's when it has none
  const char *shape;        // of output 0, "Nx64x56x56" when the batch is open, "?" when not known
  int input_type;           // of input 0, 0: none or not known
  int output_type;          // of output 0, 0: not known
  bool macs_known;          // false: shapes or operator are not known, macs is 0
  bool int8;                // products of 8-bit integers: a quantized operator, or one between
                            // DequantizeLinear nodes of 8-bit values
  int64_t macs;             // at batch 1 unless the request says otherwise
  int64_t parameters;       // elements of the weights it owns, see dq_cost_analyse
  int64_t parameter_bytes;  // of all constants it owns, as stored
  int64_t activation_bytes; // of its outputs
  const char *precision;    // "fp32", "fp16", "int8", "fp32, int8 weights"; "": the node has no weights
  const char *problem;      // why dq cannot run the node; NULL: dq can
  dq_cost_window window;
  bool incomplete; // a part of the cost is not counted: multiply-accumulates, bytes of an output whose shape is not
                   // known, or the contents of a body (If, Loop, Scan)
} dq_cost_node;

typedef struct dq_cost_operator {
  const char *domain, *op_type;
  int count;
  int64_t macs;
} dq_cost_operator;

// An input or output of the model.
typedef struct dq_cost_port {
  const char *name;
  int type;          // 0: no tensor, or not known
  const char *shape; // as in dq_cost_node
  bool output;
} dq_cost_port;

typedef struct dq_cost {
  dq_cost_port *ports; // inputs, then outputs, in the order of the document
  int port_count;
  dq_cost_node *nodes; // in the order of the document
  int node_count;
  dq_cost_operator *operators; // most frequent first, then by name
  int operator_count;
  int64_t macs, int8_macs;
  bool macs_complete; // those of every node are known; otherwise macs and int8_macs are lower bounds
  int incomplete;     // number of nodes with dq_cost_node.incomplete; above 0: macs and activation_bytes are lower
                      // bounds
  bool bodies;        // some nodes have bodies, whose weights are not counted: all sums are lower bounds
  int64_t float_parameters; // elements of all float32, float64 and float16 initializers
  int64_t parameters;       // elements of all initializers and Constant nodes
  int64_t parameter_bytes;  // of those, as stored
  int64_t activation_bytes; // of all nodes' outputs
  int64_t file_bytes;       // size of the file; -1: the graph was not loaded from a file
  int64_t live_bytes;       // peak live memory of a run (dq_schedule_live_bytes); -1: dq cannot run the model
  int64_t planned_bytes;    // planned memory of a run (dq_schedule_bytes); -1: likewise
  int unsupported;          // number of nodes with a problem
  int64_t opset;
  dq_sizes sizes;           // the sizes that the model leaves open; all costs are those at these sizes
  const char *sizes_text;   // of these all but the batch, "height=224,width=224"; "": there are none
  const char *sizes_option; // option that gives the assumed sizes, "--shape x=N,3,224,224"; "": none is assumed
} dq_cost;

// Counts the cost of an indexed graph. Operators that dq cannot run are no failure; their nodes have a problem. Each
// initializer belongs to the first node that reads it, so that a shared one is counted once; one that goes through a
// DequantizeLinear, Cast or Transpose belongs to the node behind that. Weights are constants of float types, of 4-bit
// and 8-bit integers, and int32 biases of quantized operators; a scalar scale or zero point counts as well, indices and
// shapes (int64) do not. Everything is in the arena; the graph must outlive *cost. `request` may be NULL. Open sizes
// are assumed (lib/schedule/open_sizes.h). Where no size fits, and of nodes that dq cannot run, the function counts
// what is known. DQ_BAD_INPUT: a node contradicts its inputs at the sizes of the request; DQ_SYSTEM: there is no
// memory.
dq_status dq_cost_analyse(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                          const dq_context *context, dq_arena *arena, dq_error *error);
// Does what dq_cost_analyse does, without live_bytes and planned_bytes (-1), for which dq_cost_analyse runs the passes
// on a copy of the network and schedules it.
dq_status dq_cost_count(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                        const dq_context *context, dq_arena *arena, dq_error *error);

#endif
