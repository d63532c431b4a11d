// One factor and one addend per channel behind a convolution go into its weights and its bias.
#include "lib/passes/fold_affine.h"

#include <math.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

enum { SCALE = 1, SHIFT, MEAN, VARIANCE }; // inputs of BatchNormalization

static bool is_constant(const dq_value *value, int type) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == type;
}

static bool is_folded_norm(const dq_node *node, int type) {
  if (!dq_node_is(node, "BatchNormalization") || node->input_count < 5 || dq_node_int(node, "training_mode", 0) ||
      !dq_node_int(node, "spatial", 1))
    return false;
  for (int i = 1; i < node->output_count; i++)
    if (node->outputs[i]) return false;
  for (int i = SCALE; i <= VARIANCE; i++)
    if (!is_constant(node->inputs[i], type)) return false;
  return true;
}

// Add, Sub, Mul and Div as they are since opset 7, before which operands were broadcast by attributes. Returns the
// input that is the constant, -1: none is.
static int constant_operand(const dq_node *node, int type) {
  bool divides = dq_node_is(node, "Div"),
       either = dq_node_is(node, "Add") || dq_node_is(node, "Sub") || dq_node_is(node, "Mul");
  if ((!divides && !either) || node->input_count != 2 || node->attribute_count) return -1;
  if (is_constant(node->inputs[1], type)) return 1;
  return either && is_constant(node->inputs[0], type) ? 0 : -1;
}

// Whether the constant is one number, or one per channel of a result of `rank` dimensions.
static bool is_by_channel(const dq_tensor *constant, int rank, int64_t channels) {
  if (constant->rank > rank) return false;
  for (int d = 0; d < constant->rank; d++) {
    bool along = rank - constant->rank + d == 1;
    if (constant->dims[d] != 1 && !(along && constant->dims[d] == channels)) return false;
  }
  return true;
}

// A convolution, perhaps transposed, with constant weights.
static bool read_convolution(const dq_node *node, dq_product *product) {
  return dq_product_read(node, product) && !product->integer && product->kind != DQ_MATRIX_PRODUCT;
}

static dq_node *find_convolution(const dq_node *node, int type) {
  int side = is_folded_norm(node, type) ? SCALE : constant_operand(node, type);
  if (side < 0) return NULL;
  const dq_value *input = node->inputs[side == 0];
  dq_node *producer = input ? input->producer : NULL;
  dq_product product;
  if (!producer || !dq_is_private(input) || !read_convolution(producer, &product)) return NULL;
  const dq_value *bias = dq_node_input(producer, 2);
  if (!is_constant(producer->inputs[1], type) || (bias && !is_constant(bias, type))) return NULL;
  int rank = dq_product_data_rank(&product, producer->inputs[1]->constant);
  bool fits =
      is_folded_norm(node, type) || is_by_channel(node->inputs[side]->constant, rank, dq_product_outputs(&product));
  return fits ? producer : NULL;
}

dq_node *dq_affine_convolution(const dq_node *node) { return find_convolution(node, DQ_F32); }

static dq_status check_length(const dq_node *node, const dq_value *value, int64_t channels, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  if (!value || dq_tensor_count(value->constant) == channels) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%s: '%s' has %lld elements, expected %lld",
                 dq_node_label(node, label, sizeof label), value->name, (long long)dq_tensor_count(value->constant),
                 (long long)channels);
}

static dq_status check(const dq_node *convolution, int64_t channels, const dq_node *node, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  DQ_TRY(check_length(convolution, dq_node_input(convolution, 2), channels, error));
  if (!dq_node_is(node, "BatchNormalization")) return DQ_OK;
  for (int i = SCALE; i <= VARIANCE; i++) DQ_TRY(check_length(node, node->inputs[i], channels, error));
  double epsilon = (double)dq_node_float(node, "epsilon", 1e-5f);
  for (int64_t o = 0; o < channels; o++)
    if (!(dq_tensor_get(node->inputs[VARIANCE]->constant, o) + epsilon > 0))
      return dq_fail(error, DQ_BAD_INPUT, "%s: variance of channel %lld plus epsilon is not positive",
                     dq_node_label(node, label, sizeof label), (long long)o);
  return DQ_OK;
}

