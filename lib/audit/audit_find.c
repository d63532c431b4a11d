// Finding the layers of a model that multiply 8-bit numbers, in the form with DequantizeLinear and
// QuantizeLinear around them or as operators on integers.
#include <string.h>

#include "lib/audit/audit_internal.h"
#include "lib/base/sizes.h"
#include "lib/ops/integer/stored_type.h"
#include "lib/ops/table/product.h"

// An operand: stored numbers, their type (0: not known), and the zero point (NULL: none).
typedef struct operand {
  const dq_value *value, *zero;
  int type;
  int axis; // of several zero points, of the stored weight; -1: of the output
} operand;

static operand operand_of(const dq_value *value, const dq_value *zero, int axis) {
  const dq_tensor *known = dq_known_elements(zero);
  return (operand){value, zero, known ? known->type : dq_stored_type(value), axis};
}

static bool read_dequantize(const dq_value *value, operand *to) {
  const dq_node *node = value ? value->producer : NULL;
  if (!node || !dq_node_is(node, "DequantizeLinear")) return false;
  *to = operand_of(node->inputs[0], dq_node_input(node, 2), (int)dq_node_int(node, "axis", 1));
  return dq_dtype_is_8_bit(to->type) || !to->type;
}

// The QuantizeLinear that ends a step, behind at most an activation or two.
static const dq_node *quantizer_behind(const dq_value *value) {
  enum { LONGEST_STEP = 3 };
  for (int i = 0; i < LONGEST_STEP && value && value->user_count == 1; i++) {
    const dq_node *next = value->users[0];
    if (dq_node_is(next, "QuantizeLinear")) return next;
    value = dq_node_output(next, 0);
  }
  return NULL;
}

typedef struct found {
  operand x, w;
  const dq_value *bias; // int32 numbers
  const dq_value *y, *y_zero;
  dq_product product;
} found;

static bool is_convolution(const found *f) { return f->product.kind == DQ_CONVOLUTION; }

// Why inputs and outputs that lie along other axes are not audited; NULL: they do not.
static const char *read_axes(const found *f) {
  if (is_convolution(f)) return NULL;
  if (f->product.result_axis != -1) return "its weight is its first operand";
  return f->product.data_axis == -1 ? NULL : "its input is transposed";
}

static const char *read_explicit(const dq_node *node, found *f) {
  const dq_product *product = &f->product;
  bool x = read_dequantize(dq_node_input(node, product->at.data), &f->x);
  bool w = read_dequantize(dq_node_input(node, product->at.weight), &f->w);
  if (!x && !w) return "";
  if (product->kind == DQ_TRANSPOSED_CONVOLUTION) return "transposed convolutions are not audited";
  if (!x) return "its input is not quantized";
  if (!w) return "its weight is not quantized";
  const dq_value *bias = dq_node_input(node, product->at.bias);
  if (bias && bias->producer && dq_node_is(bias->producer, "DequantizeLinear")) f->bias = bias->producer->inputs[0];
  if (product->alpha != 1 || product->beta != 1) f->bias = NULL;
  const char *reason = read_axes(f);
  if (reason) return reason;
  const dq_node *end = quantizer_behind(node->outputs[0]);
  if (end) f->y = end->outputs[0], f->y_zero = dq_node_input(end, 2);
  return NULL;
}

// "" : not a layer of 8-bit numbers; another text: why it is not audited; NULL: found.
static const char *read_layer(const dq_node *node, found *f) {
  *f = (found){0};
  if (!node->output_count || !node->outputs[0] || !dq_product_of(node, &f->product)) return "";
  const dq_product_operands *at = &f->product.at;
  if (!f->product.integer) return read_explicit(node, f);
  f->x = operand_of(dq_node_input(node, at->data), dq_node_input(node, at->data_zero_point), -1);
  f->w = operand_of(dq_node_input(node, at->weight), dq_node_input(node, at->weight_zero_point), -1);
  f->bias = dq_node_input(node, at->bias);
  const char *reason = read_axes(f);
  if (reason || at->result_scale == DQ_NO_INPUT) return reason;
  f->y = node->outputs[0];
  f->y_zero = dq_node_input(node, at->result_zero_point);
  return NULL;
}

