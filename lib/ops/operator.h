// The operator table: what the suite knows about each ONNX operator. A family of operators is one
// file; an operator is one const dq_operator there and one row in operators.def.
#ifndef DQ_OPS_OPERATOR_H
#define DQ_OPS_OPERATOR_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"
#include "lib/ops/product.h"

typedef struct dq_operator dq_operator;

// One node at inference, preparation and run time. Tensors are row-major.
typedef struct dq_op {
  const dq_context *context;
  const dq_node *node;
  const dq_operator *row;
  int version; // the since-version of the operator that the model's opset means
  int input_count;
  const dq_tensor **inputs; // [i] NULL: left out; ->data NULL: elements not known yet (inference)
  int output_count;
  dq_tensor **outputs;       // [i] NULL: left out. infer sets type and shape, run fills the data
  void *state;               // made by prepare, lives as long as the plan; NULL: not prepared
  size_t scratch_bytes;      // asked for by prepare
  void *scratch;             // given to run, 64-byte aligned, contents undefined
  struct dq_half_form *half; // of a prepared float16 node: its float32 form
  int algorithm;             // how a convolution is to be computed, a dq_conv_choice of lib/kernels
  const char *computed_by;   // set by prepare: the algorithm that was chosen; NULL: there is one way only
  bool misfit;               // set by prepare: the one asked for does not fit
  unsigned packed;           // set by prepare: bit i: run does not read the elements of input i
  dq_error *error;
} dq_op;

typedef struct dq_attribute_rule {
  const char *name;
  int type;      // dq_attribute_type
  bool required; // for every version
} dq_attribute_rule;

// Colour for mixed precision: loses; gains much and loses little; takes the category of its inputs.
typedef enum dq_category { DQ_DENY, DQ_ALLOW, DQ_FOLLOW } dq_category;

// How the operator is quantized to int8.
typedef enum dq_quantization {
  DQ_QUANTIZE_NOT,     // stays in float
  DQ_QUANTIZE_COMPUTE, // products with a weight: Conv, Gemm, MatMul
  DQ_QUANTIZE_SHARE,   // output has the scale of the input: MaxPool, Reshape, Transpose, Resize
  DQ_QUANTIZE_ABSORB,  // only narrows the range of its producer: Relu, Clip
  DQ_QUANTIZE_TABLE,   // elementwise function of one value: Sigmoid, LeakyRelu
  DQ_QUANTIZE_COMBINE, // several inputs, own output scale: Add, Mul, Concat, AveragePool
} dq_quantization;

// How the operator is computed on 8 bits between DequantizeLinear and QuantizeLinear in an execution copy.
typedef enum dq_integer_form {
  DQ_FORM_OF_QUANTIZATION, // as the rule above says: COMPUTE is PRODUCT, SHARE is MOVE, ABSORB and TABLE are FUNCTION
  DQ_FORM_NONE,            // runs in float between its conversions
  DQ_FORM_MOVE,            // only moves elements: computed on 8 bits, DequantizeLinear behind it
  DQ_FORM_FUNCTION,        // a function of each element (other operands constant): a table of 256 results
  DQ_FORM_PAIR,            // the same; of two quantized operands dq Q<operator>
  DQ_FORM_CONCAT,          // of operands with the result's parameters, brought to them by tables where they differ
  DQ_FORM_PRODUCT,         // int32 sums, requantized, or scaled to float32, as the view of the product says
  DQ_FORM_AVERAGE,         // int32 sums, requantized: dq Q<operator>
  DQ_FORMS
} dq_integer_form;

// How bounds on the result follow from bounds on the inputs, for values that nobody has measured.
typedef enum dq_bound_rule {
  DQ_BOUND_UNKNOWN, // nothing is known of the result
  DQ_BOUND_PRODUCT, // sums of products, as the view of the product says
  DQ_BOUND_BATCH_NORM,
  DQ_BOUND_NORM,
  DQ_BOUND_SQUEEZE, // no farther apart than input 0, and within `range`
  DQ_BOUND_SLOPE,   // as input 0 above 0, below it with a slope
  DQ_BOUND_COMBINE, // element by element of several inputs
  DQ_BOUND_JOIN,    // elements of all inputs, channel by channel
  DQ_BOUND_MOVE,    // elements of input 0, moved, chosen or averaged
} dq_bound_rule;

