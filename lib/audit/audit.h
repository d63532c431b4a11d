// The overflow audit of a quantized model. For every Conv, ConvTranspose, Gemm and MatMul with 8-bit operands it counts
// how often products, sums and pairs leave narrow integer types on pictures, and proves from weights and types which of
// them can. docs/NUMERICS.md and lib/kernels/audit/conv_audit.h define the terms.
#ifndef DQ_AUDIT_AUDIT_H
#define DQ_AUDIT_AUDIT_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"
#include "lib/kernels/audit/conv_audit.h"

typedef enum dq_audit_metric {
  DQ_AUDIT_PRODUCT,     // products outside int8, inputs less their zero point
  DQ_AUDIT_PRODUCT_RAW, // products of the stored numbers, zero points not subtracted, outside int8
  DQ_AUDIT_SUM16,       // sums of all products of an output that are outside int16
  DQ_AUDIT_RUNNING16,   // outputs with a running sum outside int16
  DQ_AUDIT_BIAS16,      // sums with the bias outside int16
  DQ_AUDIT_SUM32,       // the same three for int32
  DQ_AUDIT_RUNNING32,
  DQ_AUDIT_BIAS32,
  DQ_AUDIT_PAIR,    // pairs outside int16
  DQ_AUDIT_CLAMPED, // quantized outputs at an end of their type, unless that end stands for the real value 0
  DQ_AUDIT_METRICS
} dq_audit_metric;

typedef struct dq_audit_share {
  uint64_t count, of;              // over all pictures: `count` of `of` products, sums, outputs or pairs
  double average, lowest, highest; // percent in one picture: mean, least and largest over the pictures
  int64_t pictures;                // pictures with a count above 0
} dq_audit_share;

typedef enum dq_audit_verdict {
  DQ_AUDIT_CANNOT,     // no input can overflow, by proof
  DQ_AUDIT_DID_NOT,    // an input can overflow, but no picture did
  DQ_AUDIT_OVERFLOWED, // a picture overflowed
} dq_audit_verdict;

typedef struct dq_audit_channel {
  dq_audit_counts counts; // over all pictures
  uint64_t clamped;       // outputs, as in DQ_AUDIT_CLAMPED
  // Pictures with a running sum outside int16; with a running sum or a sum with bias outside int32; with a pair outside
  // int16.
  int64_t pictures16, pictures32, pictures_pair;
} dq_audit_channel;

typedef struct dq_audit_layer {
  const dq_node *node;     // of the graph of the caller
  const char *reason;      // why the layer is not audited; NULL: it is, and the members below are valid
  int64_t channels, depth; // output channels; products in the sum of an output
  bool has_bias;           // an int32 bias; without it sums with bias are the sums
  dq_audit_proof *proofs;  // by output channel
  dq_audit_proof worst;    // widest of all channels; its bias is not used
  int64_t block16;         // dq_audit_longest_block, in products
  // Channels with an input for which running sums leave int16, int32, or pairs leave int16, in the order of the model,
  // or pairs leave int16 in some order of the products.
  int64_t can16, can32, can_pair, can_pair_any_order;
  int64_t pictures;                        // number of pictures that ran; 0: there are proofs only
  int64_t pictures32;                      // pictures with a running sum or a sum with bias outside int32
  dq_audit_channel *seen;                  // counts by output channel; NULL without data
  int64_t lowest, highest;                 // of the sums without bias, over all pictures
  uint64_t outputs;                        // number of outputs of one channel, over all pictures
  dq_audit_share shares[DQ_AUDIT_METRICS]; // `of` is 0 for a metric that was not counted
} dq_audit_layer;

typedef struct dq_audit_report {
  dq_audit_layer *layers; // in the order of the document; in the arena
  int layer_count, audited;
  int64_t pictures;
} dq_audit_report;

typedef struct dq_audit_options {
  dq_shape_request shapes;
  int64_t batch;    // pictures per run, where the model leaves its batch open; 0: 1
  int64_t pictures; // of the data, from its start; 0: all
  bool raw;         // counts DQ_AUDIT_PRODUCT_RAW too
  // Counts only in layers whose pairs can leave int16; the counts of other layers are 0, of all their products, sums
  // and pairs, and their bits have no meaning. Enough for the verdicts and for the number of pairs outside int16.
  bool summary;
} dq_audit_options;

// Finds the layers with 8-bit operands, computes their proofs, and runs the pictures of `data` (NULL: proofs only) to
// count. Memory does not depend on the number of pictures, and results do not depend on threads, batch or instruction
// set. A layer that cannot be audited has a reason. The arena owns the report, which also points into the graph.
// DQ_UNSUPPORTED: the model has no layer with 8-bit operands; else as dq_runner_open.
dq_status dq_audit_model(dq_audit_report *report, const dq_graph *graph, dq_data *data, const dq_audit_options *options,
                         const dq_context *context, dq_arena *arena, dq_error *error);

// The verdict on the running sums in int16, the running sums and sums with bias in int32, and the pairs in int16 of a
// layer of dq_audit_model (channel -1) or of one of its output channels (0 to layer->channels - 1): from the proof what
// can happen, from the pictures what did. *pictures, which must not be NULL, is the number of pictures with such an
// overflow; 0 when no picture ran. The functions read counts only.
dq_audit_verdict dq_audit_verdict16(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);
dq_audit_verdict dq_audit_verdict32(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);
dq_audit_verdict dq_audit_verdict_pair(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);

// The largest share, in percent over all pictures, that any layer has of sums outside int16 or of pairs outside int16.
// Conditions on the audit (--max-overflow) compare this number with their limit.
double dq_audit_worst_share(const dq_audit_report *report);

#endif
