// The overflow audit of a quantized model: for every Conv, Gemm and MatMul with 8-bit operands, as
// they stand in the model, how often products, sums and pairs leave narrow integers on data, and
// what weights and types prove. Words and definitions: lib/kernels/audit/conv_audit.h, docs/NUMERICS.md.
#ifndef DQ_EVAL_AUDIT_H
#define DQ_EVAL_AUDIT_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"
#include "lib/kernels/audit/conv_audit.h"

typedef enum dq_audit_metric {
  DQ_AUDIT_PRODUCT,     // products outside int8
  DQ_AUDIT_PRODUCT_RAW, // the same of the stored numbers
  DQ_AUDIT_SUM16,       // whole sums outside int16
  DQ_AUDIT_RUNNING16,   // outputs of which some prefix is
  DQ_AUDIT_BIAS16,      // whole sums with bias
  DQ_AUDIT_SUM32,
  DQ_AUDIT_RUNNING32,
  DQ_AUDIT_BIAS32,
  DQ_AUDIT_PAIR,    // pairs outside int16
  DQ_AUDIT_CLAMPED, // quantized outputs at an end of their type that does not stand for 0
  DQ_AUDIT_METRICS
} dq_audit_metric;

typedef struct dq_audit_share {
  uint64_t count, of;              // over all pictures
  double average, lowest, highest; // percent of a picture's, over pictures
  int64_t pictures;                // with any
} dq_audit_share;

typedef enum dq_audit_verdict {
  DQ_AUDIT_CANNOT,  // proven
  DQ_AUDIT_DID_NOT, // can, but did not on the pictures seen
  DQ_AUDIT_OVERFLOWED,
} dq_audit_verdict;

typedef struct dq_audit_channel {
  dq_audit_counts counts; // over all pictures
  uint64_t clamped;
  int64_t pictures16, pictures32,
      pictures_pair; // with a running overflow (of 32 bits also one with bias), a clipped pair
} dq_audit_channel;

typedef struct dq_audit_layer {
  const dq_node *node;
  const char *reason;                                 // why it is not audited; NULL: it is, and the rest holds
  int64_t channels, depth;                            // output channels, products per output
  bool has_bias;                                      // an int32 one; else "with bias" is without
  dq_audit_proof *proofs;                             // by output channel
  dq_audit_proof worst;                               // of all channels; bias is not used
  int64_t block16;                                    // dq_audit_longest_block
  int64_t can16, can32, can_pair, can_pair_any_order; // channels that can, by proof
  int64_t pictures;                                   // seen; 0: proofs only
  int64_t pictures32;                      // of them, those with a running sum or a sum with bias outside int32
  dq_audit_channel *seen;                  // by output channel; NULL without data
  int64_t lowest, highest;                 // whole sums seen
  uint64_t outputs;                        // of one channel, over all pictures
  dq_audit_share shares[DQ_AUDIT_METRICS]; // `of` is 0 where nothing was counted
} dq_audit_layer;

typedef struct dq_audit_report {
  dq_audit_layer *layers; // in the order of the document; in the arena
  int layer_count, audited;
  int64_t pictures;
} dq_audit_report;

typedef struct dq_audit_options {
  dq_shape_request shapes;
  int64_t batch;    // wished for; 0: 1
  int64_t pictures; // of the data, from its start; 0: all
  bool raw;         // count products of the stored numbers too
} dq_audit_options;

// Finds the layers, proves, and counts over `data` (NULL: proofs only). Pictures come one after the
// other; memory does not depend on how many. Results do not depend on threads, batch or instruction
// set. Layers with an 8-bit operand that cannot be audited have a reason. DQ_UNSUPPORTED: the model
// has no layer with 8-bit operands.
dq_status dq_audit_model(dq_audit_report *report, const dq_graph *graph, dq_data *data, const dq_audit_options *options,
                         const dq_context *context, dq_arena *arena, dq_error *error);

// Verdicts on a layer (channel -1) or one of its channels; *pictures: how many overflowed.
dq_audit_verdict dq_audit_verdict16(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);
dq_audit_verdict dq_audit_verdict32(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);
dq_audit_verdict dq_audit_verdict_pair(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);

// The largest share, in percent over all pictures, of any layer's whole sums outside int16 or pairs
// clipped: what a condition on the audit means.
double dq_audit_worst_share(const dq_audit_report *report);

#endif
