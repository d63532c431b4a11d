// The stages of dq_amp_convert: category the nodes, cut between the precisions, rewrite the graph.
#ifndef DQ_QUANT_AMP_INTERNAL_H
#define DQ_QUANT_AMP_INTERNAL_H

#include "quant/amp/amp.h"

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
  bool *half;                // by value index: the value becomes float16
  struct dq_amp_norm *norms; // batch normalizations folded into convolutions
  uint16_t **rounded;        // by value index: float16 elements of a constant; NULL, one or all: the nearest
  dq_amp_report *report;
} dq_amp_job;

// ---- amp_fold.c ----

// What a folded batch normalization says of the result of its convolution: mean `shift`, deviation |scale|.
typedef struct dq_amp_norm {
  const dq_node *conv;
  const dq_tensor *scale, *shift; // one element per channel
  struct dq_amp_norm *next;
} dq_amp_norm;

// Folds batch normalizations that would become float16 into the convolutions in front of them, so that their product
// is rounded once. Marks must be set; *folded: the graph has changed, and they are no longer.
dq_status dq_amp_fold(dq_amp_job *job, bool *folded);

// ---- amp_category.c ----

// Fills report->nodes and the marks of nodes.
dq_status dq_amp_categorize(dq_amp_job *job);
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

// ---- amp_round.c ----

// Chooses for the weights and biases of float16 nodes which of the two neighbouring float16 each becomes; fills
// `rounded`. Networks that cannot be run keep the nearest.
dq_status dq_amp_round(dq_amp_job *job);

// ---- amp_probe.c ----

// The network as it is and with float16 weights, both on two kinds of noise, run side by side.
enum { DQ_AMP_PROBES = 2 };
typedef struct dq_amp_probe dq_amp_probe;

// Constants of float16 nodes are rounded to nearest, but the values `open` (by index) wait for dq_amp_probe_set.
// Fails when the network cannot be run.
dq_status dq_amp_probe_open(dq_amp_probe **probe, const dq_amp_job *job, const bool *open, dq_error *error);
void dq_amp_probe_close(dq_amp_probe *probe); // NULL is fine
int dq_amp_probe_steps(const dq_amp_probe *probe);
const dq_node *dq_amp_probe_node(const dq_amp_probe *probe, int step);
dq_status dq_amp_probe_run(dq_amp_probe *probe, int step, dq_error *error);
// A value that the next step reads, in the network as it is or with float16 weights.
const dq_tensor *dq_amp_probe_value(const dq_amp_probe *probe, int kind, bool half, const char *name);
void dq_amp_probe_set(dq_amp_probe *probe, const char *name, const float *elements);
// The largest magnitude of every float32 value on both kinds of noise, by value index; negative: not seen. Fails when
// the network cannot be run.
dq_status dq_amp_probe_largest(const dq_amp_job *job, double *largest, dq_error *error);
// SQNR in dB after the last step of all outputs, or of what goes into the Softmax or Sigmoid that makes one, from the
// mean of both kinds' noise over signal; NaN: no output can be compared.
double dq_amp_probe_sqnr(const dq_amp_probe *probe);

// ---- amp_rewrite.c ----

// True when some reader of a constant needs it in float32.
bool dq_amp_read_as_float(const dq_amp_job *job, const dq_value *value);

// Casts, float16 constants, declarations.
dq_status dq_amp_rewrite(dq_amp_job *job);

#endif