typedef struct affine {
  double factor, shift;
} affine;

static affine norm_of(const dq_node *node, int64_t channel) {
  double given[VARIANCE + 1];
  for (int i = SCALE; i <= VARIANCE; i++) given[i] = dq_tensor_get(node->inputs[i]->constant, channel);
  double factor = given[SCALE] / sqrt(given[VARIANCE] + (double)dq_node_float(node, "epsilon", 1e-5f));
  return (affine){factor, given[SHIFT] - given[MEAN] * factor};
}

static affine affine_of(const dq_node *node, int type, int64_t channel) {
  if (dq_node_is(node, "BatchNormalization")) return norm_of(node, channel);
  int side = constant_operand(node, type);
  const dq_tensor *constant = node->inputs[side]->constant;
  double c = dq_tensor_get(constant, dq_tensor_count(constant) == 1 ? 0 : channel);
  if (dq_node_is(node, "Mul")) return (affine){c, 0};
  if (dq_node_is(node, "Div")) return (affine){1 / c, 0};
  if (dq_node_is(node, "Add")) return (affine){1, c};
  return side == 1 ? (affine){1, -c} : (affine){-1, c};
}

// `by`: of each output channel.
static void fold_elements(const dq_node *convolution, const dq_product *p, const affine *by, dq_tensor *weight,
                          dq_tensor *bias) {
  const dq_tensor *old = convolution->inputs[1]->constant;
  const dq_value *old_bias = dq_node_input(convolution, 2);
  for (int64_t o = 0; o < dq_product_outputs(p); o++) {
    dq_tensor_set(bias, o, (old_bias ? dq_tensor_get(old_bias->constant, o) : 0) * by[o].factor + by[o].shift);
    for (int64_t i = 0; i < p->inputs; i++)
      for (int64_t t = 0; t < p->taps; t++) {
        int64_t at = dq_product_at(p, o, i, t);
        dq_tensor_set(weight, at, dq_tensor_get(old, at) * by[o].factor);
      }
  }
}

// The largest |w| of an output channel; INFINITY when one is not finite.
static double largest_of(const dq_product *p, const dq_tensor *weight, int64_t output) {
  double largest = 0;
  for (int64_t i = 0; i < p->inputs; i++)
    for (int64_t t = 0; t < p->taps; t++) {
      double size = fabs(dq_tensor_get(weight, dq_product_at(p, output, i, t)));
      if (!isfinite(size)) return INFINITY;
      largest = fmax(largest, size);
    }
  return largest;
}

// Whether the type holds what was folded as well as it held what there was: everything finite, and in float16 the
// largest weight of every channel a normal number, so that no channel loses bits to its scale.
static bool holds(const dq_product *p, const dq_tensor *weight, const dq_tensor *bias) {
  for (int64_t o = 0; o < dq_product_outputs(p); o++) {
    double largest = largest_of(p, weight, o);
    if (!isfinite(largest) || !isfinite(dq_tensor_get(bias, o))) return false;
    if (weight->type == DQ_F16 && largest > 0 && largest < 0x1p-14) return false;
  }
  return true;
}

// The convolution reads the folded weight and bias; the old ones go when nothing else reads them.
static dq_status replace_inputs(dq_graph *graph, dq_node *convolution, dq_tensor *weight, dq_tensor *bias,
                                dq_error *error) {
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 3, dq_value *);
  dq_value *old_weight = convolution->inputs[1], *old_bias = dq_node_input(convolution, 2);
  char *name = dq_arena_printf(graph->arena, "%s_folded", old_weight->name);
  char *bias_name = dq_arena_printf(graph->arena, "%s_folded_bias", old_weight->name);
  if (!inputs || !name || !bias_name) return dq_fail_memory(error, 0);
  inputs[0] = convolution->inputs[0];
  inputs[1] = dq_graph_add_constant(graph, name, weight);
  inputs[2] = dq_graph_add_constant(graph, bias_name, bias);
  if (!inputs[1] || !inputs[2]) return dq_fail_memory(error, 0);
  convolution->inputs = inputs;
  convolution->input_count = 3;
  dq_value *olds[] = {old_weight, old_bias};
  for (int i = 0; i < 2; i++)
    if (olds[i] && dq_is_private(olds[i])) dq_graph_remove_constant(graph, olds[i]);
  return DQ_OK;
}

