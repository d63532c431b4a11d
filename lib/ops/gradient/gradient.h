// Gradients of operators, written as nodes. The function in the slot `gradient` of a row is given the gradients of the
// outputs of a node, that is, the values that hold the derivative of the loss by each element of an output, and adds
// nodes whose outputs are the gradients of the inputs. These nodes are ordinary ones: shapes, places in memory and
// kernels are found for them as for all others. What no operator of ONNX computes in one step has a row of the domain
// "dq". A sum over the pictures of a batch is taken in shards that are added in a fixed tree
// (lib/kernels/reference/shards.h).
#ifndef DQ_OPS_GRADIENT_H
#define DQ_OPS_GRADIENT_H

#include "lib/ops/table/operator.h"

struct dq_gradient {
  const dq_op *op;          // the node, with types, shapes and known elements of its inputs and outputs
  dq_graph *graph;          // gets the nodes, behind all others
  dq_value *const *outputs; // [op->output_count]: the gradients of the outputs; NULL: the loss does not depend on it
  const bool *wanted;       // [op->input_count]: whether the gradient of an input is needed
  dq_value **inputs;        // [op->input_count]: receives the gradients of the inputs that are wanted
};

// ---- For gradient functions. Functions that return a value return NULL when there is no memory, or when a value that
// they are given is NULL, so that calls can be nested and dq_gradient_set is the only check. ----

// Adds a node of ONNX, or of "dq" when `op_type` begins with "dq.", with inputs[count] and `outputs` new outputs.
dq_node *dq_gradient_node(const dq_gradient *gradient, const char *op_type, int count, dq_value *const *inputs,
                          int outputs);
// Add a node with one or two inputs and one output, and return that output.
dq_value *dq_gradient_of(const dq_gradient *gradient, const char *op_type, dq_value *x);
dq_value *dq_gradient_of_two(const dq_gradient *gradient, const char *op_type, dq_value *x, dq_value *y);
// Add an attribute `name` to a node and return the node: a list of integers, an integer, a number. NULL: `node` is
// NULL, or there is no memory.
dq_node *dq_gradient_ints(const dq_gradient *gradient, dq_node *node, const char *name, const int64_t *values,
                          int count);
dq_node *dq_gradient_int(const dq_gradient *gradient, dq_node *node, const char *name, int64_t value);
dq_node *dq_gradient_float(const dq_gradient *gradient, dq_node *node, const char *name, double value);
// The output 0 of a node, or NULL for NULL.
dq_value *dq_gradient_result(const dq_node *node);
// dq_gradient_number: a scalar constant of the type of input 0. dq_gradient_scaled: `x` times `factor` (`x` itself for
// 1).
dq_value *dq_gradient_number(const dq_gradient *gradient, double value);
dq_value *dq_gradient_scaled(const dq_gradient *gradient, dq_value *x, double factor);

// The sums of `x`, which has the shape of output 0 of the node, over the axes along which input `i` was broadcast; the
// result has the shape of input `i`.
dq_value *dq_gradient_sum_to(const dq_gradient *gradient, dq_value *x, int i);
// The elements of `x` in the shape of input `i`.
dq_value *dq_gradient_reshaped(const dq_gradient *gradient, dq_value *x, int i);
// The elements of `x` in another shape.
dq_value *dq_gradient_shaped(const dq_gradient *gradient, dq_value *x, int rank, const int64_t *dims);

// The value `x` broadcast to the shape of input `i` of the node.
dq_value *dq_gradient_spread(const dq_gradient *gradient, dq_value *x, int i);
// A tensor of the shape of input `i`, of zeros but for element k of `x` along each axis at starts[axis] + k *
// steps[axis], where that is inside. `steps` NULL: all are 1.
dq_value *dq_gradient_placed(const dq_gradient *gradient, dq_value *x, int i, const int64_t *starts,
                             const int64_t *steps);
// The gradient of input 0 of an operator that sees it in the shape dims[rank] and permutes its axes by perm[rank].
dq_value *dq_gradient_unpermuted(const dq_gradient *gradient, int rank, const int64_t *dims, const int *perm);
// A value with its shape, which dq_gradient_mapped changes.
typedef struct dq_gradient_shape {
  int rank;
  int64_t dims[DQ_MAX_RANK];
} dq_gradient_shape;
// A linear map along an axis of `x` of that shape: element k of the result along the axis is the sum over j of
// matrix[k][j] times element j. The matrix, of the type of `x`, is not copied. `shape` becomes that of the result.
dq_value *dq_gradient_mapped(const dq_gradient *gradient, dq_value *x, dq_gradient_shape *shape, int axis,
                             dq_tensor *matrix);
