// Gemm and MatMul with a constant matrix: x W becomes (x A) B, which is Tucker-2 of a 1x1 kernel with the
// output mode whole: by the truncated singular value decomposition, or fitted to data.
#include <stdio.h>
#include <string.h>

#include "decomp/tucker/tucker_job.h"
#include "lib/base/sizes.h"

bool dq_tucker_is_matrix(const dq_node *node) {
  dq_product product;
  return dq_product_of(node, &product) && product.kind == DQ_MATRIX_PRODUCT && !product.integer &&
         dq_node_input(node, 1) && (product.at.weight != 1 || product.data_axis == -1);
}

// Factors are written as the same operator: Gemm with transB, which has a bias, or MatMul.
static bool is_gemm(const dq_tucker_job *job) { return job->product.at.bias != DQ_NO_INPUT; }

static void transpose(int64_t rows, int64_t columns, const float *from, float *to) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

// Fitted biases are one per output.
static bool has_plain_bias(const dq_node *node, int64_t out) {
  const dq_value *bias = dq_node_input(node, 2);
  if (!bias || !bias->constant) return true; // what is not constant is told later
  int64_t count = dq_tensor_count(bias->constant);
  return count == 1 || (count == out && bias->constant->dims[bias->constant->rank - 1] == out);
}

// The weight as out x in, with the factor that the operator applies to it.
static void load_weight(const dq_tucker_job *job, const dq_tensor *stored, dq_tensor *weight) {
  float *values = weight->data, alpha = job->product.alpha;
  if (job->product.outputs_first) memcpy(values, stored->data, dq_tensor_bytes(stored));
  else transpose(weight->dims[1], weight->dims[0], stored->data, values);
  for (int64_t i = 0; alpha != 1 && i < dq_tensor_count(weight); i++) values[i] *= alpha;
}

dq_status dq_tucker_matrix_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                                   dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  job->matrix = true;
  job->weight = dq_node_input(job->node, 1);
  layer->group = 1;
  if (!dq_float_product(job->node, &job->product) || job->product.stacked) {
    strcpy(layer->reason, "no constant float32 matrix");
    return DQ_OK;
  }
  const dq_tensor *stored = job->weight->constant;
  int64_t out = job->product.outputs, in = job->product.inputs;
  memcpy(layer->dims, (int64_t[]){out, in, 1, 1}, sizeof layer->dims);
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, layer->dims);
  if (!weight) return dq_fail_memory(error, dq_tensor_bytes(stored));
  load_weight(job, stored, weight);
  job->tensor = weight;
  job->bias = dq_node_input(job->node, 2) != NULL;
  const dq_tensor *output = tensors ? &tensors[dq_node_output(job->node, 0)->index] : NULL;
  layer->macs_known = output && output->rank > 0;
  job->positions.in = job->positions.core = job->positions.out = layer->macs_known ? dq_tensor_count(output) / out : 1;
  layer->before = dq_conv_cost_whole(layer->dims, job->bias, job->positions.core);
  if (!layer->macs_known) layer->before.macs = 0;
  layer->after = layer->before;
  if (on_data && !has_plain_bias(job->node, out)) strcpy(layer->reason, "bias is not one per output");
  if (on_data && dq_moments_bytes(layer->dims, 1) > DQ_TUCKER_MATRIX_MOMENTS)
    snprintf(layer->reason, sizeof layer->reason, "%lld inputs are too many to fit to data", (long long)in);
  return DQ_OK;
}

// A factor as the operator wants it: out x in for Gemm with transB, in x out for MatMul.
static dq_value *add_factor(dq_graph *graph, const dq_tucker_job *job, const char *part, const dq_tensor *factor) {
  int64_t out = factor->dims[0], in = factor->dims[1];
  bool gemm = is_gemm(job);
  const char *name = dq_arena_printf(graph->arena, "%s/%s_weight", job->layer->name, part);
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 2, gemm ? (int64_t[]){out, in} : (int64_t[]){in, out});
  if (!name || !tensor) return NULL;
  if (gemm) memcpy(tensor->data, factor->data, dq_tensor_bytes(factor));
  else transpose(out, in, factor->data, tensor->data);
  return dq_graph_add_constant(graph, name, tensor);
}

// Whether Gemm has to have a third operand: in opsets 7 to 10.
static bool needs_operand(const dq_graph *graph, const dq_tucker_job *job) {
  return is_gemm(job) && dq_graph_opset(graph, "") < 11;
}

static dq_value *add_zero(dq_graph *graph, const dq_tucker_job *job) {
  const char *name = dq_arena_printf(graph->arena, "%s/tucker_zero", job->layer->name);
  return name ? dq_graph_add_constant(graph, name, dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){1})) : NULL;
}

