// The stages of dq_amp_apply: colour the nodes, rewrite the graph.
#ifndef DQ_QUANT_AMP_INTERNAL_H
#define DQ_QUANT_AMP_INTERNAL_H

#include "quant/amp.h"

typedef struct dq_amp_job {
  dq_graph *graph;
  const dq_amp_options *options;
  const dq_context *context;
  dq_error *error;
  dq_arena *arena;
  dq_tensor *tensors; // by value index
  int value_count;
  bool *half;         // by value index: the value becomes float16
  dq_amp_report *report;
} dq_amp_job;

// amp_colour.c: fills report->nodes and `half`.
dq_status dq_amp_colour(dq_amp_job *job);
// Whether input i of a float16 node is float16 (else it keeps its type: scales of Resize, indices).
bool dq_amp_input_is_half(const dq_amp_job *job, const dq_node *node, int i);

// amp_rewrite.c: casts, float16 constants, declarations.
dq_status dq_amp_rewrite(dq_amp_job *job);

#endif
