// Gemm and MatMul with a constant matrix: x W becomes (x A) B by the truncated singular value
// decomposition, which is Tucker-2 of a 1x1 kernel with the output mode whole.
#include <string.h>

#include "decomp/tucker_job.h"
#include "lib/base/sizes.h"

bool dq_tucker_is_matrix(const dq_node *node) {
  const dq_value *weight = dq_node_input(node, 1);
  if (dq_node_is(node, "Gemm")) return weight && !dq_node_int(node, "transA", 0);
  return dq_node_is(node, "MatMul") && weight;
}

static bool is_transposed(const dq_node *node) {
  return dq_node_is(node, "Gemm") && dq_node_int(node, "transB", 0);
}

static void transpose(int64_t rows, int64_t columns, const float *from, float *to) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

dq_status dq_tucker_matrix_examine(dq_tucker_job *job, const dq_tensor *tensors, dq_arena *arena,
                                   dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  job->matrix = true;
  job->weight = dq_node_input(job->node, 1);
  layer->group = 1;
  const dq_tensor *stored = job->weight->constant;
  if (!stored || stored->type != DQ_F32 || stored->rank != 2 || dq_tensor_count(stored) < 1) {
    strcpy(layer->reason, "no constant float32 matrix");
    return DQ_OK;
  }
  bool turned = is_transposed(job->node);
  int64_t out = stored->dims[turned ? 0 : 1], in = stored->dims[turned ? 1 : 0];
  memcpy(layer->dims, (int64_t[]){out, in, 1, 1}, sizeof layer->dims);
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, layer->dims);
  if (!weight) return dq_fail_memory(error, dq_tensor_bytes(stored));
  if (turned) memcpy(weight->data, stored->data, dq_tensor_bytes(stored));
  else transpose(in, out, stored->data, weight->data);
  job->tensor = weight;
  job->bias = dq_node_input(job->node, 2) != NULL;
  const dq_tensor *output = tensors ? &tensors[dq_node_output(job->node, 0)->index] : NULL;
  layer->macs_known = output && output->rank > 0;
  job->positions_in = job->positions_out =
      layer->macs_known ? dq_tensor_count(output) / out : 1;
  layer->before = dq_conv_cost_whole(layer->dims, job->bias, job->positions_out);
  if (!layer->macs_known) layer->before.macs = 0;
  layer->after = layer->before;
  return DQ_OK;
}

// A factor as the operator wants it: out x in for Gemm with transB, in x out for MatMul.
static dq_value *add_factor(dq_graph *graph, const dq_tucker_job *job, const char *part,
                            const dq_tensor *factor) {
  int64_t out = factor->dims[0], in = factor->dims[1];
  bool gemm = dq_node_is(job->node, "Gemm");
  const char *name = dq_arena_printf(graph->arena, "%s/%s_weight", job->layer->name, part);
  dq_tensor *tensor =
      dq_tensor_new(graph->arena, DQ_F32, 2, gemm ? (int64_t[]){out, in} : (int64_t[]){in, out});
  if (!name || !tensor) return NULL;
  if (gemm) memcpy(tensor->data, factor->data, dq_tensor_bytes(factor));
  else transpose(out, in, factor->data, tensor->data);
  return dq_graph_add_constant(graph, name, tensor);
}

static dq_node *add_product(dq_graph *graph, dq_tucker_job *job, const char *part, dq_value *from,
                            dq_value *weight, dq_value *bias, dq_value *to) {
  const char *base = dq_arena_printf(graph->arena, "%s/%s", job->layer->name, part);
  const char *name = base ? dq_graph_fresh_name(graph, base) : NULL;
  dq_value *inputs[] = {from, weight, bias};
  dq_node *node = name ? dq_graph_add_node(graph, job->node->index, job->node->op_type, name,
                                           bias ? 3 : 2, inputs, 1, &to)
                       : NULL;
  if (!node || !dq_node_is(node, "Gemm")) return node;
  return dq_node_set_int(graph, node, "transB", 1) ? node : NULL;
}

dq_status dq_tucker_matrix_place(dq_graph *graph, dq_tucker_job *job, dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  job->input = add_factor(graph, job, "tucker_in", job->factors.input);
  job->core = add_factor(graph, job, "tucker_core", job->factors.core);
  const char *name = dq_arena_printf(graph->arena, "%s/tucker_in_output", layer->name);
  dq_value *between = name ? dq_graph_fresh_value(graph, name) : NULL;
  if (!job->input || !job->core || !between) return dq_fail_memory(error, sizeof(dq_value));
  between->type = DQ_F32;
  dq_node *first = add_product(graph, job, "tucker_in", dq_node_input(job->node, 0), job->input,
                               NULL, between);
  dq_node *last = first ? add_product(graph, job, "tucker_core", between, job->core,
                                      dq_node_input(job->node, 2), dq_node_output(job->node, 0))
                        : NULL;
  bool made = last != NULL;
  static const char *const scales[] = {"alpha", "beta"};
  for (int i = 0; made && i < 2; i++) {
    const dq_attribute *scale = dq_node_attribute(job->node, scales[i]);
    made = !scale || dq_node_copy_attribute(graph, last, scale);
  }
  if (!made) return dq_fail_memory(error, sizeof(dq_node));
  layer->nodes[0] = first->name, layer->nodes[1] = last->name;
  layer->factors[0] = job->input->name, layer->factors[1] = job->core->name;
  dq_graph_remove_node(graph, job->node);
  return DQ_OK;
}