static dq_status read_zero_points(const dq_tensor *zero, int64_t channels, dq_conv_int8_parameters *q, dq_arena *arena,
                                  dq_error *error) {
  int64_t count = zero ? dq_tensor_count(zero) : 0;
  if (!count) return DQ_OK;
  int32_t *values = DQ_NEW_ARRAY(arena, count, int32_t);
  if (!values) return dq_fail_memory(error, (size_t)channels * sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i] = (int32_t)dq_tensor_get_i64(zero, i);
  q->weight_zero_points = values;
  q->weight_zero_point_count = count;
  return DQ_OK;
}

static const char *check_weight(found *f, const dq_tensor *w, const dq_tensor *zero) {
  if (!w || !dq_dtype_is_8_bit(w->type)) return "its weight is not a constant of 8 bits";
  bool points = w->rank == 2 && f->product.ranks[0] <= 2;
  if (is_convolution(f) ? w->rank != 3 && w->rank != 4 && !points : w->rank != 2)
    return "its weight has a number of dimensions that is not audited";
  for (int i = 0; i < w->rank; i++)
    if (w->dims[i] < 1) return "its weight is empty";
  if (f->w.zero && (!zero || zero->type != w->type)) return "the zero point of its weight is computed while running";
  int axis = f->product.outputs_first ? 0 : 1;
  int64_t count = zero ? dq_tensor_count(zero) : 1;
  int given = f->w.axis < 0 ? f->w.axis + w->rank : f->w.axis;
  if (count > 1 && (count != w->dims[axis] || (f->w.axis != -1 && given != axis)))
    return "its weight has zero points that are not one per output channel";
  return dq_product_lay_out(&f->product, w) ? NULL : "its groups do not divide its channels";
}

static const char *check_input(const found *f, const dq_tensor *zero) {
  if (!f->x.value) return "its input is left out";
  if (f->x.zero && !zero) return "the zero point of its input is computed while running";
  if (zero && (!dq_dtype_is_8_bit(zero->type) || dq_tensor_count(zero) != 1))
    return "its input has several zero points";
  if (!f->x.type) return "the type of its input is not known";
  return dq_known_elements(f->x.value) ? "its input is constant" : NULL;
}

// A matrix product as a convolution of one place.
static dq_conv_parameters shape_of(const found *f, const dq_tensor *w) {
  bool convolution = is_convolution(f);
  return (dq_conv_parameters){.batch = 1,
                              .groups = f->product.groups,
                              .out_channels = dq_product_outputs(&f->product),
                              .in_channels = dq_product_inputs(&f->product),
                              .kernel_height = convolution && w->rank == 4 ? w->dims[2] : 1,
                              .kernel_width = convolution && w->rank > 2 ? w->dims[w->rank - 1] : 1,
                              .stride_height = 1,
                              .stride_width = 1,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .in_height = 1,
                              .out_height = 1};
}

static dq_status arrange_weights(const found *f, dq_audit_operands *o, dq_arena *arena, dq_error *error) {
  const dq_product *product = &f->product;
  o->weights = o->w->data;
  if (product->outputs_first) return DQ_OK;
  uint8_t *arranged = DQ_NEW_ARRAY(arena, product->inputs * product->outputs, uint8_t);
  if (!arranged) return dq_fail_memory(error, (size_t)(product->inputs * product->outputs));
  const uint8_t *from = o->w->data;
  for (int64_t c = 0; c < product->outputs; c++)
    for (int64_t k = 0; k < product->inputs; k++)
      arranged[c * product->inputs + k] = from[dq_product_at(product, c, k, 0)];
  o->weights = arranged;
  return DQ_OK;
}

