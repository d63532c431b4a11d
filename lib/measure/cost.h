// What a model costs, from the file alone: shapes, multiply-accumulates, parameters, bytes and
// precision of every node, and the totals.
#ifndef DQ_EVAL_COST_H
#define DQ_EVAL_COST_H

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
  const char *precision;    // "fp32", "fp16", "int8", "fp32, int8 weights", "" when it holds none
  const char *problem;      // why it cannot be run, or NULL
  dq_cost_window window;
  bool incomplete; // something of it is not counted: its MACs, bytes of an output whose shape is not known,
                   // what its body holds (If, Loop, Scan)
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
  bool macs_complete;       // every node's are known; else macs and int8_macs are lower bounds
  int incomplete;           // nodes that are not counted in full: if there are any, MACs and bytes of activations are
                            // lower bounds
  bool bodies;              // some nodes have bodies, whose weights are not counted: so are all other sums
  int64_t float_parameters; // elements of all float32, float64 and float16 initializers
  int64_t parameters;       // elements of all initializers and Constant nodes
  int64_t parameter_bytes;  // of those, as stored
  int64_t activation_bytes; // of all nodes' outputs
  int64_t file_bytes;       // -1: not a file
  int64_t live_bytes;       // most alive at once while running, -1: cannot be run
  int64_t planned_bytes;    // of the block they are placed in (dq_schedule_bytes), -1: as above
  int unsupported;          // nodes with a problem
  int64_t opset;
  dq_sizes sizes;           // that the model leaves open, at which all this is counted
  const char *sizes_text;   // those but for the batch, "height=224,width=224"; "" when there are none
  const char *sizes_option; // that gives what is assumed, "--shape x=N,3,224,224"; "" when nothing is
} dq_cost;

// Analyses an indexed graph. Operators that are not supported do not stop it: their rows say so.
// Each initializer is owned by the first node that reads it (through a DequantizeLinear, Cast or
// Transpose of its own, the node behind that), so a shared one is counted once. Weights are
// constants of float types, of 4-bit and 8-bit integers, and int32 biases of quantized operators; a
// scalar scale or zero point counts as well, indices and shapes (int64) do not. Everything is in
// the arena. `request` may be NULL. Open sizes are assumed (lib/schedule/open_sizes.h); where none fits, and of nodes
// that dq does not run, what is known is counted. DQ_BAD_INPUT for nodes that contradict themselves at the sizes given.
dq_status dq_cost_analyse(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                          const dq_context *context, dq_arena *arena, dq_error *error);
// The same without the memory of a run, for which a copy of the network goes through the passes and is scheduled.
dq_status dq_cost_count(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                        const dq_context *context, dq_arena *arena, dq_error *error);

#endif