static void remove_constants(dq_graph *graph, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i]->constant && dq_is_private(node->inputs[i])) dq_graph_remove_constant(graph, node->inputs[i]);
}

dq_status dq_affine_fold(dq_graph *graph, dq_node *convolution, dq_node *node, dq_error *error) {
  dq_product product;
  if (!read_convolution(convolution, &product)) return DQ_OK;
  int64_t channels = dq_product_outputs(&product);
  DQ_TRY(check(convolution, channels, node, error));
  const dq_tensor *old = convolution->inputs[1]->constant;
  dq_tensor *weight = dq_tensor_new(graph->arena, old->type, old->rank, old->dims);
  dq_tensor *bias = dq_tensor_new(graph->arena, old->type, 1, &channels);
  affine *by = DQ_NEW_ARRAY(graph->arena, channels, affine);
  if (!weight || !bias || !by) return dq_fail_memory(error, dq_tensor_bytes(old));
  for (int64_t o = 0; o < channels; o++) by[o] = affine_of(node, old->type, o);
  fold_elements(convolution, &product, by, weight, bias);
  if (!holds(&product, weight, bias)) return DQ_OK;
  DQ_TRY(replace_inputs(graph, convolution, weight, bias, error));
  remove_constants(graph, node);
  dq_node_set_output(convolution, node->outputs[0]);
  dq_graph_remove_node(graph, node);
  return DQ_OK;
}

// ---- Into the matrix product behind ----

// Whether a constant is one number, or one for each input of a product of matrices, along their last axis.
static bool is_by_input(const dq_tensor *constant, int64_t inputs) {
  const int64_t count = dq_tensor_count(constant);
  return constant->rank <= 1 && (count == 1 || count == inputs);
}

dq_node *dq_affine_product(const dq_node *node, dq_product *product) {
  const bool norm = is_folded_norm(node, DQ_F32);
  const int side = norm ? SCALE : constant_operand(node, DQ_F32);
  dq_node *next = side < 0 ? NULL : dq_only_user(node->outputs[0]);
  if (!next || !dq_float_product(next, product) || !dq_product_is_plain(product) || product->stacked ||
      product->kind != DQ_MATRIX_PRODUCT || next->inputs[0] != node->outputs[0] || !node->inputs[side == 0])
    return NULL;
  const bool gemm = product->at.bias != DQ_NO_INPUT;
  const bool fits = norm ? gemm : is_by_input(node->inputs[side]->constant, dq_product_inputs(product));
  return fits ? next : NULL;
}

// Where a product adds its bias: itself, or the Add that alone reads its result; *input is the constant's place. NULL:
// it has none and cannot get one.
static dq_node *biased_node(dq_node *product, const dq_product *p, int *input) {
  static const char *const sums[] = {"Add", NULL};
  dq_node *node = p->at.bias == DQ_NO_INPUT ? dq_only_user(product->outputs[0]) : product;
  *input = p->at.bias;
  if (!node) return NULL;
  if (node != product && (!dq_node_is_any(node, sums) || (*input = constant_operand(node, DQ_F32)) < 0)) return NULL;
  const dq_value *bias = dq_node_input(node, *input);
  if (!bias) return node;
  const bool fits = is_constant(bias, DQ_F32) && bias->constant->rank == 1 &&
                    dq_tensor_count(bias->constant) == dq_product_outputs(p);
  return fits ? node : NULL;
}

// Input `input` of a node reads a new constant, called after `old`, in place of what it has read.
static dq_status read_folded(dq_graph *graph, dq_node *node, int input, const char *old, dq_tensor *tensor,
                             dq_error *error) {
  const int count = node->input_count > input ? node->input_count : input + 1;
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, count, dq_value *);
  char *name = dq_arena_printf(graph->arena, "%s_folded", old);
  dq_value *value = inputs && name ? dq_graph_add_constant(graph, name, tensor) : NULL, *before;
  if (!value) return dq_fail_memory(error, 0);
  for (int i = 0; i < node->input_count; i++) inputs[i] = node->inputs[i];
  before = inputs[input], inputs[input] = value;
  node->inputs = inputs, node->input_count = count;
  if (before && dq_is_private(before)) dq_graph_remove_constant(graph, before);
  return DQ_OK;
}

