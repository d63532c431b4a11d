// Preparation: what is written in float before anything is decided or measured. Nothing here looks at a setting.
#include "lib/schedule/infer.h"
#include "lib/passes/fold_affine.h"
#include "lib/passes/passes.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/rewrite/fold_space_to_depth.h"
#include "quant/rewrite/conv_to_gemm.h"
#include "quant/rewrite/dense_to_gemm.h"
#include "quant/rewrite/function_numbers.h"
#include "quant/rewrite/pad_pools.h"
#include "quant/rewrite/private_constant.h"
#include "quant/rewrite/written_functions.h"

// A weight that many products share would get a copy for each.
static dq_status fold_behind(dq_graph *graph, dq_node *node, dq_error *error) {
  dq_product product;
  bool folded;
  const dq_node *next = node->removed ? NULL : dq_affine_product(node, &product);
  return next && !dq_is_widely_shared(next->inputs[1]) ? dq_affine_fold_behind(graph, node, &folded, error) : DQ_OK;
}

static dq_status fold_affine(dq_graph *graph, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *convolution = dq_affine_convolution(graph->nodes[n]);
    if (convolution) DQ_TRY(dq_affine_fold(graph, convolution, graph->nodes[n], error));
  }
  for (int n = graph->node_count - 1; n >= 0; n--) DQ_TRY(fold_behind(graph, graph->nodes[n], error));
  return dq_graph_index(graph, false, error);
}

// Whether a value is computed from constants alone, in a few steps.
static bool is_computed_constant(const dq_value *value, int depth) {
  if (!value || value->constant) return true;
  if (!value->producer || depth == 0) return false;
  for (int i = 0; i < value->producer->input_count; i++)
    if (!is_computed_constant(value->producer->inputs[i], depth - 1)) return false;
  return true;
}

// Whether the node is quantized and an operand is computed from initializers, as old exporters reshape weights.
static bool has_computed_constant(const dq_node *node) {
  enum { LONGEST_CHAIN = 8 };
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || row->quantization == DQ_QUANTIZE_NOT || row->quantization == DQ_QUANTIZE_SHARE) return false;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *value = dq_node_input(node, i);
    if (value && !value->constant && is_computed_constant(value, LONGEST_CHAIN)) return true;
  }
  return false;
}

// Such operands become initializers.
static dq_status fold_operands(dq_graph *graph, const dq_context *context, dq_error *error) {
  bool any = false;
  for (int n = 0; n < graph->node_count; n++) any |= has_computed_constant(graph->nodes[n]);
  if (!any) return DQ_OK;
  DQ_TRY(dq_fold_constants(graph, context, error));
  return dq_graph_index(graph, false, error);
}

dq_status dq_int8_fold(const dq_int8_job *job) {
  DQ_TRY(fold_operands(job->graph, job->in->context, job->error));
  DQ_TRY(fold_affine(job->graph, job->error));
  DQ_TRY(dq_written_functions_fuse(job->graph, job->in->context, job->error));
  dq_swap_numbers(job->graph);
  return dq_fold_space_to_depth(job->graph, &job->in->options->shapes, job->in->context, job->error);
}

// Whether any node can be quantized; marks those that can.
static dq_status any_quantized(const dq_int8_job *job, bool *any) {
  dq_int8_report report = {0};
  dq_int8_job look = dq_int8_look(job, &report);
  DQ_TRY(dq_int8_open_tables(&look));
  DQ_TRY(dq_int8_select(&look));
  *any = report.quantized > 0;
  return dq_int8_check_weights(job->graph, job->error);
}

// Brings the input to its own levels when all that reads it is quantized (as any_quantized has marked).
static dq_status level_input(dq_int8_conversion *conversion) {
  const dq_int8_job *job = &conversion->job;
  dq_input_levels *levels = &conversion->in.levels;
  dq_value *value;
  DQ_TRY(dq_int8_levels(job, levels));
  if (!levels->input) return DQ_OK;
  const dq_value *input = dq_graph_find(job->graph, levels->input);
  for (int u = 0; input && u < input->user_count; u++)
    if (!input->users[u]->mark) levels->input = NULL;
  DQ_TRY(dq_levels_apply(job->graph, levels, &value, job->error));
  if (!value) return DQ_OK;
  conversion->in.levelled = value->name;
  return value == input ? DQ_OK : dq_origin_add(job->origin, value->name, NULL, job->error);
}

dq_status dq_int8_prepare(dq_int8_conversion *conversion, bool *any) {
  const dq_int8_job *job = &conversion->job;
  DQ_TRY(dq_int8_fold(job));
  const dq_shape_request *shapes = &job->in->options->shapes;
  const dq_gemm_wish wish = {dq_int8_may_be_gemm, job->in->options};
  DQ_TRY(dq_conv_to_gemm(job->graph, &wish, shapes, job->arena, job->in->context, job->error));
  DQ_TRY(dq_dense_to_gemm(job->graph, &wish, shapes, job->arena, job->in->context, job->error));
  DQ_TRY(any_quantized(job, any));
  if (*any) DQ_TRY(dq_pad_pools(job->graph, job->origin, job->error));
  return *any ? level_input(conversion) : DQ_OK;
}
