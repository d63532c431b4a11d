// The operator table: what the suite knows about each ONNX operator. A family of operators is one
// file; an operator is one const dq_operator there and one row in operators.def.
#ifndef DQ_OPS_OPERATOR_H
#define DQ_OPS_OPERATOR_H

#include "lib/base/context.h"
#include "lib/base/sizes.h"
#include "lib/graph/graph.h"
#include "lib/kernels/reference/forms.h"
#include "lib/ops/table/product.h"

typedef struct dq_operator dq_operator;
typedef struct dq_emission dq_emission;
typedef struct dq_gradient dq_gradient;

// What the caller of dq_op_prepare asks for in a convolution, and what prepare sets: computed_by and the fields below
// it. They stay 0 where plain loops compute the convolution. Other operators neither read nor set any of them.
typedef struct dq_op_convolution {
  int algorithm;           // asked for: a dq_conv_choice of lib/kernels/conv/conv.h
  dq_conv_tuning tuning;   // asked for: the rest, which changes the time and no bit of the result
  const char *computed_by; // the algorithm that was chosen, static; NULL: none was, there is one way only
  bool misfit;             // `algorithm` names one that does not fit the convolution; computed_by is another one
  unsigned knobs;          // DQ_KNOB_ bits of conv.h: the sizes of the tuning that computed_by reads
  // The plan and its packed weights, which live as long as the state of the op; NULL: there is none. Binding a network
  // calls dq_conv_set_next, nobody else changes the plan.
  struct dq_conv_plan *plan;
  const void *weights;
} dq_op_convolution;

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
  // Embedded, not pointed to: a run may prepare a copy of the op, which must leave the original as it is.
  dq_op_convolution convolution;
  unsigned packed; // set by prepare: bit i: run does not read the elements of input i
  dq_error *error;
} dq_op;

typedef struct dq_attribute_rule {
  const char *name;
  int type;      // dq_attribute_type
  bool required; // for every version
} dq_attribute_rule;

// What dq-amp does with nodes of the operator.
typedef enum dq_category {
  DQ_DENY,  // they stay in float32, as float16 would lose accuracy
  DQ_ALLOW, // they become float16, which gains much and loses little
  DQ_FOLLOW // they become whatever casts fewer bytes
} dq_category;

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

// How bounds on the result follow from bounds on the inputs, without a measurement.
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

// How an operator treats the pictures along the first dimension of its inputs, for batches of which each rank of a job
// computes a part (lib/ops/common/picture_sums.h).
typedef enum dq_picture_rule {
  DQ_PICTURES_BY_AXES,   // each by itself, where operands and attributes name no other axis
  DQ_PICTURES_EACH,      // each by itself, whatever the attributes say
  DQ_PICTURES_REDUCED,   // by its axes, all if it has none
  DQ_PICTURES_SUMMED,    // all outputs are sums over the pictures
  DQ_PICTURES_SUMMED_TO, // the same where the output has another first dimension
  DQ_PICTURES_MEASURED,  // all outputs but the first one are sums
} dq_picture_rule;

