// What the integer forms of the pass fuse_quantized share: reading DequantizeLinear, QuantizeLinear and the node in
// front of it, and replacing them by nodes of the domain dq. All functions work on an execution copy, whose arena owns
// what they create. Those that return a status return DQ_SYSTEM when there is no memory; what does not fit is no
// failure.
#ifndef DQ_INTEGER_QUANTIZED_PATTERN_H
#define DQ_INTEGER_QUANTIZED_PATTERN_H

#include "lib/schedule/infer.h"

// A DequantizeLinear of 8-bit elements to float32 with constant float32 parameters: scales above 0 and finite, one or
// one for each index of an axis, and a zero point for each. Those that a file leaves out are stated before
// (dq_state_zero_points).
typedef struct dq_quantized {
  dq_value *value, *scale, *zero_point;
} dq_quantized;

// Reads the DequantizeLinear that produces `value` (NULL is allowed) into *operand. With `constant` the 8-bit elements
// must be constant, and there may be a scale for each slice along an axis; without it there must be one scale. False:
// `value` has another producer, or one of another form.
bool dq_read_dequantize(const dq_value *value, bool constant, dq_quantized *operand);
// The type of the elements, DQ_U8 or DQ_I8.
static inline int dq_quantized_type(const dq_quantized *operand) { return operand->zero_point->constant->type; }
// The first scale.
static inline float dq_quantized_scale(const dq_quantized *operand) {
  return *(const float *)operand->scale->constant->data;
}
// Whether sums of elements of x, each times an element of w (NULL: alone), can be scaled to float32, and to steps of y
// (NULL: not), by factors that are neither tiny nor huge: an infinite one would make NaN of a sum of 0.
bool dq_sums_are_usable(const dq_quantized *x, const dq_quantized *w, const dq_quantized *y);
// Whether type, scale and zero point of both are equal, so that equal integers stand for equal numbers.
bool dq_same_parameters(const dq_quantized *a, const dq_quantized *b);

// A QuantizeLinear to 8 bits with one constant scale, and the Relu or Clip in front of it if there is one.
typedef struct dq_quantized_end {
  dq_node *quantize;
  dq_node *node;     // the node in front of both; NULL: there is none
  dq_quantized y;    // the result: its value is the output of `quantize`
  int64_t low, high; // bounds of the result as integers
  bool alone;        // nothing else reads the values between `node` and `quantize`
} dq_quantized_end;
// Fills *end from `quantize`. False: `quantize` is no QuantizeLinear of the form of dq_quantized_end.
bool dq_read_end(dq_node *quantize, dq_quantized_end *end);

// Makes `node` a node of operator `op_type` (static text) of the domain dq with inputs[count], which are copied, and
// without attributes. A last input of NULL is left out.
dq_status dq_become(dq_graph *copy, dq_node *node, const char *op_type, dq_value *const *inputs, int count,
                    dq_error *error);
// Makes end->node a node of operator `op_type` of the domain dq, as dq_become does but with the attributes of end->node
// and the bounds of `end`; it then computes the output of end->quantize. The QuantizeLinear and the activation in front
// of it are removed.
dq_status dq_apply_end(dq_graph *copy, const dq_quantized_end *end, const char *op_type, dq_value *const *inputs,
                       int count, dq_error *error);
// Sets the attributes clamp_low and clamp_high of a node of the domain dq where the bounds are narrower than the type.
dq_status dq_set_bounds(dq_graph *copy, dq_node *node, const dq_quantized_end *end, dq_error *error);

// ---- The forms. Each checks whether it applies, and changes nothing and returns DQ_OK where it does not. Those that
// take `end`, but for dq_form_table, are called where end->node is not NULL and its operator has that form
// (dq_integer_form_of) ----

// Replaces QuantizeLinear by dq.QTable when its input is a function of one quantized value, or removes it when the
// function changes nothing. *done receives whether the form applied.
dq_status dq_form_table(dq_graph *copy, const dq_quantized_end *end, const dq_context *context, bool *done,
                        dq_error *error);
// Replaces Add, Sub or Mul of two quantized values by dq.QAdd, dq.QSub or dq.QMul.
dq_status dq_form_pair(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// Makes the Concat end->node of quantized values read the integers; operands with other parameters than the result are
// requantized by dq.QTable first.
dq_status dq_form_concat(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// Replaces Conv, ConvTranspose, Gemm or MatMul of quantized values by dq.QConv, dq.QGemm or dq.QMatMul.
dq_status dq_form_product(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// Replaces a product of quantized values, as dq_form_product does, that no QuantizeLinear follows: its int32 sums are
// scaled to float32.
dq_status dq_form_float_product(dq_graph *copy, dq_node *node, dq_error *error);
// Replaces the ConvTranspose end->node of a quantized value x and weight w (`bias` NULL: none) by dq.QConv and
// DepthToSpace.
dq_status dq_form_transposed(dq_graph *copy, const dq_quantized_end *end, const dq_quantized *x, const dq_quantized *w,
                             const dq_value *bias, dq_error *error);
// Replaces AveragePool or GlobalAveragePool, which end->node is (with its attributes, which stay), by dq.QAveragePool
// or dq.QGlobalAveragePool and removes end->quantize. Applies where end->alone is set, as the result is not that of the
// float average bit by bit, input 0 is quantized by one scale (dq_read_dequantize), and a window has at most 2^22
// elements. Otherwise it returns DQ_OK and changes nothing: end->node is then still the pool.
dq_status dq_form_average(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// Makes an operator that only moves elements read integers, with DequantizeLinear behind it.
dq_status dq_form_move(dq_graph *copy, dq_node *node, dq_error *error);

// Adds a node dq.QTable in front of `before` that requantizes x to the parameters and bounds of `end`. *output receives
// its result, a new value.
dq_status dq_requantize_by_table(dq_graph *copy, const dq_quantized *x, const dq_quantized_end *end,
                                 const dq_node *before, dq_value **output, dq_error *error);

#endif