enum {                    // flags
  DQ_OP_HALF = 1,         // float16 is computed by float32 kernels, inputs and outputs converted
  DQ_OP_VIEW = 2,         // output 0 has the elements of input 0 in the same order (Reshape)
  DQ_OP_IN_PLACE = 4,     // output 0 may lie where input 0 of the same type and shape lies
  DQ_OP_SHAPE_ONLY = 8,   // the result depends on the shapes of the inputs only (Shape, Size)
  DQ_OP_RANDOM = 16,      // never folded
  DQ_OP_ELEMENTWISE = 64, // output i depends on element i of inputs of its shape only
  DQ_OP_CHANNEL_VECTORS =
      128,          // with DQ_OP_HALF: like ELEMENTWISE in inference; the other inputs are vectors by channel
  DQ_OP_JOIN = 256, // output 0 is the inputs joined along attribute "axis"; run leaves alone those that lie there
  // f(c x) = c f(x) for one c > 0 per channel of input 0, whatever constants the other inputs are.
  DQ_OP_HOMOGENEOUS = 512,
  // Does the same to every channel of input 0, and leaves the channels where they are, whatever single numbers the
  // other inputs are.
  DQ_OP_UNIFORM = 1024,
  DQ_OP_MOVES_CHANNELS = 2048, // elements of a channel may become those of another
  DQ_OP_LARGEST = 4096,        // chooses the largest of several elements
  // Other runtimes move 8-bit numbers with it too, so that the operator form needs no conversion around it.
  DQ_OP_MOVES_8_BIT = 8192,
  DQ_OP_HALF_KERNEL = 32, // with DQ_OP_HALF: prepare may take float16 itself, and then sets state
};

enum { DQ_MAX_VERSIONS = 12, DQ_ANY_NUMBER = 1 << 30 };

struct dq_operator {
  const char *name;
  const char *domain;                  // NULL: ai.onnx; "dq" for rows only execution copies contain
  int since[DQ_MAX_VERSIONS];          // versions supported, ascending, 0 after the last
  int inputs[2], outputs[2];           // least and most; DQ_ANY_NUMBER
  unsigned types;                      // DQ_BIT masks that input 0 may have when run
  const dq_attribute_rule *attributes; // all known attributes; last has name NULL; NULL: none
  // Optional: refuses (DQ_BAD_INPUT) what cannot be right whatever the shapes are. Inputs that are not constant have
  // rank -1, type 0 and no elements; outputs are not looked at. What passes it, passes may fold and fuse.
  dq_status (*check)(const dq_op *op);
  dq_status (*infer)(dq_op *op); // required
  dq_status (*run)(dq_op *op);   // required
  // Optional: packs constant inputs (data known) into `arena`, sets state and scratch_bytes. Shapes
  // are final. run must also work when state is NULL.
  dq_status (*prepare)(dq_op *op, dq_arena *arena);
  // Optional, for sums of products of data and a weight: operands, axes and attributes of a node.
  void (*product)(const dq_node *node, dq_product *product);
  int64_t (*macs)(const dq_op *op); // multiply-accumulates from the shapes; NULL: none
  dq_category category;
  dq_quantization quantization;
  dq_integer_form integer_form;
  // Optional, for operators that cut their input 0 at two bounds (Relu, Clip): the bounds, -INFINITY and INFINITY
  // where there is none; false: they are not known.
  bool (*clamp)(const dq_node *node, float *low, float *high);
  unsigned flags;
  dq_bound_rule bound;
  // With DQ_BOUND_SQUEEZE: what every result lies in, whatever the inputs, with the defaults of the attributes;
  // {0, 0}: inputs or attributes say it (Clip).
  double range[2];
};

// The row of an operator, or NULL. Domain "ai.onnx" is the same as "".
const dq_operator *dq_operator_find(const char *domain, const char *op_type);
// The flags of a node's row; 0 when there is none.
unsigned dq_node_flags(const dq_node *node);
// How an operator of ai.onnx runs on 8 bits, its row's rule of quantization taken for the form where the row has none
// of its own; DQ_FORM_NONE for all others.
dq_integer_form dq_integer_form_of(const dq_node *node);
// The bounds of an operator of ai.onnx that cuts its input; false: it does not, or the bounds are not known.
bool dq_clamp_of(const dq_node *node, float *low, float *high);
// Row `index`, NULL after the last, in the order of operators.def.
const dq_operator *dq_operator_at(int index);
// The since-version that `opset` selects, 0 when the row does not support it.
int dq_operator_version(const dq_operator *row, int64_t opset);

