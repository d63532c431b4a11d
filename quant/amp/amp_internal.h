// The stages of dq_amp_convert: choosing categories, the guard, the cut between the precisions, rounding, and the
// rewrite of the graph. All functions return DQ_SYSTEM when there is no memory.
#ifndef DQ_QUANT_AMP_INTERNAL_H
#define DQ_QUANT_AMP_INTERNAL_H

#include "quant/amp/amp.h"

// The values of dq_node.mark.
enum {
  DQ_AMP_FULL,    // computes in float32
  DQ_AMP_HALF,    // computes in float16
  DQ_AMP_NEUTRAL, // computes with no floats, or accepts any type
  DQ_AMP_FREE,    // amp_cut.c will choose FULL or HALF
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

// The estimate that a folded batch normalization gives for the result of its convolution: mean `shift`, deviation
// |scale| (amp_bounds.h).
typedef struct dq_amp_norm {
  const dq_node *conv;
  const dq_tensor *scale, *shift; // one element per channel
  struct dq_amp_norm *next;
} dq_amp_norm;

// Folds batch normalizations that would become float16 into the convolutions in front of them, so that the product of
// both is rounded once. The marks must be set. *folded says whether the graph has changed; the marks are then invalid.
dq_status dq_amp_fold(dq_amp_job *job, bool *folded);

// ---- amp_category.c ----

// Chooses the categories: fills report->nodes and the marks of nodes. DQ_USAGE: a name or pattern of the options fits
// no node.
dq_status dq_amp_categorize(dq_amp_job *job);
// Whether input i (0 <= i < node->input_count) must be float16 when the node computes in float16; the mark of the node
// is not read. False for inputs that keep their type: those that are left out or not float32 in the document, such as
// indices, and the roi and scales of Resize.
bool dq_amp_input_is_half(const dq_amp_job *job, const dq_node *node, int i);
bool dq_amp_is_float(const dq_amp_job *job, const dq_value *value); // whether its type in the document is float32
// The float32 elements of an initializer or of a Constant node; NULL for other values.
const dq_tensor *dq_amp_constant(const dq_amp_job *job, const dq_value *value);
// Whether the value is float32 in the document and neither an initializer nor the output of a Constant node.
bool dq_amp_is_variable(const dq_amp_job *job, const dq_value *value);
// Whether a node accepts inputs of any type, so that no cast is needed in front of it.
bool dq_amp_reads_any(const dq_node *node);

// ---- amp_guard.c ----

// Marks as DQ_AMP_FULL, with the reason, the nodes that make, or read as float16, a value whose finite bound or
// estimate passes 65504, and ALLOW operators whose constant weights float16 would change by more than 1/64. Counts them
// in report->guarded, and float32 values that are no constants in report->proven, estimated and unbounded; values past
// 65504 are in none of these. An unbounded value is guarded when it becomes large on noise, on which the network may be
// run. To be called after dq_amp_categorize; nothing is done with options->unguarded or options->only. DQ_BAD_INPUT:
// the graph has a cycle; DQ_CANCELLED; DQ_SYSTEM: there is no memory.
dq_status dq_amp_guard(dq_amp_job *job);

// Whether the category of the node lets it compute in float16.
bool dq_amp_may_be_half(const dq_node *node);
// Marks a node that may be float16 as DQ_AMP_FULL with the reason (NULL: there was no memory for it), and counts it in
// report->guarded; other nodes stay as they are.
dq_status dq_amp_deny(dq_amp_job *job, dq_node *node, const char *reason);

// ---- amp_extremes.c ----

// Denies nodes that need a constant which float16 does not have: what lies between an epsilon that would vanish and the
// division that it keeps from 0, batch normalizations of variances that would vanish, and readers of numbers beyond
// 65504 that a constant brings in, as masks of attention do.
dq_status dq_amp_guard_constants(dq_amp_job *job);

// ---- amp_cut.c ----

// Whether the value is float16 when it is an input or an output of the model: options->half_io is set, and no body of
// If, Loop or Scan, which expects float32, reads the value.
bool dq_amp_is_half_io(const dq_amp_job *job, const dq_value *value);
// Chooses the precision of the nodes marked DQ_AMP_FREE by a minimum cut over the bytes of casts (lib/graph/min_cut.h);
// fills report->halves and job->half.
dq_status dq_amp_cut(dq_amp_job *job);
// The bytes that a cast of a value reads and writes in one run with batch 1.
int64_t dq_amp_cast_bytes(const dq_amp_job *job, const dq_value *value);

// ---- amp_round.c ----

// Balanced rounding: chooses for each weight and bias of float16 nodes one of the two neighbouring float16 numbers and
// fills job->rounded. A network that cannot run is rounded to the nearest.
dq_status dq_amp_round(dq_amp_job *job);

// ---- amp_probe.c ----

// Two copies of the network, one with float32 and one with float16 weights, that run step by step on two kinds of
// random input.
enum { DQ_AMP_PROBES = 2 };
typedef struct dq_amp_probe dq_amp_probe;

// Opens both copies of job->graph, whose nodes must have their marks. Constants that become float16 are rounded to the
// nearest float16 in the second copy, except those with open[i] (i: index of the value; job->value_count elements),
// which must be initializers; the caller sets them by dq_amp_probe_set before the first step that reads them. The
// caller closes *probe, also after a failure. DQ_UNSUPPORTED: a constant is computed from an open one; other statuses
// as for dq_session_open. Each copy is planned twice, once for each kind of input.
dq_status dq_amp_probe_open(dq_amp_probe **probe, const dq_amp_job *job, const bool *open, dq_error *error);
void dq_amp_probe_close(dq_amp_probe *probe); // NULL is allowed
int dq_amp_probe_steps(const dq_amp_probe *probe);
const dq_node *dq_amp_probe_node(const dq_amp_probe *probe, int step); // of the graph of the job; NULL: none
// Runs one step of both copies on both inputs. Steps must run in order.
dq_status dq_amp_probe_run(dq_amp_probe *probe, int step, dq_error *error);
// A value that the next step reads, on input `kind` (0 or 1), of the copy with float16 weights (`half`) or the other.
const dq_tensor *dq_amp_probe_value(const dq_amp_probe *probe, int kind, bool half, const char *name);
// Sets the elements of a constant in the copy with float16 weights; they are copied.
void dq_amp_probe_set(dq_amp_probe *probe, const char *name, const float *elements);
// Runs the float network on both inputs and stores the largest magnitude of every float32 value in largest[index of the
// value]; negative: the value did not occur. Statuses as for dq_amp_probe_open.
dq_status dq_amp_probe_largest(const dq_amp_job *job, double *largest, dq_error *error);
// The SQNR of all outputs in dB, from the mean of the noise-to-signal ratios on both inputs. Is called after the last
// step. Where a Softmax or Sigmoid makes an output, its input is compared. NaN: no output can be compared.
double dq_amp_probe_sqnr(const dq_amp_probe *probe);

// ---- amp_rewrite.c ----

// Whether a reader of a constant needs it in float32.
bool dq_amp_read_as_float(const dq_amp_job *job, const dq_value *value);

// Inserts casts, converts constants to float16, and sets the declared types of values.
dq_status dq_amp_rewrite(dq_amp_job *job);

#endif