// The slope below 0 of an operator that is x above 0 and slope * x below.
typedef struct dq_slope {
  int input;   // position of the slopes among the inputs, which broadcast to input 0; DQ_NO_INPUT: one for all elements
  float every; // the one slope
} dq_slope;

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
  // The sum of two inputs that broadcast: exact in integers where inputs and result share one scale.
  DQ_OP_ADDS = 16384,
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
  // Optional: packs constant inputs, whose elements are known, into `arena`; sets state, scratch_bytes, packed and
  // convolution. Shapes are final. `run` must also work when state is NULL.
  dq_status (*prepare)(dq_op *op, dq_arena *arena);
  // Optional: prints the step as C (lib/ops/emit/emit.h); NULL: the operator has no C. DQ_UNSUPPORTED: this form has
  // none.
  dq_status (*emit)(dq_emission *to);
  // The formula of dq_emit_formula: the result in C, of the float32 elements x, y and z of inputs 0 to 2, with
  // "$alpha:0.01;" for an attribute and its default. NULL: clamp or slope gives it. In float64 numbers and functions of
  // <math.h> lose the f at their ends. With dq_emit_fold x is the result so far, y the next input.
  const char *formula;
  // The same of integers and bool, T being the type of input 0 and BITS its width; NULL: there is no C for them.
  const char *integer_formula;
  const char *natural_formula; // of unsigned integers; NULL: as integer_formula
  const char *wide_formula;    // of float64; NULL: as formula
  // Optional, for sums of products of data and a weight: operands, axes and attributes of a node.
  void (*product)(const dq_node *node, dq_product *product);
  int64_t (*macs)(const dq_op *op); // multiply-accumulates from the shapes; NULL: none
  // Optional: writes the nodes that compute the gradients of the inputs (lib/ops/gradient/gradient.h); NULL: networks
  // with the operator between a trained constant and the loss cannot be trained.
  dq_status (*gradient)(const dq_gradient *gradient);
  unsigned trained;       // bit i: a constant that is input i is trained (weights, biases, scales, slopes)
  int half_since;         // the first version that ONNX has float16 for; 0: all have it
  const char *reduces_by; // an attribute that makes a reduction of what goes to one place; NULL: there is none
  dq_category category;
  dq_quantization quantization;
  dq_integer_form integer_form;
  // Optional, for operators that cut their input 0 at two bounds (Relu, Clip): the bounds, -INFINITY and INFINITY
  // where there is none; false: they are not known.
  bool (*clamp)(const dq_node *node, float *low, float *high);
  // Optional, for operators that are x above 0 and slope * x below (LeakyRelu, PRelu). What has one slope may be
  // computed as a LeakyRelu at the end of a convolution.
  dq_slope (*slope)(const dq_node *node);
  unsigned flags;
  dq_picture_rule pictures;
  dq_bound_rule bound;
  // The interval of every result with DQ_BOUND_SQUEEZE, whatever the inputs, with the defaults of the attributes;
  // {0, 0}: inputs or attributes say it (Clip).
  double range[2];
};

// The row of an operator, static; NULL: there is none. Domain "ai.onnx" is the same as "".
const dq_operator *dq_operator_find(const char *domain, const char *op_type);
// The flags of a node's row; 0 when there is none.
unsigned dq_node_flags(const dq_node *node);
// The rule of quantization of a node's row; DQ_QUANTIZE_NOT when there is none, and for NULL.
dq_quantization dq_quantization_of(const dq_node *node);
// How a node of an operator of ai.onnx runs on 8 bits: the integer_form of its row, or the form that follows from the
// row's rule of quantization; DQ_FORM_NONE for all other nodes.
dq_integer_form dq_integer_form_of(const dq_node *node);
// Stores the bounds of an operator of ai.onnx that clamps its input (dq_operator.clamp). False: it does not clamp, or
// the bounds are not known; *low and *high then mean nothing. `node` NULL: false.
bool dq_clamp_of(const dq_node *node, float *low, float *high);
// Sets *slope for an operator of ai.onnx that has a slope below 0 (dq_operator.slope). False: the operator has none.
bool dq_slope_of(const dq_node *node, dq_slope *slope);
// Row `index` (from 0) in the order of operators.def; NULL after the last.
const dq_operator *dq_operator_at(int index);
// The since-version that `opset` selects; 0: the row does not support that opset.
int dq_operator_version(const dq_operator *row, int64_t opset);

// DQ_BAD_INPUT: the node does not fit the row, by its numbers of inputs and outputs, an input that is required, or the
// type of an attribute.
dq_status dq_operator_fits(const dq_node *node, const dq_operator *row, const dq_context *context, dq_error *error);
// Finds the row of a node's operator and the since-version that the opset of the graph selects, and checks the node as
// dq_operator_fits does. *row is static. Attributes that the row does not list are no failure: one warning for each
// node reports them. DQ_UNSUPPORTED: the table has no such operator (*row is then NULL), or the graph imports no opset
// that the row supports (*version is then 0); DQ_BAD_INPUT: the node does not fit the row.
dq_status dq_operator_resolve(const dq_graph *graph, const dq_node *node, const dq_context *context,
                              const dq_operator **row, int *version, dq_error *error);

// Puts the label of the node ("node 'conv1'") in front of the message when `status` is a failure; returns `status`.
dq_status dq_with_label(const dq_node *node, dq_status status, dq_error *error);

// Calls the check of the row, where it has one; dq_check_nodes calls it for all nodes of a graph.
dq_status dq_op_check(dq_op *op);