// A matrix of zeros of the type of input 0, in the arena of the graph; NULL: there is no memory.
dq_tensor *dq_gradient_matrix(const dq_gradient *gradient, int64_t rows, int64_t columns);
// Stores the gradient of input `i`. DQ_SYSTEM: `value` is NULL.
dq_status dq_gradient_set(const dq_gradient *gradient, int i, dq_value *value);
// Whether the gradient of input `i` is wanted.
static inline bool dq_gradient_wants(const dq_gradient *gradient, int i) {
  return i < gradient->op->input_count && gradient->wanted[i];
}
// The input `i` and the output `i` of the node itself.
static inline dq_value *dq_gradient_input(const dq_gradient *gradient, int i) { return gradient->op->node->inputs[i]; }
static inline dq_value *dq_gradient_output(const dq_gradient *gradient, int i) {
  return gradient->op->node->outputs[i];
}

// Gradient functions, named after the operators whose rows have them. Each adds the nodes for the inputs that are
// wanted and stores their results by dq_gradient_set. The caller (dq_backward) calls it only where the gradient of some
// output is not NULL and that of some input is wanted. All return DQ_SYSTEM when there is no memory. Gradients of an
// input that was broadcast are summed over what was repeated.
//
// Below g is the gradient of output 0, y output 0, and a, b the inputs 0 and 1; "a: g" gives the gradient of a.
dq_status dq_gradient_add(const dq_gradient *gradient);   // a: g; b: g
dq_status dq_gradient_sub(const dq_gradient *gradient);   // a: g; b: -g
dq_status dq_gradient_mul(const dq_gradient *gradient);   // a: g b; b: g a
dq_status dq_gradient_div(const dq_gradient *gradient);   // a: g / b; b: -(g / b) y
dq_status dq_gradient_neg(const dq_gradient *gradient);   // a: -g
dq_status dq_gradient_clamp(const dq_gradient *gradient); // of rows with `clamp`
dq_status dq_gradient_slope(const dq_gradient *gradient); // of rows with `slope`
// Functions y = f(a) of one element, whose gradient the operator dq.<Name>Grad computes from (g, a) or from (g, y).
dq_status dq_gradient_by_input(const dq_gradient *gradient);
dq_status dq_gradient_by_output(const dq_gradient *gradient);

dq_status dq_gradient_view(const dq_gradient *gradient);      // operators with DQ_OP_VIEW; a: g in the shape of a
dq_status dq_gradient_transpose(const dq_gradient *gradient); // a: g transposed by the inverse order of axes
// Each input: the elements of g that come from it. DQ_BAD_INPUT: the axis is outside.
dq_status dq_gradient_concat(const dq_gradient *gradient);
dq_status dq_gradient_expand(const dq_gradient *gradient); // a: sums of g over the repeated axes; also of dq.Spread
// a: at each element that is averaged or added the element of g of its result, of means divided by the number of terms.
// DQ_UNSUPPORTED: the axes are computed, or the result has no elements.
dq_status dq_gradient_global_average(const dq_gradient *gradient);
dq_status dq_gradient_reduce_mean(const dq_gradient *gradient);
dq_status dq_gradient_reduce_sum(const dq_gradient *gradient);

// Data: a transposed convolution of g with the weight; weight: dq.ConvGradWeight of g and the data; bias: sums of g by
// channel. DQ_UNSUPPORTED: the weight has 2 dimensions; also statuses of dq_convolution_read.
dq_status dq_gradient_conv(const dq_gradient *gradient);
// A: alpha times g and B multiplied, each transposed as A and B are stored; B: likewise with A; C: beta g, summed over
// what was broadcast.
dq_status dq_gradient_gemm(const dq_gradient *gradient);
// A: g times the transpose of B; B: the transpose of A times g; both summed over broadcast stacks. DQ_UNSUPPORTED: an
// operand has fewer than 2 dimensions.
dq_status dq_gradient_matmul(const dq_gradient *gradient);
// MaxPool adds one node dq.MaxPoolGrad of (g, a), AveragePool one node dq.AveragePoolGrad of g.
dq_status dq_gradient_max_pool(const dq_gradient *gradient);
dq_status dq_gradient_average_pool(const dq_gradient *gradient);
// BatchNormalization with stored statistics: inputs 0 to 2 by dq.BatchNormGrad. DQ_UNSUPPORTED: the data has fewer than
// 2 dimensions, or there is not one scale for each channel.
dq_status dq_gradient_batch_norm(const dq_gradient *gradient);
// Softmax and LogSoftmax over an axis, or below opset 13 over all axes from `axis` on: adds one node dq.SoftmaxGrad, y
// (g - sum(g y)), or dq.LogSoftmaxGrad, g - exp(y) sum(g), of the result y and its gradient g. The gradient of input 0
// is stored whether gradient->wanted asks for it or not. DQ_BAD_INPUT: the axis is outside.
dq_status dq_gradient_softmax(const dq_gradient *gradient);

// dq_operator.infer of rows whose attribute "shape" is that of the output, which has the type of input 0.
dq_status dq_infer_attribute_shape(dq_op *op);

#endif
