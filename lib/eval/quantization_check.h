// What a quantized model's layers have become: how far from the original's, and how wide their sums are.
#ifndef DQ_EVAL_QUANTIZATION_CHECK_H
#define DQ_EVAL_QUANTIZATION_CHECK_H

#include "lib/audit/audit.h"
#include "lib/eval/layers.h"

typedef struct dq_quantization_check {
  // What to look at, set by the caller.
  const dq_graph *original;
  dq_data *data;    // NULL: proofs alone
  int64_t pictures; // of the data, from its start; 0: all
  dq_shape_request shapes;
  // What was found.
  bool compared, audited; // which of the two hold
  dq_layer_comparison comparison;
  dq_audit_report audit;
} dq_quantization_check;

// Compares `quantized` with the original, of which its origin map speaks, and audits it (audit.h). A
// model without layers of 8-bit numbers is not audited, which is no failure. Results point into both
// graphs and the arena.
dq_status dq_quantization_check_run(dq_quantization_check *check, const dq_graph *quantized, dq_arena *arena,
                                    const dq_context *context, dq_error *error);

#endif
