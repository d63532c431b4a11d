// Batch normalizations into the convolutions in front of them, before anything becomes float16: runtimes fold them
// too, but then what was rounded already is rounded again.
#include "lib/passes/fold_affine.h"
#include "quant/amp/amp_internal.h"

static dq_status fold(dq_amp_job *job, dq_node *conv, dq_node *node) {
  dq_amp_norm *norm = DQ_NEW(job->arena, dq_amp_norm);
  if (!norm) return dq_fail_memory(job->error, sizeof *norm);
  *norm = (dq_amp_norm){conv, dq_amp_constant(job, node->inputs[1]), dq_amp_constant(job, node->inputs[2]), job->norms};
  if (norm->scale && norm->shift) job->norms = norm;
  return dq_affine_fold(job->graph, conv, node, job->error);
}

dq_status dq_amp_fold(dq_amp_job *job, bool *folded) {
  dq_graph *graph = job->graph;
  *folded = false;
  for (int n = 0; n < graph->node_count && !job->options->only; n++) {
    dq_node *node = graph->nodes[n],
            *conv = dq_node_is(node, "BatchNormalization") ? dq_affine_convolution(node) : NULL;
    dq_product product;
    if (!conv || !dq_product_of(conv, &product) || product.kind != DQ_CONVOLUTION || conv->mark != DQ_AMP_HALF ||
        job->report->nodes[n].category == DQ_DENY)
      continue;
    DQ_TRY(fold(job, conv, node));
    *folded = true;
  }
  return *folded ? dq_graph_index(graph, false, job->error) : DQ_OK;
}