static dq_node *add_product(dq_graph *graph, dq_tucker_job *job, const char *part, dq_value *from, dq_value *weight,
                            dq_value *bias, dq_value *to) {
  const char *base = dq_arena_printf(graph->arena, "%s/%s", job->layer->name, part);
  const char *name = base ? dq_graph_fresh_name(graph, base) : NULL;
  if (!bias && needs_operand(graph, job) && !(bias = add_zero(graph, job))) return NULL;
  dq_value *inputs[] = {from, weight, bias};
  dq_node *node =
      name ? dq_graph_add_node(graph, job->node->index, job->node->op_type, name, bias ? 3 : 2, inputs, 1, &to) : NULL;
  if (!node || !is_gemm(job)) return node;
  return dq_node_set_int(graph, node, "transB", 1) ? node : NULL;
}

// MatMul has no bias: it is added behind.
static bool add_sum(dq_graph *graph, dq_tucker_job *job, dq_value *product, dq_value *bias) {
  const char *base = dq_arena_printf(graph->arena, "%s/tucker_bias", job->layer->name);
  const char *name = base ? dq_graph_fresh_name(graph, base) : NULL;
  dq_value *inputs[] = {product, bias}, *output = dq_node_output(job->node, 0);
  return name && dq_graph_add_node(graph, job->node->index, "Add", name, 2, inputs, 1, &output);
}

// The second product with the bias; NULL without memory.
static dq_node *add_last(dq_graph *graph, dq_tucker_job *job, dq_value *between) {
  dq_value *output = dq_node_output(job->node, 0);
  if (!job->bias_fitted) {
    dq_node *last = add_product(graph, job, "tucker_core", between, job->core, job->bias_before, output);
    const dq_attribute *beta = dq_node_attribute(job->node, "beta");
    return !last || !beta || dq_node_copy_attribute(graph, last, beta) ? last : NULL;
  }
  const dq_tensor *fitted = job->bias_fitted; // the job's own
  const char *name = dq_arena_printf(graph->arena, "%s/tucker_bias", job->layer->name);
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, fitted->dims);
  if (!name || !bias) return NULL;
  memcpy(bias->data, fitted->data, dq_tensor_bytes(fitted));
  job->bias_value = dq_graph_add_constant(graph, name, bias);
  if (!job->bias_value) return NULL;
  if (is_gemm(job)) return add_product(graph, job, "tucker_core", between, job->core, job->bias_value, output);
  dq_value *product = dq_graph_fresh_value(graph, name);
  if (!product) return NULL;
  product->type = DQ_F32;
  dq_node *last = add_product(graph, job, "tucker_core", between, job->core, NULL, product);
  return last && add_sum(graph, job, product, job->bias_value) ? last : NULL;
}

dq_status dq_tucker_matrix_place(dq_graph *graph, dq_tucker_job *job, dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  job->bias_before = dq_node_input(job->node, 2);
  if (!job->shares) {
    job->input = add_factor(graph, job, "tucker_in", job->factors.input);
    job->core = add_factor(graph, job, "tucker_core", job->factors.core);
  }
  const char *name = dq_arena_printf(graph->arena, "%s/tucker_in_output", layer->name);
  dq_value *between = name ? dq_graph_fresh_value(graph, name) : NULL;
  if (!job->input || !job->core || !between) return dq_fail_memory(error, sizeof(dq_value));
  between->type = DQ_F32;
  dq_node *first = add_product(graph, job, "tucker_in", dq_node_input(job->node, 0), job->input, NULL, between);
  dq_node *last = first ? add_last(graph, job, between) : NULL;
  if (!last) return dq_fail_memory(error, sizeof(dq_node));
  layer->nodes[0] = first->name, layer->nodes[1] = last->name;
  layer->factors[0] = job->input->name, layer->factors[1] = job->core->name;
  dq_graph_remove_node(graph, job->node);
  return DQ_OK;
}

dq_status dq_tucker_matrix_replace(dq_graph *graph, dq_node *node, const dq_tensor *weight, dq_tensor *bias,
                                   dq_error *error) {
  dq_tensor *matrix = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){weight->dims[1], weight->dims[0]});
  if (!matrix) return dq_fail_memory(error, dq_tensor_bytes(weight));
  transpose(weight->dims[0], weight->dims[1], weight->data, matrix->data);
  dq_value *inputs[] = {node->inputs[0], dq_graph_add_constant(graph, "trial_weight", matrix)};
  dq_value *sums[] = {dq_graph_fresh_value(graph, "trial_product"), dq_graph_add_constant(graph, "trial_bias", bias)};
  dq_value *output = dq_node_output(node, 0);
  if (!inputs[1] || !sums[0] || !sums[1] ||
      !dq_graph_add_node(graph, node->index, "MatMul", "", 2, inputs, 1, &sums[0]) ||
      !dq_graph_add_node(graph, node->index, "Add", "", 2, sums, 1, &output))
    return dq_fail_memory(error, sizeof(dq_node));
  dq_graph_remove_node(graph, node);
  return dq_graph_index(graph, false, error);
}
