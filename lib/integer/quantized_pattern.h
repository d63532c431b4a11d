// What the integer forms of fuse_quantized share: reading DequantizeLinear, QuantizeLinear and what lies
// before it, and putting nodes of domain dq in their place.
#ifndef DQ_PASSES_QUANTIZED_PATTERN_H
#define DQ_PASSES_QUANTIZED_PATTERN_H

#include "lib/schedule/infer.h"

// A DequantizeLinear of 8-bit elements with constant float32 parameters, all scales above 0 and finite.
typedef struct dq_quantized {
  dq_value *value, *scale, *zero_point; // zero_point may be NULL in the file; never here
} dq_quantized;

// Reads the DequantizeLinear that produces `value`. `constant`: its elements are constant, and scales may
// run along an axis; otherwise one scale. false: something else, or not of that form.
bool dq_read_dequantize(dq_graph *copy, const dq_value *value, bool constant, dq_quantized *operand);
// Type of the elements (DQ_U8 or DQ_I8).
static inline int dq_quantized_type(const dq_quantized *operand) { return operand->zero_point->constant->type; }
static inline float dq_quantized_scale(const dq_quantized *operand) {
  return *(const float *)operand->scale->constant->data;
}
// Both stand for the same numbers: one type, scale and zero point.
bool dq_same_parameters(const dq_quantized *a, const dq_quantized *b);

// A QuantizeLinear to 8 bits with constant parameters, and the Relu or Clip before it if there is one.
typedef struct dq_quantized_end {
  dq_node *quantize;
  dq_node *node;     // produces what is bounded and quantized; NULL: no node does
  dq_quantized y;    // value: the output of `quantize`
  int64_t low, high; // bounds of the result in quantized numbers
  bool alone;        // nothing else reads the values between node and quantize
} dq_quantized_end;
bool dq_read_end(dq_graph *copy, dq_node *quantize, dq_quantized_end *end);

// `node` becomes a dq operator with these inputs (NULL at the end: left out) and no attributes.
dq_status dq_become(dq_graph *copy, dq_node *node, const char *op_type, dq_value *const *inputs, int count,
                    dq_error *error);
// The node before the end becomes a dq operator that keeps its attributes, with the bounds, and makes what
// QuantizeLinear made; what lay between goes.
dq_status dq_take_end(dq_graph *copy, const dq_quantized_end *end, const char *op_type, dq_value *const *inputs,
                      int count, dq_error *error);
// Attributes clamp_low and clamp_high of a dq node, where the bounds are narrower than the type.
dq_status dq_set_bounds(dq_graph *copy, dq_node *node, const dq_quantized_end *end, dq_error *error);

// ---- The forms: each leaves what does not fit it alone ----

// The node's QuantizeLinear becomes dq QTable when what is quantized is a function of one quantized value,
// and vanishes when the function changes nothing; *done tells.
dq_status dq_form_table(dq_graph *copy, const dq_quantized_end *end, const dq_context *context, bool *done,
                        dq_error *error);
dq_status dq_form_pair(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
dq_status dq_form_concat(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
dq_status dq_form_product(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// A product that no QuantizeLinear follows: int32 sums, scaled to float32.
dq_status dq_form_float_product(dq_graph *copy, dq_node *node, dq_error *error);
// A ConvTranspose whose operands have been read.
dq_status dq_form_transposed(dq_graph *copy, const dq_quantized_end *end, const dq_quantized *x, const dq_quantized *w,
                             const dq_value *bias, dq_error *error);
dq_status dq_form_average(dq_graph *copy, const dq_quantized_end *end, dq_error *error);
// The node reads 8 bits, DequantizeLinear goes behind it.
dq_status dq_form_move(dq_graph *copy, dq_node *node, dq_error *error);

// A node dq QTable from x to the numbers that `end` says, in front of `before`; *output: what it makes.
dq_status dq_requantize_by_table(dq_graph *copy, const dq_quantized *x, const dq_quantized_end *end,
                                 const dq_node *before, dq_value **output, dq_error *error);

#endif