// dq_op_infer, dq_op_prepare and dq_op_run call infer, prepare and run of the row, put the label of the node in front
// of messages, and compute float16 by float32 for rows with DQ_OP_HALF; their statuses are those of the row, and
// DQ_SYSTEM. dq_op_infer leaves outputs with rank -1 that depend on elements which are not known yet. dq_op_run checks
// the type of input 0 (DQ_UNSUPPORTED) and needs outputs with shape and memory.
dq_status dq_op_infer(dq_op *op);
dq_status dq_op_prepare(dq_op *op, dq_arena *arena);
dq_status dq_op_run(dq_op *op);
// Lets `op`, which stands for the same node as `origin` and has its own inputs and outputs, run with the state that
// dq_op_prepare made for `origin`; `origin` must outlive `op`. The parts of the state that a run changes are copied
// into `arena`. op->context must have the instruction sets and the number of threads of origin->context. The caller
// sets op->scratch. DQ_SYSTEM: there is no memory.
dq_status dq_op_share(dq_op *op, const dq_op *origin, dq_arena *arena);

// ---- For operator files ----

// Input or output `i`, 0 or more; NULL: the node does not have it, or leaves it out. The plan owns the tensor.
static inline const dq_tensor *dq_op_input(const dq_op *op, int i) {
  return i < op->input_count ? op->inputs[i] : NULL;
}
static inline dq_tensor *dq_op_output(const dq_op *op, int i) { return i < op->output_count ? op->outputs[i] : NULL; }

// Sets type and shape of output `i`; nothing happens when the node leaves it out. Statuses as dq_tensor_shape.
dq_status dq_op_shape(dq_op *op, int i, int type, int rank, const int64_t *dims);
// Sets the type of output `i` and rank -1: its shape depends on elements that are not known yet. Returns DQ_OK.
dq_status dq_op_unknown(dq_op *op, int i, int type);

// Zeroed memory aligned to 64 bytes, as kernels want it, for a state or a scratch; not NULL even for 0 bytes. The
// arena owns it. DQ_SYSTEM when there is none.
dq_status dq_op_alloc(const dq_op *op, dq_arena *arena, size_t bytes, void **memory);

// Whether the node has input `i` and its elements are known.
bool dq_op_known(const dq_op *op, int i);

enum { DQ_MAX_INTS = 2 * DQ_MAX_RANK };
// Reads the integers of input `i` (int32 or int64, scalar or vector), whose elements must be known, into
// values[DQ_MAX_INTS] and their number into *count. DQ_BAD_INPUT or DQ_UNSUPPORTED: another type or shape, or more.
dq_status dq_op_read_ints(const dq_op *op, int i, int64_t *values, int *count);

// Reads a list such as "axes" that was an attribute in old versions and is input `i` in later ones into
// values[DQ_MAX_INTS]. *count is -1 when the node has neither. *known is false when the elements of the input are not
// known yet; `values` then mean nothing. Statuses as dq_op_read_ints.
dq_status dq_op_axes(const dq_op *op, const char *attribute, int i, int64_t *values, int *count, bool *known);

// Stores `axis`, or axis + rank where it is negative, in *result. DQ_BAD_INPUT: axis is not in [-rank, rank).
dq_status dq_op_axis(const dq_op *op, int64_t axis, int rank, int *result);
// The same for the attribute "axis" of the node, `missing` where it has none, among the dimensions of input 0.
dq_status dq_op_axis_of_input(const dq_op *op, int64_t missing, int *result);

// Stores the index of the text of an attribute among words[count] in *index; 0 when the node does not have the
// attribute. DQ_BAD_INPUT: the text is none of the words.
dq_status dq_op_word(const dq_op *op, const char *attribute, const char *const *words, int count, int *index);
// Calls dq_op_word with all words of an array.
#define DQ_OP_WORD(op, attribute, words, index) dq_op_word(op, attribute, words, DQ_COUNT(words), index)

// Stores the shape to which the inputs 0 to count - 1 broadcast (multidirectional, as ONNX defines it) in *rank and
// dims[DQ_MAX_RANK]. DQ_BAD_INPUT: they do not broadcast.
dq_status dq_op_broadcast(const dq_op *op, int count, int *rank, int64_t *dims);

// Functions for dq_operator.infer.
dq_status dq_infer_same(dq_op *op);      // output 0 has type and shape of input 0
dq_status dq_infer_broadcast(dq_op *op); // output 0 has the type of input 0 and the broadcast shape of all inputs
dq_status dq_infer_compare(dq_op *op);   // output 0 is bool, of the broadcast shape of all inputs

// Fails with a message; dq_op_infer and dq_op_run put the node's label in front.
#define dq_op_fail(op, status, ...) dq_fail((op)->error, status, __VA_ARGS__)

#endif