// Weights by the factors of their inputs, and what the shifts add to each result, in double.
static void fold_inputs(const dq_product *p, const affine *by, dq_tensor *weight, double *sums) {
  for (int64_t o = 0; o < dq_product_outputs(p); o++)
    for (int64_t i = 0; i < p->inputs; i++) {
      const int64_t at = dq_product_at(p, o, i, 0);
      const double w = dq_tensor_get(weight, at);
      sums[o] += w * by[i].shift;
      dq_tensor_set(weight, at, w * by[i].factor);
    }
}

// Makes the new weight and bias; *bias stays NULL where the shifts are 0.
static dq_status compute_folded(const dq_node *node, const dq_node *product, const dq_product *p,
                                const dq_value *old_bias, dq_arena *arena, dq_tensor *new[2], dq_error *error) {
  const dq_tensor *old = product->inputs[1]->constant;
  const int64_t outputs = dq_product_outputs(p);
  affine *by = DQ_NEW_ARRAY(arena, p->inputs, affine);
  double *sums = DQ_NEW_ARRAY(arena, outputs, double);
  new[0] = dq_tensor_new(arena, DQ_F32, old->rank, old->dims);
  new[1] = dq_tensor_new(arena, DQ_F32, 1, &outputs);
  if (!by || !sums || !new[0] || !new[1]) return dq_fail_memory(error, dq_tensor_bytes(old));
  memcpy(new[0]->data, old->data, dq_tensor_bytes(old));
  for (int64_t i = 0; i < p->inputs; i++) by[i] = affine_of(node, DQ_F32, i);
  fold_inputs(p, by, new[0], sums);
  for (int64_t o = 0; o < outputs; o++)
    dq_tensor_set(new[1], o, (old_bias ? dq_tensor_get(old_bias->constant, o) : 0) + sums[o]);
  return DQ_OK;
}

static bool moves(const dq_node *node, int64_t inputs) {
  for (int64_t i = 0; i < inputs; i++)
    if (affine_of(node, DQ_F32, i).shift != 0) return true;
  return false;
}

dq_status dq_affine_fold_behind(dq_graph *graph, dq_node *node, bool *folded, dq_error *error) {
  dq_product p;
  dq_node *product = dq_affine_product(node, &p);
  int input = DQ_NO_INPUT;
  dq_tensor *new[2];
  *folded = false;
  if (!product) return DQ_OK;
  if (is_folded_norm(node, DQ_F32)) DQ_TRY(check(product, p.inputs, node, error));
  const bool shifts = moves(node, p.inputs);
  dq_node *biased = shifts ? biased_node(product, &p, &input) : NULL;
  if (shifts && !biased) return DQ_OK;
  const dq_value *old_bias = biased ? dq_node_input(biased, input) : NULL;
  DQ_TRY(compute_folded(node, product, &p, old_bias, graph->arena, new, error));
  if (!holds(&p, new[0], new[1])) return DQ_OK;
  const char *weight_name = product->inputs[1]->name;
  DQ_TRY(read_folded(graph, product, 1, weight_name, new[0], error));
  if (biased) DQ_TRY(read_folded(graph, biased, input, old_bias ? old_bias->name : product->name, new[1], error));
  const bool second = !is_folded_norm(node, DQ_F32) && constant_operand(node, DQ_F32) == 0;
  dq_value *data = node->inputs[second];
  for (int u = 0; u < data->user_count; u++)
    if (data->users[u] == node) data->users[u] = product;
  product->inputs[0] = data;
  remove_constants(graph, node);
  dq_graph_remove_node(graph, node);
  *folded = true;
  return DQ_OK;
}

dq_status dq_pass_fold_affine(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                              dq_error *error) {
  (void)shapes, (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n], *convolution = node->removed ? NULL : find_convolution(node, DQ_F32);
    if (!convolution && !node->removed) convolution = find_convolution(node, DQ_F16);
    if (convolution) DQ_TRY(dq_affine_fold(copy, convolution, node, error));
  }
  return DQ_OK;
}