static dq_status read_operands(found *f, dq_audit_layer *layer, dq_audit_operands *o, dq_arena *arena,
                               dq_error *error) {
  const dq_tensor *w = dq_known_elements(f->w.value), *w_zero = dq_known_elements(f->w.zero);
  const dq_tensor *x_zero = dq_known_elements(f->x.zero), *y_zero = dq_known_elements(f->y_zero);
  layer->reason = check_input(f, x_zero);
  if (!layer->reason) layer->reason = check_weight(f, w, w_zero);
  if (layer->reason) return DQ_OK;
  *o = (dq_audit_operands){.convolution = is_convolution(f), .x = f->x.value, .y = f->y, .w = w};
  dq_conv_int8_parameters *q = &o->parameters;
  q->shape = shape_of(f, w);
  q->input_signed = f->x.type == DQ_I8;
  q->weight_signed = w->type == DQ_I8;
  q->input_zero_point = x_zero ? (int32_t)dq_tensor_get_i64(x_zero, 0) : 0;
  DQ_TRY(read_zero_points(w_zero, q->shape.out_channels, q, arena, error));
  DQ_TRY(arrange_weights(f, o, arena, error));
  const dq_tensor *bias = dq_known_elements(f->bias);
  if (bias && bias->type == DQ_I32 && dq_tensor_count(bias) == q->shape.out_channels) o->bias = bias->data;
  o->y_type = f->y_zero && !y_zero ? 0 : dq_stored_type(f->y);
  o->y_zero = y_zero ? dq_tensor_get_i64(y_zero, 0) : 0;
  if (!dq_dtype_is_8_bit(o->y_type)) o->y = NULL;
  return DQ_OK;
}

static dq_status prove(dq_audit_layer *layer, const dq_audit_operands *o, dq_arena *arena, dq_error *error) {
  const dq_conv_parameters *p = &o->parameters.shape;
  layer->channels = p->out_channels;
  layer->depth = p->in_channels / p->groups * p->kernel_height * p->kernel_width;
  layer->has_bias = o->bias != NULL;
  layer->proofs = DQ_NEW_ARRAY(arena, layer->channels, dq_audit_proof);
  if (!layer->proofs) return dq_fail_memory(error, (size_t)layer->channels * sizeof *layer->proofs);
  dq_audit_prove(&o->parameters, o->weights, o->bias, layer->proofs);
  layer->block16 = dq_audit_longest_block(&o->parameters, o->weights);
  for (int64_t c = 0; c < layer->channels; c++) {
    const dq_audit_proof *proof = &layer->proofs[c];
    layer->worst.lowest = dq_min_i64(layer->worst.lowest, proof->lowest);
    layer->worst.highest = dq_max_i64(layer->worst.highest, proof->highest);
    layer->worst.pair |= proof->pair;
    layer->worst.pair_any_order |= proof->pair_any_order;
    layer->can16 += proof->lowest < INT16_MIN || proof->highest > INT16_MAX;
    layer->can32 += dq_audit_can_leave_int32(proof);
    layer->can_pair += proof->pair;
    layer->can_pair_any_order += proof->pair_any_order;
  }
  return DQ_OK;
}

dq_status dq_audit_find(dq_audit_report *report, const dq_graph *graph, dq_audit_operands **operands, dq_arena *arena,
                        dq_error *error) {
  *report = (dq_audit_report){.layers = DQ_NEW_ARRAY(arena, graph->node_count + 1, dq_audit_layer)};
  *operands = DQ_NEW_ARRAY(arena, graph->node_count + 1, dq_audit_operands);
  if (!report->layers || !*operands) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *report->layers);
  for (int n = 0; n < graph->node_count; n++) {
    found f;
    const char *reason = read_layer(graph->nodes[n], &f);
    if (reason && !reason[0]) continue;
    dq_audit_layer *layer = &report->layers[report->layer_count];
    dq_audit_operands *o = &(*operands)[report->layer_count++];
    *layer = (dq_audit_layer){.node = graph->nodes[n], .reason = reason};
    if (!reason) DQ_TRY(read_operands(&f, layer, o, arena, error));
    if (layer->reason) continue;
    DQ_TRY(prove(layer, o, arena, error));
    report->audited++;
  }
  return DQ_OK;
}