// Counts of inputs and outputs, required ones, and types of attributes by the row alone. DQ_BAD_INPUT.
dq_status dq_operator_fits(const dq_node *node, const dq_operator *row, const dq_context *context, dq_error *error);
// Finds the row of a node's operator and the since-version that the opset of the graph selects, and checks the node as
// dq_operator_fits does. *row is static. Attributes that the row does not list are no failure: one warning for each
// node reports them. DQ_UNSUPPORTED: the table has no such operator (*row is then NULL), or the graph imports no opset
// that the row supports (*version is then 0); DQ_BAD_INPUT: the node does not fit the row.
dq_status dq_operator_resolve(const dq_graph *graph, const dq_node *node, const dq_context *context,
                              const dq_operator **row, int *version, dq_error *error);

// Puts the node's label in front of the message of a failure; returns the status.
dq_status dq_with_label(const dq_node *node, dq_status status, dq_error *error);

// The row's check, where it has one; lib/schedule/check_nodes.h calls it for a graph.
dq_status dq_op_check(dq_op *op);

// The three calls, with the node's label put in front of messages, and float16 computed by float32
// for rows that say DQ_OP_HALF. dq_op_infer leaves outputs with rank -1 when they depend on elements
// not known yet. dq_op_run checks the type and expects outputs with shape and memory.
dq_status dq_op_infer(dq_op *op);
dq_status dq_op_prepare(dq_op *op, dq_arena *arena);
dq_status dq_op_run(dq_op *op);

// ---- For operator files ----

static inline const dq_tensor *dq_op_input(const dq_op *op, int i) {
  return i < op->input_count ? op->inputs[i] : NULL;
}
static inline dq_tensor *dq_op_output(const dq_op *op, int i) { return i < op->output_count ? op->outputs[i] : NULL; }

// Sets the shape of output i (nothing when it is left out), with the checks of dq_tensor_shape.
dq_status dq_op_shape(dq_op *op, int i, int type, int rank, const int64_t *dims);
// Output i cannot be known yet.
dq_status dq_op_unknown(dq_op *op, int i, int type);

// Zeroed memory aligned to 64 bytes, as kernels want it, for a state or a scratch; not NULL even for 0 bytes. The
// arena owns it. DQ_SYSTEM when there is none.
dq_status dq_op_alloc(const dq_op *op, dq_arena *arena, size_t bytes, void **memory);

// True when input i is there and its elements are known.
bool dq_op_known(const dq_op *op, int i);

enum { DQ_MAX_INTS = 2 * DQ_MAX_RANK };
// Integers of input i (int32 or int64, scalar or vector) into values[DQ_MAX_INTS]: a failure when
// there are more or the type is another. The elements must be known.
dq_status dq_op_read_ints(const dq_op *op, int i, int64_t *values, int *count);

// "axes" style parameter that was an attribute and became input i: *count is -1 when it is not
// given; *known is false when the input's elements are not known yet. values[DQ_MAX_INTS].
dq_status dq_op_axes(const dq_op *op, const char *attribute, int i, int64_t *values, int *count, bool *known);

// An axis in [-rank, rank) made positive, or DQ_BAD_INPUT.
dq_status dq_op_axis(const dq_op *op, int64_t axis, int rank, int *result);

// The index of the text of an attribute among the words that it may be, the first of which is its default, or
// DQ_BAD_INPUT.
dq_status dq_op_word(const dq_op *op, const char *attribute, const char *const *words, int count, int *index);

// Shape that broadcasting the inputs [0, count) gives (ONNX multidirectional), or DQ_BAD_INPUT.
dq_status dq_op_broadcast(const dq_op *op, int count, int *rank, int64_t *dims);

// Ready-made infer functions: output 0 has type and shape of input 0; type of input 0 and
// broadcast shape of all inputs; bool and broadcast shape.
dq_status dq_infer_same(dq_op *op);
dq_status dq_infer_broadcast(dq_op *op);
dq_status dq_infer_compare(dq_op *op);

// Fails with a message; dq_op_infer and dq_op_run put the node's label in front.
#define dq_op_fail(op, status, ...) dq_fail((op)->error, status, __VA_ARGS__)

#endif
