// The stages of dq_amp_convert: colour the nodes, cut between the precisions, rewrite the graph.
#ifndef DQ_QUANT_AMP_INTERNAL_H
#define DQ_QUANT_AMP_INTERNAL_H

#include "quant/amp.h"

// What dq_node.mark says of a node.
enum {
  DQ_AMP_FULL,    // computes in float32
  DQ_AMP_HALF,    // computes in float16
  DQ_AMP_NEUTRAL, // takes any type
  DQ_AMP_FREE,    // FULL or HALF, as amp_cut.c decides
};

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

// ---- amp_colour.c ----

// Fills report->nodes and the marks of nodes.
dq_status dq_amp_colour(dq_amp_job *job);
// Whether input i of a float16 node is float16 (else it keeps its type: scales of Resize, indices).
bool dq_amp_input_is_half(const dq_amp_job *job, const dq_node *node, int i);
bool dq_amp_is_float(const dq_amp_job *job, const dq_value *value);
// The float32 elements of an initializer or of a Constant node; NULL for other values.
const dq_tensor *dq_amp_constant(const dq_amp_job *job, const dq_value *value);
// Whether a node reads any type as it comes, so that nothing needs casting for it.
bool dq_amp_reads_any(const dq_node *node);

// ---- amp_guard.c ----

// Marks what may leave float16 as float32, with the reason; counts values by what is known of them.
dq_status dq_amp_guard(dq_amp_job *job);

// ---- amp_cut.c ----

// Decides about the free nodes; fills report->halves and `half`.
dq_status dq_amp_cut(dq_amp_job *job);
// Bytes a cast of a value reads and writes.
int64_t dq_amp_cast_bytes(const dq_amp_job *job, const dq_value *value);

// ---- amp_rewrite.c ----

// Casts, float16 constants, declarations.
dq_status dq_amp_rewrite(dq_amp_job *job);

#endif
